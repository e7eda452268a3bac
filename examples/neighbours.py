"""Approximate nearest neighbours by maxout codes, with recall against exact search.

A row becomes a string of M small numbers, one byte each: which of q random projections
is the largest. Rows of a small angle share many. Only codes are kept; every query is
compared with all of them (`metrics.equal_codes`), and the best 100 are looked at again
with the exact cosine. Prints the share of the true ten neighbours found, by codes alone
and after that second look: what is gained is memory, a product of matrices being fast
as long as all rows fit. On MNIST if it is in BOCHNER_DATA, else on digits.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table
from sklearn.preprocessing import normalize

from bochner import datasets, methods, metrics

NEIGHBOURS, LOOKED_AT, QUERIES = 10, 100, 1000
SIZES = ((64, 2), (64, 16), (256, 2), (256, 16), (1024, 16))


def main() -> None:
    name = "mnist" if "mnist" in datasets.available() else "digits"
    data = datasets.load(name)
    X, queries = normalize(data.X_train), normalize(data.X_test[:QUERIES])
    exact, seconds = timed(lambda: best(queries @ X.T, NEIGHBOURS))
    table = Table(
        title=f"{name}: {len(X)} rows, {len(queries)} queries, ten neighbours"
    )
    for column in (
        "codes",
        "bytes a row",
        "seconds",
        "recall by codes",
        "and a second look",
    ):
        table.add_column(column, justify="right")
    table.add_row("exact", str(X[0].nbytes), f"{seconds:.2f}", "1.000", "")
    for M, q in SIZES:
        table.add_row(f"{M}, q = {q}", *searched(X, queries, exact, M, q))
    Console().print(table)


def searched(X: Any, queries: Any, exact: np.ndarray, M: int, q: int) -> list[str]:
    """A line of the table."""
    codes = methods.maxout_codes(M, pool_size=q, projection="sorf", random_state=0)
    kept = codes.fit_transform(X)

    def search() -> np.ndarray:
        return best(metrics.equal_codes(codes.transform(queries), kept), LOOKED_AT)

    candidates, seconds = timed(search)
    # cosines of each query with its own candidates alone
    cosines = np.einsum("id,ikd->ik", queries, X[candidates])
    order = np.argsort(-cosines, axis=1)[:, :NEIGHBOURS]
    again = np.take_along_axis(candidates, order, axis=1)
    found = [recall(candidates[:, :NEIGHBOURS], exact), recall(again, exact)]
    return [str(kept[0].nbytes), f"{seconds:.2f}", *(f"{share:.3f}" for share in found)]


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


if __name__ == "__main__":
    main()
