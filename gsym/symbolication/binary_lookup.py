"""The GSYM file of a binary: found beside it, in the store, or made and cached.

In this order:

1. the path is a GSYM file, or a binary with an embedded one;
2. `BINARY.gsym` beside the binary, or in a folder of GSYM files;
3. the module of the binary in the user's store, if requested;
4. the result of an earlier conversion, in the cache;
5. a new conversion, which goes into the cache; least recently used files are removed
   when the cache is too large. For a few addresses of a large binary, only the units
   that have code there are converted.

A file beside a binary is used only if it has the binary's UUID; if neither has one,
only if it is not older than the binary. The cache has a folder for each version of this
package, so that improved conversions take effect. Its keys are the build id, or else
path and time, and the other files that the conversion reads.
"""

from __future__ import annotations

import os
from io import FileIO
from stat import S_ISDIR, S_ISREG

import gsym.reading.reader
from gsym.conversion.companions import DEBUG_DIRECTORIES
from gsym.errors import EmptyError, GsymError, UuidMismatchError
from gsym.records import NamedTuple
from gsym.remote import REMOTE
from gsym.symbolication.conversion_cache import (
    cache_path,
    collect_cache,
    is_writable,
    path_in_cache,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from gsym.containers.object_file import ObjectFile
    from gsym.conversion.debug_info import DebugInfo
    from gsym.model import Lookup
    from gsym.reading.reader import Reader


class BinarySearch(NamedTuple):
    """The places to look for the GSYM file of a binary, and the way to make one.

    Attributes:
        architecture: The slice of a fat file.
        beside: Whether to look beside the binary.
        gsym_directories: Folders that may have `NAME.gsym` for a binary NAME.
        debug_file_directories: Folders of installed debug files.
        debuginfod: Whether to ask servers for debug files.
        dwp: The package with the split units of the binary.
        store: Whether to look in the user's store.
        cache: Folder of conversions; None: the user's cache.
        read_ahead: See `gsym.open`.
        index_limit: See `Reader`.
        copy: See `gsym.open`.
        partial: Whether a large binary may be read unit by unit, as addresses are asked
            for, instead of being converted now.
    """

    architecture: str | None = None
    beside: bool = True
    gsym_directories: tuple[str, ...] = ()
    debug_file_directories: tuple[str, ...] = DEBUG_DIRECTORIES
    debuginfod: bool = False
    dwp: str | None = None
    store: bool = False
    cache: str | None = None
    read_ahead: bool = False
    index_limit: int | None = None
    copy: bool = False
    partial: bool = False


class FoundGsym(NamedTuple):
    """The result of `find_gsym`.

    Attributes:
        reader: The GSYM file; None if the binary has no functions.
        notes: Sentences about files that were not used.
        origin: Where it is from, in words.
    """

    reader: Reader | None
    notes: tuple[str, ...] = ()
    origin: str = ""


EMBEDDED_SECTIONS = (b".gsym", b"__gsym")
_MAGICS = (b"GSYM", b"MYSG")  # in both byte orders
_SUFFIX = ".gsym"


def open(  # the name is the API
    path: str | os.PathLike[str],
    uuid: bytes | str | None = None,
    *,
    index_limit: int | None = None,
    read_ahead: bool = False,
    copy: bool = False,
) -> Reader:
    """Open the GSYM file at *path*, or that of the binary there.

    The GSYM file of a binary is the one embedded in it, `PATH.gsym` beside it, that of
    the user's store or that of the cache; otherwise the binary is converted into the
    cache, which `GSYM_CACHE_DIR` names and `gsym store gc --cache` clears. A file that
    belongs to another build is not used, with a `UserWarning`.

    Args:
        path: GSYM file of any version and byte order; binary with debug information
            or symbols, dSYM bundle, PDB, Breakpad file. Or the URL of a GSYM file,
            `https:`, `s3:`, `gs:` or `az:`, of which lookups read the parts that they
            need.
        uuid: The identifier that the file must have, to be sure that it belongs
            to the expected binary, as bytes or as hexadecimal text; by default any.
        index_limit: See `Reader`.
        read_ahead: Whether the system may read ahead. By default it may after the first
            few lookups, and when `lookup_many` gets more than eight addresses or all
            functions are read: one lookup in a large file that is not in memory reads
            about 14 pages of it.
        copy: Whether to read the whole GSYM file into memory instead of mapping it, so
            that a process that truncates it in place cannot end this one.

    Returns:
        A reader, which closes at the end of a `with` block.

    Raises:
        EmptyError: The binary has neither debug information nor symbols.
        FormatError: The file is of no known format, or its tables are damaged, or the
            strings that it shares with its binary have changed.
        GsymError: The binary cannot be converted.
        OSError: The file cannot be opened or mapped.
        SourceError: The URL is invalid, or gives no answer, or not in parts.
        UnsupportedError: The version or an encoding is not known.
        UuidMismatchError: The file belongs to another binary.
    """
    name = os.fspath(path)
    found = open_module(
        name, uuid, index_limit=index_limit, read_ahead=read_ahead, copy=copy
    )
    return _reader_of(found, name)


def lookup(
    path: str | os.PathLike[str], address: int, uuid: bytes | str | None = None
) -> Lookup | None:
    """Function, file, line and inline chain at one address of a file or binary.

    For more than one address, `open` it once.

    Args:
        path: As `open` takes it.
        address: Link-time address, as `nm` prints it.
        uuid: As `open` takes it.

    Returns:
        None where no function covers the address. `str` of the answer is the output of
        `gsym lookup`.

    Raises:
        GsymError: As `open` does, or the record of the function is damaged.
        OSError: The file cannot be read.
    """
    name = os.fspath(path)
    with _reader_of(open_module(name, uuid), name) as reader:
        return reader.lookup(address)


def _reader_of(found: FoundGsym, path: str) -> Reader:
    """What was found, with warnings that point at the caller of the public function.

    Raises:
        EmptyError: There is no function.
    """
    if found.notes:
        from warnings import warn

        for note in found.notes:
            warn(note, stacklevel=3)
    if found.reader is None:
        raise EmptyError("no debug information and no symbols", path=path)
    return found.reader


def is_gsym(path: str) -> bool:
    """Whether a GSYM file is at *path*, or something else that only `Reader` takes.

    That is what cannot be read twice, such as a pipe, and what cannot be opened, the
    reason of which its error has.
    """
    try:
        mode = os.stat(path).st_mode
        if S_ISDIR(mode):
            return not path.rstrip("/").endswith(".dSYM")
        if not S_ISREG(mode):
            return True
        with FileIO(path) as file:
            return file.read(4) in _MAGICS
    except OSError:
        return True


def open_module(
    path: str,
    uuid: bytes | str | None = None,
    *,
    index_limit: int | None = None,
    read_ahead: bool = False,
    copy: bool = False,
) -> FoundGsym:
    """The GSYM file at *path*, or that of the binary at *path*.

    Args:
        path: Of a GSYM file or a binary, or the URL of a GSYM file.
        uuid: See `gsym.open`.
        index_limit: See `Reader`.
        read_ahead: See `gsym.open`.
        copy: See `gsym.open`.

    Raises:
        GsymError: As for `find_gsym`.
        OSError: It cannot be read.
        UuidMismatchError: It belongs to another binary.
    """
    if path.startswith(REMOTE):
        from gsym.remote.reader import open_remote

        return FoundGsym(open_remote(path, uuid, index_limit=index_limit), origin=path)
    try:
        reader = gsym.reading.reader.open(
            path, uuid, index_limit=index_limit, read_ahead=read_ahead, copy=copy
        )
    except UuidMismatchError:
        raise
    except (GsymError, IsADirectoryError):
        if is_gsym(path):
            raise
    else:
        return FoundGsym(reader, origin=path)
    search = BinarySearch(
        store=True,
        index_limit=index_limit,
        read_ahead=read_ahead,
        copy=copy,
        partial=not copy,
    )
    found = find_gsym(path, search)
    if uuid is not None and found.reader is not None:
        from gsym.engine.native import uuid_bytes

        wanted, has = uuid_bytes(uuid), found.reader.uuid
        if wanted != has:
            found.reader.close()
            reason = f"its UUID is {has.hex() or 'missing'}, not {wanted.hex()}"
            raise UuidMismatchError(reason, path=path)
    return found


def find_gsym(path: str, search: BinarySearch | None = None) -> FoundGsym:
    """Open the GSYM file for the file at *path*, converting it if necessary.

    Raises:
        ArchitectureError: It is a fat file, and no slice is chosen.
        FormatError: The format is unknown, or the file is damaged.
        GsymError: It cannot be converted, for another reason.
        OSError: It cannot be read.
    """
    from gsym.containers.recognition import recognise_file

    is_bundle = os.path.isdir(path)
    kind = recognise_file(path) if not is_bundle else "bundle"
    chosen = BinarySearch() if search is None else search
    if kind == "gsym":
        return FoundGsym(_open(path, chosen), origin=path)
    if kind == "pdb":
        kept = path_in_cache(path, chosen)
        return _from_cache(kept, chosen) or _convert(path, chosen, kept)
    if kind not in {"object", "fat", "bundle"}:
        return _convert(path, chosen, None)
    if is_bundle:
        from gsym.conversion.companions.macho import bundle_member

        path = bundle_member(path)
    return _of_binary(path, chosen)


def _open(path: str, search: BinarySearch) -> Reader:
    return gsym.reading.reader.open(
        path,
        read_ahead=search.read_ahead,
        index_limit=search.index_limit,
        copy=search.copy,
    )


def _of_binary(path: str, search: BinarySearch) -> FoundGsym:
    from gsym.containers.fat import choose_slice
    from gsym.containers.mapped_file import map_file
    from gsym.containers.object_file import ObjectFile

    data = choose_slice(map_file(path), path, search.architecture)
    notes: list[str] = []
    with ObjectFile(data, path) as binary:
        if any(map(binary.has_section, EMBEDDED_SECTIONS)):
            limit = search.index_limit
            held_bytes = bytes(data) if search.copy else data
            held = gsym.reading.reader.Reader(held_bytes, path=path, index_limit=limit)
            return FoundGsym(held, origin=f"{path}, in which it is embedded")
        for candidate in _candidates(path, search, binary.architecture):
            reader = _open_fitting(candidate, binary, search, notes)
            if reader is not None:
                return FoundGsym(reader, tuple(notes), candidate)
        stored = _in_store(binary, search)
        if stored is not None:
            return FoundGsym(stored, tuple(notes), f"{stored.path}, in the store")
        kept = cache_path(binary, search)
        has_debug_info = binary.has_section(b".debug_info")
    found, debug_info = _from_cache(kept, search), None
    if found is None and search.partial:
        found, debug_info = _by_units(ObjectFile(data, path), search, kept)
    if found is None:
        found = _convert(path, search, kept, debug_info, has_debug_info=has_debug_info)
    return found._replace(notes=(*notes, *found.notes))


def _stamp(path: str) -> tuple[int, ...]:
    status = os.stat(path)
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns


def _by_units(
    binary: ObjectFile, search: BinarySearch, kept: str
) -> tuple[FoundGsym | None, DebugInfo | None]:
    """A reader that converts what is asked for, and the files that a conversion reads.

    The reader is None if all units have to be converted at once. The files are None if
    they cannot be read, which the conversion reports.
    """
    from gsym.conversion.debug_info import SearchOptions, find_debug_info
    from gsym.symbolication.binary_reader import open_binary

    options = SearchOptions(
        search.debug_file_directories, search.debuginfod, search.dwp
    )

    before = _stamp(binary.path)

    def convert() -> Reader | None:
        if _stamp(binary.path) != before:
            raise GsymError(
                "the file was replaced after it was opened", path=binary.path
            )
        return _convert(
            binary.path, search, kept, debug_info, has_debug_info=True
        ).reader

    try:
        debug_info = find_debug_info(binary, options)
        reader = open_binary(binary, debug_info, convert, search.index_limit)
    except GsymError:
        return None, None
    if reader is None:
        return None, debug_info
    return FoundGsym(reader, origin=f"{binary.path}, by units"), debug_info


def _in_store(binary: ObjectFile, search: BinarySearch) -> Reader | None:
    """The reader of the binary's module in the user's store, if available."""
    if not search.store or not binary.uuid:
        return None
    from gsym.store.layout import default_store

    if not os.path.isdir(default_store()):
        return None
    from gsym.modules.key import ModuleKey
    from gsym.store.directory import Store

    try:
        entry = Store(default_store()).get(ModuleKey(code_id=binary.uuid.hex()))
        return None if entry is None else _open(entry.path, search)
    except (GsymError, OSError):
        return None


def _candidates(path: str, search: BinarySearch, architecture: str) -> Iterator[str]:
    """The paths that `gsym convert` may have given to the file of a binary."""
    if not search.beside:
        return
    name = os.path.basename(path)
    folders = (os.path.dirname(path), *search.gsym_directories)
    for folder in folders:
        file = os.path.join(folder, name + _SUFFIX)
        yield file
        yield f"{file}.{architecture}"


def _open_fitting(
    path: str, binary: ObjectFile, search: BinarySearch, notes: list[str]
) -> Reader | None:
    """The reader of *path* if it belongs to *binary*; else None, and a note."""
    try:
        reader = _open(path, search)
    except FileNotFoundError:
        return None
    except OSError as error:
        notes.append(f"{path} is not used: {error.strerror}")
        return None
    except GsymError as error:
        notes.append(f"{path} is not used: {error.reason}")
        return None
    mismatch = _mismatch(reader, path, binary)
    if not mismatch:
        return reader
    notes.append(f"{path} is not used: {mismatch}")
    reader.close()
    return None


def _mismatch(reader: Reader, path: str, binary: ObjectFile) -> str:
    """Why a file does not belong to *binary*; "" if it does."""
    if reader.uuid != binary.uuid:
        return (
            f"its UUID is {reader.uuid.hex() or 'missing'}, that of {binary.path} "
            f"{binary.uuid.hex() or 'is missing'}"
        )
    if not binary.uuid and os.stat(path).st_mtime < os.stat(binary.path).st_mtime:
        return f"it is older than {binary.path}, and neither has a UUID"
    return ""


def _convert(
    path: str,
    search: BinarySearch,
    kept: str | None,
    debug_info: DebugInfo | None = None,
    *,
    has_debug_info: bool = False,
) -> FoundGsym:
    """A new conversion, into the cache if it is writable.

    Args:
        path: The file.
        search: How to make it.
        kept: The path in the cache; None: it is always converted.
        debug_info: What was found for it, if anything has looked for that.
        has_debug_info: Whether it has debug information, of which parts may be in
            other files.
    """
    if kept is not None and is_writable(os.path.dirname(kept)):
        made = _make(path, kept, search, debug_info, has_debug_info=has_debug_info)
        collect_cache(root=search.cache, kept=kept)
        return made._replace(origin=f"{kept}, converted from {path}")
    from tempfile import TemporaryDirectory

    with TemporaryDirectory(prefix="gsym-") as temporary:
        output = os.path.join(temporary, "out" + _SUFFIX)
        made = _make(path, output, search, debug_info, has_debug_info=has_debug_info)
        return made._replace(origin=f"{path}, converted")


def _from_cache(kept: str, search: BinarySearch) -> FoundGsym | None:
    try:
        found = _open(kept, search)
    except (OSError, GsymError):
        return None  # missing or damaged: convert again
    try:  # noqa: SIM105 - importing contextlib takes as long as a lookup
        os.utime(kept)  # the eviction order
    except OSError:
        pass  # a cache that is read-only
    return FoundGsym(found, origin=f"{kept}, from the cache")


def _make(
    path: str,
    output: str,
    search: BinarySearch,
    debug_info: DebugInfo | None,
    *,
    has_debug_info: bool,
) -> FoundGsym:
    from gsym.conversion.input_file import open_input
    from gsym.conversion.job import convert_file
    from gsym.conversion.options import ConvertOptions

    options = ConvertOptions(
        arch=search.architecture,
        debug_file_directories=search.debug_file_directories,
        debuginfod=search.debuginfod,
        dwp=search.dwp,
    )
    try:
        report = convert_file(open_input(path), output, options, debug_info=debug_info)
    except EmptyError:
        return FoundGsym(None)
    if not report.notes or not has_debug_info:
        return FoundGsym(_open(output, search))
    # Files that belong to its debug information are missing, perhaps not for long.
    partial = f"{output}.incomplete{_SUFFIX}"
    os.replace(output, partial)
    notes = tuple(f"{path}: {note}" for note in report.notes)
    return FoundGsym(_open(partial, search), notes)
