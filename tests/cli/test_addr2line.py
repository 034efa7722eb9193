"""`gsym-addr2line`: output, protocol, inputs, errors."""

from __future__ import annotations

import io
import os
import re
import select
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import gsym
from gsym.formatting.formatter import Formatter
from gsym.formatting.styles import addr2line_style
from tests.addr2line_runs import COMMAND, addr2line, environment
from tests.companions import ID, OTHER_ID, place
from tests.inputs.elf import CODE, Elf, Section

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.long

SESSIONS = Path(__file__).parents[1] / "golden" / "addr2line"
PATIENCE = 60  # seconds, of a machine under load

OUTER = gsym.FunctionInfo(
    0x1000,
    0x40,
    "_Z5outeri",
    line_table=(
        gsym.LineEntry(0x1000, "/src/a.c", 10),
        gsym.LineEntry(0x1010, "/src/sub/b.h", 3),
        gsym.LineEntry(0x1020, "/src/a.c", 0),
    ),
    inline=gsym.InlineInfo(
        "_Z5outeri",
        "",
        0,
        (gsym.Range(0x1000, 0x1040),),
        (gsym.InlineInfo("inner", "/src/a.c", 11, (gsym.Range(0x1010, 0x1020),), ()),),
    ),
)
BARE = gsym.FunctionInfo(0x2000, 0x10, "bare")

runtime = pytest.mark.skipif(
    gsym.demangle("_Z1fv") != "f()", reason="no C++ runtime is installed"
)


def save(path: Path, *functions: gsym.FunctionInfo, uuid: bytes = b"") -> str:
    with gsym.Creator(uuid=uuid) as creator:
        for function in functions:
            creator.add(function)
        creator.save(path)
    return str(path)


@pytest.fixture
def file(tmp_path: Path) -> str:
    return save(tmp_path / "a.gsym", OUTER, BARE)


def answer(path: str, options: str, *addresses: str) -> str:
    """What the program prints for *addresses* on its command line."""
    folder = Path(path).parent
    words = [*options.split(), "-e", path, *addresses]
    run = addr2line(*words, cache=folder / "cache")
    assert (run.complaints, run.status) == ("", 0)
    return run.output.decode()


@pytest.mark.parametrize(
    ("options", "address", "text"),
    [
        ("", "1000", "/src/a.c:10\n"),
        ("-s", "1012", "b.h:3\n"),
        ("-fi", "1012", "inner\n/src/sub/b.h:3\n_Z5outeri\n/src/a.c:11\n"),
        ("-ap", "1012", "0x0000000000001012: /src/sub/b.h:3\n"),
        (
            "-pfisa",
            "1012",
            ("0x0000000000001012: inner at b.h:3\n (inlined by) _Z5outeri at a.c:11\n"),
        ),
        ("-f", "1024", "_Z5outeri\n/src/a.c:?\n"),
        ("-fs", "2004", "bare\n??:?\n"),
        ("", "4000", "??:0\n"),
        ("-fpai", "4000", "0x0000000000004000: ?? ??:0\n"),
        ("-f", "bare+4", "bare\n??:?\n"),
        ("-a", "bare+0x14", "0x0000000000002014\n??:0\n"),
        ("-a", "bare+x", "0x0000000000002000\n??:?\n"),
        ("-a", "bare+-8", "0x0000000000001ff8\n??:0\n"),
        ("-a", "bare+010", "0x0000000000002008\n??:?\n"),
        ("-a", "+x", "0x0000000000000000\n??:0\n"),
        ("-a", "123456789012345678", "0xffffffffffffffff\n??:0\n"),
    ],
)
def test_answers_look_like_those_of_addr2line(
    file: str, options: str, address: str, text: str
) -> None:
    assert answer(file, options, address) == text


def test_a_table_of_names_that_is_full_starts_anew(
    file: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gsym.engine.name_texts._MAX_SIZE", 0)
    with gsym.open(file) as reader:
        text = Formatter(
            reader, addr2line_style(functions=True, demangle=True, pretty=True)
        )
        lines = b"1000\n2000\n"
        for _ in range(3):
            answers = io.BytesIO()
            assert text.answer(lines, answers.write, line_size=99) == len(lines)
            assert answers.getvalue().endswith(b" at /src/a.c:10\nbare at ??:?\n")


def test_a_line_without_an_end_waits(file: str) -> None:
    with gsym.open(file) as reader:
        text = Formatter(reader, addr2line_style())
        for lines, used, wanted in (
            (b"1000\n20", 5, b"/src/a.c:10\n"),
            (b"0" * 98, 0, b""),
            (b"0" * 95 + b"1000", 99, b"/src/a.c:10\n"),
            (b"", 0, b""),
        ):
            answers = io.BytesIO()
            assert text.answer(lines, answers.write, line_size=99) == used
            assert answers.getvalue() == wanted


def test_damaged_record_gives_no_answer(tmp_path: Path) -> None:
    path = Path(save(tmp_path / "a.gsym", OUTER, BARE))
    with gsym.open(path) as reader:
        size = reader.size
    data = bytearray(path.read_bytes())
    record = data.index(b"\x40\0\0\0", size // 3)
    data[record + 8 : record + 12] = b"\1\0\0\0"
    data[record + 12 : record + 16] = b"\xff\xff\xff\x7f"
    path.write_bytes(data)
    # A comma, as perf sends it, makes no one read the names of all functions.
    assert answer(str(path), "", ",") == "??:0\n"
    assert answer(str(path), "-f", "1000", "2000") == "??\n??:0\nbare\n??:?\n"


# ---- a process at the other end


def exchanges(path: Path) -> Iterator[tuple[bytes, bytes]]:
    """What is sent and what comes back, of a session that GNU addr2line answered.

    GSYM files have no discriminators. The linker folded `twin_b`, of line 19, into
    `twin_a`, of line 18: addr2line says `twin_a` at the line of the other.
    """
    parts = re.split(r"^(?=> )", path.read_text(), flags=re.MULTILINE)
    sent, waiting = b"", ""
    for part in parts[1:]:
        lines = part.splitlines()
        sent += b"".join(f"{line[2:]}\n".encode() for line in lines if line[0] == ">")
        waiting = "".join(f"{line[2:]}\n" for line in lines if line[0] == "<")
        if waiting:
            expected = re.sub(r" \(discriminator \d+\)", "", waiting)
            yield sent, expected.replace("shapes.cc:19", "shapes.cc:18").encode()
            sent = b""


def read_exactly(pipe: int, size: int) -> bytes:
    data = b""
    while len(data) < size and select.select([pipe], [], [], PATIENCE)[0]:
        block = os.read(pipe, size - len(data))
        if not block:
            break
        data += block
    return data


@runtime
@pytest.mark.parametrize("name", sorted(path.stem for path in SESSIONS.iterdir()))
def test_recorded_sessions_are_answered(
    name: str, gsym_fixtures: Path, tmp_path: Path
) -> None:
    path = SESSIONS / f"{name}.session"
    (options,) = re.findall(r"^\$ (.*)$", path.read_text(), re.MULTILINE)
    process = subprocess.Popen(
        [*COMMAND, *options.split(), "-e", str(gsym_fixtures / "shapes")],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=environment(tmp_path),
    )
    assert process.stdin is not None
    assert process.stdout is not None
    with process:
        for sent, awaited in exchanges(path):
            process.stdin.write(sent)
            process.stdin.flush()
            assert read_exactly(process.stdout.fileno(), len(awaited)) == awaited, sent
        process.stdin.close()
        assert process.stdout.read() == b""
    assert process.returncode == 0


def test_closed_pipe_is_not_reported(file: str, tmp_path: Path) -> None:
    with subprocess.Popen(
        [*COMMAND, "-e", file],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment(tmp_path),
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        process.stdin.write(b"1000\n")
        process.stdin.close()
        assert process.stderr.read() == b""
    assert process.returncode == 0


# ---- what it looks in


def binary(path: Path, build_id: bytes = ID) -> str:
    text = Section(".text", bytes(0x40), flags=CODE, address=0x1000)
    data = Section(".data", bytes(0x40), address=0x8000)
    return place(path, Elf([text, data], build_id=build_id).to_bytes())


def test_the_file_beside_a_binary_answers(tmp_path: Path) -> None:
    path = binary(tmp_path / "app")
    save(tmp_path / "app.gsym", OUTER, uuid=ID)
    assert answer(path, "", "1000") == "/src/a.c:10\n"


def test_gsym_file_of_another_binary_is_not_used(tmp_path: Path) -> None:
    path = binary(tmp_path / "app")
    save(tmp_path / "app.gsym", OUTER, uuid=OTHER_ID)
    run = addr2line("-e", path, "1000", cache=tmp_path / "cache")
    assert run.output == b"??:0\n"
    assert re.match(
        r"gsym-addr2line: .*app\.gsym is not used: its build id", run.complaints
    )
    assert run.status == 0


def test_an_embedded_file_answers(tmp_path: Path) -> None:
    path = binary(tmp_path / "app")
    gsym.embed(save(tmp_path / "x.gsym", OUTER, uuid=ID), path)
    assert answer(path, "", "1000") == "/src/a.c:10\n"


def test_default_input_is_a_out(tmp_path: Path) -> None:
    save(tmp_path / "a.out", OUTER)
    run = addr2line("1000", cache=tmp_path / "cache", folder=tmp_path)
    assert run.output == b"/src/a.c:10\n"


def test_offsets_in_a_section_have_its_address_added(tmp_path: Path) -> None:
    path = binary(tmp_path / "app")
    save(tmp_path / "app.gsym", OUTER, uuid=ID)
    assert answer(path, "-a -j .text", "12") == ("0x0000000000000012\n/src/sub/b.h:3\n")
    assert answer(path, "--section=.text", "1012", "40") == "??:0\n??:0\n"
    assert answer(path, "-j.data", "0", "1000") == "??:0\n??:0\n"


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["-e", "."], "Warning: '.' is a directory"),
        (["-e", "/dev/null"], "Warning: '/dev/null' is not an ordinary file"),
        (["-e", "empty"], "empty: file is empty"),
        (["-e", "text"], "text: file format not recognized"),
        (["-e", "archive"], "archive: cannot get addresses from archive"),
        (["-e", "app", "-j", ".none"], "app: cannot find section .none"),
        (
            ["-e", "app.gsym", "-j", ".text"],
            "app.gsym: cannot find section .text: give the binary instead",
        ),
        (["--demangle=odd"], "unknown demangling style `odd'"),
        (["@."], "error: @-file refers to a directory"),
        ([], "'a.out': No such file"),
    ],
)
def test_errors_are_those_of_addr2line(
    tmp_path: Path, words: list[str], complaint: str
) -> None:
    binary(tmp_path / "app")
    save(tmp_path / "app.gsym", OUTER, uuid=ID)
    (tmp_path / "text").write_text("hello\n")
    (tmp_path / "empty").touch()
    (tmp_path / "archive").write_text("!<arch>\n")
    run = addr2line(*words, "1000", cache=tmp_path / "cache", folder=tmp_path)
    assert run.output == b""
    assert run.complaints == f"gsym-addr2line: {complaint}\n"
    assert run.status == 1
