"""Sphinx configuration: `make docs` builds the manual into docs/_build."""  # noqa: INP001

from __future__ import annotations

import inspect
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
autodoc_typehints = "both"
autodoc_typehints_description_target = "documented_params"
LONG_SIGNATURE = 300  # characters; its types are those of the list of parameters


def fill_marks(_: Sphinx, __: str, page: list[str]) -> None:
    """Put in what the code says of itself: settings, help texts, records."""
    page[0] = filled(page[0])


def shorten_signature(*event: object) -> tuple[str, str] | None:
    """Leave out what is listed below: fields of a record, types of many parameters."""
    _, what, _, kind, _, shown, returned = event
    if what == "class" and hasattr(kind, "_fields"):
        return "", ""
    if what == "class" or len(str(shown)) < LONG_SIGNATURE or not callable(kind):
        return None
    whole = inspect.signature(kind)
    plain = [each.replace(annotation=each.empty) for each in whole.parameters.values()]
    return str(whole.replace(parameters=plain, return_annotation=whole.empty)), str(
        returned
    )


def setup(app: Sphinx) -> None:
    """Called by Sphinx."""
    app.connect("source-read", fill_marks)
    app.connect("autodoc-process-signature", shorten_signature)
