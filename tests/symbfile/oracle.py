"""A slow decoder of symbfiles, written from the schema: the second opinion of tests."""

from __future__ import annotations

from collections import defaultdict

from gsym.symbfile.columns import LineTableRow, Range, ReturnPad, ReturnPadEntry

Values = dict[int, list[tuple[int, int, bytes]]]  # field -> place, number, bytes


class UnsoundError(Exception):
    """The bytes are no symbfile."""


class _Bytes:
    def __init__(self, data: bytes) -> None:
        self.data = data
        self.at = 0

    def take(self, size: int) -> bytes:
        if size > len(self.data) - self.at:
            raise UnsoundError
        self.at += size
        return self.data[self.at - size : self.at]

    def varint(self) -> int:
        value = 0
        for shift in range(0, 70, 7):
            byte = self.take(1)[0]
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                if value >> 64:
                    raise UnsoundError
                return value
        raise UnsoundError


def _skip_group(source: _Bytes, field: int, depth: int = 1) -> None:
    while True:
        key = source.varint()
        if key >> 32 or not key >> 3:
            raise UnsoundError
        if key & 7 == 4:
            if key >> 3 != field:
                raise UnsoundError
            return
        if key & 7 == 3:
            if depth == 100:
                raise UnsoundError
            _skip_group(source, key >> 3, depth + 1)
        else:
            _value(source, key & 7)


def _value(source: _Bytes, wire: int) -> tuple[int, bytes]:
    if wire == 0:
        return source.varint(), b""
    if wire == 2:
        return 0, source.take(source.varint())
    if wire in {1, 5}:
        return 0, source.take(8 if wire == 1 else 4)
    raise UnsoundError


def _fields(body: bytes, wires: dict[int, set[int]]) -> Values:
    """The values of the fields of a message that allows these wire types."""
    source, found = _Bytes(body), defaultdict(list)
    while source.at < len(body):
        place, key = source.at, source.varint()
        field, wire = key >> 3, key & 7
        if key >> 32 or not field:
            raise UnsoundError
        if field not in wires:
            if wire == 3:
                _skip_group(source, field)
            else:
                _value(source, wire)
        elif wire not in wires[field]:
            raise UnsoundError
        else:
            found[field].append((place, *_value(source, wire)))
    return found


def _text(raw: bytes) -> str:
    try:
        return raw.decode()
    except UnicodeDecodeError:
        raise UnsoundError from None


def _column(values: Values, field: int, kinds: dict[int, int]) -> list[int]:
    column = []
    for place, number, raw in values[field]:
        if kinds[place] == 0:
            column.append(number)
            continue
        source = _Bytes(raw)
        while source.at < len(raw):
            column.append(source.varint())
    return [number & 0xFFFFFFFF for number in column]


def _columns(body: bytes, values: Values, *fields: int) -> list[list[int]]:
    kinds = {
        place: _Bytes(body[place:]).varint() & 7
        for field in fields
        for place, _, _ in values[field]
    }
    columns = [_column(values, field, kinds) for field in fields]
    if len({len(column) for column in columns}) > 1:
        raise UnsoundError
    return columns


class _Decoder:
    def __init__(self) -> None:
        self.elf_va: int | None = None
        self.table: list[str] = []

    def address(self, values: Values, set_field: int) -> int:
        given = [(place, True, number) for place, number, _ in values[1]]
        given += [(place, False, number) for place, number, _ in values[set_field]]
        if not given:
            raise UnsoundError
        _, is_delta, number = max(given)
        if is_delta:
            if self.elf_va is None:
                raise UnsoundError
            number = self.elf_va + (number >> 1 ^ -(number & 1))
        self.elf_va = number % (1 << 64)
        return self.elf_va

    def string(self, index: int) -> str:
        if index >= len(self.table):
            raise UnsoundError
        return self.table[index]

    def either(self, values: Values, text_field: int, ref_field: int) -> str | None:
        texts = [(place, _text(raw), 0) for place, _, raw in values[text_field]]
        refs = [(place, None, number) for place, number, _ in values[ref_field]]
        given = sorted([*texts, *refs], key=lambda item: item[0])
        if not given:
            return None
        _, text, index = given[-1]
        return self.string(index & 0xFFFFFFFF) if text is None else text

    def range(self, body: bytes) -> Range:
        wires = {field: {0} for field in (1, 2, 5, 7, 9, 10, 11, 12)}
        values = _fields(body, wires | {field: {2} for field in (3, 4, 6, 8)})
        func = self.either(values, 3, 9)
        if func is None:
            raise UnsoundError
        offsets: list[int] = []
        lines: list[int] = []
        for _, _, table in values[8]:
            rows = _fields(table, {1: {0, 2}, 2: {0, 2}})
            kinds = {
                place: _Bytes(table[place:]).varint() & 7
                for field in (1, 2)
                for place, _, _ in rows[field]
            }
            offsets += _column(rows, 1, kinds)
            lines += _column(rows, 2, kinds)
        if len(offsets) != len(lines):
            raise UnsoundError
        sums = [sum(offsets[: index + 1]) for index in range(len(offsets))]
        return Range(
            elf_va=self.address(values, 12),
            length=_last(values, 2),
            func=func,
            file=self.either(values, 4, 10),
            call_file=self.either(values, 6, 11),
            call_line=_last(values, 5) & 0xFFFFFFFF,
            depth=_last(values, 7) & 0xFFFFFFFF,
            line_table=tuple(map(LineTableRow, sums, lines)),
        )

    def return_pad(self, body: bytes) -> ReturnPad:
        values = _fields(body, {1: {0}, 2: {0, 2}, 3: {0, 2}, 4: {0, 2}, 5: {0}})
        funcs, files, lines = _columns(body, values, 2, 3, 4)
        entries = [
            ReturnPadEntry(self.string(func), self.string(file), line)
            for func, file, line in zip(funcs, files, lines, strict=True)
        ]
        return ReturnPad(self.address(values, 5), tuple(entries))


def _last(values: Values, field: int) -> int:
    return values[field][-1][1] if values[field] else 0


def decode(data: bytes) -> list[Range | ReturnPad]:
    """All records.

    Raises:
        UnsoundError: The bytes are no symbfile.
    """
    source, decoder = _Bytes(data), _Decoder()
    records: list[Range | ReturnPad] = []
    has_header = False
    if source.take(8) != b"symbfile":
        raise UnsoundError
    while source.at < len(data) or not has_header:
        size, kind = source.varint(), source.varint()
        if size > 1 << 24 or not 0 < kind < 1 << 31 or has_header == (kind == 1):
            raise UnsoundError
        has_header = True
        body = source.take(size)
        if kind == 1:
            _fields(body, {})
        elif kind == 2:
            records.append(decoder.range(body))
        elif kind == 3:
            records.append(decoder.return_pad(body))
        elif kind == 4:
            table = _fields(body, {1: {2}})
            decoder.table = [_text(raw) for _, _, raw in table[1]]
    return records
