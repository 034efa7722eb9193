"""The model of a profile, for all inputs and outputs.

The nouns are those of pprof (profile.proto): a sample has a stack of locations, a
location is an address in a mapping, and has frames.
"""

from __future__ import annotations

import re
from contextlib import suppress

from gsym.modules.key import (
    ModuleKey,
    build_id_digits,
    completed,
    read_debug_id,
    read_go_id,
)
from gsym.records import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any


class ValueType(NamedTuple):
    """The meaning and the unit of the values of samples."""

    type: str
    unit: str


_NOTHING = ModuleKey()
_GUID_DIGITS = 32


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
    module: ModuleKey = _NOTHING
    unsure: str = ""


def module_key(mapping: Mapping) -> ModuleKey:
    """The module of a mapping, with all that the profile knows of it."""
    own = ModuleKey(
        code_file=base_name(mapping.path),
        code_id=mapping.build_id.upper(),
        path=mapping.path,
    )
    return completed(mapping.module, own)


def read_module_id(text: str) -> tuple[str, ModuleKey]:
    """`Mapping.build_id` and `Mapping.module` from the one id that a profile has.

    Args:
        text: A build id; the one of Go's linker, as it is or its bytes as hexadecimal
            digits; or a debug id, of an odd number of digits. Others are dropped.
    """
    go_id = read_go_id(text)
    if go_id:
        return "", ModuleKey(go_id=go_id)
    if len(text) % 2 and len(text) > _GUID_DIGITS:
        with suppress(ValueError):
            return "", ModuleKey(debug_id=read_debug_id(text).upper())
    return build_id_digits(text), ModuleKey()


def id_text(mapping: Mapping) -> str:
    """The one id of a module for a format that has no more, for `read_module_id`."""
    module = mapping.module
    return mapping.build_id or module.go_id or module.debug_id.lower()


def base_name(path: str) -> str:
    """The name in a path of any operating system."""
    return path.replace("\\", "/").rpartition("/")[2]


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


_PLACED = re.compile(r"(?P<name>.+) \((?P<path>[^()]+):(?P<line>[0-9]{1,9})\)")


def placed_frame(text: str) -> Frame:
    """The function that a text names, with its file and line if these follow.

    viztracer and py-spy write `main (app.py:12)`.
    """
    found = _PLACED.fullmatch(text)
    if found is None:
        return Frame(text)
    return Frame(found["name"], path=found["path"], line=int(found["line"]))


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
    """

    address: int
    mapping: int | None = None
    is_return: bool = False
    frames: tuple[Frame, ...] = ()
    reason: str = ""
    is_named_only: bool = False


class Thread(NamedTuple):
    """A thread by its numbers, with the names that are known."""

    process: int
    thread: int
    process_name: str = ""
    thread_name: str = ""


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

    __slots__ = (
        "comments",
        "duration",
        "locations",
        "losses",
        "mappings",
        "period",
        "period_type",
        "samples",
        "stacks",
        "start_time",
        "threads",
        "unsure",
        "value_types",
    )

    def __init__(self, value_types: tuple[ValueType, ...] = (SAMPLES,)) -> None:
        self.value_types = value_types
        self.mappings: list[Mapping] = []
        self.locations: list[Location] = []
        self.stacks: list[tuple[int, ...]] = []
        self.threads: list[Thread] = []
        self.samples: list[Sample] = []
        self.period_type: ValueType | None = None
        self.period = 0
        self.start_time = 0
        self.duration = 0
        self.comments: list[str] = []
        self.losses: dict[str, int] = {}
        self.unsure: dict[Unsure, None] = {}

    @property
    def needs_symbols(self) -> bool:
        """Whether a location has no function, or only a name from the profiler."""
        return any(not each.frames or each.is_named_only for each in self.locations)

    def frames_of(self, stack: int) -> tuple[Frame, ...]:
        """All functions of a stack, inlined ones as well, innermost first.

        A location without frames is one frame whose name is its address, after the
        base name of the module if that is known.
        """
        found: list[Frame] = []
        for index in self.stacks[stack]:
            location = self.locations[index]
            found.extend(location.frames or (self.unresolved(location),))
        return tuple(found)

    def samples_by_thread(self) -> dict[int | None, list[Sample]]:
        """The samples of each thread, in the order of their times if all have one."""
        found: dict[int | None, list[Sample]] = {}
        for sample in self.samples:
            found.setdefault(sample.thread, []).append(sample)
        for samples in found.values():
            if all(sample.time is not None for sample in samples):
                samples.sort(key=lambda sample: sample.time or 0)
        return found

    def unresolved(self, location: Location) -> Frame:
        """The frame for a location without frames."""
        address = f"{location.address:#x}"
        if location.mapping is None:
            return Frame(address)
        module = base_name(self.mappings[location.mapping].path)
        return Frame(f"{module}!{address}" if module else address)


class Unresolved(NamedTuple):
    """Locations of one module that have no functions, for one reason."""

    module: str
    reason: str
    locations: int


def resolution(profile: Profile) -> tuple[int, list[Unresolved]]:
    """Number of locations with functions, and those without, the most first."""
    missing: dict[tuple[str, str], int] = {}
    known = 0
    for location in profile.locations:
        if location.frames:
            known += 1
            continue
        module = ""
        if location.mapping is not None:
            mapping = profile.mappings[location.mapping]
            module = name_of_mapping(mapping)
        key = (module, location.reason)
        missing[key] = missing.get(key, 0) + 1
    rows = [Unresolved(*key, count) for key, count in missing.items()]
    return known, sorted(rows, key=lambda row: (-row.locations, row.module, row.reason))


class ProfileBuilder:
    """Builds a profile; equal mappings, locations, stacks and threads are one.

    Args:
        value_types: The meanings of the values of each sample.

    Attributes:
        profile: The profile so far.
    """

    def __init__(self, value_types: tuple[ValueType, ...] = (SAMPLES,)) -> None:
        self.profile = Profile(value_types)
        self._mappings: dict[Mapping, int] = {}
        self._locations: dict[tuple[Any, ...], int] = {}
        self._stacks: dict[tuple[int, ...], int] = {}
        self._threads: dict[tuple[Any, ...], int] = {}

    def mapping(self, mapping: Mapping) -> int:
        """The index of a mapping."""
        return _number(self._mappings, mapping, self.profile.mappings, mapping)

    def location(
        self, address: int, mapping: int | None, *, is_return: bool = False
    ) -> int:
        """The index of the location at an address, without frames so far."""
        key = (address, mapping, is_return)
        found = self._locations.get(key)
        if found is None:
            found = self._locations[key] = len(self.profile.locations)
            self.profile.locations.append(Location(*key))
        return found

    def function(self, frame: Frame, mapping: int | None = None) -> int:
        """The index of the location of a function whose address is unknown."""
        key = (frame, mapping)
        found = self._locations.get(key)
        if found is None:
            found = self._locations[key] = len(self.profile.locations)
            location = Location(0, mapping, frames=(frame,))
            self.profile.locations.append(location)
        return found

    def stack(self, locations: Sequence[int]) -> int:
        """The index of a stack of locations, innermost first."""
        key = tuple(locations)
        return _number(self._stacks, key, self.profile.stacks, key)

    def thread(self, thread: Thread, *, is_named: bool = False) -> int:
        """The index of a thread; names that come later complete it.

        Args:
            thread: The thread.
            is_named: Its names are complete: one with others is another thread.
        """
        if is_named:
            return _number(self._threads, thread, self.profile.threads, thread)
        key = (thread.process, thread.thread)
        found = _number(self._threads, key, self.profile.threads, thread)
        known = self.profile.threads[found]
        self.profile.threads[found] = Thread(
            *key,
            thread.process_name or known.process_name,
            thread.thread_name or known.thread_name,
        )
        return found

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

    def lose(self, kind: str, count: int = 1) -> None:
        """Count data of the source that a profile cannot hold."""
        losses = self.profile.losses
        losses[kind] = losses.get(kind, 0) + count


def _number(numbers: dict[Any, int], key: Any, items: list[Any], item: Any) -> int:
    """The index that *key* has in *items*, where *item* is put if it is new."""
    found = numbers.get(key)
    if found is None:
        found = numbers[key] = len(items)
        items.append(item)
    return found
