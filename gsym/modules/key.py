"""The names and ids of a module, and the rules by which two are the same build.

docs/identity.md describes the rules. All that search, cache, store and open files of
modules ask `compare`.
"""

from __future__ import annotations

from gsym.records import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable


class ModuleKey(NamedTuple):
    """Names and ids of a module, as far as they are known; "" for unknown ones.

    The same record is what a request says of the module that it wants, and what a file
    says of the module that it is.

    Attributes:
        debug_file: Name of the file with debug information: `xul.pdb`,
            `libc.so.6`. No folder.
        debug_id: In Breakpad's format: 32 digits of a GUID and those of its age. 32
            digits alone: the file does not say the age.
        code_file: Name of the binary: `xul.dll`. No folder. Of a file, only where
            it is another name, as for PE.
        code_id: ELF build id or LC_UUID in hexadecimal; for a PE file its time stamp
            and image size.
        path: Where a log or a profile says that its file is, for searches on the
            machine of the user.
        os: As Breakpad writes it: "Linux", "mac", "windows".
        architecture: As Breakpad writes it: "x86_64", "arm64".
        go_id: The build id that the linker of Go writes, as `go tool buildid` prints
            it.
        code_hash: Of the machine code in the file, in hexadecimal, as `hash_of_code`
            makes it.
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


# ---- ids

_GUID_SIZE = 16
_GUID_DIGITS = 2 * _GUID_SIZE
_MAX_AGE_DIGITS = 8
_STAMP_DIGITS = 8  # of the code id of a PE file
_CUT_DIGITS = 40  # digits of a build id that perf, BPF and GSYM version 1 can hold
_NO_AGE = "0"  # of files that have none: ELF and Mach-O
_WINDOWS = "windows"
_APPLE = frozenset({"mac", "macos", "ios", "tvos", "watchos", "visionos"})


def elf_debug_id(build_id: bytes, byteorder: str) -> str:
    """Debug id of an ELF file: a GUID made of the first 16 bytes of its build id.

    Args:
        build_id: Shorter ones are filled up with zeros.
        byteorder: "little" or "big", of the file. The fields of a GUID are numbers,
            so that those of a little-endian file are printed the other way round.
    """
    guid = build_id[:_GUID_SIZE].ljust(_GUID_SIZE, b"\0")
    return print_guid(guid, is_little=byteorder == "little") + _NO_AGE


def macho_debug_id(uuid: bytes) -> str:
    """Debug id of a Mach-O file: its LC_UUID unchanged."""
    return uuid.hex().upper() + _NO_AGE


def codeview_debug_id(guid: bytes, age: int | None) -> str:
    """Debug id of a PE file and its PDB.

    Args:
        guid: The 16 bytes in the CodeView record.
        age: From the same record; None: not known.
    """
    return print_guid(guid, is_little=True) + ("" if age is None else f"{age:x}")


def pe_code_id(time_stamp: int, size_of_image: int) -> str:
    """Code id of a PE file, from its COFF and its optional header."""
    return f"{time_stamp:08X}{size_of_image:x}"


def print_guid(guid: bytes, *, is_little: bool) -> str:
    """The fields of a GUID as numbers: 4, 2 and 2 bytes, then single ones."""
    fields = [guid[:4], guid[4:6], guid[6:8]]
    if is_little:
        fields = [field[::-1] for field in fields]
    return (b"".join(fields) + guid[8:]).hex().upper()


def is_apple(os: str) -> bool:
    """Whether an operating system has Mach-O files, which an LC_UUID identifies."""
    return os.lower() in _APPLE


def is_windows(os: str) -> bool:
    """Whether *os*, as Breakpad writes it, is Windows."""
    return os.lower() == _WINDOWS


def uuid_debug_id(uuid: bytes, os: str, byteorder: str) -> str:
    """Debug id of a module from the UUID of its GSYM file.

    Args:
        uuid: Build id, LC_UUID or GUID, as a conversion writes it.
        os: As Breakpad writes it; it decides which of these it is.
        byteorder: "little" or "big", of the GSYM file, which is the binary's.

    Returns:
        "" where there is no UUID, or one that is not of this system; for Windows 32
        digits, as the age is missing.
    """
    if is_absent(uuid.hex()):
        return ""
    if is_windows(os):
        return codeview_debug_id(uuid, None) if len(uuid) == _GUID_SIZE else ""
    if is_apple(os):
        return macho_debug_id(uuid)
    return elf_debug_id(uuid, byteorder)


def uuid_code_id(uuid: bytes, os: str) -> str:
    """Code id of a module from the UUID of its GSYM file, "" where that is none.

    The code id of a PE file is another thing, and 16 bytes may be a part of a build
    id: all that a debug id has of it.
    """
    if is_apple(os) or (not is_windows(os) and len(uuid) != _GUID_SIZE):
        return uuid.hex().upper()
    return ""


_NOTHING = ModuleKey()


def key_of_uuid(uuid: bytes, byteorder: str, wanted: ModuleKey = _NOTHING) -> ModuleKey:
    """Module that the UUID of a GSYM file stands for, if the file says no more.

    Args:
        uuid: See `uuid_debug_id`.
        byteorder: "little" or "big", of the GSYM file, which most have as the binary.
        wanted: The module that it may be. Without an operating system in it, its ids
            tell which one the UUID is of; otherwise that is Linux.
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
    """Whether a file with this UUID may be of the module."""
    if not uuid:
        return True
    if is_windows(key.os):
        guid = key.debug_id[:_GUID_DIGITS].upper()
        return is_absent(guid) or guid == print_guid(uuid[:_GUID_SIZE], is_little=True)
    digits = uuid.hex().upper()
    if key.code_id:
        return key.code_id.upper().startswith(digits)
    debug_id = key.debug_id.upper()
    return is_absent(debug_id) or debug_id in debug_ids_of_build_id(digits)


def debug_ids_of_build_id(build_id: str) -> tuple[str, ...]:
    """Possible debug ids of a module with this build id or LC_UUID, in hexadecimal."""
    identifier = bytes.fromhex(build_id)
    little, big = (elf_debug_id(identifier, each) for each in ("little", "big"))
    if len(identifier) == _GUID_SIZE:
        return little, macho_debug_id(identifier), big
    return little, big


def read_debug_id(text: str) -> str:
    """A debug id in Breakpad's form, from that or the form with dashes.

    Without an age it is 0. An age is a number: zeros before it are left out.

    Raises:
        ValueError: *text* is not a debug id.
    """
    digits = text.replace("-", "")
    guid, age = digits[:_GUID_DIGITS], digits[_GUID_DIGITS:] or _NO_AGE
    try:
        is_sound = len(bytes.fromhex(guid)) == _GUID_SIZE and int(age, 16) >= 0
    except ValueError:
        is_sound = False
    is_plain = digits.isascii() and digits.isalnum()
    if not is_sound or not is_plain or len(age) > _MAX_AGE_DIGITS:
        raise ValueError(f"'{text}' is not a debug id")
    return guid.upper() + (age.lower().lstrip("0") or _NO_AGE)


_GO_HASH_SIZE, _MOST_GO_HASHES = 20, 4
_MAX_GO_DIGITS = 2 * (_MOST_GO_HASHES * (_GO_HASH_SIZE + 1) - 1)


def read_go_id(text: str) -> str:
    """A build id of Go, from that or its bytes as hexadecimal digits.

    It consists of hashes in base 64. Builds that set another text with `-buildid`, such
    as Bazel's "redacted", give it to all of their programs.

    Returns:
        "" if *text* is neither.
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
    """Whether an id says nothing: it is empty, or all of its digits are zeros.

    `code_id_of` knows more cases of code ids.
    """
    return not identifier.strip("0-")


def has_id(key: ModuleKey) -> bool:
    """Whether a module is known by any id, and not by names alone."""
    ids = key.debug_id[:_GUID_DIGITS], code_id_of(key), key.go_id
    return not all(map(is_absent, ids))


def search_terms(key: ModuleKey) -> set[str]:
    """Terms under which an index of modules has a module.

    Two keys that `compare` finds to be the same, or perhaps, have a term in common.
    """
    code_id = code_id_of(key)
    terms = {each[:_GUID_DIGITS] for each in _debug_ids(key, is_pe=is_windows(key.os))}
    terms |= {code_id, code_id[:_CUT_DIGITS], key.go_id, key.code_hash}
    return {each for each in terms if not is_absent(each)}


# ---- keys of requests


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
        text: A debug id, a build id, a build id of Go, or NAME/ID, where the id may be
            a code id. Any other text has no key.
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

SAME = "same"  # an id that identifies a build is equal, and no other one differs
PART = "part"  # what is equal is only a part of an id
UNKNOWN = "unknown"  # there is no id that both have
OTHER = "other"  # an id differs
OUTCOMES = SAME, PART, UNKNOWN, OTHER  # the most certain first


class Comparison(NamedTuple):
    """Whether two keys are of one build.

    Attributes:
        outcome: `SAME`, `PART`, `UNKNOWN` or `OTHER`.
        reason: Why it is not `SAME`, in words about the second key: "its build id is
            2c, not 2d".
        is_by_code: Whether only equal code says that it is `SAME`: the lines may be
            those of another build.
    """

    outcome: str
    reason: str = ""
    is_by_code: bool = False

    @property
    def is_refused(self) -> bool:
        """Whether the second module is another build."""
        return self.outcome == OTHER


def compare(wanted: ModuleKey, found: ModuleKey) -> Comparison:
    """Whether *found* is the build that *wanted* describes.

    All ids must fit that both have. An id that is whole decides over a part of it; an
    id that is absent is equal to nothing. Names decide nothing. If the code is equal,
    the ids are not compared that `_without_weak_ids` removes.
    """
    code = _compare_code(wanted, found)
    if code is not None and code.outcome == SAME:
        wanted, found = _without_weak_ids(wanted, found)
    results = [
        each
        for each in (
            _compare_go_ids(wanted, found),
            _compare_code_ids(wanted, found),
            _compare_debug_ids(wanted, found),
            code,
        )
        if each is not None
    ]
    for outcome in (OTHER, SAME, PART):
        for result in results:
            if result.outcome == outcome:
                return result
    return Comparison(UNKNOWN, "there is no id to compare")


def _without_weak_ids(*keys: ModuleKey) -> tuple[ModuleKey, ...]:
    """The keys of two modules of one code, without ids that say less than the code.

    These are the time stamp and size of a PE file, which `strip` changes, and the debug
    id of an ELF file: of the build id, it has no more than the code id does; without
    one, it is made of the code.
    """
    systems = {each.os for each in keys} - {""}
    if any(map(is_windows, systems)):
        is_equal = len({each.code_id.upper() for each in keys}) == 1
        return keys if is_equal else tuple(each._replace(code_id="") for each in keys)
    if not systems or any(map(is_apple, systems)):
        return keys
    return tuple(each._replace(debug_id="") for each in keys)


def _compare_code(wanted: ModuleKey, found: ModuleKey) -> Comparison | None:
    """The result for hashes of code; None where one is absent."""
    if not wanted.code_hash or len(wanted.code_hash) != len(found.code_hash):
        return None  # hashes of other lengths are made in another way
    if wanted.code_hash == found.code_hash:
        return Comparison(SAME, is_by_code=True)
    return Comparison(OTHER, "its code differs")


def _compare_go_ids(wanted: ModuleKey, found: ModuleKey) -> Comparison | None:
    """The result for Go build ids; None where one is absent.

    None as well for equal texts that were set with `-buildid`: many programs have them.
    """
    if is_absent(wanted.go_id) or is_absent(found.go_id):
        return None
    if wanted.go_id == found.go_id:
        return Comparison(SAME) if read_go_id(found.go_id) else None
    reason = f"its Go build id is {found.go_id}, not {wanted.go_id}"
    return Comparison(OTHER, reason)


def _compare_code_ids(wanted: ModuleKey, found: ModuleKey) -> Comparison | None:
    """The result for code ids; None where one is absent, or the debug ids decide."""
    first, second = code_id_of(wanted), code_id_of(found)
    if not first or not second:
        return None
    if first == second:
        return Comparison(SAME)
    short, long = sorted((first, second), key=len)
    is_cut = len(short) == _CUT_DIGITS and long.startswith(short)
    if is_cut and build_id_digits(long):
        reason = f"only {_CUT_DIGITS // 2} of {len(long) // 2} bytes of its build id"
        return Comparison(PART, f"{reason} are known")
    if _are_images(wanted, found):
        keys = wanted, found
        if all(_debug_ids(each, is_pe=True) for each in keys):
            return None  # the debug ids decide, as tools change the code id of an image
    name = "code id" if is_windows(found.os) else "build id"
    return Comparison(
        OTHER, f"its {name} is {found.code_id.lower()}, not {wanted.code_id.lower()}"
    )


def _compare_debug_ids(wanted: ModuleKey, found: ModuleKey) -> Comparison | None:
    """The result for debug ids; None where one is absent, or the build ids decide."""
    is_pe = is_windows(wanted.os) or is_windows(found.os)
    first, second = _debug_ids(wanted, is_pe=is_pe), _debug_ids(found, is_pe=is_pe)
    if not first or not second:
        return None
    has_whole = code_id_of(wanted) and code_id_of(found)
    if has_whole and not is_pe:
        return None  # both build ids are known, and a debug id is a part of one
    common = set(first) & set(second)
    if common:
        return _of_equal_debug_ids(common.pop(), wanted, found)
    if any(
        len(one) != len(other) and one[:_GUID_DIGITS] == other[:_GUID_DIGITS]
        for one in first
        for other in second
        if _GUID_DIGITS in {len(one), len(other)}
    ):
        return Comparison(PART, "the age of its debug id is not known")
    return Comparison(OTHER, f"its debug id is {second[0]}, not {first[0]}")


def _of_equal_debug_ids(
    debug_id: str, wanted: ModuleKey, found: ModuleKey
) -> Comparison:
    if len(debug_id) == _GUID_DIGITS:
        return Comparison(PART, "the age of its debug id is not known")
    if _are_images(wanted, found) and code_id_of(wanted) != code_id_of(found):
        # A tool changed the image after it was linked, or it is of another build.
        reason = f"its debug id fits, but its code id is {found.code_id}"
        return Comparison(PART, f"{reason}, not {wanted.code_id}")
    systems = {wanted.os, found.os}
    is_whole = any(is_windows(each) or is_apple(each) for each in systems)
    # Only Windows has ages, also where no one says that it is Windows.
    is_whole = is_whole or debug_id[_GUID_DIGITS:] != _NO_AGE
    sizes = [len(code_id_of(each)) // 2 for each in (found, wanted)]
    size = sizes[0] or sizes[1]
    if is_whole or 0 < size <= _GUID_SIZE:
        return Comparison(SAME)
    reason = f"only {_GUID_SIZE} of {size} bytes of its build id are known"
    return Comparison(
        PART, reason if size else "its debug id may be a part of a build id"
    )


def _debug_ids(key: ModuleKey, *, is_pe: bool) -> tuple[str, ...]:
    """The debug ids of a module: its own, or those that its build id may have.

    A debug id of zeros is none, and none is made of the build id then.
    """
    digits = key.debug_id.upper().replace("-", "")
    guid, age = digits[:_GUID_DIGITS], digits[_GUID_DIGITS:]
    if not is_absent(guid):
        return (guid + (age and (age.lstrip("0") or _NO_AGE)),)
    if digits:
        return ()
    build_id = build_id_digits(code_id_of(key))
    if not build_id or is_pe:
        return ()
    return debug_ids_of_build_id(build_id)


def _are_images(*keys: ModuleKey) -> bool:
    """Whether both are of Windows, with a code id each."""
    return any(is_windows(key.os) for key in keys) and all(map(code_id_of, keys))


MOST_ID_BYTES = 64  # of the longest build ids that are in use, of SHA-512
_MAX_ID_DIGITS = 2 * MOST_ID_BYTES


def code_id_of(key: ModuleKey) -> str:
    """The code id of a module in upper case; "" where it is absent.

    It is absent as well where it is longer than any build id, or is that of a PE file
    without a time stamp. If the system is not known, it may be of a PE file if it has
    less than 16 digits: with more, it would be of an image of 256 MB or more.
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
    """Whether a text is an id in hexadecimal digits, of a length that ids have."""
    return 0 < len(digits) <= _MAX_ID_DIGITS and not digits.lower().strip(
        "0123456789abcdef"
    )


def build_id_digits(code_id: str) -> str:
    """*code_id* as a build id in lower case; "" if it is not one."""
    return code_id.lower() if len(code_id) % 2 == 0 and is_hex(code_id) else ""


def completed(key: ModuleKey, more: ModuleKey) -> ModuleKey:
    """*key*, with the fields that it lacks from another key of the same module."""
    return ModuleKey(*(own or other for own, other in zip(key, more, strict=True)))


# ---- in a file


def key_text(key: ModuleKey) -> bytes:
    """A key as `NAME=VALUE` lines, each with a zero byte at its end.

    Fields without a value, and the path of a request, are left out. A value ends at a
    zero byte.
    """
    fields = key._replace(path="")._asdict()
    return "".join(
        f"{name}={value}\0"
        for name, whole in fields.items()
        if (value := whole.partition("\0")[0])
    ).encode("utf-8", "surrogateescape")


def read_key(text: bytes) -> ModuleKey:
    """The key in a text that `key_text` made; fields of other names are ignored."""
    pairs = (
        each.decode("utf-8", "surrogateescape").partition("=")
        for each in text.split(b"\0")
    )
    return ModuleKey(**{name: value for name, _, value in pairs if name in _IN_FILES})


_IN_FILES = frozenset(ModuleKey._fields) - {"path"}


def hash_of_code(parts: Iterable[bytes | memoryview]) -> str:
    """The `code_hash` of a module; "" without code.

    It is the XXH64 of those of the sections, 8 bytes each, little-endian: it tells
    builds apart, but not a file that somebody made to look like another one.

    Args:
        parts: The contents of the sections with code, in the order of their headers.
    """
    from gsym.engine.native import ffi, lib

    hashes = b"".join(
        lib.gsym_xxh64(ffi.from_buffer(part), len(part)).to_bytes(8, "little")
        for part in parts
        if len(part)
    )
    return f"{lib.gsym_xxh64(hashes, len(hashes)):016x}" if hashes else ""
