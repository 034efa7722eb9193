"""Modules of a store: the key of one, its entry, the result of a search."""

from __future__ import annotations

from contextlib import suppress

from gsym.conversion.identity import read_debug_id
from gsym.records import NamedTuple
from gsym.store.layout import build_id_digits

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gsym.conversion.identity import ModuleIdentity


class ModuleKey(NamedTuple):
    """Names and ids of a module to search for; "" if not known.

    Either id is enough to find a module in a store. A remote source may need a name as
    well.

    Attributes:
        debug_file: Name of the file with debug information: `xul.pdb`,
            `libc.so.6`. No folder.
        debug_id: In Breakpad's format: GUID and age, all digits upper-case.
        code_file: Name of the binary: `xul.dll`. No folder.
        code_id: In upper case: ELF build id or LC_UUID in hexadecimal; for a PE file
            its time stamp and image size.
        path: Where a log or a profile says that its file is, for searches on the
            machine of the user; a file there is used only if it has the id.
    """

    debug_file: str = ""
    debug_id: str = ""
    code_file: str = ""
    code_id: str = ""
    path: str = ""


def key_of_debug_id(debug_file: str, debug_id: str) -> ModuleKey:
    """The key of a module, as in symbolication requests and Breakpad's paths.

    Args:
        debug_file: Name of the file, without folder.
        debug_id: In any format that `read_debug_id` accepts.

    Raises:
        ValueError: *debug_id* is invalid.
    """
    return ModuleKey(debug_file, read_debug_id(debug_id).upper())


def key_of_build_id(build_id: bytes, path: str = "") -> ModuleKey:
    """The key of a module, as used by debuginfod and symbolizer markup.

    Args:
        build_id: Its build id.
        path: See `ModuleKey`.

    Raises:
        TypeError: *build_id* is not bytes.
    """
    if not isinstance(build_id, bytes):
        reason = f"build_id: expected bytes, not {build_id!r} (see bytes.fromhex)"
        raise TypeError(reason)
    return ModuleKey(code_id=build_id.hex().upper(), path=path)


def keys_of_text(text: str) -> list[ModuleKey]:
    """Possible keys of a module, the most likely first.

    Args:
        text: A debug id, a build id, or NAME/ID, where the id may be a code id. Any
            other text has no key.
    """
    name, _, identifier = text.rpartition("/")
    keys = []
    if build_id_digits(identifier):
        keys.append(ModuleKey(debug_file=name, code_id=identifier))
    with suppress(ValueError):
        keys.append(ModuleKey(debug_file=name, debug_id=read_debug_id(identifier)))
    if name:
        keys.append(ModuleKey(code_file=name, code_id=identifier))
    return keys


BEST_LEVEL = 2


class Quality(NamedTuple):
    """How much a GSYM file contains; the greater value is better.

    Attributes:
        level: 0: function names only; 1: also source lines; 2: also inlined calls.
        functions: Number of functions.
    """

    level: int
    functions: int


class Entry(NamedTuple):
    """A module in a store.

    Attributes:
        path: Its GSYM file.
        identity: Names, ids, operating system and architecture.
        uuid: The complete identifier of the binary, which may be longer than the UUID
            in the GSYM file; b"" for none.
        quality: Decides which of two files of one module is better.
        source: Where its debug information is from: path or URL.
        size: Total bytes of its files.
        added: When it was added, in seconds since 1970.
        originals: The stored files that it was made from, by kind: "sym" for a Breakpad
            file, "ranges" for a symbfile in a zstd stream, "executable" for a binary
            without debug information, "debuginfo" for any other.
        missing: Messages about companion files that could not be read when it was
            converted, such as split units.
        gsym_size: Bytes of its GSYM file; 0: not known.
        wanted: Paths at which these may appear.
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
    gsym_size: int = 0
    wanted: tuple[str, ...] = ()


class Attempt(NamedTuple):
    """The answer of one source about a module.

    Attributes:
        source: `Source.name`.
        outcome: "found"; "missing": it does not have the module; "failed": it gave
            no answer; "refused": its file is damaged or of another module.
        detail: The location of the file, or the reason of the failure.
        seconds: Time for fetching and converting.
        size: Bytes fetched.
    """

    source: str
    outcome: str
    detail: str = ""
    seconds: float = 0.0
    size: int = 0


class Resolution(NamedTuple):
    """The result of the search for a module.

    Attributes:
        entry: The module; None if it was not found.
        attempts: The answers of the sources, in order. For a module in the negative
            cache they are those of the recorded search.
        is_cached: Whether the module was in the store or in the negative cache.
    """

    entry: Entry | None
    attempts: tuple[Attempt, ...] = ()
    is_cached: bool = False
