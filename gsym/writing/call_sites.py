"""Read call sites from a YAML file of llvm-gsymutil into a creator.

    functions:
      - name: main
        callsites:
          - return_offset: 0x18       # return address - start of the function
            match_regex: ["^foo$"]    # what the callee is called
            flags: [InternalCall]     # or ExternalCall

The file is read event by event, without recursion, and every error has its line.
Aliases are refused: ten lines of them can expand to a billion call sites.
"""

from __future__ import annotations

from gsym.engine.native import check, ffi, lib, new_error
from gsym.errors import FormatError, GsymError
from gsym.model import UINT64_END, CallSite
from gsym.writing.creator_handle import CreatorStrings

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any, NoReturn

    CData = Any  # a cffi object
    NamedCallSites = tuple[str, list[CallSite]]

_FLAGS = {
    "InternalCall": lib.GSYM_CALL_SITE_INTERNAL,
    "ExternalCall": lib.GSYM_CALL_SITE_EXTERNAL,
}
_NULLS = {"", "~", "null"}
_BASE_OF_PREFIX = {"0x": 16, "0b": 2, "0o": 8}


def add_call_sites(creator: CData, path: str) -> None:
    """Add the call sites in the YAML file at *path* to functions of a `gsym_creator`.

    They are added after existing ones. Of functions with the same name the first one is
    used.

    Raises:
        FormatError: The file is damaged; the text has line and column.
        GsymError: No function has one of the names, or PyYAML is missing.
    """
    named = read_call_sites(path)
    functions = ffi.new("gsym_function[]", len(named))
    strings = CreatorStrings(creator)
    alive: list[CData] = []
    for function, (name, sites) in zip(functions, named, strict=True):
        function.name = strings[name]
        regexes = [strings[regex] for site in sites for regex in site.match_regex]
        alive += (
            ffi.new("gsym_call_site[]", list(_packed(sites))),
            ffi.new("uint64_t[]", regexes),
        )
        function.call_sites, function.regexes = alive[-2:]
        function.call_site_count, function.regex_count = len(sites), len(regexes)
    missing, error = ffi.new("size_t *"), new_error()
    status = lib.gsym_creator_add_call_sites(
        creator, functions, len(named), missing, error
    )
    check(status, error, path)
    if missing[0] < len(named):
        name = named[missing[0]][0]
        raise GsymError(
            f"Can't find function '{name}' specified in callsite YAML", path=path
        )


def _packed(sites: list[CallSite]) -> Iterator[tuple[int, ...]]:
    """The call sites as `gsym_call_site` records; their patterns are consecutive."""
    first = 0
    for offset, flags, patterns in sites:
        yield offset, flags, first, len(patterns), 0
        first += len(patterns)


def read_call_sites(path: str) -> list[NamedCallSites]:
    """(function, call sites) of each entry of a YAML file, in order.

    Raises:
        FormatError: The file is damaged; the text has line and column.
        GsymError: PyYAML is missing.
    """
    try:
        import yaml
    except ImportError:
        raise GsymError(
            "call sites in YAML need PyYAML: pip install 'gsym[yaml]'", path=path
        ) from None
    with open(path, "rb") as file:
        data = file.read()
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise _fault(path, *_place(data[: error.start]), "not UTF-8") from None
    try:
        return _Document(path, text).functions()
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        place = (mark.line, mark.column) if mark is not None else (0, 0)
        raise _fault(path, *place, str(error.problem or error.context)) from None
    except yaml.reader.ReaderError as error:
        place = _place(text[: error.position].encode())
        raise _fault(path, *place, str(error.reason)) from None


def _place(before: bytes) -> tuple[int, int]:
    """Line and column, from 0, after *before*."""
    return before.count(b"\n"), len(before) - before.rfind(b"\n") - 1


def _fault(path: str, line: int, column: int, reason: str) -> FormatError:
    return FormatError(f"line {line + 1}, column {column + 1}: {reason}", path=path)


class _Document:
    """Reads the events of a YAML document by the schema."""

    def __init__(self, path: str, text: str) -> None:
        import yaml

        self._path = path
        self._yaml = yaml
        loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
        self._events: Iterator[Any] = yaml.parse(text, Loader=loader)
        self._event: Any = None

    def functions(self) -> list[NamedCallSites]:
        """All entries of the document."""
        yaml = self._yaml
        while not isinstance(self._next(), yaml.DocumentStartEvent):
            if isinstance(self._event, yaml.StreamEndEvent):
                self._fail("missing required key 'functions'")
        self._next()
        functions: list[NamedCallSites] = []
        for _ in self._keys(required={"functions"}):
            functions += [self._function() for _ in self._items()]
        for _ in self._events:
            pass  # the rest must be YAML, too
        return functions

    def _function(self) -> NamedCallSites:
        name, sites = "", []
        for key in self._keys(required={"name"}, optional={"callsites"}):
            if key == "name":
                text = self._scalar()
                if not text:
                    self._fail("an empty name")
                name = text
            else:
                sites = [self._call_site() for _ in self._items()]
        return name, sites

    def _call_site(self) -> CallSite:
        offset, flags = 0, 0
        patterns: list[str] = []
        required = {"return_offset", "match_regex"}
        for key in self._keys(required=required, optional={"flags"}):
            if key == "return_offset":
                offset = self._offset()
            elif key == "match_regex":
                patterns = [self._scalar() for _ in self._items()]
            else:
                for _ in self._items():
                    text = self._scalar()
                    flag = _FLAGS.get(text)
                    if flag is None:
                        self._fail(f"Unknown flag in callsite YAML: {text}")
                    flags |= int(flag)
        return CallSite(offset, flags, tuple(patterns))

    # Each of these begins at the first event of its value, and ends at the last.

    def _keys(
        self, *, required: set[str], optional: frozenset[str] | set[str] = frozenset()
    ) -> Iterator[str]:
        """The keys of a mapping, each followed by the first event of its value."""
        yaml = self._yaml
        start = self._event
        if not isinstance(start, yaml.MappingStartEvent):
            self._fail("not a mapping")
        seen: set[str] = set()
        while not isinstance(self._next(), yaml.MappingEndEvent):
            key = self._scalar()
            if key not in required | optional:
                self._fail(f"unknown key '{key}'")
            if key in seen:
                self._fail(f"duplicated mapping key '{key}'")
            seen.add(key)
            self._next()
            yield key
        for key in sorted(required - seen):
            self._event = start
            self._fail(f"missing required key '{key}'")

    def _items(self) -> Iterator[None]:
        """Stops at the first event of each item of a sequence; null has none."""
        yaml = self._yaml
        if isinstance(self._event, yaml.ScalarEvent) and self._event.value in _NULLS:
            return
        if not isinstance(self._event, yaml.SequenceStartEvent):
            self._fail("not a sequence")
        while not isinstance(self._next(), yaml.SequenceEndEvent):
            yield

    def _scalar(self) -> str:
        if not isinstance(self._event, self._yaml.ScalarEvent):
            self._fail("not a scalar")
        text = str(self._event.value)
        if "\0" in text:
            self._fail("a string contains a NUL character")
        return text

    def _offset(self) -> int:
        text = self._scalar()
        base = _BASE_OF_PREFIX.get(text[:2].lower(), 8 if text[:1] == "0" else 10)
        try:
            offset = int(text, base) if text.isascii() and text.isalnum() else -1
        except ValueError:
            offset = -1
        if not 0 <= offset < UINT64_END:
            self._fail(f"invalid return_offset '{text}'")
        return offset

    def _next(self) -> Any:
        self._event = event = next(self._events)
        if isinstance(event, self._yaml.AliasEvent):
            self._fail("aliases are not supported")
        return event

    def _fail(self, reason: str) -> NoReturn:
        mark = self._event.start_mark
        raise _fault(self._path, mark.line, mark.column, reason)
