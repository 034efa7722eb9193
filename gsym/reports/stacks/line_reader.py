"""The reader of lines: the form of each, what it places, and its frames."""

from __future__ import annotations

import re
from itertools import islice
from operator import itemgetter

from gsym.memory.regions import Region, Regions
from gsym.memory.stack_parts import (
    NO_MODULE,
    StackFrame,
    module_of_build_id,
    module_of_debug_id,
    module_of_path,
    module_of_uuid,
)
from gsym.patterns import regex
from gsym.reports.stacks import evidence
from gsym.reports.stacks.prefixes import (
    COLOURS,
    prefix_size,
    text_of,
    without_colours,
)
from gsym.reports.stacks.tokens import (
    BARE,
    BREAKS,
    IS_WRITTEN_AS_ADDRESS,
    pieces,
)

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable, Sequence

    from gsym.memory.loaded import Loaded
    from gsym.memory.stack_parts import (
        Base,
        StackBuilder,
        StackModule,
    )
    from gsym.reports.stacks.line_forms import (
        FrameForm,
        HeadingForm,
        ImageForm,
        ReportForms,
    )

    _Cut = Callable[[str], tuple[str, ...]]

_PAGE = 4096
_FEW_FRAMES = 2  # of a stack
_PREFIX = "0x"

# A start of a module ends so; a range has two of them.
_MAY_PLACE = regex(r"000(?![0-9a-zA-Z])(?<=[0-9a-fA-F]{6})")
# Each line has this that `IS_WRITTEN_AS_ADDRESS` is found in; the search is shorter.
_NEAR_ADDRESS = regex(r"0[xX]|[+`$]|[0-9a-fA-F]{8}")
_NAME_IS = regex(r" name:\s*")


class _Plain:
    """A line, and its text without colours and the prefix of a log."""

    def __init__(self, line: str, skipped: int) -> None:
        self.line = line
        self._skipped = skipped
        self._removed: list[tuple[int, int]] = []  # places in the text, sizes
        if "\x1b" in line:
            removed = 0
            for found in COLOURS.finditer(line):
                size = found.end() - found.start()
                self._removed.append((found.start() - removed, size))
                removed += size
        self.text = without_colours(line)[skipped:]

    def span(self, start: int, end: int) -> tuple[int, int]:
        """The range in the line of a part of the text, without colours around it."""
        start, end = start + self._skipped, end + self._skipped
        if not self._removed:
            return start, end
        before = sum(size for at, size in self._removed if at <= start)
        inside = sum(size for at, size in self._removed if start < at < end)
        return start + before, end + before + inside


_NUMBER = regex(
    r"(?<=0[xX])[0-9a-fA-F]+|(?<!\w)(\d+|(?=[a-fA-F]*\d)[0-9a-fA-F]{6,})(?!\w)"
)
_DIGITS = b"0123456789abcdefABCDEF"
_WITHOUT_VALUES = bytes.maketrans(_DIGITS, b"0" * len(_DIGITS))
_NOTHING = slice(0, 0)
_LEAST_HEX = 6  # digits of a number without 0x that is not decimal
_MOST_SHAPES = 4_096


class _Keys:
    """Keys of lines, the same for those that only differ in the values of numbers.

    That is as far as patterns tell values apart: numbers have the same lengths, are
    decimal or not, have small letters or not, and begin as a word does or not.
    """

    def __init__(self) -> None:
        self._parts: dict[bytes, tuple[_Cut, _Cut, _Cut]] = {}

    def key(self, line: str) -> Hashable:
        """The key of a line."""
        rough = line.encode("utf-8", "surrogatepass").translate(_WITHOUT_VALUES)
        parts = self._parts.get(rough)
        if parts is None:
            parts = self._parts[rough] = _cut(line)
        texts, numbers, bare = (cut(line) for cut in parts)
        kinds = *map(str.isdecimal, numbers), *map(str.islower, numbers)
        # A short one may be a word: the name of a register, a suffix.
        words = [
            each.isidentifier() and (len(each) >= _LEAST_HEX or each) for each in bare
        ]
        return rough, texts, kinds, *words


def _cut(line: str) -> tuple[_Cut, _Cut, _Cut]:
    """Getters of the texts, the numbers and those without 0x of lines like one."""
    texts, end = [_NOTHING], 0
    numbers, bare = [_NOTHING, _NOTHING], [_NOTHING, _NOTHING]
    for found in _NUMBER.finditer(line):
        place = slice(*found.span())
        texts.append(slice(end, place.start))
        (numbers if found[1] is None else bare).append(place)
        end = place.stop
    numbers += bare[2:]
    return itemgetter(*texts, slice(end, None)), itemgetter(*numbers), itemgetter(*bare)


class _Shape:
    """Properties of all lines that only differ in the values of their numbers.

    Stacks have many of them, so the patterns of all forms are tried for one.

    Attributes:
        first: The text of the first such line.
        skipped: Size of the prefix that a log gives it.
        images: Forms of images that it may have.
        frames: Forms of frames that it has, in order.
        headings: Those of headings.
        is_interesting: Whether it is more than the text that most lines of a log are.
        has_bare: Whether it has a number that may be an address if one is known there.
        is_between: Whether it may be among the frames of a stack.
    """

    images: Sequence[ImageForm] = ()
    frames: Sequence[FrameForm] = ()
    headings: Sequence[HeadingForm] = ()
    is_interesting = has_bare = is_between = False

    def __init__(self, line: str) -> None:
        text = without_colours(line)
        self.skipped = prefix_size(text)
        self.first = evidence.Line(text[self.skipped :])


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
        self._frames = [form for table in every for form in table.frames]
        self._images = [form for table in every for form in table.images]
        self._headings = [form for table in every for form in table.headings]
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
            stack, self._loaded, self.find, chosen, is_log, {}
        )
        self._before: list[evidence.Line] = []  # the last one first
        self._number = 0  # of the line
        self._has_stack = False  # that a form describes
        self._keys = _Keys()
        self._shapes: dict[Hashable, _Shape] = {}
        self._known_modules: dict[tuple[str | None, ...], StackModule | None] = {}

    def place(self, module: StackModule, start: int) -> None:
        """Place a module at an address of the process."""
        number = self._stack.number(module)
        self._first[number] = start
        self._known_starts.add(start)
        self._loaded.add(Region(start, 0, number, base="image"))

    def place_images(
        self, lines: Iterable[str], maps: Sequence[str]
    ) -> tuple[Sequence[str], Sequence[_Shape], set[int]]:
        """Place all modules of a report.

        Args:
            lines: Its lines.
            maps: Others that only say what is loaded.

        Returns:
            The lines, cut where a program wrote several as one, their shapes, and the
                indexes of those that only place a module.
        """
        several = [piece for line in lines for piece in pieces(line)]
        *shapes_of_maps, shapes = self._shapes_of(maps, several)
        for line, shape in zip(maps, *shapes_of_maps, strict=True):
            if not self._add_image(line, shape):
                self._place_all(evidence.Line(line))
        return several, shapes, self._read_images(several, shapes)

    def ranges(self) -> list[tuple[int, int]]:
        """The ranges of addresses where something is known to be loaded."""
        return [(each.start, each.end) for each in self._loaded.regions]

    def read(self, lines: Iterable[str], maps: Sequence[str] = ()) -> None:
        """Read all lines of a report, and of others that only say what is loaded."""
        several, shapes, images = self.place_images(lines, maps)
        region = self._around.region if self._loaded.regions else None
        described = (each for each in shapes if each.is_interesting and each.frames)
        self._has_stack = len([*islice(described, _FEW_FRAMES)]) == _FEW_FRAMES
        for at, (line, shape) in enumerate(zip(several, shapes, strict=True)):
            self._number += 1
            is_text = at in images or not (
                shape.is_interesting
                or (
                    region
                    and shape.has_bare
                    and any(map(region, evidence.bare_numbers(line)))
                )
            )
            if is_text:
                self._position = 0
                self._stack.add_text(line)
            elif line in BREAKS:
                self._stack.add_text(line)
            else:
                later = several[at + 1 : at + 3]
                following = (each for each in later if each not in BREAKS)
                self._add_line(line, shape, next(following, ""))

    def _shapes_of(self, *texts: Sequence[str]) -> list[list[_Shape]]:
        """The shape of each line of texts."""
        if len(self._shapes) > _MOST_SHAPES:
            self._shapes.clear()
            self._keys = _Keys()
        shapes, most = self._shapes, self._stack.limits.line
        new: list[_Shape] = []
        found: list[list[_Shape]] = []
        for lines in texts:
            several: list[_Shape] = []
            for line in lines:
                key = line if len(line) > most else self._keys.key(line)
                shape = shapes.get(key)
                if shape is None:
                    shape = shapes[key] = _Shape(line)
                    new.append(shape)
                several.append(shape)
            found.append(several)
        self._describe(new)
        return found

    def _describe(self, shapes: Sequence[_Shape]) -> None:
        # A log has many lines, and of few forms.
        text = "".join([each.first.text for each in shapes])
        images = [form for form in self._images if form.hint in text]
        frames = [form for form in self._frames if form.hint in text]
        headings = [form for form in self._headings if form.hint in text]
        hints = {form.hint for form in frames} | {form.hint for form in headings}
        may_have_frame = self._interest(hints)
        for shape in shapes:
            line = shape.first.text
            shape.is_interesting = may_have_frame(line)
            shape.has_bare = BARE.search(line) is not None
            # The values of numbers may tell lines with a frame and an image apart.
            shape.images = [
                form
                for form in images
                if form.hint in line and (form.has_frame or form.pattern.search(line))
            ]
            shape.frames = [
                form
                for form in frames
                if form.hint in line
                and (form.whole is None or form.whole.match(line))
                and form.pattern.search(line)
            ]
            shape.headings = [
                form
                for form in headings
                if form.hint in line and form.pattern.search(line)
            ]
            shape.is_between = any(each.match(line) for each in self._between)

    def _read_images(self, lines: Sequence[str], shapes: Sequence[_Shape]) -> set[int]:
        """Place all modules; the indexes of lines that do nothing else."""
        most = self._stack.limits.line
        images = {
            at
            for at, (line, shape) in enumerate(zip(lines, shapes, strict=True))
            if shape.images
            and len(line) <= most
            and self._add_image(without_colours(line)[shape.skipped :], shape)
        }
        self._loaded.close()
        # What a form describes comes first: it has ids and ends.
        for at, line in enumerate(lines):
            if len(line) <= most and at not in images and _MAY_PLACE.search(line):
                shape = shapes[at]
                text = without_colours(line)[shape.skipped :]
                placing = evidence.Line(text, shape.first)
                self._place_all(placing)
                if placing.is_image:
                    images.add(at)
        return images

    def _interest(self, hints: set[str]) -> Callable[[str], bool]:
        """A search that fails in most lines of a log: they are text."""
        known = [*map(re.escape, (*hints - {_PREFIX}, *BREAKS))]
        if self._chosen or self._process:
            known.append(BARE.pattern)
        if self._between:
            known.append(r"^\s|\(|created by| from:")
        search = re.compile("|".join(known)).search

        def may_have_frame(line: str) -> bool:
            is_near = _NEAR_ADDRESS.search(line)
            return bool(
                (is_near and IS_WRITTEN_AS_ADDRESS.search(line)) or search(line)
            )

        return may_have_frame

    def _add_line(self, line: str, shape: _Shape, following: str) -> None:
        stack = self._stack
        if stack.is_over or evidence.IS_INLINED.search(line):
            stack.add_text(line)
        elif len(line) > stack.limits.line:
            stack.add_text(line)
            stack.add_note(
                f"Lines of more than {stack.limits.line} characters are not read."
            )
        else:
            plain = _Plain(line, shape.skipped)
            if self._add_frames(plain, shape, following):
                return
            is_between = self._position and shape.is_between
            is_heading = not is_between and self._add_heading(plain.text, shape)
            if not is_heading and self._add_candidates(plain, shape, following):
                return
            stack.add_text(line)
            if not is_between:
                self._position = 0

    def _add_candidates(self, plain: _Plain, shape: _Shape, following: str) -> bool:
        """Whether the line has something that may be a frame."""
        found = self._candidates(plain, shape, following)
        if not found:
            return False
        # Where a tool has written a stack, other addresses are registers and memory.
        is_other = self._has_stack and not self._process
        if is_other and all(each.frame.ordinal < 0 for each in found):
            return False
        form, is_return = shape.first.form
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

    def _add_image(self, line: str, shape: _Shape) -> bool:
        """Whether the line has an image, and no frame."""
        for form in shape.images:
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

    def _add_frames(self, plain: _Plain, shape: _Shape, following: str) -> bool:
        line = plain.text
        for form in shape.frames:
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
                if (frame := self._frame(each, form, plain)) is not None
            ]
            if len(frames) == 1 and self._is_weak(frames[0][0], form):
                (frame, at), *_ = frames
                frames = [(self._with_others(frame, plain, shape, following), at)]
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
        self, frame: StackFrame, plain: _Plain, shape: _Shape, following: str
    ) -> StackFrame:
        """A frame with what its line may mean otherwise."""
        found = self._candidates(plain, shape, following)
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

    def _candidates(
        self, plain: _Plain, shape: _Shape, following: str
    ) -> list[evidence.Candidate]:
        """The candidates for frames in a line."""
        line = evidence.Line(plain.text, shape.first)
        before, self._before = self._before, [line, *self._before[:3]]
        if line.is_plain(self._around) or not line.parts:
            return []
        self._place_all(line)
        after = evidence.Line(text_of(following)) if following else None
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
            number = found["number"] if "number" in found.re.groupindex else None
            position = int(number) if number else self._position
            self._stack.add_frame(frame, form.form, position)
            self._position += 1
            at = end
        self._stack.add_text(plain.line[at:])

    def _frame(
        self, found: re.Match[str], form: FrameForm, plain: _Plain
    ) -> StackFrame | None:
        """The frame that a line has; None if its module cannot be told."""
        groups = found.groupdict()
        get = groups.get
        self._add_reason(get("reason"))
        number, symbol = get("number"), get("symbol") or ""
        is_return = form.returns != "none" and _is_return(
            found, form, int(number) if number else self._position
        )
        plus = _plus(get("plus"))
        module = self._module(groups, form.module)
        place: tuple[int, int, Base] | None
        if get("address") and not get("offset"):
            address = _number(groups["address"])
            place = self._placed(address, is_return, form.base, module)
            if place is None and symbol:  # without a name either, it may be any number
                place = NO_MODULE, address, form.base
        else:
            module = self._chosen if module is None else module
            place = (NO_MODULE, 0, form.base) if symbol else None
            if module is not None and get("offset"):
                offset = _number(groups["offset"])
                place = self._stack.number(module), offset, form.base
            elif module is not None and symbol and plus is not None:
                place = self._stack.number(module), 0, "symbol"
        if place is None:
            return None
        start, end = plain.span(*_shown(found))
        return StackFrame(
            plain.line[start:end],
            *place,
            is_return,
            symbol,
            plus,
            0,
            "",
            is_return,
            form.has_heading and not self._stack.has_heading,
            _number(get("function_size")) or None,
        )

    def _module(self, groups: dict[str, str | None], usual: str) -> StackModule | None:
        """The module that a line names."""
        key = (usual, *map(groups.get, _MODULE_GROUPS))
        if key not in self._known_modules:
            module = _module(groups, usual)
            if module is not None and self._process is not None and not module.has_id:
                module = self._process.named(module.name) or module
            self._known_modules[key] = module
        return self._known_modules[key]

    def _placed(
        self, address: int, is_return: bool, form_base: Base, module: StackModule | None
    ) -> tuple[int, int, Base] | None:
        """The module, the address in it and its base for an address of the process."""
        placed = self.find(address - is_return)
        if placed is not None and self._may_be_in(placed, module):
            return placed.module, placed.address + is_return, placed.base
        if module is not None:
            # It is a link-time address unless the module was moved.
            base: Base = "file" if form_base == "file" else "link"
            return self._stack.number(module), address, base
        if self._chosen is not None:
            return self._stack.number(self._chosen), address, "either"
        return None

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

    def _add_heading(self, line: str, shape: _Shape) -> bool:
        """Whether the line is a heading."""
        for form in shape.headings:
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


_MODULE_GROUPS = ("module", "build_id", "uuid", "debug_id")
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
