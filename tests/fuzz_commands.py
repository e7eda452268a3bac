"""Command lines as strangers type them: known options with values of any kind."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

JUNK = (
    *("", " ", "-1", "0", "nan", "inf", "1e999", "abc", "ä", "None", "auto", ","),
    *("99999999999999999999", "../nowhere/x", "--", "a,b", "1.5", "y", "'", "\x07"),
)
METHODS = ("rff", "nystroem", "sorf,rff", "giga", "jl", "maxout_codes", "nothing", "")
Known = dict[str, tuple[str, ...] | None]

OPTIONS: Known = {
    "--target": ("y", "a", "text", "day", "b"),
    "--task": ("classification", "regression"),
    "--seed": ("0", "3"),
    "--json": None,
    "--numbers": ("a", "a,b", "text"),
    "--categories": ("text", "b"),
    "--dates": ("day", "text"),
    "--drop": ("text", "y", "text,day,a,b"),
}
MODEL_OPTIONS: Known = {
    "--features": METHODS,
    "--size": ("1", "7", "8"),
    "--gamma": ("0.5", "scale", "median", "knn", "cnm"),
    "--loss": ("hinge", "squared", "log"),
    "--alpha": ("0.1", "auto"),
    "--calibrate": None,
    "--standardise": None,
    "--memory": ("1GiB", "10 MB", "1"),
    "--seeds": None,
    "--verbose": None,
}
CHOICES: Known = {
    "--methods": METHODS,
    "--sizes": ("8", "4,8", "7"),
    "--loss": ("hinge", "squared", "log"),
    "--rows": ("5", "10", "1000"),
}
COMPARING: Known = {"--repeats": ("1", "2"), "--exact-rows": ("0", "5")}


@st.composite
def _options(draw: Any, known: Known) -> list[str]:
    """Some of the known options, seven in eight with a value that has a meaning."""
    words: list[str] = []
    for name in draw(st.lists(st.sampled_from(sorted(known)), max_size=4, unique=True)):
        words.append(name)
        meant = known[name]
        if meant is not None:
            junk = draw(st.integers(0, 7)) == 0
            words.append(draw(st.sampled_from(JUNK if junk else meant)))
    return words


@st.composite
def given_commands(draw: Any, data: list[str], model: str, out: str) -> list[str]:
    """A command with files that exist, or not, and a place for what it writes."""
    source = draw(st.sampled_from([*data, *data, "nowhere.csv", "digitz"]))
    stored = draw(st.sampled_from([model, model, data[0], "nowhere.bochner"]))
    command = draw(
        st.sampled_from(("fit", "predict", "evaluate", "export", "info", "compare"))
    )
    shown: Known = {"--target": OPTIONS["--target"], "--json": None}
    if command == "fit":
        more = draw(_options({**OPTIONS, **MODEL_OPTIONS}))
        return ["fit", source, "--out", f"{out}.bochner", *more]
    if command == "predict":
        more = draw(_options({"--probabilities": None, "--json": None}))
        return ["predict", stored, source, "--out", f"{out}.csv", *more]
    if command == "evaluate":
        return ["evaluate", stored, source, *draw(_options(shown))]
    if command == "export":
        more = draw(_options({"--dtype": ("float32", "float64"), "--std": None}))
        return ["export", stored, f"{out}.onnx", *more]
    if command == "info":
        return ["info", *draw(st.sampled_from(([stored], []))), *draw(_options(shown))]
    small = ["--methods", "rff", "--sizes", "8", "--exact-rows", "0", "--repeats", "1"]
    more = draw(_options({**OPTIONS, **CHOICES, **COMPARING}))
    return ["compare", source, *small, *more]
