"""`gsym doctor`: the installation, and what binaries have and lack."""

from __future__ import annotations

import json
import subprocess
from importlib import metadata
from pathlib import Path

import pytest

import gsym
from gsym.cli.main import main
from gsym.cli.verbs.doctor import EXTRAS, examine
from gsym.containers.mapped_file import map_file
from gsym.containers.object_file import ObjectFile
from tests.conftest import REPOSITORY
from tests.inputs.macho import macho_of

SOURCE = "int f(int a) { return a + 1; }\nint main(void) { return f(1); }\n"
NOT_OF_USERS = {"all", "test", "test-peers", "bench", "lint", "docs", "package"}


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, with a source file; nothing of the user is used."""
    (tmp_path / "a.c").write_text(SOURCE)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GSYM_STORE", str(tmp_path / "store"))
    monkeypatch.setenv("GSYM_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.delenv("DEBUGINFOD_URLS", raising=False)
    return tmp_path


def build(compiler: str, *flags: str) -> None:
    command = [compiler, "-o", "app", "a.c", "-Wl,--build-id", *flags]
    subprocess.run(command, check=True)


def diagnosis(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, dict]:  # type: ignore[type-arg]
    status = main(["doctor", "--json", *arguments])
    return status, json.loads(capsys.readouterr().out)


@pytest.mark.usefixtures("here")
def test_a_binary_with_lines_is_fine(
    compiler: str, capsys: pytest.CaptureFixture[str]
) -> None:
    build(compiler, "-gdwarf-4", "-gz")
    status, found = diagnosis(capsys, "app")
    assert status == 0
    assert found["has_lines"]
    assert found["missing"] == []
    assert found["dwarf_versions"].keys() == {"4"}
    assert found["dwarf_file"] == "app"
    assert ".debug_info" in found["compressed_sections"]
    assert ".symtab" in found["symbol_tables"]
    assert found["advice"] == [
        "it has lines: 'gsym lookup app ADDRESS', or 'gsym convert app'"
    ]


@pytest.mark.usefixtures("here")
def test_of_a_stripped_binary_each_path_is_shown_with_the_reason(
    compiler: str, capsys: pytest.CaptureFixture[str]
) -> None:
    build(compiler, "-s")
    build_id = build_id_of("app")
    status = main(["doctor", "--debug-file-directory", "symbols", "app"])
    lines = capsys.readouterr().out.splitlines()
    assert status == 1
    path = f"symbols/.build-id/{build_id[:2]}/{build_id[2:]}.debug"
    assert f"    {path}: not there" in lines
    assert any("--debug-file-directory DIR" in line for line in lines)


def test_servers_that_were_asked_are_named(
    here: Path,
    compiler: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("DEBUGINFOD_URLS", f"file://{here}/server")
    monkeypatch.setenv("DEBUGINFOD_CACHE_PATH", str(here / "debuginfod"))
    build(compiler, "-s")
    assert main(["doctor", "--debuginfod", "app"]) == 1
    path = f"{here}/server/buildid/{build_id_of('app')}/debuginfo"
    assert f"    {path}: not there" in capsys.readouterr().out.splitlines()


def test_a_debug_file_that_is_found_is_named(
    here: Path, compiler: str, objcopy: str, capsys: pytest.CaptureFixture[str]
) -> None:
    build(compiler, "-g")
    build_id = build_id_of("app")
    place = here / "symbols/.build-id" / build_id[:2] / f"{build_id[2:]}.debug"
    place.parent.mkdir(parents=True)
    subprocess.run([objcopy, "--only-keep-debug", "app", place], check=True)
    subprocess.run([objcopy, "--strip-debug", "app"], check=True)
    options = ("--debug-file-directory", str(here / "symbols"))
    status, found = diagnosis(capsys, *options, "app")
    assert (status, found["dwarf_file"]) == (0, str(place))
    assert found["companions"] == [str(place)]


def test_missing_split_units_are_named(
    here: Path, compiler: str, capsys: pytest.CaptureFixture[str]
) -> None:
    build(compiler, "-g", "-gsplit-dwarf")
    for path in here.glob("*.dwo"):
        path.unlink()
    _, found = diagnosis(capsys, "app")
    (text,) = found["missing"]
    assert "1 split unit not found: tried app.dwp: not there; " in text
    assert any("--dwp FILE" in advice for advice in found["advice"])


@pytest.mark.usefixtures("here")
def test_an_embedded_file_gives_the_lines_of_a_stripped_binary(
    compiler: str, objcopy: str, capsys: pytest.CaptureFixture[str]
) -> None:
    build(compiler, "-g")
    assert main(["convert", "app", "-o", "converted"]) == 0
    assert main(["embed", "converted", "app"]) == 0
    subprocess.run([objcopy, "--strip-debug", "app"], check=True)
    capsys.readouterr()
    status, found = diagnosis(capsys, "app")
    assert status == 0
    assert found["is_embedded"]
    assert found["functions_with_lines"] == 0
    assert found["gsym_file"] == "app(.gsym)"
    # A conversion would have no lines, or fail.
    assert found["advice"] == ["its GSYM file has lines: 'gsym lookup app ADDRESS'"]


@pytest.mark.usefixtures("here")
def test_what_to_do_depends_on_the_container(
    compiler: str, capsys: pytest.CaptureFixture[str]
) -> None:
    build(compiler, "-s", "-Wl,--build-id=none")
    _, found = diagnosis(capsys, "app")
    assert found["kind"] == "ELF"
    assert any("-Wl,--build-id" in advice for advice in found["advice"])
    Path("bare").write_bytes(macho_of({}))
    _, found = diagnosis(capsys, "bare")
    assert found["kind"] == "Mach-O"
    assert found["advice"] == [
        "make a dSYM bundle where it was linked: 'dsymutil bare'"
    ]


@pytest.mark.usefixtures("here")
def test_a_file_that_cannot_be_read_does_not_stop_the_others(
    compiler: str, capsys: pytest.CaptureFixture[str]
) -> None:
    build(compiler, "-g")
    assert main(["doctor", "nowhere", "a.c", "app"]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "nowhere: No such file or directory"
    assert lines[1].startswith("a.c: offset 0x0: neither a binary")
    assert lines[2].startswith("app: ELF, ")


@pytest.mark.usefixtures("here")
def test_nothing_is_kept(compiler: str) -> None:
    build(compiler, "-s")
    main(["doctor", "app"])
    assert sorted(path.name for path in Path().iterdir()) == ["a.c", "app"]


# ---- the installation


def test_every_extra_for_users_is_explained() -> None:
    tomllib = pytest.importorskip("tomllib")  # from Python 3.11
    text = (REPOSITORY / "pyproject.toml").read_text(encoding="utf-8")
    extras = tomllib.loads(text)["project"]["optional-dependencies"].keys()
    assert EXTRAS.keys() == extras - NOT_OF_USERS


def test_the_installation_has_its_version_servers_and_folders(
    here: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("DEBUGINFOD_URLS", "https://symbols.example")
    (here / "store").mkdir()
    (here / "store/file").write_bytes(bytes(1234))
    status, found = diagnosis(capsys)
    assert (status, found["version"]) == (0, gsym.__version__)
    assert found["debuginfod"] == ["https://symbols.example"]
    places = {place["name"]: place for place in found["places"]}
    assert places["store"] == {
        "name": "store",
        "path": str(here / "store"),
        "size": 1234,
    }
    assert places["cache"]["size"] is None
    assert main(["doctor"]) == 0
    assert f"{here / 'cache'}: does not exist" in capsys.readouterr().out


def test_a_package_that_is_not_installed_is_missing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    declared = ['no-such-package>=1; python_version > "3" and extra == "net"', "cffi"]
    monkeypatch.setattr(metadata, "requires", lambda _name: declared)
    missing = {each["name"]: each["missing"] for each in examine()["extras"]}
    assert missing.pop("net") == ["no-such-package"]
    assert not any(missing.values())


def build_id_of(path: str) -> str:
    return ObjectFile(map_file(path), path).uuid.hex()
