"""`gsymutil --addresses-from-stdin`, as a program at the end of a pipe."""

from __future__ import annotations

import os
import subprocess
from typing import TYPE_CHECKING

import pytest

from tests.gsymutil_runs import COMMAND, Run, stream
from tests.hostile import ADDRESSES, SIZE, START, small_file

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = [pytest.mark.long, pytest.mark.usefixtures("folder")]


@pytest.fixture
def program() -> Iterator[subprocess.Popen[bytes]]:
    """The program, waiting for lines."""
    with subprocess.Popen(
        [*COMMAND, "--addresses-from-stdin"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        yield process
        process.kill()


def test_each_line_is_answered_before_the_next_is_sent(
    program: subprocess.Popen[bytes],
) -> None:
    assert program.stdin is not None
    assert program.stdout is not None
    for address in (0xFF0, 0xFF1):
        program.stdin.write(f"{address:#x} small\n".encode())
        program.stdin.flush()
        assert program.stdout.readline().startswith(f"{address:#018x}: ".encode())
        assert program.stdout.readline() == b"\n"
    program.stdin.close()
    assert program.wait(30) == 0


@pytest.mark.parametrize(
    "lines",
    [
        b"0xff0 small\r\n0xff0 a file\r\n0xff0 small\r\n",
        b"0xff0 small\n4080 a file\n0xff0 small",
        b"0xf\rf0 sm\rall\n0xff0 a file\n0xff0 small\n",
    ],
)
def test_line_ends_and_spaces_in_paths_are_as_llvm_takes_them(
    folder: Path, lines: bytes
) -> None:
    (folder / "a file").write_bytes(small_file(1, "big"))
    done = stream(lines)
    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout == b"0x0000000000000ff0: symbol\n\n" * 3


def test_invalid_address_ends_the_stream() -> None:
    done = stream(b"0xff0 small\nzz small\n0xff0 small\n")
    assert (done.returncode, done.stderr) == (1, b"")
    assert done.stdout == (
        b"0x0000000000000ff0: symbol\n\n"
        b"error: invalid address zz, expected: Address GsymFile.\n"
    )


@pytest.mark.parametrize(
    ("line", "path"),
    [
        (b"0xff0 nowhere", b"nowhere"),
        (b"0xff0", b""),
        (b"zz  x", b" x"),
    ],
)
def test_a_path_that_cannot_be_opened_ends_the_stream(line: bytes, path: bytes) -> None:
    for first in (b"", b"0xff0 small\n"):
        done = stream(first + line + b"\n0xff0 small\n")
        assert done.returncode == 1
        assert done.stdout == (b"0x0000000000000ff0: symbol\n\n" if first else b"")
        assert done.stderr == path + b": No such file or directory\n"


@pytest.mark.parametrize("line", [b"", b"zz", b"zz "])
def test_a_first_line_without_a_path_is_judged_by_its_address(line: bytes) -> None:
    done = stream(line + b"\n0xff0 small\n")
    assert (done.returncode, done.stderr) == (1, b"")
    word = line.strip()
    assert done.stdout == (
        b"error: invalid address " + word + b", expected: Address GsymFile.\n"
    )


def test_closed_standard_streams_are_reported(folder: Path) -> None:
    done = subprocess.run(
        ["sh", "-c", 'exec "$0" "$@" --addresses-from-stdin <&-', *COMMAND],
        capture_output=True,
        check=False,
        timeout=60,
    )
    assert (done.returncode, done.stderr) == (1, b"standard input is closed\n")
    done = subprocess.run(
        ["sh", "-c", 'exec "$0" "$@" >&-', *COMMAND, str(folder / "small")],
        capture_output=True,
        check=False,
        timeout=60,
    )
    assert (done.returncode, done.stderr) == (1, b"standard output is closed\n")


def test_path_that_is_not_utf8_is_opened(folder: Path) -> None:
    (folder / os.fsdecode(b"sm\xff")).write_bytes(small_file(2, "little"))
    done = stream(b"0xff0 sm\xff\n0xff0 \xfe\n")
    assert done.stdout == b"0x0000000000000ff0: symbol\n\n"
    assert done.stderr == b"\xfe: No such file or directory\n"


@pytest.mark.parametrize(
    "options",
    [
        ["--verbose"],
        ["--merged-functions"],
        ["--merged-functions", "--merged-functions-filter=w"],
    ],
    ids=repr,
)
def test_streams_know_the_options_of_single_lookups(
    run: Run, options: list[str]
) -> None:
    arguments = [f"--address={address}" for address in ADDRESSES]
    singles = [run(*options, one, "small").out for one in arguments]
    answers = [text.partition("\n")[2] + "\n" for text in singles]
    done = stream("".join(f"{at} small\n" for at in ADDRESSES).encode(), *options)
    assert done.stdout.decode() == "".join(answers)


def test_a_long_stream_is_answered_whole() -> None:
    lines = [f"{START + at % SIZE:#x} small\n".encode() for at in range(20_000)]
    done = stream(b"".join(lines))
    assert done.returncode == 0
    once = stream(b"".join(lines[:SIZE])).stdout
    repeats, rest = divmod(len(lines), SIZE)
    answers = once.split(b"\n\n")
    assert done.stdout == once * repeats + b"".join(
        answer + b"\n\n" for answer in answers[:rest]
    )


def test_closed_pipe_is_not_reported() -> None:
    with subprocess.Popen(
        [*COMMAND, *["small"] * 500], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.read(10)
        process.stdout.close()
        assert process.wait(30) == 0
        assert process.stderr.read() == b""


def test_input_is_read_from_standard_input(folder: Path) -> None:
    for source in ((folder / "small").read_bytes(), b"no GSYM file"):
        done = subprocess.run(
            [*COMMAND, "--address=0xff0", "-"],
            input=source,
            capture_output=True,
            check=False,
            timeout=60,
        )
        if source.startswith(b"no"):
            assert (done.returncode, done.stdout) == (1, b"")
            assert done.stderr == b"-: not a GSYM file (bad magic)\n"
        else:
            assert done.returncode == 0
            assert done.stdout.endswith(b'"-":\n0x0000000000000ff0: symbol\n')
