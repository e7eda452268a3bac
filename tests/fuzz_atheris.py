"""The reader of model files under a fuzzer that follows coverage.

    pip install atheris
    python tests/fuzz_atheris.py -max_total_time=600

An input is a kind of change and bytes. Bytes are a whole file, the document of a
fixture whose arrays stay as they are, or choices of what to change in such a document.
In each case the file gets the checksum that belongs to it, so that the fuzzer reaches
what is behind. `load` may refuse a file with a
`FileError`, and nothing else. The corpus is made of the smallest files of
`tests/fixtures`. Not part of the test suite, because atheris has no wheels for every
version of Python.
"""

from __future__ import annotations

import copy
import io
import json
import os
import sys
import tempfile
import warnings
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import atheris

with atheris.instrument_imports(include=["bochner.export", "zipfile", "json"]):
    import bochner
    from bochner.export.archive import FileError

from bochner.export.archive import DIGEST, DOCUMENT, TAG
from forging import seal

FIXTURES = Path(__file__).parent / "fixtures"
N_FILES = 16
MEMORY = 64 << 20
SOURCES = sorted(FIXTURES.glob("*.bochner"), key=lambda path: path.stat().st_size)
SOURCES = SOURCES[:N_FILES]
HELD = [path.read_bytes() for path in SOURCES]
VALUES: tuple[Any, ...] = (
    *(None, True, 0, 1, -1, 0.5, 2**40, "x", [], {}, {"tuple": []}, {"dict": []}),
    *({"float": "nan"}, {"slice": [0, 1, None]}, {"dtype": "<f8"}, {"array": "x"}),
    *({"type": "numpy.float64"}, {"number": 1, "of": "numpy.int64"}),
    *({"objects": ["a"], "shape": [1]}, {"kind": "maps.Stack", "state": {}}),
)
FORGED = Path(tempfile.mkdtemp(dir="/dev/shm"), "forged.bochner")


def _entries(content: bytes) -> list[tuple[str, bytes]]:
    with zipfile.ZipFile(io.BytesIO(content)) as file:
        return [(name, file.read(name)) for name in file.namelist()]


ENTRIES = [_entries(content) for content in HELD]


def _write(document: bytes, entries: list[tuple[str, bytes]]) -> None:
    with zipfile.ZipFile(FORGED, "w") as file:
        file.writestr(DOCUMENT, document)
        for name, array in entries:
            if name != DOCUMENT:
                file.writestr(name, array)
        file.comment = TAG + b"0" * DIGEST


def _places(node: Any) -> Iterator[tuple[Any, Any]]:
    """Lists and objects of a document, each with every index or key."""
    pairs = node.items() if isinstance(node, dict) else enumerate(node)
    for key, value in pairs:
        yield node, key
        if isinstance(value, dict | list):
            yield from _places(value)


def _edited(document: bytes, choices: bytes) -> bytes:
    """A document with up to four values exchanged, as the bytes choose."""
    choose = atheris.FuzzedDataProvider(choices)
    changed = json.loads(document)
    for _ in range(choose.ConsumeIntInRange(1, 4)):
        places = list(_places(changed))
        node, key = places[choose.ConsumeIntInRange(0, len(places) - 1)]
        other, place = places[choose.ConsumeIntInRange(0, len(places) - 1)]
        how = choose.ConsumeIntInRange(0, len(VALUES) + 2)
        if how < len(VALUES):
            node[key] = copy.deepcopy(VALUES[how])
        elif how == len(VALUES):
            node[key] = copy.deepcopy(other[place])
        elif how == len(VALUES) + 1:
            node[key] = choose.ConsumeInt(8)
        else:
            node[key] = choose.ConsumeUnicodeNoSurrogates(12)
    return json.dumps(changed).encode()


def one_input(data: bytes) -> None:
    """Load one file; any error but `FileError` is a finding."""
    if len(data) < 2:
        return
    kind, content = data[0], data[1:]
    if kind < N_FILES:
        _write(content, ENTRIES[kind])
    elif kind < 2 * N_FILES:
        entries = ENTRIES[kind - N_FILES]
        _write(_edited(dict(entries)[DOCUMENT], content), entries)
    else:
        FORGED.write_bytes(content[: -DIGEST - len(TAG)] + TAG + b"0" * DIGEST)
    seal(FORGED)
    try:
        bochner.load(FORGED, memory=MEMORY)
    except FileError:
        return


def write_corpus(folder: Path) -> None:
    """The inputs that stand for the fixtures as they are."""
    for i, (content, entries) in enumerate(zip(HELD, ENTRIES, strict=True)):
        (folder / f"file-{i}").write_bytes(bytes([255]) + content)
        (folder / f"document-{i}").write_bytes(bytes([i]) + dict(entries)[DOCUMENT])
        (folder / f"choices-{i}").write_bytes(bytes([N_FILES + i]) + bytes(range(64)))


def main() -> None:
    warnings.simplefilter("ignore")
    corpus = Path(tempfile.mkdtemp())
    write_corpus(corpus)
    limits = ["-timeout=10", "-max_len=20000", "-rss_limit_mb=3000"]
    atheris.Setup([*sys.argv, *limits, os.fspath(corpus)], one_input)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
