"""Pauses of garbage collection, while many objects are made that live on."""

from __future__ import annotations

import gc
from contextlib import contextmanager

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from collections.abc import Iterator


@contextmanager
def no_garbage_collection() -> Iterator[None]:
    """Disable the garbage collector during a `with` block or a function.

    The collector would scan the new objects repeatedly and find nothing.
    """
    is_collecting = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if is_collecting:
            gc.enable()
