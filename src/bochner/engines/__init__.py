"""Engines: where feature rows are stored while a learner works on them.

`sources` provide blocks of validated rows. `local` turns blocks into chunks of feature
rows, which are kept in memory under a budget or recomputed in every pass, and saves the
state of a pass in a `checkpoint`. `dask` does the same on Dask workers.
"""
