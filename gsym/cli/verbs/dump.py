"""`gsym dump`: every function of a GSYM file, for people or as JSON lines."""

from __future__ import annotations

import sys

from gsym.cli import options
from gsym.cli.grammar import Command, Values
from gsym.cli.gsym_input import open_gsym
from gsym.cli.terminal import print_json, printable

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from gsym.model import CallSite, FunctionInfo, Header, InlineInfo
    from gsym.modules.key import ModuleKey

_CALL_SITE_FLAGS = {1: "internal", 2: "external"}


@Command(
    "gsym dump",
    (options.GSYM_FILE, options.ARCH, options.JSON, options.DEMANGLE, options.VERBOSE),
    "To print the tables as llvm-gsymutil does, run gsymutil FILE.",
)
def dump(values: Values) -> int:
    """Print all functions in the order of their addresses."""
    path, arch = values.operand("FILE"), values.text("--arch")
    with open_gsym(path, values, arch) as reader:
        if values.flag("--json"):
            names = options.json_names(values)
            for info in reader.functions():
                print_json(_function_object(info, names))
        else:
            _write_lines(_header_lines(reader.header))
            if reader.stored_index_size:
                _write_lines(iter([f"index         {reader.stored_index_size} bytes"]))
            _write_lines(_module_lines(reader.module))
            show = options.text_names(values)
            for info in reader.functions():
                sys.stdout.write("\n")
                _write_lines(_function_lines(info, show))
    return 0


def _write_lines(lines: Iterator[str]) -> None:
    sys.stdout.write("".join(f"{line}\n" for line in lines))


def _header_lines(header: Header) -> Iterator[str]:
    yield f"version       {header.version}, {header.byteorder}-endian"
    yield f"UUID          {header.uuid.hex() or '(none)'}"
    yield f"base address  {header.base_address:#x}"
    yield f"functions     {header.num_addresses}"
    yield f"files         {header.num_files}"
    yield f"strings       {header.strtab_size} bytes"


def _module_lines(module: ModuleKey | None) -> Iterator[str]:
    """Lines on the module of the file; none if it has only a UUID."""
    fields = {} if module is None else module._asdict()
    for name, value in fields.items():
        if value:
            yield f"{name.replace('_', ' '):<13} {printable(value)}"


def _function_lines(
    info: FunctionInfo, show: Callable[[str], str], indent: str = ""
) -> Iterator[str]:
    end = info.start + info.size
    yield f"{indent}{info.start:#x}..{end:#x} {show(info.name)}"
    if info.line_table is not None:
        yield f"{indent}  lines"
        for row in info.line_table:
            place = printable(f"{row.path}:{row.line}")
            yield f"{indent}    {row.address:#x} {place}"
    if info.inline is not None:
        yield f"{indent}  inlined calls"
        for depth, node in _in_order(info.inline):
            if depth:  # the root is the function itself
                yield f"{indent}  {_inline_line(depth, node, show)}"
    if info.call_sites:
        yield f"{indent}  call sites"
        for site in info.call_sites:
            yield f"{indent}    {_call_site(site)}"
    for info_type, payload in info.extra.items():
        yield f"{indent}  InfoType {info_type}: {payload.hex()}"
    for other in info.merged:
        yield f"{indent}  merged"
        yield from _function_lines(other, show, f"{indent}    ")


def _inline_line(depth: int, node: InlineInfo, show: Callable[[str], str]) -> str:
    ranges = " ".join(f"{start:#x}..{end:#x}" for start, end in node.ranges)
    place = printable(f"{node.call_path}:{node.call_line}")
    return f"{'  ' * depth}{ranges} {show(node.name)} called at {place}"


def _call_site(site: CallSite) -> str:
    flags = [name for bit, name in _CALL_SITE_FLAGS.items() if site.flags & bit]
    patterns = map(printable, site.match_regex)
    return " ".join([f"+{site.return_offset:#x}", *flags, *patterns])


def _function_object(
    info: FunctionInfo, names: Callable[[str], dict[str, str]]
) -> dict[str, object]:
    """The record with the format's own field names; None where it has no such part."""
    rows = info.line_table
    return {
        "start": info.start,
        "size": info.size,
        **names(info.name),
        "line_table": None if rows is None else [row._asdict() for row in rows],
        "inline": None if info.inline is None else _inline_objects(info.inline, names),
        "merged": [_function_object(other, names) for other in info.merged],
        "call_sites": [site._asdict() for site in info.call_sites],
        "extra": {str(kind): payload.hex() for kind, payload in info.extra.items()},
    }


def _inline_objects(
    root: InlineInfo, names: Callable[[str], dict[str, str]]
) -> list[dict[str, object]]:
    """The tree as a flat list: programs that read JSON bound how deep it nests."""
    objects = []
    for depth, node in _in_order(root):
        fields = node._asdict()
        del fields["children"]
        objects.append({"depth": depth, **names(fields.pop("name")), **fields})
    return objects


def _in_order(root: InlineInfo) -> Iterator[tuple[int, InlineInfo]]:
    """(depth, node), each before its children; the file chooses how deep it nests."""
    pending = [(0, root)]
    while pending:
        depth, node = pending.pop()
        yield depth, node
        pending += [(depth + 1, child) for child in reversed(node.children)]
