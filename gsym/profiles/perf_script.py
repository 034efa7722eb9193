"""Parse the output of `perf script` of Linux into samples and mappings.

A sample is a line with thread, time and event, followed by the lines of its stack, or
one line with its only address at the end:

    app  123/124 [001] 35050.297808:     250000 cpu-clock:
                 804 leaf+0x34 (/usr/bin/app)

Lines of other events are skipped.

Source: linux, tools/perf/builtin-script.c, util/evsel_fprintf.c and util/event.c.
"""

from __future__ import annotations

import re

from gsym.cache import BoundedCache
from gsym.errors import FormatError
from gsym.profiles.model import MOST_FRAMES
from gsym.profiles.recognition import PERF_EVENT, PERF_SAMPLE
from gsym.records import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator


class PerfFrame(NamedTuple):
    """A line of a stack; "" and 0 if unknown.

    Attributes:
        address: As it is printed: in memory, or in the file of the module.
        symbol: Without its offset.
        module: Path of the file, or a name in brackets, as of the kernel; "": what is
            mapped at the address.
        module_offset: Where it is in that file, if that is printed as well.
        is_inlined: Whether it is inlined into the frame of the next line, if that has
            the same address. perf also marks functions with several names.
        path: Of the source file.
        line: In it.
    """

    address: int
    symbol: str
    module: str
    module_offset: int | None
    is_inlined: bool
    path: str
    line: int


class PerfSample(NamedTuple):
    """A sample; None for fields that were not printed.

    Attributes:
        command: Name of the thread.
        process: Its number; that of the thread if only one was printed.
        thread: Its number; that of the process if only one was printed.
        cpu: Where it ran.
        time: Nanoseconds since the machine started.
        period: The number of events it represents.
        event: The counted event.
        frames: Innermost first.
    """

    command: str
    process: int
    thread: int
    cpu: int | None
    time: int | None
    period: int | None
    event: str
    frames: tuple[PerfFrame, ...]


class PerfMapping(NamedTuple):
    """A part of a file that a process mapped.

    Attributes:
        process: Its number.
        start: The first address.
        size: In bytes.
        file_offset: Of the first byte.
        path: Of the file.
        build_id: In hexadecimal digits; "" if perf does not know it.
        inode: Of the file; 0 if perf does not know it.
    """

    process: int
    start: int
    size: int
    file_offset: int
    path: str
    build_id: str = ""
    inode: int = 0


class PerfFork(NamedTuple):
    """A new thread; of a new process if the numbers of processes differ.

    Attributes:
        process: Of the thread.
        parent: The process that made it.
        thread: Its number.
        parent_thread: The thread that made it.
        has_maps: Whether a new process begins with the memory of its parent.
    """

    process: int
    parent: int
    thread: int
    parent_thread: int
    has_maps: bool


class PerfCommand(NamedTuple):
    """A thread has a name from now on.

    Attributes:
        process: Of the thread.
        thread: Its number.
        name: Of the thread.
    """

    process: int
    thread: int
    name: str


if TYPE_CHECKING:
    PerfRecord = PerfSample | PerfMapping | PerfFork | PerfCommand


# Every repetition is bounded, so that no line takes long.
_FRAME = re.compile(
    r"\s{0,64}(?P<address>[0-9a-f]{1,16})(?:\s(?P<what>.*))?$", re.ASCII
)
_SOURCE = re.compile(r"\s{1,64}(?P<path>\S.*):(?P<line>\d{1,9})$", re.ASCII)
# Printed if the line is unknown: module and address, or nothing.
_NO_SOURCE = re.compile(
    r"\s{1,64}(?::0|\S.{0,4096}(?:\[|\+0x)[0-9a-f]{1,16}\]?)$", re.ASCII
)
_MAPPING = re.compile(
    r"PERF_RECORD_MMAP2? (?P<process>-?\d{1,10})/-?\d{1,10}: "
    r"\[0x(?P<start>[0-9a-f]{1,16})\(0x(?P<size>[0-9a-f]{1,16})\) "
    r"@ (?P<offset>0x[0-9a-f]{1,16}|0)"
    r"(?: <(?P<build_id>(?:[0-9a-f]{2}){1,64})>"
    r"| [0-9a-f]{1,8}:[0-9a-f]{1,8} (?P<inode>\d{1,20}) \d{1,20})?[^\]]{0,256}\]: "
    r"(?P<mode>\S{1,8}) (?P<path>.*)$",
    re.ASCII,
)
_FORK = re.compile(
    r"PERF_RECORD_FORK\((?P<process>-?\d{1,10}):(?P<thread>-?\d{1,10})\):"
    r"\((?P<parent>-?\d{1,10}):(?P<parent_thread>-?\d{1,10})\)$",
    re.ASCII,
)
_COMMAND = re.compile(
    r"PERF_RECORD_COMM(?: exec)?: (?P<name>.{0,64}):"
    r"(?P<process>-?\d{1,10})/(?P<thread>-?\d{1,10})$",
    re.ASCII,
)
# Of what perf found when it started, of which processes have their own mappings.
_EARLY = re.compile(r"\s0\.0{6,9}: PERF_RECORD_", re.ASCII)
_SYMBOL = re.compile(r"(?P<name>.*)\+0x(?P<offset>[0-9a-f]{1,16})$", re.ASCII)
_MODULE_STARTS = (" (/", " ([", " (")
_UNKNOWN = "[unknown]"
_INLINED = "(inlined)"
_MOST_KNOWN = 1 << 14


def parse_perf_script(
    lines: Iterable[str], unknown: UnknownLines | None = None
) -> Iterator[PerfRecord]:
    """The samples in a text, and what it says of memory and threads, as lines come.

    Args:
        lines: Of the text, with or without their ends.
        unknown: Counts the lines that are not understood.

    Yields:
        Samples at the line after their last, others at once.

    Raises:
        FormatError: A stack has more frames than any can have.
    """
    parser = _Parser(unknown or UnknownLines())
    for number, line in enumerate(lines, 1):
        record = parser.take(number, line.rstrip("\r\n"))
        if record is not None:
            yield record
    last = parser.end()
    if last is not None:
        yield last


class UnknownLines:
    """Lines that are not understood.

    Attributes:
        count: How many there are.
        first: The number of the first one, counted from 1; 0 for none.
    """

    def __init__(self) -> None:
        self.count = self.first = 0

    def add(self, number: int) -> None:
        """One more, by its number."""
        self.first = self.first or number
        self.count += 1


class _Parser:
    """Puts samples together from their lines."""

    def __init__(self, unknown: UnknownLines) -> None:
        self._unknown = unknown
        self._head: re.Match[str] | None = None
        self._frames: list[PerfFrame] = []
        self._is_whole = False
        self._known: BoundedCache[str, PerfFrame] = BoundedCache(_MOST_KNOWN)

    def take(self, number: int, text: str) -> PerfRecord | None:
        """Take a line; return its record, or the sample that it ends."""
        if not text.strip():
            return self.end()
        # A name of a thread may look like an address: `add`, `face`.
        is_in_stack = self._head is not None and text[0].isspace()
        if is_in_stack and not self._is_whole and self._add_frame(text):
            if len(self._frames) > MOST_FRAMES:
                raise FormatError(f"line {number}: a stack has too many frames")
            return None
        if PERF_EVENT in text:
            return _record(text)
        found = PERF_SAMPLE.match(text)
        if found is not None:
            last = self.end()
            self._head = found
            self._is_whole = _is_only_frame(found["rest"] or "")
            if self._is_whole:
                self._add_frame(found["rest"])
            return last
        if not text.startswith("#"):
            self._unknown.add(number)
        return None

    def end(self) -> PerfSample | None:
        """The sample whose last line has come."""
        head, frames = self._head, self._frames
        self._head, self._frames = None, []
        return None if head is None else _sample(head, frames)

    def _add_frame(self, text: str) -> bool:
        """Add a line of a stack; False if it is not one."""
        # Most lines of a text come many times.
        frame = self._known.get(text)
        if frame is None:
            found = _FRAME.match(text)
            if found is None:
                return _add_source(text, self._frames)
            frame = _frame(int(found["address"], 16), (found["what"] or "").strip())
            self._known.keep(text, frame)
        self._frames.append(frame)
        return True


def _is_only_frame(rest: str) -> bool:
    """Whether the text after the name of an event is its only address.

    After a tracepoint its fields are printed.
    """
    found = _FRAME.match(rest)
    if found is None:
        return False
    what = (found["what"] or "").strip()
    return not what or what.endswith((")", _UNKNOWN))


def _add_source(text: str, frames: list[PerfFrame]) -> bool:
    """Add the source line of the last frame; False if it is not one."""
    if not frames or frames[-1].line:
        return False
    source = _SOURCE.match(text)
    if source is None:
        return _NO_SOURCE.match(text) is not None
    path, line = source["path"], int(source["line"])
    frames[-1] = frames[-1]._replace(path=path, line=line)
    return True


def _frame(address: int, what: str) -> PerfFrame:
    name, module = _split_module(what)
    is_inlined = module == _INLINED
    module = "" if is_inlined else module[1:-1]
    module, place = _split_offset(module)
    symbol, _ = _split_offset(name)
    return PerfFrame(
        address,
        "" if symbol == _UNKNOWN else symbol,
        "" if module == _UNKNOWN else module,
        place,
        is_inlined,
        "",
        0,
    )


def _split_module(what: str) -> tuple[str, str]:
    """The symbol, and the module with the brackets round it, or "".

    Both may have brackets and spaces of their own.
    """
    if not what.endswith(")"):
        return what, ""
    if what.startswith(("(/", "([")):
        return "", what
    # The module of a file that is gone: `(/usr/bin/app (deleted))`.
    front = what.removesuffix(" (deleted))")
    for start in _MODULE_STARTS:
        at = front.rfind(start)
        if at >= 0:
            return what[:at], what[at + 1 :]
    return what, ""


def _split_offset(text: str) -> tuple[str, int | None]:
    """A name and the offset added to it."""
    found = _SYMBOL.match(text)
    return (text, None) if found is None else (found["name"], int(found["offset"], 16))


def _sample(head: re.Match[str], frames: list[PerfFrame]) -> PerfSample:
    process = int(head["process"])
    thread = process if head["thread"] is None else int(head["thread"])
    time = None
    if head["seconds"] is not None:
        fraction = head["fraction"].ljust(9, "0")
        time = int(head["seconds"]) * 1_000_000_000 + int(fraction)
    return PerfSample(
        head["command"],
        process,
        thread,
        None if head["cpu"] is None else int(head["cpu"]),
        time,
        None if head["period"] is None else int(head["period"]),
        head["event"],
        tuple(frames),
    )


def _record(text: str) -> PerfRecord | None:
    """The record of memory or threads in a line."""
    mapping = _MAPPING.search(text)
    if mapping is not None:
        mode = mapping["mode"].strip("-ps")  # none of the kernel, which is code
        return _mapping(mapping) if not mode or "x" in mode else None
    command = _COMMAND.search(text)
    if command is not None:
        return PerfCommand(
            int(command["process"]), int(command["thread"]), command["name"]
        )
    fork = _FORK.search(text)
    if fork is None:
        return None
    return PerfFork(
        int(fork["process"]),
        int(fork["parent"]),
        int(fork["thread"]),
        int(fork["parent_thread"]),
        has_maps=_EARLY.search(text) is None,
    )


def _mapping(found: re.Match[str]) -> PerfMapping:
    return PerfMapping(
        int(found["process"]),
        int(found["start"], 16),
        int(found["size"], 16),
        int(found["offset"], 16),
        found["path"],
        found["build_id"] or "",
        int(found["inode"] or 0),
    )
