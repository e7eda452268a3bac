"""Checkpoints in the container of models: what a fit has to keep, and nothing else.

    checkpoint.json  version, parameters of the fit, a digest of its first block, state
    <name>.npy       arrays

State is refused like models are, by the same checks, and where its parts do not fit
each other (`resuming`); that they fit the fit is looked at where it goes on.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable
from typing import Any, BinaryIO

import numpy as np

from .._core.validation import FLOATS
from ..engines.checkpoint import Checkpoint, Damaged
from ..features.transformer import check_fitted
from ..learners.solving import Sums
from ..solvers.moments import Moments
from ..solvers.newton import State
from ..solvers.rows import RowSample
from .archive import Archive, FileError, write_archive
from .checks import expect
from .kinds import is_model


def checked_state(name: str, value: Any) -> Any:
    """State by its name, of a kind that fits it."""
    if name == "newton":
        state = State(**value)
        _floats(2, state.B)
        _counts(state.step)
        _numbers(state.left, state.first)
        return state
    if name == "alpha":
        _numbers(value)
    elif re.fullmatch(r"fold [0-9]+", name):
        total, done, n_rows = value
        _counts(done, n_rows)
        _check_sums(total)
    elif name == "map":
        _check_map(value)
    else:
        expect(False, "it is nothing that this version knows")
    return value


def _check_map(value: Any) -> None:
    """A fitted map, of classifiers with the α that was found beside it."""
    if isinstance(value, tuple):
        value, alpha = value
        _numbers(*([] if alpha is None else [alpha]))
    is_map = is_model(value) and hasattr(value, "transform")
    expect(is_map, f"{type(value).__name__} is not a map")
    check_fitted(value)


def _check_sums(total: Any) -> None:
    moments = total.moments if isinstance(total, Sums) else total
    expect(isinstance(moments, Moments), "sums are missing")
    m, k = len(moments.f), len(moments.t)
    _counts(moments.n_rows)
    _numbers(moments.weight)
    _floats(1, moments.f, moments.t, moments.tt)
    _floats(2, moments.ff, moments.ft)
    fits = moments.ff.shape == (m, m) and moments.ft.shape == (m, k)
    expect(fits and moments.tt.shape == (k,), "sums do not fit each other")
    expect(moments.ff.flags.f_contiguous, "sums are in another order")
    for origin, size in ((moments.origin_f, m), (moments.origin_t, k)):
        if origin is not None:
            _floats(1, origin)
            expect(len(origin) == size, "an origin does not fit its sums")
    if isinstance(total, Sums):
        _check_sample(total.sample, m, k)


def _check_sample(sample: Any, m: int, k: int) -> None:
    expect(isinstance(sample, RowSample), "a sample of rows is missing")
    _counts(sample.seen, sample.size)
    parts = sample.keys, sample.F, sample.T, sample.weight
    if all(part is None for part in parts):
        return
    expect(all(isinstance(part, np.ndarray) for part in parts), "rows lack a part")
    keys, F, T, weight = parts
    expect(keys.dtype == np.uint64 and len(keys) <= sample.size, "keys are not places")
    n = len(keys)
    wanted = (n,), (n, m), (n, k), (n,)
    expect(tuple(part.shape for part in parts) == wanted, "rows do not fit each other")
    _floats(2, T)
    expect(F.dtype in FLOATS, "rows are not of floats")
    _floats(1, weight)


def _floats(n_dims: int, *arrays: Any) -> None:
    for array in arrays:
        fits = isinstance(array, np.ndarray) and array.dtype == np.float64
        expect(fits and array.ndim == n_dims, "an array is not of floats of its form")


def _numbers(*values: Any) -> None:
    for value in values:
        expect(isinstance(value, float), f"{value!r} is not a number")


def _counts(*values: Any) -> None:
    for value in values:
        expect(type(value) is int and value >= 0, f"{value!r} is not a count")


DOCUMENT = "checkpoint.json"
KEYS = {"bochner", "fit", "state"}


class CheckpointFormat:
    """What `Checkpoint` writes and reads by."""

    def write(self, file: BinaryIO, header: Any, state: dict[str, Any]) -> None:
        from .nodes import Encoder  # heavy to import

        kept = dict(state)
        if "newton" in kept:
            kept["newton"] = _told(kept["newton"])
        encoder = Encoder(seeds=False)
        nodes = {name: encoder.node(v, _label(name)) for name, v in kept.items()}
        write_archive(file, {**header, "state": nodes}, encoder.arrays, DOCUMENT)

    def read(self, file: BinaryIO, check: Callable[[Any], None]) -> dict[str, Any]:
        try:
            with Archive(file, name=DOCUMENT) as archive:
                document = archive.document()
                _check_header(document)
                check(document)
                return _state(archive, document["state"])
        except FileError as error:
            raise Damaged(str(error)) from error


def _told(state: Any) -> dict[str, Any]:
    return {f.name: getattr(state, f.name) for f in dataclasses.fields(state)}


def _label(name: str) -> str:
    return name.replace(" ", "_")


def _check_header(document: Any) -> None:
    whole = isinstance(document, dict) and document.keys() == KEYS
    if not whole or not isinstance(document["bochner"], str):
        raise FileError("it does not say what it is of")
    if not all(isinstance(document[name], dict) for name in ("fit", "state")):
        raise FileError("it does not say what it is of")


def _state(archive: Archive, nodes: dict[str, Any]) -> dict[str, Any]:
    from .nodes import Decoder  # heavy to import

    decoder, state = Decoder(archive), {}
    for name, node in nodes.items():
        try:
            state[name] = checked_state(name, decoder.value(node))
        except Exception as error:  # as for models: whatever a forged value raises
            reason = str(error) or type(error).__name__
            raise FileError(f"{name!r} cannot be read ({reason})") from error
    archive.check_all_read()
    return state


Checkpoint.format = CheckpointFormat()
