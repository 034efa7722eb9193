"""Exports modules of a store for other tools, as a tree of files or an archive."""

from __future__ import annotations

import errno
import os
from contextlib import contextmanager
from functools import partial

import gsym.reading.reader
from gsym.containers.mapped_file import map_file
from gsym.conversion.export import breakpad_blocks
from gsym.errors import GsymError, SourceError, UnsupportedError
from gsym.lazy import tempfile
from gsym.net.buckets import BUCKETS
from gsym.records import NamedTuple
from gsym.store.layout import breakpad_path, link_of_slot
from gsym.writing.atomic_file import AtomicFile

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from gsym.store.entries import Entry

    Write = Callable[[str], object]


class ExportedModule(NamedTuple):
    """The result for a module."""

    entry: Entry  # the module
    path: str  # path of its file in the folder or archive
    reason: str = ""  # why it was not written; else ""


_REMOVED = "the module was removed meanwhile"
_ZIP = ".zip"
_TARS = {".tar": "w", ".tar.gz": "w:gz", ".tar.xz": "w:xz"}


def export_modules(
    entries: Iterable[Entry], output: str | os.PathLike[str], *, kind: str
) -> Iterator[ExportedModule]:
    """Write modules as NAME/DEBUGID/NAME.sym or .gsym, the layout of Breakpad's tools.

    Args:
        entries: The modules.
        output: A folder, which need not be empty; or an archive with the suffix .zip,
            .tar, .tar.gz or .tar.xz; or a bucket as for `BucketStore`, in which GSYM
            files are published in its own layout.
        kind: "sym": Breakpad files, the original ones if the store has them; "gsym":
            GSYM files.

    Returns:
        Each module when it is written.
    """
    location = os.fspath(output)
    if location.startswith(BUCKETS):
        yield from _publish(entries, location, kind)
        return
    with _writer(location) as put:
        taken: set[str] = set()
        for entry in entries:
            path = breakpad_path(entry.identity, kind)
            reason = ""
            try:
                if path in taken:
                    reason = "another module of the store has this name and debug id"
                else:
                    taken.add(path)
                    put(path, partial(_write, entry, kind))
            except GsymError as error:
                reason = error.reason
            except ValueError as error:
                reason = str(error)
            except FileNotFoundError as error:
                if not str(error.filename).startswith(entry.folder):
                    raise
                reason = _REMOVED
            except OSError as error:
                if error.errno != errno.ENAMETOOLONG:
                    raise
                reason = "the name is too long for a file"
            yield ExportedModule(entry, path, reason)


def _publish(entries: Iterable[Entry], url: str, kind: str) -> Iterator[ExportedModule]:
    if kind != "gsym":
        raise UnsupportedError("a bucket takes only GSYM files: '--to gsym'", path=url)
    from gsym.store.bucket import BucketStore

    try:
        store = BucketStore(url)
    except ValueError as error:
        raise SourceError(str(error), path=url.partition("?")[0]) from None
    for entry in entries:
        path, reason = link_of_slot(entry.slot), ""
        try:
            store.publish(entry)
        except SourceError as error:
            reason = error.reason
        except FileNotFoundError:
            reason = _REMOVED
        yield ExportedModule(entry, path, reason)


def _write(entry: Entry, kind: str, target: str) -> None:
    if kind == "gsym":
        copy_file(entry.path, target)
    elif "sym" in entry.originals:
        copy_file(entry.originals["sym"], target)
    else:
        with AtomicFile(target) as file, gsym.reading.reader.open(entry.path) as reader:
            blocks = breakpad_blocks(reader, entry.identity, entry.binaries)
            for block in blocks:
                file.write(block)


def copy_file(source: str, target: str) -> None:
    """Copy a file; *target* is complete or absent."""
    data = map_file(source)
    with AtomicFile(target) as file:
        file.write(data)


@contextmanager
def _writer(output: str) -> Iterator[Callable[[str, Write], None]]:
    """A function that takes the path of a file and a function that writes it."""
    suffix = next((each for each in (*_TARS, _ZIP) if output.endswith(each)), "")
    if not suffix:

        def put_into_folder(path: str, write: Write) -> None:
            target = os.path.join(output, path)
            os.makedirs(os.path.dirname(target), exist_ok=True)
            write(target)

        yield put_into_folder
        return
    # In the output's folder, as the default one may be too small.
    folder = os.path.dirname(os.path.abspath(output))
    with tempfile.TemporaryDirectory(prefix=".gsym-export-", dir=folder) as temporary:
        archive = os.path.join(temporary, "archive")
        file = os.path.join(temporary, "file")
        with _archive(archive, suffix) as add:

            def put_into_archive(path: str, write: Write) -> None:
                write(file)
                add(file, path)
                os.unlink(file)

            yield put_into_archive
        os.replace(archive, output)


@contextmanager
def _archive(path: str, suffix: str) -> Iterator[Callable[[str, str], object]]:
    if suffix == _ZIP:
        from zipfile import ZIP_DEFLATED, ZipFile

        with ZipFile(path, "w", ZIP_DEFLATED) as archive:
            yield archive.write
    else:
        import tarfile

        mode: str = _TARS[suffix]
        with tarfile.open(path, mode) as archive_tar:  # type: ignore[call-overload]
            yield archive_tar.add
