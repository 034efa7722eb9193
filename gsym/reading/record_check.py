"""Every record of a GSYM file looked at by the engine: fast, to find none damaged.

`verification.check_structure` says all that is wrong with a file, and where. This says
whether something is, in about as many nanoseconds as the records have bytes.
"""

from __future__ import annotations

from gsym.engine.native import check, lib, new_error, new_object
from gsym.engine.workers import core_count, run_workers

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gsym.reading.reader import Reader

_AT_ONCE = 1 << 12  # records that a thread looks at before it asks for more


def check_records(reader: Reader, threads: int | None = None) -> None:
    """See that all records of a file are whole, and that what they name is there.

    Args:
        reader: The file.
        threads: How many may work on it; by default one per core.

    Raises:
        FormatError: One is not; *offset* counts from the start of the file.
    """
    image, path = reader.mapped.image, reader.path
    waiting = [*range(0, len(reader), _AT_ONCE)]

    def work() -> None:
        error = new_error()
        life = lib.gsym_record_create, lib.gsym_record_destroy
        record = new_object("record", *life, path=path)
        while waiting:
            try:
                first = waiting.pop()
            except IndexError:  # another thread was faster
                break
            count = min(_AT_ONCE, len(reader) - first)
            status = lib.gsym_image_check_records(image, record, first, count, error)
            if status:
                waiting.clear()
            check(status, error, path)

    run_workers(
        work, min(threads or core_count(), len(waiting)) or 1, None, waiting.clear
    )
