"""CPU profiles of V8 (Node.js, Chromium's DevTools) -> `Profile`.

A `.cpuprofile` is one object. In a trace of Chrome an event `Profile` begins one, and
events `ProfileChunk` continue it.

Source: the Chrome DevTools Protocol, `Profiler.Profile`; V8's
`src/profiler/profile-generator.cc`.
"""

from __future__ import annotations

import os

from gsym.profiles.json_input import Node, read_node
from gsym.profiles.model import (
    SAMPLES,
    TIME,
    Frame,
    ProfileBuilder,
    Thread,
    line_of,
)
from gsym.profiles.stack_tree import ROOT, StackTree

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gsym.profiles.model import Profile

V8_VALUES = (SAMPLES, TIME)
_ROOT_NAME = "(root)"  # of the node that all others are below
_MICROSECOND = 1000


def read_cpuprofile(
    path: str | os.PathLike[str], *, most_bytes: int | None = None
) -> Profile:
    """The profile in a file `.cpuprofile`.

    Args:
        path: The file, compressed by gzip or zstd, or not.
        most_bytes: Maximum size, inflated; None: see `MOST_BYTES`.

    Raises:
        FormatError: It is damaged, or larger than *most_bytes*.
        OSError: It cannot be read.
    """
    whole = read_node(os.fspath(path), most_bytes)
    builder = ProfileBuilder(V8_VALUES)
    made = V8Profile(builder, builder.thread(Thread(0, 0)), StackTree(builder))
    made.start = int(whole.get("startTime").number())
    made.add(whole, whole)
    end = whole.get("endTime")
    made.finish(None if end.value is None else int(end.number()))
    return builder.profile


class V8Profile:
    """One profile of V8, in one piece or in many.

    Args:
        builder: Receives the samples, with `V8_VALUES`.
        thread: The thread that was sampled.
        tree: Of the stacks of all profiles of the builder.

    Attributes:
        start: When it began, in microseconds.
    """

    def __init__(self, builder: ProfileBuilder, thread: int, tree: StackTree) -> None:
        self._builder = builder
        self._thread = thread
        self._tree = tree
        self._nodes: dict[int, int] = {}  # of the tree, by the ids of V8
        self._samples: list[tuple[int, int]] = []  # times and nodes
        self.start = 0
        self._now: int | None = None

    def add(self, profile: Node, timed: Node) -> None:
        """A piece: nodes and samples of the one, and `timeDeltas` of the other.

        Raises:
            FormatError: It is damaged.
        """
        self._add_nodes(profile)
        samples = profile.get("samples").list()
        deltas = timed.get("timeDeltas")
        if len(deltas.list()) != len(samples):
            raise deltas.error(f"not {len(samples)} times, one for each sample")
        now = self.start if self._now is None else self._now
        for number, delta in zip(samples, deltas.items(), strict=True):
            now += int(delta.number())
            node = self._nodes.get(number) if type(number) is int else None
            if node is None:
                raise profile.get("samples").error(f"no node has the id {number!r:.20}")
            self._samples.append((now, node))
        self._now = now

    def finish(self, end: int | None = None) -> None:
        """Add the samples; each lasts until the next one, the last until *end*."""
        samples = sorted(self._samples, key=lambda sample: sample[0])
        ends = [time for time, _ in samples[1:]]
        last = samples[-1][0] if samples else 0
        ends.append(last if end is None else max(last, end))
        for (time, node), until in zip(samples, ends, strict=False):
            self._builder.sample(
                self._tree.stack(node),
                (1, (until - time) * _MICROSECOND),
                thread=self._thread,
                time=time * _MICROSECOND,
            )

    def _add_nodes(self, profile: Node) -> None:
        """Nodes name their parents, or parents their children, in any order."""
        nodes, parents = {}, {}
        for node in profile.get("nodes").items():
            number = _id(node.get("id"))
            nodes[number] = node
            if node.get("parent").value is not None:
                parents[number] = _id(node.get("parent"))
            for child in node.get("children").items():
                parents[_id(child)] = number
        for number, node in nodes.items():
            # From the outermost ancestor that is not known yet to the node.
            line = [number]
            while (at := parents.get(line[-1])) is not None and at not in self._nodes:
                if at not in nodes or len(line) > len(nodes):
                    raise node.error("its parents do not lead to a root")
                line.append(at)
            for each in reversed(line):
                if each not in self._nodes:
                    self._nodes[each] = self._node(nodes[each], parents.get(each))

    def _node(self, node: Node, parent: int | None) -> int:
        call = node.get("callFrame")
        above = ROOT if parent is None else self._nodes[parent]
        name = call.get("functionName").text()
        if parent is None and name == _ROOT_NAME:
            return ROOT
        line = call.get("lineNumber").value  # from 0, or -1
        frame = Frame(
            name or "(anonymous)",
            path=call.get("url").text(),
            line=line_of(line + 1 if type(line) is int else None),
        )
        return self._tree.child(above, self._builder.function(frame))


def _id(node: Node) -> int:
    if type(node.value) is not int:
        raise node.error("not the id of a node")
    return node.value
