"""What `gsym convert` says of a conversion: to people, to `make` and to programs."""

from __future__ import annotations

from gsym.atomic_file import AtomicFile
from gsym.cli.terminal import printable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from gsym.conversion import ConversionReport


def summary_lines(report: ConversionReport) -> Iterator[str]:
    """Two lines: what became what, and where the functions came from."""
    outputs = ", ".join(report.outputs)
    uuid = f"build id {report.uuid.hex()}" if report.uuid else "no build id"
    yield printable(f"{report.input} -> {outputs}")
    yield (
        f"  {report.architecture}, {uuid}, {report.file_size} bytes, "
        f"{report.seconds:.2f} s"
    )
    merged = f", {report.functions_merged} merged" if report.functions_merged else ""
    yield (
        f"  {report.functions} functions "
        f"({report.functions_with_lines} with lines, "
        f"{report.functions_with_inlines} with inlined calls) from "
        f"{report.functions_debug_info} in debug information and "
        f"{report.functions_symbol_table} in the symbol table{merged}, "
        f"{report.functions_pruned} pruned"
    )


def warning_lines(report: ConversionReport) -> Iterator[str]:
    """Each kept warning with its place, then the count of each category."""
    head = printable(f"{report.input}: warning: ")
    for warning in report.details:
        yield (
            f"{head}{warning.category}: {warning.value:#x} at offset "
            f"{warning.offset:#x}"
        )
    for category, count in report.warnings.items():
        yield f"{head}{category} ({count} time{'s' if count != 1 else ''})"
    if not report.uuid:
        yield f"{head}no build id; readers cannot tell a stale file (see --uuid)"


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
