"""Filters of `gsymutil` are extended regular expressions of POSIX."""

from __future__ import annotations

import pytest

from gsym.cli.posix_regex import compile_filter


@pytest.mark.parametrize(
    ("pattern", "matching", "other"),
    [
        (b"b", b"abc", b"ac"),
        (b"^b", b"bc", b"ab"),
        (b"b$", b"ab", b"b\n"),
        (b"a.c", b"a\nc", b"ac"),
        (b"a|b", b"b", b"c"),
        (b"a(b|c)?d", b"ad", b"abcd"),
        (b"a{2,3}b", b"aab", b"ab"),
        (b"^a{,", b"a{,", b"a"),
        (rb"\d", b"d", b"1"),
        (rb"\.", b".", b"a"),
        (rb"[\d]", b"\\", b"1"),
        (b"[]a]", b"]", b"b"),
        (b"[^]a]", b"b", b"]a"),
        (b"[a-c-]", b"-", b"d"),
        (b"[[:digit:]_]+", b"_1", b"a"),
        (b"[[.a.]-c]", b"b", b"d"),
        (rb"(ab)\1", b"abab", b"ab"),
        (b"x()y", b"xy", b"x"),
        (b"[[:<:]]b", b"a b", b"ab"),
        (b"b[[:>:]]", b"b a", b"ba"),
        (b"$*", b"", None),
        (b"\xff", b"\xff", b"\xc3\xbf"),
    ],
)
def test_filters_are_extended_regular_expressions_of_posix(
    pattern: bytes, matching: bytes, other: bytes | None
) -> None:
    compiled = compile_filter(pattern)
    assert compiled is not None
    assert compiled.search(matching)
    assert other is None or not compiled.search(other)


@pytest.mark.parametrize(
    "pattern",
    [
        *(b"", b"(", b")", b"a|", b"|a", b"(|a)", b"*a", b"^*", b"a**", b"a*?", b"{1}"),
        *(b"a{2,1}", b"a{256}", b"a{1", b"(?:a)", b"[", b"[a", b"[b-a]", b"[[:no:]]"),
        *(b"\\", rb"\1", rb"(a)\2", b"[a-[:digit:]]"),
    ],
)
def test_what_posix_does_not_allow_is_no_filter(pattern: bytes) -> None:
    assert compile_filter(pattern) is None
