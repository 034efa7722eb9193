"""The model of a profile, for all inputs and outputs.

The nouns are those of pprof (profile.proto): a sample has a stack of locations, a
location is an address in a mapping, and has frames.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from contextlib import suppress
from operator import itemgetter, mul, ne

from gsym.errors import FormatError
from gsym.lazy import regex
from gsym.model import base_name
from gsym.modules.key import (
    GUID_DIGITS,
    NO_KEY,
    ModuleKey,
    build_id_digits,
    completed,
    read_debug_id,
    read_go_id,
)
from gsym.records import NamedTuple

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any


class ValueType(NamedTuple):
    """The meaning and the unit of the values of samples.

    Attributes:
        type: The meaning, such as the event that was counted.
        unit: Of the numbers.
        scale: How many of the numbers make one unit: 1000 where a source has values
            with three decimals.
    """

    type: str
    unit: str
    scale: int = 1

    def plain(self, number: int) -> int | float:
        """A number in the unit."""
        return number if self.scale == 1 else number / self.scale

    def unit_text(self) -> str:
        """The unit of the numbers as they are, for `read_unit`."""
        return self.unit if self.scale == 1 else f"{self.unit}/{self.scale}"


_SCALED_UNIT = regex(r"(?P<unit>.*)/(?P<scale>10{1,9})")


def read_unit(kind: str, text: str) -> ValueType:
    """A type of values with a unit that `unit_text` made, or any other."""
    found = _SCALED_UNIT.fullmatch(text)
    unit, scale = found.groups() if found else (text, 1)
    return ValueType(kind, unit, int(scale))


_new = tuple.__new__  # a named tuple without the handling of its arguments


class Mapping(NamedTuple):
    """A range of addresses that a part of a module was loaded at.

    Attributes:
        start: Its first address while the program ran.
        limit: The address after its last.
        link_start: The link-time address loaded at *start*; None if only its file
            offset is known. From the base address of the module if *is_relative*.
        file_offset: The file offset of *start*.
        path: Of the file; "" if unknown.
        build_id: Of an ELF or Mach-O file: hexadecimal digits, lower-case; "" if
            unknown.
        is_relative: Whether *link_start* counts from the base address.
        module: What else is known of the module, such as its debug id.
        unsure: Why its ids may be of another build: "" if the source has them, not
            the file that is at *path* now.
    """

    start: int
    limit: int
    link_start: int | None = None
    file_offset: int = 0
    path: str = ""
    build_id: str = ""
    is_relative: bool = False
    module: ModuleKey = NO_KEY
    unsure: str = ""


def module_key(mapping: Mapping) -> ModuleKey:
    """The module of a mapping, with all that the profile knows of it."""
    code_file, code_id = base_name(mapping.path), mapping.build_id.upper()
    named = ModuleKey(code_file=code_file, code_id=code_id, path=mapping.path)
    return completed(mapping.module, named)


def read_module_id(text: str) -> tuple[str, ModuleKey]:
    """`Mapping.build_id` and `Mapping.module` from the one id that a profile has.

    Args:
        text: A build id; the one of Go's linker, as it is or its bytes as hexadecimal
            digits; or a debug id, of an odd number of digits. Others are dropped.
    """
    go_id = read_go_id(text)
    if go_id:
        return "", ModuleKey(go_id=go_id)
    if len(text) % 2 and len(text) > GUID_DIGITS:
        with suppress(ValueError):
            return "", ModuleKey(debug_id=read_debug_id(text).upper())
    return build_id_digits(text), ModuleKey()


def id_text(mapping: Mapping) -> str:
    """The one id of a module for a format that has no more, for `read_module_id`."""
    module = mapping.module
    return mapping.build_id or module.go_id or module.debug_id.lower()


class Frame(NamedTuple):
    """A function at a location; "" and 0 if unknown.

    Attributes:
        name: Demangled.
        system_name: The linkage name.
        path: Of the source file.
        line: In it, counted from 1.
    """

    name: str
    system_name: str = ""
    path: str = ""
    line: int = 0


_MOST_LINE = 1 << 31


def line_of(value: object) -> int:
    """The number of a line; 0 for anything else."""
    return value if type(value) is int and 0 <= value < _MOST_LINE else 0


def frame_at(name: str, lines: Sequence[tuple[int, str, int]], address: int) -> Frame:
    """The frame of a function; *lines* are address, path and line, ascending."""
    at = bisect_right(lines, address, key=itemgetter(0))
    _, path, line = lines[at - 1] if at else (0, "", 0)
    return Frame(name, path=path, line=line_of(line))


_PLACED = regex(
    r"(?P<name>.*[^ ])(?: |(?=\([^()]+:[0-9]+:[0-9]+\)))\("
    r"(?P<path>[^()]+?)(?::(?P<line>[0-9]{1,9})(?::[0-9]{1,9})?"
    r"|(?<=\.)(?:[ch]|cc|[ch]pp|cxx|rs|go|py|java|kt|swift|mm?|d|f90))\)"
)


def placed_frame(text: str) -> Frame:
    """The function that a text names, with its file and line if these follow.

    viztracer and py-spy write `main (app.py:12)`, heaptrack also `main (app.cpp)`,
    Hermes `main(app.js:12:3)` with a column.
    """
    found = _PLACED.fullmatch(text)
    if found is None:
        return Frame(text)
    path = found["path"] if found["line"] else text[found.start("path") : -1]
    return Frame(found["name"], path=path, line=int(found["line"] or 0))


class Location(NamedTuple):
    """An address that samples were at.

    Attributes:
        address: While the program ran.
        mapping: Index into `Profile.mappings`; None if none covers the address.
        is_return: Whether it is a return address, so that the call is before it.
        frames: The functions there, innermost first: all but the last are inlined.
        reason: Why there are none; "" if there are, or before symbolization.
        is_named_only: Whether the frames are symbols of the profiler, which those of
            the module replace.
        function: Name of a function without frames, by its module and start; "" if
            that is not known.
    """

    address: int
    mapping: int | None = None
    is_return: bool = False
    frames: tuple[Frame, ...] = ()
    reason: str = ""
    is_named_only: bool = False
    function: str = ""


class Thread(NamedTuple):
    """A thread by its numbers and names; None and "" where the source has none.

    One that takes another name, as a process does that runs another program, is another
    thread.
    """

    process: int | None
    thread: int | None
    process_name: str = ""
    thread_name: str = ""

    def text(self, kind: str) -> str:
        """Name and number of the thread, or of its process, by the kind of them."""
        number, name = self.thread, self.thread_name
        if kind == "process":
            number, name = self.process, self.process_name
        if number is None:
            return name or f"{kind} (unknown)"
        return f"{name} ({number})" if name else f"{kind} {number}"


NO_THREAD = Thread(None, None)


class Sample(NamedTuple):
    """A sampled stack.

    Attributes:
        stack: Index into `Profile.stacks`.
        thread: Index into `Profile.threads`; None if unknown.
        time: Nanoseconds, from a start that the source chose; None if unknown.
        values: One for each of `Profile.value_types`.
        labels: Key, value, and unit of a number.
    """

    stack: int
    thread: int | None
    time: int | None
    values: tuple[int, ...]
    labels: tuple[tuple[str, str | int, str], ...] = ()


SAMPLES = ValueType("samples", "count")
TIME = ValueType("time", "nanoseconds")
"""How long a stack lasted, from the time of its sample on."""
SPACE = ValueType("space", "bytes")
_MOST_DECIMALS = 9
NEGATIVE = "samples with a value below 0"
"""The loss of formats that draw values as lengths."""
# Limit: Stack of a profile
MOST_FRAMES = 1 << 16
"""Locations of a stack; a file with more is damaged."""


class Unsure(NamedTuple):
    """A module whose functions may be those of another build, and the reason."""

    module: str
    reason: str


def name_of_mapping(mapping: Mapping) -> str:
    """The path of a mapping, else its id."""
    return mapping.path or id_text(mapping)


class Profile:
    """Samples and the tables that they refer to.

    Attributes:
        value_types: The meanings of the values of each sample.
        events: The indexes of those that are counts of different events: a sample
            counts one of them, and has 0 for the others. Empty for a single event.
        default_value: The index of the one that its source shows first; None: not said.
        mappings: Where modules were loaded.
        locations: The addresses of all stacks.
        stacks: Each the indexes of its locations, innermost first.
        threads: Of the samples.
        samples: In the order of their source.
        period_type: The meaning of *period*; None if unknown.
        period: The count between two samples.
        start_time: Nanoseconds since 1970; 0 if unknown.
        duration: Of the recording, in nanoseconds; 0 if unknown.
        comments: Of the source.
        losses: How often each kind of data could not be taken over.
        unsure: Modules whose functions may be those of another build, each with the
            reason.
    """

    def __init__(self, value_types: tuple[ValueType, ...] = (SAMPLES,)) -> None:
        self.value_types: tuple[ValueType, ...] = value_types
        self.events: tuple[int, ...] = ()
        self.default_value: int | None = None
        self.mappings: list[Mapping] = []
        self.locations: list[Location] = []
        self.stacks: list[tuple[int, ...]] = []
        self.threads: list[Thread] = []
        self.samples: list[Sample] = []
        self.period_type: ValueType | None = None
        self.period: int = 0
        self.start_time: int = 0
        self.duration: int = 0
        self.comments: list[str] = []
        self.losses: dict[str, int] = {}
        self.unsure: dict[Unsure, None] = {}

    def _repr_html_(self) -> str:
        """Show the profile as a flame graph in a notebook."""
        from gsym.profiles.flame_graph import notebook_frame

        return notebook_frame(self)

    def frames_at(self, location: Location) -> tuple[Frame, ...]:
        """The functions at a location, innermost first.

        Without frames that is one whose name is that of its function, else its address,
        after the base name of the module if that is known.
        """
        if location.frames:
            return location.frames
        if location.function:
            return (Frame(location.function),)
        address, module = f"{location.address:#x}", ""
        if location.mapping is not None:
            module = base_name(self.mappings[location.mapping].path)
        return (Frame(f"{module}!{address}" if module else address),)

    @property
    def needs_symbols(self) -> bool:
        """Whether a location has no function, or only a name from the profiler."""
        return any(not each.frames or each.is_named_only for each in self.locations)

    def lose(self, kind: str, count: int = 1) -> None:
        """Count data that could not be taken over, if there are any."""
        if count:
            self.losses[kind] = self.losses.get(kind, 0) + count

    def frames_of(self, stack: int) -> tuple[Frame, ...]:
        """All functions of a stack, inlined ones as well, innermost first."""
        found: list[Frame] = []
        for index in self.stacks[stack]:
            location = self.locations[index]
            found += location.frames or self.frames_at(location)
        return tuple(found)

    def name_processes(self) -> None:
        """Give all threads of a process its name: a source tells it of some of them."""
        names: dict[int | None, set[str]] = {}
        for thread in self.threads:
            names.setdefault(thread.process, set()).add(thread.process_name)
        for index, thread in enumerate(self.threads):
            found = names[thread.process] - {""}
            is_known = thread.process_name or thread.process is None
            if not is_known and len(found) == 1:
                self.threads[index] = thread._replace(process_name=min(found))

    def samples_by_thread(self) -> dict[int | None, list[Sample]]:
        """The samples of each thread, in the order of their times if all have one."""
        found: dict[int | None, list[Sample]] = {}
        for sample in self.samples:
            found.setdefault(sample.thread, []).append(sample)
        for samples in found.values():
            if all(sample.time is not None for sample in samples):
                samples.sort(key=lambda sample: sample.time or 0)
        return found


class Unresolved(NamedTuple):
    """Locations of one module that have no functions, for one reason."""

    module: str
    reason: str
    locations: int


def resolution(profile: Profile) -> tuple[int, list[Unresolved]]:
    """Number of locations with functions, and those without, the most first."""
    names: dict[int | None, str] = {None: ""}
    names.update(enumerate(map(name_of_mapping, profile.mappings)))
    unknown = (each for each in profile.locations if not each.frames)
    missing = Counter((names[each.mapping], each.reason) for each in unknown)
    rows = [Unresolved(*key, count) for key, count in missing.items()]
    rows.sort(key=lambda row: (-row.locations, row.module, row.reason))
    return len(profile.locations) - missing.total(), rows


# How many threads of one number, the first ones, get names that come later: a program
# may give a thread a name for each request.
_MOST_COMPLETED = 64


class ProfileBuilder:
    """Builds a profile; equal mappings, locations, stacks and threads are one.

    Args:
        value_types: The meanings of the values of each sample.
    """

    def __init__(self, value_types: tuple[ValueType, ...] = (SAMPLES,)) -> None:
        self.profile: Profile = Profile(value_types)
        self._mappings: dict[Mapping, int] = {}
        self._locations: dict[tuple[Any, ...], int] = {}
        self._stacks: dict[tuple[int, ...], int] = {}
        self._threads: dict[Thread, int] = {}
        self._numbered: dict[tuple[int | None, int | str], list[int]] = {}

    def mapping(self, mapping: Mapping) -> int:
        """The index of a mapping."""
        return _number(self._mappings, mapping, self.profile.mappings, mapping)

    def module(self, path: str) -> int | None:
        """The index of the mapping of a module whose addresses are not known."""
        return self.mapping(Mapping(0, 0, path=path)) if path else None

    def location(
        self,
        address: int,
        mapping: int | None,
        *,
        is_return: bool = False,
        frames: tuple[Frame, ...] = (),
        is_named_only: bool = False,
    ) -> int:
        """The index of a location.

        An address and a path do not identify one: processes may have different files
        there, and code that is made as they run.
        """
        key = (address, mapping, is_return, frames, "", is_named_only, "")
        found = self._locations.get(key)
        if found is None:
            found = self._locations[key] = len(self.profile.locations)
            self.profile.locations.append(_new(Location, key))
        return found

    def function(self, frame: Frame, mapping: int | None = None) -> int:
        """The index of the location of a function whose address is unknown."""
        return self.location(0, mapping, frames=(frame,))

    def stack(self, locations: Sequence[int]) -> int:
        """The index of a stack of locations, innermost first."""
        key = tuple(locations)
        return _number(self._stacks, key, self.profile.stacks, key)

    def thread(self, thread: Thread) -> int:
        """The index of a thread; names that come later complete it."""
        found = self._threads.get(thread)
        if found is None:
            found = self._threads[thread] = self._completed(thread)
        return found

    def _completed(self, thread: Thread) -> int:
        process, number, *names = thread
        # A thread without a number is identified by its name.
        key = process, thread.thread_name if number is None else number
        same = self._numbered.setdefault(key, [])
        threads = self.profile.threads
        for index in same[:_MOST_COMPLETED]:
            pairs = list(zip(threads[index][2:], names, strict=True))
            if all(old == new or not (old and new) for old, new in pairs):
                known = [new or old for old, new in pairs]
                threads[index] = Thread(process, number, *known)
                return index
        same.append(len(threads))
        threads.append(thread)
        return same[-1]

    def sample(
        self,
        stack: int,
        values: tuple[int, ...] = (1,),
        *,
        thread: int | None = None,
        time: int | None = None,
        labels: tuple[tuple[str, str | int, str], ...] = (),
    ) -> None:
        """Add a sample; *time* is in nanoseconds."""
        self.profile.samples.append(Sample(stack, thread, time, values, labels))


def scaled_values(builder: ProfileBuilder, rows: Sequence[Sequence[Any]]) -> None:
    """Set the values of all samples, which may have fractions, exactly.

    A type of values with fractions counts in parts of its unit.
    """
    profile = builder.profile
    columns = range(len(profile.value_types))
    fractions = [
        [row[at] for row in rows if type(row[at]) is not int] for at in columns
    ]
    if any(fractions):
        digits = (max(map(_decimals, column), default=0) for column in fractions)
        scales = [10 ** min(number, _MOST_DECIMALS) for number in digits]
        pairs = zip(profile.value_types, scales, strict=True)
        profile.value_types = tuple([kind._replace(scale=by) for kind, by in pairs])
        exact = [list(map(mul, row, scales)) for row in rows]
        rows = [[round(value) for value in row] for row in exact]
        lost = sum(map(ne, rows, exact))
        builder.profile.lose("values with more than nine decimals", lost)
    whole = zip(profile.samples, rows, strict=True)
    profile.samples = [_new(Sample, (*s[:3], tuple(row), s[4])) for s, row in whole]


def _decimals(number: Any) -> int:
    """The number of decimals of a fraction."""
    exponent = number.normalize().as_tuple().exponent
    return max(0, -exponent) if type(exponent) is int else 0


def _number(numbers: dict[Any, int], key: Any, items: list[Any], item: Any) -> int:
    """The index that *key* has in *items*, where *item* is put if it is new."""
    found = numbers.get(key)
    if found is None:
        found = numbers[key] = len(items)
        items.append(item)
    return found


# Limit: All stacks of a profile in JSON
MOST_ENTRIES = 1 << 25
"""Locations of all stacks together: a tree can be written in a few bytes of a file,
while its stacks repeat their callers."""
ROOT = -1


class StackTree:
    """A tree of calls that becomes stacks, only those that samples have."""

    def __init__(self, builder: ProfileBuilder) -> None:
        self._builder = builder
        self._children: dict[tuple[int, int], int] = {}
        # Of each node, its parent and its location.
        self._calls: list[tuple[int, int]] = []
        self._stacks: dict[int, int] = {}
        self._entries = 0

    def child(self, parent: int, location: int) -> int:
        """The node of a call from a node, or from `ROOT`."""
        key = parent, location
        node = self._children.get(key)
        if node is None:
            node = self._children[key] = len(self._calls)
            self._calls.append(key)
        return node

    def location(self, node: int) -> int:
        """The location of a node."""
        return self._calls[node][1]

    def stack(self, node: int) -> int:
        """The index of the stack of a node; that of `ROOT` is empty."""
        found = self._stacks.get(node)
        if found is None:
            locations = []
            at = node
            while at != ROOT:
                at, location = self._calls[at]
                locations.append(location)
            self._entries += len(locations)
            if len(locations) > MOST_FRAMES:
                raise FormatError(f"a stack has more than {MOST_FRAMES} frames")
            if self._entries > MOST_ENTRIES:
                raise FormatError(f"all stacks have more than {MOST_ENTRIES} frames")
            found = self._stacks[node] = self._builder.stack(locations)
        return found
