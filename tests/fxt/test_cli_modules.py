"""The modules of profiles: found by all ids that these have, never of another build."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any

import pytest

from gsym.cli.main import main
from gsym.modules.key import elf_debug_id
from gsym.profiles.model import Mapping, ProfileBuilder, read_module_id
from gsym.profiles.opening import read_profile
from gsym.profiles.pprof import pprof_file
from tests.fxt.traces import run
from tests.inputs import elf, macho, perf_data
from tests.profiles.json_profiles import firefox

if TYPE_CHECKING:
    from pathlib import Path

    Capture = pytest.CaptureFixture[str]

GUID = "DFAB589A002ACBB3A9A0C0AD800DFB44"
ID = bytes(range(1, 21))
ADDRESS = 0x1010


@pytest.fixture(autouse=True)
def _own_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GSYM_STORE", str(tmp_path / "store"))
    monkeypatch.setenv("GSYM_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("COLUMNS", "80")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "symbols"
    made.mkdir()
    return made


def program(name: str, build_id: bytes | None = ID, **fields: Any) -> bytes:  # noqa: ANN401
    """An ELF file whose function at `ADDRESS` is *name*."""
    code = elf.code_section(0x1000, 0x1000)
    symbols = [elf.Symbol(name, 0x1000, 0x100)]
    segment = elf.Segment(0x1000, offset=0x1000)
    return elf.Elf(
        [code], [segment], symbols=symbols, build_id=build_id, **fields
    ).to_bytes()


def names(capsys: Capture, *words: str | Path) -> tuple[str, str, int]:
    """Collapsed stacks, what is said, and the exit code of `gsym trace symbolize`."""
    code = run("symbolize", "--strict", "--to", "collapsed", *words)
    printed = capsys.readouterr()
    return printed.out.strip(), printed.err, code


# ---- Firefox


def written(folder: Path, library: dict[str, str], system: str = "") -> Path:
    """A profile of one address of a library."""
    made = firefox()
    made["libs"] = [library]
    made["meta"]["oscpu"] = system
    (thread,) = made["threads"]
    thread["frameTable"]["address"] = [ADDRESS] * 2
    thread["stringArray"][:2] = ["0x1010", "0x1010"]
    thread["samples"]["stack"] = [0, 0, 0]
    path = folder / "profile.json"
    path.write_text(json.dumps(made))
    return path


def breakpad(os: str, debug_id: str, function: str) -> str:
    return f"MODULE {os} x86_64 {debug_id} app.pdb\nFUNC 1000 100 0 {function}\n"


@pytest.mark.parametrize("code_id", ["6B0A2732f000", "6B0A273210000", ""])
def test_a_library_of_windows_is_found_by_its_debug_id(
    tmp_path: Path, folder: Path, capsys: Capture, code_id: str
) -> None:
    library = {
        "name": "app.dll",
        "path": "C:\\programs\\app.dll",
        "debugName": "app.pdb",
        "breakpadId": f"{GUID}1",
        "codeId": code_id,
    }
    path = written(tmp_path, library)
    (folder / "a.sym").write_text(breakpad("windows", f"{GUID}2", "other"))
    out, said, code = names(capsys, path, "--gsym-dir", folder)
    assert (out, code) == ("app.dll!0x1010 3", 3)
    assert "not found" in said or "no file" in said
    (folder / "b.sym").write_text(breakpad("windows", f"{GUID}1", "right"))
    assert names(capsys, path, "--gsym-dir", folder)[::2] == ("right 3", 0)
    capsys.readouterr()
    output = tmp_path / "again.firefox.json"
    assert run("convert", "-o", output, path) == 0
    (again,) = json.loads(output.read_text())["libs"]
    assert {each: again[each] or "" for each in library} == library


@pytest.mark.parametrize(
    ("library", "system"),
    [
        ({"breakpadId": f"{GUID}0", "codeId": GUID}, "Intel Mac OS X 14"),
        ({"breakpadId": f"{GUID}0"}, "macOS 14"),
        ({"breakpadId": f"{GUID}0"}, ""),
    ],
)
def test_the_id_of_a_library_chooses_the_slice_of_a_universal_file(
    folder: Path, capsys: Capture, library: dict[str, str], system: str
) -> None:
    slices = [
        (
            cpu,
            macho.Macho(
                [macho.code(0x1000, 0x100)],
                [macho.Symbol(f"_{name}", 0x1000)],
                cpu=cpu,
                uuid=uuid,
            ).to_bytes(),
        )
        for cpu, name, uuid in (
            ((macho.X86_64, 3), "intel", bytes(range(16))),
            ((macho.ARM64, 0), "arm", bytes.fromhex(GUID)),
        )
    ]
    (folder / "app").write_bytes(macho.fat(*slices))
    profile = written(folder, {"name": "app", **library}, system)
    out, _, code = names(capsys, profile, "--gsym-dir", folder)
    assert (out, code) == ("arm 3", 0)


@pytest.mark.parametrize("byteorder", ["little", "big"])
@pytest.mark.parametrize("command", ["symbolize", "convert"])
def test_debug_ids_have_the_order_of_bytes_of_the_module(
    tmp_path: Path,
    folder: Path,
    command: str,
    byteorder: Any,  # noqa: ANN401
) -> None:
    (folder / "app").write_bytes(program("f", byteorder=byteorder))
    assert main(["store", "add", str(folder / "app")]) == 0
    addresses = tmp_path / "addresses.txt"
    addresses.write_text(f"{ID.hex()}:{ADDRESS:#x}\n")
    output = tmp_path / "made.firefox.json"
    assert run(command, "-o", output, addresses) == 0
    (library,) = json.loads(output.read_text())["libs"]
    assert library["breakpadId"] == elf_debug_id(ID, byteorder)
    assert library["codeId"] == ID.hex()


def test_modules_of_a_big_endian_machine_are_big_endian(tmp_path: Path) -> None:
    perf = perf_data.PerfFile("big")
    path, output = tmp_path / "perf.data", tmp_path / "made.firefox.json"
    path.write_bytes(recorded(perf, perf.build_id("/opt/app", ID)))
    assert run("convert", "-o", output, path) == 0
    (library,) = json.loads(output.read_text())["libs"]
    assert library["breakpadId"] == elf_debug_id(ID, "big")


# ---- perf


def recorded(
    perf: perf_data.PerfFile, build_ids: bytes, path: str = "/opt/app"
) -> bytes:
    """A perf.data with a sample in *path*."""
    loaded = 0x400000
    records = perf.mapping(7, loaded, 0x1000, path, offset=0x1000)
    records += perf.sample(10, (perf_data.USER_MARKER, loaded + 0x10))
    return perf.file(records, build_ids=build_ids)


@pytest.mark.parametrize("place", ["app", ".build-id/01/{0}.debug"])
def test_a_build_id_that_perf_cut_is_a_part(
    tmp_path: Path, folder: Path, capsys: Capture, place: str
) -> None:
    whole = ID + b"\x55" * 12
    path = tmp_path / "perf.data"
    perf = perf_data.PerfFile()
    path.write_bytes(recorded(perf, perf.build_id("/opt/app", ID)))
    binary = folder / place.format(whole.hex()[2:])
    binary.parent.mkdir(parents=True, exist_ok=True)
    binary.write_bytes(program("right", whole))
    out, said, code = names(capsys, path, "--gsym-dir", folder)
    assert (out, code) == ("right 5", 3)
    (line,) = [line for line in said.splitlines() if "unsure" in line]
    assert line.endswith("/opt/app: only 20 of 32 bytes of its build id are known")
    run("top", "--json", "--gsym-dir", folder, path)
    (unsure,) = json.loads(capsys.readouterr().out)["unsure"]
    assert unsure["module"] == "/opt/app"
    binary.write_bytes(program("wrong", b"\x55" * 32))
    assert names(capsys, path, "--gsym-dir", folder)[0] == "app!0x400010 5"


@pytest.mark.parametrize(
    ("later", "inode", "remark"),
    [
        (-60, False, " is used"),
        (60, False, " is used, which is newer than the profile"),
        (-60, True, " is used, which is another one than in the profile"),
    ],
)
def test_a_file_that_is_taken_for_the_one_that_ran_is_unsure(
    tmp_path: Path, capsys: Capture, later: int, remark: str, *, inode: bool
) -> None:
    binary = tmp_path / "app"
    binary.write_bytes(program("now"))
    perf = perf_data.PerfFile()
    mapping = perf.mapping2(
        7, 0x400000, 0x1000, str(binary), offset=0x1000, inode=7 if inode else 0
    )
    sample = perf.sample(10, (perf_data.USER_MARKER, 0x400010))
    path = tmp_path / "perf.data"
    path.write_bytes(perf.file(mapping + sample))
    written_at = path.stat().st_mtime + later
    os.utime(binary, (written_at, written_at))
    out, said, code = names(capsys, path)
    assert (out, code) == ("now 5", 3)
    assert said.splitlines()[0].endswith(remark)
    assert run("convert", "--strict", "--to", "pprof", "-o", tmp_path / "p", path) == 3
    assert "unsure" in capsys.readouterr().err
    assert run("convert", "--strict", "--to", "collapsed", path) == 0
    build_ids = tmp_path / "ids"
    build_ids.write_text(f"{ID.hex()} {binary}\n")
    assert names(capsys, path, "--build-ids", build_ids)[2] == 0


def test_a_file_with_the_id_in_its_name_alone_is_unsure(
    tmp_path: Path, folder: Path, capsys: Capture
) -> None:
    path = tmp_path / "perf.data"
    perf = perf_data.PerfFile()
    path.write_bytes(recorded(perf, perf.build_id("/opt/app", ID)))
    digits = ID.hex()
    place = folder / ".build-id" / digits[:2] / f"{digits[2:]}.debug"
    place.parent.mkdir(parents=True)
    place.write_bytes(program("named", None))
    out, said, code = names(capsys, path, "--gsym-dir", folder)
    assert (out, code) == ("named 5", 3)
    assert "unsure: /opt/app: found by its name alone" in said
    place.rename(folder / "app")
    assert names(capsys, path, "--gsym-dir", folder)[0] == "app!0x400010 5"


# ---- Go


@pytest.mark.parametrize("is_hex", [False, True])
def test_a_program_of_go_is_found_by_the_build_id_of_its_linker(
    tmp_path: Path, folder: Path, capsys: Capture, *, is_hex: bool
) -> None:
    ids = ["/".join([letter * 20] * 4) for letter in "ab"]
    text = ids[0].encode().hex() if is_hex else ids[0]
    build_id, module = read_module_id(text)
    assert (build_id, module.go_id) == ("", ids[0])
    builder = ProfileBuilder()
    mapping = Mapping(0x1000, 0x2000, None, 0x1000, "/app/server", module=module)
    place = builder.location(ADDRESS, builder.mapping(mapping))
    builder.sample(builder.stack((place,)))
    path = tmp_path / "profile.pb.gz"
    path.write_bytes(pprof_file(builder.profile))
    assert read_profile(path).mappings[0].module.go_id == ids[0]
    for each, expected in zip(ids[::-1], ["server!0x1010 1", "f 1"], strict=True):
        note = elf.Section(
            ".note.go.buildid", elf.note(b"Go\0", 4, each.encode(), "little")
        )
        symbols = [elf.Symbol("f", 0x1000, 0x100)]
        segment = elf.Segment(0x1000, offset=0x1000)
        image = elf.Elf([elf.code_section(), note], [segment], symbols)
        (folder / "server").write_bytes(image.to_bytes())
        assert names(capsys, path, "--gsym-dir", folder)[0] == expected
