"""The stacks of profiles as one tree of calls, from the roots to the innermost frames.

Calls of one function from one node are one node, whatever the lines. Nodes are columns:
the parent of a node precedes it.
"""

from __future__ import annotations

from array import array
from collections import defaultdict
from itertools import chain

from gsym.errors import GsymError
from gsym.model import base_name
from gsym.profiles.model import Frame, Profile, Thread
from gsym.records import NamedTuple

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


# What stacks may start with: a frame for the process, one for the thread.
ROOTS = ("process", "thread")
_MOST_WEIGHT = (1 << 63) - 1


def call_stacks(
    profile: Profile, value: int = 0, roots: tuple[str, ...] = ()
) -> Iterator[tuple[tuple[Frame, ...], int]]:
    """Each distinct stack, outermost frame first, and the sum of its samples.

    Yields:
        Stacks in the order in which they first come; those whose sum is 0 as well.
    """
    frames = [profile.frames_of(stack)[::-1] for stack in range(len(profile.stacks))]
    fronts = {
        index: thread_frames(thread, roots)
        for index, thread in enumerate(profile.threads)
    }
    sums: dict[tuple[Frame, ...], int] = {}
    for (stack, thread), weight in summed_stacks(profile, value).items():
        front = () if thread is None else fronts[thread]
        whole = front + frames[stack]
        sums[whole] = sums.get(whole, 0) + weight
    yield from sums.items()


def summed_stacks(
    profile: Profile, value: int = 0
) -> dict[tuple[int, int | None], int]:
    """The sum of the samples of each stack of each thread, both as their indexes."""
    sums: defaultdict[tuple[int, int | None], int] = defaultdict(int)
    for stack, thread, _, values, _ in profile.samples:
        sums[stack, thread] += values[value]
    return sums


def time_range(profile: Profile) -> tuple[int | None, int]:
    """Time of the first sample, and of the last after it, in nanoseconds.

    Returns:
        None and 0 without samples, or if one has no time.
    """
    times = [sample.time for sample in profile.samples if sample.time is not None]
    if not times or len(times) < len(profile.samples):
        return None, 0
    return min(times), max(times) - min(times)


def thread_frames(thread: Thread, roots: tuple[str, ...]) -> tuple[Frame, ...]:
    """Frames for a process and a thread, as *roots* asks for them."""
    return tuple(Frame(thread.text(root)) for root in ROOTS if root in roots)


def thread_title(thread: Thread) -> str:
    """The process and the thread in one text."""
    return " / ".join(frame.name for frame in thread_frames(thread, ROOTS))


class TreeFunction(NamedTuple):
    """The identity of a node."""

    name: str  # demangled
    module: str = ""  # base name of the file that it was loaded from; "" if not known
    path: str = ""  # of its source; "" if not known


# In place of nodes that were left out.
OTHERS = TreeFunction("(others)")


class CallTree:
    """A tree of calls with the weights of one or more profiles."""

    def __init__(self, profiles: int = 1) -> None:
        self.functions: list[TreeFunction] = []  # the distinct functions
        # for each node, the index of its function
        self.function: array[int] = array("I")
        # for each node, the index of its parent; -1 for a root
        self.parent: array[int] = array("i")
        # for each profile and node, the sum of the samples that ended there
        self.weights: list[array[int]] = [array("q") for _ in range(profiles)]
        # where each stack of each thread of the last profile ended, both as their
        # indexes
        self.ends: dict[tuple[int, int | None], int] = {}
        self._numbers: dict[TreeFunction, int] = {}
        self._nodes: dict[tuple[int, int], int] = {}

    def __len__(self) -> int:
        return len(self.parent)

    def number(self, function: TreeFunction) -> int:
        """The index of a function."""
        found = self._numbers.get(function)
        if found is None:
            found = self._numbers[function] = len(self.functions)
            self.functions.append(function)
        return found

    def child(self, parent: int, function: int) -> int:
        """The node of a function below *parent*, -1 for a root."""
        key = (parent, function)
        found = self._nodes.get(key)
        if found is None:
            found = self._nodes[key] = len(self.parent)
            self.parent.append(parent)
            self.function.append(function)
            for column in self.weights:
                column.append(0)
        return found

    def totals(self, profile: int = 0) -> array[int]:
        """Weight of each node and of all nodes below it."""
        sums = self.weights[profile][:]
        for node in range(len(sums) - 1, -1, -1):
            if self.parent[node] >= 0:
                sums[self.parent[node]] += sums[node]
        return sums

    def pruned(self, most: int) -> CallTree:
        """The tree with its *most* heaviest nodes.

        Nodes that are left out below a node become one node `OTHERS`.
        """
        if len(self) <= most:
            return self
        columns = [self.totals(profile) for profile in range(len(self.weights))]
        heaviest = sorted(
            range(len(self)), key=lambda node: -max(c[node] for c in columns)
        )
        kept = set(heaviest[:most])
        tree = CallTree(len(self.weights))
        others = tree.number(OTHERS)
        places = array("i")
        for node, parent in enumerate(self.parent):
            place = above = places[parent] if parent >= 0 else -1
            if node in kept:
                function = self.functions[self.function[node]]
                place = tree.child(above, tree.number(function))
            elif above < 0 or tree.function[above] != others:
                place = tree.child(above, others)
            places.append(place)
            for column, weights in zip(tree.weights, self.weights, strict=True):
                column[place] += weights[node]
        tree.ends = {stack: places[node] for stack, node in self.ends.items()}
        return tree


def call_tree(
    profiles: Sequence[Profile], value: int = 0, roots: tuple[str, ...] = ()
) -> CallTree:
    """The tree of all stacks of the profiles.

    Args:
        profiles: Each has weights of its own in the tree.
        value: Which of the value types of the last one is summed, counted from 0. Of
            the others, the values of this type are, or the only ones.
        roots: Which of `call_tree.ROOTS` each stack begins with.

    Raises:
        GsymError: The values of a profile add up to more than 63 bits, or it has
            several types of values and none is this one.
    """
    tree = CallTree(len(profiles))
    wanted = profiles[-1].value_types[value].type
    for profile, weights in zip(profiles, tree.weights, strict=True):
        modules: dict[int | None, str] = {None: ""}
        modules.update(enumerate(base_name(each.path) for each in profile.mappings))
        # Of each location its functions, the outermost first.
        calls = [
            [
                tree.number(TreeFunction(frame.name, modules[each.mapping], frame.path))
                for frame in reversed(profile.frames_at(each))
            ]
            for each in profile.locations
        ]
        fronts: dict[int | None, list[int]] = {None: []}
        for index, each in enumerate(profile.threads):
            frames = thread_frames(each, roots)
            fronts[index] = [tree.number(TreeFunction(frame.name)) for frame in frames]
        tree.ends = {}
        sums = summed_stacks(profile, _value_of(profile, wanted))
        if sum(map(abs, sums.values())) > _MOST_WEIGHT:
            raise GsymError("the values of the samples add up to more than 63 bits")
        for (stack, thread), weight in sums.items():
            node = -1
            below = map(calls.__getitem__, reversed(profile.stacks[stack]))
            for function in chain(fronts[thread], *below):
                node = tree.child(node, function)
            if node >= 0:
                weights[node] += weight
                tree.ends[stack, thread] = node
    return tree


def _value_of(profile: Profile, wanted: str) -> int:
    types = [each.type for each in profile.value_types]
    if wanted not in types and len(types) > 1:
        known = ", ".join(types)
        raise GsymError(f"no values of type '{wanted}' to compare with, only {known}")
    return types.index(wanted) if wanted in types else 0
