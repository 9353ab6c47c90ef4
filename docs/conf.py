"""Configuration of the documentation site: `make docs` builds it and fails on any warning."""

from __future__ import annotations

import re
from typing import Any

from docutils import nodes
from latex2mathml.converter import convert

import sentencode

project = "Sentencode"
author = "The Sentencode authors"
copyright = "2026, the Sentencode authors"
version = release = sentencode.__version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
]
source_suffix = {".md": "markdown"}
exclude_patterns = ["_build"]
myst_enable_extensions = ["dollarmath", "colon_fence"]
myst_heading_anchors = 3

# `name` in a docstring is a link where there is such a name, and code where there is none.
default_role = "py:obj"
autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_preserve_defaults = True
napoleon_google_docstring = True
napoleon_numpy_docstring = False
napoleon_attr_annotations = False

html_theme = "furo"
html_math_renderer = "mathml"
html_title = "Sentencode"
html_static_path = ["_static"]
html_css_files = ["site.css"]


def shorten(app: Any, what: str, name: str, obj: Any, options: Any, signature: Any, returns: Any) -> Any:
    """Signatures as people write them: NumPy's arrays by their alias, pybind11's without `self`."""
    short = [
        (r"[~.\w]*ndarray\[tuple\[[~.\w]*Any, \.\.\.\], [~.\w]*dtype\[[~.\w]*?(\w+)\]\]", r"NDArray[\1]"),
        (r"[~.\w]*_Buffer \| .*?_NestedSequence\[complex \| bytes \| str\]", "ArrayLike"),
        (r"[~.\w]*SupportsInt \| [~.\w]*SupportsIndex", "int"),
        (r"self: [\w.]+(, )?", ""),
        (r"collections\.abc\.", ""),
    ]
    for pattern, text in short:
        signature, returns = (part and re.sub(pattern, text, part) for part in (signature, returns))
    return signature, returns


def write_mathml(writer: Any, node: nodes.Element) -> None:
    """Writes a formula as MathML, which browsers show without a script or a network."""
    display = "block" if isinstance(node, nodes.math_block) else "inline"
    writer.body.append(convert(node.astext(), display=display))
    raise nodes.SkipNode


def setup(app: Any) -> None:
    """Called by Sphinx."""
    app.add_html_math_renderer("mathml", (write_mathml, None), (write_mathml, None))
    app.connect("autodoc-process-signature", shorten)
