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

from urllib.parse import quote

from gsym.lazy import json, regex
from gsym.model import base_name

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from collections.abc import Iterable
    from re import Match

# Limit: URL or command of a source file
_MAX_LINK = 4096
# Limit: Values of srcsrv for a source file, and what they name
_MAX_VALUES = 1 << 16
# Limit: Variables of srcsrv in variables
_MAX_DEPTH = 32
_MAX_VARIABLES = 10  # of a line for a file
_CALL = regex(r"(?i)%(fnvar|fnbksl|fnfile)%\(([^()]*)\)")
_NAME = regex(r"%([^%\n]*)%")


class SourceLinks:
    """The links of a module.

    Args:
        links: Kind and contents of each stream, as in `SourceFiles`.
    """

    def __init__(self, links: Iterable[tuple[str, bytes]]) -> None:
        self._streams: list[_SourceLink | _SourceServer] = []
        for kind, data in links:
            text = data.decode("utf-8-sig", "replace")
            if kind == "sourcelink":
                self._streams.append(_SourceLink(text))
            elif kind == "srcsrv":
                self._streams.append(_SourceServer(text))

    def of(self, path: str) -> str:
        """The URL of a source file, or the command that fetches it; "" if unknown.

        *path* is that in the debug information.
        """
        found = filter(None, (each.of(path) for each in self._streams))
        link = next(found, "")
        return link if len(link) <= _MAX_LINK else ""


class _SourceLink:
    def __init__(self, text: str) -> None:
        self._files: dict[str, str] = {}
        self._folders: dict[str, str] = {}  # URL of paths with a beginning
        try:
            documents = json.loads(text)["documents"]
            entries = [(str(pattern), str(documents[pattern])) for pattern in documents]
        except (ValueError, TypeError, KeyError, RecursionError):
            return
        for pattern, url in entries:
            start, star, after = pattern.partition("*")
            if not after and url.count("*") <= bool(star):
                places = self._folders if star else self._files
                places.setdefault(start.lower(), url)
        self._lengths = sorted({*map(len, self._folders)}, reverse=True)

    def of(self, path: str) -> str:
        wanted = path.lower()
        if wanted in self._files or not self._folders:
            return self._files.get(wanted, "")
        for length in self._lengths:
            url = self._folders.get(wanted[:length])
            if url is not None and length <= len(wanted):
                rest = path[length:].replace("\\", "/")
                before, _, after = url.partition("*")
                return before + quote(rest, safe="/", errors="replace") + after
        return ""


class _SourceServer:
    def __init__(self, text: str) -> None:
        self._variables: dict[str, str] = {}
        self._files: dict[str, str] = {}  # the line of a file
        section = ""
        for line in text.splitlines():
            if line.startswith("SRCSRV:"):
                section = line[len("SRCSRV:") :].strip(" -").lower()
            elif section == "source files":
                self._files.setdefault(line.partition("*")[0].lower(), line)
            else:
                name, _, value = line.partition("=")
                self._variables[name.strip().lower()] = value.strip()

    def of(self, path: str) -> str:
        line = self._files.get(path.lower())
        if not line:
            return ""
        values = enumerate(line.split("*", _MAX_VARIABLES - 1), 1)
        variables = {f"var{at}": value for at, value in values} | {"targ": "."}
        values_of = _Values(self._variables, variables)
        target = values_of["srcsrvtrg"]
        is_url = target.lower().startswith(("http://", "https://"))
        is_url = is_url or values_of["srcsrvverctrl"].lower() == "http"
        return target if is_url else values_of["srcsrvcmd"] or target


class _Values:
    """The values of variables, with those that they name in their places."""

    def __init__(self, variables: dict[str, str], fields: dict[str, str]) -> None:
        self._variables, self._own = variables, fields
        self._known: dict[str, str] = {}
        self._depth = 0
        self._left = _MAX_VALUES

    def __getitem__(self, name: str) -> str:
        name = name.lower()
        known = self._known.get(name)
        if known is not None or self._depth > _MAX_DEPTH:
            return known or ""
        self._known[name] = ""  # while it is made, and in itself
        self._depth += 1
        value = self._own.get(name) or self._variables.get(name, "")
        text = _CALL.sub(self._called, self._cut(value))
        self._known[name] = _NAME.sub(self._value, text)
        self._depth -= 1
        return self._known[name]

    def _cut(self, text: str) -> str:
        text = text[: self._left]
        self._left -= len(text)
        return text

    def _value(self, match: Match[str]) -> str:
        return self._cut(self[match[1]] if match[1] else "%")

    def _called(self, match: Match[str]) -> str:
        function, text = match[1].lower(), _NAME.sub(self._value, match[2])
        if function == "fnvar":
            return self._cut(self[text])
        if function == "fnfile":
            return base_name(text)
        return text.replace("/", "\\")
