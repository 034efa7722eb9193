"""gsym-symbolizer by itself: options, lines, styles, protocol."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

import gsym
from gsym.cli.dropins.symbolizer_options import Options, help_text, parse
from gsym.cli.dropins.symbolizer_requests import Request, RequestError, parse_request
from gsym.cli.grammar import UsageError
from tests.companions import ID, ID_PATH, OTHER_ID, debug_file, place, stripped
from tests.inputs import pe
from tests.inputs.elf import ABSOLUTE, FILE, LOCAL, OBJECT, Elf, Section, Symbol
from tests.symbolizer_runs import COMMAND, Printed, Run, stream

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.long

FUNCTION = gsym.FunctionInfo(
    0x1000,
    0x100,
    "_Z5outeri",
    (
        gsym.LineEntry(0x1000, "/src/a.cc", 10),
        gsym.LineEntry(0x1010, "/src/b.h", 3),
        gsym.LineEntry(0x1020, "/src/a.cc", 12),
    ),
    gsym.InlineInfo(
        "_Z5outeri",
        "",
        0,
        (gsym.Range(0x1000, 0x1100),),
        (gsym.InlineInfo("_Z5inneri", "/src/a.cc", 11, (gsym.Range(0x1010, 0x1020),)),),
    ),
)
BARE = gsym.FunctionInfo(0x2000, 0x10, "bare")
DIRECT = "outer(int)\n/src/a.cc:10:0\n\n"
INLINED = "inner(int)\n/src/b.h:3:0\nouter(int)\n/src/a.cc:11:0\n\n"
UNKNOWN = "??\n??:0:0\n\n"


@pytest.fixture
def run(capfdbinary: pytest.CaptureFixture[bytes]) -> Run:
    return Run(capfdbinary)


@pytest.fixture(autouse=True)
def environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GSYM_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.delenv("LLVM_SYMBOLIZER_OPTS", raising=False)


@pytest.fixture
def file(tmp_path: Path) -> str:
    path = str(tmp_path / "a file.gsym")
    with gsym.Creator() as creator:
        creator.add(FUNCTION)
        creator.add(BARE)
        creator.save(path)
    return path


# ---- the command line


def test_without_options_all_is_as_llvm_has_it() -> None:
    options = parse([])
    assert options.style == "LLVM"
    assert options.functions == "linkage"
    assert options.inlines
    assert options.demangle
    assert not options.flag("--addresses")
    assert not options.flag("--pretty-print")
    assert not options.basenames


DEBUG = "--debug-file-directory"


def test_an_option_is_read() -> None:
    for words, attribute, value in [
        ("-e x", "obj", "x"),
        ("-ex", "obj", "x"),
        ("-e=x", "obj", "x"),
        ("--obj x", "obj", "x"),
        ("--obj=x", "obj", "x"),
        ("--exe=x", "obj", "x"),
        ("--exe x", "obj", "x"),
        ("-pe x", "obj", "x"),
        ("-f=none", "functions", "none"),
        ("-pf=short", "functions", "short"),
        ("--functions=short", "functions", "short"),
        ("--functions=odd", "functions", "linkage"),
        ("-f", "functions", "linkage"),
        ("--no-inlines -i", "inlines", True),
        ("-i --no-inlines", "inlines", False),
        ("--inlining=false", "inlines", False),
        ("-inlining", "inlines", True),
        ("-demangle=false", "demangle", False),
        ("--no-demangle -C", "demangle", True),
        ("--print-address", "--addresses", True),
        ("-pa", "--addresses", True),
        ("-s", "basenames", True),
        ("-s --relativenames", "basenames", False),
        ("--output-style GNU", "style", "GNU"),
        ("--output-style=odd", "style", "LLVM"),
        ("--adjust-vma=0x10", "adjust_vma", 16),
        ("--print-source-context-lines 010", "context_lines", 8),
        ("--build-id=abc", "build_id", b"\x0a\xbc"),
        ("--debug-file-directory=a --fallback-debug-path b", DEBUG, ["a", "b"]),
        ("--gsym-file-directory=a", "--gsym-file-directory", ["a"]),
        ("--dwp=x --dwp=", "--dwp", ["x", ""]),
        ("1 - -a 2", "inputs", ["1", "-", "2"]),
        ("--debuginfod --no-debuginfod", "debuginfod", False),
        ("--debuginfod", "debuginfod", True),
        ("--cache-size=1 --color --color=auto --dia --skip-line-zero", "inputs", []),
        ("--untag-addresses --no-untag-addresses", "inputs", []),
    ]:
        options = parse(words.split())
        if attribute[:2] != "--":
            assert getattr(options, attribute) == value
        elif value is True:
            assert options.flag(attribute)
        else:
            assert options.texts(attribute) == value


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        ("--odd", "error: unknown argument '--odd'\n"),
        ("-aZY", "error: unknown argument '-Z'\nerror: unknown argument '-Y'\n"),
        ("--", "error: unknown argument '--'\n"),
        ("-e", "error: -e: missing argument\n"),
        ("--obj", "error: --obj: missing argument\n"),
        ("--build-id=x", "--build-id=: expected a build ID, but got 'x'\n"),
        ("--build-id=a-b", "--build-id=: expected a build ID, but got 'a-b'\n"),
        ("-e x --build-id=aa", "error: cannot specify both --build-id and --obj\n"),
        (
            "--adjust-vma -1",
            "--adjust-vma=: expected a non-negative integer, but got '-1'",
        ),
    ],
)
def test_an_invalid_command_line_is_refused(
    run: Run, words: str, complaint: str
) -> None:
    with pytest.raises(UsageError) as problem:
        parse(words.split())
    assert str(problem.value) == complaint
    assert run(*words.split()) == (1, "", complaint)


def test_options_come_from_the_environment_and_from_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    inner = tmp_path / "inner"
    inner.write_text("--obj='a b' \"c\\\"d\"\n  e\\ f ''")
    outer = tmp_path / "outer"
    outer.write_text(f"-p @{inner} last")
    monkeypatch.setenv("LLVM_SYMBOLIZER_OPTS", "--output-style=GNU  -a")
    options: Options = parse([f"@{outer}", "--output-style=JSON", "@no such file"])
    assert options.inputs == ['c"d', "e f", "", "last", "@no such file"]
    assert (options.obj, options.style) == ("a b", "JSON")
    assert options.flag("--pretty-print")
    assert options.flag("--addresses")


def test_a_file_of_options_that_names_itself_ends(tmp_path: Path) -> None:
    path = tmp_path / "self"
    path.write_text(f"1 @{path}")
    assert len(parse([f"@{path}"]).inputs) < 1000


def test_help_and_version(run: Run) -> None:
    assert run("--help") == (0, help_text(), "")
    version = run("-v")
    assert version.out.startswith(f"gsym-symbolizer\ngsym version {gsym.__version__}\n")
    for name in (
        "--obj",
        "--output-style",
        "--cache-size",
        "--pretty-print",
    ):
        assert name in help_text()


# ---- lines


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("a 0x10", Request("CODE", "a", b"", "", 16)),
        ("CODE a 0x10", Request("CODE", "a", b"", "", 16)),
        ('DATA "a b" 10', Request("DATA", "a b", b"", "", 10)),
        ("FRAME 'a b' 010", Request("FRAME", "a b", b"", "", 8)),
        ('"a"0x10', Request("CODE", "a", b"", "", 16)),
        ("FILE:a 1", Request("CODE", "a", b"", "", 1)),
        ('FILE: "a b" 1', Request("CODE", "a b", b"", "", 1)),
        ("BUILDID:00ff 1", Request("CODE", "", b"\x00\xff", "", 1)),
        ("CODE BUILDID: 'ff' 1", Request("CODE", "", b"\xff", "", 1)),
        ("a main", Request("CODE", "a", b"", "main", 0)),
        ("a main+0x10", Request("CODE", "a", b"", "main", 16)),
        ("a operator+", Request("CODE", "a", b"", "operator+", 0)),
        ("a +3", Request("CODE", "a", b"", "+3", 0)),
        ("a 1 and more", Request("CODE", "a", b"", "", 1)),
    ],
    ids=repr,
)
def test_a_line_is_read(line: str, expected: Request) -> None:
    assert parse_request(line) == expected


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("CODE", "no module offset has been specified"),
        ("'a 1", "no input filename has been specified"),
        ("FILE:", "must be followed by an input file"),
        ("BUILDID:", "must be followed by a hash"),
        ("FILE:'a 1", "unbalanced quotes in input file name"),
        ("BUILDID:ag 1", "wrong format of build-id"),
        ("FILE:BUILDID:00 1", "duplicate input file specification prefix"),
    ],
)
def test_an_invalid_line_is_refused_with_the_reason(line: str, reason: str) -> None:
    with pytest.raises(RequestError, match=reason):
        parse_request(line)


def test_line_without_a_module_uses_that_of_the_command_line() -> None:
    assert parse_request("0x10", "a") == Request("CODE", "a", b"", "", 16)
    assert parse_request("DATA 1", "", b"i") == Request("DATA", "", b"i", "", 1)
    with pytest.raises(RequestError, match="already been specified"):
        parse_request("FILE:b 1", "a")


# ---- answers


def test_style_gnu(run: Run, file: str) -> None:
    options = ("--output-style=GNU", "-e", file)
    inlined = "inner(int)\n/src/b.h:3\nouter(int)\n/src/a.cc:11\n"
    assert run(*options, "0x1010", "1").out == inlined + "??\n??:0\n"
    assert run(*options, "--no-inlines", "0x1010").out == "inner(int)\n/src/b.h:3\n"


def test_outer_name_has_the_inner_line_without_inlines(run: Run, file: str) -> None:
    options = ("--no-inlines", "-e", file)
    assert run(*options, "0x1010").out == "outer(int)\n/src/b.h:3:0\n\n"
    assert run(*options, "-f=short", "0x1010").out == "inner(int)\n/src/b.h:3:0\n\n"


def test_json_of_a_stream_is_an_object_a_line(file: str) -> None:
    out = stream("0x1000\n0x2000\n", "--output-style=JSON", "-e", file).out
    lines = [json.loads(line) for line in out.splitlines()]
    assert [line["Address"] for line in lines] == ["0x1000", "0x2000"]


def test_json_is_utf8_whatever_a_name_holds(run: Run, tmp_path: Path) -> None:
    path = str(tmp_path / "odd.gsym")
    with gsym.Creator() as creator:
        path_of_source = '/é/"\udc80.c'
        lines = (gsym.LineEntry(0x1000, path_of_source, 3),)
        creator.add(gsym.FunctionInfo(0x1000, 1, 'a"\\\n\udc80é', lines))
        creator.save(path)
    out = run("--output-style=JSON", "-e", path, "0x1000").out
    assert json.loads(out)[0]["Symbol"][0]["FunctionName"] == 'a"\\\n�é'
    for line in stream(
        "0x1000\n" * 3, "--output-style=JSON", "-e", path
    ).out.splitlines():
        assert json.loads(line) == json.loads(out)[0]
    assert run("-e", path, "0x1000").out.startswith('a"\\\n\udc80é\n')


def test_addresses_are_adjusted(run: Run, file: str) -> None:
    options = ("-a", "--adjust-vma=0x5000", "-e", file)
    assert run(*options, "0x6000").out == "0x6000\n" + DIRECT
    assert run(*options, "1").out == "0x1\n" + UNKNOWN


def test_lines_of_source_are_shown(run: Run, tmp_path: Path) -> None:
    source = tmp_path / "a.c"
    source.write_bytes(b"1\r\n2\n\n4")
    path = str(tmp_path / "a.gsym")
    with gsym.Creator() as creator:
        lines = (gsym.LineEntry(0, str(source), 3), gsym.LineEntry(8, str(source), 9))
        creator.add(gsym.FunctionInfo(0, 16, "f", lines))
        creator.save(path)
    options = ("-e", path, "-f=none", "--print-source-context-lines=5")
    shown = "1  : 1\n2  : 2\n3 >: \n4  : 4\n"
    assert run(*options, "0").out == f"{source}:3:0\n{shown}\n"
    assert run(*options, "8").out == f"{source}:9:0\n\n"
    (answer,) = json.loads(run(*options, "--output-style=JSON", "0").out)
    assert answer["Symbol"][0]["Source"] == shown
    source.write_bytes(b"1\n2\n3\n")
    assert run(*options, "0").out == f"{source}:3:0\n1  : 1\n2  : 2\n3 >: 3\n\n"
    source.unlink()
    assert run(*options, "0").out == f"{source}:3:0\n\n"
    (answer,) = json.loads(run(*options, "--output-style=JSON", "0").out)
    assert "Source" not in answer["Symbol"][0]


def test_symbols_are_found_by_name(run: Run, file: str) -> None:
    assert run("-a", "-e", file, "_Z5outeri").out == DIRECT
    assert run("-e", file, "_Z5outeri+0x10").out == "outer(int)\n/src/b.h:3:0\n\n"
    # Found by its name only, a function without lines is not known.
    assert run("-e", file, "bare", "nosuch").out == UNKNOWN * 2


def test_variables_of_a_frame_are_not_known(run: Run, file: str) -> None:
    assert run("-e", file, "FRAME 0x1000").out == "??\n\n"
    (answer,) = json.loads(run("--output-style=JSON", "-e", file, "FRAME 0").out)
    assert answer == {"Address": "0x0", "Frame": [], "ModuleName": file}


def test_data_is_answered_from_symbols(run: Run, tmp_path: Path) -> None:
    data = Section(".data", bytes(64), address=0x4000)
    symbols = [
        Symbol("first.c", 0, kind=FILE, binding=LOCAL, section=ABSOLUTE),
        Symbol("local", 0x4000, 4, kind=OBJECT, binding=LOCAL, section=".data"),
        Symbol("_Z5smalli", 0x4010, 4, kind=OBJECT, section=".data"),
        Symbol("large", 0x4010, 8, kind=OBJECT, section=".data"),
        Symbol("endless", 0x4020, 0, kind=OBJECT, section=".data"),
    ]
    path = place(tmp_path / "app", Elf([data], symbols=symbols).to_bytes())
    requests = [
        f"DATA {each}" for each in ("1", "0x4003", "0x4004", "0x4017", "0x9999")
    ]
    assert run("-e", path, *requests).out == (
        "??\n0 0\n??:?\n\n"
        "local\n16384 4\nfirst.c:0\n\n"
        "??\n0 0\n??:?\n\n"
        "large\n16400 8\n??:?\n\n"
        "endless\n16416 0\n??:?\n\n"
    )
    local = "local\n16384 4\nfirst.c:0\n\n"
    assert run("-a", "-e", path, requests[1]).out == f"0x4003\n{local}"
    assert run("-a", "-p", "-e", path, requests[1]).out == f"0x4003: {local}"
    (answer,) = json.loads(run("--output-style=JSON", "-e", path, requests[1]).out)
    assert answer["Data"] == {"Name": "local", "Size": "0x4", "Start": "0x4000"}


# ---- modules


def test_unreadable_module_is_reported_once() -> None:
    done = stream('"/no/file" 1\n"/no/file" 2\n')
    error = "gsym-symbolizer: error: '/no/file': No such file or directory\n"
    assert done == Printed(0, UNKNOWN * 2, error)
    done = stream('"/no/file" 1\n"/no/file" 2\n', "--output-style=JSON")
    assert [json.loads(line) for line in done.out.splitlines()] == [
        {
            "Address": "0x1",
            "Error": {"Message": "No such file or directory"},
            "ModuleName": "/no/file",
        },
        {"Address": "0x2", "ModuleName": "/no/file", "Symbol": []},
    ]


def test_invalid_line_does_not_suppress_the_error_of_its_module() -> None:
    done = stream('"/no/file" 12zz\n"/no/file" 1\n')
    assert done.out == UNKNOWN * 2
    assert done.err.endswith("'/no/file': No such file or directory\n")


def test_stale_file_beside_a_binary_is_reported_on_standard_error(
    run: Run, tmp_path: Path
) -> None:
    path = place(tmp_path / "app", stripped(build_id=ID))
    with gsym.Creator(uuid=OTHER_ID) as creator:
        creator.add(FUNCTION)
        creator.save(f"{path}.gsym")
    done = run("-e", path, "0x1100")
    assert done.out == "in_binary\n??:0:0\n\n"
    assert f"{path}.gsym is not used: its build id is {OTHER_ID.hex()}" in done.err


def test_a_file_beside_a_binary_answers_unless_forbidden(
    run: Run, tmp_path: Path
) -> None:
    path = place(tmp_path / "app", stripped(build_id=ID))
    with gsym.Creator(uuid=ID) as creator:
        creator.add(FUNCTION)
        creator.save(f"{path}.gsym")
    assert run("-e", path, "0x1000") == (0, DIRECT, "")
    done = run("--disable-gsym", "-e", path, "0x1000", "0x1100")
    assert done == (0, UNKNOWN + "in_binary\n??:0:0\n\n", "")


def test_a_binary_without_functions_knows_nothing(run: Run, tmp_path: Path) -> None:
    path = place(tmp_path / "app", stripped(symbols=()))
    assert run("-e", path, "0x1000", "main") == (0, UNKNOWN * 2, "")


def test_path_may_have_an_architecture(file: str, tmp_path: Path) -> None:
    done = stream(f'"{file}:x86_64" 0x1000\n"{tmp_path}/a:b" 1\n')
    assert done.out == DIRECT + UNKNOWN
    assert f"'{tmp_path}/a:b': No such file" in done.err


def test_the_default_architecture_matters_for_fat_files_alone(
    run: Run, file: str, tmp_path: Path
) -> None:
    assert run("--default-arch=arm64", "-e", file, "0x1000") == (0, DIRECT, "")
    thin = place(tmp_path / "app", debug_file(ID))
    done = run("--default-arch=arm64", "-e", thin, "0x1000")
    assert (done.out.startswith("in_debug\n"), done.err) == (True, "")


def test_a_binary_is_found_by_its_build_id(run: Run, tmp_path: Path) -> None:
    place(tmp_path / f"lib/{ID_PATH}", debug_file(ID))
    folder = f"--debug-file-directory={tmp_path}/lib"
    expected = "in_debug\n"
    assert run(folder, f"BUILDID:{ID.hex()} 0x1000").out.startswith(expected)
    assert run(folder, f"--build-id={ID.hex()}", "0x1000").out.startswith(expected)
    error = (
        f"gsym-symbolizer: error: '{OTHER_ID.hex().upper()}': could not find build ID\n"
    )
    assert run(folder, f"BUILDID:{OTHER_ID.hex()} 1") == (0, UNKNOWN, error)


def test_a_file_of_another_build_at_the_path_of_a_build_id_is_refused(
    run: Run, tmp_path: Path
) -> None:
    place(tmp_path / f"lib/{ID_PATH}", debug_file(OTHER_ID))
    done = run(f"--debug-file-directory={tmp_path}/lib", f"BUILDID:{ID.hex()} 0x1000")
    assert done.out == UNKNOWN
    assert f"is of another build: its build id is {OTHER_ID.hex()}" in done.err
    place(tmp_path / f"lib/{ID_PATH}", debug_file())
    done = run(f"--debug-file-directory={tmp_path}/lib", f"BUILDID:{ID.hex()} 0x1000")
    assert done.out.startswith("in_debug\n")
    assert "may be of another build: found by its name alone" in done.err


def test_a_file_of_another_build_does_not_hide_one_that_fits(
    run: Run, tmp_path: Path
) -> None:
    place(tmp_path / f"first/{ID_PATH}", debug_file(OTHER_ID))
    place(tmp_path / f"second/{ID_PATH}", debug_file(ID))
    folders = [
        f"--debug-file-directory={tmp_path}/{each}" for each in ("first", "second")
    ]
    done = run(*folders, f"BUILDID:{ID.hex()} 0x1000")
    assert (done.out.startswith("in_debug\n"), done.err) == (True, "")


def test_a_gsym_file_is_found_by_its_build_id(
    run: Run, tmp_path: Path, file: str
) -> None:
    path = tmp_path / "lib" / ID_PATH.replace(".debug", ".gsym")
    place(path, b"")
    shutil.move(file, path)
    done = run(f"--gsym-file-directory={tmp_path}/lib", f"BUILDID:{ID.hex()} 0x1000")
    assert done[:2] == (0, DIRECT)
    assert "may be of another build: found by its name alone" in done.err


def test_relative_addresses_count_from_the_base_of_an_image(
    run: Run, tmp_path: Path, file: str
) -> None:
    text = pe.Section(".text", bytes(16), 0x1000, pe.CODE)
    image = pe.Pe([text], [pe.Symbol("f", 0)], image_base=0x400000)
    path = place(tmp_path / "app.exe", image.to_bytes())
    assert run("-e", path, "0x401000", "0x1000").out == "f\n??:0:0\n\n" + UNKNOWN
    relative = ("--relative-address", "-e")
    assert run(*relative, path, "0x1000").out == "f\n??:0:0\n\n"
    assert run(*relative, file, "0x1000").out == DIRECT


def test_a_damaged_record_is_not_known(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "a.gsym"
    with gsym.Creator() as creator:
        creator.add(FUNCTION)
        creator.save(path)
    data = path.read_bytes()
    path.write_bytes(data[: len(data) // 2])
    assert run("-e", str(path), "0x1010").out in {UNKNOWN, ""}


def test_markup_is_filtered() -> None:
    done = stream("{{{symbol:_Z1fv}}} {{{pc}}}", "--filter-markup", "--color")
    assert done.out == "\x1b[0;34mf()\x1b[0m \n"
    assert done.err == (
        "error: expected at least 1 field(s); found 0\n{{{symbol:_Z1fv}}} {{{pc}}}\n"
        + " " * 24
        + "^\n"
    )


# ---- the protocol


def test_each_line_is_answered_before_the_next_is_sent(file: str) -> None:
    with subprocess.Popen(
        COMMAND, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        for line, answer in (
            (f'CODE "{file}" 0x1000', DIRECT),
            ("", UNKNOWN),
            (f'"{file}" 0x1010', INLINED),
        ):
            process.stdin.write(f"{line}\n")
            process.stdin.flush()
            got = ""
            while not got.endswith("\n\n"):
                got += process.stdout.readline()
            assert got == answer
        process.stdin.close()
        assert process.wait(timeout=30) == 0


def test_a_last_line_without_end_is_answered(file: str) -> None:
    assert stream(f'"{file}" 0x1000\r\n"{file}" 0x1000').out == DIRECT * 2


def test_a_line_in_many_pieces_is_one(file: str) -> None:
    line = f'"{file}" 0x1000\n'
    process = subprocess.Popen(COMMAND, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert process.stdin is not None
    for character in line.encode():
        process.stdin.write(bytes([character]))
        process.stdin.flush()
    out, _ = process.communicate(timeout=30)
    assert out.decode() == DIRECT


@pytest.mark.slow
@pytest.mark.parametrize(
    ("options", "style"),
    [
        *(("", "LLVM"), ("", "GNU"), ("", "JSON"), ("-a", "GNU"), ("-p", "JSON")),
        *(("-a -p", "LLVM"), ("-s", "GNU"), ("-f=none -p", "LLVM")),
        *(("-f=short --no-inlines", "GNU"), ("--no-inlines -a", "JSON")),
        *(("--no-demangle", "LLVM"), ("--adjust-vma=0x10", "JSON")),
        *(("--verbose", "LLVM"), ("--verbose", "GNU")),
    ],
)
def test_many_lines_are_answered_as_one_by_one(
    options: str, style: str, file: str, run: Run
) -> None:
    command = ("-e", file, f"--output-style={style}", *options.split())
    numbers = [
        0,
        0xFFF,
        0x1000,
        0x100F,
        0x1010,
        0x101F,
        0x1020,
        0x10FF,
        0x2000,
        1 << 64,
    ]
    asked = [f"{each:#x}" for each in numbers] + ["4096", "010000", "0b1", "bare", "+1"]
    asked += ["DATA 1", "FRAME 0x1000", "CODE 0x1010", "CODE 4112", "0x1000 0x1000"]
    asked *= 3
    done = stream("\n".join(asked) + "\r\n", *command)
    alone = run(*command, *asked)
    if style == "JSON":
        answers = done.out.replace("}\n{", "},{")
        assert json.loads(f"[{answers}]") == json.loads(alone.out)
        return
    assert done.out == alone.out
    assert done.err == alone.err


def test_lines_of_several_modules_take_turns(file: str, tmp_path: Path) -> None:
    other = str(tmp_path / "other.gsym")
    with gsym.Creator() as creator:
        creator.add(BARE)
        creator.save(other)
    lines = "".join(
        f'"{file}" 0x1000\nCODE "{other}" 0x2000\n"{file}" 0x1010\n"/no/file" 1\n'
        for _ in range(400)
    )
    answers = DIRECT + "bare\n??:0:0\n\n" + INLINED + UNKNOWN
    assert stream(lines).out == answers * 400


def test_more_prefixes_than_are_remembered_are_answered(file: str) -> None:
    lines = [f'{" " * n}"{file}"{" " * m}0x1000' for n in range(20) for m in range(40)]
    assert stream("\n".join(lines * 2)).out == DIRECT * len(lines) * 2


@pytest.mark.parametrize(
    "limit",
    [
        "symbolizer_addresses._MAX_FORMATTERS",
        "symbolizer_addresses._MAX_NAME_BYTES",
        "symbolizer_modules._MAX_MODULES",
    ],
)
def test_what_is_remembered_of_modules_is_limited(
    run: Run, file: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, limit: str
) -> None:
    monkeypatch.setattr(f"gsym.cli.dropins.{limit}", 1)
    other = shutil.copy(file, tmp_path / "other.gsym")
    lines = [f'"{path}" 0x1000' for path in (file, other)] * 2
    assert run(*lines).out == DIRECT * 4


def test_a_line_without_end_takes_no_memory(file: str) -> None:
    done = stream("x" * 10_000_000, "-e", file)
    assert set(done.out.split("\n\n")) == {UNKNOWN.strip(), ""}


def test_closed_input_is_an_error(
    run: Run, file: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdin", None)
    assert run("-e", file) == (
        1,
        "",
        "gsym-symbolizer: error: standard input is closed\n",
    )


def test_closed_pipe_ends_the_symbolizer_quietly(file: str) -> None:
    process = subprocess.Popen(
        [*COMMAND, "-e", file],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdout.close()
    _, err = process.communicate(b"0x1000\n" * 100_000, timeout=60)
    assert process.returncode == 0
    assert err == b""


def test_json_of_a_command_line_is_a_list(run: Run, file: str) -> None:
    out = run("--output-style=JSON", "-e", file, "0x1015", "1", "bare", "DATA 1").out
    first, second, third, fourth = json.loads(out)
    assert first["Address"] == "0x1015"
    assert first["ModuleName"] == file
    assert first["Symbol"][0] == {
        "Column": 0,
        "Discriminator": 0,
        "FileName": "/src/b.h",
        "FunctionName": "inner(int)",
        "Line": 3,
        "StartAddress": "0x1010",
        "StartFileName": "",
        "StartLine": 0,
    }
    assert [each["FunctionName"] for each in second["Symbol"]] == [""]
    assert third == {"Loc": [], "ModuleName": file, "SymName": "bare"}
    assert fourth["Data"] == {"Name": "", "Size": "0x0", "Start": "0x0"}
