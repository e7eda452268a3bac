"""Engines: where rows of features live while a learner works on them.

`sources` hand out blocks of validated rows; `local` turns them into chunks of features
that are kept under a budget or recomputed in every pass, and folds them,
leaving its state in a `checkpoint`; `dask` does the same on workers.
"""
