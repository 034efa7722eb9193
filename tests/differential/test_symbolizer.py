"""gsym-symbolizer beside llvm-symbolizer, on programs built here.

llvm-symbolizer answers twice: from our GSYM file, where all is to be equal, and from
the DWARF, where what a GSYM file does not carry is taken away first.
"""

from __future__ import annotations

import json
import re
import subprocess
from itertools import cycle
from typing import TYPE_CHECKING

import pytest

import gsym
from tests.conftest import find_peer
from tests.differential.peers import run
from tests.differential.programs import SOURCES
from tests.symbolizer_runs import LLVM_SYMBOLIZER, Run, run_llvm, stream

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

STYLES = ("LLVM", "GNU", "JSON")
# What is built: compiler, source, options.
BUILDS = (
    ("gcc", "shapes.c", "-O2 -g"),
    ("gcc", "shapes.c", "-O0 -g -no-pie"),
    ("gcc", "shapes.c", "-O2 -g -shared -fPIC"),
    ("g++", "shapes.cc", "-O2 -g"),
    ("g++", "shapes.cc", "-O2 -g -shared -fPIC"),
    ("g++", "shapes.cc", "-O0 -g"),
    ("clang-19", "shapes.c", "-O2 -g -pie"),
    ("clang++-19", "shapes.cc", "-O2 -g -pie"),
    ("clang++-19", "shapes.cc", "-O2 -gline-tables-only"),
)
TITLES = ["".join(build).replace(" ", "") for build in BUILDS]
STEP = 3  # bytes from one address of a function to the next


@pytest.fixture(autouse=True)
def cache(
    tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GSYM_CACHE_DIR", str(tmp_path_factory.mktemp("cache")))
    find_peer(LLVM_SYMBOLIZER)


@pytest.fixture(scope="module")
def built(
    tmp_path_factory: pytest.TempPathFactory,
) -> Callable[[tuple[str, str, str]], str]:
    """Gives the path of a program, built once."""
    folder = tmp_path_factory.mktemp("programs")

    def program(build: tuple[str, str, str]) -> str:
        compiler, source, options = build
        path = folder / TITLES[BUILDS.index(build)]
        if not path.exists():
            command = [find_peer(compiler), str(SOURCES / source), *options.split()]
            try:
                run(*command, "-o", str(path))
            except subprocess.CalledProcessError as error:
                pytest.skip(f"not built here: {error.stderr.strip()[:200]}")
        return str(path)

    return program


def addresses_in(path: str, folder: Path) -> list[str]:
    """Addresses in all functions that have debug information."""
    output = str(folder / "addresses.gsym")
    gsym.convert(path, output)
    found: list[int] = []
    with gsym.open(output) as reader:
        for function in reader.functions():
            if function.line_table:
                end = function.start + function.size
                found += range(function.start, end, STEP)
    assert len(found) > 100
    return [f"{address:#x}" for address in sorted(set(found))]


def carried(text: str, style: str) -> str:
    """What a GSYM file carries of an answer without names."""
    if style == "LLVM":
        return re.sub(r":\d+$", ":0", text, flags=re.MULTILINE)
    if style == "GNU":
        return re.sub(r" \(discriminator \d+\)$", "", text, flags=re.MULTILINE)
    answers = json.loads(text)
    for answer in answers:
        for frame in answer["Symbol"]:
            # LLVM has no start for functions and calls of several ranges.
            frame |= {"Column": 0, "Discriminator": 0, "StartAddress": ""}
            frame |= {"StartFileName": "", "StartLine": 0}
    return json.dumps(answers, indent=1)


@pytest.mark.parametrize(
    ("build", "style"), list(zip(BUILDS, cycle(STYLES), strict=False)), ids="".join
)
def test_places_are_those_of_the_debug_information(
    built: Callable[[tuple[str, str, str]], str],
    build: tuple[str, str, str],
    style: str,
    tmp_path: Path,
) -> None:
    path = built(build)
    addresses = addresses_in(path, tmp_path)
    options = [f"--obj={path}", f"--output-style={style}", "-f=none", "-a", *addresses]
    ours = stream("", *options)
    assert ours.err == ""
    theirs = carried(run_llvm(*options).out, style)
    assert (carried(ours.out, style) if style == "JSON" else ours.out) == theirs


def short_name(text: str) -> str:
    """The last part of a name: scopes and parameters are left out."""
    name = re.sub(r"( const)?( \[.*\])?$", "", text).removesuffix("()")
    depth = 0
    for at in range(len(name) - 1, 0, -1):
        depth += (name[at] in ")>") - (name[at] in "(<")
        if depth == 0 and name[at] == "(":
            name = name[:at]
        elif depth == 0 and name[at - 1 : at + 1] == "::":
            return name[at + 1 :]
    return name.rpartition(" ")[2]


@pytest.mark.parametrize("build", BUILDS, ids=TITLES)
def test_names_are_those_of_the_debug_information_or_symbol_table(
    built: Callable[[tuple[str, str, str]], str],
    build: tuple[str, str, str],
    tmp_path: Path,
) -> None:
    path = built(build)
    symbols: dict[int, str] = {}
    table = run(find_peer("nm"), "-S", path)
    pattern = r"^([0-9a-f]+)(?: ([0-9a-f]+))? \w (.*)$"
    sized: list[tuple[range, str]] = []
    for address, size, name in re.findall(pattern, table, re.MULTILINE):
        start = int(address, 16)
        symbols[start] = symbols.get(start, "") + name
        sized.append((range(start, start + int(size or "0", 16)), name))
    for start in symbols:  # a label does not end the function that it is in
        symbols[start] += "".join(name for covered, name in sized if start in covered)
    addresses = addresses_in(path, tmp_path)
    options = [f"--obj={path}", "--output-style=JSON", *addresses]
    theirs = json.loads(run_llvm(*options).out)
    ours = json.loads(stream("", *options).out)
    for their, our in zip(theirs, ours, strict=True):
        names = [short_name(each["FunctionName"]) for each in our["Symbol"]]
        expected = [each["FunctionName"] for each in their["Symbol"]]
        # Code may have several symbols, of which LLVM takes another than DWARF.
        start = int(their["Symbol"][-1]["StartAddress"], 16)
        expected[-1] += symbols.get(start, "")
        assert len(names) == len(expected)
        for name, text in zip(names, expected, strict=True):
            assert name
            assert name in text, our["Address"]


@pytest.mark.parametrize(
    ("build", "options"),
    [
        (BUILDS[0], "-p -a"),
        (BUILDS[7], "-p -a"),
        (BUILDS[7], "-s --output-style=GNU"),
        (BUILDS[0], "-f=none"),
        (BUILDS[7], "--verbose -a"),
        (BUILDS[0], "--verbose --output-style=GNU -p"),
        (BUILDS[7], "--print-source-context-lines=4"),
        (BUILDS[7], "--output-style=JSON -p"),
        (BUILDS[0], "--output-style=JSON --print-source-context-lines=2"),
        (BUILDS[7], "--adjust-vma=0x10 -a"),
    ],
    ids="".join,
)
def test_answers_from_our_file_are_those_of_llvm_from_it(
    built: Callable[[tuple[str, str, str]], str],
    build: tuple[str, str, str],
    options: str,
    tmp_path: Path,
) -> None:
    stripped = str(tmp_path / "stripped")
    gsym.convert(built(build), f"{stripped}.gsym")
    run(find_peer("strip"), "-o", stripped, built(build))
    addresses = addresses_in(built(build), tmp_path)
    # Demanglers differ in how they call a lambda.
    command = [*options.split(), "--no-demangle", "-e", stripped, *addresses]
    theirs = run_llvm(*command, reads_gsym=True).out
    ours = stream("", *command).out
    # Of an inlined call LLVM tells where the function around it starts.
    starts = re.compile(r'"StartAddress": ?"\w+"|Function start address: \w+')
    assert starts.sub("", ours) == starts.sub("", theirs)


def test_without_debug_information_symbols_answer(
    built: Callable[[tuple[str, str, str]], str], tmp_path: Path
) -> None:
    path = str(tmp_path / "bare")
    run(find_peer("strip"), "-g", "-o", path, built(BUILDS[3]))
    addresses = addresses_in(built(BUILDS[3]), tmp_path)
    command = ["-e", path, "--no-demangle", *addresses]
    assert stream("", *command).out == run_llvm(*command).out


@pytest.mark.parametrize("style", STYLES)
def test_data_is_answered_from_the_symbol_table(
    built: Callable[[tuple[str, str, str]], str], style: str, tmp_path: Path
) -> None:
    path = str(tmp_path / "bare")
    run(find_peer("strip"), "-g", "-o", path, built(BUILDS[0]))
    table = run(find_peer("nm"), path)
    addresses = re.findall(r"^([0-9a-f]+) [a-zA-Z] ", table, re.MULTILINE)
    assert addresses
    requests = [
        f"DATA {int(each, 16) + more:#x}" for each in addresses for more in (0, 1)
    ]
    command = ["-e", path, f"--output-style={style}", *requests]
    assert stream("", *command).out == run_llvm(*command).out


STREAM = """\
CODE "{path}" {address}
"{path}" {address} and more
'{path}' {address}
{path}:x86_64 {address}
FILE:{path} {address}
FILE: "{path}" {address}
  "{path}"   {address}  \r
"{path}" 0x1
"{path}" main
"{path}" main+1
"{path}" nosuch
"{path}" nosuch+0x10
"{path}" main+zz
"{path}" 12zz
"{path}" 0x11111111111111111
"{path}"
"{path} {address}
{path}
CODE
FILE:
BUILDID:
BUILDID:xyz 0x1
BUILDID:00112233 0x1
BUILDID:00112233 0x1
FILE:BUILDID:{path} 0x1
FILE:FILE:{path} 0x1
"/no/such/file" 0x1
"/no/such/file" 0x1
DATA "/no/such/file" 0x1
FRAME "/no/such/file" 0x1
/no/such/file main
/no/such/either 0x1

{path} 010
{path} 0b11
{path} -1
"""


@pytest.mark.parametrize(
    ("style", "options"),
    [
        *((style, "") for style in STYLES),
        *zip(STYLES, ("-a -p", "--no-inlines -a", "-a -p"), strict=True),
    ],
)
def test_lines_are_understood_as_llvm_does(
    built: Callable[[tuple[str, str, str]], str],
    options: str,
    style: str,
    tmp_path: Path,
) -> None:
    path = str(tmp_path / "a program")
    run(find_peer("strip"), "-g", "-o", path, built(BUILDS[0]))
    quoted = STREAM.format(
        path=path, address=addresses_in(built(BUILDS[0]), tmp_path)[0]
    )
    # A name with blanks is for quotes only.
    plain = "\n".join(
        line
        for line in quoted.split("\n")
        if path not in line or re.search(r"[\"']", line)
    )
    command = [*options.split(), f"--output-style={style}"]
    theirs = run_llvm(*command, lines=plain)
    renamed = theirs.err.replace(LLVM_SYMBOLIZER, "gsym-symbolizer")
    assert stream(plain, *command) == (0, theirs.out, renamed)
    assert theirs.status == 0


@pytest.mark.parametrize(
    "command",
    [
        *("-e", "--obj", "--foo", "-Z", "-iZp", "--no-inlines=true", "--"),
        *("--adjust-vma=zz 1", "--cache-size -1 1", "--build-id=zz 1"),
        *("--build-id=abcd -e x 1", "-e /no/such/file 1", "--obj=/no/such/file"),
        *("--output-style=JSON -e /no/such/file 1", "--dsym-hint=foo FILE: x"),
        "--output-style=JSON --build-id=abcdef 0x1 12zz",
    ],
)
def test_errors_of_the_command_line_are_those_of_llvm(
    command: str, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    theirs = run_llvm(*command.split())
    ours = Run(capfdbinary)(*command.split())
    renamed = theirs.err.replace(LLVM_SYMBOLIZER, "gsym-symbolizer")
    assert ours == theirs._replace(err=renamed)
