"""Writes Debian and RPM packages, also damaged and hostile ones."""

from __future__ import annotations

import gzip
import io
import lzma
import struct
import sys
import tarfile
from functools import partial
from typing import TYPE_CHECKING

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

PACKERS: dict[str, Callable[[bytes], bytes]] = {
    "": bytes,
    ".gz": gzip.compress,
    ".xz": partial(lzma.compress, preset=0),
    ".zst": zstd.compress,
}
_REGULAR = 0o100644
_HEADER = b"\x8e\xad\xe8\x01"


def ar_member(name: str, data: bytes) -> bytes:
    header = f"{name:<16}{0:<12}{0:<6}{0:<6}{100644:<8}{len(data):<10}`\n"
    return header.encode() + data + b"\n" * (len(data) % 2)


def deb(files: Mapping[str, bytes], compression: str = ".xz") -> bytes:
    """A Debian package with these files, by path without a slash at the start."""
    archive = io.BytesIO()
    with tarfile.open(fileobj=archive, mode="w", format=tarfile.GNU_FORMAT) as tar:
        for name, data in files.items():
            info = tarfile.TarInfo(f"./{name}")
            info.size = len(data)
            tar.addfile(info, io.BytesIO(data))
    return (
        b"!<arch>\n"
        + ar_member("debian-binary", b"2.0\n")
        + ar_member("control.tar.xz", b"odd")
        + ar_member(f"data.tar{compression}", PACKERS[compression](archive.getvalue()))
    )


def cpio_member(name: str, data: bytes, mode: int = _REGULAR) -> bytes:
    path = name.encode("utf-8", "surrogateescape") + b"\0"
    fields = (1, mode, 0, 0, 1, 0, len(data), 0, 0, 0, 0, len(path), 0)
    header = b"070701" + b"".join(b"%08x" % each for each in fields) + path
    return header + bytes(-len(header) % 4) + data + bytes(-len(data) % 4)


def rpm(files: Mapping[str, bytes], compression: str = ".zst") -> bytes:
    """An RPM package with these files, without their metadata in its header."""
    members = [cpio_member(f"./{name}", data) for name, data in files.items()]
    members += [cpio_member("./link", b"elsewhere", 0o120777)]
    archive = b"".join([*members, cpio_member("TRAILER!!!", b"", 0)])
    signature = struct.pack(">4s4xII", _HEADER, 1, 5) + bytes(16 + 5)
    header = struct.pack(">4s4xII", _HEADER, 2, 7) + bytes(32 + 7)
    lead = b"\xed\xab\xee\xdb\x03\x00".ljust(96, b"\0")
    padding = bytes(-len(signature) % 8)
    return lead + signature + padding + header + PACKERS[compression](archive)
