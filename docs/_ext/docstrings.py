"""Docstrings as they are written for the terminal, made fit for reStructuredText."""

from __future__ import annotations

import re
from inspect import ismodule
from typing import Any

from docutils import nodes

import bochner

MODULES = ("", *(f"{n}." for n in bochner.__all__ if ismodule(getattr(bochner, n))))
CODE = re.compile(r"(``.*?``|`.*?`)")
# |x| is a length and no substitution, *.csv no emphasis, A. Rahimi no list
SIGN = re.compile(r"(\||(?<=\S)\*(?=\.)|(?<![^ ])(?=[A-Z]\. ))")


def escape(app: Any, what: str, name: str, obj: Any, options: Any, lines: Any) -> None:
    """Signs that mean something else in reStructuredText get a backslash."""
    for i, line in enumerate(lines):
        if not line.lstrip().startswith((">>>", "...")):
            parts = CODE.split(line)
            parts[::2] = [SIGN.sub(r"\\\1", part) for part in parts[::2]]
            lines[i] = "".join(parts)


def skip(
    app: Any, what: str, name: str, obj: Any, skipped: bool, options: Any
) -> bool | None:
    """Leave out what classes inherit from scikit-learn or Python."""
    home = obj.fget if isinstance(obj, property) else obj
    module = getattr(home, "__module__", None) or getattr(
        getattr(home, "__objclass__", None), "__module__", ""
    )
    return True if module.startswith(("sklearn", "builtins")) else None


def resolve(app: Any, env: Any, node: Any, contnode: Any) -> nodes.Node | None:
    """`kernels.Gaussian` and `GIGA` mean those of bochner, from wherever they stand."""
    if node.get("refdomain") != "py":
        return None
    target = node["reftarget"].removeprefix("bochner.").partition("(")[0]
    domain = env.domains["py"]
    for module in MODULES:
        full = f"bochner.{module}{target}"
        if full in domain.objects:
            found = domain.objects[full]
            return _link(app, node, found, full, contnode)
    return None


def _link(app: Any, node: Any, found: Any, full: str, contnode: Any) -> nodes.Node:
    from sphinx.util.nodes import make_refnode

    start = node.get("refdoc") or app.env.docname
    return make_refnode(
        app.builder, start, found.docname, found.node_id, contnode, full
    )


def setup(app: Any) -> dict[str, bool]:
    # after numpydoc, which has the same event at 500
    app.connect("autodoc-process-docstring", escape, priority=600)
    app.connect("autodoc-skip-member", skip)
    app.connect("missing-reference", resolve)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
