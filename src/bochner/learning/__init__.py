"""Learning of compact maps: frequencies that fit a task instead of a kernel.

| file | what |
|---|---|
| `targets` | what y means: classes, numbers |
| `losses` | values and slopes of scores |
| `heads` | what features are for: scores under a loss, or a kernel |
| `parameters` | arrays that move, dense and circulant linear maps made of them |
| `model` | weights, phases and head: exact gradients of a batch |
| `batches` | rows in mini-batches, and those held out |
| `solvers` | Adam, and the paper's alternation |
| `training` | the loop, early stopping, the best iterate |
| `online` | one pass over block after block |
| `recipe` | from parts to a model, and from that to a feature map |
| `start` | the random map before learning, and its bandwidth |
"""
