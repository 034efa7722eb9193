"""Folders with several builds: which file is one of the module that was asked for."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

import pytest

import gsym
from gsym.cache import FileStamp
from gsym.conversion.identity import identify
from gsym.errors import AmbiguousModuleError, NotFoundError
from gsym.modules.key import ModuleKey, key_of_build_id
from gsym.modules.resolver import Resolver
from gsym.modules.symbolizer import Symbolizer
from gsym.store.directory import Store
from gsym.store.entries import Entry, Resolution, resolved
from gsym.store.loose_files import LooseFiles
from gsym.store.packages import PackageMember, Packages
from gsym.store.sources.foreign_layouts import SYMSTORE
from gsym.store.sources.local_trees import LocalTree
from tests.inputs.macho import Macho, Symbol, code, fat
from tests.inputs.pe import CODE, CODEVIEW, Pe, Section, codeview
from tests.server.modules import run

if TYPE_CHECKING:
    from pathlib import Path

STAMP = 0x5F3759DF  # of the writer
GUID = bytes(range(1, 17))
GUID_DIGITS = "0403020106050807090A0B0C0D0E0F10"
FIXED = bytes.fromhex("c0ffee") * 6 + b"\1\2"  # 20 bytes
LONG = bytes(range(1, 33))


def program(path: Path, function: str, build_id: bytes, *options: str) -> Path:
    """A program of gcc with one more function than others, and an id."""
    source = path.with_suffix(".c")
    source.write_text(
        f"int {function}(int x) {{ return x * {len(function)}; }}\n"
        f"int main(int n, char **v) {{ (void)v; return {function}(n); }}\n"
    )
    option = f"-Wl,--build-id=0x{build_id.hex()}"
    run("gcc", "-g", "-O1", option, *options, "-o", path, source)
    source.unlink()
    return path


def image(age: int, guid: bytes = GUID, stamp: int = STAMP) -> bytes:
    data = Pe(
        [Section(".text", bytes([age]) * 64, 0x1000, CODE)],
        image_base=0x140000000,
        debug=[(CODEVIEW, codeview(guid, age, "app.pdb"))],
    ).to_bytes()
    return data.replace(STAMP.to_bytes(4, "little"), stamp.to_bytes(4, "little"), 1)


def gsym_file(path: Path, uuid: bytes) -> Path:
    """One that says no more of its module than its UUID."""
    with gsym.Creator(uuid=uuid, base_address=0) as creator:
        creator.add(gsym.FunctionInfo(0x100, 0x10, "f"))
        creator.save(path)
    return path


def outcomes(folder: Path, key: ModuleKey) -> list[str]:
    return [
        each.comparison.outcome for each in LooseFiles(str(folder)).fitting(key, None)
    ]


def test_an_id_is_not_found_by_its_first_bytes(tmp_path: Path) -> None:
    program(tmp_path / "before", "before", FIXED)
    flipped = FIXED[:-1] + b"\3"
    assert outcomes(tmp_path, key_of_build_id(FIXED)) == ["same"]
    assert outcomes(tmp_path, key_of_build_id(flipped)) == []
    # All that a debug id has.
    debug_id = identify(tmp_path / "before").debug_id
    assert outcomes(tmp_path, ModuleKey("before", debug_id)) == ["part"]
    program(tmp_path / "after", "after", flipped)
    with pytest.raises(AmbiguousModuleError, match=r"before.*after|after.*before"):
        LooseFiles(str(tmp_path)).find(ModuleKey(debug_id=debug_id), "")
    found = LooseFiles(str(tmp_path)).find(ModuleKey("after", debug_id), "")
    assert found.path == str(tmp_path / "after")


def test_two_programs_of_one_id_are_told_apart_by_their_code(tmp_path: Path) -> None:
    alpha = program(tmp_path / "alpha", "alpha", FIXED)
    run("strip", "-o", tmp_path / "stripped", alpha)
    folder, key = LooseFiles(str(tmp_path), rescan_seconds=-1), key_of_build_id(FIXED)
    assert folder.find(key, "").path == str(alpha)
    assert [each.path for each in folder.entries()] == [str(alpha)]
    bravo = program(tmp_path / "bravo", "bravo_", FIXED)
    with pytest.raises(AmbiguousModuleError, match="its code differs") as error:
        folder.find(key, "")
    assert "alpha" in error.value.reason or "stripped" in error.value.reason
    assert str(bravo) in error.value.reason
    named = key._replace(debug_file="bravo")
    assert folder.find(named, "").path == str(bravo)
    assert str(bravo) in {each.path for each in folder.entries()}
    resolver = Resolver(Store(tmp_path / "store"), [folder])
    (attempt,) = resolver.resolve(key).attempts
    assert attempt.outcome == "refused"
    assert "several modules have this id" in attempt.detail
    bravo.unlink()
    assert folder.find(key, "").path == str(alpha)


def test_converted_files_of_one_id_are_told_apart(tmp_path: Path) -> None:
    for name, function in (("alpha", "alpha"), ("bravo", "bravo_")):
        path = program(tmp_path / name, function, FIXED)
        gsym.convert(path, f"{path}.gsym")
        path.unlink()
    folder = LooseFiles(str(tmp_path))
    with pytest.raises(AmbiguousModuleError, match=r"alpha\.gsym.*bravo\.gsym|bravo"):
        folder.find(key_of_build_id(FIXED), "")
    named = ModuleKey("alpha", code_id=FIXED.hex())
    assert folder.find(named, "").path == str(tmp_path / "alpha.gsym")


@pytest.mark.parametrize("age", [1, 2, 0x1A])
def test_an_age_is_a_part_of_an_id(age: int, tmp_path: Path) -> None:
    for each in (1, 2):
        (tmp_path / f"{each}.dll").write_bytes(image(each))
    key = ModuleKey("app.pdb", f"{GUID_DIGITS}{age:X}")
    found = LooseFiles(str(tmp_path)).find_all(key)
    assert found == ([str(tmp_path / f"{age}.dll")] if age < 3 else [])


@pytest.mark.parametrize("name", ["alpha", "bravo"])
def test_of_files_that_do_not_differ_the_named_one_is_first(
    name: str, tmp_path: Path
) -> None:
    for each in ("alpha", "bravo"):
        program(tmp_path / each, "same", FIXED)
    key = ModuleKey(name, code_id=FIXED.hex())
    assert LooseFiles(str(tmp_path)).find(key, "").path == str(tmp_path / name)


def test_an_age_that_a_file_does_not_say_is_unsure(tmp_path: Path) -> None:
    (tmp_path / "app.dll").write_bytes(image(1))
    gsym_file(tmp_path / "app.dll.gsym", GUID)
    assert len(LooseFiles(str(tmp_path)).entries()) == 2
    wanted = ModuleKey("app.pdb", f"{GUID_DIGITS}7")
    (found,) = LooseFiles(str(tmp_path)).fitting(wanted, None)
    assert found.comparison.reason == "the age of its debug id is not known"


def test_an_age_of_a_linked_dll_is_compared(tmp_path: Path) -> None:
    source = tmp_path / "dll.c"
    source.write_text("__declspec(dllexport) int f(int x) { return x + 3; }\n")
    path = tmp_path / "one.dll"
    options = ("-g", "-shared", "-Wl,--build-id")
    run("x86_64-w64-mingw32-gcc", *options, "-o", path, source)
    debug_id = identify(path).debug_id
    data = path.read_bytes()
    at = data.index(b"RSDS") + 20
    later = data[:at] + (2).to_bytes(4, "little") + data[at + 4 :]
    (tmp_path / "two.dll").write_bytes(later)
    folder = LooseFiles(str(tmp_path))
    assert debug_id.endswith("1")
    for age, name in ((1, "one.dll"), (2, "two.dll")):
        key = ModuleKey(debug_id=f"{debug_id[:-1]}{age}")
        assert folder.find_all(key) == [str(tmp_path / name)]
    gsym.convert(path, tmp_path / "one.dll.gsym")
    folder = LooseFiles(str(tmp_path))
    assert folder.find_all(ModuleKey(debug_id=f"{debug_id[:-1]}7")) == []
    first = folder.find(ModuleKey(debug_id=debug_id), "")
    assert first.path == str(tmp_path / "one.dll.gsym")


@pytest.mark.parametrize("cut", [16, 20])
def test_an_id_of_20_bytes_may_be_the_beginning_of_a_longer_one(
    cut: int, tmp_path: Path
) -> None:
    program(tmp_path / "app", "f", LONG)
    assert outcomes(tmp_path, key_of_build_id(LONG)) == ["same"]
    expected = ["part"] if cut == 20 else []
    assert outcomes(tmp_path, key_of_build_id(LONG[:cut])) == expected
    place = tmp_path / ".build-id" / LONG.hex()[:2]
    place.mkdir(parents=True)
    shutil.copy(tmp_path / "app", place / f"{LONG.hex()[2:]}.debug")
    tree = LocalTree(str(tmp_path))
    found = [*tree.find_all(key_of_build_id(LONG[:cut]))]
    assert len(found) == (cut == 20)


def test_several_files_of_a_part_of_an_id_in_a_tree(tmp_path: Path) -> None:
    place = tmp_path / ".build-id" / FIXED.hex()[:2]
    place.mkdir(parents=True)
    for last in (b"\2", b"\3"):
        name = (FIXED[:-1] + last).hex()[2:]
        program(place / f"{name}.debug", "f", FIXED[:-1] + last)
    tree = LocalTree(str(tmp_path))
    path = place / f"{FIXED.hex()[2:]}.debug"
    assert tree.find(key_of_build_id(FIXED), "").path == str(path)
    by_part = ModuleKey(debug_id=identify(path).debug_id)
    with pytest.raises(AmbiguousModuleError, match="several modules"):
        tree.find(by_part, "")


@pytest.mark.parametrize(
    "key",
    [
        ModuleKey("app.pdb", "0" * 33, "app.dll"),
        ModuleKey(code_file="app.dll", code_id="000000002000"),
        ModuleKey(code_file="app.dll", code_id="0000000012345678", os="windows"),
        ModuleKey(debug_file="app", code_id="0" * 40),
    ],
)
def test_zeros_find_nothing(key: ModuleKey, tmp_path: Path) -> None:
    (tmp_path / "copy.dll").write_bytes(image(1, bytes(16), 0))
    for each in (f"app.dll/{key.code_id or 0}", f"app.pdb/{'0' * 33}"):
        (tmp_path / each).mkdir(parents=True)
        (tmp_path / each / each.split("/")[0]).write_bytes(image(1, bytes(16), 0))
    assert LooseFiles(str(tmp_path)).find_all(key) == []
    assert [*SYMSTORE.paths(key)] == []


def test_a_build_id_may_begin_with_zeros(tmp_path: Path) -> None:
    key = ModuleKey(code_file="app", code_id="0000000012345678")
    (tmp_path / "app").write_bytes(image(1, bytes(16), 0))
    assert LooseFiles(str(tmp_path)).find_all(key) == []  # a PE file without time stamp
    assert "_.debug/elf-buildid-sym-0000000012345678/_.debug" in SYMSTORE.paths(key)
    with pytest.raises(NotFoundError):
        LocalTree(str(tmp_path)).find(key, "")


def test_the_slices_of_a_universal_file_are_found(tmp_path: Path) -> None:
    first, second = bytes(range(16)), bytes(range(1, 17))
    slices = [
        (cpu, Macho([code()], [Symbol("_f", 0x1000)], uuid=uuid).to_bytes())
        for cpu, uuid in (((0x1000007, 3), first), ((0x100000C, 0), second))
    ]
    (bundle := tmp_path / "f").mkdir()
    (bundle / "app").write_bytes(fat(*slices))
    for uuid in (first, second):
        assert outcomes(bundle, key_of_build_id(uuid)) == ["same"]
    assert outcomes(bundle, key_of_build_id(bytes(range(2, 18)))) == []


def test_a_breakpad_file_without_an_id_is_found_by_name_alone(tmp_path: Path) -> None:
    text = f"MODULE Linux x86_64 {'0' * 33} app\nFUNC 10 10 0 f\n"
    (tmp_path / "app.sym").write_text(text)
    folder = LooseFiles(str(tmp_path))
    assert folder.find_all(ModuleKey("app", "0" * 33)) == []
    assert folder.named("app") == [str(tmp_path / "app.sym")]


def test_an_open_module_does_not_answer_for_more_than_it_was_found_by(
    tmp_path: Path,
) -> None:
    path = gsym_file(tmp_path / "app.gsym", FIXED)
    found = ModuleKey("app", os="Linux", code_id=FIXED.hex().upper())
    found = found._replace(debug_id="EEFFC0C0FFC0C0EEEEFFC0EEC0FFEEC00")

    class OneModule:
        """Returns the module for any key, as if it were the right one."""

        def resolve(self, key: ModuleKey) -> Resolution:
            return resolved(key, Entry(str(path), found))

    symbolizer = Symbolizer(OneModule())
    by_part = ModuleKey("app", found.debug_id)
    module = symbolizer.open(by_part)
    assert module.reader is not None
    assert module.unsure == "only 16 of 20 bytes of its build id are known"
    whole = symbolizer.open(by_part._replace(code_id=found.code_id))
    assert (whole.reader is not None, whole.unsure) == (True, "")
    other = symbolizer.open(by_part._replace(code_id="AB" * 20))
    assert other.reader is None
    assert "build id" in other.reason
    assert (
        symbolizer.open(by_part._replace(debug_id=f"{found.debug_id}1")).reader is None
    )


def test_packages_compare_the_code_of_binaries(tmp_path: Path) -> None:
    digits = FIXED.hex()
    rows = [("/usr/bin/alpha", "1" * 32), ("/usr/bin/bravo", "2" * 32)]
    members = [
        PackageMember("x.deb", at, name, digits, ("executable",), "", code_hash)
        for at, (name, code_hash) in enumerate(rows)
    ]

    class Reader:
        """Has read the package."""

        def index(self, _path: str) -> list[PackageMember]:
            return members

        def extract(self, path: str, number: int, target: str) -> None:
            raise AssertionError((path, number, target))

    packages = Packages(Reader(), str(tmp_path))
    packages.update({"x.deb": FileStamp(0, 0)})
    packages.wait()
    with pytest.raises(AmbiguousModuleError, match=r"usr/bin/alpha and .*bravo"):
        packages.find_all(key_of_build_id(FIXED))
    (found,) = packages.find_all(ModuleKey("bravo", code_id=digits))
    assert found == members[1]
    assert packages.find_all(key_of_build_id(FIXED[:16])) == []
