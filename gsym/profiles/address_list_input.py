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

from functools import cache

from gsym.errors import FormatError
from gsym.model import UINT64_MAX
from gsym.profiles.binaries import module_at
from gsym.profiles.input_bytes import lines_of, read_pieces
from gsym.profiles.model import Mapping, Profile, ProfileBuilder
from gsym.profiles.recognition import ADDRESS, ID_ADDRESS, MODULE_OFFSET

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from gsym.profiles.opening import ProfileOptions


def read_addresses(path: str, options: ProfileOptions) -> Profile:
    """The addresses in a file, each as a sample.

    Blank lines and lines that begin with `#` are ignored.
    """
    builder = ProfileBuilder()
    whole = Mapping(0, UINT64_MAX, 0)
    default, build_id = None, options.build_id.lower()
    if build_id:
        default = whole._replace(path=options.module, build_id=build_id)

    @cache
    def mapping_at(module: str) -> Mapping:
        known = module_at(module, options.build_ids or {})
        return whole._replace(path=module, is_relative=True, **known._asdict())

    lines = lines_of(read_pieces(path, options.most_bytes))
    for number, line in enumerate(lines, 1):
        text = line.strip()
        if not text or text.startswith("#"):
            continue
        if found := ADDRESS.fullmatch(text):
            mapping = default
        elif found := ID_ADDRESS.fullmatch(text):
            mapping = whole._replace(build_id=found["build_id"].lower())
        elif found := MODULE_OFFSET.fullmatch(text):
            mapping = mapping_at(found["module"])
        else:
            raise FormatError(f"line {number} is not an address: {text[:80]!r}")
        index = None if mapping is None else builder.mapping(mapping)
        address = int(found["address"], 16)
        location = builder.location(address, index, is_return=options.return_addresses)
        builder.sample(builder.stack((location,)))
    return builder.profile
