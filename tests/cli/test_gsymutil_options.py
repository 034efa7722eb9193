"""The command line of `gsymutil`: what it takes, and how it refuses the rest."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import gsym
from gsym.cli.dropins.gsymutil_options import parse_number

if TYPE_CHECKING:
    from pathlib import Path

    from tests.gsymutil_runs import Run

pytestmark = pytest.mark.usefixtures("folder")


def test_help_and_version_go_to_standard_output(run: Run) -> None:
    shown = run("--help")
    assert (shown.status, shown.err) == (0, "")
    assert "USAGE: gsymutil [options] <input GSYM files>\n\nOPTIONS:\n" in shown.out
    assert "\n  --address=<value>      " in shown.out
    assert "--benchmark-reader" not in shown.out
    assert run("-hv") == run("-v", "-h") == shown
    version = run("--version")
    assert version.out.startswith(f"gsymutil\ngsym version {gsym.__version__}\n")
    assert run("-v") == version


def test_empty_command_line_does_nothing(run: Run) -> None:
    assert run() == run("") == (0, "", "")


# ---- what goes wrong


def test_mistakes_are_printed_on_standard_error(folder: Path, run: Run) -> None:
    for arguments, message in [
        (["--nope"], "unknown argument '--nope'"),
        (["--nope", "--more"], "unknown argument '--nope'"),
        (["--"], "unknown argument '--'"),
        (["-x"], "unknown argument '-x'"),
        (["-address=1"], "unknown argument '-a'"),
        (["--quiet=1"], "unknown argument '--quiet=1'"),
        (["--hel"], "unknown argument '--hel', did you mean '--help'?"),
        (["--helpx"], "unknown argument '--helpx', did you mean '--help'?"),
        (
            ["--conver=x"],
            "unknown argument '--conver=x', did you mean '--convert=x'?",
        ),
        (["--address"], "--address: missing argument"),
        (["--nope", "-o"], "-o: missing argument"),
        (["-vo"], "-o: missing argument"),
        (
            ["--address=zz"],
            "gsymutil: for the --address option: 'zz' value invalid for uint argument!",
        ),
        (
            ["--address=1", "--num-threads", "0x100000000"],
            (
                "gsymutil: for the --num-threads option: '0x100000000' value invalid "
                "for uint argument!"
            ),
        ),
        (
            ["--segment-size="],
            (
                "gsymutil: for the --segment-size option: '' value invalid for uint "
                "argument!"
            ),
        ),
        (
            ["--output-version=3"],
            (
                "gsymutil: for the --output-version option: '3' is invalid. "
                "Use '1' or '2'."
            ),
        ),
        (
            ["--merged-functions-filter=a"],
            (
                "gsymutil: --merged-functions-filter can only be used with "
                "--address/--addresses-from-stdin"
            ),
        ),
        (
            ["--merged-functions-filter=a", "--address=1"],
            "gsymutil: --merged-functions-filter requires --merged-functions",
        ),
        (
            ["--callsites-yaml-file="],
            "gsymutil: --callsites-yaml-file option requires a non-empty argument.",
        ),
        (["missing"], "missing: No such file or directory"),
        (["."], ".: Is a directory"),
        (["broken"], "broken: not a GSYM file (bad magic)"),
        (["empty"], "empty: the file is empty"),
    ]:
        (folder / "broken").write_bytes(b"no GSYM file")
        (folder / "empty").touch()
        assert run(*arguments) == (1, "", message + "\n")


@pytest.mark.parametrize(
    "number",
    [
        "",
        "0x",
        "08",
        "0o8",
        "0b2",
        "-1",
        "+1",
        "1 ",
        "1_0",
        "a",
        "2" * 20,
    ],
)
def test_invalid_addresses_of_gsymutil_are_refused(run: Run, number: str) -> None:
    reason = f"for the --address option: '{number}' value invalid for uint argument!"
    assert run("--address", number, "small") == (1, "", f"gsymutil: {reason}\n")


def test_exclusive_options_are_reported_on_standard_output(run: Run) -> None:
    for arguments, reason in [
        (
            ["--convert=a", "b"],
            "no input files can be specified when using the --convert option.",
        ),
        *(
            (
                ["--addresses-from-stdin", other],
                (
                    "no input files or addresses can be specified when using the "
                    "--addresses-from-stdin option."
                ),
            )
            for other in ("a", "--address=1")
        ),
    ]:
        assert run(*arguments) == (1, f"error: {reason}\n", "")


@pytest.mark.parametrize(
    ("text", "number"),
    [
        *(("10", 10), ("0x1f", 31), ("0X1F", 31), ("0b11", 3), ("0o17", 15)),
        *(("017", 15), ("0", 0), ("00", 0), ("0x0b1", 0xB1)),
        *(("0x0x1", None), ("0X0X1", None), ("0b0b1", None), ("0o0o1", None)),
        *(("00o7", None), ("", None), ("0x", None), ("1_0", None), ("08", None)),
    ],
)
def test_a_number_is_read_as_llvm_reads_it(text: str, number: int | None) -> None:
    assert parse_number(text) == number
