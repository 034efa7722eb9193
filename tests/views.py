"""Between the oracle's records, which hold numbers, and those of the API.

`to_oracle` numbers strings and files in its own simple way, so that a file can be
made without the creator. The other functions resolve what the oracle decoded.
"""

from __future__ import annotations

import gsym
from tests import oracle

U64_MAX = 2**64 - 1


def text(raw: bytes) -> str:
    return raw.decode("utf-8", "surrogateescape")


class Tables:
    """A string table and a file table that grow."""

    def __init__(self) -> None:
        self.strings = bytearray(1)
        self.files = [(0, 0)]
        self._strps = {b"": 0}

    def string(self, name: str) -> int:
        raw = name.encode("utf-8", "surrogateescape")
        if raw not in self._strps:
            self._strps[raw] = len(self.strings)
            self.strings += raw + b"\0"
        return self._strps[raw]

    def file(self, path: str) -> int:
        directory, separator, basename = path.rpartition("/")
        whole = not directory or "\\" in directory
        entry = (
            (0, self.string(path))
            if not separator or whole
            else (self.string(directory), self.string(basename))
        )
        if entry not in self.files:
            self.files.append(entry)
        return self.files.index(entry)

    def inline(self, node: gsym.InlineInfo) -> oracle.InlineInfo:
        return oracle.InlineInfo(
            tuple((extent.start, extent.end) for extent in node.ranges),
            self.string(node.name),
            self.file(node.call_path),
            node.call_line,
            tuple(map(self.inline, node.children)),
        )

    def function(self, function: gsym.FunctionInfo) -> oracle.FunctionInfo:
        rows = function.line_table
        return oracle.FunctionInfo(
            function.start,
            function.size,
            self.string(function.name),
            None
            if rows is None
            else tuple(
                oracle.LineRow(row.address, self.file(row.path), row.line)
                for row in rows
            ),
            None if function.inline is None else self.inline(function.inline),
            tuple(map(self.function, function.merged)),
            tuple(
                oracle.CallSite(
                    site.return_offset,
                    site.flags,
                    tuple(map(self.string, site.match_regex)),
                )
                for site in function.call_sites
            ),
            dict(function.extra),
        )


def smallest_width(span: int) -> int:
    """Bytes of an address offset that reaches *span*."""
    return next(width for width in (1, 2, 4, 8) if span < 1 << 8 * width)


def to_oracle(
    functions: list[gsym.FunctionInfo],
    version: int,
    byteorder: str,
    *,
    uuid: bytes = b"",
    base_address: int | None = None,
) -> oracle.GsymFile:
    """A file of *functions*, which are sorted by address."""
    tables = Tables()
    records = tuple(map(tables.function, functions))
    base = records[0].start if base_address is None else base_address
    return oracle.GsymFile(
        version,
        byteorder,
        smallest_width(records[-1].start - base),
        base,
        uuid,
        bytes(tables.strings),
        tuple(tables.files),
        records,
    )


def path_from_oracle(file: oracle.GsymFile, index: int) -> str:
    """The path of a file entry; entry 0 and entries that do not exist have none."""
    if not 0 < index < len(file.files):
        return ""
    directory, basename = (text(file.string(strp)) for strp in file.files[index])
    if not directory:
        return basename
    backslash = "\\" in directory and "/" not in directory
    return directory + ("\\" if backslash else "/") + basename


def inline_from_oracle(
    file: oracle.GsymFile, node: oracle.InlineInfo
) -> gsym.InlineInfo:
    return gsym.InlineInfo(
        text(file.string(node.name)),
        path_from_oracle(file, node.call_file),
        node.call_line,
        tuple(gsym.Range(*extent) for extent in node.ranges),
        tuple(inline_from_oracle(file, child) for child in node.children),
    )


def function_from_oracle(
    file: oracle.GsymFile, function: oracle.FunctionInfo
) -> gsym.FunctionInfo:
    rows, inline = function.line_table, function.inline
    return gsym.FunctionInfo(
        function.start,
        function.size,
        text(file.string(function.name)),
        None
        if not rows  # a table without rows says as much as none
        else tuple(
            gsym.LineEntry(row.address, path_from_oracle(file, row.file), row.line)
            for row in rows
        ),
        None if inline is None else inline_from_oracle(file, inline),
        tuple(function_from_oracle(file, child) for child in function.merged),
        tuple(
            gsym.CallSite(
                site.return_offset,
                site.flags,
                tuple(text(file.string(regex)) for regex in site.regexes),
            )
            for site in function.call_sites
        ),
        function.extra,
    )


def functions_from_oracle(file: oracle.GsymFile) -> list[gsym.FunctionInfo]:
    return [function_from_oracle(file, function) for function in file.functions]


def lookup_from_oracle(file: oracle.GsymFile, answer: oracle.Answer) -> gsym.Lookup:
    function = answer.function
    last = len(answer.frames) - 1
    return gsym.Lookup(
        answer.address,
        gsym.FunctionRange(
            text(file.string(function.name)), function.start, function.size
        ),
        tuple(
            gsym.Frame(
                text(frame.name),
                text(frame.directory),
                text(frame.basename),
                frame.line,
                frame.offset % 2**64,  # below zero where ranges are damaged
                index < last,
            )
            for index, frame in enumerate(answer.frames)
        ),
        tuple(map(text, answer.call_site_patterns)),
    )


def inline_boundaries(node: gsym.InlineInfo) -> set[int]:
    own = {bound for extent in node.ranges for bound in extent}
    return own.union(*map(inline_boundaries, node.children))


def boundaries(functions: list[gsym.FunctionInfo]) -> list[int]:
    """Every address at which an answer may change, with its neighbours."""
    places = {0, U64_MAX}
    for function in functions:
        for info in (function, *function.merged):
            places |= {info.start, info.start + info.size}
            places |= {row.address for row in info.line_table or ()}
            places |= {info.start + site.return_offset for site in info.call_sites}
            if info.inline is not None:
                places |= inline_boundaries(info.inline)
    near = {place + step for place in places for step in (-1, 0, 1)}
    return sorted(place for place in near if 0 <= place <= U64_MAX)
