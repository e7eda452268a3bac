"""Coverage-guided fuzzing of everything that reads files of strangers.

    python tests/fuzz_readers.py csv -max_total_time=600     # with atheris installed
    python tests/fuzz_readers.py csv --runs 2000             # mutations alone, without

A reader gives rows that keep the contract, or an error that names the file. Contents of
archives are put into archives that are whole, and checkpoints get a right checksum, so
that it is the readers that are tried, and not their checksums.
"""

from __future__ import annotations

import bz2
import contextlib
import gzip
import hashlib
import importlib.util
import io
import json
import random
import sys
import tempfile
import warnings
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from fuzz_files import CRUMBS, WHOLE

SPLIT = b"||member||"
"""Between the members of an archive in one input."""

MEMBERS = {"dense": ("X", "y"), "csr": ("data", "indices", "indptr", "shape", "format")}
TABLES: tuple[dict[str, Any], ...] = (
    {"target": "y"},
    {"target": "y", "hashed": 8, "rows": 3},
    {"target": "y", "frames": True},
)


def _zipped(names: tuple[str, ...], method: int) -> Callable[[bytes], bytes]:
    def pack(data: bytes) -> bytes:
        file = io.BytesIO()
        with zipfile.ZipFile(file, "w", method) as archive:
            for name, part in zip(names, data.split(SPLIT), strict=False):
                archive.writestr(f"{name}.npy", part)
        return file.getvalue()

    return pack


def _stored(value: Any) -> bytes:
    file = io.BytesIO()
    np.save(file, value)
    return file.getvalue()


def _members(kind: str) -> list[bytes]:
    X = np.arange(12.0).reshape(4, 3)
    if kind == "dense":
        whole = [(X, np.arange(4)), (np.asfortranarray(X), np.array(list("abcd")))]
        return [SPLIT.join(map(_stored, parts)) for parts in whole]
    csr, csc = sparse.csr_matrix(X), sparse.csc_matrix(X)
    return [
        SPLIT.join(
            _stored(part)
            for part in (M.data, M.indices, M.indptr, M.shape, M.format.encode())
        )
        for M in (csr, csc)
    ]


def _sealed(data: bytes, names: list[str]) -> bytes:
    """An archive of ours with these members, under the checksum that it should have."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for name, part in zip(names, data.split(SPLIT), strict=False):
            archive.writestr(name, part)
        archive.comment = b"bochner sha256 " + b"0" * 64
    whole = file.getvalue()[:-64]
    return whole + hashlib.sha256(whole).hexdigest().encode()


def _seeds(*names: str) -> list[bytes]:
    return [WHOLE[name] for name in names]


def _readers() -> dict[str, tuple[str, list[bytes], Callable[[bytes], bytes], Any]]:
    """By name: the file's ending, seeds, how an input becomes a file, options."""

    def as_is(data: bytes) -> bytes:
        return data

    text = _seeds("numbers.csv", "table.csv", "semicolons.csv")
    lines = _seeds("rows.svm")
    svm: Any = ({}, {"n_features": 3, "rows": 2})
    arrays: Any = ({}, {"rows": 2})
    stored, packed = zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED
    return {
        "csv": (".csv", text, as_is, TABLES),
        "tsv": (".tsv", _seeds("table.tsv"), as_is, TABLES),
        "csv.gz": (".csv.gz", text, gzip.compress, TABLES),
        "csv.gz-bytes": (".csv.gz", [gzip.compress(t) for t in text], as_is, TABLES),
        "svmlight": (".svm", lines, as_is, svm),
        "svmlight.gz": (".svm.gz", lines, gzip.compress, svm),
        "svmlight.bz2-bytes": (".svm.bz2", [bz2.compress(lines[0])], as_is, svm),
        "npy": (".npy", [*_seeds("rows.npy"), _stored(np.eye(3, 2).T)], as_is, arrays),
        "npz-bytes": (".npz", _seeds("rows.npz", "csr.npz"), as_is, arrays),
        "npz": (".npz", _members("dense"), _zipped(MEMBERS["dense"], packed), arrays),
        "npz-csr": (".npz", _members("csr"), _zipped(MEMBERS["csr"], stored), ({},)),
        "parquet": (".parquet", _seeds("rows.parquet"), as_is, TABLES),
    }


def read_rows(path: Path, options: dict[str, Any]) -> None:
    """Rows that keep the contract, or an error that names the file."""
    from test_fuzz import REFUSALS, told
    from test_fuzz_files import check_blocks

    from bochner import blocks

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            check_blocks(blocks(path, **options))
    except REFUSALS as error:
        words = str(error)
        if "cannot be read as" not in words:  # in the words of a library
            told(error)
        assert path.name in words or any(name in words for name in options), words


class Checkpoints:
    """A fit that is to go on from whatever is in its checkpoint."""

    def __init__(self, folder: Path) -> None:
        from bochner import KernelClassifier, KernelRegressor, methods

        rng = np.random.default_rng(0)
        X = rng.normal(size=(40, 2))
        self._parts = [(X[i : i + 10], X[i : i + 10, 0]) for i in range(0, 40, 10)]
        self._path = folder / "c"
        features = methods.rff(4, gamma=0.3, random_state=0)
        kept: Any = {"checkpoint": self._path, "checkpoint_every": 1}
        log: Any = {"loss": "log", "alpha": 0.1, "memory": "60 KiB"}
        self._models: list[Any] = [
            KernelRegressor(features, **kept),
            KernelClassifier(features, **log, **kept),
        ]
        self._names: list[list[str]] = []
        self.seeds = [self._left(i) for i in range(len(self._models))]

    def _stream(self, model: int, stop: int | None = None) -> Any:
        walks = []

        def read() -> Any:
            walks.append(1)
            for i, (A, y) in enumerate(self._parts):
                if i == stop and len(walks) > 1:
                    raise OSError("gone")
                yield A, y > 0 if model else y

        return read

    def _left(self, model: int) -> bytes:
        """What a fit leaves that breaks off; of a classifier, after a step."""
        from bochner import blocks
        from bochner.engines.checkpoint import Checkpoint
        from bochner.solvers.newton import State

        with contextlib.suppress(OSError):
            self._models[model].fit(blocks(self._stream(model, 2)))
        if model:
            with zipfile.ZipFile(self._path) as archive:
                identity = json.loads(archive.read("checkpoint.json"))["fit"]
            step = State(np.zeros((5, 1)), 1, 0.5, 1.0)
            Checkpoint(self._path, 1, identity).save(newton=step)
        with zipfile.ZipFile(self._path) as archive:
            self._names.append(archive.namelist())
            parts = [archive.read(name) for name in archive.namelist()]
        self._path.unlink()
        return SPLIT.join(parts)

    def read(self, data: bytes) -> None:
        from test_fuzz import told

        from bochner import blocks

        for number, model in enumerate(self._models):
            self._path.write_bytes(_sealed(data, self._names[number]))
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    model.fit(blocks(self._stream(number)))
            except ValueError as error:
                if "is damaged, or not a checkpoint" not in str(error):
                    told(error)


def target(name: str, folder: Path) -> tuple[list[bytes], Callable[[bytes], None]]:
    """Seeds, and a function that tries one input."""
    if name == "checkpoint":
        found = Checkpoints(folder)
        return found.seeds, found.read
    ending, seeds, pack, options = _readers()[name]
    path = folder / f"file{ending}"

    def one(data: bytes) -> None:
        path.write_bytes(pack(data))
        for given in options:
            read_rows(path, given)

    return seeds, one


NAMES = (*_readers(), "checkpoint")


def mutated(seed: bytes, rng: random.Random) -> bytes:
    """A seed with some of it cut out, changed, doubled, or with crumbs put in."""
    found = bytearray(seed)
    for _ in range(rng.randint(1, 4)):
        at = rng.randrange(len(found) + 1)
        end = min(len(found), at + rng.choice((0, 1, 2, 8, 40)))
        new = (
            b"",
            bytes(255 - byte for byte in found[at:end]),
            rng.choice(CRUMBS),
            2 * found[at:end],
            rng.randbytes(rng.randint(1, 8)),
        )
        found[at:end] = rng.choice(new)
    return bytes(found)


def run_mutations(name: str, runs: int, folder: Path, seed: int = 0) -> None:
    """Try so many mutations of the seeds."""
    seeds, one = target(name, folder)
    rng = random.Random(seed)
    for found in seeds:
        one(found)
    for _ in range(runs):
        data = mutated(rng.choice(seeds), rng)
        try:
            one(data)
        except BaseException:
            (Path(tempfile.gettempdir()) / "fuzz-failure").write_bytes(data)
            raise


def _compiled() -> list[str]:
    """Modules of compiled code, of which Numba has to see the bytecode as it is."""
    found = importlib.util.find_spec("bochner")
    assert found is not None and found.origin is not None
    root = Path(found.origin).parent
    files = [path.relative_to(root.parent) for path in root.rglob("_*.py")]
    return [".".join(path.with_suffix("").parts) for path in files]


def main(arguments: list[str]) -> None:
    name, rest = arguments[0], arguments[1:]
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        if rest[:1] == ["--runs"]:
            return run_mutations(name, int(rest[1]), folder)
        import atheris  # not a dependency: it has no wheels for some systems

        with atheris.instrument_imports(
            include=["bochner.data", "bochner.export", "zipfile"],
            exclude=_compiled(),
        ):
            import bochner.data
            import bochner.export.nodes  # noqa: F401
        seeds, one = target(name, folder)
        corpus = folder / "corpus"
        corpus.mkdir()
        for i, data in enumerate(seeds):
            (corpus / str(i)).write_bytes(data)
        atheris.Setup([sys.argv[0], str(corpus), "-max_len=20000", *rest], one)
        atheris.Fuzz()


if __name__ == "__main__":
    main(sys.argv[1:])
