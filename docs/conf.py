"""Sphinx: how the documentation is built, without a network. `make docs` runs it."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import bochner
from bochner import compression, kernels, nonlinearities, projections

sys.path.insert(0, str(Path(__file__).parent / "_ext"))
os.environ.setdefault("MPLBACKEND", "Agg")

project = "bochner"
author = "The bochner developers"
copyright = f"{author}, BSD-3 licence"
version = release = bochner.__version__

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.viewcode",
    "numpydoc",
    "myst_parser",
    "sphinx_design",
    "sphinx_copybutton",
    "sphinx_gallery.gen_gallery",
    "mathml",
    "docstrings",
]
exclude_patterns = ["_build", "_ext", "_templates", "sg_execution_times.rst"]
templates_path = ["_templates"]

# Docstrings put code between single backticks; what is a public name becomes a link.
default_role = "py:obj"
highlight_language = "none"  # blocks say what they are; diagrams are nothing
add_module_names = False
autodoc_typehints = "none"
autodoc_member_order = "bysource"
autosummary_generate = True
numpydoc_show_class_members = False

myst_enable_extensions = ["colon_fence", "deflist", "dollarmath", "substitution"]
myst_heading_anchors = 3
# Tables of parts are written once, in the docstrings of their modules.
myst_substitutions = {
    f"{module.__name__.split('.')[-1]}_table": module.__doc__.partition("\n\n")[2]
    for module in (kernels, projections, nonlinearities, compression)
}

sphinx_gallery_conf = {
    "examples_dirs": ["../examples"],
    "gallery_dirs": ["gallery"],
    "filename_pattern": r"\.py$",
    "within_subsection_order": "gallery.order",
    "abort_on_example_error": True,
    "show_memory": False,
    "min_reported_time": 10**6,  # clocks differ
    "thumbnail_size": (640, 360),
    "write_computation_times": False,
    "download_all_examples": False,
    "show_signature": False,
    "image_scrapers": ("matplotlib",),
    "doc_module": ("bochner",),
    "backreferences_dir": None,
    "remove_config_comments": True,
}

html_math_renderer = "mathml"
html_theme = "pydata_sphinx_theme"
html_title = "bochner"
html_static_path = ["_static"]
html_css_files = ["bochner.css"]
html_show_sourcelink = False
html_theme_options = {
    "logo": {"text": "bochner"},
    "navbar_align": "left",
    "header_links_before_dropdown": 6,
    "show_prev_next": True,
    "show_toc_level": 2,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}
# Pages without others below them need no list of those.
ALONE = ("index", "choose", "measured", "theory", "gallery/*")
html_sidebars = {name: [] for name in ALONE}

copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True
