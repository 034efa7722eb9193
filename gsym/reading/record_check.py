"""A fast check of all records of a GSYM file, by the engine.

`verification.check_structure` reports all errors of a file. This finds out whether
there is one, in about one nanosecond per byte.
"""

from __future__ import annotations

from gsym.engine.native import check, lib, new_error, new_object
from gsym.engine.workers import core_count, run_workers, taken_from

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from gsym.reading.reader import Reader

_AT_ONCE = 1 << 12  # records that a thread checks at a time


def check_records(reader: Reader, threads: int | None = None) -> None:
    """Check that all records are complete, and their strings and files exist.

    Raises:
        FormatError: A record is damaged; *offset* counts from the start of the file.
    """
    image, path = reader.mapped.image, reader.path
    waiting = [*range(0, len(reader), _AT_ONCE)]

    def work() -> None:
        error = new_error()
        life = lib.gsym_record_create, lib.gsym_record_destroy
        record = new_object("record", *life, path=path)
        for first in taken_from(waiting):
            count = min(_AT_ONCE, len(reader) - first)
            status = lib.gsym_image_check_records(image, record, first, count, error)
            if status:
                waiting.clear()
            check(status, error, path)

    run_workers(
        work, min(threads or core_count(), len(waiting)) or 1, None, waiting.clear
    )
