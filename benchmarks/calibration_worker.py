"""LightGBM's probabilities, inside its own environment.

Usage: python -m benchmarks.calibration_worker FILE; then lines of JSON on standard
input, {"save": path}: fits `LGBMClassifier()` on the arrays of the file, saves the
probabilities of its test rows and answers with the seconds that took.
"""

from __future__ import annotations

import json
import os
import sys
import time

import numpy as np


def main() -> None:
    from lightgbm import LGBMClassifier

    # libraries print what they like; answers have a stream of their own
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    with np.load(sys.argv[1]) as data:
        X, y, X_test = (data[key] for key in ("X_train", "y_train", "X_test"))
    print("ready", file=answers, flush=True)
    for line in sys.stdin:
        request = json.loads(line)
        try:
            start = time.perf_counter()
            model = LGBMClassifier(random_state=0, verbose=-1).fit(X, y)
            P = model.predict_proba(X_test)
            found: object = time.perf_counter() - start
            np.save(request["save"], P)
        except Exception as error:
            found = {"failed": f"{type(error).__name__}: {error}"}
        print(json.dumps(found), file=answers, flush=True)


if __name__ == "__main__":
    main()
