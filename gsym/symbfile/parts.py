"""The bytes of a symbfile, or of several that are its parts, into files."""

from __future__ import annotations

from gsym.atomic_file import AtomicFile

__all__ = ["finished_blocks", "write_parts"]

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from gsym.formats.symbfile import Encoder


def finished_blocks(encoder: Encoder) -> Iterator[tuple[bytes, bool]]:
    """Blocks of bytes that are finished, and whether a part ends behind each."""
    while True:
        block, ends_part = encoder.take()
        if not block and not ends_part:
            return
        yield block, ends_part


def write_parts(
    blocks: Iterator[tuple[bytes, bool]], target: str, *, is_split: bool
) -> tuple[list[str], int]:
    """Paths and bytes of the files that blocks were written to.

    Args:
        blocks: Each with whether a part ends behind it.
        target: Path of the file; with *is_split* each part adds its number.
        is_split: Whether there may be several parts.
    """
    outputs: list[str] = []
    size = 0
    found = next(blocks, None)
    while found is not None:
        path = f"{target}-{len(outputs)}" if is_split else target
        ends_part = False
        with AtomicFile(path) as file:
            while found is not None and not ends_part:
                block, ends_part = found
                file.write(block)
                size += len(block)
                found = next(blocks, None)
        outputs.append(path)
    return outputs, size
