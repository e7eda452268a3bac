"""Comparisons as they could have been found, and as nobody would want them."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

from bochner import methods
from bochner.compare.results import (
    DEFAULT,
    EXACT,
    LINEAR,
    METHOD,
    TREES,
    Column,
    Comparison,
    Entry,
    Failure,
    Spread,
    Summary,
)

HOSTILE = "</script><img src=x onerror=alert(1)>"
SCRIPT = "<script>alert(1)</script><b>!</b>"  # Plotly reads <b>
SIZES = (256, 512, 1024, 2048, 4096)
NAMES = ("rff", "orf", "sorf", "fastfood", "qmc", "circulant", "nystroem", "maxout")


def entry(name: str, size: int | None, i: int = 0, role: str = METHOD) -> Entry:
    """What a method could have measured: errors fall as 1/√size, times rise."""
    doublings = math.log2(size / 256) if size else 5.5
    score = 0.975 - (0.07 + 0.013 * (i * 5 % 8)) * (0.55 + 0.01 * i) ** doublings
    fit = (0.11 + 0.04 * (i * 3 % 8)) * 2 ** ((0.8 + 0.1 * (i % 4)) * doublings)
    error = (0.11 - 0.02 * (i * 5 % 4)) * 2 ** (-doublings * (0.45 + 0.03 * i))
    return Entry(
        name=name,
        role=role,
        size=size,
        n_rows=60_000 if role != EXACT else 20_000,
        score=Spread(score, (0.0035 + 0.0006 * i) / (1 + doublings)),
        error=Spread(error, error / 12)
        if role == METHOD and name != "maxout"
        else None,
        fit_seconds=Spread(fit, fit / 20),
        row_seconds=Spread(3e-7 * (1 + 0.3 * (i * 3 % 8)) * 2**doublings, 1e-8),
        memory_bytes=int(3e7 * 2**doublings),
        model_bytes=int(9e4 * (1 + i) * 2**doublings) if role == METHOD else None,
        code=f"bochner.KernelClassifier(\n    bochner.methods.{name}({size})\n)",
    )


def entries(names: tuple[str, ...] = NAMES) -> tuple[Entry, ...]:
    maps = [entry(name, size, i) for i, name in enumerate(names) for size in SIZES]
    linear = replace(
        entry("linear", None, 0, LINEAR),
        score=Spread(0.8841, None),
        fit_seconds=Spread(0.052, None),
        row_seconds=Spread(6e-8, None),
        memory_bytes=8_000_000,
    )
    exact = replace(
        entry("exact kernel", None, 9, EXACT),
        score=Spread(0.9756, None),
        fit_seconds=Spread(184.2, None),
        row_seconds=Spread(2.1e-4, None),
        memory_bytes=3_400_000_000,
    )
    trees = replace(
        entry("boosted trees", None, 9, TREES),
        score=Spread(0.9412, None),
        fit_seconds=Spread(21.3, None),
        memory_bytes=None,
    )
    default = replace(
        entry("default learner", None, 9, DEFAULT),
        score=Spread(0.9731, 0.0004),
        fit_seconds=Spread(11.7, 0.4),
    )
    return (linear, exact, trees, default, *maps)


def comparison(**changes: Any) -> Comparison:
    data = Summary(
        name="forest-cover.csv",
        task="classification",
        n_train=60_000,
        n_test=10_000,
        n_features=54,
        target="cover type",
        classes=(("lodgepole pine", 29_264), ("spruce", 21_883), ("aspen", 853)),
        columns=(
            Column("elevation", "numbers", 0.0, "1,859 to 3,858"),
            Column("wilderness area", "categories", 0.0004, "Rawah, Comanche Peak"),
            Column("surveyed", "dates", 0.031, "1993-04-01 to 1998-10-31"),
        ),
        notes=("1 column without any difference was left out: id.",),
    )
    found = Comparison(
        data=data,
        metric="accuracy",
        repeats=5,
        kernel="GaussianKernel(gamma=0.0185)",
        entries=entries(),
        failures=(Failure("giga", 4096, "it needs 38 GB, and 8 GB are free."),),
        seconds=1312.0,
        environment={"bochner": "0.9.0", "Python": "3.13.5", "cpu": "2 × Xeon"},
        command="bochner compare forest-cover.csv --target 'cover type' --repeats 5",
    )
    return replace(found, **changes)


def with_data(found: Comparison, **changes: Any) -> Comparison:
    return replace(found, data=replace(found.data, **changes))


def regression(**changes: Any) -> Comparison:
    """Scores of −0.3 and up, drawn once."""
    found = comparison(metric="R²", repeats=1, **changes)
    once = tuple(
        replace(e, score=Spread(2 * e.score.mean - 2, None)) for e in found.entries
    )
    found = replace(found, entries=once)
    return with_data(found, task="regression", classes=(), target=None)


def not_numbers() -> tuple[Entry, ...]:
    """Entries whose figures are not finite, or nothing at all."""
    nothing = Spread(float("nan"), float("inf"))
    odd = entry("odd", 512)
    return (
        replace(odd, score=nothing, error=nothing, row_seconds=nothing),
        replace(odd, size=1024, fit_seconds=Spread(float("inf"), None)),
        replace(odd, size=2048, fit_seconds=Spread(0.0, None)),
    )


def hostile() -> Comparison:
    """Tags, quotes and odd characters in all names, and figures that are no numbers."""
    first, *rest = entries(("rff", SCRIPT))
    first = replace(first, name=HOSTILE, code=f"print('{HOSTILE}')")
    found = comparison(
        entries=(first, *not_numbers(), *rest),
        failures=(Failure(SCRIPT, None, HOSTILE),),
        command=f"bochner compare '{HOSTILE}'",
        environment={SCRIPT: HOSTILE},
    )
    return with_data(
        found,
        name=f"{HOSTILE} \udcff \u2028 {{{{ 1 }}}}",
        target=SCRIPT,
        classes=((HOSTILE, 3), (SCRIPT, 0)),
        columns=(Column(SCRIPT, "numbers", float("nan"), HOSTILE),),
        notes=(SCRIPT,),
    )


EDGES = {
    "whole": comparison(),
    "hostile": hostile(),
    "not numbers": comparison(
        seconds=float("nan"), entries=(*not_numbers(), *entries(("rff",)))
    ),
    "regression": regression(),
    "one": comparison(entries=(entry("rff", 256),), repeats=1, failures=()),
    "one map without a size": comparison(entries=(entry("rff", None),)),
    "no exact": comparison(entries=entries()[:1] + entries()[2:]),
    "only references": comparison(entries=entries()[:3]),
    "trees ahead": comparison(
        entries=tuple(
            replace(e, score=Spread(0.991, None)) if e.role == TREES else e
            for e in entries()
        )
    ),
    "nothing": comparison(entries=()),
    "many classes": with_data(
        comparison(), classes=tuple((f"class {i}", i) for i in range(200))
    ),
    "every method": comparison(entries=entries(tuple(methods.METHODS))),
    "long names": with_data(
        comparison(entries=entries((*methods.METHODS, "rff" * 60, "a " * 90))),
        name="x" * 300,
    ),
}
