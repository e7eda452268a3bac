"""What an installed package must do, without the source tree: `make dist` runs it."""

import tempfile
from pathlib import Path

import numpy as np

import bochner

digits = bochner.datasets.load("digits")
X, y = digits.X_train[:400], digits.y_train[:400]
for name in bochner.methods.METHODS:
    more = {"max_iter": 2} if name.startswith("compact") else {}
    features = getattr(bochner.methods, name)(16, random_state=0, **more)
    assert features.fit(X, y).transform(X).shape[0] == len(X), name
model = bochner.KernelClassifier(64, random_state=0).fit(X, y)
assert model.score(digits.X_test, digits.y_test) > 0.9
with tempfile.TemporaryDirectory() as folder:
    path = Path(folder) / "model.bochner"
    bochner.save(model, path)
    again = bochner.load(path)
np.testing.assert_array_equal(again.predict(X), model.predict(X))
print(f"bochner {bochner.__version__} works, from {Path(bochner.__file__).parent}")
