"""A store tells builds apart that share an id, and never answers with another one."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import gsym
from gsym.cli.main import main
from gsym.conversion.identity import module_of, open_fitting
from gsym.errors import AmbiguousModuleError, FormatError, UuidMismatchError
from gsym.modules.key import (
    OTHER,
    PART,
    SAME,
    Comparison,
    ModuleKey,
    compare,
    key_of_build_id,
)
from gsym.net.limits import TransferLimits
from gsym.store.adding import add_file
from gsym.store.directory import Store
from gsym.store.importing import import_all, open_import_place
from gsym.store.layout import link_of_slot
from gsym.store.locking import OwnedFolder
from gsym.store.tree_adding import add_tree
from gsym.store.tree_export import export_modules
from gsym.store.verification import verify_store
from tests.conftest import find_peer
from tests.store_modules import build_id, identity, put, windows_identity, write_sym

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from gsym.store.entries import Entry
    from gsym.store.publication import Publication

    Captured = pytest.CaptureFixture[str]
    Build = Callable[..., Path]

pytestmark = pytest.mark.long

COMMIT = bytes.fromhex("00112233445566778899aabbccddeeff00112233")
FLIPPED = COMMIT[:-1] + bytes([COMMIT[-1] ^ 1])  # the last bit
COMMIT_DEBUG_ID = "33221100554477668899AABBCCDDEEFF0"


@pytest.fixture
def build(tmp_path: Path, compiler: str) -> Build:
    """Link a program of one function, which returns *value*."""

    def make(name: str, value: int, build_id: bytes = COMMIT, **choices: str) -> Path:
        function = choices.get("function", Path(name).stem)
        source = tmp_path / f"{Path(name).name}.c"
        more = choices.get("more", "")
        source.write_text(f"{more}int {function}(void) {{ return {value}; }}\n")
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        id_option = f"0x{build_id.hex()}" if build_id else "none"
        subprocess.run(
            [
                *(compiler, "-g", "-nostdlib", "-static", "-Wl,-e0"),
                *(f"-Wl,--build-id={id_option}", source, "-o", path),
            ],
            check=True,
        )
        return path

    return make


@pytest.fixture
def build_dll(tmp_path: Path) -> Build:
    """Link a DLL of one function with the tools of mingw."""
    gcc = find_peer("x86_64-w64-mingw32-gcc")

    def make(name: str, value: int, *options: str) -> Path:
        source = tmp_path / f"{value}.c"
        source.write_text(f"__declspec(dllexport) int f(void) {{ return {value}; }}\n")
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        command = [gcc, "-g", "-shared", "-nostdlib", "-Wl,-e0", *options]
        subprocess.run([*command, source, "-o", path], check=True)
        return path

    return make


def functions_of(entry: Entry | None) -> list[str]:
    assert entry is not None
    with gsym.open(entry.path) as reader:
        return [each.name for each in reader]


def found(store: Store, key: ModuleKey) -> str:
    """The function of the module of a key, "" for none, or "ambiguous"."""
    try:
        entry = store.get(key)
    except AmbiguousModuleError:
        return "ambiguous"
    return functions_of(entry)[0] if entry is not None else ""


def problems(store: Store) -> list[str]:
    return [f"{each.path}: {each.reason}" for each in verify_store(store)]


def links(store: Store) -> dict[str, str]:
    """Path of each link in a store -> the real path of the file or folder."""
    root = Path(store.path)
    return {
        path.relative_to(root).as_posix(): path.resolve().relative_to(root).as_posix()
        for path in root.rglob("*")
        if path.is_symlink()
    }


# ---- which builds are two


def _of_other_code(build: Build) -> Iterator[Path]:
    yield build("alpha", 1)
    yield build("bravo", 2)


def _of_other_names_alone(build: Build) -> Iterator[Path]:
    yield build("alpha", 1)
    yield build("bravo", 1)


def _of_an_equal_first_page(build: Build) -> Iterator[Path]:
    page = 'asm(".text\\n.byte 1\\n.fill 4095, 1, 0x90");'
    yield build("alpha", 1, b"", more=page)
    yield build("bravo", 2, b"", more=page)


def _of_go(build: Build) -> Iterator[Path]:
    """Notes as Go's linker writes them, in programs of equal code."""
    for name, go_id in (("alpha", "one/alpha"), ("bravo", "two/bravo")):
        note = (
            'asm(".section .note.go.buildid, \\"a\\"\\n.long 4, 9, 4\\n.asciz \\"Go\\"'
            f'\\n.byte 0\\n.ascii \\"{go_id}\\"\\n.text");'
        )
        yield build(name, 1, b"", more=note)


def _of_a_flipped_bit(build: Build) -> Iterator[Path]:
    """What llvm-bolt does to a build id of 20 bytes."""
    yield build("alpha", 1)
    yield build("bravo", 2, FLIPPED)


@pytest.mark.parametrize(
    ("programs", "difference"),
    [
        (_of_other_code, "its code differs"),
        (_of_other_names_alone, "its functions have other names"),
        (_of_an_equal_first_page, "its code differs"),
        (_of_go, "its Go build id is one/alpha, not two/bravo"),
        (
            _of_a_flipped_bit,
            f"its build id is {COMMIT.hex()}, not {FLIPPED.hex()}",
        ),
    ],
)
def test_two_builds_of_one_debug_id_are_two_modules(
    store: Store,
    build: Build,
    capsys: Captured,
    programs: Callable[[Build], Iterator[Path]],
    difference: str,
) -> None:
    alpha, bravo = programs(build)
    first, second = add_file(store, alpha), add_file(store, bravo)
    assert (first.outcome, second.outcome) == ("added", "added")
    assert first.entry.identity.debug_id == second.entry.identity.debug_id
    told = f"alpha of {alpha} has the same debug id, but {difference}"
    assert (first.note, second.note) == ("", told)
    debug_id = ModuleKey(debug_id=first.entry.identity.debug_id)
    with pytest.raises(AmbiguousModuleError) as caught:
        store.get(debug_id)
    for path in (alpha, bravo):
        assert f"{path.name} of {path}" in str(caught.value)
        assert "alpha" not in found(store, debug_id._replace(debug_file="bravo"))
        # Again, it is the same module.
        assert add_file(store, path).outcome == "kept"
        assert found(store, debug_id._replace(debug_file=path.name)) == path.name
    for publication in (first, second):
        name = publication.entry.identity.debug_file
        assert found(store, publication.entry.identity._replace(debug_file="")) in {
            name,
            "ambiguous" if difference.endswith("names") else name,
        }
    assert problems(store) == []
    command = ["store", "add", "--store", store.path, str(bravo)]
    assert main(command) == 0
    assert told not in capsys.readouterr().out
    store.remove(second.entry)
    assert main([*command, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["reason"] == told
    assert main(["store", "list", "--store", store.path]) == 0
    assert capsys.readouterr().out.count(debug_id.debug_id) == 2


def test_a_build_id_that_only_begins_as_another_one_has_no_module(
    store: Store, build: Build
) -> None:
    add_file(store, build("alpha", 1))
    other = COMMIT[:-1] + b"\x32"
    assert found(store, key_of_build_id(COMMIT)) == "alpha"
    assert found(store, key_of_build_id(other)) == ""
    whole = ModuleKey(debug_id=COMMIT_DEBUG_ID, code_id=other.hex())
    assert found(store, whole) == ""
    assert found(store, whole._replace(code_id="0" * 40)) == "alpha"


def test_a_program_that_bolt_rewrote_is_another_module(
    store: Store, tmp_path: Path, build: Build
) -> None:
    bolt = find_peer("llvm-bolt-19", "llvm-bolt")
    before = build("before", 1, more="int two(int a) { return a + 2; }")
    after = tmp_path / "after"
    command = [bolt, str(before), "-o", str(after), "-update-debug-sections"]
    subprocess.run(command, check=True, capture_output=True)
    ids = [gsym.identify(path).code_id for path in (before, after)]
    assert ids[0][:32] == ids[1][:32]
    assert ids[0] != ids[1]
    add_file(store, before)
    assert store.get(ModuleKey(code_id=ids[1])) is None
    add_file(store, after)
    for path, code_id in zip((before, after), ids, strict=True):
        entry = store.get(ModuleKey(code_id=code_id))
        assert entry is not None
        assert entry.source == str(path)


# ---- each by itself


def test_modules_of_one_id_and_name_come_and_go_by_themselves(
    store: Store, build: Build, tmp_path: Path
) -> None:
    paths = [build(f"{value}/app", value, function=f"f{value}") for value in (1, 2, 3)]
    entries = [add_file(store, path).entry for path in paths]
    assert len(list(store.entries())) == 3
    assert problems(store) == []
    shared = f".build-id/00/{COMMIT.hex()[2:]}.gsym"
    for count, entry in enumerate(entries, 1):
        assert found(store, entry.identity) == functions_of(entry)[0]
        # The links that other tools follow lead to one of those that are left.
        left = {each.path for each in entries[count - 1 :]}
        assert f"{store.path}/{links(store)[shared]}" in left
        store.remove(entry)
        assert len(list(store.entries())) == 3 - count
        assert problems(store) == []
    assert shared not in links(store)
    for path in paths:
        add_file(store, path)
    exported = list(export_modules(store.entries(), tmp_path / "out", kind="gsym"))
    assert [each.reason for each in exported].count("") == 1
    assert "another module of the store has this name" in exported[1].reason
    other = Store(tmp_path / "other")
    outcomes = import_all(other, open_import_place(store.path, TransferLimits()))
    assert [each.outcome for each in outcomes] == ["added"] * 3
    hashes = {each.identity.code_hash for each in store.entries()}
    assert {each.identity.code_hash for each in other.entries()} == hashes
    assert store.collect(0).removed == 3
    assert list(store.entries()) == []


def test_modules_of_one_id_are_added_at_once(
    store: Store, build: Build, tmp_path: Path
) -> None:
    values = range(1, 5)
    for value in values:
        build(f"all/app{value}", value, function=f"f{value}")
        copy = tmp_path / f"all/again{value}/app{value}"
        copy.parent.mkdir()
        copy.write_bytes((tmp_path / f"all/app{value}").read_bytes())
    outcomes = [each.outcome for each in add_tree(store, [tmp_path / "all"], jobs=8)]
    assert sorted(outcomes) == ["added"] * len(values) + ["kept"] * len(values)
    names = sorted(functions_of(each)[0] for each in store.entries())
    assert names == [f"f{value}" for value in values]
    assert problems(store) == []


def test_modules_that_differ_in_names_are_exported_each(
    store: Store, build: Build, tmp_path: Path
) -> None:
    for value, name in enumerate(("alpha", "bravo")):
        add_file(store, build(name, value))
    exported = list(export_modules(store.entries(), tmp_path / "out", kind="sym"))
    assert [each.reason for each in exported] == ["", ""]
    for name in ("alpha", "bravo"):
        text = (tmp_path / f"out/{name}/{COMMIT_DEBUG_ID}/{name}.sym").read_text()
        assert f" {name}\n" in text


def test_what_a_killed_process_left_of_a_further_module_is_removed(
    store: Store, build: Build
) -> None:
    add_file(store, build("alpha", 1))
    kept = add_file(store, build("bravo", 2)).entry
    stem = f"{store.path}/.further-entries/33/{kept.slot}."
    left = OwnedFolder(stem)
    assert problems(store) == []
    left.release()
    assert problems(store) == [f"{left.path[len(store.path) + 1 :]}: unused files"]
    list(verify_store(store, repair=True))
    assert problems(store) == []
    left = OwnedFolder(stem)
    left.release()
    add_file(store, build("charlie", 3))
    assert not Path(left.path).exists()
    assert found(store, kept.identity) == "bravo"
    # A damaged module is not that of another one.
    Path(kept.path).with_name("module.json").write_text("{}")
    fresh = Store(store.path)
    alpha = ModuleKey("alpha", COMMIT_DEBUG_ID)
    assert found(fresh, alpha) == "alpha"
    assert [each.split(":")[0] for each in problems(fresh)] == [link_of_slot(kept.slot)]


# ---- what adding again brings


def code_id_of(path: Path) -> str:
    return gsym.identify(path).code_id.upper()


@pytest.mark.parametrize("order", [1, -1])
def test_a_dll_is_found_by_the_code_ids_of_all_its_files(
    store: Store, tmp_path: Path, build_dll: Build, order: int
) -> None:
    whole = build_dll("whole/app.dll", 1, "-Wl,--build-id")
    stripped = tmp_path / "app.dll"
    strip = find_peer("x86_64-w64-mingw32-strip")
    subprocess.run([strip, whole, "-o", stripped], check=True)
    # As of another second: strip writes the time.
    data = bytearray(stripped.read_bytes())
    at = int.from_bytes(data[0x3C:0x40], "little") + 8
    data[at] ^= 0xFF
    stripped.write_bytes(data)
    files = [whole, stripped]
    assert len(set(map(code_id_of, files))) == 2
    for path in files[::order]:
        add_file(store, path)
    (entry,) = store.entries()
    assert entry.identity.code_id == code_id_of(whole)
    for path in files:
        key = ModuleKey(code_file="App.DLL", code_id=code_id_of(path))
        assert found(store, key) == "f"
        for asked in (key, key._replace(debug_id=entry.identity.debug_id)):
            got = store.get(asked)
            assert got is not None
            assert got.compare(asked).outcome == SAME
    unknown = ModuleKey(debug_id=entry.identity.debug_id, code_id="123456789000")
    assert entry.compare(unknown).outcome == PART
    assert found(store, ModuleKey(code_file="app.dll", code_id="123456789000")) == ""
    assert problems(store) == []
    other = Store(tmp_path / "other")
    list(import_all(other, open_import_place(store.path, TransferLimits())))
    assert found(other, ModuleKey(code_file="app.dll", code_id=code_id_of(stripped)))


def test_other_lines_of_a_program_without_id_are_noticed(
    store: Store, build: Build
) -> None:
    add_file(store, build("alpha", 1, b""))
    assert add_file(store, build("alpha", 1, b"")).note == ""
    rebuilt = add_file(store, build("alpha", 1, b"", more="\n\n"))
    assert rebuilt.outcome == "kept"
    assert rebuilt.note == "only its code is equal: remove it to have other lines"
    # A build id tells that they are one build.
    add_file(store, build("alpha", 1))
    assert add_file(store, build("alpha", 1, more="\n\n")).note == ""


def of_earlier_version(store: Store, program: Path) -> Entry:
    """The module of a program in a store that does not know its code."""
    path = program.with_name(f"{program.name}.gsym")
    gsym.convert(program, path, identity=False)
    found = add_file(store, path).entry
    path.unlink()
    assert found.identity.code_hash == ""
    return found


def test_a_module_of_an_earlier_version_is_not_that_of_another_program(
    store: Store, build: Build
) -> None:
    alpha, bravo = build("alpha", 1), build("bravo", 2)
    of_earlier_version(store, alpha)
    added = add_file(store, bravo)
    assert added.outcome == "added"
    assert "has the same debug id, but its functions have other names" in added.note
    names = {"alpha": alpha, "bravo": bravo}
    for name, path in names.items():
        with open_fitting(str(path), None)[0] as binary:
            wanted = module_of(binary)
        assert found(store, wanted) == name
    with pytest.raises(AmbiguousModuleError, match=r"alpha.*bravo"):
        store.get(key_of_build_id(COMMIT))
    assert add_file(store, alpha).outcome == "kept"
    assert len(list(store.entries())) == 2


def test_a_module_of_an_earlier_version_is_converted_again(
    store: Store, build: Build
) -> None:
    first = of_earlier_version(store, build("alpha", 1))
    again = add_file(store, build("alpha", 1, more="\n\n"))
    assert again.outcome == "replaced"
    assert again.entry.slot == first.slot
    assert again.entry.identity.code_hash
    (kept,) = store.entries()
    assert kept == again.entry


def test_a_file_that_is_not_better_still_brings_what_was_missing(
    store: Store, build: Build, tmp_path: Path
) -> None:
    bare = tmp_path / "alpha.gsym"
    program = build("alpha", 1)
    gsym.convert(program, bare, identity=False)
    first = add_file(store, bare).entry
    assert first.identity.architecture == first.identity.code_hash == ""
    again = add_file(store, program)
    assert again.outcome == "kept"
    assert again.entry.path != first.path
    assert again.entry.identity.architecture == "x86_64"
    assert again.entry.identity.code_hash
    assert (again.entry.source, again.entry.added) == (first.source, first.added)
    assert add_file(store, program).entry == again.entry
    assert add_file(store, bare).entry == again.entry
    assert add_file(store, build("bravo", 2)).outcome == "added"
    assert not Path(first.path).exists()
    assert problems(store) == []


def test_a_part_of_a_build_id_does_not_become_the_whole_one(
    store: Store, build: Build, tmp_path: Path
) -> None:
    text = f"MODULE Linux x86_64 {COMMIT_DEBUG_ID} alpha\nFILE 0 a.c\n"
    sym = tmp_path / "alpha.sym"
    sym.write_text(f"{text}FUNC 1000 10 0 perhaps\n1000 10 1 0\n" * 1)
    add_file(store, sym)
    program = build("alpha", 1)
    subprocess.run(["strip", "-g", program], check=True)
    assert add_file(store, program).outcome == "kept"
    entry = store.get(key_of_build_id(COMMIT))
    assert functions_of(entry) == ["perhaps"]
    assert entry is not None
    assert entry.compare(key_of_build_id(COMMIT)) == Comparison(
        PART, "only 16 of 20 bytes of its build id are known"
    )
    # With lines of its own, the program takes its place.
    assert add_file(store, build("alpha", 1)).outcome in {"kept", "replaced"}


# ---- ids that are a part, or none


def test_an_age_that_a_file_does_not_say_stays_unknown(
    store: Store, build_dll: Build, tmp_path: Path
) -> None:
    dll = build_dll("app.dll", 1, "-Wl,--build-id")
    bare = tmp_path / "app.dll.gsym"
    gsym.convert(dll, bare, identity=False)
    whole = gsym.identify(dll)
    guid = whole.debug_id[:32]
    for age in ("1", "7"):
        entry = add_file(store, bare, key=ModuleKey(debug_id=guid + age)).entry
        assert (entry.identity.os, entry.identity.debug_id) == ("windows", guid)
    for age in ("1", "7", "0", ""):
        key = ModuleKey(debug_id=guid + age)
        (only,) = store.entries()
        assert store.get(key) == only
        reason = "the age of its debug id is not known"
        assert only.compare(key) == Comparison(PART, reason)
    assert problems(store) == []
    assert add_file(store, dll).outcome == "added"
    known = store.get(ModuleKey(debug_id=whole.debug_id))
    assert known is not None
    assert known.source == str(dll)
    other = store.get(ModuleKey(debug_id=guid + "7"))
    assert other == only
    asked = ModuleKey(debug_id=guid + "9")
    stated = add_file(store, bare, identity=asked._replace(os="windows")).entry
    assert stated.identity.debug_id == guid + "9"


def test_a_code_id_of_two_modules_is_ambiguous(store: Store) -> None:
    fields = [windows_identity(number)._asdict() for number in (1, 2, 3)]
    entries = [put(store, number, **fields[number - 1]).entry for number in (1, 2)]
    fields[2]["code_id"] = "00000000" + fields[2]["code_id"][8:]
    put(store, 3, **fields[2])
    key = ModuleKey(code_file="xul.dll", code_id=fields[0]["code_id"])
    assert found(store, key) == "ambiguous"
    assert problems(store) == []
    store.remove(entries[0])
    assert found(store, key) == "f2_1"
    # Without a time stamp it says nothing.
    assert found(store, key._replace(code_id=fields[2]["code_id"])) == ""
    assert problems(store) == []


def test_a_build_id_that_a_tool_cut_is_a_part(store: Store, build: Build) -> None:
    whole = bytes(range(1, 33))
    entry = add_file(store, build("alpha", 1, whole)).entry
    assert (entry.uuid, entry.identity.code_id) == (whole, whole.hex().upper())
    for size, outcome in ((32, SAME), (20, PART)):
        key = key_of_build_id(whole[:size])
        assert store.get(key) == entry
        assert entry.compare(key).outcome == outcome
    assert found(store, key_of_build_id(whole[:24])) == ""
    assert found(store, key_of_build_id(whole[:-1] + b"x")) == ""


# ---- stores of before

OLD_FIELDS = "os", "architecture", "debug_id", "code_id", "debug_file", "code_file"


def make_old(publication: Publication, **changes: object) -> None:
    """Make the record of a module one of the version before."""
    path = Path(publication.entry.path).with_name("module.json")
    record = json.loads(path.read_text())
    for name in ("go_id", "code_hash"):
        del record[name]
    assert set(record) == {
        *OLD_FIELDS,
        *("format", "uuid", "quality", "source", "added", "files", "missing"),
    }
    path.write_text(json.dumps(record | changes))


def test_a_store_of_before_is_read_and_completed(store: Store, build: Build) -> None:
    alpha = build("alpha", 1)
    make_old(add_file(store, alpha))
    old = Store(store.path)
    (entry,) = old.entries()
    assert entry.identity.code_hash == ""
    assert found(old, key_of_build_id(COMMIT)) == "alpha"
    assert problems(old) == []
    again = add_file(old, alpha)
    assert (again.outcome, again.entry.slot) == ("kept", entry.slot)
    assert again.entry.identity.code_hash
    before = links(old)
    assert {name.split("/")[0] for name in before} & {".further"} == set()
    assert add_file(old, build("bravo", 2)).outcome == "added"
    assert before.items() <= links(old).items()  # which versions of before follow


def test_files_of_before_with_a_part_of_a_long_id_are_sound(
    store: Store, build: Build, tmp_path: Path
) -> None:
    whole = bytes(range(1, 33))
    program = build("alpha", 1, whole)
    cut = tmp_path / "cut.gsym"
    gsym.convert(program, cut, uuid=whole[:20], identity=False)
    publication = add_file(store, program)
    Path(publication.entry.path).unlink()
    cut.rename(publication.entry.path)
    size = Path(publication.entry.path).stat().st_size
    make_old(publication, files={"module.gsym": size})
    old = Store(store.path)
    assert problems(old) == []
    assert found(old, key_of_build_id(whole)) == "alpha"
    symbolizer = gsym.Symbolizer(old)
    assert symbolizer.open(key_of_build_id(whole)).reader is not None


def test_an_alias_of_before_names_a_code_id_of_its_module(store: Store) -> None:
    fields = windows_identity(1)._asdict()
    put(store, 1, **fields)
    link = Path(store.path, ".code-id/xul.dll", fields["code_id"])
    link.rename(link.with_name("4D5E6F701000"))
    key = ModuleKey(code_file="xul.dll", code_id="4D5E6F701000")
    entry = store.get(key)
    assert entry is not None
    assert entry.compare(key).outcome == SAME


# ---- what is stated


def test_what_contradicts_a_file_is_refused(
    store: Store, build: Build, capsys: Captured
) -> None:
    program = build("alpha", 1)
    for stated, reason in (
        (ModuleKey(os="windows"), "its os is Linux, not windows"),
        (ModuleKey(architecture="arm64"), "its architecture is x86_64, not arm64"),
        (ModuleKey(debug_id=identity(1).debug_id), "its debug id is 33221100"),
        (ModuleKey(code_id="ab" * 20), f"its build id is {COMMIT.hex()}, not abab"),
    ):
        with pytest.raises(UuidMismatchError, match=reason):
            add_file(store, program, identity=stated)
    command = ["store", "add", "--store", store.path, str(program)]
    assert main([*command, "--code-id", "ab" * 20]) == 1
    assert f"its build id is {COMMIT.hex()}" in capsys.readouterr().err
    assert list(store.entries()) == []
    stated = ModuleKey(os="LINUX", code_id=COMMIT.hex(), debug_file="other")
    entry = add_file(store, program, identity=stated).entry
    assert (entry.identity.os, entry.identity.debug_file) == ("Linux", "other")


def test_a_debug_id_that_fits_does_not_excuse_another_code_id(
    store: Store, build_dll: Build
) -> None:
    dll = build_dll("app.dll", 1, "-Wl,--build-id")
    own = gsym.identify(dll)
    stated = ModuleKey(debug_id=own.debug_id, code_id="123456789000")
    with pytest.raises(UuidMismatchError, match=r"its code id is .*, not 123456789000"):
        add_file(store, dll, identity=stated)


def test_a_gsym_file_with_a_forged_name_of_its_module_is_refused(
    store: Store, build: Build, tmp_path: Path
) -> None:
    program = build("alpha", 1)
    path = tmp_path / "a.gsym"
    gsym.convert(program, path)
    assert add_file(store, path).outcome == "added"
    data = path.read_bytes()
    path.write_bytes(data.replace(b"os=Linux", b"os=L nux"))
    with pytest.raises(FormatError, match=r"a\.gsym: invalid operating system"):
        add_file(store, path)
    path.write_bytes(data.replace(b"debug_file=alpha", b"debug_file=a/pha"))
    again = add_file(Store(tmp_path / "other"), path)
    assert again.entry.identity.debug_file == "pha"  # no folder


def test_a_gsym_file_is_called_as_the_file_that_it_was_made_from_would_be(
    store: Store, build: Build, tmp_path: Path
) -> None:
    debug = build("alpha.debug", 1, function="alpha")
    gsym.convert(debug, tmp_path / "1.gsym")
    entry = add_file(store, tmp_path / "1.gsym").entry
    assert entry.identity.debug_file == "alpha"
    assert add_file(store, debug).entry == entry


def test_a_request_takes_no_file_that_has_none_of_its_ids(
    store: Store, tmp_path: Path
) -> None:
    sym = tmp_path / "a.sym"
    sym.write_text(f"MODULE windows x86_64 {'1' * 32}1 a.pdb\nFUNC 1000 10 0 f\n")
    asked = ModuleKey(code_file="a.exe", code_id="123456789000")
    with pytest.raises(UuidMismatchError, match="there is no id to compare"):
        add_file(store, sym, key=asked)
    # Without ids it is known by name alone.
    assert add_file(store, sym, key=ModuleKey("a.pdb")).outcome == "added"


def test_a_file_that_may_be_of_two_modules_is_refused(
    store: Store, build: Build, tmp_path: Path
) -> None:
    paths = [build("alpha", 1), build("bravo", 2)]
    for path in paths:
        add_file(store, path)
    debug = [tmp_path / "alpha.debug", tmp_path / "unknown.debug"]
    for path in debug:
        command = ["objcopy", "--only-keep-debug", str(paths[0]), str(path)]
        subprocess.run(command, check=True)
    with pytest.raises(AmbiguousModuleError, match="2 modules have this id: alpha"):
        add_file(store, debug[1])
    assert add_file(store, debug[0]).outcome == "kept"
    assert len(list(store.entries())) == 2


# ---- the command


def test_the_command_says_when_a_module_is_not_certain(
    store: Store, capsys: Captured
) -> None:
    entry = put(store, 1).entry
    part = "only 16 of 20 bytes of its build id are known"
    for verb in ("get", "info"):
        command = ["store", verb, "--store", store.path]
        for name, reason in (
            (identity(1).debug_id, part),
            (build_id(1).hex(), ""),
        ):
            assert main([*command, name, "--json"]) == 0
            assert json.loads(capsys.readouterr().out)["unsure"] == reason
            assert main([*command, name]) == 0
            told = f"gsym store {verb}: perhaps another build: {reason}\n"
            assert capsys.readouterr().err == (told if reason else "")
    other = entry.identity._replace(code_id=build_id(1)[:-1].hex() + "99")
    put(store, 1, code_id=other.code_id)
    assert main(["store", "get", "--store", store.path, entry.identity.debug_id]) == 1
    assert "2 modules have this id: lib1.so of source of 1" in capsys.readouterr().err


def test_a_symbolizer_says_which_modules_an_id_may_mean(
    store: Store, build: Build
) -> None:
    for value, name in enumerate(("alpha", "bravo")):
        add_file(store, build(name, value))
    symbolizer = gsym.Symbolizer(store)
    key = key_of_build_id(COMMIT)
    for _ in range(2):
        assert "2 modules have this id: alpha of" in symbolizer.open(key).reason


# ---- the rules


@pytest.mark.parametrize(
    ("wanted", "found", "outcome"),
    [
        # A code id of Windows is no build id, whoever does not say so.
        (ModuleKey(code_id="5AB380779000"), {}, SAME),
        (ModuleKey(code_id="5AB380779001"), {}, OTHER),
        (ModuleKey(debug_id=f"{'1' * 32}-1"), {}, SAME),
        (ModuleKey(debug_id=f"{'1' * 8}-{'1' * 24}-01"), {}, SAME),
        (ModuleKey(debug_id=f"{'1' * 32}2"), {}, OTHER),
        (ModuleKey(debug_id="1" * 32), {}, PART),
        (ModuleKey(debug_id=f"{'1' * 32}1", code_id="5AB380779001"), {}, PART),
    ],
)
def test_ids_of_windows_are_compared(
    wanted: ModuleKey, found: dict[str, str], outcome: str
) -> None:
    image = ModuleKey(os="windows", debug_id=f"{'1' * 32}1", code_id="5AB380779000")
    assert compare(wanted, image._replace(**found)).outcome == outcome


def test_a_breakpad_file_is_of_the_module_of_its_build_id(
    store: Store, tmp_path: Path
) -> None:
    add_file(store, write_sym(tmp_path / "a.sym", 1))
    other = tmp_path / "b.sym"
    text = Path(write_sym(other, 1)).read_text()
    code_id = identity(1).code_id
    other.write_text(text.replace(code_id, code_id[:-1] + "F"))
    assert add_file(store, other).outcome == "added"
    assert len(list(store.entries())) == 2
