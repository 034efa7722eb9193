"""Lines with an address each -> `Profile`.

    0x401136
    401136
    /usr/lib/libc.so.6+0x2724a
    e95baaeaec8534edc5df3654182ddf12b19d9b23:0x2724a

The first two are link-time addresses of the module given by the caller. The third is
relative to the base of its module, as in crash reports; the fourth is a link-time
address of the module with that build id.
"""

from __future__ import annotations

from gsym.errors import FormatError
from gsym.model import UINT64_MAX
from gsym.profiles.binaries import PathModule, module_at
from gsym.profiles.input_bytes import lines_of, read_pieces
from gsym.profiles.model import Mapping, ProfileBuilder
from gsym.profiles.recognition import ADDRESS, ID_ADDRESS, MODULE_OFFSET

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from gsym.profiles.binaries import BuildIds
    from gsym.profiles.model import Profile
    from gsym.profiles.opening import ProfileOptions


def read_addresses(path: str, options: ProfileOptions) -> Profile:
    """The addresses in a file, each as a sample.

    Blank lines and lines that begin with `#` are ignored.
    """
    builder = ProfileBuilder()
    own, build_id = None, options.build_id.lower()
    if build_id:
        own = Mapping(0, UINT64_MAX, 0, 0, options.module, build_id)
    reader = _Reader(builder, own, options.build_ids or {})
    lines = lines_of(read_pieces(path, options.most_bytes), path)
    for number, line in enumerate(lines, 1):
        text = line.strip()
        if not text or text.startswith("#"):
            continue
        place = reader.find(text)
        if place is None:
            raise FormatError(f"line {number} is not an address: {text[:80]!r}")
        location = builder.location(*place, is_return=options.return_addresses)
        builder.sample(builder.stack((location,)))
    return builder.profile


class _Reader:
    """Finds the address and the mapping of a line."""

    def __init__(
        self, builder: ProfileBuilder, own: Mapping | None, build_ids: BuildIds
    ) -> None:
        self._builder = builder
        self._own = own
        self._build_ids = build_ids
        self._modules: dict[str, PathModule] = {}

    def find(self, text: str) -> tuple[int, int | None] | None:
        """Parse a line; None if it is not an address."""
        found = ADDRESS.fullmatch(text)
        if found is not None:
            own = None if self._own is None else self._builder.mapping(self._own)
            return int(found[1], 16), own
        found = ID_ADDRESS.fullmatch(text)
        if found is not None:
            mapping = Mapping(0, UINT64_MAX, 0, build_id=found["build_id"].lower())
            return int(found["address"], 16), self._builder.mapping(mapping)
        found = MODULE_OFFSET.fullmatch(text)
        if found is None:
            return None
        module = found["module"]
        known = self._modules.get(module)
        if known is None:
            known = self._modules[module] = module_at(module, self._build_ids)
        mapping = Mapping(0, UINT64_MAX, 0, 0, module, is_relative=True)
        index = self._builder.mapping(mapping._replace(**known._asdict()))
        return int(found["offset"], 16), index
