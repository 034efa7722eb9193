"""`gsym store info`: what is known of a module."""

from __future__ import annotations

import json
import time

from gsym.cli.options import Command, Option
from gsym.cli.terminal import printable
from gsym.cli.verbs.store_options import (
    MODULE,
    STORE,
    entry_record,
    existing_store,
    find_entry,
    size_text,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

COMMAND = Command(
    "gsym store info",
    "Show what is known of a module",
    (MODULE,),
    (STORE, Option("--json", "print one JSON object")),
)

_LABELS = {
    "debug_file": "name",
    "code_file": "binary",
    "debug_id": "debug id",
    "code_id": "code id",
    "uuid": "identifier",
    "os": "OS",
    "architecture": "architecture",
    "functions": "functions",
    "detail": "detail",
    "size": "size",
    "added": "added",
    "last_used": "last used",
    "source": "source",
    "path": "file",
}
_TIMES = {"added", "last_used"}


def run(arguments: list[str]) -> int:
    """Print all that is known of one module."""
    values = COMMAND.parse(arguments)
    store = existing_store(values)
    entry = find_entry(store, values.operand("MODULE"), is_use=False)
    record = entry_record(store, entry)
    if values.flag("--json"):
        print(json.dumps(record))
        return 0
    width = max(map(len, _LABELS.values()))
    for label, text in _lines(record):
        print(f"{label:<{width}}  {printable(text)}")
    return 0


def _lines(record: dict[str, Any]) -> Iterator[tuple[str, str]]:
    for field, label in _LABELS.items():
        value = record[field]
        if field in _TIMES:
            value = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(value))
        elif field == "size":
            value = f"{size_text(value)} ({value:,} bytes)"
        elif field == "functions":
            value = f"{value:,}"
        if value:
            yield label, value
    for text in record["missing"]:
        yield "missing", text
    for kind, path in record["originals"].items():
        yield f"kept {kind}", path
