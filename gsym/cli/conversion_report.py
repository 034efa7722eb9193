"""What `gsym convert` says of a conversion: to people, to `make` and to programs."""

from __future__ import annotations

from gsym.atomic_file import AtomicFile
from gsym.cli.terminal import printable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from gsym.conversion import ConversionReport


def summary_lines(report: ConversionReport) -> Iterator[str]:
    """What became what, what is in it, and where that came from."""
    uuid = f"build id {report.uuid.hex()}" if report.uuid else "no build id"
    merged = f", merged {report.functions_merged}" if report.functions_merged else ""
    yield printable(f"{report.input} -> {', '.join(report.outputs)}")
    yield (
        f"  {report.functions} functions, {report.functions_with_lines} with lines, "
        f"{report.functions_with_inlines} with inlined calls; "
        f"{report.file_size} bytes in {report.seconds:.2f} s"
    )
    yield (
        f"  found in debug information {report.functions_debug_info}, "
        f"in the symbol table {report.functions_symbol_table}; "
        f"pruned {report.functions_pruned}{merged}"
    )
    yield f"  {report.architecture}, {uuid}"


def warning_lines(report: ConversionReport, replaced_id: bytes) -> Iterator[str]:
    """Each kept warning with its place, then the count of each category.

    *replaced_id* is the build id of a binary whose output got another one.
    """
    head = printable(f"{report.input}: warning: ")
    for warning in report.details:
        yield (
            f"{head}{warning.category}: {warning.value:#x} at offset "
            f"{warning.offset:#x}"
        )
    for category, count in report.warnings.items():
        yield f"{head}{category} ({count} time{'s' if count != 1 else ''})"
    if not report.uuid:
        yield f"{head}no build id: nobody can tell when the file is stale (see --uuid)"
    if replaced_id:
        yield f"{head}the binary's own build id is {replaced_id.hex()}"


def write_depfile(path: str, reports: list[ConversionReport]) -> None:
    """A make rule for each output: it is out of date when its input changes."""
    rules = [
        f"{_escape(output)}: {_escape(report.input)}\n"
        for report in reports
        for output in report.outputs
    ]
    with AtomicFile(path) as file:
        file.write("".join(rules).encode("utf-8", "surrogateescape"))


def _escape(path: str) -> str:
    """*path* as make and ninja read it in a depfile."""
    for special, escaped in (("#", "\\#"), (" ", "\\ "), ("$", "$$")):
        path = path.replace(special, escaped)
    return path


def write_json(path: str, reports: list[ConversionReport]) -> None:
    """All reports as one JSON object."""
    import json

    conversions = [
        {
            **report._asdict(),
            "uuid": report.uuid.hex(),
            "details": [warning._asdict() for warning in report.details],
        }
        for report in reports
    ]
    text = json.dumps({"conversions": conversions}, indent=2)
    with AtomicFile(path) as file:
        file.write(text.encode() + b"\n")
