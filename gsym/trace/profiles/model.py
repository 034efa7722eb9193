"""What a profile holds, whatever file it comes from and whatever is made of it.

The nouns are those of pprof (profile.proto): a sample has a stack of locations, a
location is an address in a mapping, and what is at it are frames.
"""

from __future__ import annotations

from gsym.records import NamedTuple


class ValueType(NamedTuple):
    """What the numbers of samples count, and in which unit."""

    type: str
    unit: str


class Mapping(NamedTuple):
    """A range of addresses that a part of a module was loaded at.

    Attributes:
        start: Its first address while the program ran.
        limit: The address behind its last.
        link_start: The link-time address of what was loaded at *start*; None where
            only its place in the file is known. From the base address of the
            module where *is_relative*.
        file_offset: Where that stands in the file, in bytes.
        path: Of the file, as far as it is known; "" where it is not.
        build_id: Hexadecimal digits, lower-case; "" where it is not known.
        is_relative: What *link_start* counts from.
    """

    start: int
    limit: int
    link_start: int | None = None
    file_offset: int = 0
    path: str = ""
    build_id: str = ""
    is_relative: bool = False


class Frame(NamedTuple):
    """A function at a location; "" and 0 for what is not known.

    Attributes:
        name: As people write it.
        system_name: As the linker knows it.
        path: Of the source file.
        line: In it, counted from 1.
    """

    name: str
    system_name: str = ""
    path: str = ""
    line: int = 0


class Location(NamedTuple):
    """An address that samples were at.

    Attributes:
        address: While the program ran.
        mapping: Index into `Profile.mappings`; None where none covers the address.
        is_return: Whether it is where a call returns to, so that the call itself
            stands in front of it.
        frames: The functions there, innermost first: all but the last are inlined.
        reason: Why there are none; "" where there are, and before somebody asked.
        is_named_only: Whether the frames are only symbols of the profiler itself,
            so that those of the module are better.
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
    """A stack that was seen.

    Attributes:
        stack: Index into `Profile.stacks`.
        thread: Index into `Profile.threads`; None where it is not known.
        time: Nanoseconds, from a start that the profile's source chose; None where
            it is not known.
        values: One for each of `Profile.value_types`.
        labels: What else its source says of it: key, value and unit of a number.
    """

    stack: int
    thread: int | None
    time: int | None
    values: tuple[int, ...]
    labels: tuple[tuple[str, str | int, str], ...] = ()


SAMPLES = ValueType("samples", "count")
MOST_FRAMES = 1 << 16
"""Locations of a stack; a file that says more is damaged."""


class Profile:
    """Samples and what they point at.

    Attributes:
        value_types: What the values of each sample count.
        mappings: Where modules were loaded.
        locations: The addresses of all stacks.
        stacks: Each the indexes of its locations, innermost first.
        threads: Those that samples were taken of.
        samples: In the order of their source.
        period_type: What the source counted between two samples; None: not known.
        period: How much of it.
        start_time: Nanoseconds since 1970 began; 0 where it is not known.
        duration: How long samples were taken, in nanoseconds; 0: not known.
        comments: What the source says besides.
        losses: What could not be taken over, and how often.
        assumed_build_ids: Those that are not in the source, but were read from the
            files that are at the paths of mappings now.
    """

    __slots__ = (
        "assumed_build_ids",
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
        self.assumed_build_ids: set[str] = set()

    def frames_of(self, stack: int) -> tuple[Frame, ...]:
        """All functions of a stack, inlined ones as well, innermost first.

        A location without frames stands as one whose name is its address, with the
        module's base name in front where that is known.
        """
        found: list[Frame] = []
        for index in self.stacks[stack]:
            location = self.locations[index]
            found.extend(location.frames or (self.unresolved(location),))
        return tuple(found)

    def unresolved(self, location: Location) -> Frame:
        """What stands for a location without frames."""
        address = f"{location.address:#x}"
        if location.mapping is None:
            return Frame(address)
        module = self.mappings[location.mapping].path.rpartition("/")[2]
        return Frame(f"{module}!{address}" if module else address)
