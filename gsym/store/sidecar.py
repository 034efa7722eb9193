"""`module.json`: the record of a module, with what its GSYM file does not contain.

Written once, before the module is published, and never changed. It is validated when
read, as a disk may have lost data.
"""

from __future__ import annotations

import os

from gsym.errors import FormatError
from gsym.lazy import json
from gsym.model import BEST_LEVEL
from gsym.modules.key import ModuleKey, is_hex
from gsym.store.entries import Entry, Quality
from gsym.store.layout import GSYM_FILE, ORIGINAL_FILES, SIDECAR, checked_identity

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

_FORMAT = 1
_FIELDS = "os", "architecture", "debug_id", "code_id", "debug_file", "code_file"
_ADDED_FIELDS = "go_id", "code_hash"  # which records of older versions lack
_MAX_SIZE = 1 << 20  # bytes
MOST_SIDECAR = _MAX_SIZE + 1  # bytes to read, so that a longer record is noticed


def write_sidecar(folder: str, entry: Entry, files: Mapping[str, int]) -> None:
    """Write and sync the record of a module; *files* are the sizes of its files."""
    with open(os.path.join(folder, SIDECAR), "xb") as file:
        file.write(sidecar_text(entry, files))
        file.flush()
        os.fsync(file.fileno())


def sidecar_text(entry: Entry, files: Mapping[str, int]) -> bytes:
    """The record of a module; arguments as for `write_sidecar`."""
    record = {
        "format": _FORMAT,
        **_identity_record(entry),
        "uuid": entry.uuid.hex(),
        "quality": entry.quality._asdict(),
        "source": entry.source,
        "added": entry.added,
        "files": dict(files),
        "missing": list(entry.missing),
    }
    if entry.wanted:
        record["wanted"] = list(entry.wanted)
    if entry.code_ids:
        record["code_ids"] = list(entry.code_ids)
    return json.dumps(record, indent=1, allow_nan=False).encode("ascii") + b"\n"


def read_entry(folder: str) -> Entry:
    """The module in *folder*.

    Raises:
        FileNotFoundError: It does not exist.
    """
    path = os.path.join(folder, SIDECAR)
    with open(path, "rb", buffering=0) as file:
        text = file.read(MOST_SIDECAR)
    return parse_entry(folder, text, path)


def parse_entry(folder: str, text: bytes, path: str) -> Entry:
    """The module in *folder* from its record, which is at *path*."""
    try:
        return _entry(folder, _parse(text))
    except (ValueError, RecursionError) as error:
        raise FormatError(f"damaged record of a module: {error}", path=path) from None


def entry_text(entry: Entry) -> bytes:
    """A module in JSON, as servers of GSYM files send it.

    `read_identity` reads its names and ids; `level` is that of `Quality`, `files` are
    the kinds of files that the store has besides the GSYM file.
    """
    record = {
        "format": _FORMAT,
        **_identity_record(entry),
        "level": entry.quality.level,
        "files": sorted(entry.originals),
    }
    return json.dumps(record).encode("ascii")


def read_identity(text: bytes) -> ModuleKey:
    """Parse an identity sent by a server.

    Raises:
        ValueError: *text* is invalid.
    """
    try:
        return _identity(_parse(text))
    except RecursionError:
        raise ValueError("nested too deeply") from None


def _identity_record(entry: Entry) -> dict[str, object]:
    names = (*_FIELDS, *_ADDED_FIELDS)
    return {name: getattr(entry.identity, name) for name in names}


def _parse(text: bytes) -> dict[str, Any]:
    if len(text) > _MAX_SIZE:
        raise ValueError(f"it is larger than {_MAX_SIZE} bytes")
    record = json.loads(text)
    if type(record) is not dict:
        raise ValueError("not an object")
    if record.get("format") != _FORMAT:
        raise ValueError(f"its format is {record.get('format')!r}, not {_FORMAT}")
    return record


def _entry(folder: str, record: dict[str, Any]) -> Entry:
    identity = _identity(record)
    files = _field(record, "files", dict)
    known = {GSYM_FILE, *ORIGINAL_FILES.values()}
    if GSYM_FILE not in files or not known.issuperset(files):
        raise ValueError("'files' is not a list of the files of a module")
    sizes = [_count(files, name) for name in files]
    code_ids = _texts(record, "code_ids")
    if not all(map(is_hex, code_ids)):
        raise ValueError("'code_ids' has an invalid code id")
    quality = _field(record, "quality", dict)
    added: float = _field(record, "added", float)
    if not 0 <= added < float("inf"):
        raise ValueError("'added' is not a valid time")
    return Entry(
        path=os.path.join(folder, GSYM_FILE),
        identity=identity,
        uuid=bytes.fromhex(_field(record, "uuid", str)),
        quality=Quality(
            _count(quality, "level", BEST_LEVEL), _count(quality, "functions")
        ),
        source=_field(record, "source", str),
        size=sum(sizes),
        added=added,
        originals={
            kind: os.path.join(folder, file)
            for kind, file in ORIGINAL_FILES.items()
            if file in files
        },
        missing=_texts(record, "missing"),
        gsym_size=_count(files, GSYM_FILE),
        wanted=_texts(record, "wanted"),
        code_ids=code_ids,
    )


def _identity(record: dict[str, Any]) -> ModuleKey:
    record = dict.fromkeys(_ADDED_FIELDS, "") | record
    names = (*_FIELDS, *_ADDED_FIELDS)
    return checked_identity(
        ModuleKey(**{name: _field(record, name, str) for name in names})
    )


def _field(record: dict[str, Any], name: str, kind: type[Any]) -> Any:
    value = record.get(name)
    if type(value) is not kind:
        raise ValueError(f"'{name}' is {'missing' if value is None else 'wrong'}")
    return value


def _texts(record: dict[str, Any], name: str) -> tuple[str, ...]:
    """A list of strings, missing in older stores."""
    found = record.get(name, [])
    if type(found) is not list or any(type(each) is not str for each in found):
        raise ValueError(f"'{name}' is not a list of strings")
    return tuple(found)


def _count(record: dict[str, Any], name: str, most: int = (1 << 63) - 1) -> int:
    value: int = _field(record, name, int)
    if not 0 <= value <= most:
        raise ValueError(f"'{name}' is out of range")
    return value
