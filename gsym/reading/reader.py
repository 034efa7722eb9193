"""Map a GSYM file, or a binary with an embedded one, and look up addresses.

A file is mapped read-only and never opened again, so it may be replaced by rename: a
reader continues with the old bytes. `close` may be called from any thread at any time:
it takes effect for the next call, and the file is unmapped when the last call that uses
it has ended.
"""

from __future__ import annotations

from _thread import allocate_lock
from stat import S_ISREG

from gsym.engine.mapped_image import MappedImage
from gsym.engine.native import lib, uuid_bytes
from gsym.errors import ClosedError, ErrorsOf, FormatError, UuidMismatchError
from gsym.model import (
    FunctionInfo,
    FunctionRange,
    Header,
    Lookup,
    Range,
    after_call,
    join_path,
)

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    import os
    from collections.abc import Iterable, Iterator
    from io import BufferedReader, FileIO
    from mmap import mmap
    from typing import Any

    from typing_extensions import Buffer, Self

    from gsym.modules.key import ModuleKey
    from gsym.reading.decoded_functions import FunctionDecoder
    from gsym.reading.frames import Frames

# Up to this number, reading single pages is as fast, for an uncached file of 15 MB.
_FEW_ADDRESSES = 8


def open(  # the name is the API
    path: str | os.PathLike[str],
    uuid: bytes | str | None = None,
    *,
    index_limit: int | None = None,
    read_ahead: bool = False,
    copy: bool = False,
) -> Reader:
    """Map the GSYM file at *path*, or that in the binary there, as `gsym.open` does.

    Raises:
        FormatError: It is not a GSYM file, its tables are damaged, or the strings that
            it shares with its binary have changed.
        OSError: The file cannot be opened or mapped.
        UnsupportedError: The version or an encoding is unknown.
        UuidMismatchError: The file belongs to another binary.
    """
    from os import fspath

    name = fspath(path)
    data, _ = read_contents(name, copy=copy)
    try:
        return open_contents(data, name, uuid, index_limit, read_ahead=read_ahead)
    except FormatError:
        from gsym.containers.recognition import HEAD_SIZE, check_read, recognise

        check_read(recognise(data[:HEAD_SIZE]), name)
        raise


def read_contents(path: str, *, copy: bool) -> tuple[mmap | bytes, os.stat_result]:
    """The bytes of a file, and its status when it was opened.

    They are mapped, unless a copy is wanted or the file cannot be: a pipe. A pipe or
    device of no known kind, which may be endless, is read no further than its head.
    """
    from io import BufferedReader, FileIO
    from mmap import ACCESS_READ, mmap
    from os import fstat

    with ErrorsOf(path), BufferedReader(FileIO(path)) as file:
        status = fstat(file.fileno())
        if not copy:
            try:
                return mmap(file.fileno(), 0, access=ACCESS_READ), status
            except (ValueError, OSError):
                pass
        copied = file.read() if S_ISREG(status.st_mode) else _read_stream(file)
    if not copied:
        raise FormatError("the file is empty", path=path, offset=0)
    return copied, status


def _read_stream(file: BufferedReader[FileIO]) -> bytes:
    from gsym.containers.recognition import HEAD_SIZE, recognise

    head = file.read(HEAD_SIZE)
    return head + file.read() if recognise(head) else head


def open_contents(
    data: mmap | bytes,
    path: str,
    uuid: bytes | str | None = None,
    index_limit: int | None = None,
    *,
    read_ahead: bool = False,
) -> Reader:
    """Open the GSYM file whose bytes `read_contents` returned, see `open`."""
    mapping = None if isinstance(data, bytes) else data
    by_pages = None if read_ahead else mapping
    reader = Reader(
        data, path=path, uuid=uuid, index_limit=index_limit, by_pages=by_pages
    )
    reader.mapped.file = mapping
    return reader


def wants_read_ahead(addresses: int) -> bool:
    """Whether to read single pages for a number of addresses; 0: unknown number."""
    return not 0 < addresses <= _FEW_ADDRESSES


class Images:
    """Contents for a reader: a file that is all there; see also `PartialImages`.

    All but `path`, `header` and `is_closed` raise `ClosedError` after `close`.
    """

    is_closed: bool = False

    def __init__(
        self,
        data: Buffer,
        path: str | None,
        index_limit: int | None = None,
        by_pages: mmap | None = None,
    ) -> None:
        mapped = MappedImage(data, path, index_limit, by_pages)
        self._mapped: MappedImage | None = mapped
        self._header: Header = header_of(mapped, data)
        # the name of the file in errors; None for bytes without a name
        self.path: str | None = path

    @property
    def header(self) -> Header:
        """The header of the file."""
        return self._header

    @property
    def uuid(self) -> bytes:
        """Identifier of the binary that the file is of, or b""."""
        return self.header.uuid

    @property
    def module(self) -> ModuleKey | None:
        """The module that the file names; None if only its UUID is known.

        A part that contradicts the UUID is ignored: a tool has changed one of them.
        """
        from gsym.modules.key import fits_uuid
        from gsym.modules.part import FOOTER_SIZE, MOST_BYTES, read_module_part

        named = read_module_part(self.tail(FOOTER_SIZE + MOST_BYTES))
        return named if named is not None and fits_uuid(named, self.uuid) else None

    @property
    def offset(self) -> int:
        """Offset of the file in its binary, or 0."""
        return int(self.mapped.header.file_offset)

    @property
    def size(self) -> int:
        """Bytes of the file."""
        return int(self.mapped.header.file_size)

    @property
    def module_range(self) -> tuple[int, int] | None:
        """See `Reader.module_range`."""
        mapped = self.mapped
        try:
            first, *_ = mapped.function_ranges(0)
            last = max(
                mapped.function_ranges(self.header.num_addresses - 1),
                key=lambda each: each.size,
            )
        except (FormatError, IndexError, ValueError):
            return None
        return first.start, last.start + last.size

    @property
    def is_partial(self) -> bool:
        """Whether `mapped_for` is less work than `mapped`, for a few addresses."""
        return False

    @property
    def mapped(self) -> MappedImage:
        """All of the file."""
        if self._mapped is None:
            raise ClosedError("the reader is closed", path=self.path)
        return self._mapped

    def mapped_for(self, addresses: Iterable[int]) -> MappedImage:
        """The image that has the answers for *addresses*."""
        del addresses
        return self.mapped

    def tail(self, size: int) -> memoryview:
        """The last bytes of the file, at most *size*."""
        end = self.offset + self.size
        return self.mapped.data[max(self.offset, end - size) : end]

    def close(self) -> None:
        """Close it; running calls in other threads finish normally."""
        self.is_closed = True
        self._mapped = None


class PartialImages(Images):
    """Parts of a file, then all of it; for readers."""

    def __init__(self, path: str | None) -> None:
        self.path = path
        self._lock = allocate_lock()
        self._whole: Reader | None = None

    def _read_all(self) -> Reader:
        """Read the whole file, once."""
        raise NotImplementedError

    @property
    def is_partial(self) -> bool:
        """Whether nobody has wanted all of it yet."""
        return self._whole is None

    @property
    def mapped(self) -> MappedImage:
        """All of the file."""
        with self._lock:
            self._check_open()
            if self._whole is None:
                self._whole = self._read_all()
            return self._whole.mapped

    def close(self) -> None:
        """Close it; running calls in other threads finish normally."""
        with self._lock:
            super().close()
            if self._whole is not None:
                self._whole.close()

    def _check_open(self) -> None:
        if self.is_closed:
            raise ClosedError("the reader is closed", path=self.path)


class Reader:
    """An open GSYM file; thread-safe and fork-safe.

    Methods raise `ClosedError` after `close`, and `FormatError` for a damaged record,
    whose offset counts from the start of the file.

    Args:
        data: The bytes of the file, which must not change while it is open; or what
            there is of a file that is not all there.
        path: The name of the file, for errors.
        uuid: The identifier that the file must have.
        index_limit: Maximum memory in bytes for indexes of large functions, which
            lookups make if the file has none; 0: no index is made. Default: half the
            size of the file, at least 1 MiB and at most 256 MiB.
        by_pages: The mapping of *data*. Only single pages of it are read until after
            the first few lookups, or until `lookup_many` gets more than eight
            addresses, or all functions are read.

    Raises:
        FormatError: It is not a GSYM file, or its tables are damaged.
        UnsupportedError: The version or an encoding is unknown.
        UuidMismatchError: The file belongs to another binary.
    """

    __slots__ = ("__weakref__", "_functions_by_name", "_images", "_mapped")

    def __init__(
        self,
        data: Buffer | Images,
        *,
        path: str | None = None,
        uuid: bytes | str | None = None,
        index_limit: int | None = None,
        by_pages: mmap | None = None,
    ) -> None:
        self._mapped: MappedImage | None = None
        self._images: Images
        if isinstance(data, Images):
            self._images = data
        else:
            try:
                memoryview(data)
            except TypeError:
                expected = "the bytes of a file (gsym.open takes its path)"
                raise TypeError(f"data: expected {expected}, not {data!r}") from None
            self._images = Images(data, path, index_limit, by_pages)
            self._mapped = self._images.mapped  # what lookups use
        self._functions_by_name: dict[str, list[tuple[int, int]]] | None = None
        check_uuid(self, uuid, self.path)

    def __repr__(self) -> str:
        name = self.path or "bytes"
        if self._images.is_closed:
            return f"<gsym.Reader of {name}: closed>"
        if self._images.is_partial:
            return f"<gsym.Reader of {name}>"
        return f"<gsym.Reader of {name}: {len(self)} functions>"

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the path, from which another process opens the file, or the bytes."""
        mapped = self._mapped
        if mapped is not None and mapped.file is None:
            from functools import partial

            return partial(Reader, path=self.path), (bytes(mapped.data),)
        if self._images.is_closed:
            raise ClosedError("the reader is closed", path=self.path)
        import gsym  # for its public function, which also opens binaries and URLs

        return gsym.open, (self.path, self.uuid or None)

    def __enter__(self) -> Self:
        if self._images.is_closed:
            raise ClosedError("the reader is closed", path=self.path)
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __len__(self) -> int:
        return self.header.num_addresses

    def __iter__(self) -> Iterator[FunctionInfo]:
        return self.functions()

    @property
    def path(self) -> str | None:
        """The name of the file in errors; None for bytes without a name."""
        return self._images.path

    @property
    def header(self) -> Header:
        """The file's header; it stays readable after `close`."""
        return self._images.header

    @property
    def uuid(self) -> bytes:
        """Identifier of the binary that the file was made from, or b""."""
        return self._images.uuid

    @property
    def module(self) -> ModuleKey | None:
        """Module of the file; None if only `uuid` is known."""
        return self._images.module

    def tail(self, size: int) -> memoryview:
        """The last bytes of the file, at most *size*."""
        return self._images.tail(size)

    @property
    def module_part_size(self) -> int:
        """Bytes of the part that names the module, or 0."""
        from gsym.modules.part import FOOTER_SIZE, module_part_start

        return self.size - module_part_start(self._images.tail(FOOTER_SIZE), self.size)

    @property
    def source_part_size(self) -> int:
        """Bytes of the part with source files, or 0."""
        from gsym.modules.part import source_part_start

        start = source_part_start(self.tail, self.size)
        return self.size - self.module_part_size - start

    def module_like(self, wanted: ModuleKey | None = None) -> ModuleKey:
        """Module of the file, to be compared with *wanted*.

        If that is only `uuid`, it is what this says if the file is of *wanted*.
        """
        from gsym.modules.key import ModuleKey, key_of_uuid

        named = self.module
        if named is not None:
            return named
        header = self.header
        return key_of_uuid(header.uuid, header.byteorder, wanted or ModuleKey())

    @property
    def offset(self) -> int:
        """Offset of the file in its binary, or 0."""
        return self._images.offset

    @property
    def size(self) -> int:
        """Bytes of the file, or of its section in a binary."""
        return self._images.size

    @property
    def index_size(self) -> int:
        """Bytes of memory used by indexes that the file lacks."""
        return int(lib.gsym_image_indexes_size(self.mapped.image))

    @property
    def stored_index_size(self) -> int:
        """Bytes of the index of large functions in the file, or 0."""
        return int(self.mapped.header.index_size)

    @property
    def mapped(self) -> MappedImage:
        """The engine's view of the file, for other modules of the package."""
        mapped = self._mapped
        return self._images.mapped if mapped is None else mapped

    @property
    def is_whole(self) -> bool:
        """Whether the mapped file, if there is one, still has all of its bytes."""
        file = None if self._mapped is None else self._mapped.file
        return file is None or file.size() >= len(file)

    @property
    def is_partial(self) -> bool:
        """Whether `mapped_for` is less work than `mapped`, for a few addresses."""
        return self._images.is_partial

    @property
    def module_range(self) -> tuple[int, int] | None:
        """The start of the first function and the end of the last one.

        None if there are no functions, or these two are damaged.
        """
        return self._images.module_range

    def mapped_for(self, addresses: Iterable[int]) -> MappedImage:
        """The engine's view of a file that has the answers for *addresses*."""
        return self._images.mapped_for(addresses)

    def close(self) -> None:
        """Close the file. Running calls in other threads finish normally."""
        self._mapped = None
        self._images.close()
        self._functions_by_name = None

    def lookup(
        self, address: int | str, merged: bool = False, *, is_return: bool = False
    ) -> Lookup | None:
        """Look up *address*: the function and its frames, innermost call first.

        Args:
            address: Link-time virtual address in bytes, as in the file's address
                table (subtract the load bias first). A number that is not an address
                has no answer. Or a text: `kernel+0x40` is a byte of the function or of
                the section `.text.kernel`, which answers as this function, also where
                others have the same address.
            merged: Also return the functions that were folded into the same code, in
                `Lookup.merged`.
            is_return: Whether it is a return address: the answer is that of the call
                before it, with the offsets of the address.

        Returns:
            An answer with at least one frame, or None if no function covers the
                address.

        Raises:
            GsymError: No function, or several, have the name and the offset.
            TypeError: The address is not an integer.
            ValueError: The text is not of this form.
        """
        if isinstance(address, str):
            from gsym.reading.named_address import place_of

            place = place_of(self, address)
            return place.reader.lookup(place.address, merged, is_return=is_return)
        if is_return:
            call = self.lookup(address - 1, merged)
            return None if call is None else after_call(call)
        mapped = self._mapped
        if mapped is None:
            if not isinstance(address, int):
                raise TypeError(f"address: expected an integer, not {address!r}")
            mapped = self._images.mapped_for((address,))
        answer = mapped.look_up(address)
        if merged and answer is not None:
            numbers = range(1, mapped.merged_count(address) + 1)
            children = (mapped.look_up(address, number) for number in numbers)
            return answer._replace(
                merged=tuple(child for child in children if child is not None)
            )
        return answer

    def lookup_many(
        self,
        addresses: Iterable[int] | Buffer,
        *,
        threads: int = 1,
        misses: bool = True,
        frames: str = "all",
    ) -> Frames:
        """Look up many addresses; the result is columns.

        The call runs without the interpreter lock.

        Args:
            addresses: Link-time virtual addresses in bytes, in any order and with any
                repetition; numbers that are not addresses are not found. A contiguous
                buffer of 64-bit integers, such as `array("Q")` or a NumPy array, is
                read in place. Nulls, as in columns of pandas, Polars and Arrow, are not
                addresses.
            threads: Maximum number of threads.
            misses: Whether an address without an answer has a row, with the reason.
            frames: "all", or one row for each address: "innermost", the line that is
                executed, or "outermost", the function.

        Returns:
            The frames of all addresses.

        Raises:
            TypeError: The addresses are not integers.
            ValueError: *threads* is not a positive number, or *frames* another text.
        """
        from gsym.reading.frames import Frames, address_column, look_up_batch

        column, left_out = address_column(addresses)
        mapped = self.mapped_for(memoryview(column))
        if wants_read_ahead(memoryview(column).nbytes // 8):
            mapped.strings.read_ahead()
        batch = look_up_batch(mapped.image, column, threads, misses, self.path)
        found = Frames(mapped, batch, column, left_out, misses=misses)
        return found if frames == "all" else found.one_for_each(frames)

    def find(self, name: str, *, exact: bool = False) -> tuple[FunctionRange, ...]:
        """Find functions by name, in file order.

        The first call reads the names of all functions, including merged ones.

        Args:
            name: A linkage name; else a demangled name, with its parameters or without;
                else a pattern of `fnmatch`, which linkage names or demangled names fit.
            exact: Only find functions with the linkage name *name*.

        Raises:
            TypeError: *name* is not a string.
        """
        if not isinstance(name, str):
            raise TypeError(f"name: expected a string, not {name!r}")
        mapped, entries = self.mapped, self.entries_by_name()
        found = [(name, entries[name])] if name in entries else []
        if not found and not exact:
            found = _fitting_names(entries, name)
        places = sorted(place for _, places in found for place in places)
        return tuple(mapped.function_ranges(index)[at] for index, at in places)

    def entries_by_name(self) -> dict[str, list[tuple[int, int]]]:
        """The functions of each name: index of the entry, number in the entry."""
        mapped = self.mapped
        entries = self._functions_by_name
        if entries is None:
            mapped.strings.read_ahead()
            entries, count = {}, 0
            for index in range(len(self)):
                functions = mapped.function_ranges(index)
                count += len(functions)
                if count > self.size:  # a function takes more than one byte
                    raise FormatError("records overlap", path=self.path)
                for at, function in enumerate(functions):
                    entries.setdefault(function.name, []).append((index, at))
            self._functions_by_name = entries
        return entries

    def addresses(self, path: str | os.PathLike[str], line: int) -> tuple[Range, ...]:
        """Find the code of a source line, also where it was inlined.

        The line tables of all functions are read.

        Args:
            path: The source file: its path in the debug information, or the end of it
                after a slash, such as its base name.
            line: The line in it, from 1.

        Returns:
            Ranges of addresses, ascending.

        Raises:
            TypeError: *path* is no path, or *line* no integer.
        """
        from gsym.arguments import integer_of, path_of

        wanted, number = path_of("path", path), integer_of("line", line)
        ends = "/" + wanted, "\\" + wanted
        known = {each for each in self.files() if each == wanted or each.endswith(ends)}
        found: list[Range] = []
        for function in self.functions() if known else ():
            for each in (function, *function.merged):
                rows = each.line_table or ()
                stops = [*(row.address for row in rows[1:]), each.start + each.size]
                for row, stop in zip(rows, stops, strict=False):
                    if row.line == number and row.path in known and row.address < stop:
                        found.append(Range(row.address, stop))
        return tuple(sorted({*found}))

    def function(self, index: int) -> FunctionInfo:
        """The complete function of entry *index* of the address table.

        Raises:
            IndexError: There is no such entry.
        """
        from gsym.reading.decoded_functions import FunctionDecoder

        mapped = self.mapped
        if index not in range(len(self)):
            raise IndexError(
                f"function index {index!r} out of range (file has {len(self)})"
            )
        return FunctionDecoder(mapped).decode(index)

    def function_at(self, address: int) -> FunctionInfo | None:
        """The complete function that `lookup` answers from, with its rows and `extra`.

        Args:
            address: As for `lookup`.

        Returns:
            The function, or None if none covers the address.

        Raises:
            TypeError: The address is not an integer.
        """
        index = self.mapped.entry_at(address)
        return None if index is None else self.function(index)

    def functions(self) -> Iterator[FunctionInfo]:
        """All functions in file order, each decoded on demand."""
        from gsym.reading.decoded_functions import FunctionDecoder

        mapped = self.mapped
        mapped.strings.read_ahead()
        return self._decode_all(FunctionDecoder(mapped))

    def files(self) -> Iterator[str]:
        """Paths of all source files, in the order of the file table."""
        for index in range(1, self.header.num_files):
            yield join_path(*self.mapped.files[index])

    def _decode_all(self, decoder: FunctionDecoder) -> Iterator[FunctionInfo]:
        for index in range(len(self)):
            _ = self.mapped  # an iterator does not outlive its reader
            yield decoder.decode(index)


def check_uuid(reader: Reader, uuid: bytes | str | None, path: str | None) -> None:
    """Close a file that has not the identifier that is wanted.

    It has that in its header, or names a module with this build id or code id: of a PE
    file, the header has the GUID.

    Raises:
        UuidMismatchError: It has another one.
    """
    if uuid is None:
        return
    wanted = uuid_bytes(uuid)
    if wanted == reader.uuid:
        return
    from gsym.modules.key import SAME, compare, key_of_build_id

    module = reader.module
    if module and compare(key_of_build_id(wanted), module).outcome == SAME:
        return
    known = reader.uuid.hex() or "missing"
    reader.close()
    raise UuidMismatchError(f"the UUID is {known}, not {wanted.hex()}", path=path)


def header_of(mapped: MappedImage, data: Buffer) -> Header:
    """The header of an image of *data*."""
    raw = mapped.header
    uuid_start = raw.file_offset + raw.uuid_offset
    return Header(
        raw.version,
        "big" if raw.big_endian else "little",
        raw.addr_off_size,
        bytes(memoryview(data)[uuid_start : uuid_start + raw.uuid_size]),
        raw.base_address,
        raw.num_addresses,
        raw.num_files,
        raw.strtab_offset,
        raw.strtab_size,
    )


def _fitting_names(
    entries: dict[str, list[tuple[int, int]]], name: str
) -> list[tuple[str, list[tuple[int, int]]]]:
    """The entries whose demangled names are *name*, else those that fit the pattern."""
    from fnmatch import fnmatchcase

    from gsym.engine.demangling import demangle
    from gsym.reading.named_address import spelling

    exact, alike, fitting = [], [], []
    wanted = spelling(name) if "(" in name else ""
    for entry in entries.items():
        names = (entry[0], demangle(entry[0]))
        if name == names[1] or names[1].startswith(f"{name}("):
            exact.append(entry)
        elif wanted and wanted == spelling(names[1]):
            alike.append(entry)
        elif any(fnmatchcase(each, name) for each in names):
            fitting.append(entry)
    return exact or alike or fitting
