"""The formats of compressed files, by the names that `recognise` returns."""

from __future__ import annotations

from gsym.containers.cabinet import inflate_cabinet
from gsym.containers.inflation import (
    inflate_bzip2,
    inflate_gzip,
    inflate_xz,
    inflate_zstd,
)
from gsym.containers.kernel_image import inflate_kernel
from gsym.containers.lz4_frames import inflate_lz4

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from typing_extensions import Buffer

INFLATERS: dict[str, Callable[[Iterable[Buffer]], Iterator[bytes]]] = {
    "gzip file": inflate_gzip,
    "zstd file": inflate_zstd,
    "xz file": inflate_xz,
    "bzip2 file": inflate_bzip2,
    "lz4 file": inflate_lz4,
    "cabinet": inflate_cabinet,
    "kernel image": inflate_kernel,
}
