"""Feature maps by library, at equal numbers of columns and one bandwidth.

Runs inside a peer's own environment as well as in ours, so libraries are imported
where they are used. A map is made of its size M, γ of exp(−γ‖x − y‖²), a seed and rows
to fit on; what comes back turns rows into M columns.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

Transform = Callable[[np.ndarray], np.ndarray]
Make = Callable[[int, float, int, np.ndarray], Transform]


def ours(name: str, m: int, gamma: float, seed: int, X: np.ndarray) -> Transform:
    from bochner import Nystroem, RandomFeatures, methods

    make: dict[str, Callable[..., Any]] = {
        **methods.METHODS,
        "default": RandomFeatures,
        # what GIGA keeps it chooses from more than it keeps
        "giga": partial(methods.giga, n_candidates=max(5000, 2 * m)),
        "rpcholesky": partial(Nystroem, landmarks="rpcholesky"),
    }
    return make[name](m, gamma=gamma, random_state=seed).fit(X).transform


def scikit_learn(name: str, m: int, gamma: float, seed: int, X: np.ndarray) -> Any:
    from sklearn import kernel_approximation

    make = getattr(kernel_approximation, name)
    return make(n_components=m, gamma=gamma, random_state=seed).fit(X).transform


def fastfood(m: int, gamma: float, seed: int, X: np.ndarray) -> Transform:
    """scikit-learn-extra's: n_components counts frequencies if it gives cos and sin."""
    from sklearn_extra.kernel_approximation import Fastfood

    padded = 2 ** int(np.ceil(np.log2(X.shape[1])))
    pairs = m // 2 % padded == 0  # else it would round the number of columns up
    features = Fastfood(
        sigma=(2 * gamma) ** -0.5,
        n_components=m // 2 if pairs else m,
        tradeoff_mem_accuracy="accuracy" if pairs else "mem",
        random_state=seed,
    )
    return features.fit(X).transform


def xgpr(m: int, gamma: float, seed: int, X: np.ndarray) -> Transform:
    from xGPR import KernelFGen

    log_sigma = np.log([np.sqrt(2 * gamma)])
    width = X.shape[1]
    return KernelFGen(
        m, log_sigma, width, "RBF", random_seed=seed, verbose=False
    ).predict


def rfflearn(kind: str, m: int, gamma: float, seed: int, X: np.ndarray) -> Transform:
    """The features inside its models; `scaled` brings their products to the kernel."""
    from rfflearn import cpu

    cpu.seed(seed)
    model = getattr(cpu, f"{kind}SVC")(dim_kernel=m, std_kernel=np.sqrt(2 * gamma))
    model.set_weight(X.shape[1])
    return model.conv


def scaled(library: str, Z: np.ndarray) -> np.ndarray:
    """Features whose products estimate the kernel: rfflearn leaves √(2/M) out."""
    return Z * np.sqrt(2 / Z.shape[1]) if library == "rfflearn" else Z


MAPS: dict[str, dict[str, Make]] = {
    "bochner": {
        name: partial(ours, name)
        for name in (
            *("default", "rff", "orf", "sorf", "fastfood"),
            *("giga", "nystroem", "rpcholesky"),
        )
    },
    "scikit-learn": {
        name: partial(scikit_learn, name) for name in ("RBFSampler", "Nystroem")
    },
    "sklearn-extra": {"Fastfood": fastfood},
    "xgpr": {"SORF": xgpr},
    "rfflearn": {kind: partial(rfflearn, kind) for kind in ("RFF", "ORF", "QRF")},
}
