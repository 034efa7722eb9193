"""`gsym doctor`: what can be done here, and what a binary lacks."""

from __future__ import annotations

from gsym.cli.grammar import Command, Values
from gsym.cli.installation import Installation, examine
from gsym.cli.options import JSON, convert_keywords, convert_options
from gsym.cli.program import EXIT_FAILED
from gsym.cli.terminal import describe, print_json, print_lines
from gsym.conversion.options import ConvertOptions
from gsym.errors import GsymError
from gsym.modules.diagnosis import ELF, MACHO, PE, Diagnosis, diagnose

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from collections.abc import Iterator

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
    paths, is_json = values.operands("BINARY"), values.flag("--json")
    search = ConvertOptions(**convert_keywords(values, *_SEARCH))
    if not paths:
        installation = examine()
        if is_json:
            print_json(
                {
                    **installation._asdict(),
                    "extras": [extra._asdict() for extra in installation.extras],
                    "places": [place._asdict() for place in installation.places],
                }
            )
        else:
            print_lines(_installation_lines(installation))
        return 0
    is_fine = True
    for path in paths:
        try:
            found = diagnose(path, search)
        except (GsymError, OSError) as error:
            reason = describe(error).removeprefix(f"{path}: ")
            found = Diagnosis(path, "", missing=(reason,))
        is_fine &= found.has_lines
        if is_json:
            print_json(found._asdict())
        else:
            print_lines(_binary_lines(found))
    return 0 if is_fine else EXIT_FAILED


def _installation_lines(found: Installation) -> Iterator[str]:
    yield f"gsym {found.version}, {found.python}"
    yield f"  engine: {found.engine}"
    yield "extras:"
    for extra in found.extras:
        state = (
            f"lacks {', '.join(extra.missing)}: pip install 'gsym[{extra.name}]'"
            if extra.missing
            else "installed"
        )
        yield f"  {extra.name:<9} {extra.purpose}: {state}"
    servers = " ".join(found.debuginfod) or "DEBUGINFOD_URLS names no server"
    yield f"debuginfod: {servers}"
    yield "folders:"
    for place in found.places:
        size = "does not exist" if place.size is None else f"{place.size} bytes"
        yield f"  {place.name:<17} {place.path}: {size}"


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
