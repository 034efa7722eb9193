"""Archives as inputs: which object file is converted, and what it becomes."""

from __future__ import annotations

import contextlib
import subprocess
from typing import TYPE_CHECKING

import pytest

import gsym
from gsym.cli.main import main
from tests.conftest import find_peer
from tests.conversions import describe, read_functions
from tests.inputs import pe
from tests.inputs.archive import header, member
from tests.inputs.elf import CODE, NOBITS, RELOCATABLE, Elf, Section, Symbol

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.long

LONG = "a_name_of_more_than_fifteen_letters.o"


def object_of(name: str, size: int = 0x10) -> bytes:
    """An object file with one function."""
    text = Section(".text", kind=NOBITS, flags=CODE, size=size)
    return Elf([text], symbols=[Symbol(name, 0, size)], type=RELOCATABLE).to_bytes()


COFF = pe.Pe(
    [pe.Section(".text", flags=pe.CODE, size=8)],
    [pe.Symbol("coff", 0)],
    image_base=None,
).to_bytes()
ARCHIVE = (
    b"!<arch>\n"
    + member("/", b"index")
    + member("//", f"{LONG}/\n".encode())
    + member("a.o/", object_of("a"))
    + member("note.txt/", b"no object file")
    + member("/0", object_of("long"))
    + member("c.obj/", COFF)
    + member("a.o/", object_of("again", 0x20))
    + member("inner.a/", b"!<arch>\n" + member("b.o/", object_of("b")))
    + member("x.bc/", b"BC\xc0\xde")
)
FUNCTIONS = {
    "a.o": "0-10 a\n",
    LONG: "0-10 long\n",
    "c.obj": "0-8 coff\n",
    "a.o#2": "0-20 again\n",
}


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    path = tmp_path / "x.a"
    path.write_bytes(ARCHIVE)
    return path


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_member_is_converted_by_its_name(name: str, archive: Path) -> None:
    report = gsym.convert(archive, member=name)
    assert describe(read_functions(f"{archive}.gsym")) == FUNCTIONS[name]
    assert (report.input, report.member) == (str(archive), name)
    assert report.outputs == (f"{archive}.gsym",)


def test_the_only_object_file_needs_no_name(tmp_path: Path) -> None:
    path = tmp_path / "x.a"
    path.write_bytes(
        b"!<arch>\n" + member("t/", b"text") + member("a/", object_of("a"))
    )
    assert gsym.convert(path).member == "a"
    assert describe(read_functions(f"{path}.gsym")) == "0-10 a\n"


def test_of_several_one_has_to_be_chosen(archive: Path) -> None:
    with pytest.raises(
        gsym.MemberError, match=r"4 object files: a\.o, .*a\.o#2; 'gsym convert"
    ):
        gsym.convert(archive)


def test_of_very_many_the_first_are_named(tmp_path: Path) -> None:
    path = tmp_path / "x.a"
    members = b"".join(member(f"{at}.o/", object_of("f")) for at in range(30))
    path.write_bytes(b"!<arch>\n" + members)
    with pytest.raises(gsym.MemberError, match=r" 19\.o and 10 more; 'gsym"):
        gsym.convert(path)


@pytest.mark.parametrize(
    "name", ["b.o", "a.o#3", "note.txt", "inner.a", "x.bc", "", "*"]
)
def test_a_member_that_is_not_an_object_file_is_refused(
    name: str, archive: Path
) -> None:
    with pytest.raises(gsym.MemberError, match="has no object file") as caught:
        gsym.convert(archive, member=name)
    assert caught.value.path == str(archive)


def test_an_archive_without_object_files_says_so(tmp_path: Path) -> None:
    path = tmp_path / "x.a"
    path.write_bytes(b"!<arch>\n" + member("t/", b"text"))
    with pytest.raises(gsym.MemberError, match="without object files"):
        gsym.convert(path)
    with pytest.raises(gsym.MemberError, match="'\\*' nor any"):
        gsym.convert_members(path)


def test_other_files_have_no_members(tmp_path: Path) -> None:
    path = tmp_path / "a.o"
    path.write_bytes(object_of("a"))
    with pytest.raises(gsym.MemberError, match="not an archive"):
        gsym.convert(path, member="a.o")
    with pytest.raises(gsym.MemberError, match="not an archive"):
        gsym.convert_members(path)


def test_errors_name_the_member(tmp_path: Path) -> None:
    path = tmp_path / "x.a"
    text = Section(".text", kind=NOBITS, flags=CODE, size=8)
    empty = Elf([text], type=RELOCATABLE).to_bytes()
    damaged = object_of("a")[:-1]
    path.write_bytes(b"!<arch>\n" + member("e/", empty) + member("d/", damaged))
    with pytest.raises(gsym.EmptyError) as no_function:
        gsym.convert(path, member="e")
    assert no_function.value.path == f"{path}(e)"
    with pytest.raises(gsym.FormatError) as cut_off:
        gsym.convert(path, member="d")
    assert cut_off.value.path == f"{path}(d)"
    assert cut_off.value.offset is not None
    assert cut_off.value.offset < len(damaged)


def test_an_archive_in_a_fat_file_is_refused(tmp_path: Path) -> None:
    start = (0x1000).to_bytes(4, "big")
    entry = (
        b"\1\0\0\7" + b"\0\0\0\3" + start + len(ARCHIVE).to_bytes(4, "big") + bytes(4)
    )
    head = b"\xca\xfe\xba\xbe\0\0\0\1" + entry
    path = tmp_path / "x.a"
    path.write_bytes(head.ljust(0x1000, b"\0") + ARCHIVE)
    with pytest.raises(gsym.UnsupportedError, match="lipo"):
        gsym.convert(path)


# ---- several ------------------------------------------------------------------------


def test_all_members_become_files_of_their_names(archive: Path) -> None:
    reports = gsym.convert_members(archive)
    assert [report.member for report in reports] == [*FUNCTIONS]
    for name, expected in FUNCTIONS.items():
        output = archive.parent / f"x.a.{name}.gsym"
        assert describe(read_functions(str(output))) == expected


@pytest.mark.parametrize(
    ("patterns", "expected"),
    [
        (["*.o"], ["a.o", LONG]),
        (["a.o*"], ["a.o", "a.o#2"]),
        (["c.obj", "a.o"], ["a.o", "c.obj"]),
        (["?.o", "*.obj"], ["a.o", "c.obj"]),
    ],
)
def test_patterns_choose_in_the_order_of_the_archive(
    patterns: list[str], expected: list[str], archive: Path
) -> None:
    reports = gsym.convert_members(archive, members=patterns)
    assert [report.member for report in reports] == expected


def test_a_name_is_itself_before_it_is_a_pattern(tmp_path: Path) -> None:
    path = tmp_path / "x.a"
    members = member("[a].o/", object_of("brackets")) + member("a.o/", object_of("a"))
    path.write_bytes(b"!<arch>\n" + members)
    (report,) = gsym.convert_members(path, members=["[a].o"])
    assert report.member == "[a].o"


def test_a_pattern_without_a_match_is_refused(archive: Path) -> None:
    with pytest.raises(gsym.MemberError, match=r"'\*\.x', but a\.o, "):
        gsym.convert_members(archive, members=["*.o", "*.x"])


def test_no_member_is_written_elsewhere(tmp_path: Path) -> None:
    """Names may be paths; each has its own output all the same."""
    names = ["../up.o", "/abs.o", "a/b.o", "a%2Fb.o", ".."]
    table = "".join(f"{name}/\n" for name in names).encode()
    members, place = b"", 0
    for name in names:
        members += member(f"/{place}", object_of("f"))
        place += len(name) + 2
    folder = tmp_path / "folder"
    folder.mkdir()
    path = folder / "x.a"
    path.write_bytes(b"!<arch>\n" + member("//", table) + members)
    reports = gsym.convert_members(path)
    assert len({report.outputs for report in reports}) == len(names)
    assert len(list(folder.iterdir())) == len(names) + 1
    assert list(tmp_path.iterdir()) == [folder]


# ---- real archives ------------------------------------------------------------------


@pytest.mark.parametrize(
    ("program", "options"),
    [
        ("ar", "rcD"),
        ("ar", "rcDT"),
        ("llvm-ar-22", "--format=gnu rc"),
        ("llvm-ar-22", "--format=bsd rc"),
        ("llvm-ar-22", "--format=coff rc"),
        ("llvm-ar-22", "--format=darwin rc"),
        ("llvm-ar-22", "--thin rc"),
    ],
)
def test_archives_of_all_tools_are_read(
    program: str, options: str, tmp_path: Path
) -> None:
    names = ["a.o", LONG, "with space.o"]
    for at, name in enumerate(names):
        (tmp_path / name).write_bytes(object_of(f"f{at}"))
    command = [find_peer(program), *options.split(), "x.a", *names]
    subprocess.run(command, cwd=tmp_path, check=True)
    reports = gsym.convert_members(tmp_path / "x.a")
    assert [report.member for report in reports] == names
    for at, report in enumerate(reports):
        assert describe(read_functions(report.outputs[0])) == f"0-10 f{at}\n"


def test_a_file_that_a_thin_archive_misses_is_named(tmp_path: Path) -> None:
    path = tmp_path / "x.a"
    path.write_bytes(b"!<thin>\n" + header("gone.o/", 100))
    with pytest.raises(FileNotFoundError, match=r"gone\.o") as raised:
        gsym.convert(path)
    assert f", though {path} names it" in str(raised.value)


# ---- the command --------------------------------------------------------------------


def test_the_command_converts_the_members_it_names(
    archive: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = archive.parent / "out"
    arguments = ["convert", str(archive), "--output-dir", str(folder)]
    assert main(arguments) == 1
    assert "'gsym convert --member NAME' chooses ('*': all)" in capsys.readouterr().err
    assert main([*arguments, "--member", "a.o*", "--member", "c.obj"]) == 0
    written = capsys.readouterr().out
    assert f"{archive}(a.o#2) -> {folder}/x.a.a.o#2.gsym\n" in written
    assert sorted(path.name for path in folder.iterdir()) == [
        "x.a.a.o#2.gsym",
        "x.a.a.o.gsym",
        "x.a.c.obj.gsym",
    ]


def test_a_member_that_fails_does_not_stop_the_others(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "x.a"
    members = member("d.o/", object_of("d")[:-1]) + member("a.o/", object_of("a"))
    path.write_bytes(b"!<arch>\n" + members)
    assert main(["convert", str(path), "--member", "*"]) == 1
    assert f"{path}(d.o): offset" in capsys.readouterr().err
    assert (tmp_path / "x.a.a.o.gsym").exists()
    assert not (tmp_path / "x.a.d.o.gsym").exists()


def test_an_output_may_be_named_and_verified(
    archive: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    output = archive.parent / "named"
    arguments = ["convert", str(archive), "--member", "a.o", "--verify"]
    assert main([*arguments, "-o", str(output), "--depfile", f"{output}.d"]) == 0
    assert describe(read_functions(str(output))) == "0-10 a\n"
    assert (archive.parent / "named.d").read_text() == (
        f"{output}: {archive}\n\n{archive}:\n"
    )
    assert "structure is valid" in capsys.readouterr().out


def test_several_members_do_not_fit_standard_output(
    archive: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["convert", str(archive), "--member", "*", "-o", "-"]) == 1
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "cannot write several files to standard output" in captured.err


# ---- damage -------------------------------------------------------------------------


def attempt(path: Path) -> None:
    with contextlib.suppress(gsym.GsymError, OSError):
        gsym.convert_members(path)


def test_damage_is_an_answer_or_an_error(archive: Path) -> None:
    for size in range(8, len(ARCHIVE), 101):
        archive.write_bytes(ARCHIVE[:size])
        attempt(archive)
    for value in (0, 0x20, 0x2F, 0x39, 0xFF):
        for at in range(8 + value % 67, len(ARCHIVE), 67):
            archive.write_bytes(ARCHIVE[:at] + bytes([value]) + ARCHIVE[at + 1 :])
            attempt(archive)
