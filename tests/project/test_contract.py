"""One truth each: header and binding, public names and manual, imports and speed."""

from __future__ import annotations

import os
import re
import runpy
import shlex
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import _cffi_backend
import cffi
import pytest
from setuptools import find_packages

import gsym
from gsym.cli.dropins import gsymutil_options
from gsym.cli.main import find_command, help_text
from gsym.cli.verbs import VERBS
from gsym.engine.native import ffi, lib
from tests.conftest import find_peer
from tools.manual_parts import MARK, PARTS, filled
from tools.manual_sections import EXAMPLES

if TYPE_CHECKING:
    from collections.abc import Iterable


pytestmark = pytest.mark.no_engine

ROOT = Path(__file__).resolve().parents[2]
INCLUDE = ROOT / "csrc/include"
BUILD = runpy.run_path(str(ROOT / "csrc/build_core.py"))
CONTRACT: str = BUILD["CONTRACT"]
HEADERS: list[str] = BUILD["HEADERS"]
REGION_CODE = re.sub(r"/\*.*?\*/", "", CONTRACT, flags=re.DOTALL)

# What a process that answers one address has no time to import.
FORBIDDEN_ON_THE_LOOKUP_PATH = {
    "argparse",
    "collections",
    "dataclasses",
    "elftools",
    "enum",
    "importlib.metadata",
    "json",
    "pathlib",
    "re",
    "typing",
}


# ---- headers and binding


@pytest.mark.long
@pytest.mark.parametrize(
    ("compiler", "standard"),
    [("gcc", "c11"), ("clang", "c11"), ("g++", "c++17"), ("clang++", "c++17")],
)
def test_each_header_compiles_alone(compiler: str, standard: str) -> None:
    language = standard.rstrip("0123456789")
    program = find_peer(compiler, f"{compiler}-19")
    options = [f"-std={standard}", "-pedantic", "-Wall", "-Wextra", "-Werror"]
    for header in ["gsym/gsym.h", *HEADERS]:
        subprocess.run(
            [program, "-x", language, *options, "-fsyntax-only", f"-I{INCLUDE}", "-"],
            input=f"#include <{header}>\n",
            text=True,
            check=True,
        )


def test_gsym_h_includes_every_header() -> None:
    assert {f"gsym/{path.name}" for path in INCLUDE.glob("gsym/*.h")} == {
        "gsym/gsym.h",
        *HEADERS,
    }


def declared() -> cffi.FFI:
    """The contract as the header states it now."""
    fresh = cffi.FFI()
    fresh.cdef(CONTRACT)
    return fresh


def test_contract_defines_numbers_only() -> None:
    directives = re.findall(r"^\s*#\s*(.*?)\s*$", REGION_CODE, flags=re.MULTILINE)
    assert directives
    for directive in directives:
        assert re.fullmatch(r"define GSYM_\w+ (0x)?[0-9a-f]+", directive), directive


def test_every_function_of_the_header_can_be_called() -> None:
    functions = set(re.findall(r"\b(gsym_\w+)\s*\(", REGION_CODE))
    assert "gsym_image_lookup" in functions
    assert functions <= set(dir(lib))


def test_binding_has_only_names_of_the_header() -> None:
    words = set(re.findall(r"\w+", REGION_CODE))
    assert set(dir(lib)) <= words


def test_constants_are_those_of_the_header() -> None:
    constants = dict(re.findall(r"#define (GSYM_\w+) (\w+)", REGION_CODE))
    assert "GSYM_MAGIC" in constants
    for name, value in constants.items():
        assert getattr(lib, name) == int(value, 0), name


@pytest.mark.long
def test_structs_and_enums_are_those_of_the_header() -> None:
    fresh = declared()
    names, _, _ = fresh.list_types()
    assert "gsym_header" in names
    for name in names:
        expected, actual = fresh.typeof(name), ffi.typeof(name)
        assert actual.kind == expected.kind, name
        if expected.kind == "enum":
            assert actual.elements == expected.elements, name
        elif expected.kind == "struct" and expected.fields is not None:
            assert ffi.sizeof(name) == fresh.sizeof(name), name
            assert layout(ffi, actual) == layout(fresh, expected), name


def layout(of: cffi.FFI, struct: cffi.FFI.CType) -> list[tuple[str, int, int]]:
    """(name, offset, size) of each field."""
    return [
        (name, field.offset, of.sizeof(field.type))
        for name, field in struct.fields or ()
    ]


def test_functions_of_the_header_are_defined_once() -> None:
    functions = set(re.findall(r"\b(gsym_\w+)\s*\(", REGION_CODE))
    sources = [path.read_text("utf-8") for path in (ROOT / "csrc").rglob("*.c")]
    definition = re.compile(
        r"^[a-z][\w \t*]*?\b(gsym_\w+)\s*\([^;{]*\)\s*\{", re.MULTILINE
    )
    defined = [name for source in sources for name in definition.findall(source)]
    assert sorted(name for name in defined if name in functions) == sorted(functions)


# ---- public names and manual


def test_public_names_exist_and_are_documented() -> None:
    page = (ROOT / "docs/api.md").read_text(encoding="utf-8")
    for name in gsym.__all__:
        public = getattr(gsym, name)
        fields = getattr(public, "_fields", ())
        explained = re.findall(r"^ {8}(\w+): ", public.__doc__, flags=re.MULTILINE)
        assert not fields or explained == list(fields)
        assert f":: gsym.{name}\n" in page


def test_an_unknown_public_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'nope'"):
        gsym.nope  # type: ignore[attr-defined]  # noqa: B018 - the access is the test


@pytest.mark.slow
def test_a_type_checker_reports_a_misspelt_public_name(tmp_path: Path) -> None:
    api = pytest.importorskip("mypy.api", reason="mypy is not installed")
    program = tmp_path / "program.py"
    program.write_text("import gsym\ngsym.open\ngsym.opens\n")
    found, _, _ = api.run([str(program)])  # with the settings of the project
    assert 'Module has no attribute "opens"' in found
    assert "Found 1 error" in found


def commands_shown(text: str) -> list[list[str]]:
    """The words of each command of ours in a part of a page, without variables."""
    spans = re.findall(r"`((?:[A-Z_]+=\S+ )?gsym(?:util)? [^`]+)`", text)
    lines = [shlex.split(span) for span in spans]
    return [words[1:] if "=" in words[0] else words for words in lines]


@pytest.mark.parametrize(
    ("page", "heading"),
    [
        ("docs/inputs.md", "## One command for each input\n"),
        ("docs/migration.md", "# "),
    ],
)
def test_every_command_for_an_input_is_understood(page: str, heading: str) -> None:
    text = f"\n{(ROOT / page).read_text(encoding='utf-8')}"
    section = text.partition(f"\n{heading}")[2]
    if heading.startswith("##"):
        section = section.partition("\n## ")[0]
    shown = commands_shown(section)
    assert len(shown) > 10
    for program, *arguments in shown:
        if program == "gsymutil":
            gsymutil_options.parse(arguments)
        else:
            verb = " ".join(arguments[:2])
            count = 2 if verb in VERBS else 1
            find_command(" ".join(arguments[:count])).parse(arguments[count:])


def test_the_manual_shows_every_help_text_and_all_examples() -> None:
    pages = [ROOT / "docs/cli.md", *(ROOT / "docs/cli").glob("*.md")]
    text = "\n".join(page.read_text(encoding="utf-8") for page in pages)
    marked = re.findall(r"^<!-- help: gsym ?([\w ]*) -->$", text, flags=re.MULTILINE)
    assert sorted(marked) == sorted(["", *VERBS])
    shown = filled(text)
    assert [verb for verb in VERBS if help_text(verb) not in shown] == []
    for program, examples in EXAMPLES.items():
        missing = [each for each, _ in examples if f"\n$ {each}\n" not in shown]
        assert (program, missing) == (program, [])


def test_every_mark_of_the_manual_is_filled_in() -> None:
    text = "\n".join(page.read_text("utf-8") for page in (ROOT / "docs").glob("*.md"))
    shown = filled(text)
    kinds = {kind for kind, _ in MARK.findall(text)}
    assert kinds == PARTS.keys() - {"examples"}
    assert "<!-- " not in re.sub(r"<!-- \w+: (begin|end) -->", "", shown)
    for each in ("| `max_body` | `8MiB` |", "| `gsym_requests` |", "| 1101 | 400 |"):
        assert each in shown


# ---- what is installed


def test_every_package_is_installed() -> None:
    tomllib = pytest.importorskip("tomllib")  # from Python 3.11
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    found = settings["tool"]["setuptools"]["packages"]["find"]
    installed = set(find_packages(str(ROOT), include=found["include"]))
    assert installed == {
        ".".join(path.relative_to(ROOT).parent.parts)
        for path in (ROOT / "gsym").rglob("__init__.py")
    }


def test_files_beside_the_code_are_installed() -> None:
    tomllib = pytest.importorskip("tomllib")  # from Python 3.11
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    listed = {
        path
        for package, patterns in settings["tool"]["setuptools"]["package-data"].items()
        for pattern in patterns
        for path in (ROOT / package.replace(".", "/")).glob(pattern)
    }
    known = (".py", ".pyc", ".pyi", ".so")
    assert listed >= {
        path
        for path in (ROOT / "gsym").rglob("*.*")
        if path.is_file() and path.suffix not in known
    }


# ---- modules that a process loads


@pytest.fixture(scope="module")
def small_file(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A GSYM file with one function at 0x1000."""
    path = str(tmp_path_factory.mktemp("contract") / "small.gsym")
    with gsym.Creator() as creator:
        creator.add(gsym.FunctionInfo(0x1000, 0x10, "f"))
        creator.save(path)
    return path


def modules_loaded_by(code: str, *arguments: str) -> set[str]:
    """Modules that a bare interpreter has loaded once *code* has run."""
    path = [str(ROOT), str(Path(_cffi_backend.__file__).parent)]
    script = (
        "import sys\n"
        f"sys.path[:0] = {path}\n"
        f"{code}\n"
        "print(*sys.modules, file=sys.stderr)"
    )
    process = subprocess.run(
        [sys.executable, "-S", "-c", script, *arguments],
        check=True,
        capture_output=True,
        text=True,
    )
    return set(process.stderr.split())


@pytest.mark.parametrize(
    "code",
    [
        "import gsym",
        "import gsym\nwith gsym.open(sys.argv[1]) as r: assert r.lookup(0x1004)",
        "from gsym.cli.main import main\nmain(['lookup', sys.argv[1], '0x1004'])",
        (
            "from gsym.cli.dropins.gsymutil import main\n"
            "main(['--address=0x1004', sys.argv[1]])"
        ),
        (
            "from gsym.cli.dropins.addr2line import main\n"
            "main(['-Cfie', sys.argv[1], '1004'])"
        ),
        (
            "from gsym.cli.dropins.symbolizer import main\n"
            "main(['-e', sys.argv[1], '0x1004'])"
        ),
        "import gsym.conversion.job",
        "import gsym.cli.verbs.convert",
    ],
)
def test_short_process_imports_no_slow_module(code: str, small_file: str) -> None:
    loaded = modules_loaded_by(code, small_file)
    assert "gsym" in loaded
    assert not loaded & FORBIDDEN_ON_THE_LOOKUP_PATH


def test_importing_the_package_loads_no_submodule() -> None:
    loaded = modules_loaded_by("import gsym")
    assert {name for name in loaded if name.startswith("gsym.")} == set()


def test_check_of_imports_sees_an_import() -> None:
    assert "json" in modules_loaded_by("import gsym, json")


# ---- the map of the code


# What gcc says of a value read through a pointer to void.
READ_THROUGH_VOID = re.compile(r"^(\S+?):\d+:\d+: error: void value", re.MULTILINE)


def reads_of_positions(folder: Path, sources: Iterable[Path]) -> set[str]:
    """The files that read through the position of a cursor.

    They are compiled with a `cursor.h` in which the position is a pointer to void.
    """
    text = (ROOT / "csrc/base/cursor.h").read_text("utf-8")
    hidden = text.replace("const uint8_t *at;", "const void *at;")
    assert hidden != text
    (folder / "base").mkdir()
    (folder / "base/cursor.h").write_text(hidden, "utf-8")
    done = subprocess.run(
        [
            *(find_peer("gcc"), "-std=gnu11", "-fsyntax-only", "-w"),
            *("-iquote", folder, "-iquote", ROOT / "csrc", "-I", INCLUDE),
            *sources,
        ],
        env={**os.environ, "LC_ALL": "C"},
        capture_output=True,
        text=True,
        check=False,
    )
    return {Path(path).name for path in READ_THROUGH_VOID.findall(done.stderr)}


@pytest.mark.long
def test_only_the_cursor_reads_through_its_position(tmp_path: Path) -> None:
    sources = (ROOT / "csrc").glob("*/*.c")
    assert reads_of_positions(tmp_path, sources) == {"cursor.h"}


@pytest.mark.parametrize("read", ["*c->at", "c->at[1]", "*c->at++"])
def test_a_read_through_the_position_is_found(read: str, tmp_path: Path) -> None:
    source = tmp_path / "planted.c"
    function = f"unsigned f(cursor *c) {{ return {read}; }}"
    source.write_text(f'#include "base/cursor.h"\n{function}\n')
    assert "planted.c" in reads_of_positions(tmp_path, [source])
