"""Models that leave the process: files, and their speed in onnxruntime."""

from __future__ import annotations

import os
import tempfile
import time
from functools import partial
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np

import bochner
from bochner import RandomFeatures, methods, projections
from bochner.export.onnx_graph import Graph
from bochner.projections import sparse
from bochner.projections.circulant import convolve_rows

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
    header += ["one row ms", "onnxruntime"]
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
    _million(quick)
    _convolutions(quick)
    _sparse(quick)


def _speed(name: str, model: Any, X: np.ndarray, folder: Path, repeats: int) -> Any:
    import onnxruntime

    path = folder / "model.onnx"
    bochner.onnx.export(model, path)
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    times, single = (
        interleaved(
            {
                "ours": partial(model.transform, rows),
                "theirs": partial(session.run, None, {"X": rows}),
            },
            repeats,
        )
        for rows in (X, X[:1])
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
        *(f"{1e3 * seconds:.2f}" for seconds in single.values()),
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


def _million(quick: bool) -> None:
    """A map of many columns: the seed in place of its matrix."""
    m, d = (10**4, 100) if quick else (10**6, 100)
    X = np.random.default_rng(0).normal(size=(500, d)).astype(np.float32)
    model = methods.rff(m, random_state=0).fit(X)
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "model.onnx").touch()
        row = _sizes("rff", model, Path(folder))
    title = f"{m} columns of {d} features, float32: MiB and seconds"
    header = ["method", ".bochner", "save", "load", "seeds=True", "save", "load"]
    print_table(title, header, [row[:-1]])


def _session(graph: Graph, output: str) -> Any:
    import onnxruntime

    model = graph.model({"Y": output})
    made = model.SerializeToString()
    return onnxruntime.InferenceSession(made, providers=["CPUExecutionProvider"])


def _convolutions(quick: bool) -> None:
    """Circulants by products with small matrices, against ONNX's operator DFT."""
    rows = []
    shapes = [(2000, 512, 1), (2000, 500, 1), (2000, 784, 5), (500, 4096, 2)]
    for n, d, k in shapes[:1] if quick else shapes:
        rng = np.random.default_rng(0)
        X = rng.normal(size=(n, d)).astype(np.float32)
        R = rng.normal(size=(k, d)).astype(np.float32)
        exact = np.fft.irfft(
            np.fft.rfft(X.astype(float))[:, None] * np.fft.rfft(R.astype(float)), d
        ).reshape(n, -1)
        runs = {}
        for name, convolve in (("ours", convolve_rows), ("DFT", _by_dft)):
            graph = Graph(np.float32, d)
            session = _session(graph, convolve(graph, "X", R))
            runs[name] = lambda session=session, X=X: session.run(None, {"X": X})[0]
        times = interleaved(runs, 3)
        worst = [abs(f() - exact).max() / abs(exact).max() for f in runs.values()]
        cells = [f"{1e3 * t:.1f} ms" for t in times.values()]
        ratio = f"{times['DFT'] / times['ours']:.1f} x"
        rows.append(
            [f"{n} x {d} -> {k * d}", *cells, ratio, *map("{:.0e}".format, worst)]
        )
    header = ["circulants", "ours", "DFT", "ratio", "our error", "DFT's"]
    print_table("convolutions in onnxruntime, float32", header, rows)


def _by_dft(graph: Graph, X: str, vectors: np.ndarray) -> str:
    k, d = vectors.shape
    spectrum = graph._write("DFT", graph.reshape(X, 0, d, 1), axis=1)
    S = graph.expand_dims(spectrum, 1)
    real, imag = (graph.take(S, np.array([i]), axis=3) for i in (0, 1))
    R = np.fft.fft(vectors.astype(float))[..., None]
    both = (
        graph.subtract(graph.multiply(real, R.real), graph.multiply(imag, R.imag)),
        graph.add(graph.multiply(real, R.imag), graph.multiply(imag, R.real)),
    )
    product = graph.reshape(graph.concat(both, axis=3), -1, d, 2)
    back = graph._write("DFT", product, axis=1, inverse=1)
    return graph.reshape(graph.take(back, np.array([0]), axis=2), -1, k * d)


def _sparse(quick: bool) -> None:
    """Rows with few entries gathered, against the matrix written out."""
    rows = []
    n, d, m = (100, 256, 64) if quick else (2000, 784, 4096)
    for dtype in ("float32", "float64"):
        X = np.random.default_rng(0).normal(size=(n, d)).astype(dtype)
        for share in (8, 16, 32, 64):
            blocks = projections.BlockDiagonal(d // share)
            model = RandomFeatures(2 * m, projection=blocks, random_state=0).fit(X)
            runs = {}
            for name, speed in (("gathered", 0), ("written out", d)):
                graph = Graph(dtype, d)
                with patch.object(sparse, "DENSE_SPEED", speed):
                    output = model.feature_map_.linear.forward(graph, "X")
                session = _session(graph, output)
                runs[name] = lambda session=session, X=X: session.run(None, {"X": X})
            times = interleaved(runs, 3)
            cells = [f"{1e3 * t:.0f} ms" for t in times.values()]
            ratio = f"{times['gathered'] / times['written out']:.2f} x"
            rows.append([f"{dtype}, one entry in {share}", *cells, ratio])
    header = ["block-diagonal", "gathered", "written out", "ratio"]
    print_table(f"sparse maps in onnxruntime, {n} x {d} -> {m}", header, rows)
