"""The check of the layout of C files, tools/check_c.py."""

from __future__ import annotations

from pathlib import Path

import pytest

from tools import check_c

pytestmark = pytest.mark.no_engine

HEADER = """\
/* style.h - templates. */
#ifndef GSYM_TEXT_STYLE_H
#define GSYM_TEXT_STYLE_H
#endif
"""


def test_a_header_that_keeps_the_rules_has_no_complaint() -> None:
    assert check_c.complaints(Path("csrc/text/style.h"), HEADER) == []


@pytest.mark.parametrize(
    ("old", "new", "complaint"),
    [
        ("GSYM_TEXT", "GSYM", "csrc/text/style.h:1: the include guard should be"),
        ("/* style.h - ", "/* ", "csrc/text/style.h:1: does not begin with"),
        (" */", "\n * */", "csrc/text/style.h:2: an end of a comment"),
        ("templates", "t" * 80, "csrc/text/style.h:1: longer than 92 columns"),
    ],
)
def test_a_planted_fault_is_named_with_its_line(
    old: str, new: str, complaint: str
) -> None:
    (found,) = check_c.complaints(Path("csrc/text/style.h"), HEADER.replace(old, new))
    assert found.startswith(complaint)


def test_a_public_header_is_guarded_by_its_name_alone() -> None:
    assert check_c.guard_of(Path("csrc/include/gsym/file.h")) == "GSYM_FILE_H"
    assert check_c.guard_of(Path("csrc/include/gsym/gsym.h")) == "GSYM_H"
