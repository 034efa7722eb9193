"""`gsym embed` and `gsym extract`: GSYM files in sections of binaries."""

from __future__ import annotations

import sys

from gsym.cli.grammar import UsageError, Values
from gsym.cli.options import QUIET, OutputCommand
from gsym.cli.terminal import printable, warn
from gsym.embedding.transfer import EmbeddingReport, embed, extract
from gsym.writing.atomic_file import is_same_file

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from collections.abc import Iterator


@OutputCommand(
    "gsym embed",
    (
        """\
FILE  GSYM file
BINARY  ELF or Mach-O file or dSYM bundle of the same module
-o, --output OUT  file to write, - for standard output (default: BINARY itself)
--share-strings  omit strings that are in the binary's symbol table; rewriting that
  table later, for example with strip, makes the embedded file unusable""",
        QUIET,
    ),
    """\
The section is .gsym in an ELF file, __GSYM,__gsym in a Mach-O file; an existing one is
replaced. Loaded code and data do not change. A signed Mach-O file is signed again, ad
hoc. All commands that read a GSYM file also accept the binary.""",
)
def embed_file(values: Values) -> int:
    """Embed one file and print the result."""
    source, binary = values.operand("FILE"), values.operand("BINARY")
    output = values.text("--output")
    if is_same_file(source, binary if output is None else output):
        raise UsageError(f"the output would replace '{source}'")
    report = embed(source, binary, output, values.flag("--share-strings"))
    if not values.flag("--quiet"):
        sys.stdout.writelines(line + "\n" for line in _summary(report))
    for warning in _warnings(report):
        warn(warning, "gsym embed")
    return 0


def _warnings(report: EmbeddingReport) -> Iterator[str]:
    if report.index_dropped:
        yield (
            f"{report.gsym} loses its index: a file of version 1 cannot have one with "
            "shared strings (version 2 can)"
        )
    if report.variables_dropped:
        yield (
            f"{report.gsym} loses its variables: a file with shared strings cannot "
            "have them; the binary's symbol table does"
        )
    if report.unsure:
        yield f"{report.gsym} may be of another build: {report.unsure}"
    if report.signature == "identity dropped":
        yield (
            f"{report.output} is now signed ad hoc, without its identity and "
            "entitlements: sign it again"
        )


def _summary(report: EmbeddingReport) -> Iterator[str]:
    yield printable(f"{report.gsym} -> {report.output}, section {report.section}")
    size = f"  {report.gsym_size} bytes"
    if report.string_table_size:
        size += f", {report.section_size} without strings shared with the binary"
    yield size
    yield f"  the binary has {report.output_size} bytes, {report.binary_size} before"
    if report.signature:
        yield "  signed ad hoc"


@OutputCommand(
    "gsym extract",
    (
        """\
BINARY  ELF or Mach-O file or dSYM bundle with a GSYM file
-o, --output OUT  file to write, - for standard output (default: BINARY.gsym)""",
        QUIET,
    ),
    """\
OUT is identical to the file that was embedded. If that shares strings with the binary,
they are copied, so OUT has the same contents in other bytes. BINARY is not changed.""",
)
def extract_file(values: Values) -> int:
    """Write one file and print its size."""
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
