"""Source files in debug information: kept by conversions, shown by reports."""

from __future__ import annotations

import json
import shutil
import subprocess
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, strategies as st

import gsym
from gsym.cli.dropins.symbolizer import main as symbolizer
from gsym.cli.main import main
from gsym.conversion.report import LIMIT_REACHED
from gsym.modules.source_files import sources_of_binary
from gsym.writing.source_part import SourceFiles, sources_of_reader
from tests.conftest import find_peer
from tests.conversions import convert_bytes
from tests.inputs.dwarf_constants import Content, Form
from tests.inputs.line_program import PATH_AND_DIRECTORY, File, LineProgram, sequence
from tests.inputs.program import function, program, unit
from tests.symbolizer_runs import run_llvm

if TYPE_CHECKING:
    from pathlib import Path

HEADER = "static inline int twice(int x) {\n    return x * 2;\n}\n"
MAIN = """\
#include "inc.h"
volatile int sink;
__attribute__((noinline)) int work(int x) {
    sink = twice(x);
    return sink + 1;
}
int entry(void) {
    return work(7) + 1;
}
"""
WINDOWS = "--target=x86_64-windows-msvc"


@pytest.fixture(scope="module")
def program_file(clang: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A program with its source files, which are nowhere else."""
    folder = tmp_path_factory.mktemp("embedded")
    return compiled(clang, folder, "-fPIC", "-shared", "-nostdlib", "-gembed-source")


def compiled(clang: str, folder: Path, *options: str) -> Path:
    sources = folder / "src"
    sources.mkdir()
    (sources / "a.c").write_text(MAIN)
    (sources / "inc.h").write_text(HEADER)
    command = [clang, "-g", "-gdwarf-5", "-O1", *options, "-o", "app", "src/a.c"]
    subprocess.run(command, cwd=folder, check=True)
    shutil.rmtree(sources)
    return folder / "app"


def report_of(path: Path, *names: str) -> str:
    with gsym.open(path) as reader:
        starts = {each.name: each.start for each in reader.functions()}
    return "".join(f"app+{starts[name]:#x}\n" for name in names)


def test_files_of_the_functions_are_kept(program_file: Path, tmp_path: Path) -> None:
    target = tmp_path / "app.gsym"
    gsym.convert(program_file, target, embedded_sources=True)
    with gsym.open(target) as reader:
        files = sources_of_reader(reader)
        assert [*files.texts] == sorted(reader.files())
        texts = {path.rpartition("/")[2]: text for path, text in files.texts.items()}
    assert texts == {"a.c": MAIN.encode(), "inc.h": HEADER.encode()}
    (keep := tmp_path / "kept").mkdir()
    gsym.convert(
        program_file, keep / "x", embedded_sources=True, drop_functions=["work"]
    )
    with gsym.open(keep / "x") as reader:
        (path,) = sources_of_reader(reader).texts
    assert path.endswith("/a.c")
    with pytest.raises(ValueError, match="segments"):
        gsym.convert(
            program_file, keep / "y", embedded_sources=True, segment_size=1 << 20
        )


def test_paths_are_mapped_as_those_of_functions(
    program_file: Path, tmp_path: Path
) -> None:
    folder = str(program_file.parent)
    target = tmp_path / "app.gsym"
    gsym.convert(
        program_file, target, embedded_sources=True, path_map={folder: "/mapped"}
    )
    with gsym.open(target) as reader:
        assert [*sources_of_reader(reader).texts] == sorted(reader.files())
        assert [each for each in reader.files() if "/mapped/" not in each] == []


def test_without_the_option_files_are_as_before(
    clang: str, program_file: Path, tmp_path: Path
) -> None:
    plain, kept = tmp_path / "plain.gsym", tmp_path / "kept.gsym"
    gsym.convert(program_file, plain)
    report = gsym.convert(program_file, kept, embedded_sources=True, identity=False)
    gsym.convert(program_file, plain, identity=False)
    size = plain.stat().st_size
    assert kept.read_bytes()[:size] == plain.read_bytes()
    assert not report.warnings
    other = compiled(clang, tmp_path, "-fPIC", "-shared", "-nostdlib")
    report = gsym.convert(other, kept, embedded_sources=True)
    assert [*report.warnings] == [
        "No source file found: the debug information has none"
    ]


@pytest.mark.parametrize("name", ["app", "app.gsym"])
def test_lines_come_from_the_module(
    name: str,
    program_file: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    folder = tmp_path / "modules"
    folder.mkdir()
    gsym.convert(program_file, tmp_path / "app.gsym", embedded_sources=True)
    shutil.copy((tmp_path if "." in name else program_file.parent) / name, folder)
    text = report_of(tmp_path / "app.gsym", "work", "entry")
    report = gsym.symbolicate(text, source=folder, context=1, store=tmp_path / "s")
    first, second = report.frames()
    (inlined, outer), (entry,) = first.sources, second.sources
    assert inlined is not None
    assert inlined.shown(2) == [
        "  1 | static inline int twice(int x) {",
        "> 2 |     return x * 2;",
        "  3 | }",
    ]
    assert outer is not None
    assert outer.lines == tuple(MAIN.splitlines()[2:5])
    assert entry is not None
    assert entry.first == 6
    shown = str(report).splitlines()
    assert shown[1:4] == [f"  {each}" for each in inlined.shown(2)]
    path = tmp_path / "report"
    path.write_text(text)
    options = ["--source", str(folder), "--context", "1", "--json"]
    main(["symbolicate", str(path), *options, "--store", str(tmp_path / "s")])
    (thread,) = json.loads(capsys.readouterr().out)["threads"]
    call = thread["frames"][1]["calls"][0]
    lines = MAIN.splitlines()[5:8]
    assert call["source"] == {"first": 6, "lines": lines, "link": ""}


@pytest.mark.usefixtures("llvm_symbolizer")
def test_the_innermost_lines_are_those_of_llvm_symbolizer(
    program_file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    gsym.convert(program_file, tmp_path / "app.gsym")
    with gsym.open(tmp_path / "app.gsym") as reader:
        addresses = [
            hex(each.start + offset)
            for each in reader.functions()
            for offset in range(0, each.size, 3)
            if each.line_table
        ]
    options = ["--print-source-context-lines=5", "--output-style=JSON"]
    arguments = [*options, "-e", str(program_file), *addresses]
    symbolizer(arguments)
    ours = json.loads(capsys.readouterr().out)
    theirs = json.loads(run_llvm(*arguments).out)
    assert len(ours) == len(theirs) == len(addresses)
    for one, other in zip(ours, theirs, strict=True):
        # LLVM takes lines of outer calls from the disk, where the file is not.
        assert one["Symbol"][0].get("Source") == other["Symbol"][0]["Source"]
        assert [each for each in one["Symbol"] if "Source" not in each] == []


# ---- PDB ----


@pytest.fixture(scope="module")
def pdb_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("pdb")
    (folder / "a.c").write_text(MAIN.replace('#include "inc.h"', HEADER))
    clang = find_peer("clang-22", "clang-19")
    options = ["-g", "-gcodeview", "-O1", "-c", str(folder / "a.c")]
    subprocess.run([clang, WINDOWS, *options, "-o", "a.obj"], cwd=folder, check=True)
    return folder


def linked(folder: Path, name: str, *options: str) -> Path:
    lld = find_peer("lld-link-22", "lld-link-19")
    fixed = ["/entry:entry", "/subsystem:console", "/nodefaultlib", "/debug", "a.obj"]
    output = [f"/out:{name}.exe", f"/pdb:{name}.pdb"]
    subprocess.run([lld, *fixed, *output, *options], cwd=folder, check=True)
    return folder / f"{name}.pdb"


def test_injected_files_of_a_pdb_are_kept(pdb_folder: Path, tmp_path: Path) -> None:
    source = pdb_folder / "a.c"
    pdb = linked(pdb_folder, "injected", f"/natvis:{source}")
    gsym.convert(pdb, tmp_path / "x.gsym", embedded_sources=True)
    with gsym.open(tmp_path / "x.gsym") as reader:
        assert sources_of_reader(reader).text(str(source)) == source.read_bytes()
    program = pdb.with_suffix(".exe")
    assert sources_of_binary(str(program)) == sources_of_binary(str(pdb))


@pytest.mark.parametrize(
    ("stream", "text"),
    [
        ("sourcelink", '{{"documents": {{"{folder}/*": "https://h/x/*"}}}}'),
        ("sourcelink$1", '{{"documents": {{"{folder}/*": "https://h/x/*"}}}}'),
        (
            "srcsrv",
            (
                "SRCSRV: ini --\nVERSION=2\nSRCSRV: variables --\nSRCSRVTRG=https://h/x/"
                "%var2%\nSRCSRV: source files --\n{folder}/a.c*a.c\nSRCSRV: end --\n"
            ),
        ),
    ],
)
def test_links_of_a_pdb_are_named(
    stream: str, text: str, pdb_folder: Path, tmp_path: Path
) -> None:
    text = text.format(folder=str(pdb_folder))
    (pdb_folder / "links").write_text(text)
    pdb = linked(pdb_folder, "app", f"/pdbstream:{stream}=links")
    folder = tmp_path / "modules"
    folder.mkdir()
    gsym.convert(pdb, folder / "app.gsym", embedded_sources=True)
    with gsym.open(folder / "app.gsym") as reader:
        kind = stream.partition("$")[0]
        assert sources_of_reader(reader) == SourceFiles({}, ((kind, text.encode()),))
    moved = [(str(pdb_folder), "/nowhere")]
    report = gsym.symbolicate(
        report_of(folder / "app.gsym", "entry"),
        source=folder,
        context=1,
        path_map=moved,
        store=tmp_path / "s",
    )
    (frame,) = report.frames()
    (context,) = frame.sources
    assert context is not None
    assert (context.first, context.lines) == (frame.calls[0].line, ())
    assert context.link == "https://h/x/a.c"
    assert str(report).splitlines()[1] == "  source: https://h/x/a.c"


@given(data=st.data())
def test_no_changed_byte_of_a_pdb_matters(
    data: st.DataObject, pdb_folder: Path
) -> None:
    path = pdb_folder / "changed.pdb"
    if not path.exists():
        linked(pdb_folder, "changed", f"/natvis:{pdb_folder / 'a.c'}")
    whole = bytearray(path.read_bytes())
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(whole) - 1))
        whole[at] = data.draw(st.integers(0, 255))
    (pdb_folder / "x.pdb").write_bytes(whole)
    try:
        found = sources_of_binary(str(pdb_folder / "x.pdb"))
    except gsym.GsymError:
        return
    assert sum(map(len, found.texts.values())) <= len(whole)


# ---- hand-made line tables ----

TEXT_COLUMN = ((Content.LLVM_source, Form.line_strp),)


def lines_of(texts: dict[str, str], form: int = Form.line_strp) -> LineProgram:
    columns = [
        File(name, 0, {Content.LLVM_source: each}) for name, each in texts.items()
    ]
    return LineProgram(
        sequence((0x1000, 5), end=0x1040),
        files=tuple(columns),
        directories=("/src",),
        file_format=(*PATH_AND_DIRECTORY, (Content.LLVM_source, form)),
    )


@pytest.mark.parametrize("form", [Form.string, Form.strp, Form.line_strp])
def test_the_first_text_of_a_path_is_used(form: int, tmp_path: Path) -> None:
    tables = [
        {"a.c": "one\n", "empty.c": "", "b.c": "b\n"},
        {"a.c": "two\n", "empty.c": "found\n", "b.c": "b\n"},
    ]
    image = program(
        *(
            unit(
                function(f"f{at}", 0x1000 + at * 0x40, 0x1040 + at * 0x40),
                version=5,
                lines=lines_of(each, form),
            )
            for at, each in enumerate(tables)
        )
    )
    (tmp_path / "app").write_bytes(image)
    found = sources_of_binary(str(tmp_path / "app"))
    assert {path: bytes(text) for path, text in found.texts.items()} == {
        "/src/a.c": b"one\n",
        "/src/b.c": b"b\n",
        "/src/empty.c": b"found\n",
    }


def test_texts_that_share_their_bytes_are_limited(tmp_path: Path) -> None:
    """Many files whose texts are one large string."""
    text = "x" * (1 << 20)
    table = lines_of(dict.fromkeys([f"{at}.c" for at in range(400)], text))
    image = program(unit(function("f", 0x1000, 0x1040), version=5, lines=table))
    assert len(image) < 2 << 20
    converted = convert_bytes(tmp_path, image, {"embedded_sources": True})
    assert converted.report.warnings.get(LIMIT_REACHED) == 1
    assert len(sources_of_binary(str(tmp_path / "input")).texts) < 400


def test_long_texts_are_whole(clang: str, tmp_path: Path) -> None:
    text = MAIN.replace('#include "inc.h"', HEADER) + "/* long */\n" * 20_000
    (tmp_path / "long.c").write_text(text)
    options = ["-g", "-gdwarf-5", "-gembed-source", "-c", "long.c", "-o", "long.o"]
    subprocess.run([clang, *options], cwd=tmp_path, check=True)
    (found,) = sources_of_binary(str(tmp_path / "long.o")).texts.values()
    assert bytes(found) == text.encode()


@pytest.mark.hostile
@given(data=st.data())
def test_no_changed_byte_of_a_line_table_crashes(
    data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    table = lines_of({"a.c": "one\n", "b.c": "two\n"}, Form.string)
    image = bytearray(
        program(unit(function("f", 0x1000, 0x1040), version=5, lines=table))
    )
    start = image.index(b"one\n") - 60
    for _ in range(data.draw(st.integers(1, 3))):
        at = data.draw(st.integers(start, start + 70))
        image[at] = data.draw(st.integers(0, 255))
    path = tmp_path_factory.getbasetemp() / "changed"
    path.write_bytes(image)
    try:
        found = sources_of_binary(str(path))
    except gsym.FormatError:
        return
    assert sum(map(len, found.texts.values())) < len(image)
