"""FileID: the id of an executable in Elastic's and OpenTelemetry's profilers.

It is a hash of the first and the last 4 KiB of the file and its size, so that its cost
does not depend on the size. Use the deployed file: stripping changes the FileID.
Source: opentelemetry-ebpf-profiler, libpf/fileid.go; OpenTelemetry's attribute
`process.executable.build_id.htlhash`.
"""

from __future__ import annotations

import binascii
import os

from gsym.lazy import hashlib

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from collections.abc import Iterable

    from typing_extensions import Buffer, Self

_SIZE = 16
_HEX_DIGITS = 2 * _SIZE
_BASE64_DIGITS = 22  # without the padding
_HASHED = 4096  # bytes at either end of a file
_READ_SIZE = 1 << 20
_URL_ALPHABET = bytes.maketrans(b"+/", b"-_")
_PLAIN_ALPHABET = bytes.maketrans(b"-_", b"+/")
# FNV-1a of 128 bits.
_FNV_BASIS = 0x6C62272E07BB014262B821756295C58D
_FNV_PRIME = 0x0000000001000000000000000000013B


class FileId(bytes):
    """The 16 bytes of a FileID; `hex()` and `base64` are its text formats.

    Raises:
        TypeError: It is not bytes.
        ValueError: There are more or fewer bytes.
    """

    __slots__ = ()

    def __new__(cls, value: bytes) -> Self:  # noqa: D102 - see the class
        if not isinstance(value, (bytes, bytearray, memoryview)):
            reason = "(see FileId.parse)" if isinstance(value, str) else ""
            raise TypeError(f"value: expected bytes, not {value!r} {reason}".rstrip())
        if len(value) != _SIZE:
            raise ValueError(f"a FileID has {_SIZE} bytes, not {len(value)}")
        return super().__new__(cls, value)

    def __repr__(self) -> str:
        return f"FileId.parse({self.hex()!r})"

    @property
    def base64(self) -> str:
        """The format in headers of uploads: URL-safe base64 without padding."""
        text = binascii.b2a_base64(self, newline=False).translate(_URL_ALPHABET)
        return text.rstrip(b"=").decode()

    @property
    def swapped(self) -> FileId:
        """The FileID with its halves swapped: that of the debug file of a kernel."""
        half = _SIZE // 2
        return FileId(self[half:] + self[:half])

    @classmethod
    def of_file(cls, path: str | os.PathLike[str]) -> Self:
        """The FileID of an executable, of which only both ends are read.

        Raises:
            OSError: It cannot be read.
        """
        with open(path, "rb") as file:
            if not file.seekable():
                return cls.of_pieces(iter(lambda: file.read(_READ_SIZE), b""))
            head = file.read(_HASHED)
            size = file.seek(0, os.SEEK_END)
            file.seek(max(0, size - _HASHED))
            return cls(_hash(head, file.read(_HASHED), size))

    @classmethod
    def of_pieces(cls, pieces: Iterable[Buffer]) -> Self:
        """The FileID of an executable given in pieces."""
        head = tail = b""
        size = 0
        for piece in pieces:
            view = memoryview(piece).cast("B")
            head += view[: _HASHED - len(head)]
            tail = (tail + bytes(view[-_HASHED:]))[-_HASHED:]
            size += len(view)
        return cls(_hash(head, tail, size))

    @classmethod
    def of_kernel(cls, build_id: bytes, *, debug_file: bool = False) -> Self:
        """The FileID of a Linux kernel or kernel module, made from the build id.

        Args:
            build_id: The GNU build id.
            debug_file: Whether to return the FileID of its debug file.
        """
        value = _FNV_BASIS
        for byte in build_id.hex().encode():
            value = (value ^ byte) * _FNV_PRIME % (1 << 8 * _SIZE)
        kernel = cls(value.to_bytes(_SIZE, "big"))
        return cls(kernel.swapped) if debug_file else kernel

    @classmethod
    def parse(cls, text: str) -> Self:
        """Parse hexadecimal digits, or base64 of either alphabet.

        Raises:
            ValueError: It is neither.
        """
        try:
            if len(text) == _HEX_DIGITS:
                return cls(binascii.unhexlify(text))
            digits = text.rstrip("=")
            if len(digits) == _BASE64_DIGITS and len(text) - len(digits) in {0, 2}:
                plain = digits.encode("ascii").translate(_PLAIN_ALPHABET) + b"=="
                value = cls(binascii.a2b_base64(plain))
                # The decoder ignores characters that are not digits.
                if value.base64.encode().translate(_PLAIN_ALPHABET) + b"==" == plain:
                    return value
        except ValueError:  # among them binascii.Error
            pass
        raise ValueError(
            f"'{text}' is not a FileID: 32 hexadecimal or 22 base64 digits"
        )


def _hash(head: bytes, tail: bytes, size: int) -> bytes:
    """Hash both ends; they overlap in a file of less than 8 KiB."""
    digest = hashlib.sha256(head + tail + size.to_bytes(8, "big"))
    return digest.digest()[:_SIZE]


def kernel_id(path: str, *, debug_file: bool = False) -> FileId:
    """The FileID of a kernel or kernel module, made from its build id.

    *debug_file* asks for the FileID of its debug file.
    """
    from gsym.containers.fat import open_slice
    from gsym.errors import GsymError

    with open_slice(path) as binary:
        build_id = binary.uuid if binary.is_elf else b""
    if not build_id:
        raise GsymError("no build id to make a FileID from", path=path)
    return FileId.of_kernel(build_id, debug_file=debug_file)
