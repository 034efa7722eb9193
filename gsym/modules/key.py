"""The names and ids of a module, and the rules by which two modules are one build.

docs/identity.md explains the ids and the rules to users. `compare` is their only
implementation: finders, stores, caches and readers call it.
"""

from __future__ import annotations

from gsym.records import NamedTuple

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from collections.abc import Iterable


class ModuleKey(NamedTuple):
    """Names and ids of a module; a field that is not known is "".

    A request names the module that it wants by such a record, a file the module that it
    belongs to.

    Attributes:
        debug_file: Name of the file with debug information, without folder: `xul.pdb`,
            `libc.so.6`.
        debug_id: In Breakpad's format: 32 digits of a GUID, then the digits of the age.
            If the age is not known, it has 32 digits.
        code_file: Name of the binary, without folder: `xul.dll`. The key of a file has
            it only if it differs from *debug_file*, as for PE.
        code_id: Build id of an ELF file or LC_UUID, in hexadecimal; time stamp and
            image size of a PE file.
        path: Path of the file in a log or a profile, for searches on this machine.
        os: Operating system as Breakpad writes it: "Linux", "mac", "windows".
        architecture: As Breakpad writes it: "x86_64", "arm64".
        go_id: Build id that the linker of Go writes, as `go tool buildid` prints it.
        code_hash: Hash of the machine code, as `hash_of_code` makes it.
    """

    debug_file: str = ""
    debug_id: str = ""
    code_file: str = ""
    code_id: str = ""
    path: str = ""
    os: str = ""
    architecture: str = ""
    go_id: str = ""
    code_hash: str = ""


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

    @property
    def text(self) -> str:
        """The source and the detail; without a detail of its own, the outcome."""
        detail = "" if self.detail == self.source else self.detail
        return f"{self.source}: {detail or self.outcome}"


def tried_text(attempts: Iterable[Attempt]) -> str:
    """The attempts to find a module, in one line."""
    return "; ".join(each.text for each in attempts)


# ---- ids

_GUID_SIZE = 16
GUID_DIGITS = 2 * _GUID_SIZE
_MAX_AGE_DIGITS = 8
_STAMP_DIGITS = 8  # the time stamp at the start of the code id of a PE file
_CUT_DIGITS = 40  # perf, BPF and GSYM version 1 keep 20 bytes of a build id
_NO_AGE = "0"  # in debug ids of ELF and Mach-O files, which have no age
_WINDOWS = "windows"
_APPLE = frozenset({"mac", "macos", "ios", "tvos", "watchos", "visionos"})


def elf_debug_id(build_id: bytes, byteorder: str) -> str:
    """Debug id of an ELF file: a GUID of the first 16 bytes of its build id.

    Args:
        build_id: Its build id, which is filled up with zeros if it is shorter.
        byteorder: That of the file, "little" or "big". The bytes are read as the fields
            of a GUID, which are numbers in this order.
    """
    guid = build_id[:_GUID_SIZE].ljust(_GUID_SIZE, b"\0")
    return print_guid(guid, is_little=byteorder == "little") + _NO_AGE


def macho_debug_id(uuid: bytes) -> str:
    """Debug id of a Mach-O file: its LC_UUID unchanged."""
    return uuid.hex().upper() + _NO_AGE


def codeview_debug_id(guid: bytes, age: int | None) -> str:
    """Debug id of a PE file and its PDB.

    *guid* and *age* are those of its CodeView record.
    """
    return print_guid(guid, is_little=True) + ("" if age is None else f"{age:x}")


def pe_code_id(time_stamp: int, size_of_image: int) -> str:
    """Code id of a PE file, from its COFF header and its optional header."""
    return f"{time_stamp:08X}{size_of_image:x}"


def print_guid(guid: bytes, *, is_little: bool) -> str:
    """Digits of a GUID: numbers of 4, 2 and 2 bytes, then 8 bytes."""
    fields = [guid[:4], guid[4:6], guid[6:8]]
    if is_little:
        fields = [field[::-1] for field in fields]
    return (b"".join(fields) + guid[8:]).hex().upper()


def is_apple(os: str) -> bool:
    """Whether *os*, as Breakpad writes it, is one of Apple, with Mach-O files."""
    return os.lower() in _APPLE


def is_windows(os: str) -> bool:
    """Whether *os*, as Breakpad writes it, is Windows."""
    return os.lower() == _WINDOWS


def uuid_debug_id(uuid: bytes, os: str, byteorder: str) -> str:
    """Debug id of a module, made from the UUID of its GSYM file.

    Returns:
        "" if there is no UUID, or if it is none of this system. For Windows 32 digits,
        since a GSYM file has no age.
    """
    if is_absent(uuid.hex()):
        return ""
    if is_windows(os):
        return codeview_debug_id(uuid, None) if len(uuid) == _GUID_SIZE else ""
    if is_apple(os):
        return macho_debug_id(uuid)
    return elf_debug_id(uuid, byteorder)


def uuid_code_id(uuid: bytes, os: str) -> str:
    """Code id of a module, made from the UUID of its GSYM file.

    Returns:
        "" for a PE file, whose UUID is a GUID, and for 16 bytes of an ELF file, which
        may be the part of a build id that is in a debug id.
    """
    if is_apple(os) or (not is_windows(os) and len(uuid) != _GUID_SIZE):
        return uuid.hex().upper()
    return ""


NO_KEY = ModuleKey()  # of a module of which nothing is known


def key_of_uuid(uuid: bytes, byteorder: str, wanted: ModuleKey = NO_KEY) -> ModuleKey:
    """Key of a GSYM file that has a UUID and does not name its module.

    The kind of the UUID is not known: it may be of any system, and in a file of another
    tool the byte order may differ from that of the binary.

    Returns:
        The key that fits *wanted*, if there is one; otherwise that of an ELF file, or
        of the system in *wanted*.
    """
    systems = [wanted.os] if wanted.os else ["Linux", "mac", _WINDOWS]
    keys = [
        ModuleKey(
            os=each,
            debug_id=uuid_debug_id(uuid, each, order),
            code_id=uuid_code_id(uuid, each),
        )
        for order in (byteorder, *({"little", "big"} - {byteorder}))
        for each in systems
    ]
    for outcome in (SAME, PART):
        for each in keys:
            if compare(wanted, each).outcome == outcome:
                return each
    return keys[0]


def fits_uuid(key: ModuleKey, uuid: bytes) -> bool:
    """Whether a GSYM file that names this module may have this UUID.

    The UUID is a GUID for Windows. Otherwise it is a build id or LC_UUID, or the first
    bytes of one.
    """
    if not uuid:
        return True
    if is_windows(key.os):
        guid = key.debug_id[:GUID_DIGITS].upper()
        return is_absent(guid) or guid == print_guid(uuid[:_GUID_SIZE], is_little=True)
    digits = uuid.hex().upper()
    if key.code_id:
        return key.code_id.upper().startswith(digits)
    debug_id = key.debug_id.upper()
    return is_absent(debug_id) or debug_id in debug_ids_of_build_id(digits)


def debug_ids_of_build_id(build_id: str) -> tuple[str, ...]:
    """Possible debug ids of a module with this build id or LC_UUID.

    Args:
        build_id: In hexadecimal. The system and the byte order are not known; an
            LC_UUID is printed as a big-endian file prints a build id.
    """
    identifier = bytes.fromhex(build_id)
    return elf_debug_id(identifier, "little"), elf_debug_id(identifier, "big")


def read_debug_id(text: str) -> str:
    """Read a debug id, with or without dashes, and return it in Breakpad's form.

    The age is written without zeros before it. A missing age is 0.

    Raises:
        ValueError: *text* is not a debug id.
    """
    digits = text.replace("-", "")
    guid, age = digits[:GUID_DIGITS], digits[GUID_DIGITS:] or _NO_AGE
    try:
        is_sound = len(bytes.fromhex(guid)) == _GUID_SIZE and int(age, 16) >= 0
    except ValueError:
        is_sound = False
    is_plain = digits.isascii() and digits.isalnum()
    if not is_sound or not is_plain or len(age) > _MAX_AGE_DIGITS:
        raise ValueError(f"'{text[:80]}' is not a debug id")
    return guid.upper() + (age.lower().lstrip("0") or _NO_AGE)


_GO_HASH_SIZE, _MOST_GO_HASHES = 20, 4
_MAX_GO_DIGITS = 2 * (_MOST_GO_HASHES * (_GO_HASH_SIZE + 1) - 1)


def read_go_id(text: str) -> str:
    """Read a build id of Go, or the hexadecimal digits of its bytes.

    It consists of 2 to 4 hashes in base 64. The option `-buildid` of Go's linker sets
    any other text, such as Bazel's "redacted", which many programs have in common.

    Returns:
        "" if *text* does not consist of hashes.
    """
    if len(text) <= _MAX_GO_DIGITS and "/" not in text:
        try:
            text = bytes.fromhex(text).decode("ascii")
        except ValueError:
            return ""
    hashes = text.split("/")
    is_sound = 1 < len(hashes) <= _MOST_GO_HASHES and all(
        len(each) == _GO_HASH_SIZE
        and each.isascii()
        and each.replace("-", "_").replace("_", "0").isalnum()
        for each in hashes
    )
    return text if is_sound else ""


def is_absent(identifier: str) -> bool:
    """Whether an id is empty or consists of zeros. For code ids see `code_id_of`."""
    return not identifier.strip("0-")


def has_id(key: ModuleKey) -> bool:
    """Whether a key has an id, and not only names."""
    if not (key.debug_id or key.code_id or key.go_id):
        return False
    ids = key.debug_id[:GUID_DIGITS], code_id_of(key), key.go_id
    return not all(map(is_absent, ids))


def search_terms(key: ModuleKey) -> set[str]:
    """Terms by which an index of modules finds a module.

    If `compare` finds that two keys are `SAME` or `PART`, they have a term in common.
    """
    code_id = code_id_of(key)
    terms = {each[:GUID_DIGITS] for each in _debug_ids(key, is_pe=is_windows(key.os))}
    terms |= {code_id, code_id[:_CUT_DIGITS], key.go_id, key.code_hash}
    return {each for each in terms if not is_absent(each)}


# ---- keys of requests


def key_of_debug_id(debug_file: str, debug_id: str) -> ModuleKey:
    """The key of a module, as symbolication requests and Breakpad's paths name it.

    Args:
        debug_file: Name of the file, without folder.
        debug_id: In any format that `read_debug_id` accepts.

    Raises:
        TypeError: One of them is not a string.
        ValueError: *debug_id* is invalid.
    """
    for name, text in ("debug_file", debug_file), ("debug_id", debug_id):
        if not isinstance(text, str):
            raise TypeError(f"{name}: expected a string, not {text!r}")
    return ModuleKey(debug_file, read_debug_id(debug_id).upper())


def key_of_build_id(build_id: bytes, path: str = "") -> ModuleKey:
    """The key of a module, as used by debuginfod and symbolizer markup.

    Args:
        build_id: Its build id.
        path: See `ModuleKey`.

    Raises:
        TypeError: *build_id* is not bytes.
    """
    if not isinstance(build_id, (bytes, bytearray, memoryview)):
        reason = f"build_id: expected bytes, not {build_id!r} (see bytes.fromhex)"
        raise TypeError(reason)
    return ModuleKey(code_id=build_id.hex().upper(), path=path)


def keys_of_text(text: str) -> list[ModuleKey]:
    """Possible keys of a module, the most likely first.

    The text is a debug id, a build id, a build id of Go, or NAME/ID, where the id may
    be a code id. Any other text has no key.
    """
    if go_id := read_go_id(text):
        return [ModuleKey(go_id=go_id)]
    name, _, identifier = text.rpartition("/")
    keys = []
    if build_id_digits(identifier):
        keys.append(ModuleKey(debug_file=name, code_id=identifier))
    try:
        debug_id = read_debug_id(identifier)
    except ValueError:
        debug_id = ""
    if debug_id:
        keys.append(ModuleKey(debug_file=name, debug_id=debug_id))
    if name:
        keys.append(ModuleKey(code_file=name, code_id=identifier))
    return keys


# ---- two modules

SAME = "same"  # an id that identifies a build is equal, and no id differs
PART = "part"  # only a part of such an id is known to be equal, and no id differs
UNKNOWN = "unknown"  # there is no id that both have
OTHER = "other"  # an id differs
OUTCOMES = SAME, PART, UNKNOWN, OTHER  # the most certain first
NAME_ALONE = "found by its name alone"  # the reason of UNKNOWN
_PRECEDENCE = OTHER, SAME, PART, UNKNOWN  # of the results for several ids


class Comparison(NamedTuple):
    """Whether two keys are of one build."""

    outcome: str  # `SAME`, `PART`, `UNKNOWN` or `OTHER`
    # reason why it is not `SAME`, a sentence about the second key: "its build id is 2c,
    # not 2d"
    reason: str = ""
    # whether it is `SAME` only because the code is equal. The lines may be those of
    # another build then
    is_by_code: bool = False

    @property
    def is_refused(self) -> bool:
        """Whether the second module is another build."""
        return self.outcome == OTHER


_NOT_COMPARED = Comparison(UNKNOWN, "there is no id to compare")
_AGE_UNKNOWN = Comparison(PART, "the age of its debug id is not known")


def compare(wanted: ModuleKey, found: ModuleKey) -> Comparison:
    """Whether *found* is the build that *wanted* describes.

    Ids that both keys have are compared. One that differs makes it another build; one
    that is equal and whole makes it the same build. Names are not compared.
    """
    code = _compare_code(wanted, found)
    if code.outcome == SAME:
        wanted, found = _without_weak_ids(wanted, found)
    results = (
        _compare_go_ids(wanted, found),
        _compare_code_ids(wanted, found),
        _compare_debug_ids(wanted, found),
        code,
    )
    return min(results, key=lambda each: _PRECEDENCE.index(each.outcome))


def _without_weak_ids(*keys: ModuleKey) -> tuple[ModuleKey, ...]:
    """The keys of two modules of equal code, without ids that tell less than the code.

    For PE files, these are time stamp and size if they differ, since `strip` changes
    them. For ELF files it is the debug id: it is a part of the build id, or is made of
    the first page of the code.
    """
    systems = {each.os for each in keys} - {""}
    if any(map(is_windows, systems)):
        is_equal = len({each.code_id.upper() for each in keys}) == 1
        return keys if is_equal else tuple(each._replace(code_id="") for each in keys)
    if not systems or any(map(is_apple, systems)):
        return keys
    return tuple(each._replace(debug_id="") for each in keys)


def _compare_code(wanted: ModuleKey, found: ModuleKey) -> Comparison:
    """The result for hashes of the code. Other versions made longer ones."""
    if not wanted.code_hash or len(wanted.code_hash) != len(found.code_hash):
        return _NOT_COMPARED
    if wanted.code_hash == found.code_hash:
        return Comparison(SAME, is_by_code=True)
    return Comparison(OTHER, "its code differs")


def _compare_go_ids(wanted: ModuleKey, found: ModuleKey) -> Comparison:
    """The result for Go build ids. Equal texts that are no hashes tell nothing."""
    if is_absent(wanted.go_id) or is_absent(found.go_id):
        return _NOT_COMPARED
    if wanted.go_id == found.go_id:
        return Comparison(SAME) if read_go_id(found.go_id) else _NOT_COMPARED
    return Comparison(OTHER, f"its Go build id is {found.go_id}, not {wanted.go_id}")


def _compare_code_ids(wanted: ModuleKey, found: ModuleKey) -> Comparison:
    """The result for code ids.

    Tools such as `strip` change that of a PE file. If both keys have a GUID, it decides
    about code ids that differ.
    """
    first, second = code_id_of(wanted), code_id_of(found)
    if not first or not second:
        return _NOT_COMPARED
    if first == second:
        return Comparison(SAME)
    short, long = sorted((first, second), key=len)
    is_cut = len(short) == _CUT_DIGITS and long.startswith(short)
    if is_cut and build_id_digits(long):
        reason = f"only {_CUT_DIGITS // 2} of {len(long) // 2} bytes of its build id"
        return Comparison(PART, f"{reason} are known")
    is_pe = is_windows(wanted.os) or is_windows(found.os)
    if is_pe and _debug_ids(wanted, is_pe=True) and _debug_ids(found, is_pe=True):
        return _NOT_COMPARED
    name = "code id" if is_windows(found.os) else "build id"
    return Comparison(
        OTHER, f"its {name} is {found.code_id.lower()}, not {wanted.code_id.lower()}"
    )


def _compare_debug_ids(wanted: ModuleKey, found: ModuleKey) -> Comparison:
    """The result for debug ids.

    If both keys have a build id, of which a debug id is a part, only this is compared.
    """
    is_pe = is_windows(wanted.os) or is_windows(found.os)
    first, second = _debug_ids(wanted, is_pe=is_pe), _debug_ids(found, is_pe=is_pe)
    has_build_ids = not is_pe and code_id_of(wanted) and code_id_of(found)
    if not first or not second or has_build_ids:
        return _NOT_COMPARED
    for debug_id in first:
        if debug_id in second:
            return _of_equal_debug_ids(debug_id, wanted, found)
    if any(
        GUID_DIGITS in {len(one), len(other)}
        and one[:GUID_DIGITS] == other[:GUID_DIGITS]
        for one in first
        for other in second
    ):
        return _AGE_UNKNOWN
    return Comparison(OTHER, f"its debug id is {second[0]}, not {first[0]}")


def _of_equal_debug_ids(
    debug_id: str, wanted: ModuleKey, found: ModuleKey
) -> Comparison:
    """The result for two keys with an equal debug id."""
    age, systems = debug_id[GUID_DIGITS:], (wanted.os, found.os)
    codes = code_id_of(wanted), code_id_of(found)
    if not age:
        return _AGE_UNKNOWN
    if any(map(is_windows, systems)) and all(codes) and codes[0] != codes[1]:
        # A tool changed the image after it was linked, or it is of another build.
        reason = f"its debug id fits, but its code id is {found.code_id}"
        return Comparison(PART, f"{reason}, not {wanted.code_id}")
    # Only Windows has other ages, which tell it if no key names the system.
    is_elf = age == _NO_AGE and not any(is_windows(e) or is_apple(e) for e in systems)
    size = len(codes[1] or codes[0]) // 2
    if not is_elf or 0 < size <= _GUID_SIZE:
        return Comparison(SAME)
    reason = f"only {_GUID_SIZE} of {size} bytes of its build id are known"
    return Comparison(
        PART, reason if size else "its debug id may be a part of a build id"
    )


def _debug_ids(key: ModuleKey, *, is_pe: bool) -> tuple[str, ...]:
    """The debug id of a module, or those that its build id may have.

    There is none if the key has a debug id of zeros.
    """
    digits = key.debug_id.upper().replace("-", "")
    guid, age = digits[:GUID_DIGITS], digits[GUID_DIGITS:]
    if not is_absent(guid):
        return (guid + (age and (age.lstrip("0") or _NO_AGE)),)
    build_id = build_id_digits(code_id_of(key))
    return () if digits or is_pe or not build_id else debug_ids_of_build_id(build_id)


MOST_ID_BYTES = 64  # of the longest build ids that are in use, of SHA-512
_MAX_ID_DIGITS = 2 * MOST_ID_BYTES


def code_id_of(key: ModuleKey) -> str:
    """The code id of a module in upper case; "" if it is absent.

    It is absent if it is empty, consists of zeros, is longer than any build id, or is
    that of a PE file with a time stamp of zero. If the system is not known, a code id
    of 16 digits or more is taken for a build id: as that of a PE file, it would be of
    an image of 256 MB or more.
    """
    code_id = key.code_id
    if is_absent(code_id) or len(code_id) > _MAX_ID_DIGITS:
        return ""
    most = _STAMP_DIGITS + _MAX_AGE_DIGITS
    may_be_pe = is_windows(key.os) or (not key.os and len(code_id) < most)
    if may_be_pe and len(code_id) <= most and is_absent(code_id[:_STAMP_DIGITS]):
        return ""
    return code_id.upper()


def is_hex(digits: str) -> bool:
    """Whether a text consists of hexadecimal digits, not more than ids have."""
    return 0 < len(digits) <= _MAX_ID_DIGITS and not digits.lower().strip(
        "0123456789abcdef"
    )


def build_id_digits(code_id: str) -> str:
    """Digits of a build id in lower case; "" if *code_id* has no whole bytes."""
    return code_id.lower() if len(code_id) % 2 == 0 and is_hex(code_id) else ""


def build_id_path(digits: str) -> str:
    """Relative path, without suffix, of the files of a build id of at least two bytes.

    Source: GDB manual, "Debugging Information in Separate Files".
    """
    return f".build-id/{digits[:2]}/{digits[2:]}"


def completed(key: ModuleKey, more: ModuleKey) -> ModuleKey:
    """*key*, with the fields that it lacks from another key of the same module."""
    return ModuleKey(*(own or other for own, other in zip(key, more, strict=True)))


def hash_of_code(parts: Iterable[bytes | memoryview]) -> str:
    """The `code_hash` of a module; "" without code.

    Each section is hashed with XXH64. The result is the XXH64 of these hashes, 8 bytes
    each, little-endian. It tells builds apart; somebody could make a file with the same
    hash.
    """
    from gsym.engine.native import ffi, lib

    hashes = b"".join(
        lib.gsym_xxh64(ffi.from_buffer(part), len(part)).to_bytes(8, "little")
        for part in parts
        if len(part)
    )
    return f"{lib.gsym_xxh64(hashes, len(hashes)):016x}" if hashes else ""
