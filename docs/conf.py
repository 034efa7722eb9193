"""Sphinx configuration: `make docs` builds the manual into docs/_build."""  # noqa: INP001

from __future__ import annotations

from typing import TYPE_CHECKING

import gsym
from tools.manual_parts import filled

if TYPE_CHECKING:
    from sphinx.application import Sphinx

project = "gsym"
version = release = gsym.__version__
author = "the gsym authors"
copyright = author  # noqa: A001 - Sphinx's name

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
myst_heading_anchors = 3
exclude_patterns = ["_build"]

html_theme = "furo"
html_title = f"gsym {release}"
html_theme_options = {"top_of_page_buttons": []}
html_static_path = ["manual.css"]
html_css_files = ["manual.css"]

autodoc_member_order = "bysource"
autodoc_typehints = "signature"


def fill_marks(_: Sphinx, __: str, page: list[str]) -> None:
    """Put in what the code says of itself: settings, help texts, records."""
    page[0] = filled(page[0])


def shorten_signature(*event: object) -> tuple[str, str] | None:
    """Leave out the fields of a record, which are listed below it."""
    _, what, _, kind, *_ = event
    return ("", "") if what == "class" and hasattr(kind, "_fields") else None


def setup(app: Sphinx) -> None:
    """Called by Sphinx."""
    app.connect("source-read", fill_marks)
    app.connect("autodoc-process-signature", shorten_signature)
