"""Variables kept behind a GSYM file, where other readers do not come."""

from __future__ import annotations

import shutil
import subprocess
from typing import TYPE_CHECKING

import pytest

import gsym
from gsym.cli.main import main
from gsym.containers.data_symbols import DataSymbol, DataSymbols
from gsym.containers.mapped_file import map_file
from gsym.containers.object_file import ObjectFile
from gsym.writing.data_part import (
    DATA_ALIGNMENT,
    data_part_start,
    make_data_part,
    open_data_part,
)

if TYPE_CHECKING:
    from pathlib import Path

SOURCE = """
int counter[4] = {1};
static char flag = 2;
int f(int x) { flag++; return x + *counter; }
"""


@pytest.fixture(scope="module")
def binary(compiler: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compiled(compiler, tmp_path_factory.mktemp("data"), "abcdef")


def compiled(compiler: str, folder: Path, build_id: str) -> Path:
    (folder / "a.c").write_text(SOURCE)
    flags = ["-g", "-O0", "-shared", "-fPIC", f"-Wl,--build-id=0x{build_id}"]
    command = [compiler, *flags, "-o", "a.so", "a.c"]
    subprocess.run(command, check=True, cwd=folder)
    return folder / "a.so"


def log_of(binary: Path, *names: str) -> bytes:
    """A log with the addresses of symbols."""
    with ObjectFile(map_file(str(binary)), str(binary)) as file:
        named = {each.name: each.start for each in DataSymbols(file)}
    elements = " ".join(f"{{{{{{data:{named[name]:#x}}}}}}}" for name in names)
    return (
        b"{{{module:0:a.so:elf:abcdef}}}\n{{{mmap:0x0:0x100000:load:0:rw:0x0}}}\n"
        b"%s\n" % elements.encode()
    )


@pytest.mark.parametrize("version", [1, 2])
def test_variables_are_kept_and_found(
    binary: Path, tmp_path: Path, version: int
) -> None:
    path, plain = tmp_path / "a.gsym", tmp_path / "plain.gsym"
    gsym.convert(binary, path, data_symbols=True, output_version=version)
    gsym.convert(binary, plain, output_version=version, identity=False)
    assert path.read_bytes().startswith(plain.read_bytes())
    reader = open_data_part(str(path))
    assert reader is not None
    with ObjectFile(map_file(str(binary)), str(binary)) as file:
        named = {each.name: each for each in DataSymbols(file)}
    for name in ("counter", "flag"):
        symbol = named[name]
        lookup = reader.lookup(symbol.start + symbol.size - 1)
        assert lookup is not None
        assert lookup.frames[0].name == name
        assert lookup.frames[0].offset == symbol.size - 1
    assert reader.lookup(named["f"].start) is None
    assert reader.uuid == b"\xab\xcd\xef"
    assert open_data_part(str(plain)) is None
    assert main(["verify", str(path)]) == 0
    with gsym.open(path) as functions:
        assert functions.lookup(named["f"].start)
        assert functions.lookup(named["counter"].start) is None


def test_variables_stand_behind_a_file_of_any_size(
    binary: Path, tmp_path: Path
) -> None:
    path = tmp_path / "a.gsym"
    sizes = set()
    for length in range(DATA_ALIGNMENT):
        rules = ((str(binary.parent), "/" + "d" * length),)
        gsym.convert(binary, path, data_symbols=True, path_map=rules)
        with gsym.open(path) as reader:
            sizes.add(reader.header.strtab_size % DATA_ALIGNMENT)
        assert main(["verify", str(path)]) == 0
    assert len(sizes) == DATA_ALIGNMENT


def test_an_index_and_variables(binary: Path, tmp_path: Path) -> None:
    path = tmp_path / "a.gsym"
    for version in (1, 2):
        gsym.convert(binary, path, data_symbols=True, output_version=version)
        assert open_data_part(str(path)) is not None
        assert main(["verify", str(path)]) == 0
    with pytest.raises(ValueError, match="segments"):
        gsym.convert(binary, path, data_symbols=True, segment_size=100)


def names_in(path: Path) -> set[str]:
    reader = open_data_part(str(path))
    return set() if reader is None else {each.name for each in reader.functions()}


@pytest.mark.parametrize("version", [1, 2])
@pytest.mark.parametrize("byteorder", ["little", "big"])
def test_another_conversion_keeps_variables(
    binary: Path, tmp_path: Path, version: int, byteorder: str
) -> None:
    path, other, back = (tmp_path / f"{name}.gsym" for name in "abc")
    first = gsym.convert(binary, path, data_symbols=True)
    report = gsym.convert(path, other, output_version=version, byteorder=byteorder)
    assert names_in(other) == names_in(path) >= {"counter", "flag"}
    assert not first.warnings
    assert not report.warnings
    assert main(["verify", str(other)]) == 0
    gsym.convert(other, back, output_version=1, byteorder="little", data_symbols=True)
    assert back.read_bytes() == path.read_bytes()


def test_variables_of_a_file_that_has_none_are_refused(
    binary: Path, tmp_path: Path
) -> None:
    path = tmp_path / "a.gsym"
    gsym.convert(binary, path)
    with pytest.raises(gsym.UnsupportedError, match="no symbols of variables"):
        gsym.convert(path, tmp_path / "b.gsym", data_symbols=True)


def test_a_selection_of_functions_keeps_variables(binary: Path, tmp_path: Path) -> None:
    path = tmp_path / "a.gsym"
    gsym.convert(binary, path, data_symbols=True, keep_functions=["^f$"])
    assert names_in(path) >= {"counter", "flag"}
    gsym.convert(path, tmp_path / "b.gsym", drop_functions=["g"])
    assert names_in(tmp_path / "b.gsym") == names_in(path)


def test_outputs_without_room_for_variables_are_reported(
    binary: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, other = tmp_path / "a.gsym", tmp_path / "b.gsym"
    gsym.convert(binary, path, data_symbols=True)
    count = len(names_in(path))
    for version in (1, 2):
        assert not gsym.convert(path, other, output_version=version).warnings
        assert names_in(other) == names_in(path)
    report = gsym.convert(path, other, segment_size=100)
    assert report.warnings == {"Variable omitted: no place for it in segments": count}
    capsys.readouterr()
    assert main(["convert", str(path), "-o", str(other), "--segment-size=100"]) == 0
    assert "Variable omitted: no place for it in segments" in capsys.readouterr().err
    assert main(["merge", str(path), "-o", str(other), "--segment-size=100"]) == 0
    assert "Variable omitted: no place for it in segments" in capsys.readouterr().err


def test_an_input_without_variables_is_reported(compiler: str, tmp_path: Path) -> None:
    (tmp_path / "b.c").write_text("int f(int x) { return x; }\n")
    command = [compiler, "-g", "-c", "b.c"]
    subprocess.run(command, check=True, cwd=tmp_path)
    report = gsym.convert(tmp_path / "b.o", data_symbols=True)
    (warning,) = report.warnings
    assert warning.startswith("No variable found: ")


def test_a_merge_has_the_variables_of_all_files(tmp_path: Path) -> None:
    paths = []
    for number, names in enumerate((("a", "b"), ("b", "c"))):
        path = tmp_path / f"{number}.gsym"
        with gsym.Creator(uuid=b"\1\2") as creator:
            creator.add(gsym.FunctionInfo(0x1000 * number, 0x10, f"f{number}"))
            creator.save(path)
        symbols = [DataSymbol(name, ord(name), 1, "") for name in names]
        part = make_data_part(symbols, b"\1\2")
        path.write_bytes(path.read_bytes().ljust(1024, b"\0") + part)
        paths.append(path)
    report = gsym.merge_files(paths, tmp_path / "whole.gsym", force=True)
    assert names_in(tmp_path / "whole.gsym") == {"a", "b", "c"}
    assert not report.warnings


@pytest.mark.parametrize("version", [1, 2])
def test_a_binary_holds_variables_too(
    binary: Path,
    tmp_path: Path,
    version: int,
    capfdbinary: pytest.CaptureFixture[bytes],
) -> None:
    path, holder, back = tmp_path / "a.gsym", tmp_path / "s/a.so", tmp_path / "b.gsym"
    if shutil.which("strip") is None:
        pytest.skip("not installed: strip")
    gsym.convert(binary, path, data_symbols=True, output_version=version)
    holder.parent.mkdir()
    subprocess.run(["strip", "-o", holder, binary], check=True)
    assert not gsym.embed(path, holder).variables_dropped
    gsym.extract(holder, back)
    assert back.read_bytes() == path.read_bytes()
    gsym.merge_files([holder], back)
    assert names_in(back) == names_in(path)
    log = tmp_path / "a.log"
    log.write_bytes(log_of(binary, "flag"))
    main(["filter", "--context=elide", f"--gsym-dir={holder.parent}", str(log)])
    assert capfdbinary.readouterr().out == b"flag\n"


def test_embedding_reports_that_variables_are_left_out(
    binary: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, target = tmp_path / "a.gsym", tmp_path / "a.so"
    gsym.convert(binary, path, data_symbols=True)
    assert gsym.embed(path, binary, target, share_strings=True).variables_dropped
    options = ["--share-strings", "-o", str(target)]
    assert main(["embed", *options, str(path), str(binary)]) == 0
    assert "loses its variables" in capsys.readouterr().err
    gsym.convert(binary, path)
    assert not gsym.embed(path, binary, target, share_strings=True).variables_dropped


def test_a_store_keeps_variables_of_what_has_them(binary: Path, tmp_path: Path) -> None:
    store, path = tmp_path / "store", tmp_path / "a.gsym"
    sym = tmp_path / "b.sym"
    sym.write_text(f"MODULE Linux x86_64 {'1' * 33} b\nPUBLIC 10 0 g\n")
    options = ["store", "add", f"--store={store}", "--quiet"]
    assert main([*options, str(binary)]) == 0
    assert not any(map(names_in, store.rglob("*.gsym")))
    assert main([*options, "--data-symbols", str(binary), str(sym)]) == 0
    assert {"counter"} <= set().union(*map(names_in, store.rglob("*.gsym")))
    gsym.convert(binary, path, data_symbols=True)
    other = tmp_path / "other"
    assert main(["store", "add", f"--store={other}", "--quiet", str(path)]) == 0
    assert {"counter"} <= set().union(*map(names_in, other.rglob("*.gsym")))


@pytest.mark.parametrize("option", [[], ["--data-symbols"]])
def test_imported_and_prefetched_modules_have_variables_on_request(
    option: list[str], compiler: str, tmp_path: Path
) -> None:
    build_id = "ab" * 20
    tree = tmp_path / "tree"
    debug_file = tree / f".build-id/ab/{build_id[2:]}.debug"
    debug_file.parent.mkdir(parents=True)
    compiled(compiler, tmp_path, build_id).rename(debug_file)
    wanted = tmp_path / "list"
    wanted.write_text(f"{build_id}\n")
    for place in (["import", str(tree)], ["prefetch", str(wanted), f"--source={tree}"]):
        store = tmp_path / place[0]
        assert main(["store", *place, f"--store={store}", "--quiet", *option]) == 0
        (made,) = {path.resolve() for path in store.rglob("*.gsym")}
        assert ("counter" in names_in(made)) == bool(option)


def test_llvm_gsymutil_ignores_them(
    binary: Path, tmp_path: Path, llvm_gsymutil: str
) -> None:
    path, plain = tmp_path / "a.gsym", tmp_path / "plain.gsym"
    gsym.convert(binary, path, data_symbols=True)
    gsym.convert(binary, plain)
    shown = []
    for each in (path, plain):
        done = subprocess.run(
            [llvm_gsymutil, each], check=True, capture_output=True, text=True
        )
        shown.append(done.stdout.replace(str(each), ""))
    assert shown[0] == shown[1]


def test_a_log_has_variables_without_the_binary(
    binary: Path, tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    path = tmp_path / ".build-id/ab/cdef.gsym"
    path.parent.mkdir(parents=True)
    assert main(["convert", "--data-symbols", str(binary), "-o", str(path)]) == 0
    log = tmp_path / "a.log"
    log.write_bytes(log_of(binary, "counter", "f"))
    capfdbinary.readouterr()
    main(["filter", "--context=elide", f"--gsym-dir={tmp_path}", str(log)])
    assert capfdbinary.readouterr().out == b"counter f\n"


@pytest.mark.parametrize("size", [0, 8, 15, 16, 17])
def test_a_file_too_small_for_the_part_has_none(size: int, tmp_path: Path) -> None:
    footer = b"GSYMDATA" + (1 << 20).to_bytes(8, "little")
    data = (b"x" + footer)[-size:] if size else b""
    assert data_part_start(data, size) == -1
    path = tmp_path / "a.gsym"
    path.write_bytes(data)
    assert open_data_part(str(path)) is None


def test_a_damaged_part_answers_nothing(binary: Path, tmp_path: Path) -> None:
    path = tmp_path / "a.gsym"
    gsym.convert(binary, path, data_symbols=True)
    data = bytearray(path.read_bytes())
    start = data_part_start(data, len(data))
    data[start : start + 4] = b"\0\0\0\0"
    path.write_bytes(data)
    assert open_data_part(str(path)) is None
    with gsym.open(path) as reader:
        assert len(reader)
