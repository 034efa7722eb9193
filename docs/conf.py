"""Sphinx configuration: `make docs` builds the manual into docs/_build."""  # noqa: INP001

import gsym

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
