"""The GSYM file that a symbfile is extracted from; the file id of a kernel."""

from __future__ import annotations

import os
import tempfile
from contextlib import contextmanager

import gsym.reading.reader
from gsym.containers.mapped_file import map_file
from gsym.containers.object_file import ObjectFile
from gsym.containers.recognition import recognise_file
from gsym.errors import GsymError
from gsym.symbfile.file_id import FileId
from gsym.symbfile.parts import is_part_of
from gsym.writing.atomic_file import is_same_file

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

    from gsym.conversion.report import ConversionReport
    from gsym.reading.reader import Reader


def kernel_id(path: str, *, debug_file: bool = False) -> FileId:
    """That of a kernel or of a module, which is made of its build id.

    Args:
        path: An ELF file that is loaded, or its debug file.
        debug_file: The FileID of its debug file is asked for.

    Raises:
        FormatError: It is no binary, or damaged.
        GsymError: It has no build id.
        OSError: It cannot be read.
    """
    with ObjectFile(map_file(path), path) as binary:
        build_id = binary.uuid if binary.is_elf else b""
    if not build_id:
        raise GsymError("it has no build id to make a FileID of", path=path)
    return FileId.of_kernel(build_id, debug_file=debug_file)


def check_output(
    source: str | os.PathLike[str] | Reader, target: str, *, is_split: bool = False
) -> None:
    """Refuse an output that would replace what it is made of, as a part if *is_split*.

    Raises:
        ValueError: It would.
    """
    path = _path_of(source)
    if path is None:
        return
    if is_same_file(path, target) or (is_split and is_part_of(path, target)):
        raise ValueError(f"{target}: the output would replace the input")


@contextmanager
def open_image(
    source: str | os.PathLike[str] | Reader,
    progress: Callable[[int, int], None] | None = None,
    **conversion: Any,
) -> Iterator[tuple[Reader, ConversionReport | None]]:
    """A reader of a GSYM file, or of what a conversion makes of another input.

    The report on the conversion comes with it, without its outputs, which are
    temporary; None without a conversion.

    Args:
        source: What `gsym.convert` takes, a GSYM file, or a reader, which stays open.
        progress: Called now and then with (work done, work in all) of a conversion.
        conversion: Other keywords of `gsym.convert`.

    Raises:
        GsymError: As for `gsym.convert`; its kinds, too.
        OSError: The input cannot be read, or there is no room for what it becomes.
    """
    if isinstance(source, gsym.reading.reader.Reader):
        yield source, None
        return
    path = os.fspath(source)
    if not os.path.isdir(path) and recognise_file(path) == "gsym":
        with gsym.reading.reader.open(path) as reader:
            yield reader, None
        return
    from gsym.conversion.job import convert

    with tempfile.TemporaryDirectory(prefix="gsym-") as folder:
        converted = os.path.join(folder, "converted.gsym")
        # Version 2 has no limits that a large input could meet.
        report = convert(path, converted, version=2, progress=progress, **conversion)
        with gsym.reading.reader.open(converted) as reader:
            yield reader, report._replace(outputs=())


def _path_of(source: str | os.PathLike[str] | Reader) -> str | None:
    if isinstance(source, gsym.reading.reader.Reader):
        return source.path
    return os.fspath(source)
