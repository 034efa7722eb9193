"""Microdumps in logs of Android."""

from __future__ import annotations

from struct import pack
from typing import TYPE_CHECKING

import pytest

import gsym
from gsym.errors import FormatError

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.no_engine

STACK, BASE = 0x7FE2BA6000, 0x555F608000
IDENTIFIER = "D6D1FEC9A15DE7F38A236898871A2E770"
PREFIX = "W/google-breakpad( 3728): "
SYMBOLS = f"""\
MODULE Linux arm64 {IDENTIFIER} app
FUNC 1000 100 0 leaf
FUNC 1100 100 0 main
STACK CFI INIT 1000 100 .cfa: sp 32 + .ra: .cfa -24 + ^ x29: .cfa -32 + ^
STACK CFI INIT 1100 100 .cfa: sp 0 + .ra: .undef
"""


def log(
    *,
    prefix: str = PREFIX,
    lost: int = -1,
    system: str = "A arm64 02 aarch64 OS",
    reason: str = "0000000B SIGSEGV 0000000000000010",
) -> str:
    """A log; the frame of the return address is in the stack's last line.

    *lost*: the number of a line that is not there.
    """
    words = [0] * 16
    words[9] = BASE + 0x1108  # at SP + 8 of the frame that SP + 64 begins
    stack = pack("<16Q", *words)
    registers = [0] * 33
    registers[31], registers[32] = STACK + 64, BASE + 0x1010
    context = pack("<Q33Q", 0x80000006, *registers).ljust(796, b"\0")
    lines = [
        "-----BEGIN BREAKPAD MICRODUMP-----",
        f"O {system}",
        f"S 0 {STACK + 64:016X} {STACK:016X} {len(stack):016X}",
        f"S {STACK:016X} {stack[:64].hex().upper()}",
        f"S {STACK + 64:016X} {stack[64:].hex().upper()}",
        f"C {context.hex().upper()}",
        f"M {BASE:016X} 0000000000000000 00000000000C0000 {IDENTIFIER} app",
        f"R {reason}",
        "-----END BREAKPAD MICRODUMP-----",
    ]
    texts = [f"{prefix}{each}" for at, each in enumerate(lines) if at != lost]
    return "\n".join(["I/other: a line: S 1 2", *texts, "I/other: end", ""])


def symbolicated(text: str, tmp_path: Path) -> gsym.Report:
    (tmp_path / "symbols").mkdir(exist_ok=True)
    (tmp_path / "symbols" / "app.sym").write_text(SYMBOLS)
    path = tmp_path / "log.txt"
    path.write_text(text)
    store = str(tmp_path / "store")
    return gsym.symbolicate(path, source=tmp_path / "symbols", store=store)


@pytest.mark.parametrize(
    "prefix", [PREFIX, "11-29 20:15:01.123  3728  3728 W google-breakpad: "]
)
def test_a_log_has_the_stack_of_its_microdump(tmp_path: Path, prefix: str) -> None:
    report = symbolicated(log(prefix=prefix), tmp_path)
    told = [(each.calls[0].name, each.trust) for each in report.frames()]
    assert told == [("leaf", "context"), ("main", "call frame info")]
    assert report.reason == "SIGSEGV at 0x10"
    (thread,) = report.threads
    assert thread.is_crashed
    assert thread.end == ""
    assert thread.registers["pc"] == BASE + 0x1010


def test_a_stack_without_a_line_ends_before_it(tmp_path: Path) -> None:
    report = symbolicated(log(lost=4), tmp_path)
    assert [each.calls[0].name for each in report.frames()] == ["leaf"]
    assert "is not known" in report.threads[0].end


def test_lines_of_other_programs_are_none_of_it(tmp_path: Path) -> None:
    text = log().replace(f"{PREFIX}C ", f"I/other: C 00\n{PREFIX}C ")
    assert len([*symbolicated(text, tmp_path).frames()]) == 2


@pytest.mark.parametrize("system", ["A mips", "Q arm64"])
def test_other_systems_are_named(tmp_path: Path, system: str) -> None:
    text = log(system=f"{system} 02 aarch64 OS")
    place = text.index("google-breakpad", text.index("BEGIN"))
    with pytest.raises(FormatError, match="of an unknown system") as refused:
        symbolicated(text, tmp_path)
    assert refused.value.offset == place
    assert any(each in refused.value.reason for each in system.split())


def test_a_text_that_names_a_microdump_is_none(tmp_path: Path) -> None:
    frame = "#0 0x1000 in leaf (app+0x1010)\n"
    text = f"-----BEGIN BREAKPAD MICRODUMP-----\n{PREFIX}V Chrome\n{frame}"
    assert str(symbolicated(text, tmp_path)).startswith(text[: text.index("#0")])


def test_what_is_not_read_of_a_text_is_said(tmp_path: Path) -> None:
    (note, *_) = symbolicated(log() + log(), tmp_path).notes
    assert note == (
        "This is the first of 2 microdumps in a text; the text around it was not read."
    )
    with pytest.raises(FormatError, match="without registers"):
        symbolicated(log(lost=5), tmp_path)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("M 000000555F608000", "M 00000055XY608000"),
        (f"{IDENTIFIER} app", IDENTIFIER),
        (IDENTIFIER, "D6D1"),
        ("R 0000000B", "R X"),
        ("S 0000007FE2BA6000 ", "S 0000007FE2BA6000 0"),
        ("C 06", "C 6"),
    ],
)
def test_a_damaged_line_is_an_error(tmp_path: Path, old: str, new: str) -> None:
    text = log()
    assert old in text
    with pytest.raises(FormatError, match=r"log\.txt: .*microdump is damaged"):
        symbolicated(text.replace(old, new), tmp_path)
