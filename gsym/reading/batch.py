"""Look many addresses up, by one thread or several."""

from __future__ import annotations

from gsym.engine.native import ffi, lib, new_object

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from typing_extensions import Buffer

    CData = Any  # a cffi object

# Below this many addresses a second thread costs more than it brings.
_LEAST_PER_THREAD = 4096
_MOST_THREADS = 256


def look_up_batch(
    image: CData, addresses: Buffer, threads: int, misses: bool, path: str | None
) -> CData:
    """The engine's answers, which go with the last reference to them.

    Args:
        image: The mapped file.
        addresses: Unsigned 64-bit integers side by side.
        threads: How many may work on it; 1 at least.
        misses: Whether an address without an answer has a row.
        path: The file, for errors.

    Raises:
        GsymError: The engine could not, for want of memory or by a limit.
        ValueError: *threads* is not a positive number.
    """
    if threads < 1:
        raise ValueError(f"threads must be positive, not {threads}")
    asked = ffi.from_buffer("uint64_t[]", addresses)
    count = len(asked)
    parts = max(1, min(threads, _MOST_THREADS, count // _LEAST_PER_THREAD))

    def look_up(first: int, size: int) -> CData:
        life = lib.gsym_image_lookup_many, lib.gsym_batch_destroy
        return new_object("batch", *life, image, asked + first, size, misses, path=path)

    return look_up(0, count) if parts == 1 else _joined(look_up, count, parts, path)


def _joined(
    look_up: Callable[[int, int], CData], count: int, parts: int, path: str | None
) -> CData:
    """The batches of several threads as one."""
    from gsym.engine.workers import run_workers

    firsts = [count * part // parts for part in range(parts + 1)]
    batches: list[CData] = [None] * parts
    waiting = list(range(parts))

    def work() -> None:
        while waiting:
            part = waiting.pop()
            first, size = firsts[part], firsts[part + 1] - firsts[part]
            batches[part] = look_up(first, size)

    run_workers(work, parts, None, waiting.clear)
    handles = ffi.new("gsym_batch *[]", batches)
    life = lib.gsym_batch_create_joined, lib.gsym_batch_destroy
    whole = new_object("batch", *life, handles, parts, path=path)
    copying = list(range(parts))

    def copy() -> None:
        while copying:
            part = copying.pop()
            lib.gsym_batch_join(whole, handles, part, firsts[part])

    run_workers(copy, parts, None, copying.clear)
    return whole
