"""
Formulas put right, beside a simulation
=======================================

Some formulas of the five papers that bochner stands on are misprinted, or wrong. Here
each is computed three times: by simulation, as printed, and as bochner has it. The
tables are those of the page on :doc:`theory </theory>`, which says what they mean.
"""

# sphinx_gallery_thumbnail_number = 1
from __future__ import annotations

import sys
from collections.abc import Sequence

import matplotlib.pyplot as plt
import numpy as np
from scipy.optimize import minimize_scalar

from bochner import kernels, theory

rng = np.random.default_rng(0)


def table(header: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    """Print a table in Markdown, its columns in line."""
    cells = [tuple(header), *(tuple(map(shown, row)) for row in rows)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    lines = ["| " + " | ".join(map(str.ljust, row, widths)) + " |" for row in cells]
    lines.insert(1, "|" + "---|" * len(widths))
    print(*lines, sep="\n")


def shown(value: object) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)


# %%
# Compressive features: a phase for every feature
# -----------------------------------------------
# Equation 2 prints one phase b for all features. With it the error of √(2/M)
# [cos(ωᵢᵀx + b)] does not vanish: it tends to cos(2b) k(x + y), whose root mean square
# over b is k(x + y)/√2. Root mean squares over 200 draws:
x, y = np.array([0.3, 0.4]), np.array([-0.2, 0.5])
gaussian = kernels.Gaussian(0.5)
exact = gaussian([x], [y]).item()


def estimates(M: int, n_phases: int, n_draws: int = 200) -> np.ndarray:
    """⟨φ(x), φ(y)⟩ of M features that share, or do not share, their phase."""
    omega = rng.normal(size=(n_draws, M, 2))  # γ = ½: the law is N(0, I)
    b = rng.uniform(0, 2 * np.pi, size=(n_draws, n_phases))
    return 2 * np.mean(np.cos(omega @ x + b) * np.cos(omega @ y + b), axis=1)


def rms(errors: np.ndarray) -> float:
    return float(np.sqrt(np.mean(errors**2)))


SIZES = (10, 100, 1000, 10_000)
common = [rms(estimates(M, 1) - exact) for M in SIZES]
own = [rms(estimates(M, M) - exact) for M in SIZES]
limit = gaussian([x], [-y]).item() / np.sqrt(2)
table(
    ("M", "one phase (printed)", "a phase each"),
    [*zip(SIZES, common, own, strict=True), ("∞", limit, 0)],
)

# %%
# Compressive features: how many, and how many measurements
# ---------------------------------------------------------
# The proof of Theorem 1 bounds the probability of failure by 2α r⁻ᶻ + β r², for the
# best r. Its number of features has 2e where that sum leads to 4e, so it does not
# reach the δ that it was asked for:
k, d, eps, delta, sigma, diameter = 10, 784, 0.1, 0.01, 4.0, 20.0
z = 2 * k


def failure(M: float) -> float:
    """min over r of 2α r⁻ᶻ + β r², in logarithms."""
    alpha = z * np.log(2 * np.exp(1) * d * diameter / z) - M * eps**2 / 8
    beta = 2 * np.log(2 * sigma / eps)

    def bound(log_r: float) -> float:
        return np.logaddexp(np.log(2) + alpha - z * log_r, beta + 2 * log_r)

    return float(np.exp(minimize_scalar(bound, bracket=(-20, 0)).fun))


def features(constant: float) -> int:
    cover = np.log(constant * np.exp(1) * d * sigma * diameter / (z * eps))
    inside = 2 * z / (z + 2) * cover + np.log(3 / delta)
    return int(np.ceil(4 * (z + 2) / eps**2 * inside))


planned = theory.features_for_sparse(
    k, d, eps=eps, delta=delta, sigma=sigma, diameter=diameter
)
table(
    ("k = 10, d = 784, δ = 0.01", "as printed (2e)", "`features_for_sparse` (4e)"),
    [
        ("frequencies M", features(2), planned),
        ("bound on the failure", failure(features(2)), failure(planned)),
    ],
)

# %%
# Theorem 3 asks for p ≥ (ln 2 + …)/(δ²/16 − δ³/48) measurements. Put into its own
# bound, which is 2 (12/δ)ᵏ (e d/k)ᵏ exp(−(δ²/16 − δ³/48) p), that is a failure with
# probability at most one. With ln(2/η) it is η:
k, d, delta, eta = 2, 10**6, 0.5, 0.01
rate = delta**2 / 16 - delta**3 / 48
size = np.log(2) + k * np.log(12 / delta) + k * np.log(np.exp(1) * d / k)
needed = theory.measurements_for_rip(k, d, delta=delta, eta=eta)
table(
    ("k = 2, d = 10⁶, η = 0.01", "as printed", "`measurements_for_rip`"),
    [
        ("measurements p", int(np.ceil(size / rate)), needed),
        (
            "bound on the failure",
            float(np.exp(size - rate * np.ceil(size / rate)).round(2)),
            float(np.exp(size - rate * needed)),
        ),
    ],
)

# %%
# Compression: the scale of the candidates
# ----------------------------------------
# (1/√J₊) cos(ωᵀx + b) gives half of the kernel; √(2/J₊) gives the kernel. Mean over
# 10⁶ candidates:
omega, b = rng.normal(size=(10**6, 2)), rng.uniform(0, 2 * np.pi, size=10**6)
half = {
    "k(x, x)": np.mean(np.cos(omega @ x + b) ** 2),
    "k(x, y)": np.mean(np.cos(omega @ x + b) * np.cos(omega @ y + b)),
}
table(
    ("", "kernel", "1/√J₊ (printed)", "√(2/J₊)"),
    [
        (name, value, float(half[name]), float(2 * half[name]))
        for name, value in (("k(x, x)", 1.0), ("k(x, y)", exact))
    ],
)

# %%
# Block-diagonal projections: means and variances
# -----------------------------------------------
# One difference Δ of d = 24 coordinates, blocks of b = 8, 200,000 shuffles of it. μ and
# σ² are mean and variance of X = (d/b)‖Δ_B‖² over random blocks B.
d, block_size, gamma, n_draws = 24, 8, 0.05, 200_000
m = d // block_size  # frequencies, or components, of one pass
delta_u = rng.normal(size=d)
shuffled = rng.permuted(np.tile(delta_u, (n_draws, 1)), axis=1)
shuffled = shuffled.reshape(-1, m, block_size)
dots = np.einsum("imb,imb->im", shuffled, rng.normal(size=shuffled.shape))
cosines = np.cos(np.sqrt(2 * gamma * d / block_size) * dots)
X = d / block_size * np.square(shuffled[:, 0]).sum(axis=1)

moments = theory.block_diagonal_moments(delta_u, block_size, gamma=gamma)
mu, var = moments.distance_mean, moments.distance_variance
doubled = 2 * (moments.variance - 0.5 + moments.mean**2)  # E[K(2Δ)], exact
table(
    ("", "simulated", "as printed", "as put right"),
    [
        (
            "E[K(Δ)] (k(Δ) = " + shown(moments.kernel) + ")",
            float(cosines.mean()),
            float(np.exp(-gamma * mu + gamma**2 * var / 2)),
            moments.mean,
        ),
        (
            "E[K(2Δ)] (4.3)",
            float(np.exp(-4 * gamma * X).mean()),
            float(np.exp(-2 * gamma * mu + 2 * gamma**2 * var)),
            float(np.exp(-4 * gamma * mu + 8 * gamma**2 * var)),
        ),
        (
            "variance of a frequency (4.1)",
            float(cosines[:, 0].var()),
            0.5 + 0.5 * doubled + moments.mean**2,
            moments.variance,
        ),
        (
            "the same, in one pass",
            float(m * cosines.mean(axis=1).var()),
            0.5 + 0.5 * doubled + moments.mean**2,
            moments.variance_in_pass,
        ),
        (
            "variance of ‖v‖² (4.7)",
            float(np.square(dots).sum(axis=1).var()),
            (2 * mu + var) / m,
            2 / m * (mu**2 + var),
        ),
    ],
)

# %%
# Lemma 4.6 takes ‖u‖² ≤ (M/m) k ‖u_B‖² for every block B, M and m the largest and
# the smallest ‖u_B‖. It is (M/m)² that this takes:
blocks = np.square(shuffled).sum(axis=2)
ratio = blocks.sum(axis=1) / (m * blocks.min(axis=1))
spread = np.sqrt(blocks.max(axis=1) / blocks.min(axis=1))
table(
    ("", "(M/m), as printed", "(M/m)²"),
    [
        (
            "shuffles that break it",
            f"{np.mean(ratio > spread):.0%}",
            f"{np.mean(ratio > spread**2):.0%}",
        )
    ],
)

# %%
# Maxout: the kernel
# ------------------
# Theorem 1 prints σ²(q) ρ κ_q(ρ) for unit vectors of cosine ρ. It leaves out the pairs
# whose winners differ. From Price's theorem it is μ_q² + ∫₀^ρ κ_q.
RHO = np.array([-0.5, 0.0, 0.5, 0.9])


def unit(rho: np.ndarray) -> np.ndarray:
    """Vectors of length one with these cosines to (1, 0)."""
    return np.stack([rho, np.sqrt(1 - rho**2)], axis=1)


def maxout(q: int, rho: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The kernel as printed, and as it is."""
    first, points = np.array([[1.0, 0.0]]), unit(rho)
    right = kernels.Maxout(q)
    same_winner = kernels.ArgmaxCode(q)(first, points)[0]
    return right(first)[0, 0] * rho * same_winner, right(first, points)[0]


def simulated(q: int, rho: np.ndarray, n_draws: int = 400_000) -> np.ndarray:
    w = rng.normal(size=(q, n_draws, 2))
    at_first = w[:, :, 0].max(axis=0)
    return np.array([np.mean(at_first * (w @ p).max(axis=0)) for p in unit(rho)])


units = {q: (simulated(q, RHO), *maxout(q, RHO)) for q in (2, 4, 8)}
table(
    ("q", "ρ", "simulated", "as printed", "`kernels.Maxout`"),
    [
        (q, float(rho), *(float(v) for v in values))
        for q, columns in units.items()
        for rho, *values in zip(RHO, *columns, strict=True)
    ],
)

# %%
# Compact maps: what is shift-invariant
# -------------------------------------
# The proof takes cos x cos y for ½[cos(x − y) − sin(x − y)]. It is ½[cos(x − y) +
# cos(x + y)], so cosines without phases see where x and y are. The same x − y, moved:
theta = rng.normal(size=(64, 2))
rows = []
for shift in (0.0, 0.5, 1.0, 2.0):
    a, c = theta @ (x + shift), theta @ (y + shift)
    alone = float(2 * np.mean(np.cos(a) * np.cos(c)))
    pairs = float(np.mean(np.cos(a) * np.cos(c) + np.sin(a) * np.sin(c)))
    rows.append((shift, alone, pairs))
table(("x and y moved by", "cosines alone (printed)", "cos/sin pairs"), rows)

# %%
# The subgradient of the mean hinge over a batch divides by the batch, not by the number
# of rows within the margin. Along a random direction:
Z, labels = rng.normal(size=(500, 16)), rng.choice([-1.0, 1.0], size=500)
w, direction, step = rng.normal(size=16) / 4, rng.normal(size=16), 1e-6


def hinge(w: np.ndarray) -> float:
    return float(np.maximum(0, 1 - labels * (Z @ w)).mean())


within = labels * (Z @ w) < 1
total = -(labels[within] @ Z[within]) @ direction
difference = (hinge(w + step * direction) - hinge(w - step * direction)) / (2 * step)
table(
    ("", "finite difference", "over violators (printed)", "over the batch"),
    [("slope", difference, float(total / within.sum()), float(total / len(Z)))],
)

# %%
# Circulant maps: their variance
# ------------------------------
# A figure of the paper finds errors "almost identical" to those of independent rows. So
# they are for far pairs. At m = d the variance is 1 + z⁴e^{−z²}/(1 − e^{−z²})² times
# that of independent rows, z = ‖x − y‖/σ: twice for close ones.
DISTANCES = np.array([0.5, 1.0, 1.5, 2.0, 3.0])


def circulant_variance(z: float, d: int = 64, n_draws: int = 40_000) -> float:
    """Simulated, over that of independent frequencies."""
    difference = rng.normal(size=d)
    difference *= z / np.linalg.norm(difference)
    signs = rng.choice([-1.0, 1.0], size=(n_draws, d))
    spectrum = np.fft.rfft(rng.normal(size=(n_draws, d)))
    phases = np.fft.irfft(np.fft.rfft(signs * difference) * spectrum, d)
    independent = (1 - np.exp(-(z**2))) ** 2 / (2 * d)
    return float(np.cos(phases).mean(axis=1).var() / independent)


def circulant_formula(z: np.ndarray) -> np.ndarray:
    return 1 + z**4 * np.exp(-(z**2)) / (1 - np.exp(-(z**2))) ** 2


ratios = [circulant_variance(float(z)) for z in DISTANCES]
table(
    ("z", "simulated, d = 64", "formula"),
    [
        (float(z), found, float(circulant_formula(z)))
        for z, found in zip(DISTANCES, ratios, strict=True)
    ],
)

# %%
# Three of them as pictures
# -------------------------
# Dots are simulated, dashed lines printed, full lines as they should be.
figure, (left, middle, right) = plt.subplots(
    1, 3, figsize=(14, 4.2), layout="constrained"
)
grid = np.linspace(-1, 1, 101)
# Okabe and Ito's colours, which a colour-blind reader can tell apart.
for (q, (dots_q, *_)), colour in zip(
    units.items(), ("#000000", "#56B4E9", "#D55E00"), strict=True
):
    wrong, true = maxout(q, grid)
    left.plot(grid, wrong, "--", color=colour)
    left.plot(grid, true, color=colour, label=f"q = {q}")
    left.plot(RHO, dots_q, "o", color=colour)
left.set(xlabel="cosine ρ", ylabel="K(x, z)", title="Maxout kernel, unit vectors")
left.legend()
middle.loglog(SIZES, common, "o--", color="#D55E00", label="one phase for all")
middle.loglog(SIZES, own, "o-", color="#000000", label="a phase each")
middle.axhline(limit, color="gray", ls=":", label="k(x + y)/√2")
middle.set(xlabel="features M", ylabel="RMS error", title="Cosines with phases")
middle.legend()
distance = np.linspace(0.2, 3.5, 100)
right.plot(DISTANCES, ratios, "o", color="#000000", label="simulated, d = 64")
right.plot(distance, circulant_formula(distance), color="#000000", label="formula")
right.axhline(1, color="#D55E00", ls="--", label="independent rows")
right.set(xlabel="‖x − y‖/σ", ylabel="variance, independent rows = 1")
right.set_title("Circulant projections")
right.legend()
for axes in (left, middle, right):
    axes.grid(alpha=0.3)
# sphinx_gallery_start_ignore
if "sphinx_gallery" not in sys.modules:  # the gallery takes the open figure
    figure.savefig("theory.png", dpi=120)
# sphinx_gallery_end_ignore
