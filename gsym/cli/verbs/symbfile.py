"""`gsym symbfile dump`, `stats`, `verify`, `lookup`, `id`, `convert`."""

from __future__ import annotations

import os

from gsym.cli import options
from gsym.cli.grammar import Command, Values, usage_errors
from gsym.cli.program import EXIT_FAILED, EXIT_INCOMPLETE
from gsym.cli.terminal import print_json, print_lines, printable, table_lines
from gsym.model import NO_FUNCTION
from gsym.symbfile import inspection
from gsym.symbfile.address_index import AddressIndex, ChainFrame
from gsym.symbfile.file_id import FileId, kernel_id
from gsym.symbfile.format import open_symbfile
from gsym.symbfile.to_gsym import convert_symbfiles

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from collections.abc import Iterator

SYMBFILE = "FILE  symbfile, plain or compressed by zstd"


@Command(
    "gsym symbfile dump",
    (SYMBFILE, options.JSON),
    "A damaged file is printed up to the damage; the error names its byte offset.",
)
def dump(values: Values) -> int:
    """Print all records in file order."""
    records = open_symbfile(values.operand("FILE")).records()
    if values.flag("--json"):
        for record in records:
            print_json(inspection.record_object(record))
        return 0
    for record in records:
        print_lines(inspection.record_lines(record))
    return 0


@Command("gsym symbfile stats", (SYMBFILE, options.JSON))
def show_statistics(values: Values) -> int:
    """Measure one file and print the result."""
    path = values.operand("FILE")
    statistics = inspection.measure(open_symbfile(path))
    size = os.stat(path).st_size
    figures = statistics._asdict()
    counts = figures.pop("counts")._asdict()
    record = {"path": path, "file_size": size, **counts, **figures}
    options.show(values, record, table_lines(_stats_lines(statistics, size), left={0}))
    return 0


def _stats_lines(
    statistics: inspection.Statistics, size: int
) -> Iterator[tuple[str, str]]:
    counts = statistics.counts
    yield "file size", f"{size} bytes"
    yield "ranges", f"{counts.ranges}, {counts.range_bytes} bytes"
    yield "  functions", f"{statistics.functions} of {statistics.bytes_covered} bytes"
    for depth, count in statistics.depths.items():
        if depth:
            more = " and more" if depth == inspection.MOST_DEPTH else ""
            yield f"  depth {depth}{more}", str(count)
    yield "  line rows", str(counts.line_rows)
    pads = f"{counts.return_pads}, {counts.return_pad_bytes} bytes"
    yield "return pads", pads
    yield "  entries", str(counts.entries)
    tables = f"{counts.string_tables}, {counts.string_table_bytes} bytes"
    yield "string tables", tables
    yield "  strings", f"{counts.table_strings}, {counts.references} references"
    yield "strings in ranges", str(counts.inline_strings)
    if counts.unknown_messages:
        unknown = f"{counts.unknown_messages}, {counts.unknown_bytes} bytes"
        yield "unknown messages", unknown
    if statistics.first_address is not None:
        addresses = f"{statistics.first_address:#x}..{statistics.end_address:#x}"
        yield "addresses", addresses


@Command(
    "gsym symbfile verify",
    (SYMBFILE, options.JSON, options.QUIET),
    """\
Checks the order and the nesting of inlined calls, overlaps, line tables and missing
fields. A note reports missing information, such as bytes without a line. The exit code
is 1 if there is an error.""",
)
def verify_records(values: Values) -> int:
    """Print errors and notes; the exit code is 1 if there is an error."""
    path = values.operand("FILE")
    is_json, is_quiet = values.flag("--json"), values.flag("--quiet")
    errors = 0
    for finding in inspection.verify(open_symbfile(path)):
        errors += finding.is_error
        if is_quiet and not finding.is_error:
            continue
        if is_json:
            print_json(finding._asdict())
            continue
        kind = "error" if finding.is_error else "note"
        where = f"{path}: offset {finding.offset:#x}, address {finding.elf_va:#x}"
        print(printable(f"{where}: {kind}: {finding.rule}: {finding.reason}"))
    if not errors and not is_json and not is_quiet:
        print(f"{printable(path)}: the records are valid")
    return EXIT_FAILED if errors else 0


@Command(
    "gsym symbfile lookup",
    (
        SYMBFILE,
        "ADDRESS...  link-time address: 1f64, 0x1f64, or decimal",
        options.JSON,
        options.STRICT,
    ),
    """\
Return pads are used for their own addresses (return addresses minus 1), ranges for all
others. Functions are printed innermost first. The complete file is read: for many
addresses convert it first ('gsym symbfile convert').""",
)
def look_up(values: Values) -> int:
    """Print the chain at each address."""
    addresses = [
        options.parse_address(word, "ADDRESS") for word in values.operands("ADDRESS")
    ]
    index = AddressIndex(open_symbfile(values.operand("FILE")).records())
    missed = False
    for address in addresses:
        chain = index.lookup(address)
        missed |= chain is None
        frames = [frame._asdict() for frame in chain or ()]
        record = {"address": address, "frames": frames}
        options.show(values, record, _lookup_lines(address, chain or ()))
    return EXIT_INCOMPLETE if missed and values.flag("--strict") else 0


def _lookup_lines(address: int, chain: tuple[ChainFrame, ...]) -> Iterator[str]:
    head = f"{address:#x}: "
    if not chain:
        yield f"{head}{NO_FUNCTION}"
    for func, file, line in chain:
        place = f" at {file or '?'}:{line or '?'}" if file or line else ""
        yield f"{head}{func}{place}"
        head = " " * len(head)


@Command(
    "gsym symbfile id",
    (
        """\
FILE...  executable as it is deployed
--kernel  FILE is a Linux kernel or kernel module, whose FileID is made from its build
  id
--kernel-debug  FILE is the debug file of a kernel or kernel module""",
        options.JSON,
    ),
    "A line has the FileID in hexadecimal, in base64 for headers, and the file.",
)
def print_ids(values: Values) -> int:
    """Print a line for each file."""
    is_debug = values.flag("--kernel-debug")
    is_kernel = is_debug or values.flag("--kernel")
    for path in values.operands("FILE"):
        found = (
            kernel_id(path, debug_file=is_debug) if is_kernel else FileId.of_file(path)
        )
        record = {"path": path, "hex": found.hex(), "base64": found.base64}
        options.show(values, record, [f"{found.hex()} {found.base64} {path}"])
    return 0


@options.OutputCommand(
    "gsym symbfile convert",
    (
        """\
FILE...  symbfile with ranges; give all parts
-o, --output OUT  file to write, - for standard output (default: the first FILE with
  .gsym added)""",
        options.convert_options("output_version", "byteorder", "uuid"),
        options.JSON,
        options.QUIET,
    ),
    """\
A lookup in OUT returns what the ranges contain. Names are unchanged; return pads are
ignored.""",
)
def convert(values: Values) -> int:
    """Write the output and print a report."""
    paths = values.operands("FILE")
    output = values.text("--output") or paths[0] + ".gsym"
    chosen = options.convert_keywords(values, "output_version", "byteorder", "uuid")
    with usage_errors():
        report = convert_symbfiles(
            paths, output, **{"output_version": 1, "byteorder": "little", **chosen}
        )
    what = (
        f"  {report.functions} functions, {report.functions_with_lines} with lines, "
        f"{report.functions_with_inlines} with inlined calls; {report.file_size} bytes"
    )
    record = {"inputs": paths, "output": output, **report._asdict()}
    options.show(values, record, [f"{paths[0]} -> {output}", what])
    return 0
