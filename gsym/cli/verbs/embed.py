"""`gsym embed`: a GSYM file into a section of its binary."""

from __future__ import annotations

import sys

from gsym.cli.options import Command, Operand, Option, UsageError
from gsym.cli.terminal import printable
from gsym.embedding.transfer import embed
from gsym.writing.atomic_file import is_same_file

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from gsym.embedding.transfer import EmbeddingReport

COMMAND = Command(
    "gsym embed",
    "Put a GSYM file into a section of its binary",
    (
        Operand("FILE", "GSYM file"),
        Operand("BINARY", "ELF or Mach-O file or dSYM bundle that it belongs to"),
    ),
    (
        Option(
            "--output",
            "file to write (default: BINARY itself)",
            short="-o",
            metavar="OUT",
        ),
        Option(
            "--share-strings",
            "leave out the strings that the binary's symbol table has; what rewrites "
            "that table later, such as strip, makes the embedded file unusable",
        ),
        Option("--quiet", "print errors only", short="-q"),
    ),
    """\
The section is .gsym of an ELF file, __GSYM,__gsym of a Mach-O file; one that is there
is replaced. Code and data that are loaded stay as they are. A signed Mach-O file is
signed again, ad hoc. All commands that read a GSYM file take the binary as well.""",
)


def run(arguments: list[str]) -> int:
    """Embed one file and say where it went."""
    values = COMMAND.parse(arguments)
    source, binary = values.operand("FILE"), values.operand("BINARY")
    output = values.text("--output")
    if is_same_file(source, binary if output is None else output):
        raise UsageError(f"the output would replace '{source}'")
    report = embed(source, binary, output, values.flag("--share-strings"))
    if not values.flag("--quiet"):
        sys.stdout.writelines(line + "\n" for line in _summary(report))
    if report.index_dropped:
        print(
            f"gsym embed: warning: {printable(report.gsym)} loses its index: version 1 "
            "has no place for one where strings are shared (version 2 has)",
            file=sys.stderr,
        )
    if report.variables_dropped:
        print(
            f"gsym embed: warning: {printable(report.gsym)} loses its variables, which "
            "have no place where strings are shared; the symbol table of the binary "
            "has them",
            file=sys.stderr,
        )
    if report.signature == "identity dropped":
        print(
            f"gsym embed: warning: {printable(report.output)} is signed ad hoc now, "
            "without the identity and the entitlements that it had: sign it again",
            file=sys.stderr,
        )
    return 0


def _summary(report: EmbeddingReport) -> Iterator[str]:
    yield printable(f"{report.gsym} -> {report.output}, section {report.section}")
    size = f"  {report.gsym_size} bytes"
    if report.string_table_size:
        size += f", {report.section_size} without what the binary's string table has"
    yield size
    yield f"  the binary takes {report.output_size} bytes, {report.binary_size} before"
    if report.signature:
        yield "  signed ad hoc"
