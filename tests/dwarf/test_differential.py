"""The same inputs through llvm-gsymutil: equal, or different for a reason given."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.containers import test_elf_symbols, test_macho_symbols
from tests.conversions import Options, convert_bytes, convert_with_llvm, describe
from tests.dwarf import (
    test_call_sites,
    test_forms,
    test_inlines,
    test_inner_functions,
    test_lines,
    test_names,
    test_paths,
    test_ranges,
    test_units,
)
from tests.inputs.random_program import random_program

if TYPE_CHECKING:
    from pathlib import Path
    from types import ModuleType

pytestmark = pytest.mark.slow

MODULES = (
    test_call_sites,
    test_forms,
    test_inlines,
    test_inner_functions,
    test_lines,
    test_names,
    test_paths,
    test_ranges,
    test_units,
    test_elf_symbols,
    test_macho_symbols,
)


@pytest.mark.parametrize("module", MODULES, ids=lambda module: module.__name__)
def test_llvm_gsymutil_gives_what_is_expected_or_differs_for_a_reason(
    module: ModuleType, llvm_gsymutil: str, tmp_path: Path
) -> None:
    for case in module.CASES:
        flags = ["--dwarf-callsites"] if case.options.get("call_sites") else []
        functions = convert_with_llvm(llvm_gsymutil, tmp_path, case.image, *flags)
        is_expected = describe(functions) == case.expected
        assert is_expected != bool(case.differs), (case.name, case.differs)


SEEDS = range(12)


@pytest.mark.parametrize("seed", SEEDS)
def test_llvm_gsymutil_gives_the_same_for_random_programs(
    seed: int, llvm_gsymutil: str, tmp_path: Path
) -> None:
    image = random_program(seed, is_whole=True)
    theirs = convert_with_llvm(llvm_gsymutil, tmp_path, image, "--num-threads=1")
    assert describe(convert_bytes(tmp_path, image).functions) == describe(theirs)


@pytest.mark.parametrize("seed", SEEDS)
def test_random_programs_come_out_the_same_however_they_are_walked(
    seed: int, tmp_path: Path
) -> None:
    image = random_program(seed)
    outputs = set()
    choices: tuple[Options, ...] = ({}, {"full_walk": True}, {"threads": 3})
    for chosen in choices:
        convert_bytes(tmp_path, image, chosen)
        outputs.add((tmp_path / "input.gsym").read_bytes())
    assert len(outputs) == 1
