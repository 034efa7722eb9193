"""Debug files of any names in a folder."""

from __future__ import annotations

import os
import shutil
from typing import TYPE_CHECKING

import pytest

import gsym
from gsym.errors import NotFoundError, SourceError
from gsym.modules.key import ModuleKey, key_of_build_id, key_of_debug_id
from gsym.store.loose_files import LooseFiles
from tests.symbol_files import debug_id, key, symbols

if TYPE_CHECKING:
    from pathlib import Path

BUILD_ID = bytes(range(1, 21))
ELF_ID = "04030201060508070" + "90A0B0C0D0E0F100"


def test_a_file_is_found_by_its_contents(tmp_path: Path) -> None:
    (tmp_path / "deep").mkdir()
    file = tmp_path / "deep" / "any name.txt"
    file.write_bytes(symbols())
    (tmp_path / "readme").write_text("no debug file")
    source = LooseFiles(str(tmp_path))
    assert source.find(key(), "").path == str(file)
    other = key_of_debug_id("another name", debug_id().lower())
    assert source.find(other, "").path == str(file)
    with pytest.raises(NotFoundError, match="searched 2 files"):
        source.find(key(1), "")


def test_a_gsym_file_is_found_by_every_id_of_its_uuid(tmp_path: Path) -> None:
    for name, uuid in (("elf", BUILD_ID), ("pe", BUILD_ID[:16])):
        with gsym.Creator(uuid=uuid, base_address=0) as creator:
            creator.add(gsym.FunctionInfo(0x100, 0x10, "f"))
            creator.save(tmp_path / f"{name}.gsym")
    source = LooseFiles(str(tmp_path))
    for name, found in (
        ("elf", key_of_build_id(BUILD_ID)),
        ("pe", ModuleKey("x", ELF_ID[:32] + "a3")),  # with an age
    ):
        assert source.find(found, "").path == str(tmp_path / f"{name}.gsym"), found


def test_file_added_later_is_found(tmp_path: Path) -> None:
    source = LooseFiles(str(tmp_path), rescan_seconds=-1)
    with pytest.raises(NotFoundError):
        source.find(key(), "")
    (tmp_path / "x.sym").write_bytes(symbols())
    assert source.find(key(), "").path == str(tmp_path / "x.sym")
    (tmp_path / "x.sym").unlink()
    with pytest.raises(NotFoundError):
        source.find(key(), "")


def test_a_file_that_differs_in_nothing_but_its_contents_is_read_anew(
    tmp_path: Path,
) -> None:
    """As a reproducible build of the next revision, with the time of its sources."""
    source = LooseFiles(str(tmp_path), rescan_seconds=-1)
    for number in range(2):
        file = tmp_path / "app.sym"
        file.unlink(missing_ok=True)
        (tmp_path / f"other{number}").write_bytes(b"takes the inode")
        file.write_bytes(symbols(number))
        os.utime(file, (1, 1))
        assert source.find(key(number), "").path == str(file)


def test_hidden_and_deep_folders_are_passed_over(tmp_path: Path) -> None:
    for place in (".hidden", "a/b/c"):
        (tmp_path / place).mkdir(parents=True)
        (tmp_path / place / "x.sym").write_bytes(symbols())
    with pytest.raises(NotFoundError):
        LooseFiles(str(tmp_path), max_depth=2).find(key(), "")
    place = str(tmp_path / "a/b/c/x.sym")
    assert LooseFiles(str(tmp_path)).find(key(), "").path == place


def test_damaged_files_are_ignored(tmp_path: Path) -> None:
    (tmp_path / "empty").touch()
    (tmp_path / "cut.sym").write_bytes(b"MODULE Linux x86_64 12 x\n")
    (tmp_path / "cut.elf").write_bytes(b"\x7fELF\x02\x01\x01")
    (tmp_path / "cut.gsym").write_bytes(b"MYSG")
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    (tmp_path / "x.sym").write_bytes(symbols())
    assert LooseFiles(str(tmp_path)).find(key(), "").path.endswith("x.sym")


def test_a_missing_folder_is_an_error(tmp_path: Path) -> None:
    source = LooseFiles(str(tmp_path / "x"))
    with pytest.raises(SourceError, match="does not exist"):
        source.find(key(), "")
    shutil.copytree(tmp_path, tmp_path / "x", dirs_exist_ok=False)
    with pytest.raises(NotFoundError):
        source.find(key(), "")


def test_files_are_found_by_name_with_usual_suffixes(tmp_path: Path) -> None:
    names = ["a/app.exe", ".libs/app", "b/app", "b/nf-x.ko", ".git/app", "c/lib.sym"]
    names += ["d/nf-x.ko.debug", "d/nf.ko.debug"]
    for number, name in enumerate(names):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        rows = b"PUBLIC 1000 0 f\n" * number
        (tmp_path / name).write_bytes(symbols() + rows)
    source = LooseFiles(str(tmp_path))
    wanted = {
        "app": ["b/app", ".libs/app", "a/app.exe"],
        "app.exe": ["a/app.exe"],
        "nf_x": ["d/nf-x.ko.debug", "b/nf-x.ko"],
        "nf": ["d/nf.ko.debug"],
        "lib.pdb": ["c/lib.sym"],
        "lib": ["c/lib.sym"],
    }
    for name, found in wanted.items():
        assert source.named(name) == [str(tmp_path / each) for each in found]


@pytest.mark.parametrize(
    "data",
    [
        b"text",
        b"a text with\nMODULE Linux x86_64 12 x\n",
        b"\x7fELF\x02\x01\x01",
        b"MYSG",
        b"!<arch>\ndebian-binary   ",
        b"\xed\xab\xee\xdb" + bytes(96),
    ],
    ids=["text", "text with a line", "ELF", "GSYM", "deb", "rpm"],
)
def test_what_is_no_debug_file_is_not_found_by_name(
    tmp_path: Path, data: bytes
) -> None:
    (tmp_path / "app").write_bytes(data)
    (tmp_path / "app.exe").write_bytes(symbols())
    source = LooseFiles(str(tmp_path))
    assert source.named("app") == [str(tmp_path / "app.exe")]


def test_a_file_of_any_name_is_found_by_the_name_that_its_module_has(
    tmp_path: Path,
) -> None:
    (tmp_path / "1f3c").write_bytes(symbols(name="libx.so"))
    source = LooseFiles(str(tmp_path), rescan_seconds=0)
    assert source.named("libx.so") == [str(tmp_path / "1f3c")]
    assert source.named("liby.so") == []
    (tmp_path / "libx.so.sym").write_bytes(symbols(name="libx.so"))
    assert source.named("libx.so") == [str(tmp_path / "libx.so.sym")]
