"""Requests to the parts of the API that are samply's: fields, numbers, refusals."""

from __future__ import annotations

import msgspec

from gsym.errors import GsymError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TypeVar

    Fields = TypeVar("Fields")

_BAD_REQUEST = 400
_LONGEST_NUMBER = 18  # characters: 0x and 64 bits


class ExtensionError(GsymError):
    """The request has no answer.

    Attributes:
        status: For HTTP.
    """

    def __init__(self, reason: str, status: int = _BAD_REQUEST) -> None:
        super().__init__(reason)
        self.status = status


def decode_request(body: bytes, kind: type[Fields]) -> Fields:
    """The fields of a request; others in it are passed over.

    Raises:
        ExtensionError: One is missing or of another type, or it is no JSON.
    """
    try:
        return msgspec.json.decode(body, type=kind)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise ExtensionError(f"Couldn't parse request: {error}") from None


def read_number(text: str, name: str) -> int:
    """A number, which JSON has as text with 0x in front.

    Raises:
        ExtensionError: It is none.
    """
    digits = text.removeprefix("0x")
    if digits == text or len(text) > _LONGEST_NUMBER or not digits.isalnum():
        raise ExtensionError(f"Couldn't parse request: {name} is no 0x number")
    try:
        return int(digits, 16)
    except ValueError:
        raise ExtensionError(
            f"Couldn't parse request: {name} is no 0x number"
        ) from None
