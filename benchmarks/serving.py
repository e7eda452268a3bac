"""Models that leave the process: files, and their speed in onnxruntime."""

from __future__ import annotations

import os
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

import bochner
from bochner import methods

from .timing import interleaved, print_table

NAMES: dict[str, dict[str, Any]] = {
    "rff": {},
    "sorf": {},
    "fastfood": {},
    "circulant": {},
    "block_diagonal": {},
    "maxout": {"pool_size": 4},
    "giga": {"n_candidates": 1000},
    "nystroem": {},
}


def run(quick: bool = False) -> None:
    """Print transform in onnxruntime against our own, and sizes of files."""
    n, d, m = (256, 128, 256) if quick else (4096, 784, 4096)
    X = np.random.default_rng(0).normal(size=(n, d)).astype(np.float32)
    speeds, sizes = [], []
    with tempfile.TemporaryDirectory() as folder:
        for name, more in NAMES.items():
            kept = m // 8 if name == "giga" else m
            model = methods.METHODS[name](kept, random_state=0, **more).fit(X)
            speeds.append(_speed(name, model, X, Path(folder), 2 if quick else 5))
            sizes.append(_sizes(name, model, Path(folder)))
    title = f"{n} rows, {d} → {m} float32 features (giga {m // 8}), best of interleaved"
    header = ["method", "ours ns/output", "onnxruntime", "their ratio", "difference"]
    print_table(f"onnxruntime against our transform: {title}", header, speeds)
    header = [
        "method",
        ".bochner",
        "save",
        "load",
        "seeds=True",
        "save",
        "load",
        ".onnx",
    ]
    print_table("files, MiB and seconds", header, sizes)


def _speed(name: str, model: Any, X: np.ndarray, folder: Path, repeats: int) -> Any:
    import onnxruntime

    path = folder / "model.onnx"
    bochner.onnx.export(model, path)
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    times = interleaved(
        {
            "ours": lambda: model.transform(X),
            "theirs": lambda: session.run(None, {"X": X}),
        },
        repeats,
    )
    F, G = model.transform(X), session.run(None, {"X": X})[0]
    ns = {key: 1e9 * seconds / F.size for key, seconds in times.items()}
    difference = np.abs(F - G).max() / np.abs(F).max()
    return [
        name,
        f"{ns['ours']:.2f}",
        f"{ns['theirs']:.2f}",
        f"{ns['theirs'] / ns['ours']:.1f} x",
        f"{difference:.0e}",
    ]


def _sizes(name: str, model: Any, folder: Path) -> list[str]:
    row = [name]
    for seeds in (False, True):
        path = folder / "model.bochner"
        start = time.perf_counter()
        bochner.save(model, path, seeds=seeds)
        saved = time.perf_counter()
        bochner.load(path)
        loaded = time.perf_counter()
        row += [_mib(path), f"{saved - start:.3f}", f"{loaded - saved:.3f}"]
    return [*row, _mib(folder / "model.onnx")]


def _mib(path: Path) -> str:
    return f"{os.path.getsize(path) / 2**20:.3f}"
