"""Compare our file of a binary with the peers, address by address.

llvm-gsymutil's file of the same binary answers the same random addresses through
llvm-gsymutil, and ours through our gsymutil, which has LLVM's lookup rules; answers
that differ must be of a known class of difference (`gsymutil_differences.py`). Both
tools of LLVM that read GSYM read ours too. The readers of DWARF judge every address
(`judges.py`).
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

import gsym
from tests.differential import layout, peers, sampling
from tests.differential.gsymutil_differences import CLASSES, Case, with_our_name
from tests.differential.judges import Context, Judgement, Judges, judge

if TYPE_CHECKING:
    from pathlib import Path

    from tests.differential.sampling import Function


class Comparison(NamedTuple):
    """What came of comparing two files.

    *gsymutil* is the judgement of llvm-gsymutil from its file, *judges* are those of
    the readers of DWARF; *misread* counts by tool the addresses where it reads our file
    otherwise than our gsymutil does.
    """

    addresses: int
    judges: Judges
    gsymutil: Judgement
    misread: dict[str, int]

    @property
    def judgements(self) -> tuple[Judgement, ...]:
        return (*self.judges, self.gsymutil)

    @property
    def unexplained(self) -> list[str]:
        return [*self.judges.unexplained, *self.gsymutil.unexplained]


def compare(binary: Path, folder: Path, count: int, seed: int = 1) -> Comparison:
    """Convert *binary* with both into *folder* and compare *count* addresses."""
    theirs, ours = folder / "llvm.gsym", folder / f"{binary.name}.gsym"
    peers.llvm_convert(binary, theirs)
    gsym.convert(str(binary), str(ours))
    return compare_files(binary, theirs, ours, count, seed)


def compare_files(
    binary: Path, theirs: Path, ours: Path, count: int, seed: int
) -> Comparison:
    """Compare two files made from *binary* at *count* addresses of its code."""
    their_functions = sampling.functions(theirs)
    our_functions = sampling.functions(ours)
    addresses = sampling.distinct_addresses_in(layout.code(binary), count, seed)
    their_answers = peers.gsymutil_answers([peers.LLVM_GSYMUTIL], theirs, addresses)
    our_answers = peers.gsymutil_answers(peers.OUR_GSYMUTIL, ours, addresses)
    readable = peers.decompressed(binary, ours.parent)
    symbols = layout.symbol_table(binary).symbols
    kind = layout.kind_of(binary)
    is_base_wrong = our_functions[0].start < sampling.base_address(theirs)
    with gsym.open(ours) as reader:
        cases = [
            Case(
                address,
                peers.parse_frames(their),
                peers.parse_frames(our),
                sampling.function_at(their_functions, address),
                sampling.function_at(our_functions, address),
                (
                    *layout.symbols_near(symbols, address),
                    *layout.symbols_over(symbols, address),
                ),
                readable != binary,
                is_relocatable=kind is not None and kind.is_relocatable,
                is_before_rows=" @ " not in our and _is_before_rows(reader, address),
                is_base_wrong=is_base_wrong,
            )
            for address, their, our in zip(
                addresses, their_answers, our_answers, strict=True
            )
            if their != our
        ]
    with Context(binary, ours) as context:
        names = [
            _class(case) or _class(case._replace(copies=context.copies(case.address)))
            for case in cases
        ]
    return Comparison(
        len(addresses),
        judge(readable, ours, addresses),
        Judgement(
            len(addresses) - len(cases),
            Counter(filter(None, names)),
            {},
            [
                _describe(case)
                for case, name in zip(cases, names, strict=True)
                if not name
            ],
        ),
        _misread(binary, ours, addresses, our_answers),
    )


def _is_before_rows(reader: gsym.Reader, address: int) -> bool:
    """Whether the record at *address* has no row there."""
    function = reader.function_at(address)
    rows = function.line_table if function else None
    return all(address < row.address for row in rows or ())


def _class(case: Case) -> str:
    """The class of a difference; it may come with another name."""
    variants = (case, with_our_name(case))
    return next(
        (each.__name__ for variant in variants for each in CLASSES if each(variant)), ""
    )


def _misread(
    binary: Path, ours: Path, addresses: list[int], answers: list[str]
) -> dict[str, int]:
    """How often LLVM's tools read the file *ours* otherwise than *answers*."""
    by_gsymutil = peers.gsymutil_answers([peers.LLVM_GSYMUTIL], ours, addresses)
    option = f"--gsym-file-directory={ours.parent}"
    by_symbolizer = peers.symbolizer_answers(binary, addresses, option, reads_gsym=True)
    frames = [
        tuple(frame._replace(offset=-1) for frame in peers.parse_frames(answer))
        for answer in answers
    ]
    counts = {
        peers.LLVM_GSYMUTIL: sum(map(str.__ne__, by_gsymutil, answers)),
        peers.LLVM_SYMBOLIZER: sum(map(tuple.__ne__, by_symbolizer, frames)),
    }
    return {tool: count for tool, count in counts.items() if count}


def _describe(case: Case) -> str:
    lines = [f"0x{case.address:x}"]
    for title, frames in (
        (f"theirs {_hex(case.their_function)}", case.theirs),
        (f"ours {_hex(case.our_function)}", case.ours),
    ):
        lines.append(f"  {title}")
        lines += [f"    {frame}" for frame in frames]
    return "\n".join(lines)


def _hex(function: Function | None) -> str:
    return f"0x{function.start:x}-0x{function.end:x}" if function else "nowhere"
