"""
The largest of several projections: maxout
==========================================

`methods.maxout` takes the largest of q random projections (Y. Mroueh, S. Rennie and
V. Goel, 2015). Left: distances between points of a circle, before and after 1000 such
features: linear for near points, level for far ones, the sooner the larger the pool.
Then principal components of 10,000 features with q = 12. Where ``BOCHNER_DATA`` has
faces: those of four persons (ORL), and one person turning the head (UMIST), numbered in
the order of the angle. Where it has not: digits.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.offsetbox import AnnotationBbox, OffsetImage
from scipy.spatial.distance import pdist
from scipy.stats import spearmanr

from bochner import KernelClassifier, KernelPCA, datasets, kernels, methods

# Okabe and Ito's colours, which a colour-blind reader can tell apart.
COLOURS = ["#000000", "#56B4E9", "#D55E00", "#009E73"]
PERSONS = (0, 7, 13, 26)
TURNING = 17  # the person of UMIST with 33 pictures
FOLDER = Path(os.environ.get("BOCHNER_DATA", "."))

# %%
# No bandwidth, one number
# ------------------------
# A linear model of maxout units is piecewise linear in the data. There is no bandwidth
# to choose, only q; q = 1 is a linear model.
digits = datasets.load("digits")
for q in (1, 2, 4, 8):
    units = methods.maxout(2048, pool_size=q, projection="sorf", random_state=0)
    model = KernelClassifier(units, loss="squared").fit(digits.X_train, digits.y_train)
    print(f"q = {q}: accuracy {model.score(digits.X_test, digits.y_test):.3f}")

# %%
# What the map does to distances
# ------------------------------


def plot_distances(axes: Any) -> None:
    """Embedded against original distance: dots of a map, lines of the kernel."""
    angles = np.random.default_rng(0).uniform(0, 2 * np.pi, 100)
    X = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    theta = np.linspace(0, np.pi, 200)
    arc = np.stack([np.cos(theta), np.sin(theta)], axis=1)
    shown = np.random.default_rng(1).choice(4950, 700, replace=False)
    for q, colour in zip((2, 8, 32), COLOURS, strict=False):
        F = methods.maxout(1000, pool_size=q, random_state=0).fit_transform(X)
        axes.plot(pdist(X)[shown], pdist(F)[shown], ".", ms=2, color=colour)
        K = kernels.Maxout(q)(arc[:1], arc)[0]
        distance = np.sqrt(2 * (K[0] - K))
        axes.plot(2 * np.sin(theta / 2), distance, color=colour, label=f"q = {q}")
    axes.set(
        xlabel="distance on the circle, ‖x − z‖",
        ylabel="distance of features, ‖Φ(x) − Φ(z)‖",
        title="1000 maxout features (dots), the kernel (lines)",
    )
    axes.legend()


# %%
# Pictures at their principal components
# --------------------------------------


def place(axes: Any, images: np.ndarray, groups: np.ndarray, zoom: float) -> np.ndarray:
    """Pictures at their two principal components, framed by group."""
    X = images.reshape(len(images), -1).astype(np.float64)
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    # dense projections of 10,304 pixels would be a matrix of 10 GB
    features = methods.maxout(10_000, pool_size=12, projection="sorf", random_state=0)
    points = KernelPCA(2, features=features).fit_transform(X)
    for image, point, group in zip(images, points, groups, strict=True):
        frame = {"edgecolor": COLOURS[list(np.unique(groups)).index(group)]}
        picture = OffsetImage(image, zoom=zoom, cmap="gray")
        axes.add_artist(AnnotationBbox(picture, point, pad=0.1, bboxprops=frame))
    low, high = points.min(axis=0), points.max(axis=0)
    margin = 0.12 * (high - low)
    axes.set_xlim(low[0] - margin[0], high[0] + margin[0])
    axes.set_ylim(low[1] - margin[1], high[1] + margin[1])
    axes.set(xlabel="first component", ylabel="second component")
    return points


def plot_digits(axes: Any) -> None:
    chosen = np.flatnonzero(digits.y_test < 4)[:80]
    images = digits.X_test[chosen].reshape(-1, 8, 8)
    place(axes, images, digits.y_test[chosen], zoom=1.8)
    axes.set_title("four digits: maxout, then PCA")


def plot_persons(axes: Any) -> None:
    data = np.load(FOLDER / "orl_faces.npz")
    chosen = np.isin(data["y"], PERSONS)
    images = data["X"][chosen].reshape(-1, *data["image_shape"])
    place(axes, images, data["y"][chosen], zoom=0.3)
    axes.set_title("ORL faces of four persons: maxout, then PCA")


def plot_turning(axes: Any) -> None:
    data = np.load(FOLDER / "umist_28x23.npz")
    images = data["X"][data["y"] == TURNING].reshape(-1, 23, 28).transpose(0, 2, 1)
    points = place(axes, images, np.zeros(len(images)), zoom=0.9)
    label = {"textcoords": "offset points", "ha": "center", "size": 7, "zorder": 10}
    for number, point in enumerate(points, start=1):
        axes.annotate(str(number), point, (0, -18), color=COLOURS[2], **label)
    along = spearmanr(points[:, 0], np.arange(len(points))).statistic
    axes.set_title(
        "one person turning: rank correlation of\n"
        f"first component and order {abs(along):.3f}"
    )


# %%
# All of it
# ---------
panels = [plot_distances]
if all((FOLDER / f"{name}.npz").exists() for name in ("orl_faces", "umist_28x23")):
    panels += [plot_persons, plot_turning]
else:
    panels.append(plot_digits)
figure, axes = plt.subplots(
    1, len(panels), figsize=(5.3 * len(panels), 5.2), layout="constrained"
)
for plot, ax in zip(panels, axes, strict=True):
    plot(ax)
# sphinx_gallery_start_ignore
if "sphinx_gallery" not in sys.modules:  # the gallery takes the open figure
    figure.savefig("maxout.png", dpi=110)
    print("Plot written to maxout.png.")
# sphinx_gallery_end_ignore
