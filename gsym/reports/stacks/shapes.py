"""Shapes of lines: what is known of all lines that only differ in their numbers.

Stacks have many of them, so the patterns of all forms are tried for one line.
"""

from __future__ import annotations

from functools import cached_property
from itertools import islice
from operator import itemgetter

from gsym.engine.native import ffi, lib
from gsym.lazy import re, regex
from gsym.reports.stacks import evidence
from gsym.reports.stacks.frames import BETWEEN, FRAMES
from gsym.reports.stacks.headings import HEADINGS
from gsym.reports.stacks.images import IMAGES
from gsym.reports.stacks.prefixes import (
    COLOURS,
    prefix_size,
    shared_prefixes,
    without_colours,
)
from gsym.reports.stacks.repeated_lines import LineKeys, Numbers, Spans
from gsym.reports.stacks.tokens import BARE, BREAKS, encoded

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from typing import TypeVar

    from gsym.reports.stacks.line_forms import (
        FrameForm,
        HeadingForm,
        ImageForm,
    )

    _Form = TypeVar("_Form", HeadingForm, ImageForm)

# In a table of symbols, as of nm and of the kernel: `ffffffff81000000 T _text`
_DEFINITION = regex(
    r"[0-9a-fA-F]{8,16} \(?[A-Za-z?]\)? [^\s()\[\]+/]+(?:\s+\[\w+\])?\s*$"
)
_DIGIT = regex(r"\d")
_HINTS = {each.hint for each in FRAMES} | {each.hint for each in IMAGES}
_HINTS |= {each.hint for each in HEADINGS}
# Of forms that have `0x`, too: a line that has it is written as an address is.
_COMMON = frozenset({"0x", "/", ";", "[", ": ", "/0x", "(in "})
_LEAST_KEPT = 1 << 24  # bytes of shapes that are kept of any text
_KEPT_PART = 16  # of the bytes that were read, one in so many may be kept beyond them
_NAME = 0xFF  # each byte of a name that differs, in a mask
_SHAPE_SIZE = 1_024  # bytes that a shape takes beside its line
_USUAL_LINE = 512  # bytes
_TOKENS_OF_BYTE = 64  # bytes of tokens for each byte of a line beyond that


class Cut:
    """Places of the parts of a frame that a form finds in all lines of a shape.

    Attributes:
        form: The form.
        start: Where in the line begins what the answer replaces.
        end: Where that ends.
        places: Where each group is in the line without colours, as of `line_forms`.
        name: Where the function is; None without one.
        named: Those of the groups that tell the module.
        module_of: Their texts in such a line.
        modules: The numbers of those that are known, by these texts.
        is_return: Whether its address is a return address; None: unless it is the
            first of a stack.
        is_by_position: Whether that is told by its place among frames, not by a number.
        digits: Those of the groups that are numbers, with their bases.
        ordinal_column: The index of the number of the frame among these, or -1.
        is_alone: Whether more decides than these, and other groups.
    """

    def __init__(
        self, form: FrameForm, found: re.Match[str], span: tuple[int, int], skipped: int
    ) -> None:
        self.form = form
        self.start: int = span[0]
        self.end: int = span[1]
        groups = {
            name: own for name, own in found.groupdict().items() if own is not None
        }
        places = {
            name: slice(found.start(name) + skipped, found.end(name) + skipped)
            for name in groups
        }
        self.places: dict[str, slice] = places
        self.named: dict[str, slice] = {
            each: places[each] for each in _MODULE_GROUPS if each in places
        }
        self.module_of: Callable[[str], object] = itemgetter(
            *(self.named.values() or (_NOTHING,))
        )
        bases = {"number": form.radix}
        bases["offset" if "offset" in groups else "address"] = 16
        bases["function_size"] = 16
        if "plus" in groups:
            bases["plus"] = 16 if groups["plus"][1:2] in {"x", "X"} else 10
        self.digits: dict[str, int] = {
            each: base for each, base in bases.items() if each in groups
        }
        self.ordinal_column: int = 0 if "number" in self.digits else -1
        # A number of other digits than those of ASCII is none for the engine.
        is_alone = not all(groups[each].isascii() for each in self.digits)
        is_alone |= len(groups.get("plus", "")) > _MOST_DIGITS
        is_alone |= form.whole is not None or form.has_heading or "reason" in groups
        symbol = places.get("symbol", _NOTHING)
        name = symbol.start, symbol.stop
        self.name: tuple[int, int] | None = name if groups.get("symbol") else None
        self.is_alone: bool = is_alone
        self.modules: dict[object, int | None] = {}
        returns = form.returns
        self.is_return: bool | None = returns == "all"
        self.is_by_position: bool = returns == "callers" and "number" not in places
        if returns == "callers":
            self.is_return = None
        elif returns == "before others":
            self.is_return = found.string.startswith(";", found.end())

    def text(self, group: str, line: str) -> str:
        """The text of a group in a line without colours, or ""."""
        return line[self.places.get(group, _NOTHING)]


_MODULE_GROUPS = ("module", "build_id")
_WORDS = (*_MODULE_GROUPS, "symbol")
_NOTHING = slice(0, 0)
_MOST_DIGITS = 18  # decimal ones, of any 64 bits


class Shape:
    """Properties of all lines that only differ in the values of their numbers.

    Attributes:
        first: The text of the first such line.
        size: The characters of a line.
        has_colours: Whether some of them are colours.
        images: Forms of images that it has.
        frames: Forms of frames that it has, in order, with all that each finds.
        headings: Forms of headings that it has.
        is_definition: Whether it is of a table of symbols.
        is_interesting: Whether it is more than the text that most lines of a log are.
        is_alike: Whether it may only be frames, which its numbers and words decide.
    """

    images: Sequence[ImageForm] = ()
    frames: Sequence[tuple[FrameForm, Sequence[Cut]]] = ()
    headings: Sequence[HeadingForm] = ()
    is_definition = is_interesting = is_alike = False

    def __init__(self, line: str, shared: int, ends: Sequence[int]) -> None:
        self._removed: list[tuple[int, int]] = []  # places in the text, sizes
        text = without_colours(line)
        if text != line:
            removed = 0
            for found in COLOURS.finditer(line):
                size = found.end() - found.start()
                self._removed.append((found.start() - removed, size))
                removed += size
        self._plain = text
        self._skipped = self._prefix_bytes = 0
        self._skip(text, prefix_size(text) + shared)
        self._ends = ends
        self.size: int = len(line)
        self.has_colours: bool = bool(self._removed)

    def _skip(self, text: str, size: int) -> None:
        """Take the first characters of the text for a part of the prefix."""
        self._skipped += size
        self._prefix_bytes += len(encoded(text[:size]))
        self.first: evidence.Line = evidence.Line(text[size:])

    def plain(self, line: str) -> str:
        """A line of this shape without colours."""
        return without_colours(line) if self.has_colours else line

    def text(self, line: str) -> str:
        """The text of a line of this shape: without colours and the prefix of a log."""
        return self.plain(line)[self._skipped :]

    def line(self, line: str) -> evidence.Line:
        """The tokens of a line of this shape."""
        text = self.text(line)
        if text == self.first.text:
            return self.first
        return evidence.Line(text, self.first)

    def bytes_of(self, start: int, end: int) -> tuple[int, int]:
        """The range of bytes in a line without colours of a part of its text."""
        text, before = self.first.text, self._prefix_bytes
        if text.isascii():
            return start + before, end + before
        first, last = len(encoded(text[:start])), len(encoded(text[:end]))
        return first + before, last + before

    def _bytes(self, place: slice) -> tuple[int, int]:
        """The range of bytes of a part of a cut."""
        return self.bytes_of(place.start - self._skipped, place.stop - self._skipped)

    def span(self, start: int, end: int) -> tuple[int, int]:
        """The range in a line of a part of its text, without colours around it."""
        start, end = start + self._skipped, end + self._skipped
        if not self._removed:
            return start, end
        before = sum(size for at, size in self._removed if at <= start)
        inside = sum(size for at, size in self._removed if start < at < end)
        return start + before, end + before + inside

    @cached_property
    def has_names(self) -> bool:
        """Whether its lines differ in names of functions, too."""
        line = encoded(self._plain)
        masked = bytearray(len(line))
        lib.gsym_text_mask_numbers(line, len(line), ffi.from_buffer(masked))
        return _NAME in masked

    @cached_property
    def spans(self) -> Sequence[Spans]:
        """Places of what each of its forms finds; none if each line is read alone."""
        cuts = [each for _, of_form in self.frames for each in of_form]
        is_alone = any(each.is_alone for each in cuts) or self.first.is_numbers
        if is_alone or len(cuts) != len(self.frames):
            return ()
        return [*map(self._spans, cuts)]

    def _spans(self, cut: Cut) -> Spans:
        places = cut.places
        digits = [
            (*self._bytes(places[name]), base) for name, base in cut.digits.items()
        ]
        known = _WORDS if self.has_colours else _MODULE_GROUPS
        words = [self._bytes(places[each]) for each in known if each in places]
        address = [*cut.digits].index("address") if "address" in cut.digits else -1
        sums = [(address, address, back) for back in (0, 1) if address >= 0]
        return Spans(digits, words, sums)

    @cached_property
    def words(self) -> tuple[str, ...]:
        """Words that may be modules, if all its lines have the same."""
        named = [each for _, part in self.first.parts for each in part.mentions]
        are_same = not any(each.is_sure or _DIGIT.search(each.path) for each in named)
        are_same = are_same and not self.has_names
        return tuple([each.path for each in named]) if are_same else ()

    @cached_property
    def has_bare(self) -> bool:
        """Whether it has a number that may be an address if one is known there."""
        return not self.is_definition and BARE.search(self.first.text) is not None

    @cached_property
    def has_numbers(self) -> bool:
        """Whether it has a number that may be an address, or a range of them."""
        parts = [part for _, part in self.first.parts]
        return any(each.numbers or each.offsets or each.has_range for each in parts)

    @cached_property
    def is_between(self) -> bool:
        """Whether it may be among the frames of a stack."""
        return any(each.match(self.first.text) for each in BETWEEN)

    def may_have_others(self, is_chosen: bool) -> bool:
        """Whether evidence finds in each of its lines the same as in one of them."""
        is_written = is_chosen or self.first.is_written
        return is_written and bool(self.first.parts) and self.numbers.are_alone

    @cached_property
    def is_by_position(self) -> bool:
        """Whether its first frame in a stack may mean something else than others."""
        all_cuts = (each for _, cuts in self.frames for each in cuts)
        return any(each.is_by_position for each in all_cuts)

    def may_be_alike(self) -> bool:
        """The value of `is_alike`, when its numbers are known."""
        is_other = self.frames or self.headings or self.first.is_numbers
        return not is_other and self.numbers.are_alone

    @cached_property
    def numbers(self) -> Numbers:
        """The numbers in its lines."""
        return Numbers(self)

    def fit(
        self,
        images: Iterable[ImageForm],
        frames: Iterable[FrameForm],
        headings: Iterable[HeadingForm],
    ) -> None:
        """Find the forms that it has, after what may be a prefix if none before it."""
        whole = self.first.text
        possible = [form for form in frames if form.hint in whole]
        for end in (0, *self._ends):
            text = whole[end:]
            fit = [
                form for form in possible if (form.whole or form.pattern).search(text)
            ]
            self.images = [*_found(images, text)]
            self.headings = [*_found(headings, text)]
            if fit or self.images or self.headings:
                if end:
                    self._skip(whole, end)
                cuts = ((form, self.cuts(form)) for form in fit)
                self.frames = [(form, found) for form, found in cuts if found]
                return

    def cuts(self, form: FrameForm) -> list[Cut]:
        """Places of what a form finds in its lines."""
        found = form.pattern.finditer(self.first.text)
        matches = islice(found, None if form.whole else 1)
        shown = "shown" if "shown" in form.pattern.groupindex else 0
        return [
            Cut(form, each, self.span(*each.span(shown)), self._skipped)
            for each in matches
        ]


class Shapes:
    """Finds the shapes of lines.

    Args:
        longest: Size of the longest line whose shape is kept.
        takes_bare: Whether each number may be an address.
    """

    def __init__(self, longest: int, *, takes_bare: bool) -> None:
        self._longest = longest
        self._takes_bare = takes_bare
        self._keys = LineKeys()
        self._known: list[Shape] = []  # by the numbers of their keys
        self._size = 0  # bytes of those that are known
        self._read = 0  # bytes of lines

    def of(self, lines: Sequence[str]) -> list[Shape]:
        """The shape of each of some lines."""
        if self._size > _LEAST_KEPT + self._read // _KEPT_PART:
            self._keys, self._known, self._size = LineKeys(), [], 0
        self._read += sum(map(len, lines))
        numbers = self._keys.shapes(lines, self._longest)
        known, new = self._known, list[Shape]()
        if max(numbers, default=0) < len(known):
            return [*map(known.__getitem__, numbers)]
        found: list[Shape] = []
        for at, (line, number) in enumerate(zip(lines, numbers, strict=True)):
            if number < len(known):
                found.append(known[number])
                continue
            new.append(Shape(line, *shared_prefixes(lines, at)))
            found.append(new[-1])
            if number == len(known):
                known.append(new[-1])
                long = max(len(line) - _USUAL_LINE, 0) * _TOKENS_OF_BYTE
                self._size += len(line) + _SHAPE_SIZE + long
        self._describe(new)
        return found

    def _describe(self, shapes: Sequence[Shape]) -> None:
        # A log has many lines, and of few forms.
        text = "".join([each.first.text for each in shapes])
        found = {hint for hint in _HINTS if hint in text}
        images = [form for form in IMAGES if form.hint in found]
        frames = [form for form in FRAMES if form.hint in found]
        headings = [form for form in HEADINGS if form.hint in found]
        hints = {form.hint for form in frames} | {form.hint for form in headings}
        may_have_frame = self._interest(hints)
        for shape in shapes:
            line = shape.first.text
            if not self._takes_bare and _DEFINITION.match(line):
                shape.is_definition = True
                continue
            shape.is_interesting = shape.first.is_written or bool(may_have_frame(line))
            if shape.first.is_numbers and "[" not in line:  # of no form
                continue
            shape.fit(images, frames, headings)

    def _interest(self, hints: set[str]) -> Callable[[str], object]:
        """A search that fails in most lines of a log: they are text."""
        known = [*map(re.escape, (*hints - _COMMON, *BREAKS))]
        if self._takes_bare:
            known.append(BARE.pattern)
        # in lines between frames
        known.append(r"^\s|\(|created by| from:|^[jJAv]  |^\"|[\[:,=]\s*\"$")
        return re.compile("|".join(known)).search


def _found(forms: Iterable[_Form], text: str) -> Iterator[_Form]:
    return (form for form in forms if form.hint in text and form.pattern.search(text))
