"""`gsym export`: a GSYM file in the format of other tools."""

from __future__ import annotations

import os

from gsym.cli import options
from gsym.cli.grammar import UsageError, Values
from gsym.cli.gsym_input import open_gsym
from gsym.cli.terminal import printable, progress_for, times, warn
from gsym.containers.recognition import recognise_file
from gsym.conversion.export import ExportReport, IdentityError, export_breakpad
from gsym.conversion.identity import identify_fitting
from gsym.errors import GsymError
from gsym.modules.key import ModuleKey
from gsym.writing.atomic_file import is_same_file

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from gsym.reading.reader import Reader

_OPTION_OF_FIELD = {
    "os": "--os",
    "architecture": "--arch",
    "debug_id": "--debug-id",
    "code_id": "--code-id",
    "debug_file": "--name",
}


@options.OutputCommand(
    "gsym export",
    (
        options.GSYM_FILE,
        """\
--to FORMAT {breakpad}  format of the output: breakpad
-o, --output OUT  file to write, - for standard output (default: FILE with .sym in place
  of .gsym)
--binary BINARY  take OS, architecture, ids, name and STACK records from the binary of
  the GSYM file""",
        options.IDENTITY_OPTIONS,
        options.VERBOSE,
        options.QUIET,
    ),
    """\
Names and ids are by default those that 'gsym convert' wrote into FILE; else the id is
made from the UUID, and the name is that of FILE.

breakpad: a symbol file (.sym) as dump_syms writes it, for minidump tools, symbol
servers and profilers. Unwind records (STACK) are those of --binary, or of FILE if it is
a binary; a GSYM file has none.""",
)
def export(values: Values) -> int:
    """Write the output; what it cannot say is told on standard error."""
    if values.choice("--to") is None:
        raise UsageError("option '--to' is required: breakpad")
    path = values.operand("FILE")
    output = values.text("--output") or path.removesuffix(".gsym") + ".sym"
    given, binary = options.module_identity(values), values.text("--binary")
    # Of a fat file, it is the slice as well.
    is_fat = os.path.isfile(path) and recognise_file(path) == "fat"
    arch = given.get("architecture") if is_fat else None
    if any(is_same_file(output, name) for name in (path, binary) if name):
        raise GsymError("the output would replace an input", path=output)
    with (
        open_gsym(path, values, arch) as reader,
        progress_for(path, quiet=values.flag("--quiet")) as progress,
    ):
        if reader.path != path:
            binary = binary or path  # FILE is one itself
        identity = _merge(given, binary, reader)
        try:
            report = export_breakpad(
                reader,
                output,
                identity=identity,
                binary=binary,
                progress=progress.callback,
            )
        except IdentityError as error:
            wanted = " and ".join(_OPTION_OF_FIELD[field] for field in error.missing)
            if binary is None:
                wanted = f"--binary or {wanted}"
            raise GsymError(f"{error.reason}; use {wanted}", path=path) from None
    if not values.flag("--quiet"):
        _tell(path, binary, report)
    return 0


def _merge(given: dict[str, str], binary: str | None, reader: Reader) -> ModuleKey:
    """The module as options describe it, else as the binary does."""
    if binary is None:
        return ModuleKey(**given)
    # Who gives a debug id knows better than the ids in the file.
    said = None if "debug_id" in given else reader.module_like
    return identify_fitting(binary, said)._replace(**given)


def _tell(path: str, binary: str | None, report: ExportReport) -> None:
    identity = report.identity
    print(printable(f"{path} -> {report.output}"))
    stack = f", {report.stack_records} STACK records" if report.stack_records else ""
    print(
        f"  {report.functions} functions, {report.public_symbols} public symbols, "
        f"{report.lines} lines, {report.inlined_calls} inlined calls{stack}; "
        f"{report.file_size} bytes in {report.seconds:.2f} s"
    )
    name = printable(identity.debug_file)
    print(f"  {identity.os} {identity.architecture} {identity.debug_id} {name}")
    for loss, count in report.losses.items():
        warn(f"{loss} ({times(count)})", path)
    if not report.stack_records:
        reason = "GSYM has none" if binary is None else f"{binary} has none"
        warn(f"no unwind records (STACK): {reason}", path)
