"""What a Breakpad file says of its module: the MODULE and INFO records in words.

A debug id is a GUID as Windows prints it: the first three of its fields are numbers.
Where it is made of other bytes, those of a GNU build id or of a CodeView record, they
stand in the order of a little-endian machine, so the fields are reversed here to have
them back. An LC_UUID of Apple's systems is printed byte by byte.
"""

from __future__ import annotations

from gsym.records import NamedTuple

__all__ = ["Module", "is_apple", "read_module", "read_module_words"]

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable


class Module(NamedTuple):
    """The binary that a Breakpad file was made from.

    Attributes:
        os: Operating system, "" where there is no MODULE record.
        architecture: As LLVM's target triples name it.
        debug_id: GUID and age in hexadecimal digits.
        name: File of the debug information.
        build_id: The identifier that the binary itself holds: GNU build id,
            LC_UUID or GUID of the CodeView record; b"" for none.
    """

    os: str
    architecture: str
    debug_id: str
    name: str
    build_id: bytes


_APPLE = {"mac", "macos", "ios", "tvos", "watchos", "visionos"}
_TRIPLE_ARCHITECTURES = {
    "x86": "i386",
    "amd64": "x86_64",
    "arm64": "aarch64",
    "ppc": "powerpc",
    "ppc64": "powerpc64",
}
_GUID_DIGITS = 32
_GUID_FIELDS = (slice(0, 4), slice(4, 6), slice(6, 8))
_MODULE_FIELDS = 4


def read_module(records: Iterable[bytes]) -> Module:
    """The module that MODULE and INFO records describe, in any order.

    Args:
        records: Lines; others among them are left alone.
    """
    said = read_module_words(records)
    system, architecture, debug_id, code_id, name, _ = said
    return Module(
        system,
        _architecture(architecture, is_apple=is_apple(system)),
        debug_id,
        name,
        _build_id(debug_id, code_id, is_apple=is_apple(system)),
    )


def read_module_words(records: Iterable[bytes]) -> tuple[str, str, str, str, str, str]:
    """OS, architecture, debug id, code id, name and name of the binary, as they stand.

    Args:
        records: Lines, as for `read_module`.

    Returns:
        "" for what they do not say.
    """
    module: tuple[str, ...] = ("", "", "")
    name = code_id = code_file = ""
    for record in records:
        words = record.decode("utf-8", "replace").split()
        if words[:1] == ["MODULE"] and len(words) >= _MODULE_FIELDS:
            module = tuple(words[1:_MODULE_FIELDS])
            name = " ".join(words[_MODULE_FIELDS:])
        elif words[:2] == ["INFO", "CODE_ID"] and not code_id:
            code_id = "".join(words[2:3])
            code_file = " ".join(words[3:])
    system, architecture, debug_id = module
    return system, architecture, debug_id, code_id, name, code_file


def is_apple(system: str) -> bool:
    """Whether an operating system has Mach-O files, which are told by an LC_UUID."""
    return system.lower() in _APPLE


def _architecture(name: str, *, is_apple: bool) -> str:
    # Apple's own name for it stands in its triples.
    return (
        name if is_apple and name == "arm64" else _TRIPLE_ARCHITECTURES.get(name, name)
    )


def _build_id(debug_id: str, code_id: str, *, is_apple: bool) -> bytes:
    """The identifier in the binary.

    A code id that opens with the bytes of the debug id is all of a build id that the
    debug id holds 16 bytes of. Other code ids, such as those of PE files, are none.
    """
    guid = _hex(debug_id.replace("-", "")[:_GUID_DIGITS])
    if len(guid) * 2 != _GUID_DIGITS or not any(guid):
        return b""
    if not is_apple:
        fields = bytearray(guid)
        for field in _GUID_FIELDS:
            fields[field] = fields[field][::-1]
        guid = bytes(fields)
    whole = _hex(code_id)
    return whole if whole and whole[:16].ljust(16, b"\0") == guid else guid


def _hex(digits: str) -> bytes:
    """The bytes of an even number of hexadecimal digits, else none."""
    try:
        return bytes.fromhex(digits)
    except ValueError:
        return b""
