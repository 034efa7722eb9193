"""Every record of a GSYM file looked at by the engine: fast, and for want of faults.

`verification.check_structure` says all that is wrong with a file, and where. This says
whether something is, in about as many nanoseconds as the records have bytes.
"""

from __future__ import annotations

from gsym._native import check, ffi, lib, new_error

__all__ = ["check_records"]

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gsym.reader import Reader

_AT_ONCE = 1 << 14  # records, between which Ctrl-C is heeded


def check_records(reader: Reader) -> None:
    """See that all records of a file are whole, and that what they name is there.

    Raises:
        FormatError: One is not; *offset* counts from the start of the file.
    """
    image, error = reader._image, new_error()  # noqa: SLF001 - a sibling
    made = ffi.new("gsym_record **")
    check(lib.gsym_record_create(made, error), error, reader.path)
    record = ffi.gc(made[0], lib.gsym_record_destroy)
    for first in range(0, len(reader), _AT_ONCE):
        count = min(_AT_ONCE, len(reader) - first)
        status = lib.gsym_image_check_records(image, record, first, count, error)
        check(status, error, reader.path)
