"""Compare our file of a binary with llvm-gsymutil's, address by address.

Both files answer the same random addresses, theirs through llvm-gsymutil and ours
through our gsymutil, which has LLVM's lookup rules; llvm-gsymutil reads ours too.
Answers that differ must be of a known class of difference (`differences.py`) and
llvm-symbolizer, on the DWARF itself, must agree with ours. What remains is
unexplained. llvm-symbolizer also reads our file instead of the DWARF.
"""

from __future__ import annotations

import collections
from typing import TYPE_CHECKING, NamedTuple

import gsym
from tests.differential import elf, peers, sampling
from tests.differential.differences import CLASSES, Case, agrees

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from tests.differential.sampling import Function


class Comparison(NamedTuple):
    """What came of comparing two files.

    *classes* counts the differences by name; each of them was shown to
    llvm-symbolizer. *unexplained* holds, as text, the cases of no class and those
    where it did not agree; *misread* counts by tool the addresses where it reads
    our file otherwise than our gsymutil does.
    """

    addresses: int
    equal: int
    classes: collections.Counter[str]
    unexplained: list[str]
    misread: dict[str, int]


def compare(binary: Path, folder: Path, count: int, seed: int = 1) -> Comparison:
    """Convert *binary* with both into *folder* and compare *count* addresses."""
    theirs, ours = folder / "llvm.gsym", folder / f"{binary.name}.gsym"
    peers.llvm_convert(binary, theirs)
    gsym.convert(str(binary), str(ours))
    return compare_files(binary, theirs, ours, count, seed)


def compare_files(
    binary: Path, theirs: Path, ours: Path, count: int, seed: int
) -> Comparison:
    """Compare two files made from *binary* at *count* addresses."""
    their_functions = sampling.functions(theirs)
    our_functions = sampling.functions(ours)
    addresses = sampling.random_addresses(their_functions + our_functions, count, seed)
    their_answers = peers.gsymutil_answers([peers.LLVM_GSYMUTIL], theirs, addresses)
    our_answers = peers.gsymutil_answers(peers.OUR_GSYMUTIL, ours, addresses)
    different = sorted(
        {
            (address, their, our)
            for address, their, our in zip(
                addresses, their_answers, our_answers, strict=True
            )
            if their != our
        }
    )
    readable = peers.decompressed(binary, ours.parent)
    cases = _cases(readable, different, their_functions, our_functions)
    if readable != binary:
        cases = [case._replace(has_zdebug=True) for case in cases]
    verdicts = {case.address: _verdict(case) for case in cases}
    return Comparison(
        len(addresses),
        sum(map(str.__eq__, their_answers, our_answers)),
        collections.Counter(
            verdicts[address] for address in addresses if verdicts.get(address)
        ),
        [_describe(case) for case in cases if not verdicts[case.address]],
        _misread(binary, ours, addresses, our_answers),
    )


def _misread(
    binary: Path, ours: Path, addresses: list[int], answers: list[str]
) -> dict[str, int]:
    """How often LLVM's tools read the file *ours* otherwise than *answers*."""
    by_gsymutil = peers.gsymutil_answers([peers.LLVM_GSYMUTIL], ours, addresses)
    by_symbolizer = peers.symbolizer_answers(
        binary, addresses, f"--gsym-file-directory={ours.parent}"
    )
    frames = [
        tuple(frame._replace(offset=-1) for frame in peers.parse_frames(answer))
        for answer in answers
    ]
    counts = {
        peers.LLVM_GSYMUTIL: sum(map(str.__ne__, by_gsymutil, answers)),
        peers.LLVM_SYMBOLIZER: sum(map(tuple.__ne__, by_symbolizer, frames)),
    }
    return {tool: count for tool, count in counts.items() if count}


def _verdict(case: Case) -> str:
    """The class of a difference; "" where it has none or is not confirmed."""
    if not agrees(case):
        return ""
    return next((each.__name__ for each in CLASSES if each(case)), "")


def _cases(
    binary: Path,
    different: Sequence[tuple[int, str, str]],
    their_functions: list[Function],
    our_functions: list[Function],
) -> list[Case]:
    if not different:
        return []
    addresses = [address for address, _, _ in different]
    linkage = peers.symbolizer_answers(binary, addresses, "--disable-gsym")
    short = peers.symbolizer_answers(
        binary, addresses, "--disable-gsym", "--functions=short"
    )
    symbols = elf.symbols(binary)
    return [
        Case(
            address,
            peers.parse_frames(their),
            peers.parse_frames(our),
            sampling.function_at(their_functions, address),
            sampling.function_at(our_functions, address),
            linkage[index],
            short[index],
            elf.symbols_near(symbols, address),
        )
        for index, (address, their, our) in enumerate(different)
    ]


def _describe(case: Case) -> str:
    lines = [f"0x{case.address:x}"]
    for title, frames in (
        (f"theirs {_hex(case.their_function)}", case.theirs),
        (f"ours {_hex(case.our_function)}", case.ours),
        ("llvm-symbolizer", case.linkage),
    ):
        lines.append(f"  {title}")
        lines += [f"    {frame}" for frame in frames]
    return "\n".join(lines)


def _hex(function: Function | None) -> str:
    return f"0x{function.start:x}-0x{function.end:x}" if function else "nowhere"
