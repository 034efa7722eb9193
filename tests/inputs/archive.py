"""Static archives, in the formats of GNU and BSD tools."""

from __future__ import annotations


def header(name: str, size: int | str, mtime: int | str = 7) -> bytes:
    fields = ((name, 16), (mtime, 12), (0, 6), (0, 6), (100644, 8), (size, 10))
    return b"".join(str(text).encode().ljust(width) for text, width in fields) + b"`\n"


def member(name: str, data: bytes) -> bytes:
    return header(name, len(data)) + data + b"\n" * (len(data) % 2)


def bsd_archive(members: dict[str, bytes], mtime: int = 7) -> bytes:
    out = b"!<arch>\n"
    for name, data in {"__.SYMDEF SORTED": b"index", **members}.items():
        body = name.encode().ljust(20, b"\0") + data
        out += header("#1/20", len(body), mtime) + body + b"\n" * (len(body) % 2)
    return out
