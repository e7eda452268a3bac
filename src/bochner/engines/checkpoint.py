"""Checkpoints: the state of a streaming fit in a file, to go on from after a kill.

Fingerprints of parameters: whether two objects ask for the same computation.

A fingerprint is a hash of contents, so that it is small, holds no reference to the
user's arrays, and notices their changes in place. Estimators are compared by their
parameters, since a fit clones them; only a `FrozenEstimator` counts with what it has
learned.
"""

from __future__ import annotations

import functools
import hashlib
import re
import types
from collections.abc import Callable
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any, BinaryIO, ClassVar, Protocol

import joblib
import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.frozen import FrozenEstimator

from .._core.atomic_files import REASONS, remove_leftovers, replacing
from .._core.validation import check_count
from .._core.version import __version__
from .sources import Block


def fingerprint(value: Any) -> str | None:
    """A hash of all that a parameter holds, None where it cannot be read.

    Equal fingerprints mean equal parameters; different ones may belong to parameters
    that differ in form alone, as 1 and `numpy.int64(1)`.
    """
    digest = hashlib.blake2b(digest_size=16)
    try:
        _add(digest, value)
    except Exception:  # an object that cannot be pickled: whatever its class raises
        return None
    return digest.hexdigest()


def matches(fitted: str | None, value: Any) -> bool:
    """Whether a fingerprint of an earlier fit is that of a parameter as it is now."""
    return fitted is not None and fitted == fingerprint(value)


def _add(digest: Any, value: Any) -> None:
    parts = _parts(value)
    name = f"{type(value).__module__}.{type(value).__qualname__}"
    digest.update(f"({name}".encode())
    if parts is None:
        digest.update(str(joblib.hash(value)).encode())
    else:
        for part in parts:
            _add(digest, part)
    digest.update(b")")


def _parts(value: Any) -> list[Any] | None:
    """What a value is made of; None for a value that is hashed as a whole."""
    if isinstance(value, BaseEstimator) and not isinstance(value, FrozenEstimator):
        return _items(value.get_params(deep=False))
    if isinstance(value, dict):
        return _items(value)
    if isinstance(value, list | tuple):
        return list(value)
    if isinstance(value, np.ndarray) and value.dtype == object:
        return [value.shape, value.ravel().tolist()]
    if sparse.issparse(value):  # whose objects keep notes of their own use
        rows = value.tocsr()
        return [value.format, value.shape, rows.data, rows.indices, rows.indptr]
    if isinstance(value, functools.partial):
        return [value.func, value.args, value.keywords]
    if isinstance(value, types.FunctionType):
        cells = [cell.cell_contents for cell in value.__closure__ or ()]
        names = [value.__module__, value.__qualname__, value.__defaults__]
        return [*names, value.__kwdefaults__, value.__code__, cells]
    if isinstance(value, types.CodeType):
        return [value.co_code, value.co_consts, value.co_names, value.co_varnames]
    return None


def _items(pairs: dict[Any, Any]) -> list[Any]:
    """Keys with their values, in an order that does not depend on insertion."""
    return sorted(pairs.items(), key=lambda pair: repr(pair[0]))


PICKLED = b"bochner checkpoint 1\n"
"""What files of earlier versions begin with, which are pickles."""

SIMPLE = (type(None), bool, int, float, str)
"""Types whose values are identified by their words alone."""

UNCOUNTED = ("checkpoint", "checkpoint_every", "verbose", "memory")
"""Parameters that a fit may be resumed with other values of: memory after it ran out,
though chunks are then cut elsewhere and sums rounded otherwise."""


class Damaged(ValueError):
    """A file that is not a checkpoint, or not whole; the words say why."""


class Format(Protocol):
    """How state becomes a file, and a file state.

    `persistence` has it, which lies above: it knows what all maps are made of.
    """

    def write(self, file: BinaryIO, header: Any, state: dict[str, Any]) -> None:
        """Write to an empty file; TypeError where it cannot hold something."""
        ...

    def read(self, file: BinaryIO, check: Callable[[Any], None]) -> dict[str, Any]:
        """State of a file whose header `check` does not refuse, or `Damaged`."""
        ...


class Checkpoint:
    """State by name, kept in a file that is replaced as a whole.

    The file holds a header (version, parameters of the fit, a digest of its first
    block), the state, and a checksum of all that; it is written under another name
    and moved. A file that is damaged, or of another fit, is refused, never read in
    part. It has the format of models: nothing in it is run.

    What an earlier process saved is read once; what this process saves is written and
    never read back. So no pass of a fit can take the result of another for its own.

    Parameters
    ----------
    path : path or None
        None keeps nothing: every pass starts from its beginning.
    every : int
        Blocks between two files.
    identity : dict
        What must agree for a file to be resumed from.
    """

    format: ClassVar[Format]

    def __init__(
        self, path: Any, every: int = 1, identity: dict[str, str] | None = None
    ) -> None:
        self._path = None if path is None else Path(path)
        self._every, self._identity = every, identity or {}
        self._state: dict[str, Any] = {}  # for the next file
        self._resumed: dict[str, Any] = {}  # from the file of an earlier process
        self._ticks, self._n_folds = 0, 0
        if self._path is not None:
            remove_leftovers(self._path)
            if self._path.exists():
                self._state = self._read(self._path)
                self._resumed = self._state.copy()

    def get(self, name: str, default: Any = None) -> Any:
        """State that an earlier process saved; a second call returns the default."""
        return self._resumed.pop(name, default)

    def once(self, name: str, make: Callable[[], Any]) -> Any:
        """What an earlier process has made, or what is made and saved now."""
        if name in self._resumed:
            return self._resumed.pop(name)
        made = make()
        self.save(**{name: made})
        return made

    def fold_name(self) -> str:
        """A name for the state of the next fold over rows.

        The first fold of a fit resumes the first of an earlier process, the second its
        second.
        """
        self._n_folds += 1
        return f"fold {self._n_folds}"

    def tick(self, **state: Any) -> None:
        """Save where as many blocks have gone by as were asked for."""
        self._ticks += 1
        if self._ticks % self._every == 0:
            self.save(**state)

    def save(self, **state: Any) -> None:
        """Replace the file by one with this state."""
        if self._path is not None:
            self._state.update(state)
            self._write(self._path)

    def forget(self, name: str) -> None:
        """Leave state that has served its purpose out of the next file."""
        self._state.pop(name, None)

    def clear(self) -> None:
        """Delete the file: the fit is complete."""
        self._state, self._resumed = {}, {}
        if self._path is not None:
            self._path.unlink(missing_ok=True)

    def refused(self, reason: str) -> ValueError:
        """The error about state that this fit cannot have left."""
        return _refused(self._path, reason)

    def _write(self, path: Path) -> None:
        header = {"bochner": __version__, "fit": self._identity}
        try:
            with replacing(path) as file:
                self.format.write(file, header, self._state)
        except OSError as error:
            reason = REASONS.get(error.errno or 0, error.strerror or error)
            raise type(error)(
                error.errno,
                f"checkpoint {str(path)!r} cannot be written: {reason}. An older file "
                "there is as it was, and fit goes on from it. Make room, or name "
                "another place.",
            ) from error
        except TypeError as error:
            raise TypeError(
                f"checkpoint {str(path)!r} is written without pickles, and cannot hold "
                f"what this fit has to keep ({error}) Give features that are fitted, "
                "as FrozenEstimator(map.fit(rows)), which need not be kept; or leave "
                "checkpoint=None."
            ) from error

    def _read(self, path: Path) -> dict[str, Any]:
        with open(path, "rb") as file:
            if file.read(len(PICKLED)) == PICKLED:
                raise ValueError(
                    f"checkpoint {str(path)!r} was written by an earlier version of "
                    "bochner, as a pickle, which can run code when it is read; this "
                    "version does not read it. Delete it to start anew, or, if you "
                    "wrote it, resume with the version that did."
                )
            try:
                return self.format.read(file, lambda header: self._check(path, header))
            except Damaged as error:
                raise _refused(path, str(error)) from error

    def _check(self, path: Path, header: dict[str, Any]) -> None:
        """Refuse a file of another version or another fit."""
        if header["bochner"] != __version__:
            raise ValueError(
                f"checkpoint {str(path)!r} was written by bochner {header['bochner']} "
                f"and this is {__version__}; resume with that version, or delete it "
                "to start anew."
            )
        saved = header["fit"]
        names = saved.keys() | self._identity.keys()
        for name in sorted(names, key=lambda name: (name != "estimator", name)):
            ours, theirs = self._identity.get(name), saved.get(name)
            if ours != theirs:
                raise ValueError(
                    f"checkpoint {str(path)!r} is of another fit: {name} was {theirs} "
                    f"and is {ours}. Delete it to start anew, or give another name."
                )


def _refused(path: Any, reason: str) -> ValueError:
    return ValueError(
        f"checkpoint {str(path)!r} is damaged, or not a checkpoint: {reason}. Nothing "
        "of it was used. Delete it to start anew, or give another name."
    )


def is_like(found: Any, fresh: Any) -> bool:
    """Whether state has the form of a fresh one: types, shapes; None may be filled."""
    if fresh is None:
        return True
    if type(found) is not type(fresh):
        return False
    if isinstance(fresh, np.ndarray):
        return found.shape == fresh.shape and found.dtype == fresh.dtype
    names = [field.name for field in fields(fresh)] if is_dataclass(fresh) else []
    return all(is_like(getattr(found, name), getattr(fresh, name)) for name in names)


def checkpoint_of(owner: Any, first: Block | None) -> Checkpoint:
    """The owner's checkpoint, for a stream of blocks that begins with `first`."""
    name = type(owner).__name__
    every = check_count(name, "checkpoint_every", owner.checkpoint_every)
    if owner.checkpoint is None:
        return Checkpoint(None)
    if first is None:
        raise ValueError(
            f"{name}: checkpoint={owner.checkpoint!r} is for streams; give X as "
            "bochner.blocks(X, target=y), or leave checkpoint=None."
        )
    if getattr(owner, "warm_start", False):
        raise ValueError(
            f"{name}: checkpoint and warm_start do not go together; leave one out."
        )
    folder = Path(owner.checkpoint).absolute().parent
    if not folder.is_dir():
        raise ValueError(
            f"{name}: checkpoint={owner.checkpoint!r} cannot be written, because "
            f"there is no folder {str(folder)!r}."
        )
    path = Path(owner.checkpoint)
    if path.exists() and not path.is_file():
        what = "folder" if path.is_dir() else "pipe or a device"
        raise ValueError(
            f"{name}: checkpoint={owner.checkpoint!r} is a {what}; give a file's name."
        )
    parameters = owner.get_params()
    identity = {
        key: _described(parameters[key])
        for key in sorted(parameters)
        if key not in UNCOUNTED and "__" not in key
    }
    identity |= {"estimator": name, "the first block": digest(first)}
    return Checkpoint(owner.checkpoint, every, identity)


def _described(value: Any) -> str:
    """A parameter in words, and a hash of all of it."""
    words = re.sub(r" at 0x\w+", "", repr(value))
    if isinstance(value, SIMPLE):
        return words
    content = fingerprint(value)
    return words if content is None else f"{words} ({content[:8]})"


def digest(block: Block) -> str:
    """A few letters that tell blocks apart."""
    found = hashlib.blake2b(digest_size=8)
    X = block.X
    parts = [X.data, X.indices, X.indptr] if sparse.issparse(X) else [X]
    beside = [block.y] if block.weight is None else [block.y, block.weight]
    for part in (*parts, *beside):
        part = part.astype(str) if part.dtype == object else part
        found.update(str((part.shape, part.dtype)).encode())
        found.update(part.tobytes())
    return found.hexdigest()
