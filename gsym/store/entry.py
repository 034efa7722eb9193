"""A module in a store: plain records."""

from __future__ import annotations

from gsym.records import NamedTuple

__all__ = ["Entry", "Quality"]

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gsym.module_identity import ModuleIdentity


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
