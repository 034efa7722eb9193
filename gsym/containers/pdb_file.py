"""PDB files: the debug information of Windows programs."""

from __future__ import annotations

from gsym.containers.architectures import pe_architecture
from gsym.containers.mapped_file import is_mapped
from gsym.engine.native import bytes_of, check, ffi, lib, new_error, new_object

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from typing import Any


class PdbFile:
    """A PDB in memory."""

    def __init__(self, data: memoryview, path: str) -> None:
        self.path = path
        self.data = data
        # the engine's `gsym_pdb *`
        self.handle: Any = new_object(
            *("pdb", lib.gsym_pdb_open, lib.gsym_pdb_close),
            *(bytes_of(data), len(data), is_mapped(data)),
            path=path,
        )
        header = ffi.new("gsym_pdb_header *")
        lib.gsym_pdb_header_get(self.handle, header)
        # the 16 bytes that the image repeats in its CodeView record
        self.guid: bytes = bytes(header.guid)
        self.age: int = int(header.age)  # also in that record
        self.machine: int = int(header.machine)  # the number in the headers of PE files
        # as LLVM's target triples name it
        self.architecture: str = pe_architecture(self.machine)

    def stream(self, number: int) -> bytes:
        """The bytes of a stream; none if it does not exist.

        Raises:
            FormatError: A page of it is damaged.
        """
        size = lib.gsym_pdb_stream_size(self.handle, number)
        data, error = bytearray(size), new_error()
        target = ffi.from_buffer("uint8_t[]", data)
        status = lib.gsym_pdb_stream_read(self.handle, number, target, size, error)
        check(status, error, self.path)
        return bytes(data)
