"""Compact maps: frequencies that are learned for a task instead of drawn for a kernel.

`compact_map` is the transformer; `initial_model` draws the model that learning starts
from, `model` computes its gradients, `training` runs the passes, `targets` and
`losses` say what is learned.
"""
