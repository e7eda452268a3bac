"""`save` and `load`: models as files."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import sklearn

from .._core.atomic_files import checked_path, new_file
from .._core.version import __version__
from ..features.transformer import check_fitted
from .archive import Archive, FileError, write_archive

if TYPE_CHECKING:
    from .archive import Allowance

FORMAT = 1
"""Raised when files change so that older versions cannot read them."""

KEYS = {"format", "bochner", "scikit-learn", "model"}


def save(model: Any, path: Any, *, seeds: bool = False) -> None:
    """Write a fitted model to a file, without pickles.

    The file is a zip of one JSON document and NumPy arrays (`docs/saving.md`), with a
    checksum over all of it. It is written under another name and moved, so that a file
    of that name stays whole whatever happens. The same model gives the same bytes.

    Parameters
    ----------
    model : map, estimator or Pipeline, fitted
        Steps before it may be scikit-learn's imputer, one-hot, ordinal and target
        encoders, scalers, power and quantile transformers, and column selection.
    path : path
        By custom ending in `.bochner`.
    seeds : bool
        Store seeds in place of random maps that can be drawn again: a map of 10⁶
        columns in kilobytes. Loading draws it, and compares. What was learned (heads,
        landmarks, selections) is stored as it is.

    Examples
    --------
    >>> import bochner, tempfile
    >>> digits = bochner.datasets.load("digits")
    >>> model = bochner.KernelClassifier(100, random_state=0)
    >>> model = model.fit(digits.X_train, digits.y_train)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     bochner.save(model, f"{folder}/digits.bochner")
    ...     again = bochner.load(f"{folder}/digits.bochner")
    >>> bool((again.predict(digits.X_test) == model.predict(digits.X_test)).all())
    True
    """
    # all that a file may hold: heavy to import
    from .kinds import is_model
    from .nodes import Encoder, unstorable

    encoder = Encoder(seeds)
    if not is_model(model):
        raise unstorable("", _described(model))
    check_fitted(model)
    document = {
        "format": FORMAT,
        "bochner": __version__,
        "scikit-learn": sklearn.__version__,
        "model": encoder.model(model),
    }
    with new_file("save", path) as file:
        write_archive(file, document, encoder.arrays)


def load(path: Any, *, memory: int | str | None = None) -> Any:
    """Read a model that `save` has written.

    Nothing in a file is run. A file that is damaged, that holds what this version does
    not know, or that asks for more memory than allowed, raises `FileError`, a
    `ValueError`.

    Parameters
    ----------
    path : path
        `~` is your home folder.
    memory : None, int or str
        Memory that loading may take in addition to the arrays in the file, in bytes or
        as "8 GiB": for drawing maps from seeds, and for the objects of a model. None
        is 2 GiB, or a quarter of the machine's memory where that is less.

    Returns
    -------
    The model: predictions are those of the one that was saved, to the bit on the same
    machine. Time and memory are those of the file, and of drawing a map that is stored
    as a seed.

    Examples
    --------
    >>> import tempfile
    >>> import bochner
    >>> model = bochner.methods.rff(8, random_state=0).fit([[0.0], [1.0]])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     bochner.save(model, f"{folder}/map.bochner")
    ...     again = bochner.load(f"{folder}/map.bochner")
    >>> bool((again.transform([[0.5]]) == model.transform([[0.5]])).all())
    True
    """
    from .archive import Allowance  # imports a part of the library that is heavy

    name, allowance = str(checked_path("load", path)), Allowance(memory)
    try:
        with open(name, "rb") as file, Archive(file, allowance.spend) as archive:
            return _read(archive, allowance)
    except FileError as error:
        raise FileError(
            f"load: {name!r} cannot be read: {error}. Nothing of it was used."
        ) from error
    except OSError as error:
        message = f"load: {name!r} cannot be read: {error.strerror}"
        raise type(error)(error.errno, message) from error


def _read(archive: Archive, allowance: Allowance) -> Any:
    from .kinds import is_model  # heavy to import
    from .nodes import Decoder

    document = archive.document()
    if not isinstance(document, dict) or "format" not in document:
        raise FileError("it does not say what format it has")
    writer, written = document.get("bochner"), document["format"]
    if type(written) is not int or written < 1:
        raise FileError(f"{written!r} is not a format")
    if written > FORMAT:
        raise FileError(
            f"it has format {written}, written by bochner {writer}; this is bochner "
            f"{__version__}, which reads formats up to {FORMAT}. Use bochner {writer} "
            "or newer"
        )
    unknown = sorted(document.keys() - KEYS)
    if unknown:
        raise FileError(f"{unknown[0]!r} is nothing that this version knows")
    try:
        model = Decoder(archive, allowance).value(document["model"])
    except Exception as error:
        by = f"written by bochner {writer}, read by {__version__}"
        reason = str(error) or type(error).__name__
        raise FileError(f"{reason} ({by})") from error
    if not is_model(model):
        raise FileError(f"it holds a {type(model).__name__}, which is not a model")
    archive.check_all_read()
    return model


def _described(model: Any) -> str:
    searched = hasattr(model, "best_estimator_")
    hint = " (save its best_estimator_)" if searched else ""
    return f"a {type(model).__name__}{hint}"
