"""gsym.symbfile.to_lidia: files that answer as a lookup in the GSYM file does."""

from __future__ import annotations

import os
import shutil
import subprocess
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, given, settings

import gsym
from gsym import FunctionInfo, InlineInfo, LineEntry, Range
from gsym.cli.main import main
from gsym.symbfile.to_lidia import export_lidia
from tests.creations import create
from tests.strategies import function_lists
from tests.symbfile.lidia import Lidia
from tests.symbfile.sweep import looked_up, sweep

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

pytestmark = pytest.mark.long

_INNERMOST = InlineInfo("innermost", "b.h", 30, (Range(0x1014, 0x1018),))
_INNER = (
    InlineInfo("inner", "a.c", 12, (Range(0x1010, 0x1020),), (_INNERMOST,)),
    InlineInfo("inner", "a.c", 14, (Range(0x1028, 0x1030),)),
)
FUNCTIONS = (
    FunctionInfo(
        0x1000,
        0x40,
        "outer",
        (
            LineEntry(0x1000, "a.c", 10),
            LineEntry(0x1010, "b.h", 30),
            LineEntry(0x1014, "c.h", 7),
            LineEntry(0x1018, "b.h", 31),
            LineEntry(0x1020, "a.c", 13),
            LineEntry(0x1028, "b.h", 32),
            LineEntry(0x1030, "a.c", 15),
        ),
        InlineInfo("outer", "", 0, (Range(0x1000, 0x1040),), _INNER),
    ),
    FunctionInfo(0x1040, 0x10, "next", (LineEntry(0x1040, "d.c", 70_000),)),
    FunctionInfo(0x1060, 0x10, "without_lines"),
)


def exported(folder: Path, functions: Sequence[FunctionInfo] = FUNCTIONS) -> Lidia:
    (folder / "app.gsym").write_bytes(create(functions))
    export_lidia(folder / "app.gsym", folder / "app.lidia")
    return Lidia((folder / "app.lidia").read_bytes())


def test_every_address_has_the_functions_files_and_lines_of_a_lookup(
    tmp_path: Path,
) -> None:
    lidia = exported(tmp_path)
    with gsym.open(tmp_path / "app.gsym") as reader:
        for address in range(0xFF0, 0x1080):
            wanted = looked_up(reader, address)
            assert sweep(lidia.ranges, address) == wanted
            assert [func for func, _ in lidia.look_up(address)] == [
                frame.func for frame in wanted
            ]


def test_calls_have_a_depth_and_the_file_and_line_of_the_call(tmp_path: Path) -> None:
    ranges = exported(tmp_path).ranges
    calls = [(each.func, each.depth, each.call_file, each.call_line) for each in ranges]
    assert calls == [
        ("outer", 0, None, 0),
        ("inner", 1, "a.c", 12),
        ("innermost", 2, "b.h", 30),
        ("inner", 1, "a.c", 14),
        ("next", 0, None, 0),
        ("without_lines", 0, None, 0),
    ]


@given(functions=function_lists())
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_functions_of_any_shape_are_found_as_by_a_lookup(
    tmp_path: Path, functions: list[FunctionInfo]
) -> None:
    lidia = exported(tmp_path, functions)
    edges = {each.elf_va + step for each in lidia.ranges for step in (-1, 0, 1)}
    edges |= {each.elf_va + each.length - 1 for each in lidia.ranges}
    with gsym.open(tmp_path / "app.gsym") as reader:
        for address in sorted(each for each in edges if 0 <= each < 1 << 64):
            if any(each.length for each in lidia.ranges):
                wanted = [frame.func for frame in looked_up(reader, address)]
                found = [func for func, _ in lidia.look_up(address)]
                assert not found or found == wanted


@pytest.mark.parametrize(
    ("address", "size", "line", "widths"),
    [
        (0x1000, 0x10, 7, (4, 4, 2)),
        (0x1000, 0x10, 70_000, (4, 4, 4)),
        (0xFFFFFFFF80000000, 0x10, 7, (8, 4, 2)),
    ],
)
def test_numbers_are_as_wide_as_they_need_to_be(
    address: int, size: int, line: int, widths: tuple[int, ...], tmp_path: Path
) -> None:
    function = FunctionInfo(address, size, "f", (LineEntry(address, "a.c", line),))
    lidia = exported(tmp_path, [function])
    file = (tmp_path / "app.lidia").read_bytes()
    assert (file[0x08], file[0x28], file[0x60]) == widths
    assert [(each.elf_va, each.length) for each in lidia.ranges] == [(address, size)]
    assert lidia.ranges[0].line_table == ((0, line),)


def test_the_command_writes_beside_its_input(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    exported(tmp_path)
    wanted = (tmp_path / "app.lidia").read_bytes()
    (tmp_path / "app.lidia").unlink()
    assert main(["export", "--to", "lidia", str(tmp_path / "app.gsym")]) == 0
    assert (tmp_path / "app.lidia").read_bytes() == wanted
    said = capsys.readouterr().out
    assert "3 functions, 3 inlined calls" in said


def test_names_of_the_module_are_not_for_lidia(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["export", "--to", "lidia", "--os", "Linux", str(tmp_path / "app.gsym")]
    assert main(command) == 2
    assert "option '--os' is not for lidia" in capsys.readouterr().err


def test_the_input_is_not_replaced(tmp_path: Path) -> None:
    exported(tmp_path)
    with pytest.raises(ValueError, match="would replace the input"):
        export_lidia(tmp_path / "app.gsym", tmp_path / "app.gsym")


_PROGRAM = """\
package main

import (
	"fmt"
	"os"

	"github.com/grafana/pyroscope/lidia"
)

func main() {
	file, err := os.Open(os.Args[1])
	if err != nil {
		panic(err)
	}
	table, err := lidia.OpenReader(file, lidia.WithCRC())
	if err != nil {
		panic(err)
	}
	for _, text := range os.Args[2:] {
		var address uint64
		fmt.Sscan(text, &address)
		frames, err := table.Lookup(nil, address)
		if err != nil {
			panic(err)
		}
		for _, frame := range frames {
			fmt.Printf("%s %s;", frame.FunctionName, frame.FilePath)
		}
		fmt.Println()
	}
}
"""


@pytest.mark.slow
def test_the_reader_of_pyroscope_finds_the_same(tmp_path: Path) -> None:
    source = os.environ.get("GSYM_LIDIA")
    if source is None or shutil.which("go") is None:
        pytest.skip("needs Go, and GSYM_LIDIA: the folder lidia of grafana/pyroscope")
    lidia = exported(tmp_path)
    addresses = range(0xFF0, 0x1080)
    (tmp_path / "main.go").write_text(_PROGRAM)
    module = "github.com/grafana/pyroscope/lidia"
    (tmp_path / "go.mod").write_text(
        f"module reader\n\nrequire {module} v0.0.0\nreplace {module} => {source}\n"
    )
    command = ["go", "run", "-mod=mod", ".", str(tmp_path / "app.lidia")]
    run = subprocess.run(
        [*command, *map(str, addresses)],
        cwd=tmp_path,
        env={**os.environ, "GOPROXY": "off", "GOFLAGS": "-mod=mod"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    wanted = [
        "".join(f"{func} {file};" for func, file in lidia.look_up(address))
        for address in addresses
    ]
    assert run.stdout.splitlines() == wanted
