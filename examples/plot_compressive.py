"""
Features of measurements: compressive random features
=====================================================

Data that is sparse, in itself or in some basis, as images are, can be measured first:
p ≪ d random projections P x. Random features of those give almost the same kernel
(J.-H. R. Chang, A. C. Sankaranarayanan and B. V. K. Vijaya Kumar, CVPR 2016). It is
less work, and a device that measures P x by itself never needs to see x.
"""

from __future__ import annotations

import sys

import matplotlib.pyplot as plt
import numpy as np
from scipy.spatial.distance import pdist

from bochner import (
    KernelClassifier,
    RandomFeatures,
    RandomProjection,
    datasets,
    methods,
    metrics,
)

digits = datasets.load("digits")
X_train, y_train = digits.X_train, digits.y_train
X_test, y_test = digits.X_test, digits.y_test
d = X_train.shape[1]
MEASUREMENTS = [int(share * d) for share in (1 / 32, 1 / 16, 1 / 8, 1 / 4, 1 / 2)]
SIZES = [64, 256, 1024, 4096]
# Okabe and Ito's colours, which a colour-blind reader can tell apart.
COLOURS = ["#000000", "#56B4E9", "#E69F00", "#009E73", "#D55E00"]

# %%
# What a camera would send
# ------------------------
# P is √(d/p) times p orthonormal rows. ``feature_map_.split()`` gives P and the map of
# measurements apart: the second stage never sees a pixel.
features = methods.compressive(
    1024, n_measurements=MEASUREMENTS[3], gamma="median", random_state=0
).fit(X_train)
P, second = features.feature_map_.split()
measured = P.apply(X_test)
print(f"{d} pixels become {measured.shape[1]} measurements")
same = np.allclose(second(measured), features.transform(X_test), atol=1e-4)
print(f"features of measurements are those of pixels: {same}")

# %%
# Squared distances vary by √(2/p · (1 − p/d)), relative to what they are. That is the
# error that more features do not remove.
rows = X_test[:200].astype(np.float64)
spreads = []
for p in MEASUREMENTS:
    ratios = []
    for seed in range(20):
        P_seed = RandomProjection(p, projection="orthoprojector", random_state=seed)
        ratios.append((pdist(P_seed.fit_transform(rows)) / pdist(rows)) ** 2)
    spreads.append(float(np.sqrt(np.mean((np.array(ratios) - 1) ** 2))))
formula = [np.sqrt(2 / p * (1 - p / d)) for p in MEASUREMENTS]
print("p         ", *(f"{p:>6}" for p in MEASUREMENTS))
print("measured  ", *(f"{spread:6.3f}" for spread in spreads))
print("formula   ", *(f"{value:6.3f}" for value in formula))

# %%
# Kernel error
# ------------


def features_of(M: int, p: int | None) -> RandomFeatures:
    """M features of p measurements; of the pixels where p is None."""
    if p is None:
        return methods.rff(M, gamma="median", random_state=0)
    return methods.compressive(M, n_measurements=p, gamma="median", random_state=0)


errors = {
    p: [metrics.kernel_error(features_of(M, p).fit(X_train), X_test) for M in SIZES]
    for p in (None, *MEASUREMENTS[1:])
}

# %%
# Accuracy
# --------
# The same measurements for a linear model, and for features of them.


def accuracy(features: object) -> float:
    model = KernelClassifier(features, loss="squared", alpha=np.logspace(-4, 2, 7))
    return 100 * model.fit(X_train, y_train).score(X_test, y_test)


linear = [
    accuracy(RandomProjection(p, projection="orthoprojector", random_state=0))
    for p in MEASUREMENTS
]
nonlinear = [accuracy(features_of(1024, p)) for p in MEASUREMENTS]
whole = accuracy(features_of(1024, None))
for p, *found in zip(MEASUREMENTS, linear, nonlinear, strict=True):
    print(f"p = {p:<4} linear {found[0]:.1f} %, 1024 features {found[1]:.1f} %")
print(f"p = d = {d}: 1024 features {whole:.1f} %")

# %%
# The pictures
# ------------
# Pᵀ P x is what p measurements still show of x.
figure, axes = plt.subplots(1, 4, figsize=(15, 3.9), layout="constrained")
tiles = [rows[0].reshape(8, 8)]
for p in MEASUREMENTS[3:]:
    linear_map = RandomProjection(p, projection="orthoprojector", random_state=0)
    W = linear_map.fit(rows).linear_map_
    tiles.append(W.apply_adjoint(W.apply(rows[:1])).reshape(8, 8) * p / d)
gap = np.full((8, 1), np.nan)
shown = np.hstack([tiles[0], gap, tiles[1], gap, tiles[2]])
axes[0].imshow(shown, cmap="gray")
axes[0].set_title(f"x, and Pᵀ P x of p = {MEASUREMENTS[3]}, {MEASUREMENTS[4]}")
axes[0].set_axis_off()
axes[1].loglog(MEASUREMENTS, spreads, "o", color="#000000", label="measured")
axes[1].loglog(MEASUREMENTS, formula, color="#000000", label="√(2/p · (1 − p/d))")
axes[1].set(xlabel="measurements p", title="spread of squared distances")
for (kept, values), colour in zip(errors.items(), COLOURS, strict=True):
    label = f"p = d = {d}" if kept is None else f"p = {kept}"
    axes[2].loglog(SIZES, values, "o-", color=colour, label=label)
axes[2].set(xlabel="features M", title="relative kernel error")
axes[2].set_xticks(SIZES, [str(size) for size in SIZES])
axes[3].semilogx(MEASUREMENTS, nonlinear, "o-", color="#D55E00", label="1024 features")
axes[3].semilogx(MEASUREMENTS, linear, "s-", color="#56B4E9", label="linear")
axes[3].axhline(whole, color="#D55E00", ls="--", label="1024 features of pixels")
axes[3].set(xlabel="measurements p", title="test accuracy %")
for ax in (axes[1], axes[3]):
    ax.set_xticks(MEASUREMENTS, [str(p) for p in MEASUREMENTS])
for ax in (axes[1], axes[2]):
    ax.set_yticks([0.05, 0.1, 0.2, 0.5, 1], ["0.05", "0.1", "0.2", "0.5", "1"])
for ax in axes[1:]:
    ax.minorticks_off()
    ax.grid(alpha=0.3)
    ax.legend(fontsize="small")
# sphinx_gallery_start_ignore
if "sphinx_gallery" not in sys.modules:  # the gallery takes the open figure
    figure.savefig("compressive.png", dpi=110)
    print("Plot written to compressive.png.")
# sphinx_gallery_end_ignore
