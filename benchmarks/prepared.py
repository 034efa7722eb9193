"""An input for lookups: converted for each reader, with random addresses.

The addresses of `random` are uniformly distributed over the bytes of functions, as are
the fewer ones of `bytes`; of `functions` each function is equally likely.
"""

from __future__ import annotations

import json
from array import array
from typing import TYPE_CHECKING, NamedTuple

from elftools.elf.elffile import ELFFile
from symbolic.debuginfo import Archive

import gsym
from tests.differential.sampling import (
    addresses_by_function,
    functions,
    random_addresses,
)

if TYPE_CHECKING:
    from pathlib import Path

COUNT = 1_000_000
SAMPLE = 2_000
SEED = 1


class Prepared(NamedTuple):
    """The files of one input.

    Attributes:
        name: Of the input.
        folder: Where they are.
        load_address: What addresses count from in symbolic's cache.
    """

    name: str
    folder: Path
    load_address: int

    @property
    def binary(self) -> Path:
        """The binary from which the other files were made."""
        return self.folder / "binary"

    @property
    def gsym(self) -> Path:
        """The GSYM file."""
        return self.folder / "input.gsym"

    @property
    def unindexed(self) -> Path:
        """The same without an index."""
        return self.folder / "unindexed.gsym"

    @property
    def symcache(self) -> Path:
        """The cache of symbolic."""
        return self.folder / "input.symcache"

    def addresses(self, which: str, base: int = 0) -> array[int]:
        """The addresses of `random`, `bytes` or `functions`, from *base* on."""
        found = array("Q")
        found.frombytes((self.folder / which).read_bytes())
        return array("Q", [address - base for address in found]) if base else found


def prepare(binary: Path, folder: Path) -> Prepared:
    """Convert *binary* into a new *folder*."""
    folder.mkdir()
    prepared = Prepared(binary.name, folder, load_address(binary))
    prepared.binary.symlink_to(binary.resolve())
    gsym.convert(binary, prepared.gsym)
    gsym.convert(prepared.gsym, prepared.unindexed, index=False)
    symcache(binary, prepared.symcache)
    ranges = functions(prepared.gsym)
    samples = {
        "random": random_addresses(ranges, COUNT, SEED),
        "bytes": random_addresses(ranges, SAMPLE, SEED + 1),
        "functions": addresses_by_function(ranges, SAMPLE, SEED),
    }
    for name, addresses in samples.items():
        (folder / name).write_bytes(array("Q", addresses).tobytes())
    description = {"name": prepared.name, "load_address": prepared.load_address}
    (folder / "input.json").write_text(json.dumps(description), encoding="utf-8")
    return prepared


def symcache(binary: Path, output: Path) -> None:
    """Write the cache of symbolic."""
    (source,) = Archive.open(str(binary)).iter_objects()
    with output.open("wb") as stream:
        source.make_symcache().dump_into(stream)  # type: ignore[no-untyped-call]


def load_address(binary: Path) -> int:
    """Where the first segment of an ELF file goes: 0 but for kernels and the like."""
    with binary.open("rb") as stream:
        return int(next(ELFFile(stream).iter_segments("PT_LOAD"))["p_vaddr"])


def read(folder: Path) -> Prepared:
    """What `prepare` made."""
    description = json.loads((folder / "input.json").read_text(encoding="utf-8"))
    return Prepared(description["name"], folder, description["load_address"])
