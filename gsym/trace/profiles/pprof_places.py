"""Mappings, locations and functions of a pprof message, by index instead of by id."""

from __future__ import annotations

from gsym.errors import FormatError
from gsym.trace.profiles.model import MOST_FRAMES, Frame, Location, Mapping, ValueType

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

_HEXADECIMAL = frozenset("0123456789abcdef")


class Places:
    """What the samples of a message point at, in the order of the message.

    Args:
        message: A `Profile` message of pprof.
        path: Where it comes from, for errors.

    Attributes:
        mappings: All of them; none knows its link-time address.
        locations: All of them, with the frames of their lines.
        losses: What could not be taken over, and how often.

    Raises:
        FormatError: An index leads nowhere, or an id is 0 or comes twice.
    """

    def __init__(self, message: Any, path: str | None) -> None:
        self._path = path
        self.losses: dict[str, int] = {}
        table: list[bytes] = list(message.string_table)
        texts = [text.decode("utf-8", "replace") for text in table]
        if texts and texts[0]:
            raise self._error("the first text of its string table is not empty")
        self._texts = texts or [""]
        mappings = self._numbered("mapping", message.mapping)
        functions = self._numbered("function", message.function)
        self._locations = self._numbered("location", message.location)
        self.mappings = [self._mapping(each) for each in message.mapping]
        names = [self._function(each) for each in message.function]
        self.locations = [
            self._location(each, mappings, functions, names)
            for each in message.location
        ]

    def text(self, index: int) -> str:
        """A text of the string table.

        Raises:
            FormatError: There is none of this index.
        """
        if not 0 <= index < len(self._texts):
            count = len(self._texts)
            raise self._error(f"there is no text {index} among the {count} it has")
        return self._texts[index]

    def numbers_of(self, text: str) -> frozenset[int]:
        """The indexes at which a text stands in the string table."""
        pairs = enumerate(self._texts)
        return frozenset(index for index, each in pairs if each == text)

    def value_type(self, message: Any) -> ValueType:
        """What a `ValueType` message says."""
        return ValueType(self.text(message.type), self.text(message.unit))

    def stack(self, sample: Any) -> tuple[int, ...]:
        """The indexes of the locations of a sample, innermost first.

        Raises:
            FormatError: It has a location that there is not, or more than can be.
        """
        if len(sample.location_id) > MOST_FRAMES:
            raise self._error(f"a stack has more than {MOST_FRAMES} locations")
        try:
            return tuple([self._locations[each] for each in sample.location_id])
        except KeyError as error:
            raise self._error(f"a sample has location {error}: there is none") from None

    def _numbered(self, kind: str, messages: Iterable[Any]) -> dict[int, int]:
        """Indexes of messages by their ids."""
        found: dict[int, int] = {}
        for index, message in enumerate(messages):
            if message.id == 0 or message.id in found:
                fault = "comes twice" if message.id else "is no id"
                raise self._error(f"{kind} {index} has id {message.id}, which {fault}")
            found[message.id] = index
        return found

    def _mapping(self, message: Any) -> Mapping:
        build_id = self.text(message.build_id).lower()
        if not _HEXADECIMAL.issuperset(build_id):
            self._lose("build ids that are no hexadecimal digits")
            build_id = ""
        return Mapping(
            message.memory_start,
            message.memory_limit,
            None,
            message.file_offset,
            self.text(message.filename),
            build_id,
        )

    def _function(self, message: Any) -> tuple[str, str, str]:
        if message.start_line:
            self._lose("lines at which functions start")
        texts = message.name, message.system_name, message.filename
        name, system_name, path = map(self.text, texts)
        return name, system_name, path

    def _location(
        self,
        message: Any,
        mappings: dict[int, int],
        functions: dict[int, int],
        names: list[tuple[str, str, str]],
    ) -> Location:
        mapping = self._index("mapping", mappings, message.mapping_id)
        frames = []
        for line in message.line:
            function = self._index("function", functions, line.function_id)
            texts = ("", "", "") if function is None else names[function]
            frames.append(Frame(*texts, line.line))
            if line.column:
                self._lose("columns of lines")
        return Location(message.address, mapping, frames=tuple(frames))

    def _index(self, kind: str, numbers: dict[int, int], number: int) -> int | None:
        """The index that an id stands for; None for no id."""
        if number == 0:
            return None
        if number not in numbers:
            raise self._error(f"a location has {kind} {number}: there is none")
        return numbers[number]

    def _lose(self, kind: str) -> None:
        self.losses[kind] = self.losses.get(kind, 0) + 1

    def _error(self, reason: str) -> FormatError:
        return FormatError(reason, path=self._path)


def return_locations(message: Any, places: Places) -> list[int]:
    """The indexes of locations that calls return to: those that no sample was at."""
    stacks = [places.stack(sample) for sample in message.sample]
    leaves = {stack[0] for stack in stacks if stack}
    return [index for index in range(len(places.locations)) if index not in leaves]
