"""`gsymutil` prints what llvm-gsymutil 24 prints, byte for byte.

The names of real files end with the version of LLVM that wrote them; what was printed
for them is of a snapshot of version 24, of October 2026.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import gsym
from tests.gsymutil_runs import Run, stream

pytestmark = pytest.mark.usefixtures("folder")

PRINTED_BY_24 = (
    "shapes-be.v1.24",
    "shapes-be.v2.24",
    "shapes-macho.v1.24",
    "shapes.merged.v1.24",
    "shapes.merged.v2.24",
    "shapes.v1.22",
    "shapes.v1.24",
    "shapes.v2.24",
)


# ---- what version 24 printed


@pytest.fixture(params=PRINTED_BY_24)
def real(
    request: pytest.FixtureRequest,
    gsym_fixtures: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> Path:
    """A real file in the current folder."""
    monkeypatch.chdir(gsym_fixtures)
    return Path(f"{request.param}.gsym")


def test_dumps_and_lookups_are_those_of_llvm(real: Path, run: Run) -> None:
    assert run(str(real)) == (0, Path(f"{real}.dump.txt").read_text(), "")
    arguments = Path(f"{real}.lookup.args").read_text().split()
    expected = Path(f"{real}.lookup.txt").read_text()
    assert run(*arguments, str(real)) == (0, expected, "")


@pytest.mark.parametrize("real", ["shapes.v2.24", "shapes.merged.v1.24"], indirect=True)
def test_a_stream_of_addresses_is_answered_as_single_ones_are(real: Path) -> None:
    arguments = Path(f"{real}.lookup.args").read_text().split()
    addresses = [word.partition("=")[2] for word in arguments if "=" in word]
    merged = [word for word in arguments if "=" not in word]
    answers = Path(f"{real}.lookup.txt").read_bytes().partition(b"\n")[2]
    done = stream("".join(f"{at} {real}\n" for at in addresses).encode(), *merged)
    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout.count(b"\n\n") == len(addresses)
    assert done.stdout.replace(b"\n\n", b"\n") == answers


def test_statistics_are_those_of_llvm_gsymutil(real: Path, run: Run) -> None:
    text = Path(f"{real}.stats.txt").read_text()
    line = Path(f"{real}.stats.json").read_text()
    assert run("--statistics", str(real)) == (0, text, "")
    assert run("--statistics=text", str(real)) == (0, text, "")
    assert run("--statistics=json", str(real)) == (0, line, "")
    pretty = run("--statistics=pretty-json", str(real)).out
    assert json.loads(pretty) == json.loads(line)
    assert pretty.splitlines()[:2] == ["{", '  "byte-sizes": {']


@pytest.mark.parametrize("kind", ["v1", "v2", "merged.v1"])
def test_a_conversion_reports_as_llvm_does(
    kind: str,
    gsym_fixtures: Path,
    folder: Path,
    run: Run,
) -> None:
    (folder / "shapes").write_bytes((gsym_fixtures / "shapes").read_bytes())
    output = f"shapes.{kind}.24.gsym"
    options = ["--output-version=2"] if kind == "v2" else []
    if kind.startswith("merged"):
        options += ["--merged-functions", "--dwarf-callsites"]
    expected = (gsym_fixtures / f"shapes.{kind}.24.convert.txt").read_text()
    assert run("--convert", "shapes", "-o", output, *options) == (0, expected, "")
    with gsym.open(output) as ours, gsym.open(gsym_fixtures / output) as llvms:
        assert ours.header.version == llvms.header.version
        # The rows of `twin_b`, which the linker folded into it, are not its own.
        expected_functions = [
            each._replace(line_table=each.line_table[:1])
            if each.name == "_Z6twin_ai" and each.line_table
            else each
            for each in llvms.functions()
        ]
        assert list(ours.functions()) == expected_functions


# ---- what no release prints, or what is cheaper to check here


def test_verbose_lookups_show_the_function_or_the_reason(run: Run) -> None:
    head = 'Looking up addresses in "small":\n'
    assert run("--verbose", "--address=0x1100", "small").out == head + (
        "\n"
        "LookupResult for 0x0000000000001100:\n"
        "0x0000000000001100: error: address 0x1100 is not in the line table\n"
        "\n"
    )
    assert run("--verbose", "--address=0xff0", "small").out == head + (
        "FunctionInfo for 0x0000000000000ff0:\n"
        '[0x0000000000000ff0 - 0x0000000000000ff0) "symbol"\n'
        "\n"
        "LookupResult for 0x0000000000000ff0:\n"
        "0x0000000000000ff0: symbol\n"
        "\n"
    )


def test_a_function_that_llvm_cannot_decode_is_still_looked_up(run: Run) -> None:
    answer = "0x0000000000001000: full @ /src/a.c:10\n"
    shown = run("--verbose", "--address=0x1000", "small").out
    assert shown == f'Looking up addresses in "small":\n{answer}\n'
    (line,) = (line for line in run("small").out.splitlines() if "InfoType" in line)
    assert line.startswith("FunctionInfo @ 0x")
    assert line.endswith(": unsupported InfoType 9")


MERGED = """\
Found {count} at address 0x000000000000100a:
   0x000000000000100a: two @ b.h:4 [inlined]
                    one + 6 @ b.h:5 [inlined]
                    full + 10 @ /src/a.c:11
      CallSites: callee, other.*

   0x000000000000100a: twin + 10 @ b.h:4
"""


def test_merged_functions_are_shown_as_the_filters_say(run: Run) -> None:
    for filters, shown in [
        ([], MERGED.format(count="2 functions")),
        (["full", "win$"], MERGED.format(count="2 functions")),
        (["^f"], MERGED.format(count="1 function").rpartition("   0x")[0]),
        (
            ["t[[:alpha:]]{3}"],
            "".join(MERGED.format(count="1 function").splitlines(keepends=True)[::6]),
        ),
        (["("], "Found 0 functions at address 0x000000000000100a:\n"),
        (["a{99999999999}"], "Found 0 functions at address 0x000000000000100a:\n"),
        (["^[[:print:]]+$"], MERGED.format(count="2 functions")),
    ]:
        options = [f"--merged-functions-filter={text}" for text in filters]
        printed = run("--merged-functions", "--address=0x100a", *options, "small")
        assert printed.out == 'Looking up addresses in "small":\n' + shown


@pytest.mark.parametrize("options", [[], ["--merged-functions-filter=a"]], ids=repr)
def test_a_miss_with_merged_functions_is_an_error_line(
    run: Run, options: list[str]
) -> None:
    printed = run("--merged-functions", "--address=0x10", *options, "small")
    line = "0x0000000000000010: error: address 0x10 is not in GSYM\n"
    assert printed == (0, f'Looking up addresses in "small":\n{line}', "")


def test_reader_benchmark_prints_its_number_of_lookups(run: Run) -> None:
    tail = '(out of 3 addresses) in "small"\n'
    assert run("--benchmark-reader", "small").out == f"Benchmarked 3 lookups {tail}"
    assert run("--benchmark-reader=1,2", "small").out == f"Benchmarked 1 lookups {tail}"


def test_a_dump_comes_in_pieces_that_fit_together(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = run("small").out
    for size in (1, 7, 100):
        monkeypatch.setattr("gsym.formatting.gsymutil._BLOCK_SIZE", size)
        assert run("small").out == whole
