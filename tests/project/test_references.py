"""What ARCHITECTURE.md and CONTRIBUTING.md name in the code exists."""

from __future__ import annotations

import os
import re
import subprocess
from functools import cache
from pathlib import Path

import pytest

from gsym.cli.main import find_command
from gsym.cli.verbs import VERBS
from tests.conftest import REPOSITORY, find_peer

pytestmark = pytest.mark.no_engine

PAGES = ("ARCHITECTURE.md", "CONTRIBUTING.md")
# Words of the pages that stand for others.
PLACEHOLDERS = frozenset(
    {"BINARY", "DIR", "FILE", "FOLDER", "FORMAT", "N", "OBJECT", "PAGE", "PROGRAM"}
    | {"S", "SEED", "TOOL", "VERB"}
)
CODE = re.compile(r"`([^`\n]+)`")
PATH = re.compile(r"[\w./*-]*/[\w./*-]*|[\w-]+\.(?:py|c|h|md|tsv|map|so|a|sh|abi|3)")
NAMED_LIKE_SOURCES = (".py", ".c", ".h", ".sh", ".toml", ".map", "Makefile")
LEFT_OUT = {"build", "dist", "__pycache__", "_build", "node_modules"}


@cache
def files() -> dict[str, str]:
    """Each file and folder of the checkout; of a source file also the text."""
    found = {}
    for folder, folders, names in os.walk(REPOSITORY):
        folders[:] = [
            each
            for each in folders
            if each == ".ci" or (each not in LEFT_OUT and each[0] != ".")
        ]
        for name in (*folders, *names):
            path = Path(folder, name)
            is_source = name in names and name.endswith(NAMED_LIKE_SOURCES)
            is_read = is_source and path != Path(__file__)
            text = path.read_text("utf-8", "replace") if is_read else ""
            found[str(path.relative_to(REPOSITORY))] = text
    return found


@cache
def words() -> frozenset[str]:
    """The words of all source files."""
    return frozenset(re.findall(r"\w+", "\n".join(files().values())))


@cache
def targets() -> frozenset[str]:
    """The targets of the Makefile."""
    done = subprocess.run(
        [find_peer("make"), "-pnq", "-f", "Makefile", "VENV=.venv"],
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
        check=False,
    )
    return frozenset(re.findall(r"^([^\s#:=]+):", done.stdout, re.MULTILINE))


def with_any(text: str) -> str:
    """A regular expression for *text* whose placeholders stand for any name."""
    parts = re.split(r"([A-Z]+|\*)", text)
    return "".join(
        r"[\w-]+" if each in PLACEHOLDERS or each == "*" else re.escape(each)
        for each in parts
    )


def is_path(text: str) -> bool:
    """Whether *text* is the end of the path of a file or folder, or is built."""
    end = re.compile(rf"(?:.*/)?{with_any(text.rstrip('/'))}")
    built = [each for path, each in files().items() if path.endswith("Makefile")]
    return any(map(end.fullmatch, files())) or any(
        text.rstrip("/") in each for each in built
    )


def is_option(text: str) -> bool:
    """Whether a verb has an option."""
    return any(
        text in option.spellings
        for verb, (module, _) in VERBS.items()
        if module
        for option in find_command(verb).options
    )


def fault_of_module(name: str, options: list[str]) -> str:
    """What is wrong with `python -m name options`."""
    path = name.replace(".", "/")
    owned = {each: text for each, text in files().items() if each.startswith(path)}
    if path.split("/")[0] in {"pytest", "mypy"}:
        return ""
    if not {f"{path}.py", f"{path}/__main__.py"} & set(owned):
        return f"no module {name}"
    unknown = [each for each in options if each not in "".join(owned.values())]
    return f"{name} has no option {unknown[0]}" if unknown else ""


def fault_of_command(text: str) -> str:
    """What is wrong with a command line."""
    command, *rest = text.removeprefix(".venv/bin/").split()
    options = [each for each in rest if each.startswith("--")]
    if command == "make":
        named = [each.partition("=")[0] for each in rest if re.match(r"[A-Z_]+=", each)]
        goals = [each for each in rest if re.fullmatch(r"[\w./-]+", each)][:1]
        wrong = [each for each in goals if each not in targets()]
        wrong += [each for each in named if each not in files()["Makefile"]]
        return f"make has no {wrong[0]}" if wrong else ""
    if command == "python" and rest[0] == "-m":
        return fault_of_module(rest[1], options)
    if command == "gsym" and rest:
        if rest[0] not in VERBS:
            return f"gsym has no verb {rest[0]}"
        known = {each for o in find_command(rest[0]).options for each in o.spellings}
        return "" if set(options) <= known else f"gsym {rest[0]} lacks an option"
    if command in {"pytest", "python"}:
        command = rest[0]
    if PATH.fullmatch(command):
        return "" if is_path(command) else f"no file {command}"
    return "" if set(re.findall(r"\w+", text)) <= words() else f"unknown: {text}"


def fault(text: str) -> str:
    """What is wrong with a piece of code of a page; "" if it exists."""
    if text.startswith("--"):
        return "" if is_option(text) else f"no verb has the option {text}"
    if " " in text:
        line, _, output = text.partition(" > ")
        return fault_of_command(line) or ("" if is_path(output or "gsym") else output)
    if PATH.fullmatch(text):
        return "" if is_path(text) else f"no path ends in {text}"
    if text.startswith("_"):
        return "" if any(each.endswith(text) for each in words()) else f"no {text}"
    names = re.findall(r"[A-Za-z]\w+", text)
    unknown = [
        each
        for each in names
        if each not in PLACEHOLDERS
        and each not in words()
        and not any(map(re.compile(with_any(each)).fullmatch, words()))
    ]
    return f"no source has the word {unknown[0]}" if unknown else ""


def code_of(page: str) -> list[str]:
    """The pieces of code of a page, without those that it advises against."""
    text = (REPOSITORY / page).read_text(encoding="utf-8")
    lines = text.split("\n")
    in_names = False
    found = []
    for line in lines:
        if line.startswith("| Rule | Good | Not |"):
            in_names = True
        in_names = in_names and line.startswith("|")
        kept = line.rpartition(" | ")[0] if in_names else line
        found += CODE.findall(kept)
    return sorted(set(found))


@pytest.mark.parametrize("page", PAGES)
def test_code_that_a_page_names_exists(page: str) -> None:
    found = code_of(page)
    assert len(found) > 50
    faults = {each: fault(each) for each in found}
    assert {each: why for each, why in faults.items() if why} == {}


@pytest.mark.parametrize(
    "text",
    [
        *(
            "tools/no_such.py",
            "csrc/sources/no_such.c",
            "no_such.py",
            "no/such/folder/",
        ),
        *("make no-such", "make test NO_SUCH=", "python -m tools.no_such"),
        *("gsym no-such", "gsym lookup --no-such", "python -m tests.freeze --no-such"),
        *("--no-such", "NoSuch" + "Class", "no_such" + "_word", "_no" + "_such"),
        *("tools/no_such.sh all 20", "python -m tests.freeze > no/such"),
    ],
)
def test_code_that_does_not_exist_is_found(text: str) -> None:
    assert fault(text)


def test_help_lists_the_targets_of_the_makefile() -> None:
    make = find_peer("make")
    done = subprocess.run(
        [make, "help"], cwd=REPOSITORY, capture_output=True, text=True, check=True
    )
    listed = re.findall(r"^  make ([\w-]+)  ", done.stdout, re.MULTILINE)
    text = (REPOSITORY / "Makefile").read_text("utf-8")
    (phony,) = re.findall(r"^\.PHONY:((?:.*\\\n)*.*)", text, re.MULTILINE)
    # A step of every target, and one of `make sanitize`.
    assert {*listed, "build", "sanitized"} == {*phony.replace("\\", "").split()}
    assert len(listed) == len({*listed})


HOP = re.compile(r"^\| `([\w/]+\.[ch])` \| `(\w+)` \| .+ \|$", re.MULTILINE)


def hops() -> list[tuple[str, str]]:
    """File and function of each line of the tables of hops."""
    return HOP.findall((REPOSITORY / "csrc/README.md").read_text("utf-8"))


def test_the_tables_of_hops_are_read() -> None:
    text = (REPOSITORY / "csrc/README.md").read_text("utf-8")
    rows = re.findall(r"^\| `.*$", text, re.MULTILINE)
    assert len(hops()) == len(rows)


@pytest.mark.parametrize(("file", "function"), hops())
def test_a_hop_is_a_function_of_its_file(file: str, function: str) -> None:
    head = rf"^[a-z][^\n;]*?\b{function}\([^;{{]*\)\s*\{{"
    definition = re.compile(head, re.MULTILINE)
    assert definition.search(files()[f"csrc/{file}"])


C_COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)
C_FILE = re.compile(r'(?<![\w/."-])(?:\w+/)*\w+\.[ch]\b(?!["\w])')
# Headers of other libraries.
FOREIGN = {"zlib.h", "zstd.h"}


def engine_files() -> dict[str, str]:
    """The C files of the engine and of libgsym."""
    return {
        path: text
        for path, text in files().items()
        if path.startswith(("csrc/", "libgsym/")) and path.endswith((".c", ".h"))
    }


def named_files(text: str) -> set[str]:
    """The C files that the comments of a source name."""
    return {name for each in C_COMMENT.findall(text) for name in C_FILE.findall(each)}


def test_comments_of_the_engine_name_files_that_exist() -> None:
    assert named_files('/* see base/a.c */ "b.c" /* c.h\'s */') == {"base/a.c", "c.h"}
    known = {
        "/".join(parts[start:])
        for parts in (path.split("/") for path in engine_files())
        for start in range(len(parts))
    }
    unknown = {
        path: sorted(named_files(text) - known - FOREIGN)
        for path, text in engine_files().items()
    }
    assert {path: names for path, names in unknown.items() if names} == {}
