"""Map a GSYM file, or a binary that holds one, and look addresses up in it.

A file is mapped read-only and never looked at by name again, so it may be
replaced by rename under a reader, which goes on with the bytes it opened.
`close` may come from any thread at any time: it takes effect for the next call,
and the mapping goes when the last call that uses it has ended.
"""

from __future__ import annotations

from gsym.engine.mapped_image import MappedImage
from gsym.engine.native import lib, uuid_bytes
from gsym.errors import ClosedError, FormatError, UuidMismatchError
from gsym.model import FunctionRange, Header

TYPE_CHECKING = False
if TYPE_CHECKING:
    import os
    from collections.abc import Iterable, Iterator
    from mmap import mmap

    from typing_extensions import Buffer, Self

    from gsym.model import FunctionInfo, Lookup
    from gsym.reading.decoded_functions import FunctionDecoder
    from gsym.reading.frames import Frames

# So many are answered no later without, from a file of 15 MB that is not in memory.
_FEW_ADDRESSES = 8


def open(  # the name is the API
    path: str | os.PathLike[str],
    uuid: bytes | str | None = None,
    *,
    index_limit: int | None = None,
    read_ahead: bool = False,
) -> Reader:
    """Map the GSYM file at *path*.

    Args:
        path: The file; both versions and both byte orders are read. An ELF or Mach-O
            binary that a GSYM file was embedded in is read in place.
        uuid: The identifier that the file must have, to be sure that it belongs
            to the binary at hand, as bytes or as hexadecimal text; by default any.
        index_limit: See `Reader`.
        read_ahead: Whether the system may read ahead. By default it may after the first
            few lookups, and when `lookup_many` gets more than eight addresses or all
            functions are read: one lookup in a large file that is not in memory reads
            about 14 pages of it.

    Returns:
        A reader, which closes at the end of a `with` block.

    Raises:
        FormatError: This is not a GSYM file, or its tables are damaged, or the strings
            that it shares with its binary have changed.
        OSError: The file cannot be opened or mapped.
        UnsupportedError: The version or an encoding is not known.
        UuidMismatchError: The file belongs to another binary.
    """
    from io import FileIO
    from mmap import ACCESS_READ, mmap
    from os import fspath

    name = fspath(path)
    with FileIO(name) as file:
        try:
            mapped = mmap(file.fileno(), 0, access=ACCESS_READ)
        except (ValueError, OSError):  # empty, or a pipe
            return Reader(file.readall(), path=name, uuid=uuid, index_limit=index_limit)
    by_pages = None if read_ahead else mapped
    reader = Reader(
        mapped, path=name, uuid=uuid, index_limit=index_limit, by_pages=by_pages
    )
    reader.mapped.is_file = True
    return reader


def wants_read_ahead(addresses: int) -> bool:
    """Whether to open a file so for so many addresses; 0: nobody knows how many."""
    return not 0 < addresses <= _FEW_ADDRESSES


class Reader:
    """An open GSYM file. Safe to use from many threads, and after a fork.

    Args:
        data: The bytes of the file, which must not change while it is open.
        path: The name that errors carry.
        uuid: The identifier that the file must have.
        index_limit: Bytes of memory for indexes of large functions, which lookups make
            when they meet one again; 0 for none. By default twice the size of the
            file, but 1 MiB at least and 256 MiB at most.
        by_pages: The mapping of *data*. Only single pages of it are read until after
            the first few lookups, or until `lookup_many` gets more than eight
            addresses, or all functions are read.

    Raises:
        FormatError: This is not a GSYM file, or its tables are damaged.
        UnsupportedError: The version or an encoding is not known.
        UuidMismatchError: The file belongs to another binary.
    """

    __slots__ = (
        "__weakref__",
        "_functions_by_name",
        "_header",
        "_mapped",
        "_path",
    )

    def __init__(
        self,
        data: Buffer,
        *,
        path: str | None = None,
        uuid: bytes | str | None = None,
        index_limit: int | None = None,
        by_pages: mmap | None = None,
    ) -> None:
        wanted = None if uuid is None else uuid_bytes(uuid)
        mapped = MappedImage(data, path, index_limit, by_pages)
        self._mapped: MappedImage | None = mapped
        self._functions_by_name: dict[str, list[tuple[int, int]]] | None = None
        self._path = path
        self._header = header = _header(mapped, data)
        if wanted is not None and wanted != header.uuid:
            self.close()
            raise UuidMismatchError(
                f"the UUID is {header.uuid.hex() or 'missing'}, not {wanted.hex()}",
                path=path,
            )

    def __repr__(self) -> str:
        state = f"{len(self)} functions" if self._mapped is not None else "closed"
        return f"<gsym.Reader of {self.path or 'bytes'}: {state}>"

    def __enter__(self) -> Self:
        _ = self.mapped  # raises if closed
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __len__(self) -> int:
        return self.header.num_addresses

    def __iter__(self) -> Iterator[FunctionInfo]:
        return self.functions()

    @property
    def path(self) -> str | None:
        """The name that errors carry; None for bytes without a name."""
        return self._path

    @property
    def header(self) -> Header:
        """The file's header; it stays readable after `close`."""
        return self._header

    @property
    def uuid(self) -> bytes:
        """Identifier of the binary that the file was made from, b"" for none."""
        return self.header.uuid

    @property
    def offset(self) -> int:
        """Where the file begins: 0, but in a binary that holds it."""
        return int(self.mapped.header.file_offset)

    @property
    def size(self) -> int:
        """Bytes of the whole file; of the section where a binary holds it."""
        return int(self.mapped.header.file_size)

    @property
    def index_size(self) -> int:
        """Bytes of memory that indexes of large functions take so far."""
        return int(lib.gsym_image_indexes_size(self.mapped.image))

    @property
    def stored_index_size(self) -> int:
        """Bytes that the index of large functions takes in the file; 0: it has none."""
        return int(self.mapped.header.index_size)

    @property
    def mapped(self) -> MappedImage:
        """The engine's view of the file, for other modules of the package.

        Raises:
            ClosedError: The reader was closed.
        """
        mapped = self._mapped
        if mapped is None:
            raise ClosedError("the reader is closed", path=self.path)
        return mapped

    def close(self) -> None:
        """Let go of the file. Calls that are under way in other threads end well."""
        self._mapped = None
        self._functions_by_name = None

    def lookup(self, address: int, merged: bool = False) -> Lookup | None:
        """What is at *address*: the function and its frames, innermost call first.

        Args:
            address: Link-time virtual address in bytes, as in the file's address
                table (subtract the load bias first). A number that is not an address
                has no answer.
            merged: Also answer for the functions that were folded into the same
                code; their answers stand in `Lookup.merged`.

        Returns:
            An answer with at least one frame, or None where no function covers
            the address.

        Raises:
            ClosedError: The reader was closed.
            FormatError: The record is damaged; its offset counts from file start.
            TypeError: The address is not an integer.
        """
        mapped = self._mapped
        if mapped is None:
            raise ClosedError("the reader is closed", path=self.path)
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
    ) -> Frames:
        """What is at each of many addresses, as columns.

        The call runs without the interpreter lock.

        Args:
            addresses: Link-time virtual addresses in bytes, in any order and with any
                repetition; numbers that are not addresses are not found. A contiguous
                buffer of 64-bit integers, such as `array("Q")` or a NumPy array, is
                read in place.
            threads: How many threads may work on it.
            misses: Whether an address without an answer has a row, with the reason.

        Returns:
            The frames of all addresses.

        Raises:
            ClosedError: The reader was closed.
            TypeError: The addresses are not integers.
            ValueError: *threads* is not a positive number.
        """
        from gsym.reading.frames import Frames, address_column, look_up_batch

        mapped = self.mapped
        column, left_out = address_column(addresses)
        if wants_read_ahead(memoryview(column).nbytes // 8):
            mapped.strings.read_ahead()
        batch = look_up_batch(mapped.image, column, threads, misses, self.path)
        return Frames(mapped, batch, column, left_out, misses=misses)

    def find(self, name: str) -> tuple[FunctionRange, ...]:
        """All functions that are called *name*, in the order of the file.

        The first call reads the names of all functions, also of merged ones.

        Raises:
            ClosedError: The reader was closed.
            FormatError: A record is damaged; its offset counts from file start.
        """
        mapped = self.mapped
        entries = self._functions_by_name
        if entries is None:
            mapped.strings.read_ahead()
            entries, count = {}, 0
            for index in range(len(self)):
                functions = mapped.function_ranges(index)
                count += len(functions)
                if count > self.size:  # a function takes more than one byte
                    raise FormatError("records lie over each other", path=self.path)
                for at, function in enumerate(functions):
                    entries.setdefault(function.name, []).append((index, at))
            self._functions_by_name = entries
        return tuple(
            mapped.function_ranges(index)[at] for index, at in entries.get(name, ())
        )

    def function(self, index: int) -> FunctionInfo:
        """All that the file says of entry *index* of its address table.

        Raises:
            ClosedError: The reader was closed.
            FormatError: The record is damaged; its offset counts from file start.
            IndexError: There is no such entry.
        """
        from gsym.reading.decoded_functions import FunctionDecoder

        mapped = self.mapped
        if not 0 <= index < len(self):
            raise IndexError(f"{index} is not an index below {len(self)}")
        return FunctionDecoder(mapped).decode(index)

    def functions(self) -> Iterator[FunctionInfo]:
        """All functions in the order of the file, each decoded when it is asked for.

        Raises:
            ClosedError: The reader was closed.
            FormatError: A record is damaged; its offset counts from file start.
        """
        from gsym.reading.decoded_functions import FunctionDecoder

        mapped = self.mapped
        mapped.strings.read_ahead()
        return self._decode_all(FunctionDecoder(mapped))

    def _decode_all(self, decoder: FunctionDecoder) -> Iterator[FunctionInfo]:
        for index in range(len(self)):
            _ = self.mapped  # an iterator does not outlive its reader
            yield decoder.decode(index)


def _header(mapped: MappedImage, data: Buffer) -> Header:
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
