"""The same inputs through llvm-gsymutil: equal, or different for a reason given."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests import (
    test_dwarf_call_sites,
    test_dwarf_forms,
    test_dwarf_inlines,
    test_dwarf_lines,
    test_dwarf_names,
    test_dwarf_ranges,
    test_dwarf_units,
    test_elf,
)
from tests.conversions import Case, convert_with_llvm, describe

if TYPE_CHECKING:
    from pathlib import Path

CASES = [
    case
    for module in (
        test_dwarf_call_sites,
        test_dwarf_forms,
        test_dwarf_inlines,
        test_dwarf_lines,
        test_dwarf_names,
        test_dwarf_ranges,
        test_dwarf_units,
        test_elf,
    )
    for case in module.CASES
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_llvm_gsymutil_gives_what_is_expected_or_differs_for_a_reason(
    case: Case, llvm_gsymutil: str, tmp_path: Path
) -> None:
    flags = ["--dwarf-callsites"] if case.options.get("call_sites") else []
    functions = convert_with_llvm(llvm_gsymutil, tmp_path, case.image, *flags)
    if case.differs:
        assert describe(functions) != case.expected, case.differs
    else:
        assert describe(functions) == case.expected
