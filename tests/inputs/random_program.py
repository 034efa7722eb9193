"""Random programs that are sound: what a compiler could write, in odd mixtures.

They hold what llvm-gsymutil treats as this package does, so that any program is a
fair comparison: definitions that refer elsewhere stand at the top of their unit,
functions stand in functions or classes but not in inlined calls, pieces of a call
do not touch.
"""

from __future__ import annotations

from itertools import pairwise
from random import Random
from typing import TYPE_CHECKING

from tests.inputs.dies import SIBLING, Die, Ref, code
from tests.inputs.dwarf_constants import At, Form, Lang, Tag
from tests.inputs.elf import code_section
from tests.inputs.line_program import (
    COPY,
    END_SEQUENCE,
    File,
    LineProgram,
    Op,
    advance_line,
    advance_pc,
    set_address,
    set_file,
)
from tests.inputs.program import program, unit
from tests.inputs.range_lists import RangeEntry, ranges

if TYPE_CHECKING:
    from tests.inputs.dwarf import Unit

Extent = tuple[int, int]

_LANGUAGES = [Lang.C_plus_plus, Lang.C_plus_plus_11, Lang.C_plus_plus_14]
_PLAIN_LANGUAGES = [Lang.C89, Lang.C99, Lang.C11]
_SCOPES = [Tag.namespace, Tag.class_type, Tag.structure_type, Tag.union_type]
_MAX_INLINE_DEPTH = 4
_MAX_FUNCTION_DEPTH = 2


def random_program(seed: int, *, is_whole: bool = False) -> bytes:
    """The program of this seed, in a random layout.

    Args:
        seed: Of the random numbers.
        is_whole: All code has rows, and all calls are inside of their callers: of what
            is not, llvm-gsymutil has the row before, or no call.
    """
    return _Generator(Random(seed), is_whole=is_whole).program()  # noqa: S311 - to be repeatable


class _Generator:
    def __init__(self, random: Random, *, is_whole: bool) -> None:
        self.random = random
        self.is_whole = is_whole
        self.names = 0
        self.address = 0x1000
        self.version = 5
        self.abstract_here: list[str] = []
        self.abstract_anywhere: list[str] = []

    def chance(self, probability: float) -> bool:
        return self.random.random() < probability

    def name(self) -> str:
        self.names += 1
        return f"n{self.names}"

    def program(self) -> bytes:
        units = [self.unit() for _ in range(self.random.randint(1, 3))]
        return program(
            *units,
            text=[code_section(0x1000, self.address - 0xF00)],
            byteorder=self.random.choice(["little", "big"]),
            address_size=self.random.choice([4, 8]),
        )

    def unit(self) -> Unit:
        self.version = self.random.choice([3, 4, 5])
        self.abstract_here = []
        start = self.address
        dies = [self.abstract() for _ in range(self.random.randint(1, 3))]
        dies += [self.top_level() for _ in range(self.random.randint(1, 5))]
        self.random.shuffle(dies)
        return unit(
            *dies,
            version=self.version,
            language=self.random.choice([*_LANGUAGES, *_PLAIN_LANGUAGES]),
            lines=self.lines(start, self.address),
            attributes={At.low_pc: 0x1000} if self.chance(0.5) else {},
            dwarf64=self.chance(0.2),
        )

    def lines(self, start: int, end: int) -> LineProgram:
        count = self.random.randint(0, 2)
        directories = tuple(self.random.choices(["lib", "/abs", "../x"], k=count))
        if self.version >= 5:
            directories = ("/src", *directories)
        files = [File(f"f{n}.c", self.random.randint(0, count)) for n in range(4)]
        ops = self.sequences(start, end)
        return LineProgram(ops, directories=directories, files=tuple(files))

    def sequences(self, start: int, end: int) -> list[Op]:
        cuts = {self.random.randrange(start, end) for _ in range(3)}
        bounds = sorted({start, end, *cuts})
        extents = list(pairwise(bounds))
        self.random.shuffle(extents)
        # Functions may run past the last row; a gap before rows is where gsym keeps
        # rows that llvm-gsymutil drops.
        limit = end if self.chance(0.7) else self.random.choice(bounds[1:])
        alive = [each for each in extents if self.is_whole or each[1] <= limit]
        return [op for extent in alive for op in self.sequence(*extent)]

    def sequence(self, start: int, end: int) -> list[Op]:
        ops: list[Op] = [set_address(start)]
        address, line = start, 1
        while address < end and (len(ops) == 1 or self.chance(0.95)):
            next_line = self.random.randint(0, 30)
            if self.chance(0.4):
                ops.append(set_file(self.random.choice([1, 2, 3])))
            step = min(self.random.choice([0, 0, 1, 2, 4, 8, 16, 40]), end - address)
            ops += [advance_line(next_line - line), COPY, advance_pc(step)]
            address, line = address + step, next_line
        return [*ops, advance_pc(end - address), END_SEQUENCE]

    def scoped(self, die: Die, depth: int) -> Die:
        for _ in range(depth):
            named: dict[int, object] = (
                {At.name: self.name()} if self.chance(0.8) else {}
            )
            die = Die(self.random.choice(_SCOPES), named, die)
        return die

    def linkage(self, probability: float) -> dict[int, object]:
        if not self.chance(probability):
            return {}
        at = At.linkage_name if self.version > 3 else At.MIPS_linkage_name
        return {at: f"_Z{self.name()}"}

    def abstract(self) -> Die:
        """A function that can be inlined."""
        label = self.name()
        self.abstract_here.append(label)
        self.abstract_anywhere.append(label)
        attributes = {At.name: label, **self.linkage(0.3), At.inline: 1}
        die = Die(Tag.subprogram, attributes, label=label)
        return self.scoped(die, self.random.randint(0, 2))

    def top_level(self) -> Die:
        depth = self.random.choice([0, 0, 1, 2])
        return self.scoped(self.function(0, may_refer=depth == 0), depth)

    def reference(self) -> object:
        if self.chance(0.9):
            return Ref(self.random.choice(self.abstract_here))
        return Form.ref_addr(Ref(self.random.choice(self.abstract_anywhere)))

    def function(self, depth: int, *, may_refer: bool = False) -> Die:
        extents = [self.allocate() for _ in range(self.random.choice([1, 1, 1, 2]))]
        attributes = self.where(extents)
        if may_refer and self.chance(0.3):
            at = self.random.choice([At.abstract_origin, At.specification])
            attributes[at] = self.reference()
        else:
            attributes[At.name] = self.name()
        attributes |= self.linkage(0.2)
        if self.chance(0.3):
            attributes[At.decl_line] = self.random.randint(0, 50)
        children = self.children(extents, depth, 0)
        if children and self.chance(0.3):
            attributes[At.sibling] = SIBLING
        return Die(Tag.subprogram, attributes, *children)

    def allocate(self) -> Extent:
        start = self.address
        self.address += self.random.choice([4, 16, 64, 100])
        end = self.address
        self.address += self.random.choice([4, 16])
        return start, end

    def where(self, extents: list[Extent]) -> dict[int, object]:
        if len(extents) == 1 and self.chance(0.9):
            return code(*extents[0])
        if self.version < 5:
            return {At.ranges: ranges(RangeEntry.base_address(0), *extents)}
        entries = [
            self.random.choice(
                [
                    RangeEntry.start_end(start, end),
                    RangeEntry.start_length(start, end - start),
                    RangeEntry.startx_length(start, end - start),
                    RangeEntry.startx_endx(start, end),
                ]
            )
            for start, end in extents
        ]
        form = self.random.choice([Form.rnglistx, Form.sec_offset])
        return {At.ranges: form(ranges(*entries))}

    def pieces(self, parents: list[Extent]) -> list[Extent]:
        """One to three pieces of the parents that do not touch."""
        found: list[Extent] = []
        for _ in range(self.random.choice([1, 1, 1, 2, 3])):
            start, end = self.random.choice(parents)
            cuts = sorted(self.random.choices(range(start, end + 1), k=2))
            found.append((cuts[0], cuts[1]))
        found.sort()
        apart = found[:1]
        for piece in found[1:]:
            if piece[0] > apart[-1][1]:
                apart.append(piece)
        if len(apart) == 1 and self.chance(0.05) and not self.is_whole:
            return [(apart[0][0], apart[0][1] + 0x20)]  # runs out of its parent
        return apart

    def children(
        self, extents: list[Extent], depth: int, inline_depth: int
    ) -> list[Die]:
        if inline_depth > _MAX_INLINE_DEPTH:
            return []
        children = [
            self.child(extents, depth, inline_depth)
            for _ in range(self.random.choice([0, 0, 1, 2, 3]))
        ]
        if inline_depth == 0 and depth < _MAX_FUNCTION_DEPTH and self.chance(0.2):
            children.append(self.scoped(self.function(depth + 1), self.chance(0.5)))
        return children

    def child(self, extents: list[Extent], depth: int, inline_depth: int) -> Die:
        if self.chance(0.6):
            return self.call(extents, depth, inline_depth)
        if self.chance(0.5):
            return self.block(extents, depth, inline_depth)
        return self.data()

    def call(self, extents: list[Extent], depth: int, inline_depth: int) -> Die:
        pieces = self.pieces(extents)
        attributes = {
            At.abstract_origin: self.reference(),
            **self.where(pieces),
            At.call_file: 1,
        }
        if self.chance(0.8):
            attributes[At.call_line] = self.random.randint(0, 50)
        inner = [piece for piece in pieces if piece[0] < piece[1]] or extents
        below = self.children(inner, depth, inline_depth + 1)
        return Die(Tag.inlined_subroutine, attributes, *below)

    def block(self, extents: list[Extent], depth: int, inline_depth: int) -> Die:
        attributes = self.where(self.pieces(extents)) if self.chance(0.5) else {}
        below = self.children(extents, depth, inline_depth + 1)
        return Die(Tag.lexical_block, attributes, *below)

    def data(self) -> Die:
        if self.chance(0.5):
            return Die(Tag.formal_parameter, {At.name: self.name()})
        return Die(Tag.variable, {At.name: self.name(), At.const_value: b"\x91\x10"})
