"""Compare our answers with those of the readers of DWARF: at every address asked.

llvm-symbolizer and GNU addr2line answer from the binary. Where one answers otherwise
than we do, the difference must be of a known class (`differences.py`); what remains is
unexplained. Of addr2line, which joins paths differently, names and lines count.
"""

from __future__ import annotations

import tempfile
from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

import gsym
from tests.differential import layout, peers, sampling
from tests.differential.differences import (
    ADDR2LINE,
    LLVM_SYMBOLIZER,
    NO_LOSS,
    Case,
    loses_line,
    why,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path
    from typing import Self

    from tests.differential.differences import Class
    from tests.differential.peers import Frame

    Frames = tuple[Frame, ...]


class Judgement(NamedTuple):
    """What one reader says of our answers.

    *classes* counts the differences by name. *lines_lost* has, by file and address, the
    classes of those where it has a line and we have none, *unexplained* holds as text
    those of no class.
    """

    equal: int
    classes: Counter[str]
    lines_lost: dict[tuple[Path, int], str]
    unexplained: list[str]


class Judges(NamedTuple):
    """The judgements of both."""

    llvm_symbolizer: Judgement
    addr2line: Judgement

    @property
    def unexplained(self) -> list[str]:
        return [text for each in self for text in each.unexplained]

    @property
    def lines_lost(self) -> Counter[str]:
        """By class, at how many addresses one has a line and we have none."""
        lost = self.addr2line.lines_lost | self.llvm_symbolizer.lines_lost
        return Counter(lost.values())

    @property
    def lost_lines(self) -> dict[str, int]:
        """Those of code of functions."""
        return {
            name: count
            for name, count in self.lines_lost.items()
            if name not in NO_LOSS
        }


def our_answers(ours: Path, addresses: Sequence[int]) -> list[Frames]:
    """What our reader says."""
    with gsym.open(str(ours)) as reader:
        return [_frames(reader.lookup(address)) for address in addresses]


def judge(binary: Path, ours: Path, addresses: Sequence[int]) -> Judges:
    """Compare the answers of *ours*, a file made of *binary*, with those of both."""
    answers = our_answers(ours, addresses)
    llvm = peers.symbolizer_answers(binary, addresses)
    gnu = peers.addr2line_answers(binary, addresses)
    with Context(binary, ours) as context:
        return Judges(
            _judged(context, addresses, (answers, llvm, gnu), LLVM_SYMBOLIZER),
            _judged(
                context,
                addresses,
                [list(map(without_paths, each)) for each in (answers, gnu, llvm)],
                ADDR2LINE,
            ),
        )


def differences_from_llvm(
    binary: Path, ours: Path, addresses: Sequence[int]
) -> list[tuple[str, Case]]:
    """Where llvm-symbolizer answers otherwise, with the class of the difference."""
    answers = our_answers(ours, addresses)
    llvm = peers.symbolizer_answers(binary, addresses)
    gnu = peers.addr2line_answers(binary, addresses)
    with Context(binary, ours) as context:
        return named(context, addresses, (answers, llvm, gnu), LLVM_SYMBOLIZER)


def judge_by_llvm(
    binary: Path, ours: Path, addresses: Sequence[int], answers: Sequence[Frames]
) -> Judgement:
    """The judgement of llvm-symbolizer of *answers* that were got from *ours*.

    For the other reader stands itself with the short names of the DWARF, which it does
    not take from the symbol table.
    """
    names = ("linkage", "short")
    llvm, short = (
        peers.symbolizer_answers(binary, addresses, f"--functions={each}")
        for each in names
    )
    with Context(binary, ours) as context:
        return _judged(context, addresses, (answers, llvm, short), LLVM_SYMBOLIZER)


def without_paths(frames: Frames) -> Frames:
    """What addr2line tells reliably."""
    return tuple(frame._replace(path="") for frame in frames)


def unchanged(frames: Frames) -> Frames:
    """All of what a reader tells."""
    return frames


class Context:
    """What tells why an answer differs, beside the answers themselves.

    *ours* was made of *source*, by default of the *binary* that the readers are asked
    about.
    """

    def __init__(self, binary: Path, ours: Path, source: Path | None = None) -> None:
        self.binary = binary
        self._source = source or binary
        self._table = layout.symbol_table(binary)
        self._has_supplement = layout.has_section(
            binary, ".gnu_debugaltlink", ".debug_sup"
        )
        self._kind = layout.kind_of(binary) or layout.Kind()
        self._rows_have_isa_bits = layout.rows_have_isa_bits(binary)
        self._cover = layout.Cover(
            layout.code(binary), self._table.symbols, sampling.functions(ours)
        )
        self._folder = tempfile.TemporaryDirectory()
        self._merged: gsym.Reader | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._merged is not None:
            self._merged.close()
        self._folder.cleanup()

    def case(self, address: int, ours: Frames, theirs: Frames, other: Frames) -> Case:
        """The case at *address*, without what takes long to find out."""
        return Case(
            *(address, ours, theirs, other),
            symbols=layout.symbols_over(self._table.symbols, address),
            gap=self._cover.gap(address),
            symbol_files=self._table.files,
            data=self._table.data,
            has_supplement=self._has_supplement,
            is_foreign_object=self._kind.is_foreign_object,
            is_unknown_object=self._kind.is_unknown_object,
            rows_have_isa_bits=self._rows_have_isa_bits,
        )

    def detailed(
        self, cases: list[Case], view: Callable[[Frames], Frames]
    ) -> list[Case]:
        """The cases with what takes long to find out."""
        if not cases:
            return []
        starts = [
            max((symbol.start for symbol in case.symbols), default=case.address)
            for case in cases
        ]
        before = peers.symbolizer_answers(self.binary, [start - 1 for start in starts])
        return [
            case._replace(
                copies=tuple(map(view, self.copies(case.address))),
                line_before=frames[0].line if frames else 0,
            )
            for case, frames in zip(cases, before, strict=True)
        ]

    def copies(self, address: int) -> tuple[Frames, ...]:
        """Our answers of the functions with the same range at *address*."""
        if self._merged is None:
            output = f"{self._folder.name}/merged.gsym"
            gsym.convert(str(self._source), output, merged_functions=True)
            self._merged = gsym.open(output)
        found = self._merged.lookup(address, merged=True)
        return tuple(map(_frames, (found, *(found.merged or ())))) if found else ()


def _judged(
    context: Context,
    addresses: Sequence[int],
    answers: Sequence[Sequence[Frames]],
    classes: tuple[Class, ...],
) -> Judgement:
    """The judgement of a reader; *answers* are ours, its own and the other reader's."""
    found = named(context, addresses, answers, classes)
    return Judgement(
        len(addresses) - len(found),
        Counter(name for name, _ in found if name),
        {
            (context.binary, case.address): name
            for name, case in found
            if loses_line(case)
        },
        [describe(case) for name, case in found if not name],
    )


def named(
    context: Context,
    addresses: Sequence[int],
    answers: Sequence[Sequence[Frames]],
    classes: tuple[Class, ...],
) -> list[tuple[str, Case]]:
    """The cases where answers differ, each with its class, "" for none."""
    cases = [
        context.case(address, *frames)
        for address, *frames in zip(addresses, *answers, strict=True)
        if frames[0] != frames[1]
    ]
    names = [why(case, classes) for case in cases]
    unknown = [case for case, name in zip(cases, names, strict=True) if not name]
    view = without_paths if classes is ADDR2LINE else unchanged
    detailed = iter(context.detailed(unknown, view))
    names = [name or why(next(detailed), classes) for name in names]
    return list(zip(names, cases, strict=True))


def describe(case: Case) -> str:
    """A case as text."""
    lines = [f"{case.address:#x}"]
    if case.gap:
        lines.append(f"  in a gap from {case.gap.start:#x} to {case.gap.end:#x}")
    lines += [f"  {symbol}" for symbol in case.symbols]
    for title, frames in (
        ("ours", case.ours),
        ("theirs", case.theirs),
        ("the other reader", case.other),
    ):
        lines += [f"  {title}", *(f"    {frame}" for frame in frames)]
    return "\n".join(lines)


def _frames(found: gsym.Lookup | None) -> Frames:
    if found is None:
        return ()
    return tuple(
        peers.Frame(frame.name, frame.path or "", frame.line or 0)
        for frame in found.frames
    )
