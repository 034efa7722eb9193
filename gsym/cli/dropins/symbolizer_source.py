"""Source lines around a location, as printed by llvm-symbolizer."""

from __future__ import annotations

from gsym.engine.native import to_bytes, to_str

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

_MAX_SIZE = 64 << 20  # bytes read of a source file


def with_source(answer: bytes, count: int, *, is_json: bool) -> bytes:
    """An answer of the engine, with each mark replaced by *count* source lines."""
    text, *marks = answer.split(b"\0")
    parts = [text]
    for path, line, after in zip(marks[::3], marks[1::3], marks[2::3], strict=True):
        source = source_context(to_str(path), int(line), count)
        if source and is_json:
            import json

            source = f',"Source":{json.dumps(source, ensure_ascii=False)}'
        parts += to_bytes(source), after
    return b"".join(parts)


def source_context(path: str, line: int, count: int) -> str:
    """*count* lines of the file at *path* around *line*; "" if it cannot be read."""
    if count <= 0 or not path:
        return ""
    first = max(1, line - count // 2)
    last = first + count - 1
    width = len(str(last - 1)) if last > 1 else 0
    try:
        with open(path, "rb") as file:
            text = file.read(_MAX_SIZE)
    except (OSError, ValueError):  # a name may contain a NUL
        return ""
    return "".join(
        f"{number:>{width}}{' >: ' if number == line else '  : '}{row}\n"
        for number, row in _rows(text, first, last)
    )


def _rows(text: bytes, first: int, last: int) -> Iterator[tuple[int, str]]:
    rows = text.split(b"\n", last)
    if len(rows) <= last and not rows[-1]:
        rows.pop()  # the file ends with a newline
    for number, row in enumerate(rows[first - 1 : last], first):
        yield number, row.removesuffix(b"\r").decode("utf-8", "surrogateescape")
