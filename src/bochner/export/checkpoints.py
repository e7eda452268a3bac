"""Checkpoints in the container of models: what a fit has to keep, and nothing else.

    checkpoint.json  version, parameters of the fit, a digest of its first block, state
    <name>.npy       arrays

State is read with the checks of models (`learned_checks`). Whether it belongs to the
fit that resumes is checked there.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any, BinaryIO

from ..engines.checkpoint import Checkpoint, Damaged
from .archive import Archive, FileError, write_archive

DOCUMENT = "checkpoint.json"
KEYS = {"bochner", "fit", "state"}


class CheckpointFormat:
    """What `Checkpoint` writes and reads by."""

    def write(self, file: BinaryIO, header: Any, state: dict[str, Any]) -> None:
        from .nodes import Encoder  # heavy to import

        kept = dict(state)
        if "newton" in kept:
            kept["newton"] = _fields(kept["newton"])
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


def _fields(state: Any) -> dict[str, Any]:
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
    from .learned_checks import checked_state  # heavy to import
    from .nodes import Decoder

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
