"""Linear learners on features, as functions of blocks of rows.

| file | what it solves | memory beside one block |
|---|---|---|
| `moments` | mergeable sums FᵀF, FᵀY, … of any stream of blocks | M² |
| `ridge` | the whole path of ridge solutions, its errors and evidence | M² |
| `newton` | squared hinge, logistic, least squares by Newton-CG | M² or M·r |
| `online` | the same losses in one pass, block by block | M² |
| `pca` | principal components of the features | M² |

A learner sees `Rows`: chunks of feature rows with targets and weights, kept in memory
or made anew in every pass. It never asks where they come from.
"""
