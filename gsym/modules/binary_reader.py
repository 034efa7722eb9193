"""A reader of a binary without a GSYM file, which converts what is asked for.

A few addresses are answered from the units that have code there, which takes some
milliseconds for each. When all processes together have converted as much as the binary
has, which takes half the time of a conversion of the whole, or anything other than
answers is wanted, the whole binary is converted. Inflating compressed debug information
takes half of that time, too: such a binary is converted when it is opened again.
"""

from __future__ import annotations

from gsym.conversion.identity import key_of_binary
from gsym.conversion.options import ConvertOptions
from gsym.conversion.partial import PartialConversion
from gsym.engine.mapped_image import MappedImage
from gsym.engine.native import lib
from gsym.errors import EmptyError
from gsym.model import UINT64_END, Header
from gsym.reading.reader import PartialImages, Reader, header_of

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from gsym.containers.object_file import ObjectFile
    from gsym.conversion.debug_info import DebugInfo
    from gsym.modules.key import ModuleKey

# Less debug information is converted completely in the time of a few addresses.
_LEAST_DEBUG_INFO = 1 << 20
_CALLS = 100  # so many partial conversions cost at least as much as the whole binary
_MANY = 2000  # addresses, of which more will come: their units count twice
_GO_SECTIONS = (b".gopclntab", b"__gopclntab", b".data.rel.ro.gopclntab")


_NO_FUNCTIONS = b"MYSG\1\0\1" + bytes(13) + b"\x34\0\0\0\1" + bytes(28)


def open_binary(
    binary: ObjectFile,
    found: DebugInfo,
    convert: Callable[[], Reader | None],
    spend: Callable[[int], int],
    index_limit: int | None = None,
) -> Reader | None:
    """A reader of *binary*, which is not to be closed as long as it is open.

    Args:
        binary: The binary.
        found: Its debug information.
        convert: Converts the whole of it.
        spend: Adds bytes of debug information to those that all processes have
            converted for few addresses; returns their sum.
        index_limit: See `Reader`.

    Returns:
        None where the whole binary is to be converted: it is small; parts of its debug
        information are missing, or in other files, which would have to be found and
        opened for each unit; or it is a Go binary, whose pclntab describes all
        functions together.
    """
    size = found.dwarf.debug_section_size(lib.GSYM_DEBUG_INFO)
    if size < _LEAST_DEBUG_INFO or found.missing or found.notes:
        return None
    if (
        found.dwarf.bias
        or found.debug_map is not None
        or any(map(binary.has_section, _GO_SECTIONS))
    ):
        return None
    compressed = found.dwarf.compressed_sections()
    is_compressed = any(name.endswith("debug_info") for name in compressed)
    if is_compressed and spend(size // 2) >= size // 2 * 2:
        return None
    options = ConvertOptions(index=False, identity=False)
    partial = PartialConversion(binary, found, options)
    if partial.has_split_units:
        return None
    return Reader(_BinaryImages(binary, partial, convert, spend, index_limit))


class _BinaryImages(PartialImages):
    """Images of a binary: first of a few units, then of all of it."""

    def __init__(
        self,
        binary: ObjectFile,
        partial: PartialConversion,
        convert: Callable[[], Reader | None],
        spend: Callable[[int], int],
        index_limit: int | None,
    ) -> None:
        super().__init__(binary.path)
        self._binary = binary
        self._partial: PartialConversion | None = partial
        self._convert = convert
        self._index_limit = index_limit
        self._spend = spend
        # The addresses of the last partial conversion, and what answers for them.
        self._made: tuple[set[int], MappedImage]
        self._forget()

    @property
    def header(self) -> Header:
        """The header of the file."""
        return header_of(self.mapped, self.mapped.data)

    @property
    def uuid(self) -> bytes:
        """Identifier of the binary, or b""."""
        return self._binary.uuid

    @property
    def module(self) -> ModuleKey:
        """The module that the binary is."""
        return key_of_binary(self._binary)

    @property
    def module_range(self) -> tuple[int, int] | None:
        """See `Reader.module_range`."""
        return self._binary.code_extent if self.is_partial else super().module_range

    def close(self) -> None:
        """Close it; running calls in other threads finish normally."""
        super().close()
        self._partial = None
        self._forget()

    def mapped_for(self, addresses: Iterable[int]) -> MappedImage:
        """The image that has the answers for *addresses*."""
        self._check_open()
        partial = self._partial
        if partial is None:
            return self.mapped
        asked = {each for each in addresses if 0 <= each < UINT64_END}
        known, mapped = self._made
        if asked <= known:
            return mapped
        ascending = sorted(asked)
        chosen = partial.units_at(ascending)
        size = chosen.size if len(asked) < _MANY else 2 * chosen.size
        if self._spend(max(size, chosen.total // _CALLS)) > chosen.total:
            return self.mapped
        data = partial.convert(ascending, chosen) or _NO_FUNCTIONS
        mapped = MappedImage(data, self.path, self._index_limit)
        self._made = asked, mapped
        return mapped

    def _forget(self) -> None:
        self._made = set(), MappedImage(_NO_FUNCTIONS, self.path)

    def _read_all(self) -> Reader:
        """Convert the whole binary."""
        whole = self._convert()
        if whole is None:
            raise EmptyError("no debug information and no symbols", path=self.path)
        self._partial = None
        self._forget()
        return whole
