"""Imports point one way: a folder uses only the folders before it."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

import pytest

import gsym

pytestmark = pytest.mark.no_engine

PACKAGE = Path(__file__).resolve().parents[2] / "gsym"

# The folders of the package, each of which imports only from those above it and from
# the modules beside them: what users see. What a module is called stands below all that
# reads and writes files; the search for files of a module uses these. Walks of stacks
# and exports read unwind information.
FOLDERS = (
    "engine",
    "containers",
    "unwinding",
    "modules.key",
    "modules.part",
    "reading",
    "writing",
    "net",
    "remote",
    "formatting",
    "conversion",
    "verification",
    "embedding",
    "symbfile",
    "store",
    "modules",
    "confined",
    "arrow",
    "markup",
    "memory",
    "reports",
    "api",
    "fxt",
    "profiles",
    "server",
    "cli",
)
# Modules beside the folders, which every folder may import, lowest first.
BESIDE = (
    *(
        "lazy",
        "records",
        "cache",
        "garbage_collection",
        "include",
        "config",
        "arguments",
        "sizes",
        "leb128",
        "conditions",
    ),
    *("errors", "hints"),
    *("model", "ranges"),
)

# The folders of the engine, lowest first; include/ has the public header.
ENGINE = (
    *("base", "containers", "dwarf", "pdb", "gsym", "create", "sources", "code"),
    *("text", "export", "symbfile", "fxt", "perf"),
)
RANK = {name: rank for rank, name in enumerate((*BESIDE, *FOLDERS))}
# `gsym/__init__.py` only loads names and modules on demand; the version is read
# from it.
TOP = {"__init__", "__main__"}


def part_of(module: str) -> str:
    """The folder of a dotted module below `gsym`, or itself."""
    return module if module in FOLDERS else module.partition(".")[0]


@cache
def imported_modules(source: str) -> set[str]:
    """Modules below `gsym` that *source* imports, dotted, without the `gsym.`."""
    found = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports are absolute"
            if node.module == "gsym":
                found |= {alias.name for alias in node.names}
            elif node.module is not None and node.module.startswith("gsym."):
                found.add(node.module.removeprefix("gsym."))
        elif isinstance(node, ast.Import):
            for alias in node.names:
                if alias.name.startswith("gsym."):
                    found.add(alias.name.removeprefix("gsym."))
    return found


def violations(sources: dict[str, str]) -> list[str]:
    """Broken rules among modules given as {dotted name: source}."""
    found = []
    for module, source in sorted(sources.items()):
        own = part_of(module)
        if own in TOP:
            continue
        if own not in RANK:
            found.append(f"{module} is in no folder")
            continue
        for target in sorted(imported_modules(source)):
            other = part_of(target)
            if other in {"__version__", "import_module", "lazy_names", own}:
                continue
            if other not in RANK:
                found.append(f"{module} imports {target}, which is in no folder")
            elif RANK[other] >= RANK[own]:
                found.append(f"{module} imports {target}, which is on its right")
    return found


def package_sources() -> dict[str, str]:
    """{dotted name below gsym: source} of the whole package."""
    sources = {}
    for path in PACKAGE.rglob("*.py"):
        parts = path.relative_to(PACKAGE).with_suffix("").parts
        sources[".".join(parts)] = path.read_text(encoding="utf-8")
    return sources


def test_imports_of_the_package_point_to_lower_layers() -> None:
    sources = package_sources()
    assert {part_of(module) for module in sources} == {*BESIDE, *FOLDERS, *TOP}
    assert violations(sources) == []


def test_the_core_of_the_server_knows_no_application() -> None:
    applications = {"arrow", "page", "otlp", "symbfiles"}
    found = {
        module
        for module, source in package_sources().items()
        if module.startswith("server.") and module.split(".")[1] not in applications
        for target in imported_modules(source)
        if target.startswith("server.") and target.split(".")[1] in applications
    }
    # The first mounts them, the other describes all.
    assert found == {"server.application", "server.openapi"}


@pytest.mark.parametrize(
    ("module", "source", "complaint"),
    [
        ("reading.reader", "import gsym.conversion.job", "on its right"),
        ("reading.reader", "from gsym.writing.creator import Creator", "on its right"),
        ("model", "from gsym import reading", "on its right"),
        (
            "store.adding",
            "def f():\n    import gsym.cli.main",
            "on its right",
        ),
        (
            "engine.native",
            "if False:\n    import gsym.cli.main",
            "on its right",
        ),
        ("surprise", "", "in no folder"),
        ("reading.reader", "import gsym.surprise", "in no folder"),
    ],
)
def test_planted_violations_are_found(module: str, source: str, complaint: str) -> None:
    (found,) = violations({module: source})
    assert complaint in found


@pytest.mark.parametrize(
    ("module", "source"),
    [
        ("reading.reader", "from gsym.model import Frame\nimport gsym.engine.native"),
        ("cli.verbs.convert", "from gsym.cli.options import Command"),
        ("cli.main", "from gsym import __version__"),
        ("errors", "import os, gsym"),
        ("__init__", "from gsym.conversion.job import convert"),
    ],
)
def test_allowed_imports_are_accepted(module: str, source: str) -> None:
    assert violations({module: source}) == []


def test_only_the_native_seam_imports_the_compiled_module() -> None:
    importers = {
        module
        for module, source in package_sources().items()
        if "engine._core" in imported_modules(source)
    }
    assert importers == {"engine.native"}


def test_no_submodule_shares_its_name_with_a_public_name() -> None:
    submodules = {part_of(module) for module in package_sources()}
    assert not submodules & set(gsym.__all__)


# ---- the engine

CSRC = PACKAGE.parent / "csrc"
INCLUDE = re.compile(r'^#include "(\w+)/(\w+)[.]h"', re.MULTILINE)
DEFINITION = re.compile(r"^[a-z][\w \t*]*?\b(gsym_\w+)\([^;{]*\)\s*\{", re.MULTILINE)
CALL = re.compile(r"\b(gsym_\w+)\(")

Sources = dict[tuple[str, str], str]


def engine_violations(sources: Sources) -> list[str]:
    """What files use of folders on their right, given as {(folder, file): text}."""
    homes = {
        name: folder
        for (folder, _), text in sources.items()
        for name in DEFINITION.findall(text)
    }
    found = []
    for (folder, file), text in sorted(sources.items()):
        used = {f"{other}/{header}.h": other for other, header in INCLUDE.findall(text)}
        used |= {name: homes[name] for name in CALL.findall(text) if name in homes}
        found += [
            f"{folder}/{file} uses {name}"
            for name, other in sorted(used.items())
            if ENGINE.index(other) > ENGINE.index(folder)
        ]
    return found


def engine_sources() -> Sources:
    return {
        (path.parent.name, path.name): path.read_text(encoding="utf-8")
        for path in CSRC.glob("*/*.[ch]")
    }


def test_engine_uses_only_folders_to_the_left() -> None:
    sources = engine_sources()
    assert {folder for folder, _ in sources} == set(ENGINE)
    assert engine_violations(sources) == []


@pytest.mark.parametrize(
    "text", ['#include "create/creator.h"\n', "    gsym_creator_create();\n"]
)
def test_planted_violations_in_the_engine_are_found(text: str) -> None:
    sources = {
        ("gsym", "image.c"): text,
        ("create", "creator.c"): "gsym_status gsym_creator_create(void) {\n",
    }
    (found,) = engine_violations(sources)
    assert found.startswith("gsym/image.c uses ")


# ---- files of one folder of the engine

_COMMENT = re.compile(r'/\*.*?\*/|"(?:\\.|[^"\\])*"', re.DOTALL)
_FUNCTION = re.compile(
    r"^(?!static|typedef|#|enum|struct|extern|return)[A-Za-z_]"
    r"[\w *]*?\b(\w+)\([^;{]*\)\s*\{",
    re.MULTILINE,
)


def calls_of(sources: dict[str, str]) -> dict[str, set[str]]:
    """Which of the C files use functions that others define, by name of the file."""
    texts = {name: _COMMENT.sub(" ", text) for name, text in sources.items()}
    owner = {
        function: name
        for name, text in texts.items()
        for function in _FUNCTION.findall(text)
    }
    return {
        name: {owner[word] for word in re.findall(r"\w+", text) if word in owner}
        - {name}
        for name, text in texts.items()
    }


def ring_in(calls: dict[str, set[str]]) -> set[str]:
    """The files that remain when those which use none of the rest are taken away."""
    left = {name: set(used) for name, used in calls.items()}
    while free := [name for name, used in left.items() if not used]:
        for name in free:
            del left[name]
        for used in left.values():
            used -= set(free)
    return set(left)


def test_a_ring_of_files_is_found() -> None:
    sources = {
        "a.c": "int a(void) { return b(); }\n",
        "b.c": "int b(void) {\n    return a();\n}\n",
        "c.c": "/* e() */ static int d(void) { return 0; }\n"
        "int c(void) { return a(); }\n",
        "d.c": "int e(void) { return 1; }\n",
    }
    assert ring_in(calls_of(sources)) == {"a.c", "b.c", "c.c"}
    sources["b.c"] = "int b(void) { return e(); }\n"
    assert not ring_in(calls_of(sources))


@pytest.mark.parametrize("folder", ENGINE)
def test_files_of_a_folder_use_each_other_one_way(folder: str) -> None:
    files = sorted((PACKAGE.parent / "csrc" / folder).glob("*.c"))
    sources = {path.name: path.read_text(encoding="utf-8") for path in files}
    assert ring_in(calls_of(sources)) == set()
