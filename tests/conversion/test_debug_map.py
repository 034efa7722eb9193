"""Debug maps: functions of object files, at the addresses that the linker gave them."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

import gsym
from gsym.cli.main import main
from gsym.conversion.companions import macho
from tests.containers.test_macho_symbols import stubs
from tests.conversions import describe, read_functions, words
from tests.inputs.archive import bsd_archive, bsd_archive_of
from tests.inputs.debug_map import TEXT, executable, object_file, stabs
from tests.inputs.dies import Die, Ref
from tests.inputs.dwarf import Dwarf
from tests.inputs.dwarf_constants import At, Tag
from tests.inputs.line_program import LineProgram, sequence
from tests.inputs.macho import (
    ARM,
    DSYM,
    EXTERNAL,
    IN_SECTION,
    N_BNSYM,
    N_ENSYM,
    N_FUN,
    N_OSO,
    N_SO,
    X86_64,
    Macho,
    Symbol,
    code,
    debug_sections,
    fat,
)
from tests.inputs.program import function, inlined, unit
from tests.inputs.range_lists import ranges
from tests.referee.opening import compare

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from tests.inputs.encoding import ByteOrder

LOCAL = IN_SECTION
ID = bytes(range(16))
A_AT, B_AT = TEXT + 0x40, TEXT + 0x10


LINES = LineProgram(sequence((0, 5), (4, 6), (0x10, 9), (0x20, 12), end=0x40))
A_O = object_file(
    Die(Tag.subprogram, {At.name: "tiny", At.inline: 1}, label="tiny"),
    function("a", 0, 0x10, inlined(Ref("tiny"), (4, 8))),
    function("dead", 0x10, 0x20),
    function("b", 0x20, 0x30),
    symbols=[
        Symbol("ltmp0", 0, type=LOCAL),
        Symbol("_b", 0x20, type=LOCAL),
        Symbol("_a", 0),
        Symbol("_dead", 0x10),
    ],
    lines=LINES,
)
A_MAP = {"_a": (A_AT, 0x10), "_b": (B_AT, 0x10)}
EXPECTED = words(f"""
    {B_AT:x}-{B_AT + 0x10:x} b
      {B_AT:x} /src/a.c:12
    {A_AT:x}-{A_AT + 0x10:x} a
      {A_AT:x} /src/a.c:5
      {A_AT + 4:x} /src/a.c:6
      inlined tiny {A_AT + 4:x}-{A_AT + 8:x} from /src/a.c:1
""")


def convert(
    folder: Path, image: bytes, **options: object
) -> tuple[gsym.ConversionReport, str]:
    (folder / "app").write_bytes(image)
    report = gsym.convert(folder / "app", **options)  # type: ignore[arg-type]
    return report, describe(read_functions(report.outputs[0]))


def test_functions_move_to_where_the_linker_put_them(tmp_path: Path) -> None:
    (tmp_path / "a.o").write_bytes(A_O)
    report, found = convert(tmp_path, executable(stabs(f"{tmp_path}/a.o", A_MAP)))
    assert found == EXPECTED
    assert report.companions == (f"{tmp_path}/a.o",)
    assert report.warnings == {}
    assert report.notes == ()


def test_a_function_is_at_its_symbol_where_the_map_names_its_stub(
    tmp_path: Path,
) -> None:
    """As zig's linker does for weak functions that are called."""
    (tmp_path / "a.o").write_bytes(A_O)
    called = {"_a": (TEXT + 0x106, 0x10), "_b": (B_AT, 0x10)}
    image = executable(
        stabs(f"{tmp_path}/a.o", called),
        symbols=[Symbol("_a__thunk", TEXT), Symbol("_b", B_AT), Symbol("_a", A_AT)],
        sections=[stubs(TEXT + 0x100, 2)],
    )
    report, found = convert(tmp_path, image)
    assert found == EXPECTED.join([f"{TEXT:x}-{B_AT:x} a__thunk\n", ""])
    assert compare(report.outputs[0], str(tmp_path / "app")).differences == []


def test_a_function_without_a_symbol_stays_where_the_map_has_it(
    tmp_path: Path,
) -> None:
    (tmp_path / "a.o").write_bytes(A_O)
    called = {"_a": (TEXT + 0x106, 0x10), "_b": (B_AT, 0x10)}
    image = executable(
        stabs(f"{tmp_path}/a.o", called),
        symbols=[Symbol("_c", A_AT)],
        sections=[replace(stubs(TEXT + 0x100, 2), size=0x20)],
    )
    report, found = convert(tmp_path, image)
    assert f"{TEXT + 0x106:x}-{TEXT + 0x116:x} a\n" in found
    assert compare(report.outputs[0], str(tmp_path / "app")).differences == []


@pytest.mark.parametrize("byteorder", ["little", "big"])
@pytest.mark.parametrize("bits", [32, 64])
def test_every_kind_of_file(bits: int, byteorder: ByteOrder, tmp_path: Path) -> None:
    (tmp_path / "a.o").write_bytes(
        object_file(
            function("f", 0x10, 0x20),
            symbols=[Symbol("_f", 0x10)],
            bits=bits,
            byteorder=byteorder,
        )
    )
    groups = stabs(f"{tmp_path}/a.o", {"_f": (0x1040, 0x10)})
    image = executable(groups, base=0, bits=bits, byteorder=byteorder)
    assert convert(tmp_path, image)[1] == "1040-1050 f\n"


def test_the_thumb_bit_is_no_part_of_an_address(tmp_path: Path) -> None:
    (tmp_path / "a.o").write_bytes(
        object_file(
            function("f", 0x10, 0x20),
            symbols=[Symbol("_f", 0x11)],
            bits=32,
            cpu=(12, 9),
        )
    )
    groups = stabs(f"{tmp_path}/a.o", {"_f": (0x1041, 0x10)})
    image = executable(groups, base=0, bits=32, cpu=(ARM, 9))
    assert convert(tmp_path, image)[1] == "1040-1050 f\n"


def test_functions_are_found_by_names_of_more_than_64_kib(tmp_path: Path) -> None:
    name = "n" * 70_000
    symbols = [Symbol(f"_{name}", 0x10)]
    image = object_file(function(name, 0x10, 0x20), symbols=symbols)
    (tmp_path / "a.o").write_bytes(image)
    groups = stabs(f"{tmp_path}/a.o", {f"_{name}": (0x1040, 0x10)})
    assert convert(tmp_path, executable(groups, base=0))[1] == f"1040-1050 {name}\n"


def test_functions_of_one_name_are_distinguished(tmp_path: Path) -> None:
    """Between object files by the file, within one by their order."""
    for name in ("a", "b"):
        (tmp_path / f"{name}.o").write_bytes(
            object_file(
                function(f"{name}1", 0, 0x10),
                function(f"{name}2", 0x10, 0x20),
                symbols=[
                    Symbol("_same", 0x10, type=LOCAL),
                    Symbol("_same", 0, type=LOCAL),
                ],
            )
        )
    first = stabs(f"{tmp_path}/a.o", {"_same": (TEXT, 0x10)})
    again = Symbol("_same", TEXT + 0x20, type=N_FUN)
    second = stabs(f"{tmp_path}/b.o", {"_same": (TEXT + 0x60, 0x10)})
    image = executable([*first[:-1], again, first[-1]], second)
    assert convert(tmp_path, image)[1] == words(f"""
        {TEXT:x}-{TEXT + 0x10:x} a1
        {TEXT + 0x20:x}-{TEXT + 0x30:x} a2
        {TEXT + 0x60:x}-{TEXT + 0x70:x} b1
    """)


def test_names_of_one_function_share_its_place(tmp_path: Path) -> None:
    symbols = [Symbol("_alias", 0), Symbol("_f", 0), Symbol("_g", 0x10)]
    (tmp_path / "a.o").write_bytes(
        object_file(function("f", 0, 0x10), function("g", 0x10, 0x20), symbols=symbols)
    )
    places = {"_f": (TEXT, 0x10), "_alias": (TEXT, 0x10), "_g": (TEXT + 0x40, 0x10)}
    image = executable(stabs(f"{tmp_path}/a.o", places))
    assert convert(tmp_path, image)[1] == words(f"""
        {TEXT:x}-{TEXT + 0x10:x} f
        {TEXT + 0x40:x}-{TEXT + 0x50:x} g
    """)


def test_the_parts_of_a_function_move_each_on_its_own(tmp_path: Path) -> None:
    die = Die(
        Tag.subprogram, {At.name: "f", At.ranges: ranges((0, 0x10), (0x20, 0x28))}
    )
    symbols = [Symbol("_f", 0), Symbol("_g", 0x10), Symbol("_f.cold.1", 0x20)]
    (tmp_path / "a.o").write_bytes(object_file(die, symbols=symbols))
    places = {"_f": (TEXT + 0x40, 0x10), "_f.cold.1": (TEXT, 8)}
    image = executable(stabs(f"{tmp_path}/a.o", places))
    assert convert(tmp_path, image)[1] == words(f"""
        {TEXT:x}-{TEXT + 8:x} f
        {TEXT + 0x40:x}-{TEXT + 0x50:x} f
    """)


def test_functions_that_are_not_in_the_object_file_are_counted(tmp_path: Path) -> None:
    (tmp_path / "a.o").write_bytes(A_O)
    places = {**A_MAP, "_gone": (TEXT + 0x80, 0x10)}
    image = executable(stabs(f"{tmp_path}/a.o", places))
    report, found = convert(tmp_path, image)
    assert found == EXPECTED
    assert list(report.warnings.values()) == [1]


def test_an_object_file_without_any_of_the_functions_adds_none(tmp_path: Path) -> None:
    (tmp_path / "a.o").write_bytes(A_O)
    image = executable(
        stabs(f"{tmp_path}/a.o", {"_other": (TEXT, 0x10)}),
        symbols=[Symbol("_other", TEXT)],
    )
    assert convert(tmp_path, image)[1] == f"{TEXT:x}-{TEXT + 0x100:x} other\n"


# ---- finding the object files


def test_object_files_may_have_moved(tmp_path: Path) -> None:
    (tmp_path / "new").mkdir()
    (tmp_path / "new/a.o").write_bytes(A_O)
    image = executable(stabs("/old/build/a.o", A_MAP))
    rules = (("/else", "/x"), ("/old/build", f"{tmp_path}/new"), ("/old", "/y"))
    assert convert(tmp_path, image, object_prefix_map=rules)[1] == EXPECTED
    rule = f"/old/build={tmp_path}/new"
    arguments = ["convert", "-q", f"{tmp_path}/app", f"--object-prefix-map={rule}"]
    assert main([*arguments, f"--depfile={tmp_path}/d"]) == 0
    assert (tmp_path / "d").read_text() == (
        f"{tmp_path}/app.gsym: {tmp_path}/app {tmp_path}/new/a.o\n"
        f"\n{tmp_path}/app:\n\n{tmp_path}/new/a.o:\n"
    )


def test_a_relative_path_starts_where_the_binary_is(tmp_path: Path) -> None:
    (tmp_path / "obj").mkdir()
    (tmp_path / "obj/a.o").write_bytes(A_O)
    assert convert(tmp_path, executable(stabs("obj/a.o", A_MAP)))[1] == EXPECTED


def test_object_files_may_be_in_an_archive(tmp_path: Path) -> None:
    archive = tmp_path / "lib(1).a"
    archive.write_bytes(bsd_archive({"b.o": b"odd", "a.o": A_O}, 1234))
    image = executable(
        stabs(f"{archive}(a.o)", A_MAP, 1234),
        stabs(f"{archive}(c.o)", {"_c": (TEXT + 0x80, 0x10)}),
    )
    report, found = convert(tmp_path, image)
    assert found == EXPECTED
    assert report.companions == (str(archive),)
    (note,) = report.notes
    assert note.startswith("1 of the 2 object files")
    assert note.endswith(f"missing: {archive}(c.o): not in {archive}")


def test_missing_object_files_are_named(tmp_path: Path) -> None:
    (tmp_path / "a.o").write_bytes(A_O)
    (tmp_path / "other.o").write_bytes(
        object_file(function("f", 0, 8), symbols=[Symbol("_f", 0)], cpu=(X86_64, 3))
    )
    (tmp_path / "empty.o").write_bytes(b"")
    os.mkfifo(tmp_path / "pipe.o")
    names = ("a", "gone", "other", "empty", "pipe")
    groups = [
        stabs(f"{tmp_path}/{name}.o", A_MAP if name == "a" else {"_f": (TEXT, 8)})
        for name in names
    ]
    report, found = convert(tmp_path, executable(*groups))
    assert found == EXPECTED
    (note,) = report.notes
    assert note.startswith("4 of the 5 object files")
    for part in ("gone.o: not there", "other.o: is for x86_64", "and 1 more"):
        assert part in note


def test_a_changed_object_file_is_reported(tmp_path: Path) -> None:
    path = tmp_path / "a.o"
    path.write_bytes(A_O)
    os.utime(path, (1000, 1000))
    for mtime, count in ((1000, 0), (0, 0), (999, 1)):
        image = executable(stabs(str(path), A_MAP, mtime))
        report, found = convert(tmp_path, image)
        assert found == EXPECTED
        assert len(report.notes) == count
    assert "1 object file was changed" in report.notes[0]


def test_without_any_object_file_there_are_symbols_and_a_warning(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    groups = [stabs(f"/nowhere/{n}.o", {"_f": (TEXT, 8)}) for n in range(5)]
    image = executable(*groups, symbols=[Symbol("_f", TEXT)])
    report, found = convert(tmp_path, image)
    assert found == f"{TEXT:x}-{TEXT + 0x100:x} f\n"
    assert "in 5 object files" in report.notes[0]
    assert main(["convert", str(tmp_path / "app")]) == 0
    assert main(["convert", str(tmp_path / "app"), "--strict"]) == 3
    error = capsys.readouterr().err
    bundle = f"no dSYM bundle: tried {tmp_path}/app.dSYM/Contents/Resources/DWARF/app"
    for part in (
        "/nowhere/0.o: not there",
        "and 2 more",
        "--object-prefix-map",
        "dsymutil",
        f"{bundle}: not there",
    ):
        assert part in error


def test_object_files_without_functions_are_not_missed(tmp_path: Path) -> None:
    image = executable(stabs("/nowhere/data.o", {}), symbols=[Symbol("_f", TEXT)])
    report, found = convert(tmp_path, image)
    assert found == f"{TEXT:x}-{TEXT + 0x100:x} f\n"
    assert report.companions == ()


# ---- dSYM bundles beside the binary


BUNDLED = debug_sections(Dwarf([unit(function("f", TEXT, TEXT + 0x10))]).sections())
DSYM_FILE = Macho([code(TEXT, 0x100), *BUNDLED], uuid=ID, base=TEXT, type=DSYM)
STRIPPED = executable(uuid=ID, symbols=[Symbol("_g", TEXT + 0x20)])


def put(path: Path, image: bytes, name: str = "app") -> None:
    folder = path / "Contents/Resources/DWARF"
    folder.mkdir(parents=True)
    (folder / name).write_bytes(image)


@pytest.mark.parametrize(
    "image",
    [
        DSYM_FILE.to_bytes(),
        fat(
            ((X86_64, 3), Macho(uuid=bytes(16), cpu=(X86_64, 3)).to_bytes()),
            ((12 | 1 << 24, 0), DSYM_FILE.to_bytes()),
        ),
    ],
    ids=["thin", "fat"],
)
def test_a_bundle_beside_the_binary_is_used(image: bytes, tmp_path: Path) -> None:
    put(tmp_path / "app.dSYM", image, "any name")
    report, found = convert(tmp_path, STRIPPED)
    assert found == words(f"""
        {TEXT:x}-{TEXT + 0x10:x} f
        {TEXT + 0x20:x}-{TEXT + 0x100:x} g
    """)
    path = f"{tmp_path}/app.dSYM/Contents/Resources/DWARF/any name"
    assert report.companions == (path,)


@pytest.mark.parametrize(
    ("binary", "bundle"),
    [
        ("App.app/Contents/MacOS/App", "App.app.dSYM"),
        ("Kit.framework/Versions/A/Kit", "Kit.framework.dSYM"),
        ("Kit.framework/Kit", "Kit.framework/Kit.dSYM"),
    ],
)
def test_a_bundle_beside_an_app_is_used(
    binary: str, bundle: str, tmp_path: Path
) -> None:
    put(tmp_path / bundle, DSYM_FILE.to_bytes())
    path = tmp_path / binary
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(STRIPPED)
    report = gsym.convert(path, tmp_path / "o")
    assert report.functions_debug_info == 1


@pytest.mark.parametrize("bundle", ["app.dSYM", "App.app.dSYM"])
@pytest.mark.parametrize("is_named", [False, True])
def test_a_bundle_in_another_folder_is_used_if_that_is_given(
    bundle: str,
    is_named: bool,  # noqa: FBT001 - a row
    tmp_path: Path,
) -> None:
    """As in an archive of Xcode; or the bundle itself is given."""
    bundles = tmp_path / "dSYMs"
    put(bundles / bundle, DSYM_FILE.to_bytes())
    put(bundles / "Other.app.dSYM", DSYM_FILE.to_bytes())
    path = tmp_path / "Products/App.app/app"
    path.parent.mkdir(parents=True)
    path.write_bytes(STRIPPED)
    assert gsym.convert(path).functions_debug_info == 0
    folder = str(bundles / bundle if is_named else bundles)
    report = gsym.convert(path, debug_file_directories=[str(tmp_path), folder])
    assert report.notes == ()
    assert report.companions == (f"{bundles}/{bundle}/Contents/Resources/DWARF/app",)
    assert describe(read_functions(report.outputs[0])) == words(f"""
        {TEXT:x}-{TEXT + 0x10:x} f
        {TEXT + 0x20:x}-{TEXT + 0x100:x} g
    """)


def test_bundles_in_folders_are_tried_in_their_order(tmp_path: Path) -> None:
    (tmp_path / "app").write_bytes(STRIPPED)
    other = Macho([code(TEXT, 0x100), *BUNDLED], uuid=ID[::-1], base=TEXT, type=DSYM)
    put(tmp_path / "a/app.dSYM", other.to_bytes())
    put(tmp_path / "b/app.dSYM", DSYM_FILE.to_bytes())
    folders = [str(tmp_path / each) for each in "ab"]
    report = gsym.convert(tmp_path / "app", debug_file_directories=folders)
    member = "app.dSYM/Contents/Resources/DWARF/app"
    assert report.companions == (f"{tmp_path}/b/{member}",)
    report = gsym.convert(tmp_path / "app", debug_file_directories=folders[:1])
    (note,) = report.notes
    assert (
        f"{tmp_path}/{member}: not there; {tmp_path}/a/{member}: is of another" in note
    )


@pytest.mark.parametrize("uuid", [None, bytes(16)], ids=["none", "zeros"])
def test_a_bundle_without_an_id_is_used_if_nothing_contradicts(
    uuid: bytes | None, tmp_path: Path
) -> None:
    binary = executable(uuid=uuid, symbols=[Symbol("_g", TEXT + 0x20)])
    bundled = replace(DSYM_FILE, uuid=uuid)
    put(tmp_path / "app.dSYM", bundled.to_bytes())
    report, _ = convert(tmp_path, binary)
    assert report.functions_debug_info
    (note,) = report.notes
    assert "may be of another build: neither it nor the binary has a UUID" in note
    sizes = replace(bundled, sections=[code(TEXT, 0x80), *BUNDLED])
    others = replace(bundled, symbols=[Symbol("_other", TEXT + 0x20)])
    its_own = replace(bundled, uuid=ID)
    for other, reason in (
        (sizes, "its __text has 128 bytes, not 256"),
        (others, f"has another function at {TEXT + 0x20:#x}"),
        (its_own, "there is no id to compare"),
    ):
        (path,) = (tmp_path / "app.dSYM").rglob("app")
        path.write_bytes(other.to_bytes())
        report, found = convert(tmp_path, binary)
        assert found == f"{TEXT + 0x20:x}-{TEXT + 0x100:x} g\n"
        assert f": {reason}" in report.notes[0]


def test_a_bundle_of_another_build_is_refused(tmp_path: Path) -> None:
    other = Macho([code(TEXT, 0x100), *BUNDLED], uuid=ID[::-1], base=TEXT, type=DSYM)
    put(tmp_path / "app.dSYM", other.to_bytes())
    report, found = convert(tmp_path, STRIPPED)
    assert found == f"{TEXT + 0x20:x}-{TEXT + 0x100:x} g\n"
    (note,) = report.notes
    reason = f"is of another build: its build id is {ID[::-1].hex()}"
    assert f"app.dSYM/Contents/Resources/DWARF/app: {reason}" in note


def test_a_bundle_goes_before_object_files(tmp_path: Path) -> None:
    put(tmp_path / "app.dSYM", DSYM_FILE.to_bytes())
    groups = stabs("/nowhere/a.o", {"_f": (TEXT, 0x10)})
    assert convert(tmp_path, executable(groups, uuid=ID))[0].functions_debug_info == 1


# ---- damage


def test_damaged_maps_end_in_an_answer(tmp_path: Path) -> None:
    (tmp_path / "a.o").write_bytes(A_O)
    whole = stabs(f"{tmp_path}/a.o", A_MAP)
    kinds = (N_SO, N_OSO, N_FUN, N_BNSYM, N_ENSYM, IN_SECTION | EXTERNAL)
    for place, symbol in enumerate(whole):
        for kind in kinds:
            changed = list(whole)
            changed[place] = Symbol(symbol.name, symbol.value, 0, kind)
            try:
                report, _ = convert(tmp_path, executable(changed))
            except gsym.GsymError:
                continue
            assert report.functions_debug_info <= 2


def test_a_file_is_read_once_under_all_of_its_names(tmp_path: Path) -> None:
    (tmp_path / "a.o").write_bytes(A_O)
    (tmp_path / "b.o").symlink_to(tmp_path / "a.o")
    (tmp_path / "x.a").write_bytes(bsd_archive({"a.o": A_O, "b.o": A_O}))
    names = ("a.o", "./a.o", "b.o", "x.a(a.o)", "./x.a(b.o)", "./x.a(a.o)")
    groups = [stabs(f"{tmp_path}/{name}", A_MAP) for name in names]
    report, _ = convert(tmp_path, executable(*groups))
    assert report.companions == (f"{tmp_path}/a.o", f"{tmp_path}/x.a")
    (note,) = report.notes
    assert note.startswith("3 of the 6 object files")
    assert note.count(": named twice") == 3


def helper(name: str, line: int, extra: str = "") -> bytes:
    """An object file with `help`, which has this name in DWARF."""
    symbols = [Symbol("_help", 0, type=LOCAL), Symbol(extra or "_end", 0x20)]
    lines = LineProgram(sequence((0, line), end=0x40))
    return object_file(function(name, 0, 0x10), symbols=symbols, lines=lines)


def link_helpers(
    folder: Path,
    members: Sequence[tuple[bytes, int]],
    entries: Sequence[tuple[dict[str, tuple[int, int]], int]],
) -> tuple[gsym.ConversionReport, str]:
    """Convert a program of the members `x.o` of an archive."""
    named = [("x.o", data, mtime) for data, mtime in members]
    (folder / "x.a").write_bytes(bsd_archive_of(named))
    path = f"{folder}/x.a(x.o)"
    return convert(folder, executable(*(stabs(path, *each) for each in entries)))


HELP_AT = TEXT + 0x40
TWO_HELPERS = words(f"""
    {TEXT:x}-{TEXT + 0x10:x} help_1
      {TEXT:x} /src/a.c:11
    {HELP_AT:x}-{HELP_AT + 0x10:x} help_2
      {HELP_AT:x} /src/a.c:22
""")


@pytest.mark.parametrize("times", [(5, 6), (6, 5)])
@pytest.mark.parametrize("step", [1, -1])
def test_members_of_one_name_are_told_apart_by_their_time(
    times: tuple[int, int], step: int, tmp_path: Path
) -> None:
    first, second = times
    members = [(helper("help_1", 11), first), (helper("help_2", 22), second)]
    entries = [
        ({"_help": (TEXT, 0x10)}, first),
        ({"_help": (HELP_AT, 0x10)}, second),
    ]
    report, found = link_helpers(tmp_path, members[::step], entries)
    assert (found, report.notes) == (TWO_HELPERS, ())


@pytest.mark.parametrize("mtime", [0, 5])
@pytest.mark.parametrize("linked_mtime", [0, 5, 8])
def test_members_of_one_name_and_time_are_told_apart_by_their_functions(
    mtime: int, linked_mtime: int, tmp_path: Path
) -> None:
    members = [
        (helper("help_2", 22, "_two"), mtime),
        (helper("unused", 33, "_three"), mtime),
        (helper("help_1", 11, "_one"), mtime),
    ]
    entries = [
        ({"_help": (TEXT, 0x10), "_one": (TEXT + 0x20, 0)}, linked_mtime),
        ({"_help": (HELP_AT, 0x10), "_two": (HELP_AT + 0x20, 0)}, linked_mtime),
    ]
    report, found = link_helpers(tmp_path, members, entries)
    assert found == TWO_HELPERS
    assert report.warnings == {}
    changed = linked_mtime not in {0, mtime}
    assert [note[:31] for note in report.notes] == (
        ["2 object files were changed aft"] * changed
    )


@pytest.mark.parametrize("step", [1, -1])
def test_a_member_that_cannot_be_read_is_passed_over(step: int, tmp_path: Path) -> None:
    """Such as one of bitcode (-flto) beside one of the same name."""
    members = [(b"BC\xc0\xde" + bytes(60), 0), (helper("help_1", 11), 0)]
    entries = [({"_help": (TEXT, 0x10)}, 0)]
    report, found = link_helpers(tmp_path, members[::step], entries)
    assert found == TWO_HELPERS.partition(f"{HELP_AT:x}")[0]
    assert report.notes == ()


def test_members_that_nothing_tells_apart_are_taken_in_their_order(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    members = [(helper("help_1", 11), 0), (helper("help_2", 22), 0)]
    entries = [({"_help": (at, 0x10)}, 0) for at in (TEXT, HELP_AT, TEXT + 0x80)]
    report, found = link_helpers(tmp_path, members, entries)
    assert found == TWO_HELPERS
    (note,) = report.notes
    assert note.startswith("1 of the 3 object files")
    assert "x.a(x.o): named twice" in note
    monkeypatch.setattr(macho, "_COMPARED", -(1 << 20))
    report, found = link_helpers(tmp_path, members, entries[:2])
    assert found == TWO_HELPERS
    (note,) = report.notes
    assert note.startswith("1 of the archive members that share a name was assigned")


def test_many_entries_of_one_path_cost_no_more_than_one(tmp_path: Path) -> None:
    symbols = [Symbol(f"_f{n}", n) for n in range(64)]
    (tmp_path / "a.o").write_bytes(
        object_file(function("f", 0, 1), symbols=symbols * 100)
    )
    group = stabs(f"{tmp_path}/a.o", {"_f0": (TEXT, 1)})
    report, _ = convert(tmp_path, executable(*[group] * 500))
    assert report.functions_debug_info == 1
    assert "a.o: named twice" in report.notes[0]
