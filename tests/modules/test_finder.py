"""Which file of a module answers, where several are found."""

from __future__ import annotations

from typing import TYPE_CHECKING

import gsym
from gsym.modules.finder import Finder, find_in
from gsym.modules.key import ModuleKey
from gsym.modules.places import Files
from gsym.modules.symbolizer import Symbolizer
from gsym.store.adding import add_file
from gsym.store.directory import Store
from tests.store_modules import build_id, identity, write_gsym

if TYPE_CHECKING:
    from pathlib import Path


def write_lines(path: Path) -> None:
    """A GSYM file with lines of the module 1."""
    rows = (gsym.LineEntry(0x1000, "/src/a.c", 3),)
    with gsym.Creator(uuid=build_id(1)) as creator:
        creator.add(gsym.FunctionInfo(0x1000, 0x10, "with_lines", rows))
        creator.save(str(path))


def found_by(finder: Finder) -> tuple[str, str]:
    """The function that answers, and the file that was found."""
    module = finder.open(identity(1, debug_file="any"))
    frames = module.open_reader().lookup(0x1004).frames  # type: ignore[union-attr]
    return frames[0].name, module.path


def test_a_file_with_lines_comes_before_one_with_symbols_alone(tmp_path: Path) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    for each in (first, second):
        each.mkdir()
    write_gsym(first / "bare.gsym", 1)
    assert found_by(find_in([str(first), str(second)])) == (
        "f1_1",
        str(first / "bare.gsym"),
    )
    write_lines(second / "whole.gsym")
    assert found_by(find_in([str(first), str(second)])) == (
        "with_lines",
        str(second / "whole.gsym"),
    )


def test_the_store_is_asked_for_lines_that_the_folders_lack(tmp_path: Path) -> None:
    folder, store = tmp_path / "folder", Store(tmp_path / "store")
    folder.mkdir()
    write_lines(tmp_path / "whole.gsym")
    add_file(store, tmp_path / "whole.gsym", identity=identity(1))
    finder = find_in([str(folder)], store=Symbolizer(store))
    write_gsym(folder / "bare.gsym", 1)
    assert found_by(finder) == ("with_lines", str(folder / "bare.gsym"))
    module = finder.open(identity(1))
    assert module.entry is not None
    assert module.binaries() == []


def test_all_that_was_tried_is_in_the_reason(tmp_path: Path) -> None:
    damaged = tmp_path / f"{build_id(1).hex()}.gsym"
    damaged.write_bytes(b"MYSG" + bytes(40))
    module = find_in([str(tmp_path)], [str(tmp_path / "none")]).open(identity(1))
    assert module.reader is None
    assert module.find_files is None
    assert str(damaged) in module.reason
    assert f"{tmp_path}/none: is not a folder" in module.reason


def test_a_module_without_a_file_is_searched_for_once() -> None:
    asked: list[str] = []

    def paths(_key: ModuleKey, name: str) -> list[str]:
        asked.append(name)
        return ["/none/liba.so"]

    module = Finder([Files("place", paths)]).open(ModuleKey("liba.so"))
    assert module.reader is None
    assert asked == ["liba.so"]


def test_the_path_of_a_report_may_go_up_from_a_symbolic_link(tmp_path: Path) -> None:
    (tmp_path / "real" / "deep").mkdir(parents=True)
    (tmp_path / "link").symlink_to("real/deep")
    write_gsym(tmp_path / "real" / "prog.gsym", 1)
    write_gsym(tmp_path / "prog.gsym", 2)
    path = f"{tmp_path}/./link/../prog.gsym"
    module = find_in([], at_paths=True).open(identity(1)._replace(path=path))
    assert module.path == path
    assert module.reader is not None
    plain = f"{tmp_path}/./prog.gsym"
    module = find_in([], at_paths=True).open(identity(2)._replace(path=plain))
    assert module.path == f"{tmp_path}/prog.gsym"
