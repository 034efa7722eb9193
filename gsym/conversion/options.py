"""The options of a conversion, each declared once.

`ConvertOptions` has their names, types and defaults, `DECLARED` what belongs to them:
the spelling on a command line, the help, the choices, the flag of the engine. The verbs
make their options of these, `read_options` checks the keywords of `gsym.convert`, and a
test compares its signature with them.
"""

from __future__ import annotations

from gsym import arguments
from gsym.containers import DEBUG_DIRECTORIES
from gsym.engine.native import uuid_bytes
from gsym.model import UINT64_MAX
from gsym.modules.key import MOST_ID_BYTES
from gsym.records import NamedTuple

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from collections.abc import Callable
    from re import Pattern
    from typing import Any

# How a value is spelled: a switch; numbers; text; bytes in hexadecimal; paths; pairs
# OLD=NEW; regular expressions; ranges START-END of addresses; several texts.
FLAG, NUMBER, SIZE, TEXT, HEX, PATH, PATHS, PAIRS, PATTERNS, RANGES, TEXTS = range(11)
MANY = frozenset({PATHS, PAIRS, PATTERNS, RANGES, TEXTS})


class Declared(NamedTuple):
    """An option besides its name, type and default."""

    kind: int  # how its value is spelled: FLAG, NUMBER, ..
    help: str = ""  # its help there
    metavar: str = ""  # its value in the help
    short: str = ""  # its letter
    choices: tuple[str, ...] = ()  # the texts that it may have, the default first
    engine: str = ""  # the flag of the engine that it sets
    # its name on a command line; "" where it has none. By default that of the keyword,
    # `call_sites` and `--call-sites`, or for what is true unless it is given, `index`
    # and `--no-index`; a keyword in the plural may be an option in the singular, which
    # is given several times
    option: str = ""


_declarations: list[Declared] = []


def _declared(kind: int, *fields: Any, default: Any = None, **more: Any) -> Any:
    """Declare an option of `ConvertOptions`; returns its default, of a flag False.

    The other arguments are the fields of `Declared`.
    """
    _declarations.append(Declared(kind, *fields, **more))
    return False if kind == FLAG and default is None else default


class ConvertOptions(NamedTuple):
    """The options of a conversion; `gsym.convert` explains them."""

    arch: str | None = _declared(TEXT, "slice of a fat file, such as arm64", "NAME")
    member: str | None = _declared(TEXT, "object file of an archive", "NAME")
    threads: int | None = _declared(
        NUMBER, "worker threads (default: one per core)", "N", short="-j"
    )
    output_version: int | None = _declared(
        NUMBER,
        "version of the format, 1 or 2 (default: that of the input, else 1)",
        "V",
        choices=("1", "2"),
    )
    byteorder: str | None = _declared(
        TEXT,
        "byte order of the output, little or big (default: that of the input)",
        "ORDER",
        choices=("little", "big"),
    )
    uuid: bytes | None = _declared(HEX, "id of a binary that has no build id", "HEX")
    merged_functions: bool = _declared(
        FLAG,
        "keep identical functions folded to one address, all with their lines",
        engine="GSYM_CONVERT_KEEP_REPEATED",
    )
    call_sites: bool = _declared(
        FLAG, "keep call sites", engine="GSYM_CONVERT_CALL_SITES"
    )
    call_sites_yaml: str | None = _declared(
        PATH, "add call sites from a YAML file, as llvm-gsymutil takes it", "FILE"
    )
    keep_functions: tuple[str | Pattern[str], ...] = _declared(
        PATTERNS,
        "keep only functions whose linkage name matches this Python regular expression",
        "REGEX",
        default=(),
    )
    drop_functions: tuple[str | Pattern[str], ...] = _declared(
        PATTERNS,
        "drop functions whose linkage name matches, also of those that are kept",
        "REGEX",
        default=(),
    )
    address_ranges: tuple[tuple[int, int], ...] = _declared(
        RANGES,
        "keep only functions overlapping [START, END)",
        "START-END",
        option="--address-range",
        default=(),
    )
    segment_size: int | None = _declared(
        SIZE, "split into files of about SIZE bytes, named OUT-0xADDRESS", "SIZE"
    )
    index: bool = _declared(  # type: ignore[assignment]  # a method of tuples
        FLAG,
        "omit the index of large functions, which makes lookups in them faster; other "
        "readers ignore it",
        default=True,
    )
    identity: bool = _declared(
        FLAG,
        "omit the name and the ids of the module, by which stores find the file; "
        "other readers ignore them",
        default=True,
    )
    data_symbols: bool = _declared(
        FLAG,
        "also keep the symbols of variables, for 'gsym filter'; other readers ignore "
        "them",
    )
    embedded_sources: bool = _declared(
        FLAG,
        "also keep source files that the debug information has, and where it says that "
        "others are (Source Link, srcsrv), for --context; other readers ignore them",
    )
    no_symbols: bool = _declared(FLAG, "omit functions that are only in a symbol table")
    path_map: tuple[tuple[str, str], ...] = _declared(
        PAIRS, "replace the prefix OLD of source paths by NEW", "OLD=NEW", default=()
    )
    verbose: bool = _declared(
        FLAG,
        "print each warning with the offset of its DIE or its line, and where "
        "code sections of a relocatable file are placed",
        short="-v",
        engine="GSYM_CONVERT_KEEP_WARNINGS",
    )
    if_changed: bool = _declared(FLAG, "do not rewrite an output that would not change")
    force: bool = _declared(
        FLAG,
        "replace an output of the same build that has more detail: lines, inlined "
        "calls",
    )
    image_code: bool = _declared(FLAG, default=True)
    full_walk: bool = _declared(FLAG, engine="GSYM_CONVERT_FULL_WALK")
    pclntab: str = _declared(
        TEXT,
        "read the function table (pclntab) of a Go binary: auto (default: for "
        "functions without debug information), only (instead of debug information) "
        "or never",
        "WHEN",
        choices=("auto", "only", "never"),
        default="auto",
    )
    debug_file_directories: tuple[str, ...] = _declared(
        PATHS,
        "folder of debug files, dSYM bundles or PDBs (default: /usr/lib/debug)",
        "DIR",
        option="--debug-file-directory",
        default=DEBUG_DIRECTORIES,
    )
    debuginfod: bool = _declared(
        FLAG, "fetch missing debug files from the servers in DEBUGINFOD_URLS"
    )
    symbol_servers: tuple[str, ...] = _declared(
        TEXTS,
        "fetch a missing PDB from this server with Microsoft's layout",
        "URL",
        option="--symbol-server",
        default=(),
    )
    dwp: str | None = _declared(
        PATH,
        "package with the split units (default: INPUT.dwp, else .dwo files)",
        "FILE",
    )
    symbol_table: str | None = _declared(PATH)
    symbol_stubs: str | None = _declared(PATH)
    object_prefix_map: tuple[tuple[str, str], ...] = _declared(
        PAIRS,
        "replace the prefix OLD of the paths of object files in a debug map by NEW",
        "OLD=NEW",
        default=(),
    )


DECLARED = dict(zip(ConvertOptions._fields, _declarations, strict=True))
for _name, _each in DECLARED.items():
    if _each.help and not _each.option:
        _prefix = "--no-" if ConvertOptions._field_defaults[_name] is True else "--"
        DECLARED[_name] = _each._replace(option=_prefix + _name.replace("_", "-"))


def read_options(given: dict[str, Any]) -> ConvertOptions:
    """The keywords of `gsym.convert`, checked and in their final types.

    Raises:
        TypeError: A single string was given where several are expected.
        ValueError: One is out of its range, or not one of its choices.
    """
    read: dict[str, Any] = {}
    for name, declared in DECLARED.items():
        value, choices = given[name], declared.choices
        if value is None and ConvertOptions._field_defaults[name] is None:
            read[name] = None
            continue
        if choices and str(value) not in choices:
            expected = " or ".join(choices)
            shown = arguments.shown(value)
            raise ValueError(f"{name}: expected {expected}, not {shown}")
        read[name] = _READERS[declared.kind](name, value)
    return ConvertOptions(**read)


def complete_options(given: dict[str, Any]) -> ConvertOptions:
    """Complete some keywords by the defaults of the others."""
    unknown = given.keys() - DECLARED.keys()
    if unknown:
        raise TypeError(f"unexpected keyword argument {min(unknown)!r}")
    return read_options(ConvertOptions()._asdict() | given)


_READERS: dict[int, Callable[[str, Any], Any]] = {
    FLAG: arguments.flag_of,
    NUMBER: lambda name, value: arguments.integer_of(name, value, 1),
    SIZE: lambda name, value: arguments.integer_of(name, value, 1, UINT64_MAX),
    TEXT: arguments.text_of,
    HEX: lambda _, value: _build_id(value),
    PATH: arguments.path_of,
    PATHS: arguments.paths_of,
    PAIRS: arguments.pairs_of,
    PATTERNS: arguments.patterns_of,
    RANGES: lambda name, value: arguments.ranges_of(name, value, UINT64_MAX),
    TEXTS: arguments.strings_of,
}


def _build_id(value: object) -> bytes:
    found = uuid_bytes(value)
    if len(found) > MOST_ID_BYTES:
        expected = f"expected at most {MOST_ID_BYTES} bytes, not {len(found)}"
        raise ValueError(f"uuid: {expected}: {arguments.shown(value)}")
    return found


def engine_flags(options: ConvertOptions, library: Any) -> int:
    """The flags of the engine that options set."""
    return sum(
        int(getattr(library, each.engine))
        for name, each in DECLARED.items()
        if each.engine and getattr(options, name)
    )
