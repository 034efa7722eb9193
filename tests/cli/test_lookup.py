"""`gsym lookup`: text, JSON lines, misses, address spaces, standard input."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import gsym
from gsym.cli.main import main
from gsym.conversion.identity import identify
from gsym.model import CallSite, FunctionInfo, InlineInfo, LineEntry, Range
from tests.inputs import pe

Captured = pytest.CaptureFixture[str]

BASE = 0x400000
OUTER = FunctionInfo(
    BASE + 0x1000,
    0x40,
    "outer",
    line_table=(
        LineEntry(BASE + 0x1000, "/src/a.c", 10),
        LineEntry(BASE + 0x1010, "/src/b.h", 3),
        LineEntry(BASE + 0x1020, "/src/a.c", 0),
    ),
    inline=InlineInfo(
        "outer",
        "",
        0,
        (Range(BASE + 0x1000, BASE + 0x1040),),
        (InlineInfo("inner", "/src/a.c", 11, (Range(BASE + 0x1010, BASE + 0x1020),)),),
    ),
    call_sites=(CallSite(0x18, 2, ("callee", "other")),),
)
BARE = FunctionInfo(BASE + 0x2000, 0x10, "bare\x1b[31m")


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = str(tmp_path_factory.mktemp("lookup") / "a.gsym")
    with gsym.Creator(base_address=BASE) as creator:
        creator.add(OUTER)
        creator.add(BARE)
        creator.save(path)
    return path


def test_answers_are_readable(file: str, capsys: Captured) -> None:
    for address, text in [
        (0x401000, "0x401000: outer at /src/a.c:10\n"),
        (0x401004, "0x401004: outer + 4 at /src/a.c:10\n"),
        (
            0x401012,
            (
                "0x401012: inner + 2 at /src/b.h:3 [inlined]\n"
                "          outer + 18 at /src/a.c:11\n"
            ),
        ),
        (
            0x401018,
            (
                "0x401018: inner + 8 at /src/b.h:3 [inlined]\n"
                "          outer + 24 at /src/a.c:11\n"
                "          calls callee, other\n"
            ),
        ),
        (0x401021, "0x401021: outer + 33 at /src/a.c:?\n"),
        (0x402001, "0x402001: bare\\x1b[31m + 1\n"),
        (0x401040, "0x401040: ?? (no function covers this address)\n"),
        (0x10, "0x10: ?? (no function covers this address)\n"),
        (2**64, "0x10000000000000000: ?? (not an address of this module)\n"),
    ]:
        assert main(["lookup", file, hex(address)]) == 0
        assert capsys.readouterr().out == text
        assert main(["lookup", file, str(address)]) == 0
        assert capsys.readouterr().out == text


@pytest.mark.parametrize(
    ("options", "address", "frame"),
    [
        (["--load-address", "0x7f0000000000"], 0x7F0000001012, "inner + 2 "),
        (["--return-addresses"], 0x401020, "inner + 15 "),
        (["--return-addresses"], 0x401010, "outer + 15 "),
        (
            ["--load-address", "0x7f0000000000", "--return-addresses"],
            0x7F0000001010,
            "outer + 15 ",
        ),
    ],
    ids=repr,
)
def test_the_address_shown_is_the_one_given(
    file: str, capsys: Captured, options: list[str], address: int, frame: str
) -> None:
    assert main(["lookup", file, *options, hex(address)]) == 0
    assert capsys.readouterr().out.startswith(f"{address:#x}: {frame}")


@pytest.mark.parametrize(
    ("address", "text"),
    [
        (0x401012, "inner + 2 at /src/b.h:3 <- outer + 18 at /src/a.c:11"),
        (0x401018, "inner + 8 at /src/b.h:3 <- outer + 24 at /src/a.c:11"),
        (0x402001, "bare\\x1b[31m + 1"),
        (0x401040, "?? (no function covers this address)"),
    ],
)
def test_an_answer_may_be_one_line(
    file: str, capsys: Captured, address: int, text: str
) -> None:
    assert main(["lookup", "--oneline", file, hex(address)]) == 0
    assert capsys.readouterr().out == f"{address:#x}: {text}\n"


def test_an_address_below_the_module_is_a_miss(file: str, capsys: Captured) -> None:
    options = ["--load-address", "0x7f0000000000"]
    assert main(["lookup", file, *options, "0x1000"]) == 0
    assert capsys.readouterr().out.startswith("0x1000: ?? (not an address of this mod")


@pytest.mark.parametrize(
    ("addresses", "status"), [(["0x401000"], 0), (["0x401000", "0x10"], 3)], ids=repr
)
def test_strict_tells_misses_by_the_exit_code(
    file: str, addresses: list[str], status: int
) -> None:
    assert main(["lookup", "--strict", file, *addresses]) == status


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ([], "FILE is missing"),
        (["a.gsym"], "give either ADDRESS or '--stdin'"),
        (["a.gsym", "0x10", "--stdin"], "give either ADDRESS or '--stdin'"),
        (["a.gsym", "1", "--json", "--oneline"], "'--json' and '--oneline' exclude"),
        (["a.gsym", "main"], "ADDRESS: 'main' is not an address"),
        (["a.gsym", "1", "--load-address", "x"], "option '--load-address': 'x' is not"),
    ],
    ids=repr,
)
def test_a_wrong_command_line_is_a_usage_error(
    capsys: Captured, arguments: list[str], reason: str
) -> None:
    assert main(["lookup", *arguments]) == 2
    assert capsys.readouterr().err.startswith(f"gsym lookup: error: {reason}")


def test_missing_file_is_an_error_of_one_line(capsys: Captured) -> None:
    assert main(["lookup", "no/such.gsym", "1"]) == 1
    assert capsys.readouterr().err == (
        "gsym: error: no/such.gsym: No such file or directory\n"
    )


# ---- standard input

LOOKUP = [sys.executable, "-m", "gsym", "lookup", "--stdin"]


def test_lines_around_a_bad_one_are_answered(file: str) -> None:
    process = subprocess.run(
        [*LOOKUP, file],
        input=b"\n0x401000\nzz\n0x401000\n",
        capture_output=True,
        check=False,
    )
    assert process.returncode == 1
    answer = "0x401000: outer at /src/a.c:10\n"
    assert process.stdout.decode() == f"{answer}zz: ?? (not an address)\n{answer}"
    assert process.stderr.decode() == (
        "gsym: error: standard input, line 3: 'zz' is not an address\n"
    )


def test_lines_are_counted_over_all_that_was_read(file: str) -> None:
    with subprocess.Popen(
        [*LOOKUP, file],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdin.write(b"0x401000\n\n")
        process.stdin.flush()
        process.stdout.readline()  # what comes next is read for itself
        process.stdin.write(b"zz\n")
        process.stdin.close()
        assert b"standard input, line 3: 'zz'" in process.stderr.read()


def test_each_line_is_answered_at_once(file: str) -> None:
    with subprocess.Popen(
        [*LOOKUP, "--json", file], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        for address in (0x401000, 0x10, 0x401012):
            process.stdin.write(f"{address:#x}\n".encode())
            process.stdin.flush()
            assert json.loads(process.stdout.readline())["address"] == address
        process.stdin.close()
        assert process.wait() == 0


def test_many_lines_span_many_reads(file: str) -> None:
    addresses = [0x401000 + number % 0x60 for number in range(20_000)]
    lines = "\n".join(map(hex, addresses)).encode()
    process = subprocess.run(
        [*LOOKUP, "--json", file], input=lines, capture_output=True, check=True
    )
    answers = process.stdout.splitlines()
    assert [json.loads(answer)["address"] for answer in answers] == addresses


def test_damaged_record_is_reported_and_the_rest_is_answered(
    file: str, tmp_path: Path, capsys: Captured
) -> None:
    content = bytearray(Path(file).read_bytes())
    with gsym.open(file) as reader:
        assert [info.name for info in reader.functions()] == [OUTER.name, BARE.name]
    # The last record is `bare`: its size and name, then the end of its list.
    content[-12:-8] = bytes(4)
    damaged = tmp_path / "damaged.gsym"
    damaged.write_bytes(content)
    assert main(["lookup", os.fspath(damaged), "0x402001", "0x401000"]) == 1
    first, second = capsys.readouterr().out.splitlines()
    assert first.startswith("0x402001: ?? (damaged record: ")
    assert second == "0x401000: outer at /src/a.c:10"


def test_a_file_of_another_uuid_is_refused(tmp_path: Path, capsys: Captured) -> None:
    path = str(tmp_path / "a.gsym")
    with gsym.Creator(uuid="a65a-0b") as creator:
        creator.add(BARE)
        creator.save(path)
    assert main(["lookup", path, hex(BARE.start), "--uuid", "a65a0b"]) == 0
    assert main(["lookup", path, hex(BARE.start), "--uuid", "a65a"]) == 1
    assert "the UUID is a65a0b, not a65a" in capsys.readouterr().err


def test_a_file_may_be_chosen_by_each_id_of_its_module(
    tmp_path: Path, capsys: Captured
) -> None:
    guid, path = bytes(range(1, 17)), str(tmp_path / "a.gsym")
    app = tmp_path / "app.dll"
    app.write_bytes(
        pe.Pe(
            [pe.Section(".text", bytes(16), 0x1000, pe.CODE)],
            symbols=[pe.Symbol("f", 0)],
            debug=[(pe.CODEVIEW, pe.codeview(guid, 1, "app.pdb"))],
        ).to_bytes()
    )
    gsym.convert(app, path)
    code_id = identify(app).code_id
    for uuid, code in ((guid.hex(), 0), (code_id, 0), (code_id[:-2] + "ff", 1)):
        assert main(["lookup", path, "0x1000", "--uuid", uuid]) == code
    assert f"the UUID is {guid.hex()}, not" in capsys.readouterr().err
