"""Our answers for every target and form against llvm-symbolizer on the original."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import gsym
from gsym.verification.check import compare
from tests.differential import elf, peers, sampling
from tests.differential.differences import Case, Symbol, agrees
from tests.differential.targets import COMBINATIONS

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.differential.targets import Program, Target

ADDRESSES = 10_000
SHOWN = 5


@pytest.mark.parametrize(("target", "form"), COMBINATIONS)
def test_answers_agree_with_llvm_symbolizer(
    target: Target, form: Callable[[Target, Path], Program], tmp_path: Path
) -> None:
    missing = peers.missing_tools(peers.LLVM_SYMBOLIZER, "llvm-nm-22")
    if missing:
        pytest.skip(f"not installed: {', '.join(missing)}")
    program = form(target, tmp_path)
    output = tmp_path / "ours.gsym"
    report = gsym.convert(str(program.binary), str(output))
    assert report.functions_with_lines > 0
    if is_compared(target, form.__name__):
        found = compare(str(output), str(program.binary))
        assert (found.differences, found.unread, found.uncompared) == ([], {}, {})
    functions = sampling.functions(output)
    # A small program has fewer bytes of code than that: then each is asked once.
    addresses = sorted(set(sampling.random_addresses(functions, ADDRESSES, seed=1)))
    unexplained = [
        case for case in cases(program.judge, output, addresses) if not agrees(case)
    ]
    assert unexplained[:SHOWN] == []


def is_compared(target: Target, form: str) -> bool:
    """Whether there is a second opinion; pyelftools lacks RISC-V's relocations."""
    is_riscv = "riscv" in target.title
    return target.container != "pe" and not (is_riscv and "relocatable" in form)


def cases(judge: Path, ours: Path, addresses: list[int]) -> list[Case]:
    """What ours and the judge say of each address."""
    answers = peers.gsymutil_answers(peers.OUR_GSYMUTIL, ours, addresses)
    linkage = peers.symbolizer_answers(judge, addresses, "--disable-gsym")
    short = peers.symbolizer_answers(
        judge, addresses, "--disable-gsym", "--functions=short"
    )
    functions = sampling.functions(ours)
    symbols = named_symbols(judge)
    return [
        Case(
            address,
            (),
            peers.parse_frames(answer),
            None,
            sampling.function_at(functions, address),
            linkage[index],
            short[index],
            elf.symbols_near(symbols, address),
        )
        for index, (address, answer) in enumerate(zip(addresses, answers, strict=True))
    ]


def named_symbols(binary: Path) -> list[Symbol]:
    """The defined symbols of a file of any container format, by address."""
    printed = peers.run("llvm-nm-22", "--defined-only", "--format=posix", str(binary))
    has_underscores = _names_have_underscores(binary)
    symbols = []
    for line in printed.splitlines():
        name, kind, value, *_ = line.rsplit(" ", 3)
        if kind in "tTwW":
            text = name.removeprefix("_") if has_underscores else name
            symbols.append(Symbol(int(value, 16), 0, "FUNC", text))
    return sorted(symbols)


def _names_have_underscores(binary: Path) -> bool:
    """Whether the linker put one in front of each name: Mach-O, and PE for i386."""
    head = binary.read_bytes()[:4096]
    if head[:4] in {b"\xcf\xfa\xed\xfe", b"\xce\xfa\xed\xfe"}:
        return True
    return head[:2] == b"MZ" and b"PE\0\0\x4c\x01" in head
