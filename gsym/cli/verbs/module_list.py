"""A list of modules as text: one a line, or a request of the symbolication API."""

from __future__ import annotations

import json
from string import hexdigits

from gsym.cli.options import UsageError
from gsym.cli.verbs.store_options import module_keys
from gsym.errors import FormatError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from gsym.store.modules import ModuleKey

_COMMENT = "#"
_MOST_PE_DIGITS = 16


def read_module_list(text: str) -> list[list[ModuleKey]]:
    """For each module what it may be, the likeliest first; none comes twice.

    Args:
        text: Lines `NAME ID`, `NAME/ID` or `ID`, with comments behind `#` at the start
            of a line; or JSON of a request of the API, version 4 or 5.

    Raises:
        FormatError: It has another form; the text names the line.
    """
    names = _of_request(text) if text.lstrip().startswith("{") else _of_lines(text)
    found: dict[str, list[ModuleKey]] = {}
    for number, name in names:
        if name not in found:
            found[name] = [key for key in _keys(name) if _is_likely(key)]
        if not found[name]:
            reason = f"'{name}' is no NAME ID, NAME/ID or ID"
            raise FormatError(f"line {number}: {reason}")
    return list(found.values())


def _keys(name: str) -> list[ModuleKey]:
    try:
        return module_keys(name)
    except UsageError:
        return []


def _is_likely(key: ModuleKey) -> bool:
    """Not a name of a binary with an id that is no code id of Windows."""
    if not key.code_file:
        return True
    return len(key.code_id) <= _MOST_PE_DIGITS and not key.code_id.strip(hexdigits)


def _of_lines(text: str) -> Iterator[tuple[int, str]]:
    for number, line in enumerate(text.splitlines(), 1):
        words = line.strip()
        if not words or words.startswith(_COMMENT):
            continue
        name, _, identifier = words.rpartition(" ")
        yield number, f"{name.strip()}/{identifier}" if name else words


def _of_request(text: str) -> Iterator[tuple[int, str]]:
    """The modules in the memory maps of a request; those without an id are left out."""
    try:
        request: Any = json.loads(text)
        for job in request.get("jobs", [request]):
            for name, identifier in job["memoryMap"]:
                if identifier:
                    yield 1, f"{name}/{identifier}"
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise FormatError(f"this is no request of the API: {error!r}") from None
