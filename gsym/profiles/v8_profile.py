"""Profiles of V8 (Node.js, Chromium's DevTools) -> `Profile`.

A `.cpuprofile` is one object, and so is a `.heapprofile`, whose values are the bytes
that sampled objects take. In a trace of Chrome an event `Profile` begins a profile, and
events `ProfileChunk` continue it.

Source: the Chrome DevTools Protocol, `Profiler.Profile` and
`HeapProfiler.SamplingHeapProfile`; V8's `src/profiler/profile-generator.cc`.
"""

from __future__ import annotations

from gsym.profiles import model
from gsym.profiles.json_input import Node, read_node
from gsym.profiles.model import ROOT, StackTree

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from collections.abc import Iterator

    from gsym.profiles.model import Profile
    from gsym.profiles.opening import ProfileOptions

V8_VALUES = (model.SAMPLES, model.TIME)
_ROOT_NAME = "(root)"  # of the node that all others are below
_MICROSECOND = 1000
_SECOND = 1_000_000  # microseconds


def read_cpuprofile(path: str, options: ProfileOptions) -> Profile:
    """The profile in a file `.cpuprofile`, also in that of Node.js up to version 10."""
    whole = read_node(path, options.most_bytes)
    builder = model.ProfileBuilder(V8_VALUES)
    made = V8Profile(builder, None, StackTree(builder))
    start, end = whole.get("startTime"), whole.get("endTime")
    # The older layout has these in seconds, and the time of each sample.
    factor = 1 if whole.get("head").value is None else _SECOND
    made.start = int(start.number() * factor)
    made.add(whole, whole)
    made.finish(None if end.value is None else int(end.number() * factor))
    return builder.profile


def read_heapprofile(path: str, options: ProfileOptions) -> Profile:
    """The profile in a file `.heapprofile`, of the memory that sampled objects take."""
    whole = read_node(path, options.most_bytes)
    builder = model.ProfileBuilder((model.SPACE,))
    tree = StackTree(builder)
    for node, call in _calls(whole.get("head"), tree, builder):
        size = node.get("selfSize")
        if size.value:
            builder.sample(tree.stack(call), (int(size.number()),))
    return builder.profile


class V8Profile:
    """One profile of V8, in one piece or in many."""

    def __init__(
        self, builder: model.ProfileBuilder, thread: int | None, tree: StackTree
    ) -> None:
        self._builder = builder
        self._thread = thread
        self._tree = tree
        self._nodes: dict[int, int] = {}  # of the tree, by the ids of V8
        self._samples: list[tuple[int, int]] = []  # times and nodes
        self.start = 0  # when it began, in microseconds
        self._now: int | None = None

    def add(self, profile: Node, timed: Node) -> None:
        """A piece: nodes and samples of the one, and `timeDeltas` of the other."""
        head = profile.get("head")
        if head.value is not None:
            for found, call in _calls(head, self._tree, self._builder):
                self._nodes[_id(found.get("id"))] = call
        self._add_nodes(profile)
        samples = profile.get("samples").list()
        times = timed.get("timestamps")
        deltas = timed.get("timeDeltas") if times.value is None else times
        if len(deltas.list()) != len(samples):
            raise deltas.error(f"not {len(samples)} times, one for each sample")
        now = self.start if self._now is None else self._now
        for number, delta in zip(samples, deltas.items(), strict=True):
            now = int(delta.number()) + (now if times.value is None else 0)
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
            # From the node to the outermost ancestor that is not known yet.
            line: list[int] = []
            at: int | None = number
            while at is not None and at not in self._nodes:
                if at not in nodes or len(line) > len(nodes):
                    raise node.error("its parents do not lead to a root")
                line.append(at)
                at = parents.get(at)
            for each in reversed(line):
                parent = parents.get(each)
                above = None if parent is None else self._nodes[parent]
                self._nodes[each] = _call(nodes[each], above, self._tree, self._builder)


def _calls(
    head: Node, tree: StackTree, builder: model.ProfileBuilder
) -> Iterator[tuple[Node, int]]:
    """The nodes below a root that contain one another, each with that of the tree."""
    waiting: list[tuple[Node, int | None]] = [(head, None)]
    while waiting:
        node, above = waiting.pop()
        call = _call(node, above, tree, builder)
        yield node, call
        children = list(node.get("children").items())
        waiting.extend((child, call) for child in reversed(children))


def _call(
    node: Node, parent: int | None, tree: StackTree, builder: model.ProfileBuilder
) -> int:
    """The node of the tree for a function and its caller."""
    called = node.get("callFrame")
    # The older layout has the members of the function in the node, and lines from 1.
    first = 1 if called.value is None else 0
    call = node if called.value is None else called
    name = call.get("functionName").text()
    if parent is None and name == _ROOT_NAME:
        return ROOT
    line = call.get("lineNumber").value  # -1 if it is unknown
    frame = model.Frame(
        name or "(anonymous)",
        path=call.get("url").text(),
        line=model.line_of(line + 1 - first if type(line) is int else None),
    )
    return tree.child(ROOT if parent is None else parent, builder.function(frame))


def _id(node: Node) -> int:
    if type(node.value) is not int:
        raise node.error("not the id of a node")
    return node.value
