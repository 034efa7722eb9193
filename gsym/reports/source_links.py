"""Links of a PDB to source files on servers: Source Link and srcsrv.

`sourcelink` is JSON: under "documents" a pattern of paths for each URL. A pattern that
ends with `*` stands for paths with this beginning, and the rest of a path for the `*`
in the URL. Paths are compared without regard to case, the longest pattern first.

`srcsrv` is a text with variables, and a line with values for each file. A value may
name others: `%NAME%`, `%fnvar%(TEXT)`, `%fnbksl%(TEXT)`, `%fnfile%(TEXT)`. SRCSRVTRG is
where the file is, or is put by the command SRCSRVCMD, which is not run.

Sources: "Source Link" in the designs of dotnet, its SourceLinkMap, and "Language
Specification 1" of Debugging Tools for Windows.
"""

from __future__ import annotations

import json
from urllib.parse import quote

from gsym.patterns import regex

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from re import Match

# Limit: Value of a variable of srcsrv
_MAX_VALUE = 1 << 16
# Limit: Variables of srcsrv in variables
_MAX_DEPTH = 32
_MAX_VARIABLES = 10  # of a line for a file
_CALL = regex(r"(?i)%(fnvar|fnbksl|fnfile)%\(([^()]*)\)")
_NAME = regex(r"%([^%\n]*)%")


def source_link(links: tuple[tuple[str, bytes], ...], path: str) -> str:
    """The URL of a source file, or the command that fetches it; "" if none is known.

    Args:
        links: Kind and contents of each stream, as in `SourceFiles`.
        path: The path of the file in the debug information.
    """
    for kind, data in links:
        text = data.decode("utf-8-sig", "replace")
        found = _of_source_link(text, path) if kind == "sourcelink" else ""
        found = _of_srcsrv(text, path) if kind == "srcsrv" else found
        if found:
            return found
    return ""


def _of_source_link(text: str, path: str) -> str:
    try:
        documents = json.loads(text)["documents"]
        entries = [(str(pattern), str(documents[pattern])) for pattern in documents]
    except (ValueError, TypeError, KeyError, RecursionError):
        return ""
    wanted = path.lower()
    for pattern, url in sorted(entries, key=lambda each: -len(each[0].rstrip("*"))):
        start, star, after = pattern.partition("*")
        if after or url.count("*") > bool(star):
            continue
        if not star and start.lower() == wanted:
            return url
        if star and wanted.startswith(start.lower()):
            rest = path[len(start) :].replace("\\", "/")
            before, _, behind = url.partition("*")
            return before + quote(rest, safe="/", errors="replace") + behind
    return ""


def _of_srcsrv(text: str, path: str) -> str:
    variables: dict[str, str] = {}
    values: list[str] = []
    section = ""
    for line in text.splitlines():
        if line.startswith("SRCSRV:"):
            section = line[len("SRCSRV:") :].strip(" -").lower()
        elif section == "source files":
            values = line.split("*", _MAX_VARIABLES - 1)
            if values[0].lower() == path.lower():
                break
            values = []
        else:
            name, _, value = line.partition("=")
            variables[name.strip().lower()] = value.strip()
    if not values:
        return ""
    variables |= {f"var{at}": value for at, value in enumerate(values, 1)}
    variables["targ"] = "."
    values_of = _Values(variables)
    target = values_of["srcsrvtrg"]
    is_url = target.lower().startswith(("http://", "https://"))
    is_url = is_url or values_of["srcsrvverctrl"].lower() == "http"
    return target if is_url else values_of["srcsrvcmd"] or target


class _Values:
    """The values of variables, with those that they name in their places."""

    def __init__(self, variables: dict[str, str]) -> None:
        self._variables = variables
        self._known: dict[str, str] = {}
        self._depth = 0

    def __getitem__(self, name: str) -> str:
        name = name.lower()
        known = self._known.get(name)
        if known is not None or self._depth > _MAX_DEPTH:
            return known or ""
        self._known[name] = ""  # while it is made, and in itself
        self._depth += 1
        text = _CALL.sub(self._called, self._variables.get(name, ""))
        self._known[name] = self._with_values(text)
        self._depth -= 1
        return self._known[name]

    def _with_values(self, text: str) -> str:
        left = _MAX_VALUE

        def value(match: Match[str]) -> str:
            nonlocal left
            found = self[match[1]] if match[1] else "%"
            left -= len(found)
            return found if left >= 0 else ""

        return _NAME.sub(value, text)[:_MAX_VALUE]

    def _called(self, match: Match[str]) -> str:
        function, text = match[1].lower(), self._with_values(match[2])
        if function == "fnvar":
            return self[text]
        if function == "fnfile":
            return text.replace("\\", "/").rpartition("/")[2]
        return text.replace("/", "\\")
