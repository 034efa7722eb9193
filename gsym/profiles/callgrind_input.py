"""Profiles of callgrind -> `Profile`.

A function has costs of its own, by lines, and calls with the costs of all that ran in
them: a graph, not stacks. The stacks are the ways through this graph from functions
that nothing calls. The own costs of a function are shared among its stacks in the ratio
of the costs of their calls, as callgrind's viewers do, so that sums of own costs are
exact. A call that leads back into a stack on all ways (recursion) adds no stack.

    fl=(1) app.c            a source file; (1) alone stands for it later
    fn=(1) main
    16 20                   line 16: 20 instructions
    cfn=(2) work
    calls=3 51              3 calls of work, which begins at line 51,
    16 400                  at line 16: 400 instructions within them

Source: valgrind.org/docs/manual/cl-format.html; units of Xdebug and yappi from runs.
"""

from __future__ import annotations

import re
from itertools import accumulate

from gsym.errors import FormatError
from gsym.lazy import regex
from gsym.model import UINT64_MAX
from gsym.profiles import model
from gsym.profiles.input_bytes import lines_of, read_pieces
from gsym.records import NamedTuple

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from gsym.profiles.opening import ProfileOptions

    # Costs of each event.
    _Costs = list[int]
    # Path and line in a function; the path is another one where code is inlined.
    _Place = tuple[str, int]

_NUMBER = r"(?:0x[0-9a-fA-F]{1,16}|\d{1,19})"
_COSTS = regex(
    rf"(?P<places>(?:[+-]?{_NUMBER}|\*)(?: (?:[+-]?{_NUMBER}|\*))*)\s*", re.ASCII
)
_NAME = regex(r"(?:\((?P<number>\d{1,10})\)\s*)?(?P<name>.*)", re.ASCII)
_CALLS = regex(rf"calls=\s*(?P<count>{_NUMBER})(?:\s.*)?", re.ASCII)
_PLAIN_ADDRESS = regex(r"0x(?P<address>[0-9a-f]{1,16})(?:'\d+)?", re.ASCII)
_UNIT = regex(r".*\b(?P<short>[mun]s)\)", re.ASCII)
_UNITS = {"ms": "milliseconds", "us": "microseconds", "ns": "nanoseconds"}
_FILES, _FUNCTIONS, _OBJECTS = range(3)
_KEYS = {
    **dict.fromkeys(("fl", "fi", "fe", "cfi", "cfl"), _FILES),
    **dict.fromkeys(("fn", "cfn"), _FUNCTIONS),
    **dict.fromkeys(("ob", "cob"), _OBJECTS),
}
_UNKNOWN = "???"
# A callee is in the file and the object of its caller unless a line says otherwise,
# such as that nothing is known of them.
_SAME = "="
_CALLEE: Mapping[str, str] = {"cfn": "", "cfi": _SAME, "cob": _SAME}
# Limit: Stacks of a profile of callgrind
MOST_WAYS = 1 << 15
"""A graph may have more ways than any machine can hold."""
_LEAST_WAYS = 4  # of a function
_JOINED = "stacks of callgrind whose costs are added to another one of their function"


class _Function(NamedTuple):
    """A function in a file of an object."""

    name: str
    path: str
    module: str


class _Call(NamedTuple):
    """A call of a function; costs are those of all of this kind."""

    place: _Place
    callee: _Function


class _Graph:
    """The costs of the functions of one thread, and of the calls between them."""

    def __init__(self, events: int) -> None:
        self.own: dict[_Function, dict[_Place, _Costs]] = {}
        self.calls: dict[_Function, dict[_Call, _Costs]] = {}
        self.events = events

    def order(self) -> tuple[list[_Function], set[tuple[_Function, _Function]]]:
        """All functions, callers first, and the calls that lead back to a caller."""
        called = {call.callee for calls in self.calls.values() for call in calls}
        every = dict.fromkeys((*self.own, *self.calls, *called))
        done: dict[_Function, bool] = {}  # False while its calls are looked at
        order: list[_Function] = []
        back: set[tuple[_Function, _Function]] = set()
        roots = [each for each in every if each not in called]
        for root in (*roots, *every):
            waiting = [] if root in done else [(root, self._callees(root))]
            done.setdefault(root, False)
            while waiting:
                function, callees = waiting[-1]
                callee = next(callees, None)
                if callee is None:
                    waiting.pop()
                    done[function] = True
                    order.append(function)
                elif callee not in done:
                    done[callee] = False
                    waiting.append((callee, self._callees(callee)))
                elif not done[callee]:
                    back.add((function, callee))
        return order[::-1], back

    def _callees(self, function: _Function) -> Iterator[_Function]:
        return iter(dict.fromkeys(call.callee for call in self.calls.get(function, ())))


def _add(sums: _Costs, costs: Iterable[int]) -> None:
    for index, cost in zip(range(len(sums)), costs, strict=False):
        sums[index] += cost


def read_callgrind(path: str, options: ProfileOptions) -> model.Profile:
    """The profile in a file of callgrind, or of a tool that writes its format."""
    reader = _Reader()
    for line in lines_of(read_pieces(path, options.most_bytes)):
        reader.take(line.strip())
    if not any(graph.own for graph in reader.graphs.values()):
        raise FormatError("no costs of callgrind found")
    return reader.finish()


class _Reader:
    """Takes the lines of a file."""

    def __init__(self) -> None:
        self.graphs: dict[model.Thread, _Graph] = {}
        self._builder = model.ProfileBuilder(())
        self._names: tuple[dict[str, str], ...] = ({}, {}, {})
        self._now = {**dict.fromkeys(_KEYS, ""), **_CALLEE}
        self._thread = model.NO_THREAD
        self._positions = ["line"]
        self._last: dict[str, int] = {}
        self._events: list[str] = []
        self._units = {"Time": "microseconds"}
        self._is_call = False

    def take(self, text: str) -> None:
        """Take a line without blanks at its ends."""
        if not text or text.startswith("#"):
            return
        key, sign, value = text.partition("=")
        if sign and key in _KEYS:
            self._name(key, value)
        elif _COSTS.fullmatch(text) is not None:
            self._costs(text.split())
        elif _CALLS.fullmatch(text) is not None:
            self._is_call = True
        elif sign and key in {"jump", "jcnd", "jfi", "jfn"}:
            self._builder.profile.lose("jumps")
        elif ":" in text:
            key, _, value = text.partition(":")
            self._head(key, value.strip())
        else:
            self._builder.profile.lose("lines that are not understood")

    def _head(self, key: str, value: str) -> None:
        if key == "positions":
            self._positions = value.split()
        elif key == "event":  # sysTime : sysTime (elapsed ms)
            name, _, text = value.partition(":")
            found = _UNIT.fullmatch(text)
            if found is not None:
                self._units[name.strip()] = _UNITS[found["short"]]
        elif key == "creator" and value == "yappi":
            self._units["Ticks"] = "microseconds"
        elif key == "events":
            self._events = value.split()
            types = (
                model.ValueType(each, self._units.get(each, "count"))
                for each in self._events
            )
            profile = self._builder.profile
            profile.value_types = tuple(dict.fromkeys((*profile.value_types, *types)))
        elif key == "pid" and value.isdecimal():
            self._thread = model.Thread(int(value[:20]), None)
        elif key == "thread" and value.isdecimal():
            self._thread = model.Thread(self._thread.process, int(value[:20]))
        elif key in {"cmd", "desc"} and value:
            self._builder.profile.comments.append(f"{key}: {value}")

    def _name(self, key: str, text: str) -> None:
        found = _NAME.fullmatch(text)
        names = self._names[_KEYS[key]]
        name = found["name"] if found else text
        if found and found["number"]:
            name = names.setdefault(found["number"], name) if name else name
            name = name or names.get(found["number"], "")
        name = "" if name == _UNKNOWN else name
        self._now[key] = name
        if key in {"fl", "fe"}:
            self._now["fi"] = name
        elif key == "cfl":
            self._now["cfi"] = name
        elif key == "fn":
            self._now["fl"] = self._now["fi"]

    def _costs(self, words: list[str]) -> None:
        """Take a line of costs, of the function or of a call before it."""
        for kind, word in zip(self._positions, words, strict=False):
            last = self._last.get(kind, 0)
            if word != "*":
                number = int(word.lstrip("+-"), 16 if "0x" in word else 10)
                last = {"+": last + number, "-": last - number}.get(word[0], number)
            self._last[kind] = last
        costs = [int(word, 0) for word in words[len(self._positions) :]]
        graph = self.graphs.setdefault(self._thread, _Graph(len(self._events)))
        now = self._now
        function = _Function(now["fn"], now["fl"], now["ob"])
        place = now["fi"], max(self._last.get("line", 0), 0)
        if self._is_call:
            path = now["fi"] if now["cfi"] == _SAME else now["cfi"]
            module = now["ob"] if now["cob"] == _SAME else now["cob"]
            callee = _Function(now["cfn"], path, module)
            calls = graph.calls.setdefault(function, {})
            _add(calls.setdefault(_Call(place, callee), [0] * graph.events), costs)
            now.update(_CALLEE)
            self._is_call = False
        else:
            places = graph.own.setdefault(function, {})
            _add(places.setdefault(place, [0] * graph.events), costs)

    def finish(self) -> model.Profile:
        """The profile of all that was taken."""
        for thread, graph in self.graphs.items():
            is_known = thread != model.NO_THREAD
            index = self._builder.thread(thread) if is_known else None
            _Ways(graph, self._builder, index).add()
        # callgrind's viewers begin with the first event; the last may be a rare one.
        self._builder.profile.default_value = 0
        return self._builder.profile


class _Way(NamedTuple):
    """A way to a function, from one that nothing calls."""

    # the parts of the costs of the function, of each event, in this way
    shares: tuple[float, ...]
    callers: tuple[int, ...]  # their locations, innermost first


class _Ways:
    """Makes stacks of a graph."""

    def __init__(
        self, graph: _Graph, builder: model.ProfileBuilder, thread: int | None
    ) -> None:
        self._graph = graph
        self._builder = builder
        self._thread = thread
        self._order, self._back = graph.order()
        self._most = max(_LEAST_WAYS, MOST_WAYS // max(len(self._order), 1))
        # Costs of each function with what it calls, of all calls of it, and of those
        # that do not lead back.
        self._whole, self._called, self._sums = (
            {each: [0] * graph.events for each in self._order} for _ in range(3)
        )
        for function, places in graph.own.items():
            for costs in places.values():
                _add(self._whole[function], costs)
        for function, calls in graph.calls.items():
            for call, costs in calls.items():
                _add(self._called[call.callee], costs)
                if (function, call.callee) not in self._back:
                    _add(self._whole[function], costs)
                    _add(self._sums[call.callee], costs)
        for function in (each for each in self._order if each not in graph.own):
            # stackprof writes no costs of methods in C, only those of their calls.
            rest = self._sums[function].copy()
            for costs in graph.calls.get(function, {}).values():
                _add(rest, (-cost for cost in costs))
            rest = [max(0, cost) for cost in rest]
            graph.own[function] = {(function.path, 0): rest}
            _add(self._whole[function], rest)
        # Costs of each function that no call of it has.
        self._rests: dict[_Function, _Costs] = {}
        for function, sums in self._sums.items():
            rows = zip(self._whole[function], self._called[function], sums, strict=True)
            self._rests[function] = [
                max(0, whole - called) if known else whole
                for whole, called, known in rows
            ]
            _add(sums, self._rests[function])

    def add(self) -> None:
        """Add the samples of all ways, callers first."""
        ways: dict[_Function, list[_Way]] = {each: [] for each in self._order}
        for function in self._order:
            rests, sums = self._rests[function], self._sums[function]
            begun = _Way(_shares((1.0,) * len(rests), rests, sums), ())
            found = self._kept([begun, *ways.pop(function)])
            self._add_samples(function, found)
            for call, costs in self._graph.calls.get(function, {}).items():
                if (function, call.callee) in self._back:
                    continue
                place = self._location(function, call.place)
                for way in found:
                    shares = _shares(way.shares, costs, self._sums[call.callee])
                    ways[call.callee].append(_Way(shares, (place, *way.callers)))

    def _kept(self, ways: list[_Way]) -> list[_Way]:
        """The most frequent ways; the first stands for those that are too many."""
        found = [way for way in ways if any(way.shares)]
        found.sort(key=lambda way: way.shares, reverse=True)
        if len(found) > self._most:
            self._builder.profile.lose(_JOINED, len(found) - self._most)
            others = [way.shares for way in (found[0], *found[self._most :])]
            shares = tuple(map(sum, zip(*others, strict=True)))
            found[0] = found[0]._replace(shares=shares)
        return found[: self._most]

    def _add_samples(self, function: _Function, ways: list[_Way]) -> None:
        """Share the own costs of a function, as integers that add up to them."""
        places = self._graph.own.get(function, {})
        if not ways or not places:
            return
        # Of each event, the costs of all places in each way.
        tables = [
            _table(costs, [way.shares[event] for way in ways])
            for event, costs in enumerate(zip(*places.values(), strict=True))
        ]
        locations = [self._location(function, place) for place in places]
        for way, *columns in zip(ways, *tables, strict=True):
            rows = zip(locations, *columns, strict=True)
            for location, *values in rows:
                if any(values):
                    stack = self._builder.stack((location, *way.callers))
                    self._builder.sample(stack, tuple(values), thread=self._thread)

    def _location(self, function: _Function, place: _Place) -> int:
        """The location of a line of a function, or of an address without a name."""
        builder = self._builder
        whole = model.Mapping(0, UINT64_MAX, 0, 0, function.module)
        mapping = builder.mapping(whole) if function.module else None
        address = _PLAIN_ADDRESS.fullmatch(function.name)
        if address is not None:
            return builder.location(int(address["address"], 16), mapping)
        path, line = place
        frame = model.Frame(function.name, path=path, line=model.line_of(line))
        return builder.function(frame, mapping)


def _shares(
    shares: Sequence[float], costs: Sequence[int], sums: Sequence[int]
) -> tuple[float, ...]:
    """The shares of calls in the sums of all; 0 of an event that has no costs."""
    rows = zip(shares, costs, sums, strict=True)
    return tuple(share * cost / whole if whole else 0.0 for share, cost, whole in rows)


def _table(costs: Sequence[int], shares: list[float]) -> list[list[int]]:
    """Costs in the ratio of shares, as a column of integers for each share.

    What rounding leaves of a cost goes to the first columns whose sums lack it, so that
    the sums of rows are exact, and those of columns the nearest integers.
    """
    ends = [round(sum(costs) * end) for end in accumulate(shares)]
    left = [end - start for start, end in zip((0, *ends), ends, strict=False)]
    left[0] += sum(costs) - sum(left)
    columns = [[int(cost * share) for cost in costs] for share in shares]
    left = [one - sum(column) for one, column in zip(left, columns, strict=True)]
    at = 0
    for row, cost in enumerate(costs):
        rest = cost - sum(column[row] for column in columns)
        while rest > 0:
            while left[at] <= 0 and at + 1 < len(left):
                at += 1
            part = rest if at + 1 == len(left) else min(rest, left[at])
            columns[at][row] += part
            left[at] -= part
            rest -= part
    return columns
