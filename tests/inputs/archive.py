"""Static archives, in the formats of GNU and BSD tools."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable


def header(name: str, size: int | str, mtime: int | str = 7) -> bytes:
    fields = ((name, 16), (mtime, 12), (0, 6), (0, 6), (100644, 8), (size, 10))
    return b"".join(str(text).encode().ljust(width) for text, width in fields) + b"`\n"


def member(name: str, data: bytes) -> bytes:
    return header(name, len(data)) + data + b"\n" * (len(data) % 2)


def bsd_archive(members: dict[str, bytes], mtime: int = 7) -> bytes:
    return bsd_archive_of((name, data, mtime) for name, data in members.items())


def bsd_archive_of(members: Iterable[tuple[str, bytes, int]]) -> bytes:
    """Of members with name, data and time; several may have one name."""
    out = b"!<arch>\n"
    for name, data, mtime in (("__.SYMDEF SORTED", b"index", 7), *members):
        body = name.encode().ljust(20, b"\0") + data
        out += header("#1/20", len(body), mtime) + body + b"\n" * (len(body) % 2)
    return out
