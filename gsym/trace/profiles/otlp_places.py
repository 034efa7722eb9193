"""What the dictionary of OpenTelemetry's profiles holds, with its indexes followed."""

from __future__ import annotations

from gsym.errors import FormatError
from gsym.trace.profiles.model import MOST_FRAMES, Frame, Location, Mapping, ValueType

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from gsym.trace.profiles.model import Profile

    Attribute = tuple[str, str | int, str]

# In the order in which they are preferred: a symbol store knows the first one.
_BUILD_IDS = tuple(f"process.executable.build_id.{kind}" for kind in ("gnu", "htlhash"))
_HEXADECIMAL = frozenset("0123456789abcdef")
# No program but one that was linked there has its code below this in memory, so that
# such addresses are those of the link.
_LINKED_BELOW = 1 << 40


class Dictionary:
    """Mappings, locations, stacks and attributes, put into a profile as they are asked.

    Args:
        message: A `ProfilesDictionary` message.
        profile: Gets mappings, locations and stacks.
        path: Where it comes from, for errors.

    Raises:
        FormatError: The first text is not empty, or a mapping's index leads nowhere.
    """

    def __init__(self, message: Any, profile: Profile, path: str | None) -> None:
        self._message = message
        self._profile = profile
        self._path = path
        self._locations: dict[int, int] = {}
        self._stacks: dict[int, int] = {}
        table: list[bytes] = list(message.string_table)
        self._texts = [text.decode("utf-8", "replace") for text in table] or [""]
        if self._texts[0]:
            raise self._error("the first text of its string table is not empty")
        self._mappings: list[int | None] = []
        for index, mapping in enumerate(message.mapping_table):
            # The first one stands for none.
            is_none = index == 0 and not mapping.ByteSize()
            self._mappings.append(None if is_none else len(profile.mappings))
            if not is_none:
                profile.mappings.append(self._mapping(mapping))

    def text(self, index: int) -> str:
        """A text of the string table.

        Raises:
            FormatError: There is none of this index.
        """
        return str(self._at("text", self._texts, index))

    def value_type(self, message: Any) -> ValueType:
        """What a `ValueType` message says."""
        return ValueType(
            self.text(message.type_strindex), self.text(message.unit_strindex)
        )

    def stack(self, index: int) -> int:
        """The index that a stack has in the profile.

        Raises:
            FormatError: An index leads nowhere.
        """
        found = self._stacks.get(index)
        if found is None:
            table = self._message.stack_table
            stack = self._at("stack", table, index) if index or table else None
            places = () if stack is None else stack.location_indices
            if len(places) > MOST_FRAMES:
                raise self._error(f"a stack has more than {MOST_FRAMES} locations")
            found = self._stacks[index] = len(self._profile.stacks)
            self._profile.stacks.append(tuple(map(self._location, places)))
        return found

    def attribute(self, index: int) -> Attribute | None:
        """Key, value and unit; None for a value of a kind that labels have not.

        Raises:
            FormatError: An index leads nowhere.
        """
        found = self._at("attribute", self._message.attribute_table, index)
        value = self.value(found.value)
        if value is None:
            return None
        return self.text(found.key_strindex), value, self.text(found.unit_strindex)

    def value(self, message: Any) -> str | int | None:
        """What an `AnyValue` message says; None for lists, and for nothing."""
        for number in message.int_value:
            return int(number)
        for index in message.string_value_strindex:
            return self.text(index)
        for kind in (message.bool_value, message.double_value):
            for value in kind:
                return str(value).lower()
        for text in message.string_value:
            return bytes(text).decode("utf-8", "replace")
        for data in message.bytes_value:
            return bytes(data).hex()
        return None

    def link(self, index: int) -> tuple[Attribute, ...]:
        """The labels that stand for the span of a sample.

        Raises:
            FormatError: There is none of this index.
        """
        if index == 0:
            return ()
        found = self._at("link", self._message.link_table, index)
        return (
            ("trace_id", found.trace_id.hex(), ""),
            ("span_id", found.span_id.hex(), ""),
        )

    def _mapping(self, message: Any) -> Mapping:
        attributes = filter(None, map(self.attribute, message.attribute_indices))
        known = {key: str(value).lower() for key, value, _ in attributes}
        found = [known[key] for key in _BUILD_IDS if known.get(key)]
        build_id = found[0] if found and _HEXADECIMAL.issuperset(found[0]) else ""
        start = message.memory_start
        return Mapping(
            start,
            message.memory_limit,
            start if start < _LINKED_BELOW else None,
            message.file_offset,
            self.text(message.filename_strindex),
            build_id,
        )

    def _location(self, index: int) -> int:
        found = self._locations.get(index)
        if found is None:
            message = self._at("location", self._message.location_table, index)
            mapping = None
            if message.mapping_index or self._mappings:
                number = message.mapping_index
                mapping = self._at("mapping", self._mappings, number)
            frames = tuple(map(self._frame, message.lines))
            if message.attribute_indices:
                losses = self._profile.losses
                kind = "attributes of locations"
                count = len(message.attribute_indices)
                losses[kind] = losses.get(kind, 0) + count
            found = self._locations[index] = len(self._profile.locations)
            self._profile.locations.append(
                Location(message.address, mapping, frames=frames)
            )
        return found

    def _frame(self, line: Any) -> Frame:
        function = self._at(
            "function", self._message.function_table, line.function_index
        )
        texts = (
            function.name_strindex,
            function.system_name_strindex,
            function.filename_strindex,
        )
        name, system_name, path = map(self.text, texts)
        return Frame(name, system_name, path, line.line)

    def _at(self, kind: str, table: Any, index: int) -> Any:
        if not 0 <= index < len(table):
            count = len(table)
            raise self._error(f"there is no {kind} {index} among the {count} it has")
        return table[index]

    def _error(self, reason: str) -> FormatError:
        return FormatError(reason, path=self._path)
