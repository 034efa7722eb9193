"""Uploads of symbfiles: the parts, what heads their requests, and what is answered.

A part is a symbfile that is whole in itself, the body of a POST. Sending one again
replaces it: that is how an upload is resumed.
Source: README.md of symb-proto in opentelemetry-ebpf-profiler; the width of numbers
from the index templates of Elasticsearch.
"""

from __future__ import annotations

import json

from gsym.records import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from gsym.symbfile.file_id import FileId


class UploadPart(NamedTuple):
    """A part of the ranges or of the return pads of an executable.

    Attributes:
        path: The file that is sent.
        size: Of it, in bytes.
        file_id: Of the executable as it is deployed.
        kind: "ranges" or "returnpads".
        file_part: Its number, from 0.
        file_parts: How many parts of this kind there are.
    """

    path: str
    size: int
    file_id: FileId
    kind: str
    file_part: int
    file_parts: int


class UploadAnswer(NamedTuple):
    """What a server says of a part.

    Attributes:
        success: Whether it arrived.
        status: Of HTTP, as the answer repeats it; 0 where it does not.
        code: Of the error, "" for none. Only "1000" is documented: "Something went
            wrong on our side."
        text: What went wrong, for people; "" for nothing.
        uuid: Under which the log of the server has it; "" for none.
    """

    success: bool
    status: int
    code: str
    text: str
    uuid: str


# Behind the URL of the server.
ENDPOINTS = {"ranges": "api/symbols-ranges", "returnpads": "api/symbols-returnpads"}
# Elasticsearch keeps their number in 16 bits, with a sign.
MOST_PARTS = (1 << 15) - 1
_MOST_SHOWN = 1000  # characters of a text


def part_headers(part: UploadPart, api_key: str) -> list[tuple[str, str]]:
    """(name, value) of each header that the protocol asks for.

    Args:
        part: What is sent.
        api_key: As it is handed out: base64 of its id and itself; "" for none.
    """
    headers = [
        ("FileID", part.file_id.base64),
        ("FilePart", str(part.file_part)),
        ("FileParts", str(part.file_parts)),
        ("Content-Length", str(part.size)),
    ]
    if api_key:
        headers.append(("Authorization", f"APIKey {api_key}"))
    return headers


def read_answer(body: bytes) -> UploadAnswer:
    """The answer to a part.

    Raises:
        ValueError: It is none of this protocol.
    """
    try:
        answer = json.loads(body)
    except RecursionError:
        raise ValueError("it nests too deeply") from None
    if not isinstance(answer, dict) or not isinstance(answer.get("success"), bool):
        raise ValueError("it does not tell of success")  # noqa: TRY004 - input
    error = answer.get("error")
    error = error if isinstance(error, dict) else {}
    status = answer.get("status")
    return UploadAnswer(
        answer["success"],
        status if type(status) is int else 0,
        _text(error.get("Code")),
        _text(error.get("Text")),
        _text(answer.get("uuid")),
    )


def _text(value: Any) -> str:
    """A text, or a number in the place of one; anything else says nothing."""
    if type(value) is int:
        value = str(value) if -(10**18) < value < 10**18 else ""
    if not isinstance(value, str):
        return ""
    # A half of a pair of surrogates, which JSON can have, cannot be printed.
    return value[:_MOST_SHOWN].encode("utf-8", "replace").decode()
