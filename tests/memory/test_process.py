"""Addresses of running processes: modules, files that are gone, JITs, other roots."""

from __future__ import annotations

import io
import os
import shutil
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import gsym
from gsym.cli.main import main
from gsym.memory import process, symbol_lists
from gsym.memory.symbol_lists import latest_symbols, perf_map_symbols
from tests.conftest import find_peer
from tests.inputs import elf, pe
from tests.memory.running import build, running
from tests.symbolizer_runs import run_llvm

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = [
    pytest.mark.long,
    pytest.mark.no_engine,  # runs programs
    pytest.mark.skipif(sys.platform != "linux", reason="needs Linux"),
]


@pytest.fixture
def built(tmp_path: Path, compiler: str) -> tuple[Path, Path]:
    return build(tmp_path, compiler)


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GSYM_CACHE_DIR", str(tmp_path / "cache"))


def llvm_answer(path: Path, address: int) -> list[str]:
    """Functions and lines, innermost first, as `name file:line`."""
    printed = run_llvm("-e", str(path), "--functions=linkage", hex(address))
    pairs = printed.out.split()
    return [
        f"{name} {place.rpartition(':')[0]}"
        for name, place in zip(pairs[::2], pairs[1::2], strict=True)
    ]


@pytest.mark.usefixtures("llvm_symbolizer")
@pytest.mark.parametrize("files_are", ["there", "deleted"])
@pytest.mark.parametrize("flags", [("-pie", "-fPIE"), ("-no-pie",)])
def test_answers_are_those_of_llvm_symbolizer(
    flags: tuple[str, ...],
    files_are: str,
    tmp_path: Path,
    compiler: str,
) -> None:
    program, library = build(tmp_path, compiler, *flags)
    kept = tmp_path / "kept"
    kept.mkdir()
    files = {path.name: Path(shutil.copy(path, kept)) for path in (program, library)}
    with ExitStack() as stack:
        pid, printed = stack.enter_context(running(program, library))
        if files_are == "deleted":
            program.unlink()
            library.unlink()
        process = stack.enter_context(gsym.Process(pid))
        for name in ("main", "leaf", "in_library"):
            address = printed[name] + 1
            found, place = process.lookup(address), process.module_at(address)
            assert found is not None
            assert place is not None
            assert place.address is not None
            wanted = llvm_answer(files[place.name], place.address)
            assert [
                f"{each.name} {each.path}:{each.line}" for each in found.frames
            ] == wanted
            assert found.function.start == printed[name]
            assert found.function.name == name
            assert place.build_id == gsym.identify(place.path).code_id.lower()


def test_many_addresses_are_answered_in_their_order(built: tuple[Path, Path]) -> None:
    with running(*built) as (pid, printed), gsym.Process(pid) as process:
        asked = [printed["in_library"], 8, printed["main"], printed["in_library"]]
        found = process.lookup_each(asked)
        assert [each and each.function.name for each in found] == [
            *("in_library", None, "main", "in_library")
        ]
        assert [each.address for each in found if each] == [*asked[:1], *asked[2:]]
        assert process.module_at(8) is None


def test_a_closed_process_answers_no_more() -> None:
    with gsym.Process(os.getpid()) as known:
        (start, *_) = (each.start for each in known.regions)
        place = known.module_at(start)
        assert known.modules_at([start, 0]) == [place, None]
    for use in (
        lambda: known.lookup(start),
        lambda: known.lookup_each([start]),
        lambda: known.module_at(start),
        known.__enter__,
    ):
        with pytest.raises(gsym.ClosedError, match="is closed"):
            use()


def test_the_vdso_is_read_from_memory(built: tuple[Path, Path]) -> None:
    with running(*built) as (pid, printed), gsym.Process(pid) as process:
        if not printed.get("vdso"):
            pytest.skip("no vdso")
        found, place = (
            process.lookup(printed["vdso"]),
            process.module_at(printed["vdso"]),
        )
        assert found is not None
        assert found.function.name.endswith("clock_gettime")
        assert place is not None
        assert place.name == "[vdso]"
        assert place.build_id


def test_a_deleted_file_is_read_through_the_process(built: tuple[Path, Path]) -> None:
    program, library = built
    with running(program, library) as (pid, printed):
        program.unlink()
        library.unlink()
        with gsym.Process(pid) as process:
            found = process.lookup_each([printed["leaf"], printed["in_library"]])
    assert [each and each.frames[-1].line for each in found] == [12, 1]


def test_a_file_that_was_replaced_is_not_used(
    built: tuple[Path, Path], tmp_path: Path, compiler: str
) -> None:
    program, library = built
    other = tmp_path / "other"
    other.mkdir()
    (other / "library.c").write_text("int in_library_2(int x) { return x; }\n")
    command = [compiler, "-g", "-shared", "-o", "library.so", "library.c"]
    subprocess.run(command, check=True, cwd=other)
    with running(program, library) as (pid, printed):
        (other / "library.so").rename(library)
        with gsym.Process(pid) as process:
            found = process.lookup(printed["in_library"])
    assert found is not None
    assert found.function.name == "in_library"


@pytest.mark.parametrize("first", ["", "other"])
def test_a_file_without_an_id_is_told_from_others_by_its_code(
    first: str, tmp_path: Path, compiler: str
) -> None:
    """A folder is searched first, for files of the name."""
    program, library = build(tmp_path, compiler, "-Wl,--build-id=none")
    other = tmp_path / "other"
    other.mkdir()
    if first:
        build(other, compiler, "-Wl,--build-id=none", "-O0")
    else:
        shutil.copy(program, other)
    with (
        running(program, library) as (pid, printed),
        gsym.Process(pid, source=other) as process,
    ):
        report = gsym.symbolicate(f"{printed['leaf'] + 1:#x}\n", maps=process)
        found = process.lookup(printed["leaf"] + 1)
    assert found is not None
    assert found.function.name == "leaf"
    (module,) = [each for each in report.modules if each.name == "program"]
    assert module.unsure == ""
    assert module.state == "found"
    refused = [each for each in module.attempts if each.outcome == "refused"]
    assert len(refused) == bool(first)


def test_a_file_that_may_not_be_the_mapped_one_is_unsure_without_an_id(
    tmp_path: Path, compiler: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Some file systems show another number of a file in the mappings."""
    of = process._status  # noqa: SLF001
    monkeypatch.setattr(process, "_status", lambda path, field: of(path, field) + 1)
    for build_id, unsure in ("none", "found by its name alone"), ("sha1", ""):
        flags = f"-Wl,--build-id={build_id}"
        program, library = build(tmp_path, compiler, flags)
        with running(program, library) as (pid, printed), gsym.Process(pid) as opened:
            report = gsym.symbolicate(f"{printed['leaf'] + 1:#x}\n", maps=opened)
        (module,) = [each for each in report.modules if each.state == "found"]
        assert (module.name, module.unsure) == ("program", unsure)


@pytest.fixture
def perf_maps() -> Iterator[list[Path]]:
    """Files that programs with a JIT would write; removed after the test."""
    made: list[Path] = []
    yield made
    for path in made:
        path.unlink()


def test_code_of_a_jit_is_answered_by_its_perf_map(
    built: tuple[Path, Path], perf_maps: list[Path]
) -> None:
    with running(*built) as (pid, printed):
        code = printed["code"]
        path = Path(f"/tmp/perf-{pid}.map")  # noqa: S108 - where JITs write it
        perf_maps.append(path)
        path.write_text(
            f"{code:x} 20 stale name\n"
            f"{code:x} 10 py::run:/a b.py\n"
            f"{code + 0x10:x} 8 LazyCompile:~f\n-5 2 x\nunfinis"
        )
        with gsym.Process(pid) as process:
            found = process.lookup_each([code, code + 15, code + 0x17, code + 0x18])
            assert [each and each.frames[0].name for each in found] == [
                *("py::run:/a b.py", "py::run:/a b.py", "LazyCompile:~f", None)
            ]
            report = gsym.symbolicate(f"{code:#x}\n", maps=process)
            assert str(report) == f"py::run:/a b.py (perf-{pid}.map+{code:#x})\n"


def test_a_perf_map_is_read_up_to_a_limit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "perf.map"
    path.write_text("1000 10 first\n2000 10 other\n")
    monkeypatch.setattr(symbol_lists, "_MOST_PERF_MAP", path.stat().st_size)
    symbols, _ = symbol_lists.read_perf_map(str(path))
    assert [name for _, _, name in symbols] == [b"first", b"other"]
    monkeypatch.setattr(symbol_lists, "_MOST_PERF_MAP", len("1000 10 first\n2000"))
    symbols, _ = symbol_lists.read_perf_map(str(path))
    assert [name for _, _, name in symbols] == [b"first"]


def test_files_are_read_in_the_root_of_the_process(
    tmp_path: Path, compiler: str
) -> None:
    if os.geteuid():
        pytest.skip("chroot needs root")
    root = tmp_path / "root"
    root.mkdir()
    program, _ = build(tmp_path, compiler, "-static")
    shutil.move(program, root / "app")
    with (
        running("/app", root=root) as (pid, printed),
        gsym.Process(pid) as process,
    ):
        found, place = (
            process.lookup(printed["leaf"]),
            process.module_at(printed["leaf"]),
        )
    assert found is not None
    assert found.function.name == "leaf"
    assert place is not None
    assert place.name == "app"


def test_a_process_that_is_not_there_is_an_error() -> None:
    with pytest.raises(gsym.GsymError, match="/proc/4194305: there is no such process"):
        gsym.Process(4194305)


def test_a_process_without_memory_is_an_error() -> None:
    child = subprocess.Popen(["true"])
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)  # it stays a zombie
    try:
        with pytest.raises(gsym.GsymError, match="the process has no memory"):
            gsym.Process(child.pid)
    finally:
        child.wait()


def test_maps_that_make_no_sense_are_no_regions(tmp_path: Path) -> None:
    folder = tmp_path / "7"
    folder.mkdir()
    (folder / "maps").write_text(
        "x\n1000-zz r-xp 0 0:0 0\n1000-2000 r-xp 0 0:0 5 /nowhere/app (deleted)\n"
        "9000-1000 r-xp 0 0:0 0\n"
    )
    (folder / "status").write_text("NSpid:\t7\n")
    with gsym.Process(7, proc=str(tmp_path)) as process:
        assert process.lookup(0x1800) is None
        assert process.module_at(0x1800) is None


@pytest.mark.parametrize("form", ["elf", "pe"])
@pytest.mark.parametrize("base", [0x140000000, 0x6FFFF0000000])
def test_code_in_memory_of_no_file_is_that_of_the_image_there(
    base: int, form: str, tmp_path: Path
) -> None:
    """Programs move it there, and Wine copies that of files whose sections are odd."""
    program, folder = tmp_path / "app", tmp_path / "7"
    folder.mkdir()
    if form == "elf":
        segments = [elf.Segment(0, 0x1000, flags=4), elf.Segment(0x1000, offset=0x1000)]
        symbols = [elf.Symbol("work", 0x1100, 0x20)]
        code = [elf.code_section(0x1000)]
        image = elf.Elf(code, symbols=symbols, segments=segments).to_bytes()
    else:
        text = pe.Section(".text", bytes(0x800), 0x1000, pe.CODE, 0x800)
        image = pe.Pe([text], [pe.Symbol("work", 0x100)]).to_bytes()
    program.write_bytes(image.ljust(0x2000, b"\0"))
    (folder / "maps").write_text(
        f"{base:x}-{base + 0x1000:x} r--p 0 0:0 {program.stat().st_ino} {program}\n"
        f"{base + 0x1000:x}-{base + 0x2000:x} r-xp 0 0:0 0\n"
    )
    (folder / "status").write_text("NSpid:\t7\n")
    with gsym.Process(7, proc=str(tmp_path)) as process:
        found = process.lookup(base + 0x1104)
        assert process.lookup(base + 0x1900 + 0x1000) is None
    assert found is not None
    assert str(found) == f"{base + 0x1104:#x}: work + 4"


SCRIPT = """\
function hot(n) { let s = 0; for (let i = 0; i < n; i++) s += i % 7; return s; }
for (let k = 0; k < 2000; k++) hot(10000);
console.log("end 0x0");
process.stdin.resume();
"""


def test_functions_that_node_compiled_are_answered(
    tmp_path: Path, perf_maps: list[Path]
) -> None:
    node = find_peer("node")
    script = tmp_path / "script.js"
    script.write_text(SCRIPT)
    profile = "--no-logfile-per-isolate"
    log = f"--logfile={tmp_path}/v8.log"
    with running(node, "--perf-basic-prof", profile, log, script) as (pid, _):
        path = Path(f"/tmp/perf-{pid}.map")  # noqa: S108 - where node writes it
        if not path.exists():
            pytest.skip("node writes no perf map")
        perf_maps.append(path)
        lines = [line.split(None, 2) for line in path.read_text().splitlines()]
        address, _, name = [line for line in lines if "hot " in line[2]][-1]
        with gsym.Process(pid) as process:
            found = process.lookup(int(address, 16))
    assert found is not None
    assert found.frames[0].name == name


def test_a_perf_map_has_the_number_in_the_namespace(tmp_path: Path) -> None:
    folder = tmp_path / "7"
    (folder / "root" / "tmp").mkdir(parents=True)
    (folder / "root" / "tmp" / "perf-3.map").write_text("1000 10 jitted\n")
    (folder / "status").write_text("Pid:\t7\nNSpid:\t7\t3\n")
    (folder / "maps").write_text("1000-2000 r-xp 0 0:0 0 \n3000-4000 r--p 0 0:0 0\n")
    with gsym.Process(7, proc=str(tmp_path)) as process:
        found = process.lookup(0x100F)
        assert process.module_at(0x3000) is None
    assert found is not None
    assert str(found) == "0x100f: jitted + 15"


def test_gdb_and_process_agree_on_every_symbol(built: tuple[Path, Path]) -> None:
    gdb = find_peer("gdb")
    with running(*built) as (pid, printed), gsym.Process(pid) as process:
        names = ["main", "leaf", "in_library", *(["vdso"] if "vdso" in printed else [])]
        command = [gdb, "-batch", "-nx", "-p", str(pid)]
        for name in names:
            command += ["-ex", f"info symbol {printed[name] + 1:#x}"]
        output = subprocess.run(command, capture_output=True, text=True, check=False)
        if "in section .text" not in output.stdout:
            pytest.skip("gdb may not attach")
        for name in names:
            found = process.lookup(printed[name] + 1)
            assert found is not None
            offset = found.address - found.function.start
            # One function of the vdso has two names.
            known = found.function.name.removeprefix("__vdso_")
            assert f"{known} + {offset} in section" in output.stdout


def test_the_command_answers_operands_and_texts(
    built: tuple[Path, Path],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    with running(*built) as (pid, printed):
        address = printed["in_library"]
        offset = address % 0x1000 + 0x1000
        answer = f"in_library at {built[1].parent}/library.c:1 (library.so+{offset:#x})"
        assert main(["symbolicate", "--pid", str(pid), hex(address), "10"]) == 0
        assert capsys.readouterr().out == f"{address:#x}: {answer}\n0xa: ??\n"
        text = io.TextIOWrapper(io.BytesIO(f"at {address:#x}, 17\n".encode()))
        monkeypatch.setattr(sys, "stdin", text)
        assert main(["symbolicate", "--pid", str(pid)]) == 0
        assert capsys.readouterr().out == f"at {answer}, 17\n"
        assert main(["symbolicate", "--pid", str(pid), "--kernel", "1"]) == 2


def test_a_line_that_is_no_symbol_hides_no_other() -> None:
    text = b"10 8 f\nx 8 g\n\n20 4 a name \n30"
    symbols = [(0x10, 8, b"f"), (0x20, 4, b"a name")]
    assert perf_map_symbols(text) == (symbols, 2)


def test_a_function_replaces_those_that_a_jit_made_before_at_its_addresses() -> None:
    text = b"100 100 outer\n140 20 later\n0x1f0 0x20 end\n300 0 none\n"
    symbols, others = perf_map_symbols(text)
    assert not others
    assert [*latest_symbols(symbols)] == [
        (0x140, 0x20, b"later"),
        (0x1F0, 0x20, b"end"),
    ]
