"""Look many addresses up, by one thread or several."""

from __future__ import annotations

from gsym.engine.native import check, ffi, lib, new_error

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from typing_extensions import Buffer

    CData = Any  # a cffi object

# Below this many addresses a second thread costs more than it brings.
_LEAST_PER_THREAD = 4096
_MOST_THREADS = 256


def look_up_batch(
    image: CData, addresses: Buffer, threads: int, path: str | None
) -> CData:
    """The engine's answers, which go with the last reference to them.

    Args:
        image: The mapped file.
        addresses: Unsigned 64-bit integers side by side.
        threads: How many may work on it; 1 at least.
        path: The file, for errors.

    Raises:
        GsymError: The engine could not, for want of memory or by a limit.
        ValueError: *threads* is no positive number.
    """
    if threads < 1:
        raise ValueError(f"threads must be positive, not {threads}")
    asked = ffi.from_buffer("uint64_t[]", addresses)
    count = len(asked)
    parts = max(1, min(threads, _MOST_THREADS, count // _LEAST_PER_THREAD))
    if parts == 1:
        return _look_up_part(image, asked, 0, count, path)
    return _look_up_parts(image, asked, parts, path)


def _look_up_part(
    image: CData, asked: CData, first: int, count: int, path: str | None
) -> CData:
    error, batch = new_error(), ffi.new("gsym_batch **")
    status = lib.gsym_image_lookup_many(image, asked + first, count, batch, error)
    check(status, error, path)
    return ffi.gc(batch[0], lib.gsym_batch_destroy)


def _look_up_parts(image: CData, asked: CData, parts: int, path: str | None) -> CData:
    from gsym.engine.workers import run_workers

    count = len(asked)
    firsts = [count * part // parts for part in range(parts + 1)]
    batches: list[CData] = [None] * parts
    waiting = list(range(parts))

    def work() -> None:
        while waiting:
            part = waiting.pop()
            first, size = firsts[part], firsts[part + 1] - firsts[part]
            batches[part] = _look_up_part(image, asked, first, size, path)

    run_workers(work, parts, None, waiting.clear)
    error, joined = new_error(), ffi.new("gsym_batch **")
    handles = ffi.new("gsym_batch *[]", batches)
    check(lib.gsym_batch_create_joined(handles, parts, joined, error), error, path)
    whole = ffi.gc(joined[0], lib.gsym_batch_destroy)
    copying = list(range(parts))

    def copy() -> None:
        while copying:
            part = copying.pop()
            lib.gsym_batch_join(whole, handles, part, firsts[part])

    run_workers(copy, parts, None, copying.clear)
    return whole
