"""Frames by evidence: what the tokens of a line may mean, for the binaries to decide.

A line of a form that nobody has described gives candidates: for each number and offset
the modules that it may be in. `gsym.reports.judgement` chooses among them when the
modules are open. What fits no module stays text.
"""

from __future__ import annotations

import re
from functools import cached_property
from itertools import islice
from operator import itemgetter

from gsym.lazy import regex
from gsym.memory.stack_parts import (
    NO_MODULE,
    StackFrame,
    module_of_build_id,
    module_of_path,
    module_of_uuid,
)
from gsym.records import NamedTuple
from gsym.reports.stacks.tokens import (
    BARE,
    KERNEL_ADDRESS,
    MAY_HAVE_ADDRESS,
    is_written,
    objects,
    tokens,
)

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from gsym.memory.regions import Region, Regions
    from gsym.memory.stack_parts import Base, StackBuilder, StackModule
    from gsym.reports.stacks.tokens import Mention, Number, Offset, Tokens

    Candidate = tuple[int, int, StackFrame]
    """Start and end in a line of what may be a frame, and the frame."""

FORM = "addresses"
KERNEL = "vmlinux"
KERNEL_NAMES = frozenset({"kernel", "kernel.kallsyms", "kernel.vmlinux"})
"""What tools call it, with brackets around or without."""

_PAGE = 4096
_IS_OF_KERNEL = regex(rf"{KERNEL_ADDRESS}(?!\w)|0x{KERNEL_ADDRESS}(?!\w)")
_LEAST_START = 0x10000  # of a module in a process
_MOST_SIZE = 1 << 32  # of a module
_NEAR_LINES = 4  # before an address, which may name its module
_UNPLACED = StackFrame("", 0, 0)[13:]  # the fields after `is_guess`
_MOST_MODULES = 16  # in which a number or a function is searched
IS_INLINED = regex(r"\(inlined?\)")
"""Found in lines of calls that a tool has found in those around them."""
NO_NUMBERS = regex(r"[^0-9a-fA-FxX`\s,\[\]]")
"""Found in lines that have something else than numbers."""
OF_PATHS = frozenset("/\\.")
_NO_SUMS = regex(r"[^0-9a-fA-FxX`\s,+\[\]]")

SAYS_NOTHING = regex(rf"{IS_INLINED.pattern}|SUMMARY: ")
"""Found in lines whose addresses are no frames."""
_ORDINAL = regex(r"(?:^|[\s:])[#(\[]?\s?(\d{1,4})(?:[:>.)#\]]+|\s)\s*$")
# The C library takes the title of a process for its file: `./redis-server *:6379`.
_JOINS = regex(r"(?: \*:\d{1,5})?[\s(\[:!@`?]{0,64}$")
_BESIDE = regex(r"[\s(\[]*(?:(?:in|at|from) )?[\s(\[]*$")
_COUNT = regex(r"[1-9][0-9]{5,10}")  # no address: a size, a time, an identifier
_SAYS_MODULE = regex(r"\b(?:module|image|library|object)\b", re.IGNORECASE)


# Its addresses are return addresses where no code is at hand.
_GLIBC = "glibc backtrace()"
_IS_GLIBC = regex(r"(?:\S|^)(?:\([^()\s]*\))? ?\[0x[0-9a-fA-F]+\]|\(\+0x[0-9a-fA-F]+\)")

FORMS = frozenset({FORM, _GLIBC})
"""What the lines are called whose frames are found by evidence."""


class Surroundings(NamedTuple):
    """Facts from the rest of a report.

    Attributes:
        stack: Numbers its modules.
        loaded: What it says to be loaded where.
        region: Finds the region of an address, also of a process that is known.
        chosen: The module of addresses without one, or None.
        is_log: Whether the text is a log, in which a word with an offset that is alone
            in its line need not be a module.
        numbers: Those of modules, by path and id.
    """

    stack: StackBuilder
    loaded: Regions
    region: Callable[[int], Region | None]
    chosen: StackModule | None
    is_log: bool
    numbers: dict[tuple[str, str], int]


class Line:
    """A line, cut into the tokens of each of its parts.

    Args:
        text: Its text.
        like: Another line, which only differs in the values of its numbers.

    Attributes:
        is_written: Whether it may have a number that is written as an address is.
        is_numbers: Whether it has nothing but numbers, which no module is named beside.
    """

    def __init__(self, text: str, like: Line | None = None) -> None:
        self.text = text
        self._like = like
        self._parts: list[tuple[int, Tokens]] | None = None
        if like is not None:
            self.is_written: bool = like.is_written
            self.is_numbers: bool = like.is_numbers
            return
        self.is_written = is_written(text)
        self.is_numbers = _NO_SUMS.search(text) is None

    @property
    def parts(self) -> list[tuple[int, Tokens]]:
        """The tokens of its parts, with their places; none without an address."""
        if self._parts is None:
            self._parts = [*self._cut()]
        return self._parts

    def _cut(self) -> Iterator[tuple[int, Tokens]]:
        if self._like is not None:
            for at, part in self._like.parts:
                yield at, part.of(self.text[at : at + len(part.text)])
        elif MAY_HAVE_ADDRESS.search(self.text):
            for at, text in objects(self.text):
                yield at, tokens(text)

    @cached_property
    def says_module(self) -> bool:
        """Whether it may name the module of lines after it."""
        if self._like is not None:
            return self._like.says_module
        return _SAYS_MODULE.search(self.text) is not None

    @cached_property
    def form(self) -> tuple[str, bool]:
        """The name of its form; whether it has return addresses."""
        is_glibc = _IS_GLIBC.search(self.text) is not None
        return _GLIBC if is_glibc else FORM, is_glibc

    def is_plain(self, around: Surroundings) -> bool:
        """Whether none of its numbers can be an address, as in most lines of a log."""
        if self.is_written or around.chosen is not None:
            return False
        bare = (int(each, 16) for each in BARE.findall(self.text))
        return not any(map(around.region, bare))

    def images(self) -> Iterator[tuple[StackModule, int, int, int]]:
        """The modules that it places: start, end or 0, and offset in the file."""
        for _, part in self.parts:
            if found := part.range():
                mention, start, end, at = found
                yield _placed_module(mention, part), start, end, at
                continue
            if not part.mentions:
                continue
            for start, place in _starts(part):
                before = [each for each in part.mentions if each.start <= place]
                mention = before[-1] if before else part.mentions[0]
                yield _placed_module(mention, part), start, 0, 0

    @property
    def is_image(self) -> bool:
        """Whether it only says where a module is."""
        found = False
        for _, part in self.parts:
            is_start = all(may_be_start(each.value) for each in part.numbers)
            is_range = part.range() is not None
            if part.offsets or not (is_start or is_range):
                return False
            found |= bool(part.mentions and (part.numbers or is_range))
        return found

    @cached_property
    def only_module(self) -> str:
        """The path that it has, if it has nothing else."""
        if self._like is not None and not self._like.only_module:
            return ""
        text, parts = self.text.rstrip(), self.parts
        if OF_PATHS.isdisjoint(text) or len(parts) > 1:
            return ""
        found = parts[0][1] if parts else tokens(text)
        mentions = found.mentions
        is_only = len(mentions) == 1 and not (found.numbers or found.offsets)
        is_only = is_only and mentions[0].is_sure and mentions[0].end == len(text)
        return mentions[0].path if is_only else ""


def _module(path: str, identifier: str, text: str = "") -> StackModule:
    """A module that a line names, with the id that it has."""
    if path.strip("[]") in KERNEL_NAMES:
        path = KERNEL
    if identifier in path:
        return module_of_path(path)
    if "-" in identifier or f"<{identifier}>" in text:  # as Apple's tools do
        return module_of_uuid(path, identifier)
    return module_of_build_id(path, identifier)


def _placed_module(mention: Mention, part: Tokens) -> StackModule:
    return _module(part.whole_path(mention), part.identifier(), part.text)


def may_be_start(address: int) -> bool:
    """Whether a module may start at an address."""
    return address >= _LEAST_START and address % _PAGE == 0


def _starts(part: Tokens) -> Iterator[tuple[int, int]]:
    """Possible starts of modules that a part names, and the places of numbers."""
    for plus in part.offsets:
        if plus.base is not None and may_be_start(plus.base.value):
            yield plus.base.value, plus.start
    values = [
        (each.value, each.start)
        for each in part.numbers
        if each.is_marked and not _COUNT.fullmatch(part.text, each.start, each.end)
    ]
    bare = [
        value
        for plus in part.offsets
        if not plus.name and plus.base is None
        for value in plus.values
    ]
    large = [each for each in values if each[0] >= _LEAST_START]
    # `app(+0x12000) [0x7f1200012000]` begins a page, and is still no start.
    starts = [
        each
        for each in large
        if may_be_start(each[0])
        and not any(may_be_start(each[0] - offset) for offset in bare if offset)
    ]
    others = [each for each in large if each not in starts]
    is_frame = any(each.name for each in part.offsets) and not others
    if (
        len(starts) == 1
        and not is_frame
        and all(0 < each - starts[0][0] < _MOST_SIZE for each, _ in others)
    ):
        yield starts[0]
    offsets = [*(each for each, _ in values if each < _MOST_SIZE), *bare]
    for address, place in others:
        for offset in offsets:
            start = address - offset
            if start != address and may_be_start(start):
                yield start, place


def candidates(
    parts: Iterable[tuple[int, Tokens]], around: Surroundings, usual: Sequence[int]
) -> Iterator[Candidate]:
    """The candidates for frames in a line, in order.

    Args:
        parts: The parts of the line, with their places.
        around: Facts from the rest of the report.
        usual: The modules that the lines around it name, for parts that name none.
    """
    for at, part in parts:
        if part.numbers or part.offsets:
            for start, end, frame in _Maker(part, around, usual).candidates():
                yield start + at, end + at, frame


def modules_nearby(
    stack: StackBuilder, before: Sequence[Line], after: Line | None
) -> Iterator[int]:
    """The modules that the lines around a line name.

    Args:
        stack: Numbers them.
        before: The lines before it, the last one first.
        after: The line after it.
    """
    if after is not None and (path := after.only_module):
        yield stack.number(module_of_path(path))
        return
    for line in before[:_NEAR_LINES]:
        if line.says_module:
            for _, part in line.parts or [(0, tokens(line.text))]:
                for each in part.mentions:
                    yield stack.number(module_of_path(each.path))


class _Maker:
    def __init__(
        self, part: Tokens, around: Surroundings, usual: Sequence[int]
    ) -> None:
        self._part = part
        self._around = around
        self._is_sure = [each.is_sure for each in part.mentions]
        self._usual: Sequence[int] = () if any(self._is_sure) else usual
        # Modules with offsets of their own
        self._taken = {each.module for each in part.offsets}

    def candidates(self) -> Iterator[Candidate]:
        """The candidates, in the order of their places."""
        found = [self._of_offset(each) for each in self._part.offsets]
        found += [self._of_number(each) for each in self._part.numbers]
        yield from sorted(filter(None, found), key=itemgetter(0))

    def _mentioned(self, at: int) -> int:
        """The index of a module that the line names."""
        key = self._part.mentions[at].path, "" if at else self._part.identifier()
        known = self._around.numbers.get(key)
        if known is None:
            known = self._around.stack.number(_module(*key))
            self._around.numbers[key] = known
        return known

    def _modules(self, place: int) -> list[tuple[int, bool]]:
        """The modules that something may be in, the nearest first; whether surely."""

        def distance(at: int) -> tuple[bool, bool, int]:
            each = self._part.mentions[at]
            return not each.is_sure, each.start > place, abs(each.start - place)

        others = (at for at in range(len(self._is_sure)) if at not in self._taken)
        order = sorted(others, key=distance)[:_MOST_MODULES]
        found = [(self._mentioned(at), self._is_sure[at]) for at in order]
        found += [(each, True) for each in self._usual]
        if self._around.chosen is not None and not any(sure for _, sure in found):
            found.append((self._around.stack.number(self._around.chosen), False))
        return [each for each in found if each[0] != NO_MODULE]

    def _of_offset(self, offset: Offset) -> Candidate | None:
        if offset.base is not None:
            return self._of_base(offset, offset.base)
        options: list[StackFrame] = []
        if offset.name:
            options += self._named(offset)
        if offset.is_word:
            module = self._around.stack.number(module_of_path(offset.name))
            text, is_log = self._part.text, self._around.is_log
            is_alone = not is_log and text.strip() == text[offset.start :].strip()
            best = [
                _frame(module, value, is_guess=not is_alone) for value in offset.values
            ]
            options = [*best, *options] if is_alone else [*options, *best]
        if not offset.name:
            modules_here = self._modules(offset.start)
            if offset.module >= 0:
                modules_here = [(self._mentioned(offset.module), True)]
            options += (
                _frame(module, value, is_guess=not sure)
                for module, sure in modules_here
                for value in offset.values
            )
        return self._made(*self._with_module(offset.start, offset.end), options)

    def _with_module(self, start: int, end: int) -> tuple[int, int]:
        """The place of an offset with the module that is right before it."""
        text, first = self._part.text, start
        for each in self._part.mentions:
            if each.end <= start and _JOINS.match(text[each.end : start]):
                first = each.start
                break
        if "(" in text[first : start + 1]:
            end += text.startswith(")", end)
        return first, end

    def _of_base(self, offset: Offset, base: Number) -> Candidate | None:
        # `[0x55d1c0ffe189+25]` may be 25 bytes after it, or inside its function.
        pairs: list[tuple[int, int | None]] = []
        for value in offset.values:
            pairs += (base.value + value, None), (base.value, value)
        placed = (self._placed(address, "", plus) for address, plus in pairs)
        options = [each for each in placed if each is not None]
        if may_be_start(base.value):
            options += (
                _frame(module, value, "image", is_guess=not sure)
                for module, sure in self._modules(offset.start)
                for value in offset.values
            )
        return self._made(offset.start, offset.end, options)

    def _named(self, offset: Offset) -> Iterator[StackFrame]:
        """Readings of a function with an offset: a function of each module."""
        modules = self._modules(offset.start)
        if not any(is_sure for _, is_sure in modules):
            regions = self._around.loaded.regions
            every = dict.fromkeys(each.module for each in regions)
            numbers = [*islice(every, _MOST_MODULES)]
            if not modules:
                numbers.append(self._around.stack.number(module_of_path(KERNEL)))
            modules = [*modules, *((each, False) for each in numbers)]
        for module, is_sure in modules:
            for value in offset.values:
                frame = _frame(
                    *(module, 0, "symbol", offset.name, value), is_guess=not is_sure
                )
                yield frame._replace(function_size=offset.size)

    def _of_number(self, number: Number) -> Candidate | None:
        symbol, plus = self._part.name_of(number)
        options: list[StackFrame] = []
        placed = self._placed(number.value, symbol, plus)
        if placed is not None:
            module_of = self._around.stack.module
            usual = {module_of(each).name for each in self._usual if each != NO_MODULE}
            if placed.is_guess and module_of(placed.module).name in usual:
                placed = placed._replace(is_guess=False)
            options.append(placed)
        text, is_chosen = self._part.text, self._around.chosen is not None
        are_only = (is_chosen or self._usual) and not NO_NUMBERS.search(text)
        is_beside = self._is_beside(number)
        if not (options or is_chosen) and _IS_OF_KERNEL.match(text, number.start):
            kernel = self._around.stack.number(module_of_path(KERNEL))
            found = _frame(kernel, number.value, "link", symbol, plus)
            options.append(found._replace(is_guess=True))
        if not (number.is_prefixed or is_beside or is_chosen):
            return self._made(number.start, number.end, options)  # any number
        for module, is_sure in self._modules(number.start):
            if number.is_marked or is_sure or is_chosen:
                is_guess = not (are_only or (is_sure and is_beside))
                frame = _frame(
                    *(module, number.value, "either", symbol, plus), is_guess=is_guess
                )
                options.append(frame)
        made = self._made(number.start, number.end, options)
        if made is None:
            return None
        is_counter, is_return = number.is_counter, number.is_link
        return *made[:2], made[2]._replace(is_counter=is_counter, is_return=is_return)

    def _is_beside(self, number: Number) -> bool:
        """Whether a module is right after a number or before it: `0x1189 in ./app`."""
        text = self._part.text
        return any(
            _BESIDE.match(text[number.end : each.start])
            if each.start >= number.end
            else _BESIDE.match(text[each.end : number.start])
            for each in self._part.mentions
        )

    def _placed(self, address: int, symbol: str, plus: int | None) -> StackFrame | None:
        """The frame of an address in the process."""
        region = self._around.region(address)
        if region is None or region.module == NO_MODULE:
            return None
        is_guess = region.is_open or not self._part.mentions
        fields = region.module, region.address, region.base, symbol, plus
        return _frame(*fields, is_guess=is_guess)

    def _made(
        self, start: int, end: int, options: Sequence[StackFrame]
    ) -> Candidate | None:
        if not options:
            return None
        kept = [*options]
        if len(kept) > 1:
            kept = [each for each in dict.fromkeys(kept) if each.module != NO_MODULE]
            kept = kept or [*options][:1]  # more modules than are looked up
        number = self._ordinal(start)
        if number < 0:
            number = self._ordinal(self._with_module(start, end)[0])
        frame = kept[0]
        if number >= 0 or len(kept) > 1:
            frame = frame._replace(others=tuple(kept[1:]), ordinal=number)
        return start, end, frame

    def _ordinal(self, end: int) -> int:
        """The number in its stack that a frame has which begins at a place, or -1."""
        found = _ORDINAL.search(self._part.text, 0, end)
        return int(found[1]) if found else -1


def _frame(  # noqa: PLR0913 - fields
    module: int,
    address: int,
    base: Base = "either",
    symbol: str = "",
    plus: int | None = None,
    *,
    is_guess: bool = False,
) -> StackFrame:
    """A reading, of which there are many: so in the order of the fields."""
    fields = "", module, address, base, False, symbol, plus, "", False, False, None
    return tuple.__new__(StackFrame, (*fields, (), is_guess, *_UNPLACED))
