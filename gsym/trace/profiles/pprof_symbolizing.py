"""pprof -> pprof with lines: all else of the file stays as it is.

Locations that have lines keep them; the others get theirs, their mappings are told so,
and functions and texts are added behind those that are there. Samples, labels, comments
and fields that are not known here are not touched.
"""

from __future__ import annotations

from gsym.trace.profiles.model import Profile
from gsym.trace.profiles.pprof import decode
from gsym.trace.profiles.pprof_output import compressed
from gsym.trace.profiles.pprof_places import Places, return_locations
from gsym.trace.profiles.pprof_tables import FunctionTable, StringTable
from gsym.trace.profiles.symbolizing import symbolize

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gsym.trace.profiles.binaries import Binaries
    from gsym.trace.profiles.symbolizing import Opening


def symbolize_pprof(
    data: bytes,
    modules: Opening,
    binaries: Binaries | None = None,
    *,
    return_addresses: bool = False,
    path: str | None = None,
) -> tuple[bytes, Profile]:
    """A file of pprof with what is at its locations.

    Args:
        data: The bytes of the file, no longer compressed.
        modules: Finds modules by the build ids of the mappings.
        binaries: As `symbolize` takes them.
        return_addresses: The addresses of callers are where calls return to, against
            the custom of pprof. A location that some sample was at stays exact.
        path: Where the bytes come from, for errors.

    Returns:
        The new file, compressed by gzip, and its mappings and locations, which say why
        one has no frames.

    Raises:
        FormatError: As `read_pprof` says.
        UnsupportedError: The runtime of protobuf is not installed.
    """
    message = decode(data, path)
    places = Places(message, path)
    profile = Profile()
    profile.mappings, profile.locations = places.mappings, places.locations
    if return_addresses:
        for index in return_locations(message, places):
            returned = places.locations[index]._replace(is_return=True)
            places.locations[index] = returned
    symbolize(profile, modules, binaries)
    functions = FunctionTable(message, StringTable(message))
    for location, known in zip(message.location, profile.locations, strict=True):
        if known.frames and not location.line:
            functions.add_lines(location, known.frames)
            location.is_folded = False
    return compressed(message), profile
