"""Imports point one way: a module uses only layers below its own."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

import gsym

PACKAGE = Path(__file__).resolve().parent.parent / "gsym"

# Lowest first. A name stands for a module of the package or for a whole subpackage.
LAYERS: tuple[frozenset[str], ...] = (
    frozenset({"records", "include"}),
    frozenset({"errors", "diagnostics", "model", "conversion_report"})
    | frozenset({"arguments", "atomic_file", "workers", "file_id"}),
    frozenset({"_core"}),
    frozenset({"_native"}),
    frozenset({"formats", "sources", "mapped_image", "demangling"}),
    frozenset({"batch", "cxx_texts", "decoded_functions", "frames"}),
    frozenset({"reader"}),
    frozenset({"calls", "function_table"}),
    frozenset({"creator", "image_source", "call_site_yaml"}),
    frozenset({"data_part"}),
    frozenset({"name_texts"}),
    frozenset({"text_buffer"}),
    frozenset({"json_text"}),
    frozenset(
        {
            "addr2line_text",
            "llvm_text",
            "lookup_text",
            "markup_text",
            "record_check",
            "segments",
            "selection",
            "statistics",
            "structure",
            "symbolizer_text",
        }
    ),
    frozenset({"module_identity"}),
    frozenset({"breakpad_export"}),
    frozenset({"structure_envelope"}),
    frozenset({"structure_index", "structure_records"}),
    frozenset({"reference_placement"}),
    frozenset({"reference_elf", "reference_lines"}),
    frozenset({"reference_units"}),
    frozenset({"reference_functions", "reference_pclntab"}),
    frozenset({"comparison"}),
    frozenset({"breakpad_batches", "conversion_output"}),
    frozenset({"breakpad_conversion", "dwarf_conversion", "reencoding", "merging"}),
    frozenset({"conversion", "embedding", "verification"}),
    frozenset({"fxt", "symbfile"}),
    frozenset({"binary_lookup"}),
    frozenset({"store"}),
    frozenset({"symbolizer"}),
    frozenset({"markup_filter", "api", "client", "profile", "trace", "export"}),
    frozenset({"server"}),
    frozenset({"cli"}),
    frozenset({"__main__"}),
)

# The folders of the engine, lowest first; include/ has the public header.
ENGINE = (
    *("base", "containers", "dwarf", "gsym", "create", "sources", "code", "text"),
    *("export", "symbfile", "fxt"),
)
RANK = {name: rank for rank, names in enumerate(LAYERS) for name in names}
# `gsym/__init__.py` only loads names on demand; the version may be read from it.
TOP = "__init__"


def part_of(module: str) -> str:
    """The name in LAYERS that stands for a dotted module below `gsym`."""
    return module.partition(".")[0]


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
        if own == TOP:
            continue
        if own not in RANK:
            found.append(f"{module} is in no layer")
            continue
        for target in sorted(imported_modules(source)):
            other = part_of(target)
            if other in {"__version__", own}:
                continue
            if other not in RANK:
                found.append(f"{module} imports {target}, which is in no layer")
            elif RANK[other] >= RANK[own]:
                found.append(f"{module} imports {target}, which is not below it")
    return found


def package_sources() -> dict[str, str]:
    """{dotted name below gsym: source} of the whole package."""
    sources = {}
    for path in PACKAGE.rglob("*.py"):
        parts = path.relative_to(PACKAGE).with_suffix("").parts
        sources[".".join(parts)] = path.read_text(encoding="utf-8")
    return sources


def test_every_import_of_the_package_points_to_a_lower_layer() -> None:
    sources = package_sources()
    assert {"reader", "_native", "cli.main"} <= set(sources)
    assert violations(sources) == []


@pytest.mark.parametrize(
    ("module", "source", "complaint"),
    [
        ("reader", "import gsym.conversion", "not below it"),
        ("reader", "from gsym.creator import Creator", "not below it"),
        ("model", "from gsym import reader", "not below it"),
        ("store", "def f():\n    from gsym.cli.main import main", "not below it"),
        ("_native", "if False:\n    import gsym.cli.lookup", "not below it"),
        ("surprise", "", "in no layer"),
        ("reader", "import gsym.surprise", "in no layer"),
    ],
)
def test_a_planted_violation_is_found(module: str, source: str, complaint: str) -> None:
    (found,) = violations({module: source})
    assert complaint in found


@pytest.mark.parametrize(
    ("module", "source"),
    [
        ("reader", "from gsym.model import Frame\nimport gsym._native"),
        ("cli.convert", "from gsym.cli.options import Command"),
        ("cli.main", "from gsym import __version__"),
        ("errors", "import os, gsym"),
        ("__init__", "from gsym.conversion import convert"),
    ],
)
def test_a_rightful_import_is_let_through(module: str, source: str) -> None:
    assert violations({module: source}) == []


def test_only_the_native_seam_imports_the_compiled_module() -> None:
    importers = {
        module
        for module, source in package_sources().items()
        if "_core" in {part_of(target) for target in imported_modules(source)}
    }
    assert importers == {"_native"}


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


def test_the_engine_uses_only_folders_to_the_left() -> None:
    sources = engine_sources()
    assert {folder for folder, _ in sources} == set(ENGINE)
    assert engine_violations(sources) == []


@pytest.mark.parametrize(
    "text", ['#include "create/creator.h"\n', "    gsym_creator_create();\n"]
)
def test_a_planted_violation_in_the_engine_is_found(text: str) -> None:
    sources = {
        ("gsym", "image.c"): text,
        ("create", "creator.c"): "gsym_status gsym_creator_create(void) {\n",
    }
    (found,) = engine_violations(sources)
    assert found.startswith("gsym/image.c uses ")
