"""Configuration of the documentation site: `make docs` builds it and fails on any warning."""

from __future__ import annotations

import sentencode

project = "Sentencode"
author = "The Sentencode authors"
copyright = "2026, the Sentencode authors"
version = release = sentencode.__version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.mathjax",
    "sphinx.ext.napoleon",
]
source_suffix = {".md": "markdown"}
exclude_patterns = ["_build"]
myst_enable_extensions = ["dollarmath", "colon_fence"]
myst_heading_anchors = 3

autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_preserve_defaults = True
# The pages must build on a machine that has none of the extras.
autodoc_mock_imports = ["torch"]
napoleon_google_docstring = True
napoleon_numpy_docstring = False

html_theme = "furo"
html_title = "Sentencode"
html_static_path: list[str] = []
