"""LightGBM's probabilities, inside its own environment.

Usage: python -m benchmarks.calibration_worker FILE; then lines of JSON on standard
input, {"save": path}: fits `LGBMClassifier()` on the arrays of the file, saves the
probabilities of its test rows and answers with the seconds that took.
"""

from __future__ import annotations

import sys
import time
from typing import Any

import numpy as np

from .peer_worker import Answer, serve


def prepare() -> Answer:
    from lightgbm import LGBMClassifier

    with np.load(sys.argv[1]) as data:
        X, y, X_test = (data[key] for key in ("X_train", "y_train", "X_test"))

    def answer(request: dict[str, Any]) -> float:
        start = time.perf_counter()
        model = LGBMClassifier(random_state=0, verbose=-1).fit(X, y)
        P = model.predict_proba(X_test)
        seconds = time.perf_counter() - start
        np.save(request["save"], P)
        return seconds

    return answer


if __name__ == "__main__":
    serve(prepare)
