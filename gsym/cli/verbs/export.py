"""`gsym export`: a GSYM file in the format of other tools."""

from __future__ import annotations

import sys

import gsym.reading.reader
from gsym.cli.options import Command, Operand, Option, UsageError, Values
from gsym.cli.terminal import printable, progress_for
from gsym.conversion.export import IdentityError, export_breakpad
from gsym.conversion.identity import ModuleIdentity, identify, read_debug_id
from gsym.errors import GsymError
from gsym.writing.atomic_file import is_same_file

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gsym.conversion.export import ExportReport
    from gsym.reading.reader import Reader

COMMAND = Command(
    "gsym export",
    "Write a GSYM file in the format of other tools",
    (Operand("FILE", "GSYM file"),),
    (
        Option("--format", "format of the output: breakpad", metavar="NAME"),
        Option(
            "--output",
            "file to write (default: FILE with .sym in place of .gsym)",
            short="-o",
            metavar="OUT",
        ),
        Option(
            "--binary",
            "take OS, architecture, ids and name from the binary of the GSYM file",
            metavar="BINARY",
        ),
        Option("--os", "operating system: Linux, mac, windows", metavar="NAME"),
        Option("--arch", "architecture: x86_64, arm64, ...", metavar="NAME"),
        Option("--debug-id", "debug id (default: made of the UUID)", metavar="ID"),
        Option("--code-id", "code id, such as the build id", metavar="ID"),
        Option(
            "--name",
            "name of the module (default: that of FILE without .gsym)",
            metavar="NAME",
        ),
        Option("--quiet", "print errors only", short="-q"),
    ),
    """\
breakpad: a symbol file (.sym) as dump_syms writes it, for minidump tools, symbol
servers and profilers, but without unwind records (STACK), which GSYM does not have.""",
)

_FORMATS = ("breakpad",)
_OPTION_OF_FIELD = {
    "os": "--os",
    "architecture": "--arch",
    "debug_id": "--debug-id",
    "code_id": "--code-id",
    "debug_file": "--name",
}


def run(arguments: list[str]) -> int:
    """Write the output; what it cannot say is told on standard error."""
    values = COMMAND.parse(arguments)
    if values.text("--format") not in _FORMATS:
        raise UsageError("option '--format': choose breakpad")
    path = values.operand("FILE")
    output = values.text("--output") or path.removesuffix(".gsym") + ".sym"
    given, binary = _given(values), values.text("--binary")
    if any(is_same_file(output, name) for name in (path, binary) if name):
        raise GsymError("the output would replace an input", path=output)
    progress = None if values.flag("--quiet") else progress_for(path)
    with gsym.reading.reader.open(path) as reader:
        identity = _merge(given, binary, reader)
        try:
            report = export_breakpad(
                reader, output, identity=identity, progress=progress
            )
        except IdentityError as error:
            raise _name_options(error, values) from None
        finally:
            if progress is not None:
                progress.clear()
    if not values.flag("--quiet"):
        _tell(path, report)
    return 0


def _given(values: Values) -> dict[str, str]:
    """What the command line says of the module."""
    given = {
        field: text
        for field, option in _OPTION_OF_FIELD.items()
        if (text := values.text(option)) is not None
    }
    for field in ("os", "architecture", "code_id"):
        if field in given and given[field].split() != [given[field]]:
            option = _OPTION_OF_FIELD[field]
            raise UsageError(f"option '{option}': '{given[field]}' is not one word")
    if "debug_id" in given:
        try:
            given["debug_id"] = read_debug_id(given["debug_id"])
        except ValueError as error:
            raise UsageError(f"option '--debug-id': {error}") from None
    return given


def _merge(given: dict[str, str], binary: str | None, reader: Reader) -> ModuleIdentity:
    """What the options say, and the binary where they say nothing."""
    if binary is None:
        return ModuleIdentity(**given)
    # Who gives a debug id knows better than the UUID of the file.
    uuid = None if "debug_id" in given else reader.uuid
    return identify(binary, uuid=uuid)._replace(**given)


def _name_options(error: IdentityError, values: Values) -> GsymError:
    options = " and ".join(_OPTION_OF_FIELD[field] for field in error.missing)
    if values.text("--binary") is None:
        options = f"--binary or {options}"
    return GsymError(f"{error.reason}; use {options}", path=error.path)


def _tell(path: str, report: ExportReport) -> None:
    identity = report.identity
    print(printable(f"{path} -> {report.output}"))
    print(
        f"  {report.functions} functions, {report.public_symbols} public symbols, "
        f"{report.lines} lines, {report.inlined_calls} inlined calls; "
        f"{report.file_size} bytes in {report.seconds:.2f} s"
    )
    name = printable(identity.debug_file)
    print(f"  {identity.os} {identity.architecture} {identity.debug_id} {name}")
    head = printable(f"{path}: warning: ")
    for loss, count in report.losses.items():
        times = "once" if count == 1 else f"{count} times"
        print(f"{head}{loss} ({times})", file=sys.stderr)
    print(f"{head}no unwind records (STACK): GSYM has none", file=sys.stderr)
