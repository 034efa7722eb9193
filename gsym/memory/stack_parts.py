"""The parts of a report: text, frames and their modules."""

from __future__ import annotations

from array import array
from collections import Counter
from functools import lru_cache
from itertools import accumulate, chain, islice, repeat
from operator import itemgetter

from gsym.engine.native import check, ffi, lib, new_error
from gsym.model import UINT64_END, base_name, valid_text
from gsym.modules.key import (
    GUID_DIGITS,
    ModuleKey,
    code_id_of,
    has_id,
    is_absent,
    read_debug_id,
)
from gsym.records import NamedTuple

TYPE_CHECKING = bool()

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
    from typing import Literal

    from gsym.modules.key import Comparison
    from gsym.reading.reader import Reader

    CompareCode = Callable[[str], Comparison]
    """Compares the code in the file at a path with that in memory."""

    Base = Literal[
        "image", "link", "either", "file", "offset", "text", "executable", "symbol"
    ]
    """The base that an address in a module counts from.

    "image": the start of the loaded module. "link": 0, as in its symbol table.
    "either": 0 if the module has code there, else its start. "file": the start of the
    file. "offset": the same, where it cannot be an address. "text", "executable": the
    start of its section of that name, or of its first segment with code. "symbol": a
    function, which the frame names.
    """


@lru_cache(256)  # a stack names few modules, many times
def module_of_path(path: str) -> StackModule:
    """A module given as NAME or as `NAME/DEBUGID`."""
    folder, _, last = path.replace("\\", "/").rpartition("/")
    if folder and len(last) > GUID_DIGITS:
        try:
            debug_id = read_debug_id(last)
        except ValueError:
            pass
        else:
            return module_of_debug_id(file_name(folder), debug_id)
    name = file_name(path)
    return StackModule(name, ModuleKey(name, code_file=name), path=path)


def module_of_debug_id(name: str, debug_id: str) -> StackModule:
    """A module as in symbolication requests."""
    if is_absent(debug_id):
        return StackModule(name, ModuleKey(name))
    try:
        known = read_debug_id(debug_id).upper()
    except ValueError as problem:
        return StackModule(name, ModuleKey(name, debug_id), str(problem))
    if is_absent(known[:GUID_DIGITS]):
        return StackModule(name, ModuleKey(name))
    return StackModule(name, ModuleKey(name, known))


def module_of_ids(
    path: str, debug_file: str, debug_id: str, code_id: str
) -> StackModule:
    """A module as in the JSON of stackwalk and of the Firefox Profiler."""
    code_file = file_name(path)
    found = module_of_debug_id(debug_file or code_file, debug_id)
    known = code_id_of(ModuleKey(code_id=code_id.replace("-", "")))
    key = found.key._replace(code_file=code_file, code_id=known)
    return found._replace(key=key, path=path, problem="" if known else found.problem)


def module_of_build_id(path: str, build_id: str) -> StackModule:
    """A module of an ELF system; *build_id* with or without dashes, or ""."""
    name = file_name(path)
    known = code_id_of(ModuleKey(code_id=build_id.replace("-", "")))
    return StackModule(name, ModuleKey(name, "", name, known), path=path)


def module_of_uuid(path: str, uuid: str) -> StackModule:
    """A module of an Apple system; *uuid* with or without dashes, or "".

    It is known by its debug id, which may be that of an ELF file as well: only its
    build id is longer. LLDB prints this whole.
    """
    digits = uuid.replace("-", "").upper()
    name = file_name(path)
    if len(digits) > GUID_DIGITS and path.startswith("/"):
        return module_of_build_id(path, digits)
    if len(digits) != GUID_DIGITS or is_absent(digits):
        return StackModule(name, ModuleKey(name, code_file=name), path=path)
    return StackModule(name, ModuleKey(name, digits + "0", name), path=path)


class ReportLimits(NamedTuple):
    """Limits of a paste; the rest stays text."""

    frames: int = 10_000
    modules: int = 1_000
    lines: int = 1_000_000
    line: int = 4_096
    images: int = 20_000


_ANY = 1 << 62
# Patterns search every line: longer ones, as of folded stacks, would cost too much.
NO_LIMITS = ReportLimits(_ANY, _ANY, _ANY, 1 << 14, _ANY)


class StackModule(NamedTuple):
    """A module of a report."""

    name: str  # file name without folder
    key: ModuleKey  # The key to look it up. A name alone does not identify a build.
    problem: str = ""  # why it cannot be looked up, or ""
    path: str = ""  # as in the report; "" if that has only a name
    # reads its symbols where no file of it is found: from memory
    read: Callable[[], Reader] | None = None
    # compares the code of a file with that in memory; None where the report is not of
    # memory
    compare_code: CompareCode | None = None

    @property
    def has_id(self) -> bool:
        """Whether the report has an id of it."""
        return has_id(self.key)


NO_MODULE = -1
FAULT = "ERROR: "
"""Begin of the heading of a stack that ended the program, whatever it did there."""


class StackFrame(NamedTuple):
    """An address in a module, and its text in the report.

    Attributes:
        text: The part of the report that the symbolized frame replaces.
        module: Index into the modules of the report, or -1.
        address: In bytes; *base* defines its origin.
        base: See `Base`.
        is_return: Whether it is a return address, so that the call is before it.
        symbol: The function that the report names, or "".
        plus: Bytes from the start of *symbol*; None if unknown.
        trust: How it was found where a stack was walked here, or "".
        may_be_exact: Whether the report does not tell if it is a return address: it is
            not if the code before it is no call.
        may_return: Likewise of one that is not said to be a return address: it is if
            the code before it is a call, as of most others in its stack.
        function_size: Of *symbol*, in bytes, as the report has it; or None.
        others: What it may be instead; the binaries decide.
        is_guess: Whether it is text unless a module has code at the address.
        is_counter: Whether the report says that it is the program counter.
        doubt: What else it may be, or "".
        line: Index of the line that it is in, which it may share with others; or -1.
        ordinal: Its number in the stack, or -1.
        heading: Index of the last heading before it, or -1.
        stack: Index into the stacks of the report.
    """

    text: str
    module: int
    address: int
    base: Base = "image"
    is_return: bool = False
    symbol: str = ""
    plus: int | None = None
    trust: str = ""
    may_be_exact: bool = False
    may_return: bool = False
    function_size: int | None = None
    others: tuple[StackFrame, ...] = ()
    is_guess: bool = False
    is_counter: bool = False
    doubt: str = ""
    line: int = -1
    ordinal: int = -1
    heading: int = -1
    stack: int = 0


_new = tuple.__new__


class Reading(NamedTuple):
    """A frame that a part of some lines may be, and what of it is in each line.

    Attributes:
        frame: The frame that it is in one of the lines.
        address: Index of its address among the numbers of a line; -1: that of *frame*.
        plus: Likewise of the bytes from the start of its function.
        size: Likewise of the size of that.
        name: Where in each line its function is; None: that of *frame*.
    """

    frame: StackFrame
    address: int = -1
    plus: int = -1
    size: int = -1
    name: tuple[int, int] | None = None

    @property
    def differs(self) -> bool:
        """Whether more than the address differs from line to line."""
        return self.plus >= 0 or self.size >= 0 or self.name is not None

    def of(self, values: Sequence[int], text: str = "") -> StackFrame:
        """The frame in a line that has these numbers and this text."""
        frame, address, plus, size, name = self
        fields = [*frame]
        if name is not None:
            fields[5] = text[name[0] : name[1]]
        if size >= 0:
            fields[10] = values[size]
        if address >= 0:
            fields[2] = values[address]
        if plus >= 0:
            fields[6] = values[plus]
        return _new(StackFrame, fields)

    def as_other(self, before: int = 0) -> Reading:
        """A frame that a form may have instead; *before* are numbers of the form."""
        frame = self.frame._replace(
            is_guess=True, is_return=False, may_be_exact=False, may_return=False
        )
        places = (each + before if each >= 0 else -1 for each in self[1:4])
        return _new(Reading, (frame, *places, self.name))


class LinePattern:
    """The frames that may be in lines that only differ in their numbers.

    Attributes:
        form: What such frames are called.
        spans: The places in a line of what may be frames, in order.
        readings: What each of these may mean, the likeliest first.
        is_certain: Whether the form tells what they are, not the binaries.
        modules: The modules of these readings.
    """

    def __init__(
        self,
        form: str,
        spans: Sequence[tuple[int, int]],
        readings: Sequence[Sequence[Reading]],
        *,
        is_certain: bool = False,
    ) -> None:
        self.form: str = form
        self.spans: Sequence[tuple[int, int]] = spans
        self.readings: Sequence[Sequence[Reading]] = readings
        self.is_certain: bool = is_certain
        frames = [each.frame for several in readings for each in several]
        several = {each.module for each in frames} - {NO_MODULE}
        self.modules: Collection[int] = tuple(several)  # less than a set
        self.sure: int = sum(not each[0].frame.is_guess for each in readings)
        self.ordinal: int = readings[0][0].frame.ordinal

    def frames(self, text: str, values: Sequence[int]) -> list[StackFrame]:
        """The frames of a line with these numbers, each with its other readings."""
        found: list[StackFrame] = []
        for span, readings in zip(self.spans, self.readings, strict=True):
            frame, *others = (each.of(values, text) for each in readings)
            shown = text[slice(*span)]
            found.append(frame._replace(text=shown, others=tuple(others)))
        return found


class AlikeLines(NamedTuple):
    """Lines of a pattern.

    Attributes:
        pattern: What they may mean.
        numbers: Their indexes in the report, of type "I".
        report: The lines of the report.
    """

    pattern: LinePattern
    numbers: array[int]
    report: FrameLines

    def only(self, asked: Sequence[int]) -> AlikeLines:
        """Some of the lines."""
        return self._replace(numbers=taken(self.numbers, asked))

    @property
    def texts(self) -> list[str]:
        """The lines."""
        return [*map(self.report.texts.__getitem__, self.numbers)]

    def column(self, at: int) -> array[int]:
        """The number at a place in each line."""
        report = self.report
        return taken(report.values, taken(report.begins, self.numbers), at)

    def addresses(self, reading: Reading) -> array[int]:
        """The address of a reading in each line."""
        if reading.address < 0:
            return array("Q", [reading.frame.address]) * len(self.numbers)
        return self.column(reading.address)

    def kinds(self, reading: Reading) -> tuple[list[StackFrame], array[int]]:
        """The frames that a reading is, without addresses, and that of each line."""
        frame, _, plus, size, name = reading
        if not reading.differs:
            return [frame], array("I", bytes(4 * len(self.numbers)))
        texts = self.texts
        rows = zip(
            [frame.symbol] * len(texts) if name is None else map(_at(name), texts),
            repeat(frame.plus) if plus < 0 else self.column(plus),
            repeat(frame.function_size) if size < 0 else self.column(size),
            strict=False,
        )
        number_of: dict[tuple[str, int | None, int | None], int] = {}
        kinds = array("I", [number_of.setdefault(row, len(number_of)) for row in rows])
        known = [
            frame._replace(symbol=symbol, plus=plus, function_size=size)
            for symbol, plus, size in number_of
        ]
        return known, kinds

    def frames(self, reading: Reading) -> Iterator[StackFrame]:
        """The frame that a reading is in each line."""
        return map(reading.of, map(self.report.values_of, self.numbers), self.texts)


class FrameLines:
    """The lines of a report that may have frames, as columns, and the text around them.

    Attributes:
        befores: The text before each, since the line before it.
        texts: The lines.
        patterns: What each may mean.
        values: The numbers of all.
        begins: Where those of each begin.
        ordinals: The numbers in the stack of frames that have none themselves.
        headings: As of `StackFrame`.
        rest: The text after the last line.
    """

    def __init__(self) -> None:
        self.befores: list[str] = []
        self.texts: list[str] = []
        self.patterns: list[LinePattern] = []
        self.values: array[int] = array("Q")
        self.begins: array[int] = array("I")
        self.ordinals: array[int] = array("q")
        self.headings: array[int] = array("q")
        self.rest: str = ""

    def values_of(self, at: int) -> Sequence[int]:
        """The numbers of a line."""
        begin, end = self.begins[at], None
        if at + 1 < len(self.begins):
            end = self.begins[at + 1]
        return self.values[begin:end]

    def between(self, begin: int, end: int) -> str:
        """The text of some lines, from that before them up to the next line."""
        befores = [*self.befores[begin : end + 1], self.rest]
        if end == begin:
            return befores[0]
        pairs = zip(befores, (*self.texts[begin:end], ""), strict=False)
        return "".join(chain.from_iterable(pairs))

    def firsts(self) -> list[int]:
        """The number in its stack of the first frame of each line."""
        return [
            ordinal if pattern.ordinal < 0 else pattern.ordinal
            for ordinal, pattern in zip(self.ordinals, self.patterns, strict=True)
        ]

    def parts(self, headings: Sequence[StackHeading]) -> Iterator[str | StackFrame]:
        """Frames, each with its other readings, and the texts between."""
        pending = ""
        stacks, _ = numbered(self.firsts(), self.headings, headings)
        columns = self.patterns, self.texts, self.befores, stacks
        for at, (pattern, text, before, stack) in enumerate(zip(*columns, strict=True)):
            end, pending = 0, pending + before
            for span, frame in zip(
                pattern.spans, pattern.frames(text, self.values_of(at)), strict=True
            ):
                if pending := pending + text[end : span[0]]:
                    yield pending
                yield frame._replace(
                    line=-1 if pattern.is_certain else at,
                    ordinal=self.ordinals[at] if frame.ordinal < 0 else frame.ordinal,
                    heading=self.headings[at],
                    stack=stack,
                )
                pending, end = "", span[1]
            pending = text[end:]
        if pending := pending + self.rest:
            yield pending

    def alike(self) -> list[AlikeLines]:
        """The lines of each pattern, in order."""
        number_of = {each: at for at, each in enumerate(dict.fromkeys(self.patterns))}
        numbers = array("I", map(number_of.__getitem__, self.patterns))
        order, found, end = ordered(numbers), list[AlikeLines](), 0
        counts = Counter(numbers)
        for pattern, number in number_of.items():
            begin, end = end, end + counts[number]
            found.append(AlikeLines(pattern, order[begin:end], self))
        return found


def _at(place: tuple[int, int]) -> Callable[[str], str]:
    return itemgetter(slice(*place))


def ordered(keys: array[int]) -> array[int]:
    """The indexes of rows by their keys; equal ones keep their order.

    *keys* and the result are of type "I".
    """
    order, error = array("I", bytes(4 * len(keys))), new_error()
    columns = [ffi.from_buffer("uint32_t[]", each) for each in (keys, order)]
    status = lib.gsym_order_rows(columns[0], len(keys), columns[1], error)
    check(status, error)
    return order


def taken(column: array[int], rows: Sequence[int], after: int = 0) -> array[int]:
    """The items of a column that stand *after* items after each of some rows."""
    asked = rows if isinstance(rows, array) else array("I", rows)
    width, error = column.itemsize, new_error()
    found = array(column.typecode, bytes(width * len(asked)))
    status = lib.gsym_take_rows(
        *(ffi.from_buffer(column), width, len(column)),
        *(ffi.from_buffer("uint32_t[]", asked), len(asked), after),
        *(ffi.from_buffer(found), error),
    )
    check(status, error)
    return found


class StackHeading(NamedTuple):
    """A stack of a report."""

    # of the thread, or why the stack is there; "" if the report does not say
    name: str = ""
    is_crashed: bool = False  # whether it is that of the thread that crashed
    # why it ends before the outermost frame where it was walked here; "" if it does not
    end: str = ""
    left_out: int = 0  # number of frames in the middle that are left out
    # names and values of the registers of a thread that crashed
    registers: tuple[tuple[str, int], ...] = ()
    instruction: str = ""  # the instruction at which it did, as text; "" if unknown


class ParsedReport(NamedTuple):
    """A parsed report."""

    form: str  # the name of the recognized format
    # If *is_verbatim*, the report is the concatenation of the texts in these.
    lines: FrameLines
    modules: tuple[StackModule, ...]  # the modules of the report
    is_verbatim: bool = True  # false for JSON: the texts are then headings
    notes: tuple[str, ...] = ()  # sentences about omissions
    reason: str = ""  # why the program ended, as the report says; "" if it does not
    # all headings, also those of stacks without a frame
    headings: tuple[StackHeading, ...] = ()
    # modules and addresses that the text says to be in a program counter
    counters: Collection[tuple[int, int]] = ()

    @property
    def parts(self) -> tuple[str | StackFrame, ...]:
        """Texts and frames in order."""
        return tuple(self.lines.parts(self.headings))

    @property
    def stacks(self) -> tuple[StackHeading, ...]:
        """The stacks, in order."""
        lines = self.lines
        return tuple(numbered(lines.firsts(), lines.headings, self.headings)[1])


def numbered(
    ordinals: Iterable[int], numbers: Iterable[int], headings: Sequence[StackHeading]
) -> tuple[list[int], list[StackHeading]]:
    """The stacks of lines, and the heading of each stack.

    A stack begins after a heading, and with a frame whose number is not greater than
    that of the one before, unless the outermost frame is the first: `2`, `1`, `0`.

    Args:
        ordinals: The numbers of their first frames.
        numbers: Their headings, as indexes.
        headings: The headings.
    """
    found: list[int] = []
    stacks: list[StackHeading] = []
    last = last_number = -1
    may_descend = False
    for ordinal, number in zip(ordinals, numbers, strict=True):
        descends = may_descend and 0 <= ordinal < last
        is_heading = number != last_number
        if is_heading or (0 <= ordinal <= last and not descends) or not stacks:
            stacks.append(headings[number] if is_heading else StackHeading())
            descends = ordinal > 1
        may_descend, last, last_number = descends, ordinal, number
        found.append(len(stacks) - 1)
    return found, stacks


class StackBuilder:
    """Collects the parts of a report in order, within limits."""

    def __init__(self, limits: ReportLimits) -> None:
        self.limits = limits
        # the limit of frames is exceeded: do not look for more
        self.is_over: bool = False
        self.reason: str = ""  # why the program ended, as the report says
        # modules and addresses that it says to be in a program counter
        self.counters: set[tuple[int, int]] = set()
        self.heading: int = -1  # index of the last heading, or -1
        self._lines = FrameLines()
        self._patterns: dict[object, LinePattern] = {}  # of frames
        self._pending: list[str] = []
        self._frames = 0
        self._forms: dict[str, int] = {}
        self._headings: list[StackHeading] = []
        self._frames_before = 0  # the last heading
        self._modules: list[StackModule] = []
        self._number_of: dict[tuple[ModuleKey, str], int] = {}
        self._notes: dict[str, None] = {}

    @property
    def has_frames(self) -> bool:
        """Whether there is a frame."""
        return self._frames > 0

    @property
    def has_heading(self) -> bool:
        """Whether the report has a heading of the stack that it is in."""
        return bool(self._headings and self._headings[-1].name)

    def add_text(self, text: str) -> None:
        """Append text."""
        if text:
            self._pending.append(text)

    def begin(
        self, name: str, is_crashed: bool = False, end: str = "", left_out: int = 0
    ) -> None:
        """Begin a stack with the next frame; see `StackHeading`.

        A second heading of the same stack completes the first one.
        """
        last = self._headings[-1] if self._headings else StackHeading()
        if self._frames == self._frames_before and last.name:
            if last.name.startswith(name):
                name, is_crashed = last.name, is_crashed or last.is_crashed
            elif last.name.startswith(FAULT):
                is_crashed = is_crashed or last.is_crashed
        self._frames_before = self._frames
        self._headings.append(StackHeading(name, is_crashed, end, left_out))
        self.heading += 1

    def add_registers(
        self, registers: Iterable[tuple[str, int]], instruction: str
    ) -> None:
        """Add the state of the thread whose stack was begun; see `StackHeading`."""
        self._headings[-1] = self._headings[-1]._replace(
            registers=tuple(registers), instruction=instruction
        )

    def add_frame(self, frame: StackFrame, form: str = "", number: int = -1) -> None:
        """Append a frame; beyond the limits it is text.

        The binaries decide among it and its other readings, and whether a guess is one.

        Args:
            frame: The frame, of any stack.
            form: What frames like it are called.
            number: Its number in the stack, if known: one that is not greater than the
                one before begins a stack.
        """
        text, _, address = frame[:3]
        if not 0 <= address < UINT64_END:
            self.add_text(text)
            return
        values, plus, at = [address], frame.plus, -1
        if plus is not None and 0 <= plus < UINT64_END:
            values, plus, at = [address, plus], 0, 1
        bare = frame._replace(text="", address=0, plus=plus, others=(), ordinal=-1)
        readings = Reading(bare, 0, at), *map(Reading, frame.others)
        pattern = self.pattern(form, (0, len(text)), readings)
        self.add_lines([text], [pattern], [values], [min(number, _ANY)])

    def pattern(
        self, form: str, span: tuple[int, int], readings: tuple[Reading, ...]
    ) -> LinePattern:
        """The pattern of lines with a frame of a form at a place."""
        key = form, span, readings
        pattern = self._patterns.get(key)
        if pattern is None:
            is_certain = len(readings) == 1 and not readings[0].frame.is_guess
            pattern = LinePattern(form, [span], [readings], is_certain=is_certain)
            self._patterns[key] = pattern
        return pattern

    def add_lines(
        self,
        texts: Sequence[str],
        patterns: Sequence[LinePattern],
        values: Sequence[Sequence[int]],
        ordinals: Sequence[int],
    ) -> None:
        """Append lines with frames; see `FrameLines`."""
        kinds = {patterns[0]: 1} if len(patterns) == 1 else Counter(patterns)
        count = sum(len(each.spans) * several for each, several in kinds.items())
        if self._frames + count > self.limits.frames:
            if len(texts) > 1:
                for at in range(len(texts)):
                    run = slice(at, at + 1)
                    self.add_lines(
                        texts[run], patterns[run], values[run], ordinals[run]
                    )
                return
            self.is_over = True
            self.add_note(f"Only the first {self._frames} frames are looked up.")
            self.add_text(texts[0])
            return
        self._frames += count
        for pattern, several in kinds.items():
            if pattern.sure:
                sure = self._forms.get(pattern.form, 0) + pattern.sure * several
                self._forms[pattern.form] = sure
        lines = self._lines
        lines.befores.append(self._taken())
        lines.befores += [""] * (len(texts) - 1)
        lines.texts += texts
        lines.patterns += patterns
        begins = accumulate(map(len, values), initial=len(lines.values))
        lines.begins.extend(islice(begins, len(texts)))
        lines.values.extend(chain.from_iterable(values))
        lines.ordinals.extend(ordinals)
        lines.headings.extend([self.heading] * len(texts))

    def add_note(self, note: str) -> None:
        """Add a sentence about an omission, once."""
        self._notes[note] = None

    def number(self, module: StackModule) -> int:
        """The index of a module; -1 beyond the limits."""
        folder = ""
        if not module.has_id:
            folder = module.path.replace("\\", "/").rpartition("/")[0]
        known = self._number_of.get((module.key, folder))
        if known is not None:
            return known
        if len(self._modules) == self.limits.modules:
            self.add_note(f"Only the first {len(self._modules)} modules are looked up.")
            return NO_MODULE
        self._number_of[module.key, folder] = len(self._modules)
        # A name alone is the first module of it.
        self._number_of.setdefault((module.key, ""), len(self._modules))
        self._modules.append(module)
        return len(self._modules) - 1

    def module(self, number: int) -> StackModule:
        """The module of an index."""
        return self._modules[number]

    def finish(self, form: str = "", *, is_verbatim: bool = True) -> ParsedReport:
        """The parsed report."""
        self._lines.rest = self._taken()
        if not is_verbatim:
            self._make_valid()
        usual = max(self._forms, key=self._forms.__getitem__, default=NO_FRAMES)
        return ParsedReport(
            form or usual,
            self._lines,
            tuple(self._modules),
            is_verbatim,
            tuple(self._notes),
            self.reason,
            tuple(self._headings),
            self.counters,
        )

    def take(self) -> ParsedReport:
        """The parts since the last call, of a report that continues."""
        taken = self.finish()
        self._lines = FrameLines()
        self._patterns.clear()
        del self._headings[:-1]  # the last stack may go on
        self.heading = len(self._headings) - 1
        return taken

    def _make_valid(self) -> None:
        """Replace what no UTF-8 has: in JSON, surrogates may be alone."""
        lines = self._lines
        for texts in (lines.befores, lines.texts):
            texts[:] = map(valid_text, texts)
        lines.rest = valid_text(lines.rest)
        self._modules = [
            each._replace(name=valid_text(each.name), path=valid_text(each.path))
            for each in self._modules
        ]
        headings = self._headings
        headings[:] = [each._replace(name=valid_text(each.name)) for each in headings]
        self.reason = valid_text(self.reason)

    def _taken(self) -> str:
        text = "".join(self._pending)
        self._pending.clear()
        return text


NO_FRAMES = "text without frames"
PROFILE = "Firefox profile"
FOLDED = "folded stacks"
"""The form of lines that are stacks, the innermost frame last."""


def file_name(path: str) -> str:
    """The file name of a path of any system, or of a file in an archive."""
    return base_name(path).rpartition("!")[2]
