"""Options that verbs share, declared once, and the values they are read as."""

from __future__ import annotations

import os

from gsym.cli.grammar import (
    Command,
    Option,
    UsageError,
    parse_number,
    usage_errors,
)
from gsym.cli.program import EXIT_FAILED
from gsym.cli.terminal import print_json, print_lines, printable, warn
from gsym.errors import GsymError
from gsym.lazy import re, shutil, tempfile
from gsym.model import UINT64_END

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from typing import Any

    from gsym.cli.grammar import Values, Work
    from gsym.conversion.options import ConvertOptions
    from gsym.net.limits import TransferLimits
    from gsym.store.sources.settings import SourceOpener
    from gsym.store.sources.source import Source

SEARCH = (
    *("debug_file_directories", "debuginfod", "dwp", "object_prefix_map"),
    "symbol_servers",
)
"""Keywords of `gsym.convert` for files that belong to a binary."""
API_KEY_VARIABLE = "GSYM_API_KEY"
STANDARD_STREAM = "-"
_MAX_KEY = 8192  # characters
_MAX_DIGITS = 1024
_UINT32_END = 1 << 32
_HEX = frozenset("0123456789abcdefABCDEF")

GSYM_FILE = """\
FILE  GSYM file, or a binary, which is converted and cached if it has no GSYM file"""
ARCH = "--arch NAME  slice of a fat file, such as arm64"
JSON = "--json  print JSON, one object a line"
QUIET = "-q, --quiet  print only errors and what is missing"
VERBOSE = "-v, --verbose  also print which files are used"
STRICT = "--strict  exit with 3 when the result is incomplete"
DEMANGLE = """\
-C, --demangle  demangle names, also in JSON
--no-demangle  print names as the linker knows them"""
COLOR = Option(
    "--color[=WHEN] {auto|always|never}  colors: always, auto (default: on a terminal, "
    "unless NO_COLOR is set or TERM is dumb) or never, which also removes those of the "
    "log; without WHEN: always",
    optional="always",
)
STORE = "--store DIR  folder of the store (default: GSYM_STORE, else the user's own)"
STORE_TO_READ = """\
--store STORE  folder of the store (default: GSYM_STORE, else the user's own); or
  s3://..., gs://..., az://... or https://..., whose modules are copied to the default
  one"""
STORE_TO_FILL = """\
--store STORE  folder of the store (default: GSYM_STORE, else the user's own); or
  s3://..., gs://... or az://..., in which no module is replaced"""
SOURCE = """\
--source SOURCE...  place to search, in order: a folder, http(s)://... of a Breakpad
  server, debuginfod+http(s)://..., debuginfod, s3://..., gs://..., az://...,
  srv*DIR*URL"""
TRANSFER_LIMITS = """\
--timeout TIME  time for one file (default: 300s)
--max-size SIZE  size of one file (default: 4GiB)"""
ALLOW_PRIVATE = """\
--allow-private  let servers redirect to addresses of this machine and its network"""
IDENTITY_OPTIONS = """\
--name NAME  name of the module
--os NAME  operating system: Linux, mac, windows
--arch NAME  architecture: x86_64, arm64, ...
--debug-id ID  debug id of the module; a GSYM file has at most a part of it
--code-id ID  code id, such as the build id"""
SERVER = "--server URL  URL of a symbolication server that answers a JSON request"
HEADER = "--header NAME:VALUE...  header to send, such as a token; @FILE has one a line"
API_KEY_OPTIONS = f"""\
--api-key KEY  API key of the server; visible in process lists, so prefer
  {API_KEY_VARIABLE} or --api-key-file
--api-key-file FILE  file with the API key"""


class OutputCommand(Command):
    """A verb with the option `--output`, for which `-o -` is standard output.

    It then writes a temporary file, and prints as with `QUIET`.
    """

    __slots__ = ()

    def read(self, arguments: Sequence[str]) -> tuple[Work, Values]:
        """Read *arguments*; for `-o -` the function is `_print_output`."""
        work, values = super().read(arguments)
        if values.text("--output") != STANDARD_STREAM:
            return work, values
        for option in ("--json", "--depfile", "--json-summary", "--segment-size"):
            if values.has(option) and values.flag(option):
                raise UsageError(f"option '{option}' excludes '--output -'")
        return lambda values: _print_output(work, values), values


def _print_output(work: Work, values: Values) -> int:
    import sys

    from gsym.conversion.output_key import KEY_SUFFIX

    with tempfile.TemporaryDirectory(prefix="gsym-") as folder:
        path = os.path.join(folder, "output")
        status = work(values.with_text("--quiet").with_text("--output", path))
        if status == EXIT_FAILED and not os.path.exists(path):
            return status
        if {*os.listdir(folder)} - {"output" + KEY_SUFFIX} != {"output"}:
            raise GsymError(
                "cannot write several files to standard output; use -o PATH"
            )
        with open(path, "rb") as file:
            shutil.copyfileobj(file, sys.stdout.buffer)
    return status


def show(values: Values, record: object, lines: Iterable[str]) -> None:
    """Print a record with `JSON`; lines for people without it, unless with `QUIET`."""
    if values.flag("--json"):
        print_json(record)
    elif not (values.has("--quiet") and values.flag("--quiet")):
        print_lines(lines)


# ---- values


def parse_address(text: str, what: str, or_else: str = "") -> int:
    """An address as nm and addr2line print it (`1f64`, `0x1f64`), or a number.

    Only digits, and no leading zero, are decimal. *or_else* is what the caller takes
    besides, for the message.
    """
    try:
        return parse_number(text, what)
    except UsageError:
        if not text or len(text) > _MAX_DIGITS or not _HEX.issuperset(text):
            reason = f"is not an address (1f64, 0x1f64 or decimal){or_else}"
            raise UsageError(f"{what}: '{text}' {reason}") from None
    return int(text, 16)


def hex_bytes(option: str, text: str | None) -> bytes | None:
    """The bytes that a value of *option* spells, None without a value."""
    if text is None:
        return None
    from gsym.modules.key import MOST_ID_BYTES

    try:
        value = bytes.fromhex(text.replace("-", ""))
    except ValueError:
        value = b""
    if not value:
        raise UsageError(f"option '{option}': '{text}' is not a string of hex bytes")
    if len(value) > MOST_ID_BYTES:
        reason = f"an id of {len(value)} bytes, more than {MOST_ID_BYTES}"
        raise UsageError(f"option '{option}': {reason}")
    return value


def demangles(values: Values) -> bool | None:
    """Whether the last of the options `DEMANGLE` is `--demangle`; None without any.

    By default text has demangled names; JSON has those of the linker, and demangled
    ones beside them.
    """
    if not values.flag("--demangle") and not values.flag("--no-demangle"):
        return None
    return values.last_of("--demangle", "--no-demangle", default=False)


def text_names(values: Values) -> Callable[[str], str]:
    """Function that makes a name printable for people."""
    if demangles(values) is False:
        return printable
    from gsym.engine.demangling import demangle

    return lambda name: printable(demangle(name))


def json_names(values: Values) -> Callable[[str], dict[str, str]]:
    """The fields of JSON for a name."""
    from gsym.engine.demangling import demangle

    chosen = demangles(values)
    if chosen is not None:
        return lambda name: {"name": demangle(name) if chosen else name}
    return lambda name: {"name": name, "demangled": demangle(name)}


def uses_color(when: str, *, is_terminal: bool, environment: Mapping[str, str]) -> bool:
    """Whether output has colors, for a value of `COLOR`."""
    if when != "auto":
        return when == "always"
    is_plain = environment.get("NO_COLOR") or environment.get("TERM") == "dumb"
    return is_terminal and not is_plain


def module_identity(values: Values) -> dict[str, Any]:
    """The fields of a `ModuleKey` that `IDENTITY_OPTIONS` give."""
    from gsym.modules.key import read_debug_id

    names = {"debug_file": "--name", "os": "--os", "architecture": "--arch"}
    names |= {"debug_id": "--debug-id", "code_id": "--code-id"}
    given = {
        field: text
        for field, option in names.items()
        if (text := values.text(option)) is not None
    }
    for field in ("os", "architecture", "code_id"):
        if field in given and given[field].split() != [given[field]]:
            raise UsageError(
                f"option '{names[field]}': '{given[field]}' is not one word"
            )
    if "debug_id" in given:
        with usage_errors("option '--debug-id'"):
            given["debug_id"] = read_debug_id(given["debug_id"])
    return given


def transfer_limits(values: Values) -> TransferLimits:
    """The limits that `TRANSFER_LIMITS` set."""
    from gsym.net.limits import TransferLimits

    limits = TransferLimits()
    return limits._replace(
        total_seconds=values.seconds("--timeout") or limits.total_seconds,
        most_bytes=values.size("--max-size") or limits.most_bytes,
    )


def source_opener(values: Values) -> SourceOpener:
    """An opener of sources within the limits of the command line."""
    from gsym.store.sources.settings import SourceOpener

    return SourceOpener(
        limits=transfer_limits(values), allow_private=values.flag("--allow-private")
    )


def open_sources(values: Values, opener: SourceOpener) -> list[Source]:
    """The sources that the command line names."""
    with usage_errors("option '--source'"):
        return [
            source for text in values.texts("--source") for source in opener.open(text)
        ]


def read_headers(values: Values) -> tuple[tuple[str, str], ...]:
    """(name, value) of each header that the command line has."""
    lines: list[str] = []
    for text in values.texts("--header"):
        if text.startswith("@"):
            with open(text[1:], encoding="latin-1") as file:
                lines += filter(str.strip, file.read().splitlines())
        else:
            lines.append(text)
    headers = []
    for line in lines:
        name, colon, value = line.partition(":")
        if not colon or not name.strip():
            raise UsageError("option '--header': what is given has no NAME:VALUE")
        headers.append((name.strip(), value.strip()))
    return tuple(headers)


def read_api_key(values: Values, environment: Mapping[str, str]) -> str:
    """The key that a command line or the environment gives; "" for none.

    Raises:
        UsageError: It is not a key, which the text does not repeat.
    """
    key, path = values.text("--api-key"), values.text("--api-key-file")
    origin = "option '--api-key'"
    if key is not None and path is not None:
        raise UsageError("option '--api-key' excludes '--api-key-file'")
    if path is not None:
        origin = path
        with open(path, encoding="latin-1") as file:
            key = file.read(_MAX_KEY + 1)
    elif key is None:
        origin, key = API_KEY_VARIABLE, environment.get(API_KEY_VARIABLE, "")
        if not key:
            return ""
    key = key.strip()
    is_key = key.isascii() and key.isprintable() and " " not in key
    if not key or not is_key or len(key) > _MAX_KEY:
        raise UsageError(f"{origin}: not an API key, which is one word of ASCII")
    return key


# ---- conversions


def convert_options(*names: str) -> str:
    """The options of a command line for keywords of `gsym.convert`."""
    from gsym.conversion.options import DECLARED, MANY

    texts = []
    for each in map(DECLARED.__getitem__, names):
        head = f"{each.short}, {each.option} {each.metavar}".strip(", ")
        head += "..." * (each.kind in MANY)
        head += f" {{{'|'.join(each.choices)}}}" if each.choices else ""
        texts.append(f"{head}  {each.help}")
    return "\n".join(texts)


def convert_keywords(values: Values, *names: str) -> dict[str, Any]:
    """The keywords of `gsym.convert` that a command line gives."""
    from gsym.conversion import options as known

    return {
        name: _keyword(values, name, known)
        for name in names
        if values.flag(known.DECLARED[name].option)
    }


def search_options(values: Values) -> ConvertOptions:
    """The search that a command line with the options of `SEARCH` asks for."""
    from gsym.conversion.options import ConvertOptions

    return ConvertOptions(**convert_keywords(values, *SEARCH))


def _keyword(values: Values, name: str, known: Any) -> Any:
    declared = known.DECLARED[name]
    kind, option = declared.kind, declared.option
    if kind == known.FLAG:
        return not known.ConvertOptions._field_defaults[name]  # is given
    if kind == known.SIZE:
        return values.size(option)
    if kind == known.HEX:
        return hex_bytes(option, values.text(option))
    if kind in known.MANY:
        readers = {known.PAIRS: read_pair, known.PATTERNS: _pattern}
        read = (readers | {known.RANGES: _address_range}).get(kind)
        texts = values.texts(option)
        if name in _CHECKS:
            for text in texts:
                _CHECKS[name](option, text)
        return texts if read is None else [read(option, text) for text in texts]
    if declared.choices:
        values.choice(option)
    if kind == known.NUMBER:
        return values.number(option, minimum=1, end=_UINT32_END)
    if kind == known.PATH:
        os.stat(values.text(option) or "")  # also where it is not needed
    return values.text(option)


def _check_folder(option: str, path: str) -> None:
    """Warn of a folder that does not exist: nothing will be found there."""
    if not os.path.isdir(path):
        warn(f"option '{option}': no folder {path}")


def _check_url(option: str, text: str) -> None:
    if "://" not in text:
        raise UsageError(f"option '{option}': '{text}' is not a URL")


_CHECKS = {"debug_file_directories": _check_folder, "symbol_servers": _check_url}


def _pattern(option: str, text: str) -> str:
    try:
        re.compile(text)
    except re.error as error:
        raise UsageError(f"option '{option}': '{text}': {error}") from None
    return text


def read_pair(option: str, text: str) -> tuple[str, str]:
    """The two prefixes of a value `OLD=NEW` of *option*."""
    from gsym.arguments import rule_of

    with usage_errors():
        return rule_of(f"option '{option}'", text)


def _address_range(option: str, text: str) -> tuple[int, int]:
    """Start and end of a value `START-END` of *option*."""
    start, dash, end = text.partition("-")
    what = f"option '{option}'"
    if not dash:
        raise UsageError(f"{what}: '{text}': expected START-END")
    bounds = parse_number(start, what), parse_number(end, what)
    if not bounds[0] < bounds[1] < UINT64_END:
        raise UsageError(f"{what}: '{text}' is empty or exceeds 64 bits")
    return bounds
