"""Modules of a store: the key of one, its entry, the result of a search."""

from __future__ import annotations

from gsym.conversion.identity import read_debug_id
from gsym.records import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gsym.conversion.identity import ModuleIdentity


class ModuleKey(NamedTuple):
    """Names and ids of a module, as the asker has them; "" for what is not known.

    Either id is enough to find a module in a store. A remote source may need a
    name as well.

    Attributes:
        debug_file: Name of the file with debug information: `xul.pdb`,
            `libc.so.6`. No folder.
        debug_id: In Breakpad's form: GUID and age, all digits upper-case.
        code_file: Name of the binary: `xul.dll`. No folder.
        code_id: Upper-case: ELF build id or LC_UUID as hexadecimal digits; of a
            PE file time stamp and size of the image.
    """

    debug_file: str = ""
    debug_id: str = ""
    code_file: str = ""
    code_id: str = ""


def key_of_debug_id(debug_file: str, debug_id: str) -> ModuleKey:
    """The key of a module as symbolication requests and Breakpad's paths name it.

    Args:
        debug_file: Name of the file, without folder.
        debug_id: In any of the forms that `read_debug_id` takes.

    Raises:
        ValueError: *debug_id* is no debug id.
    """
    return ModuleKey(debug_file, read_debug_id(debug_id).upper())


def key_of_build_id(build_id: bytes) -> ModuleKey:
    """The key of a module as debuginfod names it, or as a log does by its markup.

    Raises:
        TypeError: *build_id* is not bytes.
    """
    if not isinstance(build_id, bytes):
        reason = f"build_id: expected bytes, not {build_id!r} (see bytes.fromhex)"
        raise TypeError(reason)
    return ModuleKey(code_id=build_id.hex().upper())


class Quality(NamedTuple):
    """How much a GSYM file knows; the greater of two is the richer one.

    Attributes:
        level: 0: names of functions only; 1: source lines too; 2: inlined calls
            too.
        functions: How many of them.
    """

    level: int
    functions: int


class Entry(NamedTuple):
    """A module in a store.

    Attributes:
        path: Its GSYM file.
        identity: Names, ids, operating system and architecture.
        uuid: The whole identifier of the binary, which may be longer than that in
            the GSYM file; b"" for none.
        quality: Tells the richer of two files of one module.
        source: Where its debug information is from: path or URL.
        size: Bytes of all its files.
        added: When it came, in seconds since 1970.
        originals: Files it was made from and that are kept, by kind: "sym" for a
            Breakpad file, "ranges" for a symbfile in a zstd stream, "debuginfo"
            for any other.
        missing: Messages on files of the binary that could not be read when it was
            converted, such as its split units.
    """

    path: str
    identity: ModuleIdentity
    uuid: bytes = b""
    quality: Quality = Quality(0, 0)
    source: str = ""
    size: int = 0
    added: float = 0.0
    originals: dict[str, str] = {}  # noqa: RUF012
    missing: tuple[str, ...] = ()


class Attempt(NamedTuple):
    """What one source said of a module.

    Attributes:
        source: Its name, as `Source.name` has it.
        outcome: "found"; "missing": it does not have the module; "failed": it gave
            no answer; "refused": what it gave is damaged or of another module.
        detail: What was asked, or why it is of no use.
        seconds: How long it took: fetching, then converting.
        size: Bytes that were fetched.
    """

    source: str
    outcome: str
    detail: str = ""
    seconds: float = 0.0
    size: int = 0


class Resolution(NamedTuple):
    """The answer to the search for a module.

    Attributes:
        entry: The GSYM file with what is known of it; None for a miss.
        attempts: Which sources were asked, in order, and what each said. With a
            remembered miss they are those of the search that is remembered.
        is_cached: Whether the answer was known: the module was in the store, or
            its miss was remembered.
    """

    entry: Entry | None
    attempts: tuple[Attempt, ...] = ()
    is_cached: bool = False
