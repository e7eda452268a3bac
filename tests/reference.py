"""Naive twins: the obvious version of everything fast, for tests to compare with."""

from __future__ import annotations

import numpy as np
from scipy.integrate import trapezoid
from scipy.special import gamma, kv
from scipy.stats import multivariate_normal, norm


def cos_sin(Z: np.ndarray) -> np.ndarray:
    """[cos Z, sin Z]/√m in extended precision."""
    Z = np.asarray(Z, dtype=np.longdouble)
    return np.hstack([np.cos(Z), np.sin(Z)]) / np.sqrt(np.longdouble(Z.shape[1]))


def cos_phase(Z: np.ndarray, phases: np.ndarray) -> np.ndarray:
    """√(2/M) cos(Z + 2π·phases) in extended precision, phases in turns."""
    two_pi = 8 * np.arctan(np.longdouble(1))
    shifted = np.asarray(Z, dtype=np.longdouble) + two_pi * phases
    return np.sqrt(2 / np.longdouble(Z.shape[1])) * np.cos(shifted)


def csr_times_dense(A, B: np.ndarray) -> np.ndarray:
    """A B by densifying A."""
    return A.toarray() @ B


def gram(profile, X: np.ndarray, Y: np.ndarray) -> np.ndarray:
    """k(x, y) pair by pair; `profile` takes the difference of two rows."""
    return np.array([[profile(x - y) for y in Y] for x in X])


def gaussian(delta, gamma):
    return np.exp(-(gamma * delta**2).sum())


def laplacian(delta, gamma):
    return np.exp(-(gamma * abs(delta)).sum())


def cauchy(delta, gamma):
    return 1 / (1 + (gamma * delta**2).sum())


def matern(delta, nu, length_scale):
    t = np.sqrt(2 * nu * ((delta / length_scale) ** 2).sum())
    return 1.0 if t == 0 else 2 ** (1 - nu) / gamma(nu) * t**nu * kv(nu, t)


def rational_quadratic(delta, alpha, length_scale):
    return (1 + ((delta / length_scale) ** 2).sum() / (2 * alpha)) ** -alpha


def spherical(delta, radius):
    r = np.sqrt(((delta / radius) ** 2).sum())
    return 1 - 1.5 * r + 0.5 * r**3 if r < 1 else 0.0


def hadamard(d: int) -> np.ndarray:
    """The ±1 Hadamard matrix by its recursion."""
    H = np.ones((1, 1))
    while len(H) < d:
        H = np.block([[H, H], [H, -H]])
    return H


def circulant(r: np.ndarray) -> np.ndarray:
    """Entry (i, j) is r_{i−j mod d}."""
    d = len(r)
    return np.array([[r[(i - j) % d] for j in range(d)] for i in range(d)])


def sorf_block(signs: np.ndarray, scale: np.ndarray) -> np.ndarray:
    """diag(scale) H D₃ H D₂ H D₁, the signs in the order they act."""
    d = signs.shape[1]
    W = np.eye(d)
    for sign in signs:
        W = hadamard(d) @ (sign[:, None] * W)
    return scale[:, None] * W


def fastfood_block(B, order, G, scale) -> np.ndarray:
    """diag(scale) H G Π H B."""
    H = hadamard(len(B))
    permutation = np.eye(len(B))[order]
    return np.diag(scale) @ H @ np.diag(G) @ permutation @ H @ np.diag(B)


def block_mean(delta: np.ndarray, b: int, gamma: float) -> float:
    """E_B exp(−γ(d/b)‖δ_B‖²) over all subsets B of size b, one by one."""
    from itertools import combinations

    d = len(delta)
    subsets = combinations(range(d), b)
    values = [
        np.exp(-gamma * d / b * sum(delta[i] ** 2 for i in subset))
        for subset in subsets
    ]
    return float(np.mean(values))


def nystroem(kernel, X: np.ndarray, landmarks: np.ndarray) -> np.ndarray:
    """k(X, L) k(L, L)⁺ k(L, X): the kernel as landmarks see it."""
    C = kernel(X, landmarks)
    return C @ np.linalg.pinv(kernel(landmarks), hermitian=True) @ C.T


def ridge(F, T, weight, alpha, intercept=True):
    """Coefficients and intercepts of weighted ridge by the normal equations."""
    W = np.diag(weight)
    mean_f = weight @ F / weight.sum() if intercept else np.zeros(F.shape[1])
    mean_t = weight @ T / weight.sum() if intercept else np.zeros(T.shape[1])
    A, B = F - mean_f, T - mean_t
    coef = np.linalg.solve(A.T @ W @ A + alpha * np.eye(F.shape[1]), A.T @ W @ B)
    return coef, mean_t - mean_f @ coef


def objective(loss, F, y, weight, alpha, B):
    """Σ loss + α/2 ‖B‖², the last row of B an unpenalised intercept."""
    S = F @ B[:-1] + B[-1]
    T = loss.encode(y, S.dtype)
    return loss.values(S, T, weight).sum() + 0.5 * alpha * (B[:-1] ** 2).sum()


def log_marginal_likelihood(K, y):
    """log N(y; 0, K)."""
    _, volume = np.linalg.slogdet(2 * np.pi * K)
    return -0.5 * (volume + y @ np.linalg.solve(K, y))


def pair_functions(Z: np.ndarray, n_units: int) -> np.ndarray:
    """R_u(x, y) = Σ_a z_ua(x) z_ua(y) over all ordered pairs, (n_units, s²)."""
    parts = [Z[:, u::n_units] for u in range(n_units)]
    return np.array([(z @ z.T).ravel() for z in parts])


def giga(R: np.ndarray, r: np.ndarray, n_steps: int) -> list[np.ndarray]:
    """Weights after 1 … n_steps steps, with every vector written out."""
    unit, target = R / np.linalg.norm(R, axis=1)[:, None], r / np.linalg.norm(r)
    w, y, path = np.zeros(len(R)), np.zeros(R.shape[1]), []
    for _ in range(n_steps):
        if not y.any():
            best = np.argmax(unit @ target)
            w[best], y = 1, unit[best].copy()
        else:
            towards = target - (target @ y) * y
            tangents = unit - (unit @ y)[:, None] * y
            lengths = np.linalg.norm(tangents, axis=1)
            scores = tangents @ towards / np.where(lengths > 1e-7, lengths, np.inf)
            best = np.argmax(scores)
            z0, z1, z2 = target @ unit[best], target @ y, unit[best] @ y
            g = (z0 - z1 * z2) / ((z0 - z1 * z2) + (z1 - z0 * z2))
            moved = (1 - g) * y + g * unit[best]
            w *= 1 - g
            w[best] += g
            w, y = w / np.linalg.norm(moved), moved / np.linalg.norm(moved)
        scale = np.linalg.norm(r) / np.linalg.norm(R, axis=1) * (target @ y)
        path.append(w * scale)
    return path


def frank_wolfe(R: np.ndarray, r: np.ndarray, n_steps: int) -> list[np.ndarray]:
    """Weights after 1 … n_steps steps, with every vector written out."""
    lengths = np.linalg.norm(R, axis=1)
    total, w, path = lengths.sum(), np.zeros(len(R)), []
    for _ in range(n_steps):
        y = w @ R
        best = np.argmax(R @ (r - y) / lengths)
        vertex = np.zeros(len(R))
        vertex[best] = total / lengths[best]
        step = vertex @ R - y
        g = 1.0 if not w.any() else np.clip(step @ (r - y) / (step @ step), 0, 1)
        w = (1 - g) * w + g * vertex
        path.append(w.copy())
    return path


def maxout(stages: list[np.ndarray], X: np.ndarray) -> np.ndarray:
    """max_j ⟨w_j, x⟩/√M of unit ℓ with w_j = stages[j][ℓ], unit by unit."""
    F = np.empty((len(X), len(stages[0])))
    for i, x in enumerate(X):
        for unit in range(F.shape[1]):
            F[i, unit] = max(W[unit] @ x for W in stages)
    return F / np.sqrt(F.shape[1])


def argmax_codes(stages: list[np.ndarray], X: np.ndarray) -> np.ndarray:
    """argmax_j ⟨w_j, x⟩, the first of equal ones."""
    return np.argmax([X @ W.T for W in stages], axis=0)


def pool_max(Z: np.ndarray, members: np.ndarray) -> np.ndarray:
    """max of Z over the members of each unit, (n, M); members (q, M)."""
    return np.max([Z[:, member] for member in members], axis=0)


def equal_codes(A: np.ndarray, B: np.ndarray) -> np.ndarray:
    """Share of equal codes of every pair of rows."""
    return (A[:, None] == B[None]).mean(axis=2)


def agreement(q: int, rho: float, step: float = 0.1) -> float:
    """κ_q(ρ) = q ∫∫ φ₂ Φ₂^{q−1} by a plain sum over s and t, for |ρ| < 1."""
    g = np.arange(-8, 8 + step / 2, step)
    points = np.stack(np.meshgrid(g, g), axis=-1)
    pair = multivariate_normal(cov=[[1, rho], [rho, 1]])
    return q * step**2 * float((pair.pdf(points) * pair.cdf(points) ** (q - 1)).sum())


def moment_of_maximum(q: int, power: int) -> float:
    """E (max of q standard normals)^power."""
    g = np.linspace(-12, 12, 20_001)
    density = q * norm.pdf(g) * norm.cdf(g) ** (q - 1)
    return float(trapezoid(g**power * density, g))


def maximum_times_minimum(q: int) -> float:
    """E max_j g_j · min_j g_j of q ≥ 2 standard normals."""
    g = np.linspace(-9, 9, 1801)
    low, high = g[:, None], g[None, :]
    between = np.maximum(norm.cdf(high) - norm.cdf(low), 0) ** (q - 2)
    density = q * (q - 1) * between * norm.pdf(low) * norm.pdf(high) * (high > low)
    return float(trapezoid(trapezoid(low * high * density, g), g))


def circulant_rows(r: np.ndarray, signs: np.ndarray, n_out: int) -> np.ndarray:
    """The first rows of [circ(r_1); circ(r_2); …] D, entry by entry."""
    d = r.shape[1]
    W = np.empty((n_out, len(signs)))
    for i in range(n_out):
        for j, sign in enumerate(signs):
            W[i, j] = r[i // d][(i - j) % d] * sign
    return W


def class_loss(name: str, s: np.ndarray, y: int, n_classes: int) -> float:
    """One row's loss of classes: scores s, class y."""
    if n_classes == 2:
        margins = [(2 * y - 1) * s[0]]
    else:
        margins = [s[y] - s[k] for k in range(n_classes) if k != y]
    if name == "log":
        return float(np.log(1 + sum(np.exp(-m) for m in margins)))
    power = {"hinge": 2, "linear_hinge": 1}[name]
    return float(sum(max(0.0, 1 - m) ** power for m in margins))


def pegasos(
    batches: list[tuple[np.ndarray, np.ndarray]],
    W: np.ndarray,
    b: np.ndarray,
    penalty: float,
    n_head: int,
) -> tuple[np.ndarray, float, np.ndarray, np.ndarray]:
    """Pegasos on cosines of two classes y = ±1, row by row: w, intercept, W and b.

    The first n_head batches step w and the intercept, the others W and b.
    """
    w, intercept, W, b = np.zeros(len(W)), 0.0, W.copy(), b.copy()
    for t, (X, y) in enumerate(batches):
        slope_w, slope_0 = penalty * w, 0.0
        slope_W, slope_b = np.zeros_like(W), np.zeros_like(b)
        for x, sign in zip(X, y, strict=True):
            z = W @ x + b
            if sign * (w @ np.cos(z) + intercept) < 1:  # over all rows of the batch
                slope_w = slope_w - sign * np.cos(z) / len(X)
                slope_0 -= sign / len(X)
                slope_b += sign * w * np.sin(z) / len(X)
                slope_W += sign * np.outer(w * np.sin(z), x) / len(X)
        if t < n_head:
            w = w - slope_w / (penalty * (t + 1))
            intercept -= slope_0 / (penalty * (t + 1))
            w *= min(1, penalty**-0.5 / np.linalg.norm(w))
        else:
            rate = 1 / (penalty * (t - n_head + 1))
            W, b = W - rate * slope_W, b - rate * slope_b
    return w, intercept, W, b
