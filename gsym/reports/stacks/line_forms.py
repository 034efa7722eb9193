"""Forms of lines in reports: tables of patterns, and what their named groups mean.

A report is read line by line. Images come first, as many reports list them after the
stacks; then each line is matched with the forms of frames, in order, and the first that
fits describes it. `hint` is text that a line must contain, which is cheaper to test.

Groups of all patterns, each optional:

    shown       the text that the answer replaces; by default all that matched
    module      path or name of the module
    build_id    its build id, in hexadecimal
    uuid        its LC_UUID, with or without dashes
    debug_id    its debug id
    address     an address in the process, in hexadecimal
    offset      from the start of the module, or link-time: `FrameForm.base`
    symbol      function, as in the report
    plus        bytes from its start: hexadecimal with 0x, else decimal
    function_size  its size, in hexadecimal
    number      of the frame in its stack
    start, end  addresses of an image in the process; the end may be missing
    last        instead of `end`: the last address
    size        of an image, in hexadecimal
    at          offset in the file of what is at `start`, in hexadecimal
    name        of a thread
    crashed     not empty: the thread that crashed
    reason      why the program ended
"""

from __future__ import annotations

import re
from itertools import islice

from gsym.memory.regions import Region, Regions
from gsym.memory.stack_parts import (
    NO_MODULE,
    StackFrame,
    module_of_build_id,
    module_of_debug_id,
    module_of_path,
    module_of_uuid,
)
from gsym.records import NamedTuple
from gsym.reports.stacks import evidence
from gsym.reports.stacks.prefixes import prefix_size
from gsym.reports.stacks.tokens import (
    BARE,
    BREAKS,
    IS_WRITTEN_AS_ADDRESS,
    pieces,
)

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from typing import Literal, TypeVar

    from gsym.memory.loaded import Loaded
    from gsym.memory.stack_parts import (
        Base,
        StackBuilder,
        StackModule,
    )

    _Form = TypeVar("_Form", "FrameForm", "ImageForm", "HeadingForm")
    _Hinted = tuple[list[tuple[str, _Form]], list[tuple[str, _Form]]]

HEX = r"[0-9a-fA-F]{1,16}(?![0-9a-zA-Z_])"
"""Digits of a number of 64 bits."""

ADDRESS = rf"0x(?P<address>{HEX})"
OFFSET = rf"0x(?P<offset>{HEX})"
NUMBER = r"(?P<number>\d{1,6})"

_PAGE = 4096
_FEW_FRAMES = 2  # of a stack
_PREFIX = "0x"


class FrameForm(NamedTuple):
    """A line with a frame, or with several.

    Attributes:
        form: What such a report is called.
        hint: Text that each such line contains.
        pattern: Finds the frame in the line.
        returns: Which addresses are return addresses, so that the call is before them:
            those of "callers" (all but the first of a stack), those "before others" in
            their line, "all", or "none".
        base: What `offset` counts from.
        repeats: Whether the line may have more than one.
        is_stack: Whether the line is a stack.
        accepts: Tells other lines of this pattern apart.
        whole: What the line must be from its start.
        module: The module of frames whose lines do not name one.
        has_heading: Whether a heading is before each stack: without one, the stack is
            another tool's, and its first frame may be a return address.
    """

    form: str
    hint: str
    pattern: re.Pattern[str]
    returns: Literal["callers", "before others", "all", "none"] = "callers"
    base: Base = "either"
    repeats: bool = False
    is_stack: bool = False
    accepts: Callable[[re.Match[str]], bool] | None = None
    whole: re.Pattern[str] | None = None
    module: str = ""
    has_heading: bool = False


class ImageForm(NamedTuple):
    """A line with an image in the process, or with the id of a module.

    Attributes:
        hint: As of `FrameForm`.
        pattern: Finds the image. If it has no `start` but `address` and `offset`, the
            image starts at their difference.
        base: What starts at `start`: the image, or its text or executable segment.
        start: Where images start whose lines do not say it.
        has_frame: Whether the line may also have a frame.
        module: The module, if the line does not name it.
    """

    hint: str
    pattern: re.Pattern[str]
    base: Base = "image"
    start: int | None = None
    has_frame: bool = False
    module: str = ""


class HeadingForm(NamedTuple):
    """A line that begins a stack, or has the reason of the crash.

    Attributes:
        hint: As of `FrameForm`.
        pattern: Finds `name`, `crashed` or `reason`.
    """

    hint: str
    pattern: re.Pattern[str]


class ReportForms(NamedTuple):
    """The forms of some programs' reports."""

    frames: Sequence[FrameForm] = ()
    images: Sequence[ImageForm] = ()
    headings: Sequence[HeadingForm] = ()
    between: Sequence[re.Pattern[str]] = ()
    """Lines among the frames of a stack that do not end it."""


def _by_hint(forms: Iterable[_Form]) -> _Hinted[_Form]:
    """Forms with their hints: all, and those of lines without an address."""
    every = [(form.hint, form) for form in forms]
    return every, [each for each in every if _PREFIX not in each[0]]


def _occurring(forms: _Hinted[_Form], hints: set[str]) -> _Hinted[_Form]:
    """The forms with one of the hints."""
    every, others = ([each for each in part if each[0] in hints] for part in forms)
    return every, others


def _possible(forms: _Hinted[_Form], line: str) -> list[_Form]:
    """The forms that a line may have, in order."""
    every, others = forms
    return [
        form for hint, form in (every if _PREFIX in line else others) if hint in line
    ]


# A start of a module ends so; a range has two of them.
_MAY_PLACE = re.compile(r"[0-9a-fA-F]{3}000(?![0-9a-zA-Z])")
# Each line has this that `IS_WRITTEN_AS_ADDRESS` is found in; the search is shorter.
_NEAR_ADDRESS = re.compile(r"0[xX]|[+`$]|[0-9a-fA-F]{8}")
_NAME_IS = re.compile(r" name:\s*")
_COLOURS = re.compile(r"\x1b\[[\d;]*[mK]")


def _without_colours(line: str) -> str:
    return _COLOURS.sub("", line) if "\x1b" in line else line


def _text_of(line: str) -> str:
    """The text of a line, which the patterns are for."""
    text = _without_colours(line)
    return text[prefix_size(text) :]


class _Plain:
    """A line, and its text without colours and the prefix of a log."""

    def __init__(self, line: str) -> None:
        self.line = self.text = line
        self._removed: list[tuple[int, int]] = []  # places in the text, sizes
        if "\x1b" in line:
            removed = 0
            for found in _COLOURS.finditer(line):
                size = found.end() - found.start()
                self._removed.append((found.start() - removed, size))
                removed += size
            self.text = _without_colours(line)
        self._skipped = prefix_size(self.text)
        self.text = self.text[self._skipped :]

    def is_like(self, pattern: re.Pattern[str]) -> bool:
        """Whether the text begins as a pattern says."""
        return pattern.match(self.text) is not None

    def span(self, start: int, end: int) -> tuple[int, int]:
        """The range in the line of a part of the text, without colours around it."""
        start, end = start + self._skipped, end + self._skipped
        before = sum(size for at, size in self._removed if at <= start)
        inside = sum(size for at, size in self._removed if start < at < end)
        return start + before, end + before + inside


class LineReader:
    """Reads the lines of a report.

    Args:
        tables: The forms, in order of preference.
        stack: Where the parts go.
        chosen: The module of addresses without one; None: such lines are text.
        process: What is loaded in the process of the report, beside its own images.
        is_log: Whether the text is a log, and not a report.
    """

    def __init__(
        self,
        tables: Iterable[ReportForms],
        stack: StackBuilder,
        chosen: StackModule | None = None,
        process: Loaded | None = None,
        *,
        is_log: bool = False,
    ) -> None:
        every = list(tables)
        self._all_frames = _by_hint(form for table in every for form in table.frames)
        self._all_images = _by_hint(form for table in every for form in table.images)
        self._all_headings = _by_hint(
            form for table in every for form in table.headings
        )
        # Those whose hints are in the lines that are being read.
        self._frames, self._images = self._all_frames, self._all_images
        self._headings = self._all_headings
        self._between = [pattern for table in every for pattern in table.between]
        self._stack = stack
        self._chosen = chosen
        self._process = process
        self._loaded = Regions()
        self._position = 0  # frames since the last line without one
        self._first: dict[int, int] = {}  # by module: where the start of its file is
        self._known_starts: set[int] = set()
        self._images_read = 0
        self._around = evidence.Surroundings(
            stack, self._loaded, self.find, chosen, is_log
        )
        self._before: list[evidence.Line] = []  # the last one first
        self._number = 0  # of the line
        self._has_stack = False  # that a form describes

    def place(self, module: StackModule, start: int) -> None:
        """Place a module at an address of the process."""
        number = self._stack.number(module)
        self._first[number] = start
        self._known_starts.add(start)
        self._loaded.add(Region(start, 0, number, base="image"))

    def place_images(
        self, lines: Sequence[str], maps: Sequence[str]
    ) -> tuple[Sequence[str], set[int]]:
        """Place all modules of a report.

        Args:
            lines: Its lines.
            maps: Others that only say what is loaded.

        Returns:
            The lines, cut where a program wrote several as one, and the indexes of
                those that only place a module.
        """
        # A log has many lines, and of few forms.
        text = _without_colours("".join((*maps, *lines)))
        every = (self._all_frames, self._all_images, self._all_headings)
        hints = {hint for (forms, _) in every for hint, _ in forms}
        hints = {hint for hint in hints if hint in text}
        self._frames = _occurring(self._all_frames, hints)
        self._images = _occurring(self._all_images, hints)
        self._headings = _occurring(self._all_headings, hints)
        for line in maps:
            if not self._add_image(line):
                self._place_all(evidence.Line(line))
        several = lines
        if "#012" in text or "\\n" in text:
            several = [piece for line in lines for piece in pieces(line)]
        return several, self._read_images(several)

    def ranges(self) -> list[tuple[int, int]]:
        """The ranges of addresses where something is known to be loaded."""
        return [(each.start, each.end) for each in self._loaded.regions]

    def read(self, lines: Sequence[str], maps: Sequence[str] = ()) -> None:
        """Read all lines of a report, and of others that only say what is loaded."""
        several, images = self.place_images(lines, maps)
        may_have_frame = self._interest()
        described = (
            line
            for line in several
            if may_have_frame(line) and self._is_described(_text_of(line))
        )
        self._has_stack = len([*islice(described, _FEW_FRAMES)]) == _FEW_FRAMES
        for at, line in enumerate(several):
            self._number += 1
            if at in images or not may_have_frame(line):
                self._position = 0
                self._stack.add_text(line)
            elif line in BREAKS:
                self._stack.add_text(line)
            else:
                later = several[at + 1 : at + 3]
                following = (each for each in later if each not in BREAKS)
                self._add_line(line, next(following, ""))

    def _read_images(self, lines: Sequence[str]) -> set[int]:
        """Place all modules; the indexes of lines that do nothing else."""
        most = self._stack.limits.line
        images = {
            at
            for at, line in enumerate(lines)
            if len(line) <= most and self._add_image(_text_of(line))
        }
        self._loaded.close()
        # What a form describes comes first: it has ids and ends.
        for at, line in enumerate(lines):
            if len(line) <= most and at not in images and _MAY_PLACE.search(line):
                placing = evidence.Line(_text_of(line))
                self._place_all(placing)
                if placing.is_image:
                    images.add(at)
        return images

    def _interest(self) -> Callable[[str], bool]:
        """A search that fails in most lines of a log: they are text."""
        hints = {hint for each in (self._frames, self._headings) for hint, _ in each[0]}
        known = ["\x1b", *map(re.escape, (*hints - {_PREFIX}, *BREAKS))]
        if self._chosen or self._process:
            known.append(BARE.pattern)
        if self._between:
            known.append(r"^\s|\(|created by| from:")
        search = re.compile("|".join(known)).search
        is_near = _NEAR_ADDRESS.search
        is_written = IS_WRITTEN_AS_ADDRESS.search
        region = self._around.region if self._loaded.regions else None

        def may_have_frame(line: str) -> bool:
            return bool(
                (is_near(line) and is_written(line))
                or search(line)
                or (region and any(map(region, evidence.bare_numbers(line))))
            )

        return may_have_frame

    def _is_described(self, line: str) -> bool:
        """Whether a form of a tool has a frame in the line."""
        return any(
            (form.whole is None or form.whole.match(line)) and form.pattern.search(line)
            for form in _possible(self._frames, line)
        )

    def _add_line(self, line: str, following: str) -> None:
        stack = self._stack
        if stack.is_over or evidence.IS_INLINED.search(line):
            stack.add_text(line)
        elif len(line) > stack.limits.line:
            stack.add_text(line)
            stack.add_note(
                f"Lines of more than {stack.limits.line} characters are not read."
            )
        elif not self._add_frames(plain := _Plain(line), following):
            is_between = self._position and any(map(plain.is_like, self._between))
            is_heading = not is_between and self._add_heading(plain.text)
            if not is_heading and self._add_candidates(plain, following):
                return
            stack.add_text(line)
            if not is_between:
                self._position = 0

    def _add_candidates(self, plain: _Plain, following: str) -> bool:
        """Whether the line has something that may be a frame."""
        found = self._candidates(plain, following)
        if not found:
            return False
        # Where a tool has written a stack, other addresses are registers and memory.
        is_other = self._has_stack and not self._process
        if is_other and all(each.frame.ordinal < 0 for each in found):
            return False
        form, is_return = evidence.form_of(plain.text)
        at = 0
        for each in found:
            start, end = plain.span(each.start, each.end)
            if start < at:
                continue
            self._stack.add_text(plain.line[at:start])
            frame = each.frame._replace(
                text=plain.line[start:end],
                line=self._number,
                is_return=is_return,
                may_return=True,
                may_be_exact=True,
            )
            is_numbered = frame.ordinal >= 0
            number = frame.ordinal if is_numbered else self._position
            self._stack.add_frame(frame, form, number)
            at = end
        self._stack.add_text(plain.line[at:])
        self._position += not all(each.frame.is_guess for each in found)
        return True

    def _place_all(self, line: evidence.Line) -> None:
        """Place the modules of a line, unless they are placed."""
        is_new = False
        for module, start, end, offset in line.images():
            if start in self._known_starts or self._loaded.covering(start):
                continue
            if end and not offset:
                self._first.setdefault(self._stack.number(module), start)
            self._known_starts.add(start)
            number = self._stack.number(module)
            base: Base = "file" if offset else "image"
            self._loaded.add(Region(start, end, number, 0, offset, base))
            is_new = True
        if is_new:
            self._loaded.close()

    def _add_image(self, line: str) -> bool:
        """Whether the line has an image, and no frame."""
        for form in _possible(self._images, line):
            if found := form.pattern.search(line):
                self._images_read += 1
                if self._images_read <= self._stack.limits.images:
                    self._place(found, form)
                return not form.has_frame
        return False

    def _place(self, found: re.Match[str], form: ImageForm) -> None:
        groups = found.groupdict()
        module = _module(groups, form.module)
        if module is None:
            return
        number = self._stack.number(module)
        start = self._start(groups, form)
        if start is None:
            return  # only the id of a module
        end = _number(groups.get("end"))
        if groups.get("last"):
            end = _number(groups["last"]) + 1
        if groups.get("size"):
            end = start + _number(groups["size"])
        base, first = form.base, _number(groups.get("at"))
        if not first and ("at" in groups or start <= self._first.get(number, start)):
            self._first[number] = start
            self._known_starts.add(start)
        elif number in self._first:
            # A loader maps all segments of a file at one distance.
            first = start - self._first[number]
        else:
            base = "file"
        self._loaded.add(Region(start, end, number, 0, first, base))

    def _start(self, groups: dict[str, str | None], form: ImageForm) -> int | None:
        if form.start is not None:
            return form.start
        if groups.get("start"):
            return _number(groups["start"])
        if not groups.get("address") or not groups.get("offset"):
            return None
        start = _number(groups["address"]) - _number(groups["offset"])
        if start < 0 or start % _PAGE or start in self._known_starts:
            return None  # the offset is a link-time address, or the start is known
        return start

    def _add_frames(self, plain: _Plain, following: str) -> bool:
        line = plain.text
        for form in _possible(self._frames, line):
            if form.whole is not None and not form.whole.match(line):
                continue
            if form.repeats:
                several = list(form.pattern.finditer(line))
            else:
                found = form.pattern.search(line)
                several = [found] if found else []
            several = [
                each for each in several if form.accepts is None or form.accepts(each)
            ]
            frames = [
                (frame, each)
                for each in several
                if (frame := self._frame(each, form)) is not None
            ]
            if len(frames) == 1 and self._is_weak(frames[0][0], form):
                (frame, at), *_ = frames
                frames = [(self._with_others(frame, plain, following), at)]
            if frames:
                self._add_found(plain, form, frames)
                return True
        return False

    def _is_weak(self, frame: StackFrame, form: FrameForm) -> bool:
        """Whether the line may be of another tool, with the same shape."""
        if frame.module == NO_MODULE:
            return True
        module = self._stack.module(frame.module)
        is_usual = module.path == form.module
        is_word = not (module.has_id or set(module.path) & set("/\\."))
        return frame.base != "offset" and (
            is_usual or (is_word and frame.base != "link")
        )

    def _with_others(
        self, frame: StackFrame, plain: _Plain, following: str
    ) -> StackFrame:
        """A frame with what its line may mean otherwise."""
        found = self._candidates(plain, following)
        options = [
            option._replace(is_guess=True)
            for each in found
            for option in (each.frame, *each.frame.others)
        ]
        if not options:
            return frame
        return frame._replace(
            others=tuple(options), line=self._number, may_return=True, may_be_exact=True
        )

    def _candidates(self, plain: _Plain, following: str) -> list[evidence.Candidate]:
        """The candidates for frames in a line."""
        line = evidence.Line(plain.text)
        before, self._before = self._before, [line, *self._before[:3]]
        if line.is_plain(self._around) or not line.parts:
            return []
        self._place_all(line)
        after = evidence.Line(_text_of(following)) if following else None
        return [*evidence.candidates(line, self._around, before, after)]

    def _add_found(
        self,
        plain: _Plain,
        form: FrameForm,
        frames: Sequence[tuple[StackFrame, re.Match[str]]],
    ) -> None:
        at = 0
        if form.is_stack:
            self._position = 0
        for frame, found in frames:
            start, end = plain.span(*_shown(found))
            self._stack.add_text(plain.line[at:start])
            number = found.groupdict().get("number")
            self._stack.add_frame(
                frame._replace(text=plain.line[start:end]),
                form.form,
                int(number) if number else self._position,
            )
            self._position += 1
            at = end
        self._stack.add_text(plain.line[at:])

    def _frame(self, found: re.Match[str], form: FrameForm) -> StackFrame | None:
        """The frame that a line has; None if its module cannot be told."""
        groups = found.groupdict()
        self._add_reason(groups.get("reason"))
        number = groups.get("number")
        position = int(number) if number else self._position
        is_return = _is_return(found, form, position)
        frame = StackFrame(
            "",
            NO_MODULE,
            0,
            form.base,
            is_return,
            groups.get("symbol") or "",
            _plus(groups.get("plus")),
            may_be_exact=is_return,
            may_return=form.has_heading and not self._stack.has_heading,
            function_size=_number(groups.get("function_size")) or None,
        )
        module = _module(groups, form.module)
        if module is not None and self._process is not None and not module.has_id:
            module = self._process.named(module.name) or module
        if groups.get("address") and not groups.get("offset"):
            return self._placed(frame, _number(groups["address"]), module)
        is_named = frame.symbol and frame.plus is not None
        module = self._chosen if module is None else module
        if module is not None and (groups.get("offset") or is_named):
            return frame._replace(
                module=self._stack.number(module),
                address=_number(groups.get("offset")),
                base=form.base if groups.get("offset") else "symbol",
            )
        return frame if frame.symbol else None

    def _placed(
        self, frame: StackFrame, address: int, module: StackModule | None
    ) -> StackFrame | None:
        """A frame at an address of the process."""
        placed = self.find(address - frame.is_return)
        if placed is not None and self._may_be_in(placed, module):
            return frame._replace(
                module=placed.module,
                address=placed.address + frame.is_return,
                base=placed.base,
            )
        base: Base = "either"
        if module is not None:
            # It is a link-time address unless the module was moved.
            base = "file" if frame.base == "file" else "link"
        elif self._chosen is not None:
            module = self._chosen
        else:
            # Without a name either, it may be any number.
            return frame._replace(address=address) if frame.symbol else None
        number = self._stack.number(module)
        return frame._replace(module=number, address=address, base=base)

    def _may_be_in(self, placed: Region, module: StackModule | None) -> bool:
        """Whether a frame that names a module may be at this place."""
        if not placed.is_open or module is None or placed.module == NO_MODULE:
            return True
        return self._stack.module(placed.module).name == module.name

    def find(self, address: int) -> Region | None:
        """The part of a region from an address on, as far as is known."""
        region, process = self._loaded.region(address), self._process
        if region is not None or process is None:
            return region
        region = process.region(address)
        if region is None:
            return None
        return region._replace(
            module=self._stack.number(process.modules[region.module])
        )

    def _add_heading(self, line: str) -> bool:
        """Whether the line is a heading."""
        for form in _possible(self._headings, line):
            if found := form.pattern.search(line):
                groups = found.groupdict()
                if groups.get("name") is not None:
                    name = _NAME_IS.sub(": ", groups["name"].strip(" \t\r\n:"))
                    self._stack.begin(name, bool(groups.get("crashed")))
                self._add_reason(groups.get("reason"))
                return True
        return False

    def _add_reason(self, reason: str | None) -> None:
        if reason and not self._stack.reason:
            self._stack.reason = reason.strip()


def _is_return(found: re.Match[str], form: FrameForm, position: int) -> bool:
    if form.returns == "callers":
        return position > 0
    if form.returns == "before others":
        return found.string.startswith(";", found.end())
    return form.returns == "all"


def _shown(found: re.Match[str]) -> tuple[int, int]:
    return found.span("shown" if "shown" in found.re.groupindex else 0)


def _number(digits: str | None) -> int:
    return int(digits.replace("`", ""), 16) if digits else 0


def _plus(digits: str | None) -> int | None:
    if not digits:
        return None
    return int(digits, 16) if digits.startswith(("0x", "0X")) else int(digits)


_KERNEL_NAMES = frozenset({"[kernel.kallsyms]", "[kernel]", "kernel"})


def _module(groups: dict[str, str | None], usual: str = "") -> StackModule | None:
    path = (groups.get("module") or "").strip() or usual
    if path in _KERNEL_NAMES:
        path = "vmlinux"
    if build_id := groups.get("build_id"):
        return module_of_build_id(path, build_id)
    if uuid := groups.get("uuid"):
        return module_of_uuid(path, uuid)
    if debug_id := groups.get("debug_id"):
        return module_of_debug_id(path, debug_id)
    return module_of_path(path) if path else None
