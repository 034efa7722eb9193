"""Fetched files converted by confined processes: as `add_file` does it."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple
from unittest.mock import Mock

import pytest

import gsym.reading.reader
from gsym.confined.adding import (
    ConfinedAdder,
    _is_companion,
    describe,
    is_file_in,
    publish_described,
    read_descriptions,
)
from gsym.confined.binaries import ConfinedBinaries
from gsym.confined.confinement import ChildLimits
from gsym.confined.process import ConfinedError, run_confined
from gsym.errors import FormatError, GsymError, UuidMismatchError
from gsym.modules.key import ModuleKey, elf_debug_id, key_of_build_id
from gsym.modules.part import module_part_start
from gsym.server.modules import make_symbolizer
from gsym.server.settings import Settings
from gsym.store.adding import add_file
from gsym.store.directory import Store
from tests.inputs import elf
from tests.inputs.dies import Die
from tests.inputs.dwarf import Dwarf
from tests.inputs.dwarf_constants import At, Form, Tag
from tests.inputs.split import split_unit
from tests.store_modules import build_id, key, write_sym

if TYPE_CHECKING:
    from gsym.store.publication import Publication

pytestmark = [pytest.mark.long, pytest.mark.confined]

ADD = ConfinedAdder(ChildLimits(), 1 << 30)


def added(
    folder: Path, path: Path, source: str = "", adder: ConfinedAdder = ADD
) -> Publication:
    """Add a file as module 1 to the store in *folder*."""
    store = Store(folder / "store")
    return adder(store, str(path), key=key(1), identity=ModuleKey(), source=source)


def binary(number: int) -> bytes:
    return elf.Elf(
        sections=(elf.code_section(0x1000, 0x20),),
        segments=(elf.Segment(0),),
        symbols=(elf.Symbol(f"f{number}", 0x1000, 0x20),),
        build_id=build_id(number),
    ).to_bytes()


@pytest.mark.parametrize("kind", ["elf", "sym"])
def test_the_module_is_the_one_that_add_file_puts_there(
    tmp_path: Path, kind: str
) -> None:
    path = tmp_path / "libmine.so"
    if kind == "elf":
        path.write_bytes(binary(1))
    else:
        write_sym(path, 1)
    known = ModuleKey(code_file="mine")
    confined, free = (
        add(Store(tmp_path / name), str(path), key=key(1), identity=known, source="x")
        for name, add in (("confined", ADD), ("free", add_file))
    )
    one, other = (
        each.entry._replace(path="", size=0, added=0.0) for each in (confined, free)
    )
    assert one == other
    first, second = (Path(each.entry.path).read_bytes() for each in (confined, free))
    assert first == second
    assert list((tmp_path / "confined" / ".tmp").iterdir()) == []


def test_a_file_of_another_module_is_refused(tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(binary(2))
    with pytest.raises(UuidMismatchError):
        added(tmp_path, tmp_path / "x")


@pytest.mark.parametrize("data", [b"", b"\x7fELF" + bytes(100), b"MYSG"])
def test_a_file_that_is_not_a_module_is_refused(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "x").write_bytes(data)
    with pytest.raises(GsymError):
        added(tmp_path, tmp_path / "x")


def test_a_process_out_of_memory_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(binary(1))
    add = ConfinedAdder(ChildLimits(memory=1 << 20), 1 << 30)
    with pytest.raises((ConfinedError, GsymError)):
        added(tmp_path, tmp_path / "x", adder=add)


SOUND = {
    "path": "m.gsym",
    "identity": ["Linux", "x86_64", "1" * 33],
    "uuid": "ab",
    "quality": [1, 2],
    "originals": {},
    "missing": [],
    "wanted": [],
}


@pytest.mark.parametrize(
    "change",
    [
        {"path": "/etc/passwd"},
        {"path": "link.gsym"},
        {"path": "../outside"},
        {"path": "folder"},
        {"path": "m.gsym\0"},
        {"path": None},
        {"identity": ["a"] * 10},
        {"identity": 3},
        {"uuid": "zz"},
        {"quality": [1]},
        {"originals": {"sym": "/etc/passwd"}},
        {"originals": {"other": "m.gsym"}},
        {"originals": ["m.gsym"]},
        {"missing": 3},
        {"wanted": 3},
    ],
)
def test_a_forged_description_is_refused(
    tmp_path: Path, change: dict[str, object]
) -> None:
    place = tmp_path / "place"
    place.mkdir()
    (place / "m.gsym").write_bytes(b"")
    (place / "folder").mkdir()
    (tmp_path / "outside").write_bytes(b"")
    (place / "link.gsym").symlink_to(tmp_path / "outside")
    rows = [{**SOUND, **change}]
    for row in rows:
        if isinstance(row["path"], str):
            row["path"] = str(place) + "/" + row["path"]
        if row["originals"] == {"other": "m.gsym"}:
            row["originals"] = {"other": str(place / "m.gsym")}
    with pytest.raises(FormatError):
        read_descriptions(rows, str(place))
    sound = {**SOUND, "path": str(place / "m.gsym")}
    assert read_descriptions([sound], str(place))[0].uuid == b"\xab"


@pytest.mark.parametrize("modules", [None, [], [SOUND] * 2, [{**SOUND, "path": None}]])
def test_a_forged_answer_adds_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, modules: object
) -> None:
    run = Mock(return_value={"modules": modules})
    monkeypatch.setattr("gsym.confined.adding.run_confined", run)
    with pytest.raises(FormatError):
        added(tmp_path, tmp_path / "x")
    assert Store(tmp_path / "store").get(key(1)) is None


FACTS: list[Any] = [[[""] * 9], ["executable"], "", [0, 4]]


@pytest.mark.parametrize(
    ("task", "answer"),
    [
        ("facts", {}),
        ("facts", {"facts": FACTS[:3]}),
        ("facts", {"facts": [*FACTS[:3], [0]]}),
        ("facts", {"facts": [*FACTS[:3], ["x", 4]]}),
        ("facts", {"facts": [*FACTS[:3], [0, 5]]}),
        ("facts", {"facts": [*FACTS[:3], [-1, 4]]}),
        ("facts", {"facts": [[["a"] * 10], *FACTS[1:]]}),
        ("facts", {"facts": [3, *FACTS[1:]]}),
        ("index", {}),
        ("index", {"binaries": 3}),
        ("index", {"binaries": [[1]]}),
        ("extract", {}),
        ("extract", {"file": "/etc/passwd"}),
    ],
)
def test_a_forged_answer_about_a_binary_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, task: str, answer: dict[str, Any]
) -> None:
    run = Mock(return_value=answer)
    monkeypatch.setattr("gsym.confined.binaries.run_confined", run)
    path, target = tmp_path / "x", tmp_path / "target"
    path.write_bytes(bytes(4))
    confined = ConfinedBinaries(Store(tmp_path / "store"), ChildLimits(), 1 << 30)
    rest = (0, str(target)) if task == "extract" else ()
    with pytest.raises(FormatError):
        getattr(confined, task)(str(path), *rest)
    assert not target.exists()


def test_a_file_with_a_damaged_record_is_not_published_nor_what_came_with_it(
    tmp_path: Path,
) -> None:
    made = Store(tmp_path / "made")
    write_sym(tmp_path / "a.sym", 1)
    entry = add_file(made, tmp_path / "a.sym", key=key(1)).entry
    store = Store(tmp_path / "store")
    (module,) = read_descriptions([describe(entry)], made.path)
    path = tmp_path / "made" / "damaged.gsym"
    data = bytearray(Path(entry.path).read_bytes())
    data[module_part_start(data, len(data)) - 1] ^= 0xFF  # of the last record
    path.write_bytes(data)
    damaged = module._replace(path=str(path))
    both = [module, damaged]
    with pytest.raises(FormatError):
        publish_described(store, both, source="", keys=[None, None])
    assert store.get(key(1)) is None
    (published,) = publish_described(store, [module], source="", keys=[None])
    assert published is not None
    assert published.outcome == "added"


def test_a_file_of_another_build_than_its_description_is_not_published(
    tmp_path: Path,
) -> None:
    made = Store(tmp_path / "made")
    write_sym(tmp_path / "a.sym", 1)
    entry = add_file(made, tmp_path / "a.sym", key=key(1)).entry
    (module,) = read_descriptions([describe(entry)], made.path)
    other = build_id(2)
    named = module.identity._replace(
        debug_id=elf_debug_id(other, "little"), code_id=other.hex().upper()
    )
    store = Store(tmp_path / "store")
    described = module._replace(identity=named, uuid=other)
    with pytest.raises(UuidMismatchError, match="is not of it: its build id is "):
        publish_described(store, [described], source="", keys=[None])
    assert not store.exists()


def test_a_linked_folder_is_outside(tmp_path: Path) -> None:
    (tmp_path / "inside").mkdir()
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "x").write_bytes(b"")
    (tmp_path / "inside" / "way").symlink_to(tmp_path / "outside")
    assert not is_file_in(str(tmp_path / "inside/way/x"), str(tmp_path / "inside"))
    assert is_file_in(str(tmp_path / "outside/x"), str(tmp_path / "outside"))


# ---- debug information in further files


class SplitBinary(NamedTuple):
    """A binary of the module 1 whose functions are in a .dwo file of another folder."""

    path: Path
    dwo: Path
    dwo_data: bytes

    @property
    def source(self) -> str:
        return str(self.path.parent)


@pytest.fixture
def split(tmp_path: Path) -> SplitBinary:
    (tmp_path / "bin").mkdir()
    (tmp_path / "objects").mkdir()
    dwo = tmp_path / "objects" / "a.dwo"
    fields = {At.low_pc: Form.addrx(0x1000), At.high_pc: Form.data4(0x10)}
    function = Die(Tag.subprogram, {At.name: "in_dwo", **fields})
    dwarf = Dwarf([split_unit(function, version=5, dwo_id=7, dwo_name=str(dwo))])
    sections = [elf.Section(name, data) for name, data in dwarf.sections().items()]
    path = tmp_path / "bin" / "app"
    path.write_bytes(
        elf.Elf(
            [elf.code_section(), *sections],
            symbols=[elf.Symbol("in_binary", 0x1800, 0x10)],
            build_id=build_id(1),
        ).to_bytes()
    )
    (units,) = dwarf.split_sections()
    parts = [elf.Section(f"{name}.dwo", data) for name, data in units.items()]
    data = elf.Elf(parts, type=elf.RELOCATABLE).to_bytes()
    dwo.write_bytes(data)
    return SplitBinary(path, dwo, data)


def functions(path: str) -> list[str]:
    with gsym.reading.reader.open(path) as reader:
        return [each.name for each in reader.functions()]


def test_split_units_elsewhere_are_read_for_a_folder_that_the_operator_named(
    tmp_path: Path, split: SplitBinary
) -> None:
    settings = Settings(store=str(tmp_path / "store"), sources=[split.source])
    module = make_symbolizer(settings).open(key(1))
    assert module.entry is not None
    assert functions(module.entry.path) == ["in_dwo", "in_binary"]
    assert module.entry.missing == ()


def test_paths_in_a_fetched_file_are_not_followed(
    tmp_path: Path, split: SplitBinary
) -> None:
    entry = added(tmp_path, split.path, "https://symbols.example/app").entry
    assert functions(entry.path) == ["in_binary"]
    assert "1 split unit not found" in entry.missing[0]


def test_paths_in_a_debug_file_do_not_reach_files_without_debug_information(
    tmp_path: Path, split: SplitBinary, monkeypatch: pytest.MonkeyPatch
) -> None:
    split.dwo.write_text("private")
    allowed: list[str] = []

    def run(*order: object, **given: list[str]) -> object:
        allowed.extend([*given["readable"], *given["companions"]])
        return run_confined(*order, **given)  # type: ignore[arg-type]

    monkeypatch.setattr("gsym.confined.adding.run_confined", run)
    found = added(tmp_path, split.path, str(split.path))
    assert set(allowed) == {split.source, str(split.path)}
    assert functions(found.entry.path) == ["in_binary"]


def test_paths_in_a_debug_file_do_not_reach_files_of_the_kernel(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: list[str] = []
    monkeypatch.setattr("gsym.confined.adding.recognise_file", asked.append)
    assert not any(map(_is_companion, ["/proc/version", __file__]))
    assert asked == [__file__]


def test_a_module_without_its_split_units_is_incomplete(
    tmp_path: Path, split: SplitBinary, caplog: pytest.LogCaptureFixture
) -> None:
    split.dwo.unlink()
    settings = Settings(store=str(tmp_path / "store"), sources=[split.source])
    with caplog.at_level(logging.WARNING, "gsym.server"):
        entry = make_symbolizer(settings).open(key(1)).entry
    assert entry is not None
    assert f"{split.dwo}: not there" in entry.missing[0]
    assert f"{split.path} is incomplete: {entry.missing[0]}" in caplog.messages
    split.dwo.write_bytes(split.dwo_data)
    again = add_file(Store(tmp_path / "store"), split.path)
    assert (again.outcome, again.entry.missing) == ("replaced", ())


def test_a_link_to_a_debug_file_outside_of_the_folder_is_followed(
    tmp_path: Path, split: SplitBinary
) -> None:
    identifier = build_id(1).hex()
    link = tmp_path / "debug" / ".build-id" / identifier[:2] / f"{identifier[2:]}.debug"
    link.parent.mkdir(parents=True)
    link.symlink_to(split.path)
    settings = Settings(
        store=str(tmp_path / "store"), sources=[str(tmp_path / "debug")]
    )
    module = make_symbolizer(settings).open(key_of_build_id(build_id(1)))
    assert module.reason == ""
    assert module.entry is not None
    assert functions(module.entry.path) == ["in_dwo", "in_binary"]
