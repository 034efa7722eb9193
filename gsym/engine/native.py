"""The seam between Python and the engine: the only importer of `gsym.engine._core`.

Turns a `gsym_status` into an exception and strings into `str`. Everything else
that Python needs of the engine is `ffi` and `lib`, used by the few modules that
own a handle.
"""

from __future__ import annotations

from _struct import Struct  # `struct` adds a module to import

from gsym.engine._core import ffi as ffi, lib as lib  # noqa: PLC0414 - exported
from gsym.errors import (
    CancelledError,
    EmptyError,
    FormatError,
    GsymError,
    LimitError,
    UnsupportedError,
)

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from typing import Any

    from typing_extensions import Buffer

# The engine's records, in the machine's byte order.
ROW = Struct("=Q2I")
RANGE = Struct("=2Q")
NODE = Struct("=Q6I")
CALL_SITE = Struct("=Q4I")
STRP = Struct("=Q")

_CLASS_OF_STATUS = {
    lib.GSYM_E_FORMAT: FormatError,
    lib.GSYM_E_UNSUPPORTED: UnsupportedError,
    lib.GSYM_E_LIMIT: LimitError,
    lib.GSYM_E_EMPTY: EmptyError,
    lib.GSYM_E_CANCELLED: CancelledError,
}


def new_error() -> object:
    """Storage that an engine call fills when it fails."""
    return ffi.new("gsym_error *")


def check(status: int, error: object, path: str | None = None) -> None:
    """Raise the exception for *status* unless it is GSYM_OK."""
    if status == lib.GSYM_OK:
        return
    reason = ffi.string(error.what).decode("utf-8", "replace")  # type: ignore[attr-defined]
    if status == lib.GSYM_E_NO_MEMORY:
        raise MemoryError(reason if path is None else f"{path}: {reason}")
    if status == lib.GSYM_E_ARGUMENT:
        raise ValueError(reason)
    kind = _CLASS_OF_STATUS.get(status, GsymError)
    # An offset is meaningful only if bytes were read.
    offset = error.offset if kind in {FormatError, UnsupportedError} else None  # type: ignore[attr-defined]
    raise kind(reason, path=path, offset=offset)


def new_object(
    kind: str, create: Any, destroy: Any, *arguments: Any, path: str | None = None
) -> Any:
    """An object of the engine, destroyed with the last reference to it.

    Its type is `gsym_KIND`. *create* takes *arguments*, the location of the pointer,
    and the error; *destroy* takes the object.
    """
    place, error = ffi.new(f"gsym_{kind} **"), new_error()
    check(create(*arguments, place, error), error, path)
    return ffi.gc(place[0], destroy)


def bytes_of(data: Buffer) -> Any:
    """The engine's pointer to the bytes of *data*, which the caller keeps.

    The buffer is not left exported, as by `ffi.from_buffer`: CPython crashes when it
    collects a memoryview with an exported buffer in a cycle, such as that of an
    exception and a variable of its traceback.
    """
    return ffi.cast("uint8_t *", ffi.from_buffer("uint8_t[]", data))


class _Holder:
    """Keeps the owner of memory alive while the memory is in use."""

    __slots__ = ("_owner",)

    def __init__(self, owner: object) -> None:
        self._owner = owner

    def __call__(self, _memory: object) -> None:
        """Release the owner."""
        self._owner = None


def kept_view(start: object, size: int, owner: object) -> memoryview:
    """Memory of the engine, read-only; the view keeps *owner* alive."""
    if not size:
        return memoryview(b"")
    kept = ffi.gc(start, _Holder(owner))
    return memoryview(ffi.buffer(kept, size)).toreadonly()


def to_str(raw: bytes) -> str:
    """Text of a name or path; bytes that are not UTF-8 survive a round trip."""
    return raw.decode("utf-8", "surrogateescape")


def to_bytes(text: str) -> bytes:
    """Inverse of `to_str`."""
    return text.encode("utf-8", "surrogateescape")


def zero_ended(field: Buffer) -> bytes:
    """The text in a field, which a zero byte or the field ends."""
    return bytes(field).partition(b"\0")[0]


def uuid_bytes(uuid: object) -> bytes:
    """A UUID given as bytes, or as hexadecimal text with or without dashes.

    Raises:
        TypeError: It is neither.
        ValueError: The text is not hexadecimal.
    """
    if isinstance(uuid, (bytes, bytearray, memoryview)):
        return bytes(uuid)
    if not isinstance(uuid, str):
        expected = "bytes or a string of hexadecimal digits"
        raise TypeError(f"uuid: expected {expected}, not {uuid!r}")
    try:
        return bytes.fromhex(uuid.replace("-", ""))
    except ValueError:
        raise ValueError(f"uuid: expected hexadecimal digits, not {uuid!r}") from None
