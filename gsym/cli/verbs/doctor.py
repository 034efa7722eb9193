"""`gsym doctor`: what can be done here, and what a binary lacks."""

from __future__ import annotations

import os
import re
import sys
from itertools import islice

from gsym import __version__
from gsym.cache import cache_root, stamps_below
from gsym.cli.grammar import Command, Values
from gsym.cli.options import JSON, convert_keywords, convert_options, show
from gsym.cli.program import EXIT_FAILED
from gsym.cli.terminal import describe
from gsym.containers import DEBUG_DIRECTORIES
from gsym.conversion.companions.debuginfod_settings import read_settings
from gsym.conversion.options import ConvertOptions
from gsym.errors import GsymError
from gsym.modules.diagnosis import ELF, MACHO, PE, Diagnosis, diagnose
from gsym.store.layout import default_store

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

# Extra -> what it is for.
EXTRAS = {
    "arrow": "answers as Arrow tables, gsym batch",
    "engines": "adapters to Spark, Dask, Ray, DuckDB, Polars and DataFusion",
    "net": "servers of debug files, symbols and symbolication",
    "cab": "cabinets (.pd_) of symbol servers",
    "yaml": "call sites in YAML files",
    "server": "gsym serve",
    "cloud": "stores and files in S3, GCS and Azure",
    "asm": "disassembly",
    "demangle": "names of Rust, Swift, D and of Microsoft's compilers",
    "proto": "pprof and OTLP profiles",
    "otlp": "profiles received and sent on by gsym serve",
}
_MOST_FILES = 200_000  # that are counted of a folder
_REQUIREMENT = re.compile(r"([\w.-]+).*\bextra *== *['\"]([\w-]+)['\"]")


_SEARCH = ("debug_file_directories", "debuginfod", "dwp")


@Command(
    "gsym doctor",
    (
        "[BINARY...]  binary to check; without one, the installation is checked",
        convert_options(*_SEARCH),
        JSON,
    ),
    """\
Each binary is converted as by 'gsym convert', but the result is not kept: a large one
takes a while. The exit code is 1 if lookups in a binary would return no lines.""",
)
def examine_all(values: Values) -> int:
    """Print what is found; the exit code is 1 if a binary gives no lines."""
    paths = values.operands("BINARY")
    search = ConvertOptions(**convert_keywords(values, *_SEARCH))
    if not paths:
        installation = examine()
        show(values, installation, _installation_lines(installation))
        return 0
    is_fine = True
    for path in paths:
        try:
            found = diagnose(path, search)
        except (GsymError, OSError) as error:
            reason = describe(error).removeprefix(f"{path}: ")
            found = Diagnosis(path, "", missing=(reason,))
        is_fine &= found.has_lines
        show(values, found._asdict(), _binary_lines(found))
    return 0 if is_fine else EXIT_FAILED


def examine() -> dict[str, Any]:
    """The facts of this installation: packages, servers, and the folders it uses."""
    from gsym.engine import _core

    settings = read_settings(os.environ)
    places = {
        "store": default_store(),
        "cache": cache_root(),
        "debuginfod cache": settings.cache,
        "debug files": DEBUG_DIRECTORIES[0],
    }
    return {
        "version": __version__,
        "engine": str(_core.__file__),
        "python": f"{sys.implementation.name} {sys.version.split()[0]}",
        "extras": _extras(),
        "debuginfod": settings.servers,
        "places": [
            {"name": name, "path": path, "size": _size_of(path)}
            for name, path in places.items()
        ],
    }


def _extras() -> list[dict[str, Any]]:
    """Each extra: what it is for, and its packages that are not installed."""
    from importlib.metadata import PackageNotFoundError, requires, version

    def is_missing(package: str) -> bool:
        try:
            version(package)
        except PackageNotFoundError:
            return True
        return False

    try:
        declared = requires("gsym") or []
    except PackageNotFoundError:  # a checkout that is not installed
        declared = []
    needed: dict[str, list[str]] = {name: [] for name in EXTRAS}
    for line in declared:
        match = _REQUIREMENT.match(line)
        if match and match[2] in needed:
            needed[match[2]].append(match[1])
    return [
        {
            "name": name,
            "purpose": purpose,
            "missing": [*filter(is_missing, needed[name])],
        }
        for name, purpose in EXTRAS.items()
    ]


def _size_of(folder: str) -> int | None:
    """Bytes of the first 200,000 files of a folder; None: it does not exist."""
    if not os.path.isdir(folder):
        return None
    files = islice(stamps_below(folder), _MOST_FILES)
    return sum(stamp.size for path, stamp in files if not os.path.islink(path))


def _installation_lines(found: dict[str, Any]) -> Iterator[str]:
    yield f"gsym {found['version']}, {found['python']}"
    yield f"  engine: {found['engine']}"
    yield "extras:"
    for extra in found["extras"]:
        state, name = "installed", extra["name"]
        if extra["missing"]:
            lacks = ", ".join(extra["missing"])
            state = f"lacks {lacks}: pip install 'gsym[{name}]'"
        yield f"  {name:<9} {extra['purpose']}: {state}"
    servers = " ".join(found["debuginfod"]) or "DEBUGINFOD_URLS names no server"
    yield f"debuginfod: {servers}"
    yield "folders:"
    for place in found["places"]:
        size = "does not exist" if place["size"] is None else f"{place['size']} bytes"
        yield f"  {place['name']:<17} {place['path']}: {size}"


def _binary_lines(found: Diagnosis) -> Iterator[str]:
    build_id = f"build id {found.build_id}" if found.build_id else "no build id"
    is_object = found.kind in {ELF, MACHO, PE}
    what = [found.kind, found.architecture, build_id] if is_object else [found.kind]
    if not found.kind:
        yield f"{found.path}: {found.missing[0]}"
        return
    yield f"{found.path}: {', '.join(filter(None, what))}"
    if is_object:
        yield from _object_lines(found)
    for path in found.companions:
        yield f"  reads {path}"
    if found.gsym_file:
        yield f"  GSYM file: {found.gsym_file}"
    yield f"  {found.functions} functions, {found.functions_with_lines} with lines"
    for text in found.missing:
        first, is_tried, others = text.partition(": tried ")
        yield f"  missing: {first}{':' if is_tried else ''}"
        yield from (f"    {other}" for other in others.split("; ") if other)
    for text in found.advice:
        yield f"  next: {text}"


def _object_lines(found: Diagnosis) -> Iterator[str]:
    versions = (
        f"version {version} ({count} unit{'s' if count > 1 else ''})"
        for version, count in sorted(found.dwarf_versions.items())
    )
    where = f" in {found.dwarf_file}" if found.dwarf_file != found.path else ""
    yield f"  DWARF: {', '.join(versions) + where if found.dwarf_file else 'none'}"
    tables = (f"{name} ({size} bytes)" for name, size in found.symbol_tables.items())
    if found.kind == ELF:
        yield f"  symbols: {', '.join(tables) or 'none'}"
    if found.compressed_sections:
        yield f"  compressed: {', '.join(found.compressed_sections)}"
    if found.is_embedded:
        yield "  has a section with a GSYM file"
