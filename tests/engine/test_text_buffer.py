"""What the engine puts together comes out whole or not at all, failures included."""

from __future__ import annotations

import io
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

import gsym
from gsym.cli import main as gsym_main
from gsym.formatting.formatter import Formatter
from gsym.formatting.styles import text_style
from tests import oracle
from tests.conftest import REPOSITORY
from tests.handmade import A_C, FILES, MAIN, START, file_of, function_of, inlined
from tests.hostile import small_file
from tests.sanitizer import no_sanitizer

if TYPE_CHECKING:
    from pathlib import Path

    from typing_extensions import Buffer

HIGH_BIT = 1 << 63  # the engine marks strings with it that are not to be demangled


def refuse(_text: Buffer) -> None:
    raise BlockingIOError


def test_an_unread_answer_is_discarded() -> None:
    with gsym.Reader(small_file(1, "little")) as reader:
        text = Formatter(reader, text_style(escape=bytes, demangle=True, merged=False))
        with pytest.raises(BlockingIOError):
            text.answer(b"0x1004\n", refuse)
        out = io.BytesIO()
        assert text.answer(b"0x10\n", out.write) == len(b"0x10\n")
    assert out.getvalue().startswith(b"0x10: ??")
    assert out.getvalue().count(b"\n") == 1


# The path of the file does not fit what memory is left.
FULL = """
import io, resource, sys
import gsym
from gsym.formatting.styles import addr2line_style
from gsym.formatting.formatter import Formatter
path = sys.argv[1]
with gsym.open(path) as reader:
    text = Formatter(reader, addr2line_style())
    used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
    limits = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (used + (16 << 20), limits[1]))
    try:
        text.answer(b"1000\\n", print)
    except MemoryError:
        print("full")
    resource.setrlimit(resource.RLIMIT_AS, limits)
    out = io.BytesIO()
    text.answer(b"1000\\n", out.write)
    print(len(out.getvalue()))
"""


@no_sanitizer
@pytest.mark.skipif(sys.platform != "linux", reason="memory is limited as Linux does")
def test_an_answer_may_fit_though_one_before_did_not(tmp_path: Path) -> None:
    path, directory = tmp_path / "long.gsym", "d" * (48 << 20)
    with gsym.Creator() as creator:
        lines = (gsym.LineEntry(0x1000, f"/{directory}/a.c", 3),)
        creator.add(gsym.FunctionInfo(0x1000, 16, "f", lines))
        creator.save(str(path))
    done = subprocess.run(
        [sys.executable, "-c", FULL, str(path)],
        check=True,
        capture_output=True,
        text=True,
        env={"PYTHONPATH": str(REPOSITORY)},
    )
    assert done.stdout.split() == ["full", str(len(f"/{directory}/a.c:3\n"))]


@pytest.mark.parametrize("options", [[], ["--json"], ["-C"], ["-C", "--json"]])
@pytest.mark.parametrize("part", ["name", "base name"])
def test_offsets_with_the_highest_bit_are_of_no_string(
    options: list[str], part: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    strings = b"\0main\0one\0two\0/src\0a.c\0/\xe9\0"
    odd = strings.index(b"/\xe9")
    files = (*FILES, (odd, A_C | HIGH_BIT))
    changes = {"name": MAIN | HIGH_BIT} if part == "name" else {}
    function = function_of(
        (oracle.LineRow(START, 2 if part == "base name" else 1, 5),),
        inlined(1),
        **changes,
    )
    file = file_of(function, version=2, strings=strings, files=files)
    path = tmp_path / "high.gsym"
    path.write_bytes(oracle.encode_file(file))
    with gsym.open(path) as reader:
        (frame,) = reader.lookup(START).frames  # type: ignore[union-attr]
    assert frame.name == ("" if part == "name" else "main")
    arguments = ["lookup", *options, str(path)]
    assert gsym_main.main([*arguments, hex(START)]) == 0
    single = capfd.readouterr().out
    lines = tmp_path / "lines"
    lines.write_text(f"{START:#x}\n", "utf-8")
    with lines.open(encoding="utf-8") as stream, pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "stdin", stream)
        assert gsym_main.main([*arguments, "--stdin"]) == 0
    assert capfd.readouterr().out == single
