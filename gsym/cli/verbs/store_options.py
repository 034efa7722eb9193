"""What the verbs of `gsym store` share: which store, which module."""

from __future__ import annotations

from contextlib import suppress

from gsym.cli.options import Operand, Option, UsageError, parse_number
from gsym.cli.terminal import printable
from gsym.conversion.identity import read_debug_id
from gsym.errors import GsymError
from gsym.store.directory import Store
from gsym.store.layout import build_id_digits, default_store
from gsym.store.modules import ModuleKey

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from gsym.cli.options import Values
    from gsym.errors import FormatError
    from gsym.store.modules import Entry

STORE = Option(
    "--store",
    "folder of the store (default: GSYM_STORE, else the user's own)",
    metavar="DIR",
)
NAMES = Operand(
    "NAME",
    "only modules of such a name, of which `*` stands for any part",
    many=True,
    required=False,
)
DATA_SYMBOLS = Option(
    "--data-symbols",
    "keep the symbols of variables of ELF files, too, for 'gsym filter'",
)
MODULE = Operand("MODULE", "NAME/ID, a debug id or a build id")

_LEVELS = ("names", "lines", "inlined calls")
_UNITS = ("KB", "MB", "GB", "TB")
_THOUSAND = 1000
_MULTIPLES = {"K": 1, "M": 2, "G": 3, "T": 4}


def open_store(values: Values) -> Store:
    """The store that the command line means."""
    return Store(values.text(STORE.name) or default_store())


def existing_store(values: Values) -> Store:
    """The store that the command line means, which has to be there.

    Raises:
        GsymError: It is not: nothing is found in a folder whose name is mistyped.
    """
    store = open_store(values)
    if not store.exists():
        raise GsymError("there is no store", path=store.path)
    return store


def module_keys(text: str) -> list[ModuleKey]:
    """What *text* may mean, the likeliest first.

    Raises:
        UsageError: It can mean no module.
    """
    name, _, identifier = text.rpartition("/")
    keys = []
    if build_id_digits(identifier):
        keys.append(ModuleKey(debug_file=name, code_id=identifier))
    with suppress(ValueError):
        keys.append(ModuleKey(debug_file=name, debug_id=read_debug_id(identifier)))
    if name:
        keys.append(ModuleKey(code_file=name, code_id=identifier))
    if not keys:
        raise UsageError(f"MODULE: '{text}' is no NAME/ID, debug id or build id")
    return keys


def find_entry(store: Store, text: str, *, is_use: bool = True) -> Entry:
    """The module that *text* means, which then counts as used, unless not *is_use*.

    Raises:
        GsymError: The store does not have it.
        UsageError: It can mean no module.
    """
    for key in module_keys(text):
        entry = store.get(key, is_use=is_use)
        if entry is not None:
            return entry
    raise GsymError(f"has no module {printable(text)}", path=store.path)


def selected_entries(
    store: Store, patterns: list[str], problems: list[FormatError]
) -> Iterator[Entry]:
    """The modules of a store with such names, all without *patterns*.

    Args:
        store: The store.
        patterns: For names of modules and of their binaries, of any case.
        problems: Gets what is damaged.
    """
    from fnmatch import fnmatchcase

    lower = [pattern.lower() for pattern in patterns]
    for entry in store.entries(damaged=problems.append):
        names = {entry.identity.debug_file.lower(), entry.identity.code_file.lower()}
        if not lower or any(
            fnmatchcase(name, pattern) for name in names for pattern in lower
        ):
            yield entry


def entry_record(store: Store, entry: Entry) -> dict[str, Any]:
    """A module as `--json` prints it."""
    return {
        **entry.identity._asdict(),
        "uuid": entry.uuid.hex(),
        "functions": entry.quality.functions,
        "detail": _LEVELS[entry.quality.level],
        "size": entry.size,
        "added": entry.added,
        "last_used": store.last_used(entry),
        "source": entry.source,
        "path": entry.path,
        "originals": entry.originals,
        "missing": list(entry.missing),
    }


def size_text(size: int) -> str:
    """A number of bytes for people: `1.5 MB`."""
    if size < _THOUSAND:
        return f"{size} B"
    number = float(size)
    for unit in _UNITS:
        number /= _THOUSAND
        text = f"{number:.1f} {unit}"
        if round(number, 1) < _THOUSAND:
            break
    return text


def read_size(text: str, option: str) -> int:
    """A number of bytes: `500000`, `500K`, `20G`, of which K is 1000.

    Raises:
        UsageError: It is none.
    """
    letter = text[-1:].upper()
    power = _MULTIPLES.get(letter, 0)
    number = text[:-1] if power else text
    return int(parse_number(number, f"option '{option}'") * _THOUSAND**power)
