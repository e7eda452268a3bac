"""Compact maps: frequencies that are learned for a task, not drawn for a kernel.

`compact_map` is the transformer. `initial_model` draws the model that learning starts
from, `model` computes its gradients, `optimizers` takes the steps, `training` runs the
passes, and `targets` and `losses` define what is learned.
"""
