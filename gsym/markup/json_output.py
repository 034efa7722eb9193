"""A log as one JSON object for each of its elements."""

from __future__ import annotations

from gsym.engine.native import to_str
from gsym.lazy import json
from gsym.markup.line_filter import may_have_context
from gsym.markup.outputs import Output
from gsym.markup.parser import Element, Fault, HexDict, Token
from gsym.markup.symbols import call_fields

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from typing_extensions import Buffer

    from gsym.markup.answers import Answer
    from gsym.markup.hexdict import Value
    from gsym.markup.stack_lines import AnsweredStack

# Among this many elements in order of arrival, the first of the line is known.
_MAX_WAITING = 1 << 12
_ADDRESSES = {"address", "start"}


class JsonOutput(Output):
    """The elements, one object per line, without the text of the log.

    Bytes that are not UTF-8 are replaced.
    """

    form = "json"
    counts_lines = True

    def __init__(self, write: Callable[[Buffer], object] | None = None) -> None:
        super().__init__(write)
        self._is_in_order = True  # elements arrive in the order of the line
        self._of_line: list[tuple[int, bytes]] = []  # elements not in order
        self._number = 0  # of the line with the elements
        self._line = b""
        self._process: bytes | None = None  # of the line
        self._is_folded = False  # the element spans several lines

    @staticmethod
    def quoted(text: bytes) -> bytes:
        """A text, escaped for JSON."""
        return _dump(to_str(text))[1:-1]

    def process_text(self, process: bytes | None) -> bytes:
        """The member of an object that names its process."""
        if process is None:
            return b""
        return b'"process": "%s", ' % self.quoted(process)

    def run(self, text: Buffer) -> None:
        """Objects of lines that the engine has formatted."""
        self._end_line()
        super().run(text)

    def begin_line(self, number: int, line: bytes, process: bytes | None) -> None:
        """Begin the elements of a line."""
        self._end_line()
        self._number = number
        self._line = line
        self._process = process
        self._is_in_order = not may_have_context(line)
        self._is_folded = -1 < line.find(b"\n") < len(line) - 1

    def text(self, text: bytes) -> None:
        """Text is left out."""

    def element(
        self, token: Token, element: Element, shown: bytes, answer: Answer | None
    ) -> None:
        """An element and the result of its lookup."""
        record = self._place(token) | _fields(element)
        if answer is None:
            record["shown"] = to_str(shown)
        else:
            record.update(_resolution(answer))
        self._add(token, record)

    def context(self, token: Token, element: Element) -> None:
        """A contextual element."""
        self._add(token, self._place(token) | _fields(element))

    def malformed(self, token: Token, fault: Fault) -> None:
        """A malformed element."""
        fields = {"text": to_str(token.text), "error": to_str(fault.message)}
        self._add(token, self._place(token) | fields)

    def stack(self, found: AnsweredStack, number: int, process: bytes | None) -> None:
        """The frames of a stack that is not markup."""
        self._end_line()
        name = {} if process is None else {"process": to_str(process)}
        for line, before, record in found.frames:
            place = {"log_line": number + line, "column": before + 1}
            self.put(_dump(place | name | {"element": "frame"} | record) + b"\n")

    def take(self) -> bytes:
        """The output so far, with all elements of the current line."""
        self._end_line()
        return super().take()

    def _place(self, token: Token) -> dict[str, Any]:
        """The position of an element, and its tag."""
        number, begin = self._number, 0
        if self._is_folded:
            number += self._line.count(b"\n", 0, token.start)
            begin = self._line.rfind(b"\n", 0, token.start) + 1
        column = token.start - begin + 1
        place: dict[str, Any] = {"log_line": number, "column": column}
        if self._process is not None:
            place["process"] = to_str(self._process)
        return place | {"element": to_str(token.tag)}

    def _add(self, token: Token, record: dict[str, Any]) -> None:
        line = _dump(record) + b"\n"
        if self._is_in_order:
            self.put(line)
            return
        self._of_line.append((token.start, line))
        if len(self._of_line) >= 2 * _MAX_WAITING:
            self._put_first(_MAX_WAITING)

    def _end_line(self) -> None:
        if self._of_line:
            self._put_first(len(self._of_line))

    def _put_first(self, count: int) -> None:
        """Print elements of a line in order: malformed ones arrive early."""
        first = sorted(self._of_line)
        self._of_line = first[count:]
        for _, line in first[:count]:
            self.put(line)


def _dump(value: object) -> bytes:
    return json.dumps(value, ensure_ascii=False).encode("utf-8", "replace")


def _fields(element: Element) -> dict[str, Any]:
    record: dict[str, Any] = {}
    for name, value in element._asdict().items():
        if isinstance(value, bytes):
            record[name] = value.hex()
        elif name in _ADDRESSES:
            record[name] = hex(value)
        else:
            record[name] = value
    return record


def _resolution(answer: Answer) -> dict[str, Any]:
    if isinstance(answer.element, HexDict):
        # A list: a key may occur twice.
        return {"places": list(map(_value, answer.values))} if answer.values else {}
    resolution: dict[str, Any] = {"looked_up": hex(answer.looked_up)}
    if answer.segment is None:
        return resolution | {"module": None, "reason": answer.reason}
    module = answer.segment.module
    resolution["module"] = to_str(module.name)
    resolution["build_id"] = module.build_id.hex()
    resolution["linked_address"] = hex(answer.linked)
    if answer.symbols is not None and answer.symbols.module.unsure:
        resolution["unsure"] = answer.symbols.module.unsure
    if answer.variable is not None:
        name, offset = answer.variable
        return resolution | {"name": to_str(name), "offset": offset}
    resolution["frames"] = [
        call_fields(to_str(each.function), to_str(each.file), each.line)
        for each in answer.frames
    ]
    if not answer.frames:
        resolution["reason"] = answer.reason
    return resolution


def _value(value: Value) -> dict[str, Any]:
    resolution = _resolution(value.answer)
    address = resolution.pop("looked_up")
    return {"key": to_str(value.key), "value": address, **resolution}
