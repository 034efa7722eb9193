"""Write Breakpad symbol files from records."""

from __future__ import annotations

from typing import NamedTuple

MODULE = "MODULE Linux x86_64 0905AE80CEE75A33E3CAB61C274274DE0 app"


class Range(NamedTuple):
    start: int
    size: int

    def __str__(self) -> str:
        return f"{self.start:x} {self.size:x}"

    def holds(self, address: int) -> bool:
        return self.start <= address < self.start + self.size


class Row(NamedTuple):
    """A line record."""

    range: Range
    line: int
    file: int

    def __str__(self) -> str:
        return f"{self.range} {self.line} {self.file}"


class Call(NamedTuple):
    """An INLINE record; *file* None is the form of 2021."""

    level: int
    line: int
    file: int | None
    origin: int
    ranges: tuple[Range, ...]

    def __str__(self) -> str:
        place = f"{self.line}" if self.file is None else f"{self.line} {self.file}"
        ranges = " ".join(map(str, self.ranges))
        return f"INLINE {self.level} {place} {self.origin} {ranges}"


class Func(NamedTuple):
    range: Range
    name: str
    rows: tuple[Row, ...] = ()
    calls: tuple[Call, ...] = ()
    multiple: bool = False

    def __str__(self) -> str:
        head = f"FUNC {'m ' * self.multiple}{self.range} 0 {self.name}"
        return "\n".join(map(str, (head, *self.calls, *self.rows)))


class Public(NamedTuple):
    address: int
    name: str
    multiple: bool = False

    def __str__(self) -> str:
        return f"PUBLIC {'m ' * self.multiple}{self.address:x} 0 {self.name}"


class Symbols(NamedTuple):
    """All records of a file but MODULE and INFO."""

    files: dict[int, str]
    origins: dict[int, str]
    functions: tuple[Func, ...]
    publics: tuple[Public, ...] = ()

    def records(self) -> list[str]:
        """As tools order them; a FUNC with all that belongs to it is one."""
        return [
            *(f"FILE {number} {path}" for number, path in self.files.items()),
            *(
                f"INLINE_ORIGIN {number} {name}"
                for number, name in self.origins.items()
            ),
            *map(str, self.functions),
            *map(str, self.publics),
        ]


def text_of(*records: object, module: str = MODULE, end: str = "\n") -> bytes:
    """A file of records, one a line."""
    lines = [module, *(line for each in records for line in str(each).split("\n"))]
    return "".join(line + end for line in lines).encode("utf-8", "surrogateescape")
