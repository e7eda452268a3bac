"""The runner: experiments in turn, each kept in a file once it is done."""

from __future__ import annotations

import json
import os
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any

from sklearn.exceptions import ConvergenceWarning

from bochner import datasets
from bochner._core.atomic_files import new_file
from bochner._core.validation import did_you_mean
from bochner._core.version import __version__
from bochner.compare.compare import Progress, environment

from . import block_diagonal, compact, compressive, giga, maxout
from .cells import STATUSES, Cell, Curve, Finding, Table
from .experiment import Experiment

PAPERS: dict[str, ModuleType] = {
    module.NAME: module
    for module in (compressive, giga, block_diagonal, maxout, compact)
}
"""Papers by the names that the command line knows."""


@dataclass
class Reproduction:
    """Cells and curves of all experiments that were made, and those left out.

    Attributes
    ----------
    quick : bool
        Whether rows and draws were few, for time.
    findings : list of Cell and Curve
    left_out : dict
        Experiments that were not made, and why.
    seconds : float
        Of all experiments, those of earlier runs too.
    kept : int
        Experiments that an earlier run had made.
    environment : dict
        Versions and the machine.
    """

    quick: bool
    findings: list[Finding] = field(default_factory=list)
    left_out: dict[str, str] = field(default_factory=dict)
    seconds: float = 0.0
    kept: int = 0
    environment: dict[str, str] = field(default_factory=environment)

    @property
    def cells(self) -> list[Cell]:
        return [found for found in self.findings if isinstance(found, Cell)]

    @property
    def curves(self) -> list[Curve]:
        return [found for found in self.findings if isinstance(found, Curve)]

    def counts(self) -> dict[str, int]:
        """How many cells are reached, beaten and missed."""
        found = Counter(cell.status for cell in self.cells)
        return {status: found[status] for status in STATUSES}

    def to_list(self) -> list[dict[str, Any]]:
        """The cells as plain values, for JSON."""
        return [cell.to_dict() for cell in self.cells]


def reproduce(
    papers: Iterable[str] | None = None,
    *,
    quick: bool = False,
    state: Any = None,
    progress: Progress = lambda what, done, total: None,
    found: Callable[[Finding], None] = lambda finding: None,
) -> Reproduction:
    """Make the experiments of papers on the data in BOCHNER_DATA.

    Quick, all of them take about ten minutes on two cores; in full, hours.

    Parameters
    ----------
    papers : names, optional
        Of PAPERS; all by default.
    quick : bool
        Fewer rows and draws: minutes in place of hours.
    state : path, optional
        A file that finished experiments are kept in, and taken from.
    progress : callable
        Told which experiment comes next, how many are done, how many there are.
    found : callable
        Told every finding at once.

    Returns
    -------
    Reproduction
    """
    names = list(PAPERS) if papers is None else list(dict.fromkeys(papers))
    _check_names(names)
    planned = [e for name in names for e in PAPERS[name].experiments(quick)]
    result, known = Reproduction(quick), datasets.available()
    held = State(state, quick)
    for done, experiment in enumerate(planned):
        progress(experiment.key, done, len(planned))
        missing = [name for name in experiment.sets if name not in known]
        if missing:
            result.left_out[experiment.key] = (
                f"the data set {missing[0]} is not there; set {datasets.VARIABLE} to a "
                f"folder that has {missing[0]}.npz"
            )
            continue
        result.kept += held.has(experiment)
        made = held.measured(experiment)
        result.seconds += made.seconds
        for finding in made.findings:
            result.findings.append(finding)
            found(finding)
    progress("", len(planned), len(planned))
    return result


def _check_names(names: list[str]) -> None:
    unknown = [name for name in names if name not in PAPERS]
    if unknown:
        raise ValueError(
            f"reproduce: papers must be among {', '.join(PAPERS)}; got {unknown[0]!r}"
            f"{did_you_mean(unknown[0], PAPERS)}."
        )


@dataclass(frozen=True)
class Made:
    """What an experiment has found, and how long it took."""

    findings: list[Finding]
    seconds: float

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        return asdict(self)

    @classmethod
    def of(cls, held: dict[str, Any]) -> Made:
        """From plain values."""
        return cls([_revived(found) for found in held["findings"]], held["seconds"])


class State:
    """What experiments have found, in memory and, where a path is given, in a file."""

    def __init__(self, path: Any, quick: bool) -> None:
        self._path = None if path is None else Path(path)
        self._head = {"version": __version__, "quick": quick}
        self._made: dict[str, dict[str, Any]] = {}
        if self._path is not None and self._path.exists():
            self._made = self._read()

    def has(self, experiment: Experiment) -> bool:
        """Whether it was made before."""
        return experiment.key in self._made

    def measured(self, experiment: Experiment) -> Made:
        """What an experiment has found: as it was kept, or measured now."""
        if self.has(experiment):
            return Made.of(self._made[experiment.key])
        start = time.perf_counter()
        with warnings.catch_warnings():
            # the papers' penalties and sizes are given, not ours to change
            warnings.simplefilter("ignore", ConvergenceWarning)
            warnings.simplefilter("ignore", UserWarning)
            found = list(experiment.measure())
        made = Made(found, time.perf_counter() - start)
        self._made[experiment.key] = made.to_dict()
        self._write()
        return made

    def _read(self) -> dict[str, dict[str, Any]]:
        assert self._path is not None
        name = os.fspath(self._path)
        try:
            held = json.loads(self._path.read_text())
            head, made = held["head"], held["made"]
        except (ValueError, KeyError, TypeError) as error:
            raise ValueError(
                f"reproduce: {name!r} is no file of a run that was broken off "
                f"({error}); remove it, or name another."
            ) from error
        if head != self._head:
            raise ValueError(
                f"reproduce: {name!r} is of another kind of run ({head}) than this "
                f"({self._head}); remove it, or name another."
            )
        return made

    def _write(self) -> None:
        if self._path is None:
            return
        text = json.dumps({"head": self._head, "made": self._made})
        with new_file("reproduce", self._path) as file:
            file.write(text.encode())


def _revived(held: dict[str, Any]) -> Finding:
    """A finding from its plain values."""
    if "table" in held:
        return Cell(**{**held, "table": Table(**held["table"])})
    pairs = {name: tuple(held[name]) for name in ("x", "y", "log")}
    return Curve(**{**held, **pairs})
