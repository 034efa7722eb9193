"""Our answers for every target and form against llvm-symbolizer on the original."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import gsym
from tests.differential import layout, peers, sampling
from tests.differential.judges import judge, judge_by_llvm, our_answers
from tests.differential.targets import COMBINATIONS, TARGETS, executable
from tests.referee.opening import compare

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
    answers = our_answers(output, addresses)
    judgement = judge_by_llvm(program.judge, output, addresses, answers)
    assert judgement.unexplained[:SHOWN] == []
    assert judgement.lines_lost == {}


def is_compared(target: Target, form: str) -> bool:
    """Whether there is a second opinion; pyelftools lacks RISC-V's relocations."""
    is_riscv = "riscv" in target.title
    return target.container != "pe" and not (is_riscv and "relocatable" in form)


@pytest.mark.parametrize(
    "target",
    [each for each in TARGETS if each.container == "elf"],
    ids=lambda target: target.title,
)
def test_answers_agree_with_addr2line_on_every_machine(
    target: Target, tmp_path: Path
) -> None:
    missing = peers.missing_tools(peers.LLVM_SYMBOLIZER, "addr2line", "readelf")
    if missing:
        pytest.skip(f"not installed: {', '.join(missing)}")
    program = executable(target, tmp_path)
    output = tmp_path / "ours.gsym"
    gsym.convert(str(program.binary), str(output))
    code = layout.code(program.binary)
    addresses = sorted(set(sampling.addresses_in(code, ADDRESSES, seed=1)))
    judges = judge(program.judge, output, addresses)
    assert judges.unexplained[:SHOWN] == []
    assert judges.lost_lines == {}
