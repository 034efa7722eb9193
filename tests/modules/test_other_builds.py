"""A lookup in a binary never answers from a file of another build."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import gsym
from gsym.cli.main import main
from gsym.conversion import job
from gsym.markup.symbols import ModuleSymbols, SymbolOptions
from gsym.modules import binary_conversion, binary_reader
from gsym.modules.binary_lookup import BinarySearch, FoundGsym, find_gsym
from gsym.modules.conversion_cache import collect_cache
from gsym.modules.open_module import OpenModule
from tests.companions import ID, OTHER_ID, place
from tests.inputs.elf import CODE, Elf, Section, Segment, Symbol
from tests.inputs.pe import (
    CODE as PE_CODE,
    CODEVIEW,
    Pe,
    Section as PeSection,
    Symbol as PeSymbol,
    codeview,
)
from tests.inputs.program import debug_sections, function

if TYPE_CHECKING:
    from collections.abc import Callable

    Captured = pytest.CaptureFixture[str]

SEARCH = BinarySearch(debug_file_directories=())
START = 0x1000
CODE_BYTES = b"\x90" * 16
LONG_ID = bytes(range(1, 33))  # of SHA-256


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of what is made."""
    folder = tmp_path / "cache"
    monkeypatch.setenv("GSYM_CACHE_DIR", str(folder))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    return folder


def program(
    name: str,
    build_id: bytes | None = ID,
    *,
    machine_code: bytes = CODE_BYTES,
    has_lines: bool = True,
    embedded: bytes = b"",
) -> bytes:
    """A program of one function; two of equally long names have one size."""
    text = Section(".text", machine_code, flags=CODE, address=START)
    end = START + len(machine_code)
    debug = debug_sections(64, "little", function(name, START, end))
    symbol = Symbol(name, START, len(machine_code))
    held = [Section(".gsym", embedded)] if embedded else []
    return Elf(
        [text, *(debug if has_lines else ()), *held],
        [Segment(0, 0x2000)],
        symbols=(symbol,),
        build_id=build_id,
    ).to_bytes()


def names(found: FoundGsym) -> list[str]:
    assert found.reader is not None
    return [function.name for function in found.reader.functions()]


def answer(path: str, search: BinarySearch = SEARCH) -> str:
    """The function of a program, from its GSYM file, whose notes do not matter."""
    (name,) = names(find_gsym(path, search))
    return name


def file_of(
    path: str, name: str = "other", uuid: bytes = b"", suffix: str = ".gsym"
) -> str:
    """A GSYM file as llvm-gsymutil writes it: without the names of its module."""
    with gsym.Creator(uuid=uuid) as creator:
        creator.add(gsym.FunctionInfo(START, 16, name))
        creator.save(path + suffix)
    return path + suffix


# ---- the cache


def rewrite(path: str, data: bytes) -> None:
    """Give a file other contents, and the times that it had, in place."""
    modified = Path(path).stat().st_mtime_ns
    with Path(path).open("r+b") as file:
        file.write(data)
        file.truncate()
    os.utime(path, ns=(modified, modified))


def replace(path: str, data: bytes) -> None:
    """Put another file in its place, and clamp its time, as images do."""
    new = Path(f"{path}.new")
    new.write_bytes(data)
    os.utime(new, (0, 0))
    new.replace(path)


@pytest.mark.parametrize("change", [rewrite, replace])
@pytest.mark.parametrize("build_id", [ID, None], ids=["fixed id", "no id"])
def test_other_contents_are_converted_again(
    change: Callable[[str, bytes], None], build_id: bytes | None, tmp_path: Path
) -> None:
    path = place(tmp_path / "app", program("alpha", build_id))
    os.utime(path, (0, 0))
    assert answer(path) == "alpha"
    change(path, program("bravo", build_id))
    assert answer(path) == "bravo"
    change(path, program("alpha", build_id))
    assert answer(path) == "alpha"


@pytest.mark.parametrize("build_id", [ID, None], ids=["id", "no id"])
def test_a_copy_is_not_converted_again(
    build_id: bytes | None, tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = program("alpha", build_id)
    assert answer(place(tmp_path / "app", data)) == "alpha"
    monkeypatch.setattr("gsym.modules.binary_conversion.convert_file", None)
    assert answer(place(tmp_path / "copies/another", data)) == "alpha"
    assert len([*cache.rglob("*.gsym")]) == 1
    with pytest.raises(TypeError):
        find_gsym(place(tmp_path / "bravo", program("bravo", build_id)), SEARCH)


def test_the_contents_of_a_file_are_read_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = place(tmp_path / "app", program("alpha"))
    assert answer(path) == "alpha"
    monkeypatch.setattr("gsym.containers.mapped_file.blocks", None)
    assert answer(path) == "alpha"
    with pytest.raises(TypeError):
        find_gsym(place(tmp_path / "copy", program("alpha")), SEARCH)


def test_a_reader_by_units_reads_no_whole_binary(
    tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(binary_reader, "_LEAST_DEBUG_INFO", 0)
    monkeypatch.setattr("gsym.containers.mapped_file.blocks", None)
    path = place(tmp_path / "app", program("alpha"))
    found = find_gsym(path, SEARCH._replace(partial=True))
    assert found.reader is not None
    assert found.reader.is_partial
    looked_up = found.reader.lookup(START)
    assert looked_up is not None
    assert looked_up.function.name == "alpha"
    assert [*cache.rglob("*.gsym")] == []


def test_a_file_that_changes_while_it_is_converted_is_not_kept(
    tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = place(tmp_path / "app", program("alpha"))
    convert_file = job.convert_file

    def convert_and_rewrite(*arguments: object, **options: object) -> object:
        rewrite(path, program("bravo"))
        return convert_file(*arguments, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(binary_conversion, "convert_file", convert_and_rewrite)
    find_gsym(path, SEARCH)
    monkeypatch.setattr(binary_conversion, "convert_file", convert_file)
    rewrite(path, program("alpha"))
    assert answer(path) == "alpha"
    (incomplete,) = cache.rglob("*.incomplete.gsym")
    assert "bravo" in [each.name for each in gsym.open(incomplete)]


def test_a_file_of_this_moment_is_not_known_by_its_stamp(
    tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A change within the precision of its time gives it no other stamp."""
    path = place(tmp_path / "app", program("alpha"))
    changed = Path(path).stat().st_ctime_ns
    monkeypatch.setattr(time, "time_ns", lambda: changed + 1000)
    slept: list[float] = []
    monkeypatch.setattr(time, "sleep", slept.append)
    assert answer(path) == "alpha"
    assert slept
    assert max(slept) < 1
    assert [*cache.rglob("stamps/*")] == []


def test_links_to_what_is_gone_are_removed(tmp_path: Path, cache: Path) -> None:
    kept, gone = (
        place(tmp_path / name, program(name, build_id))
        for name, build_id in (("alpha", ID), ("bravo", OTHER_ID))
    )
    for path in (gone, kept):
        answer(path)
    next(cache.rglob(f"id/{OTHER_ID.hex()[:2]}/*/*.gsym")).unlink()
    assert len([*cache.rglob("stamps/*")]) == 2
    collect_cache()
    (link,) = cache.rglob("stamps/*")
    assert link.exists()
    assert answer(kept) == "alpha"
    collect_cache(0)
    assert [*cache.rglob("stamps/*")] == []


def test_a_damaged_link_does_not_matter(tmp_path: Path, cache: Path) -> None:
    path = place(tmp_path / "app", program("alpha"))
    answer(path)
    (link,) = cache.rglob("stamps/*")
    for target in ("nowhere", str(tmp_path), "../id"):
        link.unlink()
        link.symlink_to(target)
        assert answer(path) == "alpha"


# ---- embedded, beside, in folders, in the store


class Door:
    """A way by which a GSYM file comes to a program, which it may not be of."""

    def __init__(self, folder: Path, kind: str) -> None:
        self.folder = folder
        self.kind = kind
        self.search = SEARCH

    def program(
        self,
        file: str,
        name: str,
        build_id: bytes | None = ID,
        *,
        machine_code: bytes = CODE_BYTES,
        has_lines: bool = True,
    ) -> str:
        """The path of a program to which the file has come."""
        path, data = self.folder / "bin/app", Path(file).read_bytes()
        inside = data if self.kind == "embedded" else b""
        image = program(
            name,
            build_id,
            machine_code=machine_code,
            has_lines=has_lines,
            embedded=inside,
        )
        place(path, image)
        if self.kind == "beside":
            place(self.folder / "bin/app.gsym", data)
        elif self.kind == "folder":
            place(self.folder / "files/app.gsym", data)
            folders = (str(self.folder / "files"),)
            self.search = SEARCH._replace(gsym_directories=folders)
        return str(path)


@pytest.fixture(params=["embedded", "beside", "folder"])
def door(request: pytest.FixtureRequest, tmp_path: Path) -> Door:
    return Door(tmp_path, request.param)


def converted(folder: Path, data: bytes) -> str:
    """The GSYM file of a program."""
    path = place(folder / "made", data)
    gsym.convert(path)
    return f"{path}.gsym"


FIRST_PAGE = b"\x90" * 0x1000
OTHERS = {
    "id": (program("other", OTHER_ID), ID, CODE_BYTES, "its build id is"),
    "last bit": (program("other", ID[:-1] + b"\0"), ID, CODE_BYTES, "its build id is"),
    "code": (program("other"), ID, b"\xcc" * 16, "its code differs"),
    "code alone": (
        program("other", None, machine_code=FIRST_PAGE + b"\x90"),
        *(None, FIRST_PAGE + b"\xcc", "its code differs"),
    ),
}


@pytest.mark.parametrize("other", OTHERS)
def test_a_file_of_another_build_is_not_used(
    door: Door, other: str, tmp_path: Path
) -> None:
    data, build_id, machine_code, reason = OTHERS[other]
    path = door.program(
        converted(tmp_path, data),
        *("alpha", build_id),
        machine_code=machine_code,
        has_lines=False,
    )
    found = find_gsym(path, door.search)
    assert names(found) == ["alpha"]
    assert found.unsure == ""
    (note,) = found.notes
    assert f"is not used: {reason}" in note


@pytest.mark.parametrize("build_id", [ID, LONG_ID, b"\1", bytes(range(64)), None])
def test_the_file_of_a_build_is_used_without_a_word(
    door: Door, build_id: bytes | None, tmp_path: Path
) -> None:
    file = converted(tmp_path, program("same", build_id))
    path = door.program(file, "alpha", build_id, has_lines=False)
    found = find_gsym(path, door.search)
    assert (names(found), found.notes, found.unsure) == (["same"], (), "")
    if build_id is not None:
        assert gsym.open(path, build_id).uuid == build_id
        with pytest.raises(gsym.UuidMismatchError):
            gsym.open(path, build_id[:20] + b"\1")


@pytest.mark.parametrize("uuid", [b"", bytes(20)], ids=["no id", "zeros"])
def test_a_file_of_an_unknown_build_is_used_where_there_is_nothing_better(
    door: Door, uuid: bytes, tmp_path: Path
) -> None:
    file = file_of(str(tmp_path / "made"), uuid=uuid)
    path = door.program(file, "alpha", None, has_lines=False)
    found = find_gsym(path, door.search)
    assert names(found) == ["other"]
    assert "may be of another build: there is no id to compare" in found.unsure
    path = door.program(file, "alpha", None)
    found = find_gsym(path, door.search)
    assert (names(found), found.unsure) == (["alpha"], "")
    assert "so the debug information of the binary is used" in found.notes[0]


def test_a_build_id_of_zeros_is_equal_to_nothing(door: Door, tmp_path: Path) -> None:
    file = file_of(str(tmp_path / "made"), uuid=bytes(20))
    found = find_gsym(door.program(file, "alpha", bytes(20)), door.search)
    assert names(found) == ["alpha"]


def library(stamp: int) -> bytes:
    """A PE file without CodeView record, with a time stamp."""
    data = Pe(
        [PeSection(".text", CODE_BYTES, START, PE_CODE)],
        symbols=[PeSymbol("alpha", 0)],
    ).to_bytes()
    return data.replace(b"\xdf\x59\x37\x5f", stamp.to_bytes(4, "little"), 1)


@pytest.mark.parametrize(
    ("program", "uuid", "kept"),
    [
        (program("alpha", None), ID, program("alpha", None, has_lines=False)),
        (program("alpha", None), ID[:16], program("alpha", None, has_lines=False)),
        (library(1), None, library(2)),
    ],
    ids=["a UUID of 20 bytes", "a UUID of 16 bytes", "a time stamp"],
)
def test_equal_code_outweighs_ids_that_are_made_of_less(
    program: bytes, uuid: bytes | None, kept: bytes, tmp_path: Path
) -> None:
    path = place(tmp_path / "app", program)
    gsym.convert(path, f"{path}.gsym", uuid=uuid)
    place(tmp_path / "app", kept)
    os.utime(path, (0, 0))
    found = find_gsym(path, SEARCH)
    assert (found.origin, found.notes, found.unsure) == (f"{path}.gsym", (), "")


def test_equal_code_does_not_outweigh_a_build_id(tmp_path: Path) -> None:
    path = place(tmp_path / "app", program("alpha"))
    gsym.convert(path, f"{path}.gsym")
    place(tmp_path / "app", program("bravo", OTHER_ID))
    os.utime(path, (0, 0))
    found = find_gsym(path, SEARCH)
    assert names(found) == ["bravo"]
    assert found.notes[0].endswith(f"its build id is {ID.hex()}, not {OTHER_ID.hex()}")


def test_code_alone_does_not_tell_that_an_older_file_has_the_same_lines(
    tmp_path: Path,
) -> None:
    path = place(tmp_path / "app", program("alpha", None))
    gsym.convert(path, f"{path}.gsym")
    os.utime(f"{path}.gsym", (1, 1))
    for has_lines, answered in ((True, "bravo"), (False, "alpha")):
        place(tmp_path / "app", program("bravo", None, has_lines=has_lines))
        os.utime(path, (2, 2))
        found = find_gsym(path, SEARCH)
        assert names(found) == [answered]
        (said,) = filter(None, (*found.notes, found.unsure))
        doubt = "only its code is known to be equal, and it is older"
        assert said.startswith(f"{path}.gsym may be of another build: {doubt}")
        assert (found.unsure == "") == has_lines


def test_a_sure_file_is_used_before_one_that_is_not(tmp_path: Path) -> None:
    path = place(tmp_path / "app", program("alpha", LONG_ID, has_lines=False))
    file_of(path, uuid=LONG_ID[:20])
    assert "of its build id are known" in find_gsym(path, SEARCH).unsure
    made = converted(tmp_path, program("same", LONG_ID))
    Path(made).rename(f"{path}.gsym.x86_64")
    found = find_gsym(path, SEARCH)
    assert (names(found), found.unsure) == (["same"], "")


def image(name: str, age: int) -> bytes:
    """A program for Windows whose linker counts the builds of one GUID."""
    record = codeview(ID[:16], age, "app.pdb")
    debug = [
        PeSection(each.name, each.data)
        for each in debug_sections(64, "little", function(name, START, START + 16))
    ]
    text = PeSection(".text", b"\x90" * 16, 0x1000, PE_CODE)
    return Pe([text, *debug], image_base=0, debug=[(CODEVIEW, record)]).to_bytes()


def test_another_age_is_another_build(tmp_path: Path) -> None:
    path = place(tmp_path / "app.dll", image("alpha", 1))
    assert answer(path) == "alpha"
    file = converted(tmp_path, image("alpha", 1))
    replace(path, image("bravo", 2))
    assert answer(path) == "bravo"
    Path(file).rename(f"{path}.gsym")
    found = find_gsym(path, SEARCH)
    assert names(found) == ["bravo"]
    assert "its debug id is" in found.notes[0]
    replace(path, image("bravo", 1))
    assert answer(path) == "alpha"


def test_of_two_programs_of_one_id_each_has_its_own_names(tmp_path: Path) -> None:
    paths = [place(tmp_path / name, program(name)) for name in ("alpha", "bravo")]
    search = SEARCH._replace(store=True)
    assert main(["store", "add", paths[0]]) == 0
    assert [answer(path, search) for path in paths] == ["alpha", "bravo"]
    # A stripped one of another name may be either.
    assert main(["store", "add", paths[1]]) == 0
    bare = Elf([Section(".text", CODE_BYTES, flags=CODE, address=START)], build_id=ID)
    found = find_gsym(place(tmp_path / "app", bare.to_bytes()), search)
    assert found.reader is None
    (note,) = found.notes
    assert note.startswith("the store is not used: 2 modules have this id: ")
    assert "alpha of " in note
    assert "bravo of " in note


@pytest.mark.parametrize("machine_code", [CODE_BYTES, b"\xcc" * 16])
def test_code_of_a_log_is_that_of_the_build(
    tmp_path: Path, machine_code: bytes
) -> None:
    """Code and variables are read from a binary, functions from its GSYM file."""
    path = place(tmp_path / "app", program("app", machine_code=machine_code))
    with gsym.open(converted(tmp_path, program("app"))) as reader:
        module = OpenModule(None, reader)
        module.find_files = lambda: [path]
        code = ModuleSymbols(module, SymbolOptions()).code
    assert code.is_decoded == (machine_code == CODE_BYTES)


def test_a_stored_file_of_an_earlier_version_is_not_trusted(tmp_path: Path) -> None:
    """It does not say of which code it is."""
    file = str(tmp_path / "app.gsym")
    gsym.convert(place(tmp_path / "app", program("alpha")), file, identity=False)
    assert main(["store", "add", file, "--os", "Linux"]) == 0
    Path(file).unlink()
    path, search = (
        place(tmp_path / "app", program("bravo")),
        SEARCH._replace(store=True),
    )
    found = find_gsym(path, search)
    assert names(found) == ["bravo"]
    assert (found.notes, found.unsure) == ((), "")
    # Adding the program tells of which one it is.
    place(tmp_path / "app", program("alpha"))
    assert main(["store", "add", path]) == 0
    assert find_gsym(path, search).origin.endswith("in the store")
    # Without debug information its build id decides.
    bare = Elf([Section(".text", CODE_BYTES, flags=CODE, address=START)], build_id=ID)
    assert answer(place(tmp_path / "app", bare.to_bytes()), search) == "alpha"


def test_much_code_is_read_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cache: Path
) -> None:
    data = program("same", machine_code=b"\x90" * (1 << 20))
    path = place(tmp_path / "app", data)
    Path(converted(tmp_path, data)).rename(f"{path}.gsym")
    assert answer(path) == "same"
    monkeypatch.setattr("gsym.modules.key.hash_of_code", None)
    os.utime(f"{path}.gsym")  # so that it is compared again
    assert answer(path) == "same"
    rewrite(path, program("bravo", machine_code=b"\xcc" * (1 << 20)))
    with pytest.raises(TypeError):
        find_gsym(path, SEARCH)
    collect_cache(0)
    assert [*cache.rglob("stamps/*")] == []


# ---- the command and the Python API


def test_lookup_says_what_is_not_sure(tmp_path: Path, capsys: Captured) -> None:
    path = place(tmp_path / "app", program("alpha", None, has_lines=False))
    file_of(path)
    reason = f"{path}.gsym may be of another build: there is no id to compare"
    assert main(["lookup", path, hex(START)]) == 0
    done = capsys.readouterr()
    assert done.out == "0x1000: other\n"
    assert done.err == f"gsym: {reason}\n"
    assert main(["lookup", "--strict", "--json", path, hex(START), hex(1 << 64)]) == 3
    for line in capsys.readouterr().out.splitlines():
        assert json.loads(line)["unsure"] == reason


def test_a_lookup_that_is_sure_has_no_mark(tmp_path: Path, capsys: Captured) -> None:
    path = place(tmp_path / "app", program("alpha"))
    assert main(["lookup", "--strict", "--json", path, hex(START)]) == 0
    done = capsys.readouterr()
    assert "unsure" not in json.loads(done.out)
    assert done.err == ""


def test_python_is_warned_of_what_is_not_sure(tmp_path: Path) -> None:
    path = place(tmp_path / "app", program("alpha", None, has_lines=False))
    file_of(path)
    with pytest.warns(UserWarning, match="may be of another build"):
        gsym.open(path).close()


def test_doctor_and_verify_name_an_embedded_file_of_another_build(
    tmp_path: Path, capsys: Captured
) -> None:
    file = converted(tmp_path, program("other", OTHER_ID))
    path = Door(tmp_path, "embedded").program(file, "alpha")
    assert main(["verify", path]) == 1
    assert "another build than the binary around it" in capsys.readouterr().out
    main(["doctor", path])
    assert f"{path}(.gsym) is not used: its build id" in capsys.readouterr().out
    file = converted(tmp_path, program("same"))
    path = Door(tmp_path, "embedded").program(file, "alpha")
    assert main(["verify", path]) == 0
    main(["doctor", path])
    assert "is not used" not in capsys.readouterr().out


def test_verify_names_another_build_of_one_id(tmp_path: Path, capsys: Captured) -> None:
    file = converted(tmp_path, program("alpha"))
    same = place(tmp_path / "same", program("alpha"))
    other = place(tmp_path / "other", program("alpha", machine_code=b"\xcc" * 16))
    assert main(["verify", file, "--against", same]) == 0
    assert main(["verify", file, "--against", other]) == 1
    assert "another build (its code differs)" in capsys.readouterr().out
    with gsym.Creator() as creator:
        creator.add(gsym.FunctionInfo(START, 16, "alpha"))
        creator.save(file)
    nameless = place(tmp_path / "nameless", program("alpha", None))
    main(["verify", file, "--against", nameless])
    assert "may be of another build: there is no id" in capsys.readouterr().err
