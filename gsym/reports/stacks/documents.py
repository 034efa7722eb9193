"""Reports that are JSON or XML: decoding, and parts that may be of any type."""

from __future__ import annotations

import re
from itertools import islice

from gsym.lazy import json, regex
from gsym.model import valid_text
from gsym.reports.stacks.prefixes import prefix_size, text_of

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from typing import Any
    from xml.etree.ElementTree import Element

# An object or array whose first line ends, or that goes on as JSON does.
_BEGIN = regex(
    r"\s*(?:[{\[][ \t\r]*(?:\n|\Z)|\{\s*[\"}]|\[\s*(?:[\"{\[\]]|-?\d[\d.eE+-]*\s*,))"
)
_XML = regex(r"[\s\ufeff]*<\?xml\s")
_NEXT_XML = regex(r"^(?=<\?xml\s)", re.MULTILINE)
_CUT = frozenset({3, 5, 6, 20})  # errors of expat at the end: no element, open parts
_MORE = 9  # the error of expat for more after the root
_MOST_XML = 1 << 26  # characters; elements take many times the memory of their text
# Ends of the names of elements and attributes that have addresses and offsets.
_PLACES = (
    *("addr", "address", "counter", "ip", "pc", "instruction", "process"),
    *("off", "offset", "rva", "segment"),
)
_ESCAPED = '{\\"'  # how an object begins in a string
_MOST_PREFIXED = 1 << 22  # characters of a document whose lines have prefixes


def may_be_document(text: str, size: int) -> bool:
    """Whether a text of a size begins as one does, or a short one after a prefix."""
    if _BEGIN.match(text) or _XML.match(text):
        return True
    return size <= _MOST_PREFIXED and _BEGIN.match(text_of(text)) is not None


def decode_document(text: str) -> Any:
    """The value of a report that is JSON or XML; None if it is another text.

    Of two JSON texts (.ips) it is the second, if the first is one line. Each line may
    have the prefix of a log. Strings in it that are JSON are decoded, too.
    """
    if not may_be_document(text, len(text)):
        return None
    if _XML.match(text):
        return _decode_xml(text) if _has_places(text) else None
    found = _decode_last(text)
    if found is None and len(text) <= _MOST_PREFIXED and prefix_size(text):
        found = _decode_last("\n".join(map(text_of, text.lstrip().split("\n"))))
    if _ESCAPED in text:
        _decode_strings(found)
    return found


def as_object(value: Any) -> dict[str, Any]:
    """The value if it is an object, else an empty one."""
    return value if isinstance(value, dict) else {}


def as_list(value: Any) -> list[Any]:
    """The value if it is a list, else an empty one."""
    return value if isinstance(value, list) else []


def _decode_last(text: str) -> Any:
    first, _, rest = text.lstrip().partition("\n")
    whole = _decode(text)
    return _decode(rest) if whole is None and first.rstrip().endswith("}") else whole


def _decode(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _decode_strings(document: Any) -> None:
    """Put the value of each string in a document that is JSON in its place."""
    left = [document]
    for each in left:
        items = each.items() if isinstance(each, dict) else enumerate(as_list(each))
        for key, value in items:
            if isinstance(value, str) and _BEGIN.match(value):
                each[key] = _decode(value) or value
            if isinstance(each[key], dict | list):
                left.append(each[key])


def _has_places(text: str) -> bool:
    """Whether XML is not too long and may have addresses that are elements."""
    if len(text) > _MOST_XML:
        return False
    lowered = text.lower()
    return any(f"{name}{end}" in lowered for name in _PLACES for end in "=>")


def _decode_xml(text: str) -> Any:
    """The root of XML, by its name, as JSON has it; see `_value`.

    Of a text that was cut, open elements have the children that are whole. Several
    documents are a list. None: it is not XML, or it has a document type, whose
    entities may be of any size.
    """
    from xml.etree.ElementTree import ParseError, XMLPullParser

    if "<!DOCTYPE" in text:
        return None
    parser: XMLPullParser[Any] = XMLPullParser(("start",))
    events: Any = parser.read_events()
    try:
        parser.feed(valid_text(text.lstrip("\ufeff \t\r\n")))
        elements: list[Element] = [each for _, each in islice(events, 1)]
        parser.close()
    except ParseError as error:
        if error.code == _MORE:
            documents = list(filter(_XML.match, _NEXT_XML.split(text)))
            found = [*map(_decode_xml, documents)] if documents[1:] else [None]
            return found if all(found) else None
        if error.code not in _CUT:
            return None
    try:
        return {each.tag: _value(each) for each in elements} or None
    except RecursionError:
        return None


def _value(element: Element) -> Any:
    """An object of the attributes and children of an element, or its text.

    Children of one name are a list; empty ones, which may have been cut, are left out.
    """
    children: dict[str, list[Any]] = {}
    for each in element:
        if value := _value(each):
            children.setdefault(each.tag, []).append(value)
    fields = ((tag, own if own[1:] else own[0]) for tag, own in children.items())
    return {**element.attrib, **dict(fields)} or (element.text or "").strip()
