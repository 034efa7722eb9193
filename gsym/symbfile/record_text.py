"""Records of symbfiles as text for people and as objects for programs."""

from __future__ import annotations

from gsym.symbfile.format import Range

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from gsym.symbfile.format import Record, ReturnPad

# A depth has 32 bits: of a damaged file it would fill the memory with blanks.
_MOST_INDENTED = 256


def record_object(record: Record) -> dict[str, object]:
    """The fields of a record by their names; what is absent is None."""
    if not isinstance(record, Range):
        entries = [
            {"func": func, "file": file or None, "line": line or None}
            for func, file, line in record.entries
        ]
        return {"type": "return_pad", "elf_va": record.elf_va, "entries": entries}
    return {
        "type": "range",
        "elf_va": record.elf_va,
        "length": record.length,
        "func": record.func,
        "file": record.file,
        "call_file": record.call_file,
        "call_line": record.call_line or None,
        "depth": record.depth,
        "line_table": record.line_table or None,
    }


def record_title(record: Record) -> str:
    """What tells a record from others, on one line."""
    if not isinstance(record, Range):
        return f"{record.elf_va:#x} return pad"
    end = record.elf_va + record.length
    title = f"{record.elf_va:#x}..{end:#x} {record.func}"
    if not record.depth:
        return title
    return f"{title} called at {_place(record.call_file, record.call_line)}"


def record_lines(record: Record) -> Iterator[str]:
    """All of a record; inlined calls are indented by their depth, up to 256."""
    if isinstance(record, Range):
        yield from _range_lines(record)
    else:
        yield from _return_pad_lines(record)


def _range_lines(record: Range) -> Iterator[str]:
    indent = "  " * min(record.depth, _MOST_INDENTED)
    yield indent + record_title(record)
    if record.file is not None:
        yield f"{indent}  file {record.file}"
    for offset, line in record.line_table:
        yield f"{indent}  {record.elf_va + offset:#x} line {line}"


def _return_pad_lines(record: ReturnPad) -> Iterator[str]:
    yield record_title(record)
    for func, file, line in record.entries:
        yield f"  {func} at {_place(file, line)}"


def _place(file: str | None, line: int) -> str:
    return f"{file or '?'}:{line or '?'}"
