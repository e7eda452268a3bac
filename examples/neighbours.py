"""
Nearest neighbours by maxout codes
==================================

A row becomes a string of M small numbers, one byte each: which of q random projections
is the largest (`methods.maxout_codes`). Rows of a small angle share many. Only codes
are kept; every query is compared with all of them (`metrics.equal_codes`), and the best
100 are looked at again with the exact cosine. What is gained is memory, a product of
matrices being fast as long as all rows fit. On MNIST if ``BOCHNER_DATA`` has it, else
on digits.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable

import matplotlib.pyplot as plt
import numpy as np
from rich.console import Console
from rich.table import Table
from sklearn.preprocessing import normalize

from bochner import datasets, methods, metrics

NEIGHBOURS, LOOKED_AT, QUERIES = 10, 100, 1000
SIZES = ((64, 2), (64, 16), (256, 2), (256, 16), (1024, 16))

name = "mnist" if "mnist" in datasets.available() else "digits"
data = datasets.load(name)
X, queries = normalize(data.X_train), normalize(data.X_test[:QUERIES])

# %%
# Searching
# ---------


def best(similarity: np.ndarray, k: int) -> np.ndarray:
    """The k most similar rows of every query, best first."""
    some = np.argpartition(-similarity, k, axis=1)[:, :k]
    order = np.argsort(-np.take_along_axis(similarity, some, axis=1), axis=1)
    return np.take_along_axis(some, order, axis=1)


def recall(found: np.ndarray, exact: np.ndarray) -> float:
    """Share of the true neighbours that were found."""
    pairs = zip(found, exact, strict=True)
    return float(np.mean([np.isin(a, b).mean() for a, b in pairs]))


def timed(run: Callable[[], np.ndarray]) -> tuple[np.ndarray, float]:
    run()  # compiles and wakes the cores
    start = time.perf_counter()
    return run(), time.perf_counter() - start


def searched(M: int, q: int) -> tuple[int, float, float, float]:
    """Bytes of a row, seconds, and recall by codes alone and after a second look."""
    codes = methods.maxout_codes(M, pool_size=q, projection="sorf", random_state=0)
    kept = codes.fit_transform(X)

    def search() -> np.ndarray:
        return best(metrics.equal_codes(codes.transform(queries), kept), LOOKED_AT)

    candidates, seconds = timed(search)
    # cosines of each query with its own candidates alone
    cosines = np.einsum("id,ikd->ik", queries, X[candidates])
    order = np.argsort(-cosines, axis=1)[:, :NEIGHBOURS]
    again = np.take_along_axis(candidates, order, axis=1)
    alone = recall(candidates[:, :NEIGHBOURS], exact)
    return kept[0].nbytes, seconds, alone, recall(again, exact)


# %%
# Recall and memory
# -----------------
# The share of the true ten neighbours that is found.
exact, seconds = timed(lambda: best(queries @ X.T, NEIGHBOURS))
results = {(M, q): searched(M, q) for M, q in SIZES}
table = Table(title=f"{name}: {len(X)} rows, {len(queries)} queries, ten neighbours")
for column in ("codes", "bytes a row", "seconds", "recall", "and a second look"):
    table.add_column(column, justify="right")
table.add_row("exact", str(X[0].nbytes), f"{seconds:.2f}", "1.000", "")
for (M, q), (size, taken, alone, again) in results.items():
    cells = (str(size), f"{taken:.2f}", f"{alone:.3f}", f"{again:.3f}")
    table.add_row(f"{M}, q = {q}", *cells)
Console(width=72).print(table)

# %%
# Sixteen to choose from tell more in a byte than two.
figure, axes = plt.subplots(figsize=(6, 4), layout="constrained")
# Okabe and Ito's colours, which a colour-blind reader can tell apart.
for q, colour in ((2, "#56B4E9"), (16, "#D55E00")):
    mine = [result for (_, pool), result in results.items() if pool == q]
    sizes, _, alone_q, again_q = zip(*mine, strict=True)
    axes.plot(sizes, again_q, "o-", color=colour, label=f"q = {q}, second look")
    axes.plot(sizes, alone_q, "o--", color=colour, label=f"q = {q}, codes alone")
axes.set(xlabel="bytes a row", ylabel="recall of ten neighbours", xscale="log")
axes.set_xticks([64, 256, 1024], ["64", "256", "1024"])
axes.minorticks_off()
axes.grid(alpha=0.3)
axes.legend()
axes.set_title(f"{name}, cosine distance ({X[0].nbytes} bytes a row as they are)")
# sphinx_gallery_start_ignore
if "sphinx_gallery" not in sys.modules:  # the gallery takes the open figure
    figure.savefig("neighbours.png", dpi=120)
# sphinx_gallery_end_ignore
