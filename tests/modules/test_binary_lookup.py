"""Which GSYM file answers for a binary, and where one that is made is kept."""

from __future__ import annotations

import errno
import os
import shutil
import subprocess
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import gsym
from gsym.cli.main import main
from gsym.conversion.identity import compare_binary
from gsym.modules import binary_conversion
from gsym.modules.binary_lookup import BinarySearch, FoundGsym, find_gsym
from tests.companions import ID, ID_PATH, OTHER_ID, debug_file, place, stripped
from tests.inputs.elf import CODE, Elf, Section
from tests.inputs.macho import ARM64, X86_64, Macho, Symbol, code, fat
from tests.inputs.split_examples import build

if TYPE_CHECKING:
    from collections.abc import Callable

SEARCH = BinarySearch(debug_file_directories=())


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of what is made."""
    folder = tmp_path / "cache"
    monkeypatch.setenv("GSYM_CACHE_DIR", str(folder))
    return folder


def made(cache: Path) -> list[Path]:
    return sorted(cache.rglob("*.gsym"))


def names(found: FoundGsym) -> list[str]:
    assert found.reader is not None
    return [function.name for function in found.reader.functions()]


def file_beside(path: str, name: str, uuid: bytes) -> str:
    """A GSYM file of one function beside a binary."""
    with gsym.Creator(uuid=uuid) as creator:
        creator.add(gsym.FunctionInfo(0x1000, 0x10, name))
        creator.save(f"{path}.gsym")
    return f"{path}.gsym"


def test_a_gsym_file_answers_for_itself(tmp_path: Path) -> None:
    path = file_beside(str(tmp_path / "app"), "itself", ID)
    assert names(find_gsym(path)) == ["itself"]


def test_a_binary_that_holds_one_is_not_converted(tmp_path: Path, cache: Path) -> None:
    text = Section(".text", bytes(16), flags=CODE, address=0x1000)
    path = place(tmp_path / "app", Elf([text], build_id=ID).to_bytes())
    gsym.embed(file_beside(path, "embedded", ID), path)
    file_beside(path, "beside", ID)
    assert names(find_gsym(path)) == ["embedded"]
    assert made(cache) == []


def test_a_file_beside_the_binary_is_used(tmp_path: Path, cache: Path) -> None:
    path = place(tmp_path / "app", stripped(build_id=ID))
    file_beside(path, "beside", ID)
    found = find_gsym(path, SEARCH)
    assert names(found) == ["beside"]
    assert found.notes == ()
    assert made(cache) == []


COUNT_OPENS = """
import sys

import gsym

opened = []
sys.addaudithook(lambda event, given: event == "open" and opened.append(given[0]))
gsym.lookup(sys.argv[1], 0x1000)
print(opened.count(sys.argv[1]))
"""


def test_a_binary_is_opened_once(tmp_path: Path) -> None:
    path = place(tmp_path / "app", debug_file(ID))
    for _ in ("converted", "from the cache"):
        command = [sys.executable, "-c", COUNT_OPENS, path]
        assert subprocess.check_output(command) == b"1\n"


def test_the_slice_of_a_fat_binary_is_chosen(tmp_path: Path) -> None:
    slices = [
        ((cpu, kind), Macho([code()], [Symbol(f"_{name}", 0x1000)]).to_bytes())
        for cpu, kind, name in ((X86_64, 3, "intel"), (ARM64, 0, "arm"))
    ]
    path = place(tmp_path / "app", fat(*slices))
    with gsym.open(path, arch="arm64") as reader:
        assert [function.name for function in reader.functions()] == ["arm"]
    with pytest.raises(gsym.ArchitectureError, match="choose one architecture"):
        gsym.open(path)
    with pytest.raises(gsym.ArchitectureError, match="riscv64"):
        gsym.open(path, arch="riscv64")


def test_an_architecture_of_a_gsym_file_is_said_to_be_unused(tmp_path: Path) -> None:
    path = file_beside(str(tmp_path / "app"), "itself", ID)
    with pytest.warns(UserWarning, match="arm64 is not used, as a GSYM file has no"):
        gsym.open(path, arch="arm64").close()


def test_a_file_beside_a_binary_is_compared_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    compared, search = [], SEARCH._replace(partial=True)

    def compare(*arguments: object) -> object:
        compared.append(arguments)
        return compare_binary(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr("gsym.conversion.identity.compare_binary", compare)
    for name in ("_TICK", "_COARSE_TICK"):  # no file may be changed without notice
        monkeypatch.setattr(f"gsym.modules.conversion_cache.{name}", 0)
    path = place(tmp_path / "app", stripped(build_id=ID))
    beside = file_beside(path, "beside", ID)
    for _ in range(3):
        found = find_gsym(path, search)
        assert (names(found), found.origin, found.notes) == (["beside"], beside, ())
        assert len(compared) == 1
    assert names(find_gsym(path, search._replace(beside=False))) == ["in_binary"]
    # One of another build takes its place.
    other = file_beside(str(tmp_path / "x"), "another", OTHER_ID)
    os.utime(other, ns=(0, Path(beside).stat().st_mtime_ns))
    Path(other).replace(beside)
    for _ in range(2):
        assert names(find_gsym(path, search)) == ["in_binary"]
    # Or the binary is replaced.
    place(tmp_path / "app", stripped(build_id=OTHER_ID))
    assert names(find_gsym(path, search)) == ["another"]


def test_a_file_in_a_folder_of_gsym_files_is_used(tmp_path: Path) -> None:
    path = place(tmp_path / "app", stripped(build_id=ID))
    place(tmp_path / "files/app.gsym", b"")
    shutil.move(file_beside(path, "kept apart", ID), tmp_path / "files/app.gsym")
    search = SEARCH._replace(gsym_directories=(str(tmp_path / "files"),))
    assert names(find_gsym(path, search)) == ["kept apart"]
    assert names(find_gsym(path, search._replace(beside=False))) == ["in_binary"]


def test_a_file_of_another_build_is_skipped_with_a_note(tmp_path: Path) -> None:
    path = place(tmp_path / "app", stripped(build_id=ID))
    stale = file_beside(path, "stale", OTHER_ID)
    found = find_gsym(path, SEARCH)
    assert names(found) == ["in_binary"]
    (note,) = found.notes
    assert note.startswith(f"{stale} is not used: its build id is {OTHER_ID.hex()}")
    assert ID.hex() in note


def test_a_damaged_file_is_skipped_with_a_note(tmp_path: Path) -> None:
    path = place(tmp_path / "app", stripped(build_id=ID))
    place(tmp_path / "app.gsym", b"MYSG and no more")
    found = find_gsym(path, SEARCH)
    assert names(found) == ["in_binary"]
    assert len(found.notes) == 1


@pytest.mark.parametrize("build_id", [ID, None])
def test_a_converted_file_is_cached(
    build_id: bytes | None,
    tmp_path: Path,
    cache: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    path = place(tmp_path / "app", stripped(build_id=build_id))
    assert names(find_gsym(path, SEARCH)) == ["in_binary"]
    assert len(made(cache)) == 1
    monkeypatch.setattr("gsym.conversion.job.convert", None)
    assert names(find_gsym(path, SEARCH)) == ["in_binary"]


def test_a_debug_file_that_came_later_is_read(tmp_path: Path) -> None:
    path = place(tmp_path / "app", stripped(build_id=ID))
    search = SEARCH._replace(debug_file_directories=(str(tmp_path / "lib"),))
    assert names(find_gsym(path, search)) == ["in_binary"]
    place(tmp_path / f"lib/{ID_PATH}", debug_file(ID))
    assert "in_debug" in names(find_gsym(path, search))


def test_a_damaged_file_in_the_cache_is_replaced(tmp_path: Path, cache: Path) -> None:
    path = place(tmp_path / "app", stripped(build_id=ID))
    find_gsym(path, SEARCH)
    (kept,) = made(cache)
    kept.write_bytes(b"")
    assert names(find_gsym(path, SEARCH)) == ["in_binary"]
    assert kept.stat().st_size > 0


def test_without_a_writable_cache_nothing_is_kept(tmp_path: Path, cache: Path) -> None:
    cache.write_text("a file is in the way")
    path = place(tmp_path / "app", stripped(build_id=ID))
    assert names(find_gsym(path, SEARCH)) == ["in_binary"]


def test_a_binary_without_functions_has_no_reader(tmp_path: Path) -> None:
    path = place(tmp_path / "app", stripped(symbols=()))
    found = find_gsym(path, SEARCH)
    assert (found.reader, found.notes) == (None, ())


def test_a_file_that_is_not_a_binary_is_refused(tmp_path: Path) -> None:
    path = place(tmp_path / "app", b"no binary")
    with pytest.raises(gsym.GsymError, match="app"):
        find_gsym(path, SEARCH)
    with pytest.raises(FileNotFoundError):
        find_gsym(f"{path}.not")


def test_a_split_unit_that_arrives_later_is_read(tmp_path: Path) -> None:
    built = build("in_split")
    path = place(tmp_path / "app", built.binary)
    with pytest.warns(UserWarning, match=r"\.dwo"):
        before = [each.name for each in gsym.open(path)]
    place(tmp_path / "app.dwp", built.package)
    with gsym.open(path) as reader:
        assert "in_split" in [each.name for each in reader]
    assert "in_split" not in before


def test_a_cache_that_is_read_only_is_used(
    tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = place(tmp_path / "app", stripped(build_id=ID))
    find_gsym(path, SEARCH)

    def refuse(_path: str) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "utime", refuse)
    found = find_gsym(path, SEARCH)
    assert found.reader is not None
    assert found.origin == f"{made(cache)[0]}, from the cache"


# ---- the public calls


def test_a_binary_is_opened_as_its_gsym_file_is(tmp_path: Path, cache: Path) -> None:
    path = place(tmp_path / "app", debug_file(ID))
    with gsym.open(path) as reader:
        start = next(iter(reader)).start
    found = gsym.lookup(path, start, ID)
    assert found is not None
    assert found == gsym.lookup(made(cache)[0], start)
    assert gsym.lookup(path, 0) is None
    assert len(made(cache)) == 1
    with pytest.raises(gsym.UuidMismatchError):
        gsym.open(path, OTHER_ID)


def test_a_file_of_another_build_is_a_warning(tmp_path: Path) -> None:
    path = place(tmp_path / "app", stripped(build_id=ID))
    file_beside(path, "stale", OTHER_ID)
    with pytest.warns(UserWarning, match="is not used: its build id"):
        gsym.open(path).close()


def test_a_binary_without_functions_is_an_error(tmp_path: Path) -> None:
    path = place(tmp_path / "app", stripped(symbols=()))
    with pytest.raises(gsym.EmptyError, match="no debug information and no symbols"):
        gsym.open(path)


def test_a_pipe_is_read_once(tmp_path: Path) -> None:
    path = tmp_path / "pipe"
    os.mkfifo(path)
    for content in (Path(file_beside(str(tmp_path / "a"), "f", ID)).read_bytes(), b""):
        writer = threading.Thread(target=path.write_bytes, args=(content,))
        writer.start()
        if content:
            assert gsym.open(path).uuid == ID
        else:
            with pytest.raises(gsym.FormatError):
                gsym.open(path)
        writer.join()


def test_of_a_link_the_file_beside_what_it_leads_to_is_used(tmp_path: Path) -> None:
    real = Path(place(tmp_path / "lib" / "liba.so.1.2", stripped(build_id=ID)))
    gsym.convert(real, tmp_path / "lib" / "liba.so.1.2.gsym")
    (tmp_path / "liba.so").symlink_to(real)
    found = find_gsym(str(tmp_path / "liba.so"), SEARCH)
    assert found.origin == f"{real}.gsym"
    gsym.convert(real, tmp_path / "liba.so.gsym")
    assert find_gsym(str(tmp_path / "liba.so"), SEARCH).origin == str(
        tmp_path / "liba.so.gsym"
    )


def test_a_full_disk_of_the_cache_ends_no_lookup(
    tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = place(tmp_path / "app", stripped(build_id=ID))
    replace = os.replace

    def full(source: str, target: str) -> None:
        if str(target).startswith(str(cache)):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), target)
        replace(source, target)

    monkeypatch.setattr(os, "replace", full)
    found = find_gsym(path, SEARCH)
    assert names(found) == ["in_binary"]
    (note,) = found.notes
    assert "No space left on device" in note
    assert "is not kept" in note
    assert not list(cache.rglob("*.gsym"))


def test_a_slice_of_a_fat_file_is_chosen(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "app"
    slices = []
    for cpu, uuid, name in (
        ((X86_64, 3), ID[:16], "old"),
        ((ARM64, 0), b"2" * 16, "new"),
    ):
        symbols = (Symbol(f"_{name}", 0x1000, 1),)
        slices.append((cpu, Macho([code()], symbols, uuid=uuid, cpu=cpu).to_bytes()))
    path.write_bytes(fat(*slices))
    for arch, name in ("x86_64", "old"), ("arm64", "new"):
        for words in ["lookup", str(path), "0x1000"], ["find", str(path), name]:
            assert main([*words, "--arch", arch]) == 0
            assert name in capsys.readouterr().out
        for verb in "dump", "stats", "verify":
            assert main([verb, str(path), "--arch", arch]) == 0
        capsys.readouterr()
        output = tmp_path / f"{arch}.sym"
        options = ["--to=breakpad", f"--output={output}"]
        assert main(["export", str(path), "--arch", arch, *options]) == 0
        assert name in output.read_text()
    assert main(["lookup", str(path), "0x1000"]) == 1
    assert "choose one architecture" in capsys.readouterr().err


def test_threads_that_convert_one_binary_keep_files_of_their_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = place(tmp_path / "app", debug_file(ID))
    both = threading.Barrier(2, timeout=60)

    def make(*arguments: object) -> object:
        report = convert(*arguments)
        both.wait()
        return report

    convert: Callable[..., object] = binary_conversion._make
    monkeypatch.setattr(binary_conversion, "_make", make)
    found: list[object] = []

    def find() -> None:
        try:
            found.append(names(find_gsym(path, SEARCH)))
        except BaseException as error:  # noqa: BLE001 - in a thread
            found.append(error)

    threads = [threading.Thread(target=find) for _ in range(2)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert found == [found[0]] * 2
    assert isinstance(found[0], list)
    assert found[0]
