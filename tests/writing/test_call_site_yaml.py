"""Call sites from YAML: which function gets them, and what is refused."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, strategies as st

import gsym
from gsym.model import CallSite
from gsym.writing.call_sites import read_call_sites
from tests import strategies
from tests.conversions import read_functions
from tests.creations import create
from tests.gsymutil_runs import COMMAND, Run
from tests.inputs.dies import Die
from tests.inputs.dwarf_constants import At, Tag
from tests.inputs.elf import Symbol
from tests.inputs.line_program import LineProgram, sequence
from tests.inputs.program import function, program, unit

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.long

yaml = pytest.importorskip("yaml")


def converted(
    folder: Path, data: bytes, text: str, **options: object
) -> list[gsym.FunctionInfo]:
    source, yaml, target = folder / "in", folder / "sites.yaml", folder / "out.gsym"
    source.write_bytes(data)
    yaml.write_text(text, "utf-8", "surrogateescape")
    gsym.convert(source, target, call_sites_yaml=yaml, **options)  # type: ignore[arg-type]
    return read_functions(str(target))


def sites_of(functions: list[gsym.FunctionInfo]) -> dict[str, list[tuple[object, ...]]]:
    """{function: [(offset, flags, *patterns)]} of those that have any."""
    return {
        info.name: [
            (site.return_offset, site.flags, *site.match_regex) for site in sites
        ]
        for parent in functions
        for info in (parent, *parent.merged)
        if (sites := info.call_sites)
    }


def entry(name: str, offset: int = 1, pattern: str = "p") -> str:
    return (
        f"  - name: {name}\n    callsites:\n"
        f"      - return_offset: {offset}\n        match_regex: [{pattern}]\n"
    )


# ---- what a document says


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("functions: []", []),
        ("functions:", []),
        ("functions: ~", []),
        ("{functions: [{name: f}]}", [("f", [])]),
        ("functions: [{name: 'f g', callsites: }]", [("f g", [])]),
        (
            (
                "---\nfunctions:\n- name: f\n  callsites:\n"
                "  - return_offset: 0x10\n    match_regex: ['^a', b]\n"
                "    flags: [InternalCall]\n"
                "  - match_regex:\n    return_offset: 16\n    flags:\n"
                "    - ExternalCall\n    - InternalCall\n...\n"
            ),
            [("f", [CallSite(16, 1, ("^a", "b")), CallSite(16, 3, ())])],
        ),
        # What YAML takes for other things than strings are strings here.
        (
            "functions: [{name: 12}, {name: true}, {name: 1e3}, {name: 2020-01-01}]",
            [("12", []), ("true", []), ("1e3", []), ("2020-01-01", [])],
        ),
        ("\ufefffunctions: [{name: \N{SNOWMAN}}] # comment", [("\N{SNOWMAN}", [])]),
        (
            'functions: [{name: "a\\"b\\x41", callsites: []}]',
            [('a"bA', [])],
        ),
    ],
)
def test_documents(text: str, expected: list[object], tmp_path: Path) -> None:
    path = tmp_path / "a.yaml"
    path.write_text(text, "utf-8")
    assert read_call_sites(str(path)) == expected


@pytest.mark.parametrize(
    ("text", "offset"),
    [
        ("0", 0),
        ("12", 12),
        ("0x1F", 31),
        ("0X1f", 31),
        ("017", 15),
        ("0o17", 15),
        ("0b101", 5),
        ("0xffffffffffffffff", 2**64 - 1),
        ("'7'", 7),
        ("0x10000000000000000", None),
        ("-1", None),
        ("1_0", None),
        ("12x", None),
        ("08", None),
        ("''", None),
        ("1.0", None),
        ("\N{ARABIC-INDIC DIGIT ONE}", None),
    ],
)
def test_offsets(text: str, offset: int | None, tmp_path: Path) -> None:
    path = tmp_path / "a.yaml"
    site = f"{{return_offset: {text}, match_regex: []}}"
    path.write_text(f"functions: [{{name: f, callsites: [{site}]}}]", "utf-8")
    if offset is None:
        with pytest.raises(gsym.FormatError, match="invalid return_offset"):
            read_call_sites(str(path))
    else:
        assert read_call_sites(str(path)) == [("f", [CallSite(offset, 0, ())])]


HEAD = "functions:\n- name: f\n"
SITE = HEAD + "  callsites:\n  - return_offset: 1\n"


@pytest.mark.parametrize(
    ("text", "line", "column", "reason"),
    [
        ("", 1, 1, "missing required key 'functions'"),
        ("{}", 1, 1, "missing required key 'functions'"),
        ("- f", 1, 1, "not a mapping"),
        ("f", 1, 1, "not a mapping"),
        ("functions: f", 1, 12, "not a sequence"),
        ("functions:\n- f", 2, 3, "not a mapping"),
        ("functions:\n- {}", 2, 3, "missing required key 'name'"),
        ("functions:\n- name:", 2, 8, "an empty name"),
        ("functions:\n- name: [f]", 2, 9, "not a scalar"),
        (HEAD + "  nam: g", 3, 3, "unknown key 'nam'"),
        (HEAD + "  name: g", 3, 3, "duplicated mapping key 'name'"),
        (HEAD + "  ? [a]\n  : b", 3, 5, "not a scalar"),
        (SITE, 4, 5, "missing required key 'match_regex'"),
        (SITE + "    match_regex: f", 5, 18, "not a sequence"),
        (SITE + "    match_regex: []\n    flags: [Odd]", 6, 13, "Unknown flag"),
        (SITE + '    match_regex: ["\\0"]', 5, 19, "NUL"),
        ("functions:\n- name: &a f\n- name: *a", 3, 9, "aliases are not supported"),
        ("functions: *a", 1, 12, "aliases are not supported"),
        ("functions: [", 1, None, "expected|did not find"),
        ("functions:\n\t- name: f", 2, 1, "cannot start any token"),
        ("functions: []\n---\n]", 3, 1, "expected|did not find"),
        ("functions: []\n# \x01", 2, 3, "characters? "),
        ("functions: []\n\nfoo: \udcff", 3, 6, "not UTF-8"),
        # A parser may have a limit of its own, which it meets later in the line.
        ("functions: " + "[" * 100_000, 1, None, "not a mapping|nesting depth"),
    ],
)
def test_errors_name_line_and_column(
    text: str, line: int, column: int | None, reason: str, tmp_path: Path
) -> None:
    path = tmp_path / "a.yaml"
    path.write_text(text, "utf-8", "surrogateescape")
    with pytest.raises(gsym.FormatError, match=reason) as caught:
        read_call_sites(str(path))
    assert caught.value.path == str(path)
    place, _, _ = caught.value.reason.partition(": ")
    assert column is None or place == f"line {line}, column {column}"


@given(
    st.binary(max_size=60) | st.text("functions:[]{}&*-name \n\t'\"!|>%", max_size=60)
)
def test_any_bytes_give_an_answer_or_an_error(
    tmp_path_factory: pytest.TempPathFactory, data: bytes | str
) -> None:
    path = tmp_path_factory.mktemp("yaml") / "a.yaml"
    path.write_bytes(data.encode() if isinstance(data, str) else data)
    try:
        named = read_call_sites(str(path))
    except gsym.FormatError as error:
        reason = error.reason
    else:
        reason = "line"
        assert isinstance(named, list)
    assert reason.startswith("line")


def test_aliases_that_would_explode_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.yaml"
    lines = ["a0: &a0 [x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 20)]
    path.write_text("\n".join(lines) + "\nfunctions: *a19\n")
    with pytest.raises(gsym.FormatError):
        read_call_sites(str(path))


def test_a_missing_parser_is_explained(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "yaml", None)
    with pytest.raises(gsym.GsymError, match=r"pip install 'gsym\[yaml\]'"):
        read_call_sites(str(tmp_path / "a.yaml"))


# ---- which function gets them


TWICE = program(
    unit(
        function("f", 0x1000, 0x1010),
        function("g", 0x1010, 0x1020),
        function("f", 0x1020, 0x1030),
    ),
    symbols=[Symbol("s", 0x1030, 0x10)],
)


def test_the_first_function_of_a_name_gets_them(tmp_path: Path) -> None:
    found = converted(tmp_path, TWICE, "functions:\n" + entry("f") + entry("s", 2))
    assert [len(info.call_sites) for info in found] == [1, 0, 0, 1]
    assert sites_of(found) == {"f": [(1, 0, "p")], "s": [(2, 0, "p")]}


def test_a_symbol_that_repeats_a_function_gives_it_its_call_sites(
    tmp_path: Path,
) -> None:
    data = program(
        unit(
            function("f", 0x1000, 0x1010),
            version=4,
            lines=LineProgram(sequence((0x1000, 7), end=0x1010)),
        ),
        symbols=[Symbol("t", 0x1000, 0x10)],
    )
    (f,) = converted(tmp_path, data, "functions:\n" + entry("t", 3) + entry("f", 4))
    assert f.line_table
    assert sites_of([f]) == {"t": [(4, 0, "p"), (3, 0, "p")]}


def test_a_symbol_inside_a_function_gives_it_its_call_sites_at_their_place(
    tmp_path: Path,
) -> None:
    data = program(
        unit(function("f", 0x1000, 0x1040)),
        symbols=[Symbol("inner", 0x1010, 0x10)],
    )
    (f,) = converted(tmp_path, data, "functions:\n" + entry("inner", 5))
    assert sites_of([f]) == {"f": [(0x15, 0, "p")]}
    with gsym.open(tmp_path / "out.gsym") as reader:
        found = reader.lookup(0x1015)
        assert found is not None
        assert found.call_site_patterns == ("p",)


def test_they_follow_those_of_the_debug_information(tmp_path: Path) -> None:
    site = Die(Tag.call_site, {At.call_return_pc: 0x1008, At.call_origin: None})
    site.attributes.pop(At.call_origin)
    data = program(unit(function("f", 0x1000, 0x1040, site)))
    found = converted(tmp_path, data, "functions:\n" + entry("f", 4), call_sites=True)
    assert sites_of(found) == {"f": [(8, 0), (4, 0, "p")]}
    found = converted(tmp_path, data, "functions:\n" + entry("f", 4))
    assert sites_of(found) == {"f": [(4, 0, "p")]}


MERGED = [
    gsym.FunctionInfo(
        *(0x10, 0x10, "first", (gsym.LineEntry(0x10, "/a.c", 1),), None),
        (
            gsym.FunctionInfo(
                *(0x10, 0x10, "second", (gsym.LineEntry(0x10, "/b.c", 2),), None, ()),
                *((CallSite(1, 2, ("old",)),), {9: b"kept"}),
            ),
            gsym.FunctionInfo(0x10, 0x10, "third"),
            gsym.FunctionInfo(0x10, 0x10, "second"),
        ),
        (CallSite(8, 2, ("y",)),),
        {7: b"also"},
    ),
    gsym.FunctionInfo(0x20, 4, "bare"),
]


@pytest.mark.parametrize("version", strategies.VERSIONS)
@pytest.mark.parametrize("byteorder", strategies.BYTE_ORDERS)
def test_merged_functions_get_their_own(
    version: int, byteorder: str, tmp_path: Path
) -> None:
    data = create(MERGED, version=version, byteorder=byteorder)
    text = "functions:\n" + "".join(
        entry(name, number)
        for number, name in enumerate(["third", "second", "first", "bare", "second"])
    )
    found = converted(tmp_path, data, text)
    assert [info._replace(call_sites=(), merged=()) for info in found] == [
        info._replace(call_sites=(), merged=()) for info in MERGED
    ]
    first, bare = found
    new = {
        name: tuple(CallSite(n, 0, ("p",)) for n in numbers)
        for name, numbers in {"third": [0], "second": [1, 4], "bare": [3]}.items()
    }
    assert first.call_sites == (CallSite(8, 2, ("y",)), CallSite(2, 0, ("p",)))
    assert bare.call_sites == new["bare"]
    second, third, last = first.merged
    assert third == MERGED[0].merged[1]._replace(call_sites=new["third"])
    assert second == MERGED[0].merged[0]._replace(
        call_sites=(CallSite(1, 2, ("old",)), *new["second"])
    )
    assert last == MERGED[0].merged[2]


@given(strategies.function_lists(max_size=4), strategies.versions, st.data())
def test_only_call_sites_change(
    tmp_path_factory: pytest.TempPathFactory,
    functions: list[gsym.FunctionInfo],
    version: int,
    data: st.DataObject,
) -> None:
    named: dict[str, tuple[CallSite, ...]] = {}
    first = {info.name: info for info in reversed(functions)}
    for name, info in first.items():
        if name.isascii() and name.isprintable() and not info.merged:
            named[name] = data.draw(strategies.call_sites(info.size))
    flags = ["InternalCall", "ExternalCall"]
    named = {
        name: tuple(
            CallSite(at, number & 3, tuple(p for p in patterns if p.isalnum()))
            for at, number, patterns in sites
        )
        for name, sites in named.items()
    }
    document = {
        "functions": [
            {
                "name": name,
                "callsites": [
                    {
                        "return_offset": at,
                        "match_regex": list(patterns),
                        "flags": [flags[bit] for bit in (0, 1) if number >> bit & 1],
                    }
                    for at, number, patterns in sites
                ],
            }
            for name, sites in named.items()
        ]
    }
    # Merged functions of the same names would come before.
    if any(child.name in named for info in functions for child in info.merged):
        return
    folder = tmp_path_factory.mktemp("sites")
    found = converted(folder, create(functions, version=version), yaml.dump(document))
    expected = []
    for info in functions:
        more = named.pop(info.name, ())
        expected.append(info._replace(call_sites=info.call_sites + more))
    assert found == expected


def test_a_name_that_no_function_has_is_an_error(tmp_path: Path) -> None:
    text = "functions:\n" + entry("f") + entry("nobody") + entry("none")
    with pytest.raises(
        gsym.GsymError,
        match=r"sites\.yaml: Can't find function 'nobody' specified in callsite YAML",
    ):
        converted(tmp_path, TWICE, text)
    assert not (tmp_path / "out.gsym").exists()


def test_names_of_functions_that_are_not_selected_exist(tmp_path: Path) -> None:
    text = "functions:\n" + entry("f") + entry("g")
    found = converted(tmp_path, TWICE, text, keep_functions=["g"])
    assert sites_of(found) == {"g": [(1, 0, "p")]}


def test_segments_and_merged_files_keep_call_sites(tmp_path: Path) -> None:
    text = "functions:\n" + entry("f") + entry("g", 2) + entry("s", 3)
    (tmp_path / "in").write_bytes(TWICE)
    (tmp_path / "sites.yaml").write_text(text)
    report = gsym.convert(
        *(tmp_path / "in", tmp_path / "out"),
        call_sites_yaml=tmp_path / "sites.yaml",
        segment_size=100,
    )
    assert len(report.outputs) > 1
    gsym.merge_files(report.outputs, tmp_path / "all.gsym")
    expected = {"f": [(1, 0, "p")], "g": [(2, 0, "p")], "s": [(3, 0, "p")]}
    assert sites_of(read_functions(str(tmp_path / "all.gsym"))) == expected
    parts = [function for path in report.outputs for function in read_functions(path)]
    assert sites_of(parts) == expected


# ---- command lines


@pytest.fixture
def run(capfdbinary: pytest.CaptureFixture[bytes]) -> Run:
    return Run(capfdbinary)


def test_the_option_of_gsymutil(run: Run, tmp_path: Path) -> None:
    source, yaml, out = tmp_path / "in", tmp_path / "a.yaml", tmp_path / "out"
    source.write_bytes(TWICE)
    yaml.write_text("functions:\n" + entry("nobody"))
    options = [
        f"--convert={source}",
        f"--out-file={out}",
        f"--callsites-yaml-file={yaml}",
    ]
    printed = run(*options)
    assert printed.status == 1
    assert printed.err == (
        "DWARF conversion failed: : Can't find function 'nobody' specified in callsite "
        "YAML\n"
    )
    yaml.write_text("functions: {}")
    assert run(*options).err == (
        f"DWARF conversion failed: : Error parsing YAML file: {yaml}: line 1, column "
        "12: not a sequence\n"
    )
    yaml.unlink()
    assert run(*options).err == "DWARF conversion failed: : No such file or directory\n"
    yaml.write_text("functions:\n" + entry("g"))
    assert run(*options).status == 0
    assert sites_of(read_functions(str(out))) == {"g": [(1, 0, "p")]}


# ---- beside llvm-gsymutil


SOURCE = """
int ext(int x) { return x * 3; }
__attribute__((noinline)) static int leaf(int x) { return ext(x) + 1; }
int twice(int x) { return leaf(x) * ext(x + 2); }
int other(int x) { return leaf(x) - ext(x + 4); }
int main(void) { return twice(1) + other(2); }
"""
SITES = """
functions:
  - name: twice
    callsites:
      - return_offset: 0x0a
        match_regex: ["^leaf$", 'le.*']
        flags: [InternalCall]
      - return_offset: 017
        match_regex: []
  - name: main
    callsites:
      - {return_offset: 9, match_regex: [twice], flags: [ExternalCall, InternalCall]}
  - name: _start
    callsites: [{return_offset: 7, match_regex: [main], flags: []}]
  - name: twice
    callsites: [{return_offset: 0x0a, match_regex: [again]}]
"""


@pytest.mark.parametrize("more", [[], ["--merged-functions"], ["--dwarf-callsites"]])
def test_llvm_gives_the_same_functions_the_same_call_sites(
    more: list[str], llvm_gsymutil: str, clang: str, tmp_path: Path
) -> None:
    (tmp_path / "a.c").write_text(SOURCE)
    (tmp_path / "sites.yaml").write_text(SITES)
    binary = str(tmp_path / "a")
    build = [clang, "-g", "-gdwarf-5", "-O1", "-fno-inline", "-o", binary]
    subprocess.run([*build, str(tmp_path / "a.c")], check=True)
    found = []
    for program_, name in (([llvm_gsymutil], "llvm"), (COMMAND, "ours")):
        options = [f"--convert={binary}", f"--out-file={tmp_path / name}"]
        options += [f"--callsites-yaml-file={tmp_path / 'sites.yaml'}", *more]
        subprocess.run([*program_, *options], check=True, capture_output=True)
        found.append(read_functions(str(tmp_path / name)))
    llvm, ours = found
    assert sites_of(ours) == sites_of(llvm)
    assert {"twice", "main", "_start"} <= set(sites_of(ours))
    dumps = [
        subprocess.run(
            [llvm_gsymutil, str(tmp_path / name)], check=True, capture_output=True
        ).stdout
        for name in ("llvm", "ours")
    ]
    assert call_site_lines(dumps[0]) == call_site_lines(dumps[1])


def call_site_lines(dump: bytes) -> list[str]:
    """Each function's name with the lines of its call sites."""
    kept: list[str] = []
    for line in dump.decode().splitlines():
        if line.startswith("FunctionInfo @"):
            kept.append(line.partition(": ")[2])
        elif "MatchRegex" in line or "Flags[" in line:
            kept.append(line)
    return kept
