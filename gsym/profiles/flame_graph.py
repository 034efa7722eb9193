"""A profile as a flame graph on one page."""

from __future__ import annotations

import base64
import os
from collections import Counter
from html import escape
from itertools import pairwise

from gsym.lazy import hashlib, json, re
from gsym.model import valid_text
from gsym.profiles.call_tree import (
    call_tree,
    summed_stacks,
    thread_title,
    time_range,
)

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from gsym.profiles.call_tree import CallTree
    from gsym.profiles.model import Profile, Sample

# More nodes than can be seen; with them, a page stays below some 10 MB.
MOST_NODES = 200_000
_NODES_OF_NOTEBOOK = 20_000  # which stay in its file
# Samples, or runs of them with one stack, in the order of time; of all threads.
MOST_RUNS = 100_000
_MICROSECOND = 1000  # nanoseconds
_FOLDER = os.path.join(os.path.dirname(__file__), "page")


def flame_page(
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
    data = _data(tree, title, profiles[-1], value)
    script = _read("trees.js") + _read("flame.js")
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


def notebook_frame(profile: Profile) -> str:
    """The page in a frame of its own, as notebooks show it."""
    page = flame_page((profile,), "profile", most_nodes=_NODES_OF_NOTEBOOK)
    style = "width: 100%; height: 500px; border: 0"
    shown = escape(valid_text(page))
    return f'<iframe sandbox="allow-scripts" style="{style}" srcdoc="{shown}"></iframe>'


def _data(tree: CallTree, title: str, profile: Profile, value: int) -> dict[str, Any]:
    """The data that the script of the page draws; modules and paths by index."""
    texts: dict[str, int] = {}
    lines = _lines(profile, value)
    functions = []
    for name, module, path in tree.functions:
        places = (texts.setdefault(each, len(texts)) for each in (module, path))
        functions.append([name, *places, *lines.get((name, path), ())])
    return {
        "title": title,
        "type": profile.value_types[value].type,
        "unit": profile.value_types[value].unit_text(),
        "texts": list(texts),
        "functions": functions,
        "function": list(tree.function),
        "parent": list(tree.parent),
        "weights": [list(column) for column in tree.weights],
        **({} if len(tree.weights) > 1 else _times(tree, profile, value)),
    }


def _lines(profile: Profile, value: int) -> dict[tuple[str, str], tuple[int, int]]:
    """The line of each function that samples were most in, and how many there are."""
    weights: Counter[int] = Counter()
    for (stack, _), weight in summed_stacks(profile, value).items():
        for index in set(profile.stacks[stack]):
            weights[index] += weight
    lines: dict[tuple[str, str], Counter[int]] = {}
    for index, location in enumerate(profile.locations):
        for frame in location.frames:
            if frame.line:
                known = lines.setdefault((frame.name, frame.path), Counter())
                known[frame.line] += weights[index]
    return {
        function: (max(known, key=lambda line: (known[line], -line)), len(known))
        for function, known in lines.items()
    }


def _times(tree: CallTree, profile: Profile, value: int) -> dict[str, Any]:
    """The samples of each thread in the order of time, if all have one.

    Samples with one stack after another are a run: its node, its weight, and its start
    in microseconds from the last. If there are too many, several are drawn as one.
    """
    start, _ = time_range(profile)
    if start is None:
        return {}
    threads = []
    for at, samples in profile.samples_by_thread().items():
        name = "all samples" if at is None else thread_title(profile.threads[at])
        threads.append((name, _runs(tree, samples, value)))
    joined = -(-sum(len(runs) for _, runs in threads) // MOST_RUNS) or 1
    shown = []
    for name, runs in threads:
        if runs:
            nodes, weights, begins = zip(*_joined(runs, joined), strict=True)
            moments = [0, *((begin - start) // _MICROSECOND for begin in begins)]
            steps = [now - last for last, now in pairwise(moments)]
            shown.append([name, list(nodes), list(weights), steps])
    return {"joined": joined, "threads": shown}


_Run = tuple[int, int, int]  # node, weight, time of the first sample


def _runs(tree: CallTree, samples: Sequence[Sample], value: int) -> list[_Run]:
    runs: list[_Run] = []
    for sample in samples:
        node = tree.ends.get((sample.stack, sample.thread))
        weight = sample.values[value]
        if node is None or weight <= 0:
            continue
        if runs and runs[-1][0] == node:
            runs[-1] = node, runs[-1][1] + weight, runs[-1][2]
        else:
            runs.append((node, weight, sample.time or 0))
    return runs


def _joined(runs: list[_Run], count: int) -> list[_Run]:
    """Each *count* runs as one, with the stack of the heaviest."""
    joined = []
    for first in range(0, len(runs), count):
        nodes, weights, times = zip(*runs[first : first + count], strict=True)
        heaviest = nodes[weights.index(max(weights))]
        joined.append((heaviest, sum(weights), times[0]))
    return joined


def _read(name: str) -> str:
    with open(os.path.join(_FOLDER, name), encoding="utf-8") as file:
        return file.read()
