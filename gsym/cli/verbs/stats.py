"""`gsym stats`: what the bytes of a GSYM file are spent on."""

from __future__ import annotations

from gsym.cli import options
from gsym.cli.grammar import Command, Values
from gsym.cli.gsym_input import open_gsym
from gsym.cli.terminal import cut_middle, printable
from gsym.reading.statistics import (
    Directory,
    Footprint,
    InfoBytes,
    Statistics,
    biggest,
    directories,
    footprints,
    measure,
)

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

_TOP = 10
_BAR_WIDTH = 30
_LABEL_WIDTH = 30
_SECTIONS = (
    ("header", "header"),
    ("directory", "section directory"),
    ("uuid_section", "UUID"),
    ("address_table", "address table"),
    ("address_info_offsets", "record offsets"),
    ("file_table", "file table"),
    ("string_table", "string table"),
    ("function_info", "function records"),
    ("function_index", "index"),
    ("source_files", "source files"),
    ("module_names", "names of the module"),
)
_INFO_TYPES = (
    ("size_and_name", "size and name"),
    ("line_table", "line tables"),
    ("inline_info", "inlined calls"),
    ("merged_functions", "merged functions"),
    ("call_sites", "call sites"),
    ("unknown", "unknown InfoTypes"),
    ("end_of_list", "end of list"),
)


@Command(
    "gsym stats",
    (
        options.GSYM_FILE,
        options.JSON,
        options.DEMANGLE,
        options.ARCH,
        options.VERBOSE,
        "--top N  number of functions and directories to list (default: 10)",
    ),
    """\
A function takes the bytes of its record: size, name, lines, inlined calls and what
is merged into it. Its directory is that of its first line.""",
)
def stats(values: Values) -> int:
    """Measure one file and print the result."""
    path = values.operand("FILE")
    top = values.number("--top")
    top = _TOP if top is None else top
    with open_gsym(path, values, values.text("--arch")) as reader:
        statistics = measure(reader)
        entries = list(footprints(reader))
    functions, folders = biggest(entries, top), directories(entries)[:top]
    measured = path, statistics, functions, folders
    record = _record(*measured, options.json_names(values))
    options.show(values, record, _text(*measured, options.text_names(values)))
    return 0


def _text(
    path: str,
    statistics: Statistics,
    functions: list[Footprint],
    folders: list[Directory],
    show: Callable[[str], str],
) -> Iterator[str]:
    uuid = f"build id {statistics.uuid.hex()}" if statistics.uuid else "no build id"
    size = f"{statistics.num_addresses:,} functions, {statistics.file_size:,} bytes"
    yield f"{printable(path)}: GSYM version {statistics.version}, {size}, {uuid}"
    if statistics.damaged_count:
        yield f"{statistics.damaged_count:,} records are damaged"
    whole = statistics.file_size
    yield from _chart("sections", _sections(statistics), whole)
    padding = ("padding", statistics.function_info_padding)
    yield from _chart(
        "function records", [*_info_types(statistics.own), padding], whole
    )
    if statistics.merged_count:
        title = f"{statistics.merged_count:,} merged functions"
        envelope = ("counts and sizes", statistics.merged_envelope)
        yield from _chart(title, [*_info_types(statistics.merged), envelope], whole)
    rows = [(show(entry.name), entry.record_size) for entry in functions]
    yield from _chart("biggest functions", rows, whole)
    rows = [
        (f"{each.name or '(none)'} ({each.functions:,})", each.record_size)
        for each in folders
    ]
    yield from _chart("directories (functions)", rows, whole)


def _sections(statistics: Statistics) -> Iterator[tuple[str, int]]:
    for field, label in _SECTIONS:
        yield label, getattr(statistics, field)
    for kind, size in statistics.unknown_sections:
        yield f"unknown section type {kind}", size
    yield "padding", statistics.padding


def _info_types(sizes: InfoBytes) -> Iterator[tuple[str, int]]:
    for field, label in _INFO_TYPES:
        yield label, getattr(sizes, field)


def _chart(title: str, rows: Iterable[tuple[str, int]], whole: int) -> Iterator[str]:
    """Bars that compare the rows with each other, and each one's share of the file."""
    shown = [(printable(label), size) for label, size in rows if size]
    if not shown:
        return
    yield ""
    yield title
    longest = max(size for _, size in shown)
    width = len(f"{longest:,}")
    for label, size in shown:
        bar = "#" * max(1, _BAR_WIDTH * size // longest)
        share = f"{100 * size / whole:5.1f} %"
        name = cut_middle(label, _LABEL_WIDTH)
        line = f"  {name:<{_LABEL_WIDTH}}  {size:>{width},}  {share}  {bar}"
        yield line.rstrip()


def _record(
    path: str,
    statistics: Statistics,
    functions: list[Footprint],
    folders: list[Directory],
    names: Callable[[str], dict[str, str]],
) -> dict[str, object]:
    own, merged = statistics.own._asdict(), statistics.merged._asdict()
    return {
        "path": path,
        "version": statistics.version,
        "uuid": statistics.uuid.hex(),
        "functions": statistics.num_addresses,
        "damaged_records": statistics.damaged_count,
        "file_size": statistics.file_size,
        "sections": {field: getattr(statistics, field) for field, _ in _SECTIONS}
        | {"padding": statistics.padding},
        "unknown_sections": [
            {"type": kind, "size": size} for kind, size in statistics.unknown_sections
        ],
        "function_records": own | {"padding": statistics.function_info_padding},
        "merged_functions": merged
        | {"count": statistics.merged_count, "envelope": statistics.merged_envelope},
        "biggest_functions": [
            {**entry._asdict(), **names(entry.name)} for entry in functions
        ],
        "directories": [folder._asdict() for folder in folders],
    }
