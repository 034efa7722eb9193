"""Add functions and lines to a message of OpenTelemetry's profiles, and nothing else.

Only the tables of the message are decoded: its profiles remain as they are, so that
samples of any layout, and fields of later versions of the protocol, survive. That needs
a schema that knows no more fields than are written here: the runtime of protobuf keeps
the bytes of the others.
"""

from __future__ import annotations

from functools import cache

from gsym.errors import LimitError
from gsym.modules.key import has_id
from gsym.profiles.model import Profile, module_key
from gsym.profiles.otlp import read_dictionary
from gsym.profiles.protobuf import StringTable, decode_message, message_types

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from gsym.modules.key import ModuleKey

_PACKAGE = "gsym.otlp"
# Protobuf merges several dictionaries as if their bytes were joined.
_MESSAGES = """
ProfilesData: dictionary 2 bytes*;
EncodedTables: mapping_table 1 bytes*, location_table 2 bytes*, function_table 3 bytes*,
    link_table 4 bytes*, attribute_table 6 bytes*, stack_table 7 bytes*;
ProfilesDictionary: location_table 2 Location*, function_table 3 bytes*,
    string_table 5 bytes*;
Location: lines 3 Line*;
Line: function_index 1 int32, line 2 int64;
Function: name_strindex 1 int32, system_name_strindex 2 int32,
    filename_strindex 3 int32;
"""

_MAX_PATH = 4096  # bytes or characters


class OtlpCompletion:
    """A message whose locations without functions get theirs.

    Args:
        data: A request to export profiles, or a `ProfilesData` message.
        most: How many entries a table may have; an empty one takes 2 bytes of the
            message, but about 1 KiB of memory.

    Raises:
        LimitError: A table has too many entries.
        UnsupportedError: The runtime of protobuf is not installed.
    """

    def __init__(self, data: bytes, most: int) -> None:
        types = message_types(_PACKAGE, _MESSAGES)
        # these locations and their mappings, for `symbolize`
        self.profile: Profile = Profile()
        self._data = data
        self._message = decode_message(types["ProfilesData"], data)
        tables = b"".join(self._message.dictionary)
        encoded = decode_message(types["EncodedTables"], tables)
        for table, entries in encoded.ListFields():
            if len(entries) > most:
                raise LimitError(f"its {table.name} has more than {most} entries")
        self._tables = decode_message(types["ProfilesDictionary"], tables)
        known = read_dictionary(tables, self.profile)
        # The indexes in the message, in the order of the profile.
        self._indexes = []
        for index, location in enumerate(self._tables.location_table):
            if not location.lines:
                self._indexes.append(index)
                known.location(index)
        # Each module gets a key with the name in its path.
        self.profile.mappings[:] = [
            each if len(each.path) <= _MAX_PATH else each._replace(path="")
            for each in self.profile.mappings
        ]

    def modules(self) -> list[ModuleKey]:
        """The modules of the locations that have an id."""
        mappings = self.profile.mappings
        used = {each.mapping for each in self.profile.locations}
        keys = {module_key(mappings[index]) for index in used if index is not None}
        return sorted(filter(has_id, keys))

    def complete(self, path_map: Callable[[str], str] | None = None) -> bytes:
        """The message with the frames that the locations of `profile` have now."""
        pairs = zip(self._indexes, self.profile.locations, strict=True)
        found = [(index, each.frames) for index, each in pairs if each.frames]
        if not found:
            return self._data
        number = _function_numbers(self._tables, path_map)
        for index, frames in found:
            lines = self._tables.location_table[index].lines
            for *function, line in frames:
                lines.add(function_index=number(*function), line=line)
        self._message.dictionary[:] = [self._tables.SerializeToString()]
        return bytes(self._message.SerializeToString())


def _function_numbers(
    tables: Any, path_map: Callable[[str], str] | None
) -> Callable[[str, str, str], int]:
    """Finds the index of a function, which is added to the tables with its texts."""
    make = message_types(_PACKAGE, _MESSAGES)["Function"]
    functions, text = tables.function_table, StringTable(tables.string_table).number
    if not functions:
        functions.append(b"")  # entry 0 means none

    @cache
    def number(name: str, system_name: str, path: str) -> int:
        function = make(name_strindex=text(name))
        function.system_name_strindex = text(system_name)
        function.filename_strindex = text(path_map(path) if path_map else path)
        functions.append(function.SerializeToString())
        return len(functions) - 1

    return number
