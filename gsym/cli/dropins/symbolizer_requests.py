"""Parses the requests of llvm-symbolizer.

    [CODE|DATA|FRAME] [FILE:|BUILDID:]MODULE ADDRESS [IGNORED]

MODULE may be quoted; it is omitted if the command line has one. ADDRESS is a number, or
a symbol with an offset.
"""

from __future__ import annotations

from gsym.cli.dropins.gsymutil_options import parse_number
from gsym.cli.dropins.symbolizer_options import parse_build_id
from gsym.model import UINT64_END
from gsym.records import NamedTuple


class Request(NamedTuple):
    """One request."""

    kind: str  # "CODE", "DATA" or "FRAME"
    module: str  # name of the module as given; "" if a build id was given
    build_id: bytes  # its build id, b"" if a name was given
    symbol: str  # name of a symbol; "" for an address
    address: int  # the address, or the offset from the symbol

    @property
    def shown_module(self) -> str:
        """The module's name in messages and JSON."""
        return self.module or self.build_id.hex().upper()


_KINDS = ("CODE", "DATA", "FRAME")
_BLANKS = " \t\n\v\f\r"
_DELIMITERS = " \n\r"


class RequestError(Exception):
    """An invalid request; *module* is its module, if known."""

    def __init__(self, reason: str, module: str = "") -> None:
        super().__init__(reason)
        self.module = module


def parse_request(line: str, module: str = "", build_id: bytes = b"") -> Request:
    """Parse one line.

    *module* and *build_id* are those of the command line.
    """
    kind = _KINDS[0]
    for each in _KINDS:
        if line.startswith(f"{each} "):
            kind, line = each, line[len(each) + 1 :]
            break
    prefix, rest = _take_prefix(line)
    if prefix:
        if rest and (module or build_id):
            raise RequestError("input file has already been specified", module)
        module, build_id, rest = _take_specified(prefix, rest)
    elif not module and not build_id:
        module, rest = _take_word(rest)
        if not module:
            raise RequestError("no input filename has been specified")
    symbol, address = _parse_address(rest.strip(_BLANKS), module)
    return Request(kind, module, build_id, symbol, address)


def _take_specified(prefix: str, text: str) -> tuple[str, bytes, str]:
    """The file or the build id after *prefix*, and the rest."""
    if not text:
        what = "an input file" if prefix == "FILE:" else "a hash"
        raise RequestError(f"must be followed by {what}")
    name, rest = _take_word(text)
    if not name:
        raise RequestError("unbalanced quotes in input file name")
    if prefix == "FILE:":
        return name, b"", rest
    build_id = parse_build_id(name)
    if not build_id:
        raise RequestError("wrong format of build-id")
    return "", build_id, rest


def _take_prefix(text: str) -> tuple[str, str]:
    """The prefix `FILE:` or `BUILDID:`, "" for none, and the rest."""
    found = ""
    while True:
        text = text.lstrip(_BLANKS)
        for prefix in ("FILE:", "BUILDID:"):
            if text.startswith(prefix):
                if found:
                    raise RequestError("duplicate input file specification prefix")
                found, text = prefix, text[len(prefix) :]
                break
        else:
            return found, text


def _take_word(text: str) -> tuple[str, str]:
    """The first word, which may be quoted, and the rest."""
    text = text.lstrip(_DELIMITERS)
    if text[:1] in {'"', "'"}:
        word, quote, rest = text[1:].partition(text[0])
        return (word, rest) if quote else ("", text)
    end = _end_of_word(text)
    return text[:end], text[end:]


def _parse_address(text: str, module: str) -> tuple[str, int]:
    """A symbol, "" for none, and a number."""
    if not text:
        raise RequestError("no module offset has been specified", module)
    word = text[: _end_of_word(text)]
    number = parse_number(word)
    if number is not None and number < UINT64_END:
        return "", number
    if "0" <= word[0] <= "9":
        raise RequestError("expected a number as module offset", module)
    symbol, plus, offset = word.rpartition("+")
    number = parse_number(offset) if plus and symbol else None
    if number is not None and number < UINT64_END:
        return symbol, number
    return word, 0


def _end_of_word(text: str) -> int:
    ends = map(text.find, _DELIMITERS)
    return min((at for at in ends if at >= 0), default=len(text))
