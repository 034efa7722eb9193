"""Mutants of the engine's decoders, which `tools/mutate_engine` makes and judges."""

from __future__ import annotations

import pytest

from tests.conftest import REPOSITORY
from tools.mutate_engine.__main__ import EQUIVALENT, TESTS, Mutant, mutants_of, rows

pytestmark = pytest.mark.no_engine

CHANGED = {
    "    if (a < b) return x;": {
        "if (a <= b) return x;",
        "if (!(a < b)) return x;",
        "if (a < b) return 0;",
        ";",
    },
    "    while (*at == 'a' && --left)": {
        "while (*at != 'a' && --left)",
        "while (*at == 'a' || --left)",
        "while (!(*at == 'a' && --left))",
    },
    "    size += UINT32_C(0x10) - width;": {
        "size -= UINT32_C(0x10) - width;",
        "size += UINT32_C((0x10 + 1)) - width;",
        "size += UINT32_C((0x10 - 1)) - width;",
        "size += UINT32_C(0x10) + width;",
        ";",
    },
    "        : is_wide ? eight : four": {": is_wide ? four : eight"},
    "static bool starts(const uint8_t *at) {": set(),
    "/* if (a < b) return 1; */": set(),
    '#include "a-1.h"': set(),
    '    fail("a < 1",': set(),
}


@pytest.mark.parametrize("line", CHANGED)
def test_a_line_has_these_mutants(line: str) -> None:
    made = [mutant for mutants in mutants_of("a.c", line + "\n") for mutant in mutants]
    assert {mutant.after for mutant in made} == CHANGED[line]


def test_a_mutant_is_of_one_of_the_lines_that_are_alike() -> None:
    mutant = Mutant("a.c", 1, "++at;", ";")
    assert mutant.apply("++at;\nb();\n  ++at;\n++at;\n") == "++at;\nb();\n;\n++at;\n"


def test_tests_and_decoders_exist() -> None:
    for sources, tests in TESTS.items():
        assert any(REPOSITORY.glob(f"csrc/{sources}")), sources
        for pattern in tests.split():
            assert any(REPOSITORY.glob(pattern)), pattern


def test_equivalent_mutants_can_be_made_and_have_reasons() -> None:
    for mutant, reason in rows(EQUIVALENT):
        assert reason
        text = (REPOSITORY / mutant.path).read_text("utf-8")
        made = [each for line in mutants_of(mutant.path, text) for each in line]
        assert mutant in made
