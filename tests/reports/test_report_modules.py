"""Where the modules of a report come from."""

from __future__ import annotations

import os
import subprocess
from typing import TYPE_CHECKING

import pytest

import gsym
from gsym.memory import report_modules
from gsym.modules.file_match import match_file
from gsym.modules.key import ModuleKey
from tests.http_server import Reply, Server
from tests.inputs.elf import Elf

if TYPE_CHECKING:
    from pathlib import Path

UNKNOWN = (
    "neither a binary (ELF, Mach-O, PE) nor an archive of such, a PDB, a Breakpad .sym "
    "file or a GSYM file"
)
SOURCE = "int f(int x) { return x; }\n"


@pytest.fixture
def stripped(
    compiler: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> tuple[Path, str]:
    """A library of which the debug file is elsewhere, and a frame in it."""
    monkeypatch.setenv("GSYM_STORE", str(tmp_path / "store"))
    monkeypatch.setenv("GSYM_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("DEBUGINFOD_CACHE_PATH", str(tmp_path / "debuginfod"))
    (tmp_path / "a.c").write_text(SOURCE)
    flags = ["-g", "-shared", "-fPIC", "-Wl,--build-id=0xabcdef01"]
    full, path = tmp_path / "debug/a.so", tmp_path / "bin/a.so"
    full.parent.mkdir()
    path.parent.mkdir()
    subprocess.run([compiler, *flags, "-o", full, "a.c"], check=True, cwd=tmp_path)
    subprocess.run(["strip", "-o", path, full], check=True)
    with gsym.open(full) as reader:
        at = reader.find("f")[0].start
    return full, f"#0 {at:#x}  ({path}+{at:#x}) (BuildId: abcdef01)\n"


def test_a_stripped_file_does_not_hide_the_debug_file_of_a_server(
    stripped: tuple[Path, str],
) -> None:
    pytest.importorskip("httpx2")
    full, text = stripped
    assert gsym.symbolicate(text).threads[0].frames[0].calls[0].line == 0
    with Server(Reply(full.read_bytes())) as server:
        report = gsym.symbolicate(text, source=f"debuginfod+{server.url}")
    frame = report.threads[0].frames[0]
    assert (frame.calls[0].filename, frame.calls[0].line) == ("a.c", 1)
    assert report.modules[0].path.startswith(str(full.parents[1] / "store"))


def test_a_stripped_file_does_not_hide_the_debug_file_of_a_later_folder(
    stripped: tuple[Path, str],
) -> None:
    full, text = stripped
    report = gsym.symbolicate(text, source=[full.parents[1] / "bin", full.parent])
    assert report.threads[0].frames[0].calls[0].line == 1


def test_the_id_of_a_stripped_file_that_has_only_a_path_finds_its_debug_file(
    stripped: tuple[Path, str],
) -> None:
    full, text = stripped
    renamed = full.rename(full.with_name("of-another-name.debug"))
    report = gsym.symbolicate(text.partition(" (BuildId")[0], source=full.parent)
    assert report.threads[0].frames[0].calls[0].line == 1
    module = report.modules[0]
    assert (module.path, module.unsure) == (
        str(renamed),
        "found by its name alone",
    )


def test_a_stripped_file_is_better_than_none(stripped: tuple[Path, str]) -> None:
    pytest.importorskip("httpx2")
    full, text = stripped
    with Server(Reply(status=404)) as server:
        report = gsym.symbolicate(text, source=f"debuginfod+{server.url}")
    assert report.threads[0].frames[0].calls[0].name == "f"
    assert report.modules[0].path == str(full.parents[1] / "bin/a.so")


def test_the_reasons_name_each_place_that_was_searched(
    stripped: tuple[Path, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    full, text = stripped
    installed = full.parent / "installed"
    installed.mkdir()
    places = (str(installed), str(full.parent / "none"))
    monkeypatch.setattr(report_modules, "DEBUG_DIRECTORIES", places)
    report = gsym.symbolicate(text.replace("abcdef01", "abcdef02"), source=full.parent)
    (frame,) = report.frames()
    assert frame.reason == (
        f"no symbols of a.so: {full}: its build id is abcdef01, not abcdef02; "
        f"{full.parents[1]}/bin/a.so: its build id is abcdef01, not abcdef02; "
        f"{installed}: has no file with this build id; {places[1]}: is not a folder"
    )


@pytest.mark.parametrize(
    ("code_id", "debug_id", "reason"),
    [
        ("", "", ""),
        ("ABCDEF01", "", ""),
        ("abcdef01", "0", ""),
        ("", "OWN", ""),
        ("abcdef02", "", "its build id is abcdef01, not abcdef02"),
        ("abcdef02", "OWN", "its build id is abcdef01, not abcdef02"),
        (
            "",
            "1" * 32 + "0",
            "its debug id is OWN, not 111111111111111111111111111111110",
        ),
        ("00000000", "", ""),
        ("00000000", "0" * 33, ""),
    ],
)
def test_the_file_at_a_path_must_have_the_id(
    stripped: tuple[Path, str], code_id: str, debug_id: str, reason: str
) -> None:
    path = str(stripped[0])
    own = gsym.identify(path).debug_id
    key = ModuleKey(debug_id=debug_id.replace("OWN", own), code_id=code_id)
    assert match_file(path, key).refusal == reason.replace("OWN", own)


@pytest.mark.parametrize(
    ("name", "code_id", "reason"),
    [
        ("without.o", "", ""),
        ("without.o", "abcdef01", "there is no id to compare"),
        ("text", "", ""),
        ("text", "abcdef01", f"PATH: offset 0x0: {UNKNOWN}"),
        ("empty", "", "not a regular file with contents"),
        ("pipe", "", "not a regular file with contents"),
        (".", "", "not a regular file with contents"),
        ("missing", "", "No such file or directory"),
    ],
)
def test_the_file_at_a_path_must_be_regular_and_a_binary(
    tmp_path: Path, name: str, code_id: str, reason: str
) -> None:
    (tmp_path / "without.o").write_bytes(Elf().to_bytes())
    (tmp_path / "text").write_text("text\n")
    (tmp_path / "empty").touch()
    os.mkfifo(tmp_path / "pipe")
    path = str(tmp_path / name)
    reason = reason.replace("PATH", path)
    assert match_file(path, ModuleKey(code_id=code_id)).refusal == reason


@pytest.mark.parametrize("is_debug_file", [False, True])
def test_names_that_a_function_also_has_are_known_and_labels_in_it(
    compiler: str, tmp_path: Path, *, is_debug_file: bool
) -> None:
    (tmp_path / "a.c").write_text(
        "int f(int x) { return x; }\n"
        'int other(int) __attribute__((alias("f")));\n'
        '__asm__(".text\\n.globl outer\\n.type outer,@function\\nouter: nop\\nnop\\n"\n'
        '        ".globl label\\nlabel: nop\\nnop\\n.size outer, .-outer\\n");\n'
    )
    path = tmp_path / "build/a.so"
    path.parent.mkdir()
    flags = ["-g", "-shared", "-fPIC"]
    subprocess.run([compiler, *flags, "-o", path, "a.c"], check=True, cwd=tmp_path)
    if is_debug_file:
        subprocess.run(["objcopy", "--only-keep-debug", path], check=True)
    for name, function in ("f", "f"), ("other", "f"), ("label", "outer"):
        text = f"/x/a.so({name}+0x1) [0x7f0000000000]"
        report = gsym.symbolicate(text, source=path.parent)
        (frame,) = report.frames()
        assert frame.calls, (name, frame.reason)
        assert frame.calls[-1].name in {function, name}
        assert frame.calls[-1].offset == (3 if name == "label" else 1)


def test_a_source_may_be_a_file_or_a_store(stripped: tuple[Path, str]) -> None:
    full, text = stripped
    store = gsym.Store(full.parents[1] / "shelf")
    gsym.add_file(store.path, full)
    gsym.convert(full, full.parents[1] / "a.so.gsym")
    for source in (full, str(full), [store], store, full.parents[1] / "a.so.gsym"):
        report = gsym.symbolicate(text, source=source)
        assert report.threads[0].frames[0].calls[0].line == 1, source
    bare = text.partition(" (BuildId")[0] + "\n"
    other = full.with_name("other.so")
    full.rename(other)
    (full.parents[1] / "bin/a.so").unlink()
    for each in (text, bare):  # without an id, only the name tells
        (frame,) = gsym.symbolicate(each, source=other).frames()
        assert bool(frame.calls) == (each is text)


def test_the_text_may_be_bytes(stripped: tuple[Path, str]) -> None:
    full, text = stripped
    by_text = gsym.symbolicate(text, source=full)
    for each in (text.encode(), bytearray(text.encode())):
        assert gsym.symbolicate(each, source=full).threads == by_text.threads


def test_the_name_of_a_file_as_text_has_a_hint(tmp_path: Path) -> None:
    path = tmp_path / "crash.txt"
    path.write_text("nothing\n")
    with pytest.warns(UserWarning, match=r"pathlib\.Path\('.*crash.txt'\) reads it"):
        assert str(gsym.symbolicate(str(path))) == str(path)


def test_a_binary_is_no_report(stripped: tuple[Path, str]) -> None:
    full, _ = stripped
    with pytest.raises(gsym.FormatError, match=r"debug/a\.so: a binary, neither"):
        gsym.symbolicate(full)


def test_load_addresses_of_modules_without_frames_have_notes() -> None:
    starts = {"a.so": 0x1000, "/lib/b.so": 0x9000_0000}
    report = gsym.symbolicate(
        "#0  0x0000000000001010 in ?? ()\n", load_addresses=starts
    )
    note = "/lib/b.so: a load address is given, but no frame is in it"
    assert [each for each in report.notes if "load address" in each] == [note]


# ---- reports in notebooks, keys of crashes


def crash(module: str = "app", offset: int = 0) -> gsym.Report:
    """A report whose frames were answered."""

    def frame(name: str, *calls: str) -> gsym.ReportFrame:
        made = [
            gsym.Frame(each, "/s", "a.c", 3 + offset, offset, inlined=True)
            for each in calls
        ]
        return gsym.ReportFrame(name, 0, 16 + offset, name, tuple(made), offset)

    frames = (
        frame("raise"),
        frame("abort", "abort"),
        frame("", "_ZN3geo5shapeINS_1aEEEvi", "_ZN3geo4areaEv"),
        frame(""),
        frame("main"),
    )
    other = gsym.ReportThread("other", is_crashed=False, frames=(frame("poll"),))
    crashed = gsym.ReportThread("main", is_crashed=True, frames=frames)
    known = (gsym.ReportModule(module, "", ""),)
    return gsym.Report(
        "gdb", "SIGABRT", (other, crashed), known, (), (), is_verbatim=False
    )


def test_reports_of_a_fault_have_one_key() -> None:
    key = "shape<geo::a> | area | app | main"
    assert crash().key() == crash(offset=8).key() == key
    assert crash("b").key() != key
    assert crash().key(2) == "shape<geo::a> | area"
    alone = crash()._replace(threads=crash().threads[:1])
    assert alone.key() == "poll"
    assert alone._replace(threads=()).key() == ""


def test_a_notebook_shows_a_report() -> None:
    report = crash("<b>")
    shown = report._repr_html_()
    assert "<b>" not in shown
    assert "&lt;b&gt;" in shown
    assert shown.count("<table>") == 2
    assert "geo::area()" in shown
    assert repr(report) == "<gsym.Report gdb: 2 threads, 2 of 6 frames answered>"


@pytest.mark.parametrize("source", ["binary", "gsym", "both"])
@pytest.mark.parametrize("placed", ["by the user", ""])
def test_lines_about_segments_of_several_processes(
    source: str,
    placed: str,
    compiler: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Older kernels print the address, and where the segment with it was mapped."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.c").write_text(SOURCE)
    flags = ["-g", "-shared", "-fPIC", "-Wl,--build-id", "-Wl,-z,separate-code"]
    subprocess.run([compiler, *flags, "-o", "app", "a.c"], check=True)
    (tmp_path / "files").mkdir()
    gsym.convert("app", "files/app.gsym")
    with gsym.open("files/app.gsym") as reader:
        at = reader.find("f")[0].start
    (tmp_path / "app").rename(tmp_path / ("app" if source == "gsym" else "files/app"))
    monkeypatch.chdir(tmp_path / "files")
    if source == "binary":
        (tmp_path / "files/app.gsym").unlink()
    loaded = [0x55D0C1A00000, 0x55F0D1A00000, 0x55A0B1A00000]
    text = "".join(
        f"app[1]: segfault at 0 ip {start + at:016x} sp 00007ffd11223344 error 4 in "
        f"app[{start + 0x1000:x}+1000]\n"
        for start in loaded
    )
    starts = {"app": loaded[0]} if placed else {}
    report = gsym.symbolicate(text, source=tmp_path / "files", load_addresses=starts)
    names = [each.calls[0].name if each.calls else "" for each in report.frames()]
    whole = [source != "gsym"] * 3 if not placed else [True, *[source != "gsym"] * 2]
    assert names == ["f" if each else "" for each in whole]
