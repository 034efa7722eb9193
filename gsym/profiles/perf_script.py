"""`perf script` of Linux -> `Profile`: samples and mappings of its text.

A sample is a line with thread, time and event, followed by the lines of its stack, or
one line with its only address at the end. `gsym.profiles.perf_layout` tells which of
these fields there are:

    app  123/124 [001] 35050.297808:     250000 cpu-clock:
                 804 leaf+0x34 (/usr/bin/app)

Lines of other events are skipped.

The innermost address of a stack is exact, and so is the first one of user space after
addresses of the kernel. The others are return addresses, or one lower, as perf prints
them when it unwinds with DWARF.

In stacks, perf since Linux 5.19 prints the offset in the file of the module instead of
the address in memory; in a line with an only address, and before that, the address. A
mapping in the text decides; without one, an address beyond the largest file is one in
memory.

Source: linux, tools/perf/builtin-script.c, util/evsel_fprintf.c and util/event.c.
"""

from __future__ import annotations

import os
import re
from itertools import accumulate, chain, islice, zip_longest

from gsym.cache import BoundedCache
from gsym.errors import FormatError
from gsym.garbage_collection import no_garbage_collection
from gsym.lazy import regex
from gsym.profiles.input_bytes import lines_of, read_pieces
from gsym.profiles.model import MOST_FRAMES, Frame, Profile
from gsym.profiles.perf_layout import (
    FRAME,
    NO_SAMPLE,
    PERF_EVENT,
    InlineFrame,
    Layout,
    find_layout,
    inline_frame,
    inline_text,
    layout_of,
)
from gsym.profiles.perf_places import NO_BUILD_IDS, PerfFacts
from gsym.profiles.perf_reader import (
    PerfCommand,
    PerfCount,
    PerfFork,
    PerfMapping,
    PerfReader,
    symbol_frame,
)
from gsym.records import NamedTuple

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from gsym.profiles.binaries import BuildIds
    from gsym.profiles.opening import ProfileOptions


class PerfFrame(NamedTuple):
    """A line of a stack; "" and 0 if unknown."""

    address: int  # as it is printed: in memory, or in the file of the module
    symbol: str = ""  # without its offset
    # path of the file, or a name in brackets, as of the kernel; "": what is mapped at
    # the address
    module: str = ""
    # where it is in that file, if that is printed as well
    module_offset: int | None = None
    # Whether it is inlined into the frame of the next line, if that has the same
    # address. perf also marks functions with several names.
    is_inlined: bool = False
    path: str = ""  # of the source file
    line: int = 0  # in it
    # whether it is in the kernel; None: its address decides
    is_kernel: bool | None = None


class PerfSample(NamedTuple):
    """A sample; None for fields that were not printed."""

    command: str  # name of the thread
    process: int | None  # its number; that of the thread if only one was printed
    thread: int | None  # its number; that of the process if only one was printed
    cpu: int | None  # where it ran
    time: int | None  # nanoseconds since the machine started
    period: int | None  # the number of events it represents
    event: str  # the counted event; "" if unknown
    frames: tuple[PerfFrame, ...]  # innermost first


if TYPE_CHECKING:
    PerfRecord = PerfSample | PerfMapping | PerfFork | PerfCommand

# Every repetition is bounded, so that no line takes long.
_SOURCE = regex(r"\s{1,64}(?P<path>\S.*):(?P<line>\d{1,9})$", re.ASCII)
# Printed if the line is unknown: module and address, or nothing.
_NO_SOURCE = regex(r"\s{1,64}(?::0|\S.{0,4096}(?:\[|\+0x)[0-9a-f]{1,16}\]?)$", re.ASCII)
_MAPPING = regex(
    r"PERF_RECORD_MMAP2? (?P<process>-?\d{1,10})/-?\d{1,10}: "
    r"\[0x(?P<start>[0-9a-f]{1,16})\(0x(?P<size>[0-9a-f]{1,16})\) "
    r"@ (?P<offset>0x[0-9a-f]{1,16}|0)"
    r"(?: <(?P<build_id>(?:[0-9a-f]{2}){1,64})>"
    r"| [0-9a-f]{1,8}:[0-9a-f]{1,8} (?P<inode>\d{1,20}) \d{1,20})?[^\]]{0,256}\]: "
    r"(?P<mode>\S{1,8}) (?P<path>.*)$",
    re.ASCII,
)
# Process and thread, and those that made them.
_FORK = regex(
    r"PERF_RECORD_FORK\((-?\d{1,10}):(-?\d{1,10})\):\((-?\d{1,10}):(-?\d{1,10})\)$",
    re.ASCII,
)
_COMMAND = regex(
    r"PERF_RECORD_COMM(?: exec)?: (?P<name>.{0,64}):"
    r"(?P<process>-?\d{1,10})/(?P<thread>-?\d{1,10})$",
    re.ASCII,
)
# Of what perf found when it started, of which processes have their own mappings.
_EARLY = regex(r"\s0\.0{6,9}: PERF_RECORD_", re.ASCII)
_SYMBOL = regex(r"(?P<name>.*)\+0x(?P<offset>[0-9a-f]{1,16})$", re.ASCII)
_MODULE_STARTS = (" (/", " ([", " (")
_UNKNOWN = "[unknown]"
_INLINED = "(inlined)"
_KERNELS = ("[kernel.", "[guest.kernel.")
_USER_PARTS = frozenset({"[vdso]", "[vsyscall]", "[heap]", "[stack]", "[anon]"})
# Lines below a stack: branches before the sample, the instruction, registers.
_OTHER_FIELDS = regex(
    r"\s{0,64}(?:0x[0-9a-f]{1,16}(?:\(.{0,256}\))?/0x|insn:|ilen:|ABI:|IPC:|\.\.\.)",
    re.ASCII,
)
_HEAD = 4096  # lines that tell the layout
_MOST_KNOWN = 1 << 14


def parse_perf_script(
    lines: Iterable[str], unknown: UnknownLines | None = None, fields: str = ""
) -> Iterator[PerfRecord]:
    """The samples in a text, and what it says of memory and threads, as lines come.

    Args:
        lines: Of the text.
        unknown: Counts those that are not understood.
        fields: Those that `perf script -F` printed; "": as all lines tell together.

    Yields:
        Samples at the line after their last, others at once.

    Raises:
        ValueError: A field is not known.
    """
    texts = (line.rstrip("\r\n") for line in lines)
    first = list(islice(texts, _HEAD))
    layout = layout_of(fields) if fields else find_layout(first)[0]
    unknown = UnknownLines() if unknown is None else unknown
    is_of_lines = all(map(str.strip, first)) and any(map(layout.is_whole, first))
    parser = _Parser(layout, unknown, fields, is_of_lines=is_of_lines)
    for number, line in enumerate(chain(first, texts), 1):
        record = parser.take(number, line)
        if record is not None:
            yield record
    last = parser.end()
    if last is not None:
        yield last


class UnknownLines:
    """Lines that are not understood."""

    def __init__(self) -> None:
        self.count: int = 0  # how many there are
        self.first: int = 0  # the number of the first one, counted from 1; 0 for none
        self.others: int = 0  # how many samples have fields that a profile has not

    def add(self, number: int) -> None:
        """One more, by its number."""
        self.first = self.first or number
        self.count += 1


class _Parser:
    """Puts samples together from their lines."""

    def __init__(
        self, layout: Layout, unknown: UnknownLines, fields: str, *, is_of_lines: bool
    ) -> None:
        self._layout = layout
        self._fields = fields
        self._unknown = unknown
        self._is_of_lines = is_of_lines
        self._head: re.Match[str] | None = None
        self._inline: InlineFrame | None = None
        self._frames: list[PerfFrame] = []
        self._known: BoundedCache[str, PerfFrame] = BoundedCache(_MOST_KNOWN)

    def take(self, number: int, text: str) -> PerfRecord | None:
        """Take a line; return its record, or the sample that it ends."""
        if not text.strip():
            return self.end()
        if PERF_EVENT in text:
            return _record(text)
        if NO_SAMPLE.match(text) is not None:
            return None
        is_in_stack = self._head is not None and not (
            self._is_of_lines and self._layout.is_whole(text)
        )
        # Where lines of stacks may look like first lines, blanks tell them apart; a
        # name of a thread may look like an address: `add`, `face`.
        is_first = not is_in_stack or not (
            self._layout.is_headless
            or text[0] == "\t"
            or (text[0].isspace() and not self._layout.is_strong)
        )
        head = self._layout.match(text) if is_first else None
        if head is not None:
            last = self.end()
            self._begin(head)
            return last
        if is_in_stack and self._add_frame(text):
            if len(self._frames) > MOST_FRAMES:
                raise FormatError(f"line {number}: a stack has too many frames")
        elif self._fields and not is_in_stack:
            reason = f"line {number} does not have the fields {self._fields}"
            raise FormatError(reason)
        elif not (is_in_stack and _OTHER_FIELDS.match(text)):
            self._unknown.add(number)
        elif self._head is not None:
            self._unknown.others += 1
        return None

    def end(self) -> PerfSample | None:
        """The sample whose last line has come."""
        head, frames = self._head, self._frames
        self._head, self._frames, self._inline = None, [], None
        return None if head is None else _sample(head.groupdict(), frames)

    def _begin(self, head: re.Match[str]) -> None:
        """Begin a sample; its only address may be in its line."""
        self._head = head
        rest = inline_text(head)
        self._inline = inline_frame(rest) if rest else None
        if self._inline is not None:
            self._frames.append(_frame(*self._inline[:2]))
        self._unknown.others += bool(
            rest and (self._inline is None or self._inline.others)
        )

    def _add_frame(self, text: str) -> bool:
        """Add a line of a stack; False if it is not one."""
        # Most lines of a text come many times.
        frame = self._known.get(text)
        if frame is None:
            found = FRAME.match(text)
            if found is None:
                return _add_source(text, self._frames)
            frame = _frame(int(found["address"], 16), (found["what"] or "").strip())
            self._known.keep(text, frame)
        if self._inline is not None and not self._layout.is_headless:
            # An address in the line of a sample with a stack is one of data.
            self._frames.clear()
            self._inline = None
        self._frames.append(frame)
        return True


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
    module, place = _split_offset("" if is_inlined else module[1:-1])
    symbol, _ = _split_offset(name)
    # Modules of the kernel have names in brackets, too, but so has other memory.
    is_kernel = module.startswith(_KERNELS) or None
    return PerfFrame(
        address,
        "" if symbol == _UNKNOWN else symbol,
        "" if module == _UNKNOWN else module,
        place,
        is_inlined,
        is_kernel=False if module in _USER_PARTS else is_kernel,
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


def _sample(head: dict[str, str | None], frames: list[PerfFrame]) -> PerfSample:
    def number(name: str) -> int | None:
        text = head.get(name)
        return None if text is None else int(text)

    process, thread, time = number("process"), number("thread"), number("seconds")
    if time is not None:
        time = int(f"{time}{head.get('fraction') or '':0<9}")
    return PerfSample(
        head.get("command") or "",
        process,
        process if thread is None else thread,
        number("cpu"),
        time,
        number("period"),
        head.get("event") or "",
        tuple(frames),
    )


def _record(text: str) -> PerfRecord | None:
    """The record of memory or threads in a line."""
    if found := _MAPPING.search(text):
        mode = found["mode"].strip("-ps")  # none of the kernel, which is code
        if mode and "x" not in mode:
            return None
        process, path = int(found["process"]), found["path"]
        places = found.group("start", "size", "offset")
        start, size, offset = (int(each, 16) for each in places)
        build_id, inode = found["build_id"] or "", int(found["inode"] or 0)
        return PerfMapping(process, start, size, offset, path, build_id, inode)
    if found := _COMMAND.search(text):
        return PerfCommand(int(found["process"]), int(found["thread"]), found["name"])
    if found := _FORK.search(text):
        process, thread, parent, parent_thread = map(int, found.groups())
        has_maps = _EARLY.search(text) is None
        return PerfFork(process, parent, thread, parent_thread, has_maps)
    return None


_HEXADECIMAL = frozenset("0123456789abcdef")
# Limit: Output of `perf buildid-list`
_MOST_LIST_BYTES = 64 << 20


def read_build_ids(path: str | os.PathLike[str]) -> dict[str, str | tuple[str, ...]]:
    """The build ids of modules by their paths, as `perf buildid-list` prints them.

    Returns:
        All of a path that has several.
    """
    found: dict[str, dict[str, None]] = {}
    name = os.fspath(path)
    with open(name, "rb") as file:
        data = file.read(_MOST_LIST_BYTES + 1)
    if len(data) > _MOST_LIST_BYTES:
        raise FormatError(f"more than {_MOST_LIST_BYTES} bytes", path=name)
    for number, line in enumerate(data.decode("utf-8", "replace").splitlines(), 1):
        build_id, _, module = line.strip().partition(" ")
        if not build_id:
            continue
        if not module or not _HEXADECIMAL.issuperset(build_id.lower()):
            reason = f"line {number} is not a build id followed by a path"
            raise FormatError(reason, path=name)
        found.setdefault(module.strip(), {})[build_id.lower()] = None
    return {
        module: next(iter(ids)) if len(ids) == 1 else tuple(ids)
        for module, ids in found.items()
    }


# Limit: Output of `perf script`
MOST_TEXT_BYTES = 4 << 30
"""How much text there may be, inflated: it is read line by line."""


@no_garbage_collection()
def read_perf_script(path: str, options: ProfileOptions) -> Profile:
    """The profile in a file that `perf script` wrote.

    Raises:
        ValueError: A field is not known.
    """
    return profile_of_lines(
        lines_of(read_pieces(path, options.most_bytes or MOST_TEXT_BYTES)),
        build_ids=options.build_ids,
        fields=options.fields,
        recorded=os.stat(path).st_mtime,
    )


def profile_of_lines(
    lines: Iterable[str],
    *,
    build_ids: BuildIds | None = None,
    fields: str = "",
    recorded: float | None = None,
) -> Profile:
    """The profile of lines as `perf script` prints them."""
    facts = PerfFacts(build_ids or NO_BUILD_IDS, recorded=recorded)
    reader = _TextReader(facts)
    unknown = UnknownLines()
    for record in parse_perf_script(lines, unknown, fields):
        if isinstance(record, PerfSample):
            reader.take(record)
        else:
            reader.add(record)
    if not reader.counts:
        raise FormatError("no perf sample found")
    kind = f"unrecognized lines, the first is line {unknown.first}"
    reader.builder.profile.lose(kind, unknown.count)
    reader.builder.profile.lose("other fields of samples", unknown.others)
    return reader.profile()


_MOST_KNOWN = 1 << 14  # stacks of a process in the cache


class _TextReader(PerfReader):
    """Makes a profile of the samples of a text.

    Symbols of perf are the frames of their locations; `symbolize` replaces them if it
    finds more.
    """

    def __init__(self, facts: PerfFacts) -> None:
        super().__init__(facts)
        self._times: list[int | None] = []
        self._kinds: dict[PerfCount, int] = {}
        # Indexes of stacks of a process, as long as what is in its memory stays.
        self._known: dict[int | None, BoundedCache[tuple[PerfFrame, ...], int]] = {}

    def forget(self, process: int | None) -> None:
        """Forget the stacks of a process, or all."""
        if process is None:
            self._known.clear()
        else:
            self._known.pop(process, None)

    def take(self, sample: PerfSample) -> None:
        """Add a sample."""
        command, process, thread, cpu, time, period, event, frames = sample
        if process == thread is not None:  # the text may have only one
            process = self.processes.get(thread, thread)
        known = self._known.get(process)
        if known is None:
            known = self._known[process] = BoundedCache(_MOST_KNOWN)
        stack = known.get(frames)
        if stack is None:
            locations = self._locations(frames, process)
            stack = known.keep(frames, self.builder.stack(locations))
        key = process, thread, command
        of = self.known_threads.get(key)
        if of is None:
            of = self.thread(*key)
            self.known_threads[key] = of
        count = PerfCount(event, period, cpu)
        self.stacks.append(stack)
        self.threads.append(of)
        self._times.append(time)
        self.counts.append(self._kinds.setdefault(count, len(self._kinds)))

    def profile(self) -> Profile:
        """The profile of what was added."""
        return self.finish(list(self._kinds), _undone(self._times))

    def _locations(
        self, frames: tuple[PerfFrame, ...], process: int | None
    ) -> list[int]:
        stack: list[int] = []
        was_kernel = True
        for group in _locations(frames):
            *_, frame = group
            is_kernel = self.places.is_kernel(frame)
            is_exact = not stack or (was_kernel and not is_kernel)
            was_kernel = is_kernel
            place = self.places.find(frame, process)
            names: tuple[Frame, ...] = ()
            if all(line.symbol for line in group):
                names = tuple(_frames(group))
            stack.append(self.location(place, names, is_exact=is_exact))
        return stack


def _locations(frames: tuple[PerfFrame, ...]) -> Iterator[list[PerfFrame]]:
    """The lines of each location: of a function and those that are inlined into it.

    A function that is inlined has the address of the next line; one that calls itself
    has as well. With some libraries, perf prints the innermost of them by the name of
    the function around all, and does not mark it.
    """
    group: list[PerfFrame] = []
    for frame, caller in zip_longest(frames, frames[1:]):
        group.append(frame)
        is_same = caller is not None and caller.address == frame.address
        if not is_same or not (
            frame.is_inlined or (len(group) == 1 and caller.is_inlined)
        ):
            yield group
            group = []


def _undone(times: list[int | None]) -> list[int | None]:
    """The times, of which differences to the sample before (`--deltatime`) add up.

    They begin with 0, and do not increase as those of a recording.
    """
    known = [time for time in times if time is not None]
    if len(known) < len(times) or not times or times[0] or known == sorted(known):
        return times
    return list(accumulate(known))


def _frames(group: list[PerfFrame]) -> Iterable[Frame]:
    previous = None
    for line in group:
        # A function with two names is printed twice, first as if it was inlined.
        if line.symbol != previous:
            yield symbol_frame(line.symbol, line.path, line.line)
        previous = line.symbol
