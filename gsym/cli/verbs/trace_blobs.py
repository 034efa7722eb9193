"""`gsym trace blobs`: data of any kind that a trace carries."""

from __future__ import annotations

import json
import os

from gsym.cli.options import Command, Option
from gsym.cli.terminal import printable
from gsym.cli.verbs.trace_input import open_trace_input
from gsym.cli.verbs.trace_options import FILTER_HELP, FILTERS, JSON_LINES, STRICT, TRACE
from gsym.trace.fxt.blobs import BLOB_TYPES, Blobs, blob_file_names
from gsym.trace.record_formats import put_text
from gsym.writing.atomic_file import AtomicFile

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from gsym.trace.fxt.blobs import Stream

COMMAND = Command(
    "gsym trace blobs",
    "List the data that a trace carries, or write it to files",
    (TRACE,),
    (
        Option("--extract", "write each of them to a file in DIR", metavar="DIR"),
        JSON_LINES,
        *FILTERS,
        STRICT,
    ),
    f"""\
{FILTER_HELP}
Blobs of one name are pieces of one stream, joined in order for each provider; a large
blob is always complete. File names contain only letters, digits, dots, hyphens and
underscores; existing files are replaced.""",
)

_KINDS = ("trace_info", "blob", "large_blob", "large_blob_with_metadata")


def run(arguments: list[str]) -> int:
    """List or extract all streams of data."""
    values = COMMAND.parse(arguments)
    folder = values.text("--extract")
    with open_trace_input(values) as trace:
        blobs = Blobs()
        for record in trace.records(_KINDS, keep_context=True):
            blobs.add(record)
        streams = list(blobs.streams())
        for stream, name in zip(streams, blob_file_names(streams), strict=True):
            path = None
            if folder is not None:
                os.makedirs(folder, exist_ok=True)
                path = os.path.join(folder, name)
                with AtomicFile(path) as file:
                    for piece in stream.pieces:
                        file.write(piece)
            described = _describe(stream, path)
            if values.flag("--json"):
                print(json.dumps(described))
            else:
                print(printable(_line(described)))
    return 0


def _describe(stream: Stream, path: str | None) -> dict[str, Any]:
    made: dict[str, Any] = {"provider": stream.provider}
    put_text(made, "category", stream.category)
    put_text(made, "name", stream.name)
    kind = "large" if stream.type is None else BLOB_TYPES.get(stream.type)
    made["type"] = kind or stream.type
    made["pieces"] = len(stream.pieces)
    made["size"] = sum(map(len, stream.pieces))
    if path is not None:
        made["file"] = path
    return made


def _line(blob: dict[str, Any]) -> str:
    who = "-" if blob["provider"] is None else blob["provider"]
    name = ":".join(filter(None, (blob["category"], blob["name"])))
    line = f"{who:>4}  {blob['type']!s:<12} {blob['size']:>12} bytes  {name}"
    return f"{line} -> {blob['file']}" if "file" in blob else line
