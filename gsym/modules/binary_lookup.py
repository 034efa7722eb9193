"""The GSYM file of a binary: found beside it, in the store, or made and cached.

In this order:

1. the path is a GSYM file, or a binary with an embedded one;
2. `BINARY.gsym` beside the binary, or in a folder of GSYM files; of a link, then the
   same for the file that it leads to;
3. the module of the binary in the user's store, if requested;
4. the result of an earlier conversion, in the cache;
5. a new conversion, which goes into the cache; least recently used files are removed
   when the cache is too large. For a few addresses of a large binary, only the units
   that have code there are converted.

A file of 1 to 3 is used if `compare` says that it is of the same build. Where nothing
tells, it is used, with the mark that this is not sure, if the binary has no debug
information itself.
"""

from __future__ import annotations

import os
from stat import S_ISREG

import gsym.reading.reader
from gsym.containers import DEBUG_DIRECTORIES
from gsym.errors import EmptyError, GsymError, reason_of
from gsym.records import NamedTuple
from gsym.remote import REMOTE

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from mmap import mmap

    from gsym.containers.object_file import ObjectFile
    from gsym.conversion.identity import Saying
    from gsym.conversion.input_file import InputFile
    from gsym.model import Lookup
    from gsym.modules.conversion_cache import CachePlace, Stamp
    from gsym.reading.reader import Reader
    from gsym.store.entries import Entry


class BinarySearch(NamedTuple):
    """The places to look for the GSYM file of a binary, and the way to make one."""

    architecture: str | None = None  # the slice of a fat file
    # whether that is ignored for other files, which else must be of it
    is_for_fat: bool = False
    beside: bool = True  # whether to look beside the binary
    # folders that may have `NAME.gsym` for a binary NAME
    gsym_directories: tuple[str, ...] = ()
    # folders of installed debug files
    debug_file_directories: tuple[str, ...] = DEBUG_DIRECTORIES
    debuginfod: bool = False  # whether to ask servers for debug files
    dwp: str | None = None  # the package with the split units of the binary
    store: bool = False  # whether to look in the user's store
    cache: str | None = None  # folder of conversions; None: the user's cache
    read_ahead: bool = False  # see `gsym.open`
    index_limit: int | None = None  # see `Reader`
    copy: bool = False  # see `gsym.open`
    # whether few addresses may be asked for. A large binary is then read unit by unit
    # instead of being converted now, and the cache remembers that `BINARY.gsym` is of
    # the binary, as comparing takes as long as a lookup
    partial: bool = False

    def open_gsym(self, path: str) -> Reader:
        """Open a GSYM file."""
        return gsym.reading.reader.open(
            path,
            read_ahead=self.read_ahead,
            index_limit=self.index_limit,
            copy=self.copy,
        )


OPENING = BinarySearch(store=True, partial=True)  # what `gsym.open` looks for


class FoundGsym(NamedTuple):
    """The result of `find_gsym`."""

    reader: Reader | None  # the GSYM file; None if the binary has no functions
    notes: tuple[str, ...] = ()  # sentences about files that were not used
    origin: str = ""  # where it is from, in words
    unsure: str = ""  # why it may be of another build, in words; "" if it is not


EMBEDDED_SECTIONS = (b".gsym", b"__gsym")
_SUFFIX = ".gsym"
_LITTLE_CODE = 1 << 20  # bytes, which are read as fast as the cache


def open(  # noqa: PLR0913 - independent keywords; the name is the API
    path: str | os.PathLike[str],
    uuid: bytes | str | None = None,
    *,
    arch: str | None = None,
    index_limit: int | None = None,
    read_ahead: bool = False,
    copy: bool = False,
) -> Reader:
    """Open the GSYM file at *path*, or that of the binary there.

    The GSYM file of a binary is the one embedded in it, `PATH.gsym` beside it, that of
    the user's store or that of the cache; otherwise the binary is converted into the
    cache, which `GSYM_CACHE_DIR` names and `gsym store gc --cache` clears. A file that
    belongs to another build is not used, with a `UserWarning`; there is one as well for
    a file that is used although nothing tells whether it does.

    Args:
        path: GSYM file of any version and byte order; binary with debug information
            or symbols, dSYM bundle, PDB, Breakpad file. Or the URL of a GSYM file,
            `https:`, `s3:`, `gs:` or `az:`, of which lookups read the parts that they
            need.
        uuid: The identifier that the file must have, to be sure that it belongs
            to the expected binary, as bytes or as hexadecimal text; by default any.
        arch: The slice of a fat binary, such as "arm64".
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
        ArchitectureError: It is a fat file of which no slice is chosen, or of another
            architecture.
        EmptyError: The binary has neither debug information nor symbols.
        FormatError: The file is of no known format, or its tables are damaged, or the
            strings that it shares with its binary have changed.
        GsymError: The binary cannot be converted.
        OSError: The file cannot be opened or mapped.
        SourceError: The URL is invalid, or gives no answer, or not in parts.
        UnsupportedError: The version or an encoding is not known.
        UuidMismatchError: The file belongs to another binary.
    """
    name = _path_of(path)
    search = OPENING._replace(
        architecture=arch,
        index_limit=index_limit,
        read_ahead=read_ahead,
        copy=copy,
        partial=not copy,
    )
    found = find_gsym(name, search, uuid)
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
    name = _path_of(path)
    with _reader_of(find_gsym(name, OPENING, uuid), name) as reader:
        return reader.lookup(address)


def _path_of(path: str | os.PathLike[str]) -> str:
    if isinstance(path, str):
        return path
    from gsym.arguments import path_of  # most callers have a string

    return path_of("path", path, "; gsym.Reader(data) takes bytes")


def _reader_of(found: FoundGsym, path: str) -> Reader:
    """Reader of a found file; warnings point at the caller of the public function."""
    if found.notes or found.unsure:
        from warnings import warn

        for note in filter(None, (*found.notes, found.unsure)):
            warn(note, stacklevel=3)
    if found.reader is None:
        raise EmptyError("no debug information and no symbols", path=path)
    return found.reader


def find_gsym(
    path: str, search: BinarySearch | None = None, uuid: bytes | str | None = None
) -> FoundGsym:
    """Open the GSYM file at *path*, or that of the binary there, made if necessary.

    *search* says where to look for that of a binary, and how to make one.

    Raises:
        ArchitectureError: It is a fat file, and no slice is chosen.
        GsymError: It cannot be converted, for another reason.
        UuidMismatchError: It belongs to another binary.
    """
    chosen = BinarySearch() if search is None else search
    if path.startswith(REMOTE):
        from gsym.remote.reader import open_remote

        reader = open_remote(path, uuid, index_limit=chosen.index_limit)
        return FoundGsym(reader, origin=path)
    found = _find(path, chosen)
    if found.reader is not None:
        gsym.reading.reader.check_uuid(found.reader, uuid, path)
    return found


def _find(path: str, search: BinarySearch) -> FoundGsym:
    reading, embedded = gsym.reading.reader, None
    try:
        data, status = reading.read_contents(path, copy=search.copy)
    except IsADirectoryError:
        from gsym.conversion.companions.macho import bundle_member
        from gsym.conversion.input_file import open_input

        member = bundle_member(path)
        status = os.stat(member)
        file = open_input(member)
        return _of_binary(file, _for_kind(file.kind, search), status)
    try:
        embedded = reading.open_contents(
            data, path, None, search.index_limit, read_ahead=search.read_ahead
        )
    except GsymError:
        if not S_ISREG(status.st_mode):
            raise  # it cannot be read twice
        file = _input_of(data, path)
        if file.kind == "gsym":
            raise
    else:
        if not embedded.offset:
            reason = "is not used, as a GSYM file has no slices"
            unused = f"{path}: architecture {search.architecture} {reason}"
            is_told = search.architecture and not search.is_for_fat
            notes = (unused,) if is_told else ()
            return FoundGsym(embedded, notes, origin=path)
        from gsym.conversion.input_file import open_input

        file = open_input(path)
    search = _for_kind(file.kind, search)
    if file.kind in {"object", "fat"}:
        return _of_binary(file, search, status, embedded)
    from gsym.modules.binary_conversion import convert_binary

    if file.kind != "pdb":
        return convert_binary(file, search, None)
    from gsym.modules.conversion_cache import CachePlace

    stamp = _stamp(path, search, status)
    place = CachePlace(stamp, file.data, b"", "pdb", (), ())
    return _from_cache(place, search) or convert_binary(file, search, place)


def _for_kind(kind: str, search: BinarySearch) -> BinarySearch:
    """The search for a file of a kind, without an architecture that is ignored."""
    is_ignored = search.is_for_fat and kind != "fat"
    return search._replace(architecture=None) if is_ignored else search


def _input_of(data: mmap | bytes, path: str) -> InputFile:
    """The open input that is no GSYM file."""
    from gsym.conversion.input_file import input_of, open_input

    if isinstance(data, bytes):  # a copy, of which no more is needed; or it is empty
        return open_input(path)
    from mmap import MADV_NORMAL

    data.madvise(MADV_NORMAL)  # a reader needs single pages, others need all
    return input_of(path, path, memoryview(data))


def _of_binary(
    file: InputFile,
    search: BinarySearch,
    before: os.stat_result,
    embedded: Reader | None = None,
) -> FoundGsym:
    path, notes = file.path, list[str]()
    stamp, partner = _stamp(path, search, before), f"{search.architecture}-beside"
    beside = None  # the stamp of `BINARY.gsym`, if something about it is remembered
    if embedded is None and search.beside and search.partial:
        try:  # noqa: SIM105 - as in `_from_cache`
            beside = _stamp(path + _SUFFIX, search, os.stat(path + _SUFFIX))
        except OSError:
            pass
    if beside is not None and stamp.read(partner) == beside.name:
        # They were compared before, and neither has changed.
        reader = _open_candidate(beside.path, search, notes)
        if reader is not None:
            return FoundGsym(reader, origin=beside.path)
    from gsym.containers.fat import choose_slice
    from gsym.containers.object_file import ObjectFile

    data = choose_slice(file.data, path, search.architecture)
    with ObjectFile(data, path) as binary:
        ready = _ready(binary, search, before, notes, embedded)
        if ready is not None:
            is_sure = ready.origin == path + _SUFFIX and not (notes or ready.unsure)
            if is_sure and beside is not None and beside.is_current():
                stamp.write(partner, beside.name)
            return ready._replace(notes=tuple(notes))
        from gsym.modules.conversion_cache import CachePlace

        paths = [] if search.dwp is None else [search.dwp]
        is_debug = binary.has_dwarf
        if not is_debug:
            from gsym.conversion.debug_info import debug_file_paths

            paths += debug_file_paths(binary, search.debug_file_directories)
        options = search.debuginfod, search.dwp
        uuid, architecture = binary.uuid, binary.architecture
        place = CachePlace(stamp, binary.data, uuid, architecture, paths, options)
    found = _from_cache(place, search)
    if found is None:
        from gsym.modules.binary_conversion import convert_binary

        units = ObjectFile(data, path) if search.partial else None
        found = convert_binary(file, search, place, units, is_debug=is_debug)
    return found._replace(notes=(*notes, *found.notes))


def ready_gsym(binary: ObjectFile, search: BinarySearch) -> FoundGsym:
    """The GSYM file of an open binary that need not be made.

    The reader is None if no file is ready. Notes name files of other builds.
    """
    notes: list[str] = []
    found = _ready(binary, search, os.stat(binary.path), notes)
    return (found or FoundGsym(None))._replace(notes=tuple(notes))


def _stamp(path: str, search: BinarySearch, status: os.stat_result) -> Stamp:
    from gsym.modules.conversion_cache import Stamp

    return Stamp(path, status, search.cache)


def _ready(
    binary: ObjectFile,
    search: BinarySearch,
    before: os.stat_result,
    notes: list[str],
    embedded: Reader | None = None,
) -> FoundGsym | None:
    """The first file that is of *binary* for sure, else the first that may be.

    *notes* gets a sentence about each file of another build.
    """
    from gsym.conversion.identity import compare_binary
    from gsym.modules.key import SAME, hash_of_code

    def hash_code() -> str:
        code = list(binary.code())
        if sum(map(len, code)) < _LITTLE_CODE:
            return hash_of_code(code)
        stamp, what = _stamp(binary.path, search, before), f"{binary.architecture}-code"
        return stamp.once(what, lambda: hash_of_code(code))

    unsure = None
    for reader, origin, said in _offered(binary, search, hash_code, embedded, notes):
        fit = compare_binary(binary, said, hash_code)
        reason = fit.reason
        if fit.is_by_code and _is_older(reader, before):
            reason = "only its code is known to be equal, and it is older"
        elif fit.outcome == SAME:
            return FoundGsym(reader, origin=origin)
        if not fit.is_refused and unsure is None:
            reason = f"{origin} may be of another build: {reason}"
            unsure = FoundGsym(reader, origin=origin, unsure=reason)
            continue
        if fit.is_refused:
            notes.append(f"{origin} is not used: {reason}")
        reader.close()
    if unsure is None or not binary.has_dwarf:
        return unsure
    notes.append(f"{unsure.unsure}, so the debug information of the binary is used")
    return None


def _is_older(reader: Reader, binary: os.stat_result) -> bool:
    """Whether a GSYM file was made before its binary was changed.

    A binary of the same code may have been built again since, with other lines.
    """
    try:
        return os.stat(reader.path or "").st_mtime_ns < binary.st_mtime_ns
    except OSError:
        return True


def _offered(
    binary: ObjectFile,
    search: BinarySearch,
    hash_code: Callable[[], str],
    embedded: Reader | None,
    notes: list[str],
) -> Iterator[tuple[Reader, str, Saying]]:
    """Open files that may be of *binary*; where each is from, and what it is of."""
    path, limit = binary.path, search.index_limit
    section = next(filter(binary.has_section, EMBEDDED_SECTIONS), b"")
    if embedded is None and section:
        data = bytes(binary.data) if search.copy else binary.data
        embedded = gsym.reading.reader.Reader(data, path=path, index_limit=limit)
    if embedded is not None:
        yield embedded, f"{path}({section.decode()})", embedded.module_like
    for candidate in _candidates(path, search, binary.architecture):
        reader = _open_candidate(candidate, search, notes)
        if reader is not None:
            yield reader, candidate, reader.module_like
    entry = _in_store(binary, hash_code, notes) if search.store else None
    if entry is None:
        return
    origin = f"{entry.path}, in the store"
    # Of two programs of one id and the same code, each has its own names.
    name = entry.identity.debug_file
    stored = {name, entry.identity.code_file} - {""}
    names = map(os.path.basename, (path, os.path.realpath(path)))
    if binary.has_dwarf and stored and stored.isdisjoint(names):
        notes.append(f"{origin}, is not used: it is called {name}")
    elif (reader := _open_candidate(entry.path, search, notes)) is not None:
        # The store may know more than the file says.
        yield reader, origin, lambda _own: entry.identity


def _in_store(
    binary: ObjectFile, hash_code: Callable[[], str], notes: list[str]
) -> Entry | None:
    """The binary's module in the user's store, if available.

    Its code is read if the store has a module of its ids, and decides among several. A
    module of an earlier version, which does not say of which code it is, is not used if
    the binary has debug information itself.
    """
    from gsym.store.layout import default_store

    if not os.path.isdir(default_store()):
        return None
    from gsym.conversion.identity import key_of_binary
    from gsym.modules.key import has_id
    from gsym.store.directory import Store

    store, key = Store(default_store()), key_of_binary(binary)
    if not has_id(key):
        return None
    try:
        if store.get(key, is_use=False) is None:
            return None
    except GsymError:
        pass  # several modules have these ids
    except OSError:
        return None
    entry = None
    try:
        entry = store.get(key._replace(code_hash=hash_code()))
    except GsymError as error:
        notes.append(f"the store is not used: {error.reason}")
    except OSError:
        pass  # a module was removed meanwhile
    is_told = entry is None or entry.identity.code_hash or not hash_code()
    return entry if is_told or not binary.has_dwarf else None


def _candidates(path: str, search: BinarySearch, architecture: str) -> Iterator[str]:
    """The paths that `gsym convert` may have given to the file of a binary."""
    if not search.beside:
        return
    real = os.path.realpath(path)
    is_link = real != os.path.abspath(path)
    for each in (path, real) if is_link else (path,):
        name = os.path.basename(each)
        for folder in (os.path.dirname(each), *search.gsym_directories):
            file = os.path.join(folder, name + _SUFFIX)
            yield file
            yield f"{file}.{architecture}"


def _open_candidate(path: str, search: BinarySearch, notes: list[str]) -> Reader | None:
    """The reader of *path*; None, and a note, if it is there and cannot be read."""
    try:
        return search.open_gsym(path)
    except FileNotFoundError:
        return None
    except (GsymError, OSError) as error:
        notes.append(f"{path} is not used: {reason_of(error)}")
        return None


def _from_cache(place: CachePlace, search: BinarySearch) -> FoundGsym | None:
    """The file in the cache, if it is there and sound."""
    for find in (place.linked, place.candidate):
        path = find()
        if not path:
            continue
        try:
            reader = search.open_gsym(path)
        except (OSError, GsymError):
            continue  # missing or damaged: convert again
        try:  # noqa: SIM105 - importing contextlib takes as long as a lookup
            os.utime(path)  # the eviction order
        except OSError:
            pass  # a cache that is read-only
        if find == place.candidate:
            place.remember()
        return FoundGsym(reader, origin=f"{path}, from the cache")
    return None
