"""Runs inside a peer's own environment: prepares once, then times on demand.

Usage: python peer_worker.py LIBRARY D M N DTYPE; then a line on standard input for
every run, answered by the seconds it took.
"""

import sys
import time

import numpy as np


def xgpr(d, m, X):
    from xGPR import KernelFGen

    generator = KernelFGen(m, np.array([1.0]), d, "RBF", verbose=False)
    return lambda: generator.predict(X)


def sklearn_extra(d, m, X):
    from sklearn_extra.kernel_approximation import Fastfood

    features = Fastfood(sigma=1.0, n_components=m, random_state=0).fit(X[:2])
    return lambda: features.transform(X)


def main():
    library, d, m, n, dtype = sys.argv[1:]
    X = np.random.default_rng(0).normal(size=(int(n), int(d))).astype(dtype)
    run = {"xgpr": xgpr, "sklearn-extra": sklearn_extra}[library](int(d), int(m), X)
    run()
    print("ready", flush=True)
    for _ in sys.stdin:
        start = time.perf_counter()
        run()
        print(time.perf_counter() - start, flush=True)


main()
