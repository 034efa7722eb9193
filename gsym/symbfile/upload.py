"""Uploads of symbfiles: parts, headers of requests, responses.

A part is a complete symbfile, the body of a POST. Sending it again replaces it: that is
how an upload is resumed. All parts are written to files before the first one is sent,
because each request has their number. Source: README.md of symb-proto in
opentelemetry-ebpf-profiler; the width of numbers from the index templates of
Elasticsearch.
"""

from __future__ import annotations

import os

from gsym.arguments import paths_of, strings_of
from gsym.containers.mapped_file import map_file
from gsym.errors import EmptyError, FormatError, GsymError, LimitError
from gsym.lazy import json
from gsym.model import valid_text
from gsym.records import NamedTuple
from gsym.symbfile.calls import holds_code
from gsym.symbfile.extraction import KINDS, ExtractionReport, extract
from gsym.symbfile.format import decode, inflated_pieces
from gsym.writing.atomic_file import AtomicFile

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any

    from gsym.conversion.report import ConversionReport
    from gsym.symbfile.file_id import FileId


class UploadPart(NamedTuple):
    """A part of the ranges or of the return pads of an executable."""

    path: str  # the file to send
    size: int  # of it, in bytes
    file_id: FileId  # of the deployed executable
    kind: str  # "ranges" or "returnpads"
    file_part: int  # its number, from 0
    file_parts: int  # number of parts of this kind


class UploadAnswer(NamedTuple):
    """The response of a server to a part."""

    success: bool  # whether it arrived
    status: int  # HTTP status in the body, or 0
    # of the error, or "". Only "1000" is documented: "Something went wrong on our
    # side."
    code: str
    text: str  # the error message, or ""
    uuid: str  # the id of the error in the log of the server, or ""


# After the URL of the server.
ENDPOINTS = {"ranges": "api/symbols-ranges", "returnpads": "api/symbols-returnpads"}
# Elasticsearch stores their number in signed 16 bits.
MOST_PARTS = (1 << 15) - 1
_MOST_SHOWN = 1000  # characters of a text


def part_headers(part: UploadPart, api_key: str) -> list[tuple[str, str]]:
    """(name, value) of each header of the protocol.

    The key is as issued, base64 of its id and itself; "" for none.
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
    """Parse the response to a part."""
    try:
        answer = json.loads(body)
    except RecursionError:
        raise ValueError("it nests too deeply") from None
    if not isinstance(answer, dict) or not isinstance(answer.get("success"), bool):
        raise ValueError("it does not report success")  # noqa: TRY004 - input
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
    """A text, or a number as text; "" for anything else."""
    if type(value) is int:
        value = str(value) if -(10**18) < value < 10**18 else ""
    return valid_text(value[:_MOST_SHOWN]) if isinstance(value, str) else ""


class Upload(NamedTuple):
    """The parts to send for one executable."""

    parts: tuple[UploadPart, ...]  # all parts of each kind, in order
    notes: tuple[str, ...]  # what the symbols lack, and why
    losses: dict[str, int]  # kind of lost data -> count
    # the report on the conversion, with its warnings; None for a GSYM file, and for
    # symbfiles
    conversion: ConversionReport | None = None


# Bytes of an extracted part, which has to be sent again after an error.
PART_SIZE = 16 << 20


def extract_upload(  # noqa: PLR0913 - keywords, each a choice of its own
    executable: str,
    file_id: FileId,
    folder: str,
    *,
    debug_file: str | None = None,
    kinds: Sequence[str] = KINDS,
    part_size: int = PART_SIZE,
    **extraction: Any,
) -> Upload:
    """Write the symbols of an executable as parts.

    Args:
        executable: The deployed file; return pads are made from its machine code.
        file_id: Of the executable.
        folder: Receives the parts.
        debug_file: The symbols of a stripped *executable*: input of `gsym.convert`, or
            a GSYM file.
        kinds: Of `KINDS`.
        part_size: Approximate size of each part.
        extraction: Other keywords of `extract`.

    Raises:
        GsymError: As for `extract`. Also: *executable* has no machine code,
            *debug_file* belongs to another one, or there are too many parts.
        ValueError: The style of names is unknown.
    """
    kinds = strings_of("kinds", kinds)
    if not holds_code(executable):
        reason = "no machine code: this is not the deployed executable"
        raise GsymError(reason, path=executable)
    ranges, return_pads = (
        os.path.join(folder, kind) if kind in kinds else None for kind in KINDS
    )
    report = extract(
        executable if debug_file is None else debug_file,
        ranges=ranges,
        return_pads=return_pads,
        binary=executable,
        part_size=part_size,
        **extraction,
    )
    parts: list[UploadPart] = []
    losses: dict[str, int] = {}
    for kind, written in report.kinds.items():
        parts += _numbered(written.outputs, kind, file_id)
        losses.update(written.losses)
    return Upload(tuple(parts), tuple(_notes(report)), losses, report.conversion)


def ready_upload(paths: Sequence[str], file_id: FileId, folder: str) -> Upload:
    """An upload of existing symbfiles, each a part of its kind.

    Raises:
        EmptyError: A file has no records.
        LimitError: There are too many parts.
    """
    found: dict[str, list[str]] = {kind: [] for kind in KINDS}
    for number, path in enumerate(paths_of("paths", paths)):
        plain = _inflated(path, os.path.join(folder, str(number)))
        found[_kind(path)].append(plain)
    parts = [_numbered(found[kind], kind, file_id) for kind in KINDS]
    return Upload(tuple(part for each in parts for part in each), (), {})


def _notes(report: ExtractionReport) -> Iterator[str]:
    if report.unsure:
        yield report.unsure
    if report.missing:
        yield f"return pads left out: {report.missing}"
    ranges, converted = report.kinds.get("ranges"), report.conversion
    if converted is not None and not converted.functions_debug_info:
        return  # reported by warnings of the conversion
    if ranges is not None and not ranges.counts["line_rows"]:
        yield "no lines: no debug information found"


def _numbered(paths: Sequence[str], kind: str, file_id: FileId) -> list[UploadPart]:
    count = len(paths)
    if count > MOST_PARTS:
        limit = f"exceed the limit of {MOST_PARTS}: use larger ones"
        raise LimitError(f"{count} parts of {kind} {limit}")
    return [
        UploadPart(path, os.stat(path).st_size, file_id, kind, number, count)
        for number, path in enumerate(paths)
    ]


def _kind(path: str) -> str:
    decoder = decode(map_file(path), path)
    for _ in decoder.reads():
        pass
    counts = decoder.counts()
    if counts.ranges and counts.return_pads:
        reason = "ranges and return pads in one file, which have different endpoints"
        raise FormatError(reason, path=path)
    if not counts.ranges and not counts.return_pads:
        raise EmptyError("no records", path=path)
    return KINDS[0] if counts.ranges else KINDS[1]


def _inflated(path: str, target: str) -> str:
    """*path*, or *target* with its inflated contents: bodies are sent plain."""
    data = map_file(path)
    pieces = inflated_pieces(data, path)
    if pieces is None:
        return path
    with AtomicFile(target) as file:
        for piece in pieces:
            file.write(piece)
    return target
