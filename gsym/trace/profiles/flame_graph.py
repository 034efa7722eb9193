"""A profile as a flame graph on one page."""

from __future__ import annotations

import base64
import hashlib
import json
import os
import re
from html import escape

from gsym.trace.profiles.call_tree import call_tree

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from gsym.trace.profiles.call_tree import CallTree
    from gsym.trace.profiles.model import Profile


# More nodes than can be seen; with them, a page stays below some 10 MB.
MOST_NODES = 200_000
_FOLDER = os.path.join(os.path.dirname(__file__), "page")


def flame_graph(
    profiles: Sequence[Profile],
    title: str,
    *,
    value: int = 0,
    roots: tuple[str, ...] = (),
    most_nodes: int = MOST_NODES,
) -> str:
    """A self-contained page.

    Args:
        profiles: One; or two, of which the second is drawn and compared with the first
            by shares.
        title: Of the page.
        value: Which of the value types of the profiles is drawn, counted from 0.
        roots: Which of `call_tree.ROOTS` each stack begins with.
        most_nodes: Maximum number of nodes, the heaviest; the others are combined below
            each node.
    """
    tree = call_tree(profiles, value, roots).pruned(most_nodes)
    data = _data(tree, title, profiles[-1].value_types[value])
    script = _read("flame.js")
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    parts = {
        "title": escape(title),
        "digest": digest,
        "style": _read("flame.css"),
        # Within a script, only the beginning of a tag means anything to a browser.
        "data": json.dumps(data, separators=(",", ":")).replace("<", "\\u003c"),
        "script": script,
    }
    return re.sub(r"@(\w+)@", lambda place: parts[place[1]], _read("flame.html"))


def _data(tree: CallTree, title: str, value_type: Any) -> dict[str, Any]:
    """What the script of the page draws; modules and paths by their indexes."""
    texts: dict[str, int] = {}
    functions = [
        [
            function.name,
            texts.setdefault(function.module, len(texts)),
            texts.setdefault(function.path, len(texts)),
        ]
        for function in tree.functions
    ]
    return {
        "title": title,
        "type": value_type.type,
        "unit": value_type.unit,
        "texts": list(texts),
        "functions": functions,
        "function": list(tree.function),
        "parent": list(tree.parent),
        "weights": [list(column) for column in tree.weights],
    }


def _read(name: str) -> str:
    with open(os.path.join(_FOLDER, name), encoding="utf-8") as file:
        return file.read()
