"""`gsym embed` and `gsym extract`: GSYM files in sections of binaries."""

from __future__ import annotations

import sys

from gsym.cli.grammar import Command, Operand, Option, UsageError
from gsym.cli.options import QUIET, output_option, writes_file
from gsym.cli.terminal import printable
from gsym.embedding.transfer import embed, extract
from gsym.writing.atomic_file import is_same_file

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from gsym.cli.grammar import Values
    from gsym.embedding.transfer import EmbeddingReport


@Command(
    "gsym embed",
    (
        Operand("FILE", "GSYM file"),
        Operand("BINARY", "ELF or Mach-O file or dSYM bundle that it belongs to"),
    ),
    (
        output_option("file to write, - for standard output (default: BINARY itself)"),
        Option(
            "--share-strings",
            "leave out the strings that the binary's symbol table has; what rewrites "
            "that table later, such as strip, makes the embedded file unusable",
        ),
        QUIET,
    ),
    """\
The section is .gsym of an ELF file, __GSYM,__gsym of a Mach-O file; one that is there
is replaced. Code and data that are loaded stay as they are. A signed Mach-O file is
signed again, ad hoc. All commands that read a GSYM file take the binary as well.""",
)
@writes_file
def embed_file(values: Values) -> int:
    """Embed one file and say where it went."""
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


@Command(
    "gsym extract",
    (Operand("BINARY", "ELF or Mach-O file or dSYM bundle that holds one"),),
    (
        output_option("file to write, - for standard output (default: BINARY.gsym)"),
        QUIET,
    ),
    """\
OUT has the bytes of the file that was embedded; strings that it shares with the binary
are copied, and then it says the same in other bytes. BINARY stays as it is.""",
)
@writes_file
def extract_file(values: Values) -> int:
    """Write one file and say how large it is."""
    binary = values.operand("BINARY")
    output = values.text("--output")
    if output is None:
        output = binary + ".gsym"
    if is_same_file(binary, output):
        raise UsageError(f"the output would replace '{binary}'")
    size = extract(binary, output)
    if not values.flag("--quiet"):
        print(printable(f"{binary} -> {output}"))
        print(f"  {size} bytes")
    return 0
