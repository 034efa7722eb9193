"""The modules in a file that a store may have, and what it is for debuginfod."""

from __future__ import annotations

from contextlib import suppress

from gsym.containers.fat import open_slice
from gsym.containers.recognition import recognise_file
from gsym.conversion.companions.elf import read_altlink
from gsym.conversion.identity import key_of_binary, module_of
from gsym.conversion.module_file import ModuleFile, modules_in
from gsym.errors import FormatError, GsymError, UnsupportedError
from gsym.records import NamedTuple
from gsym.store.archives import bare_name

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from gsym.modules.key import ModuleKey

_DEBUG_SECTIONS = (b".debug_info", b".symtab", b".zdebug_info", b".debug_line")
_WORDS = 2  # the name of an operating system and that of an architecture
KINDS = ("debuginfo", "executable")


class BinaryFacts(NamedTuple):
    """The facts of a binary."""

    modules: tuple[ModuleKey, ...]  # what it is, for each slice of a fat file
    kinds: tuple[str, ...]  # of `KINDS`, what it may be served as
    supplementary: str = ""  # build id of its supplementary file; "" for none
    # start and end of the section that was asked for; (0, 0) without it
    part: tuple[int, int] = (0, 0)


def facts_of(path: str, section: str = "", *, with_code: bool = False) -> BinaryFacts:
    """The facts of the binary at *path*; any other file is a debug file.

    Raises:
        GsymError: It is damaged, or no object file.
    """
    if recognise_file(path) in {"fat", "pdb"}:
        found = tuple(each.identity for each in modules_in(path))
        return BinaryFacts(found, KINDS[:1])
    with open_slice(path) as binary:
        module = module_of(binary) if with_code else key_of_binary(binary)
        if not binary.is_elf:
            has_dwarf = binary.is_macho or binary.has_section(b".debug_info")
            kind = KINDS[0] if has_dwarf else KINDS[1]
            return BinaryFacts((module,), (kind,))
        # As stored: inflated, it could take any memory.
        text = binary.stored_section(b".text")
        is_so = (any(map(binary.has_section, _DEBUG_SECTIONS)), bool(text))
        kinds = tuple(kind for kind, has in zip(KINDS, is_so, strict=True) if has)
        supplementary = ""
        with suppress(GsymError):
            if link := read_altlink(binary):
                supplementary = link[1].hex()
        name = section.encode("utf-8", "surrogateescape")
        part = (binary.stored_range(name) if name else None) or (0, 0)
        return BinaryFacts((module,), kinds, supplementary, part)


def storable_modules(path: str, wanted: ModuleKey) -> tuple[ModuleFile, ...]:
    """The modules in a file as of `modules_in`; names in a GSYM file have no folder.

    Raises:
        UnsupportedError: It is not a module, or of an unsupported kind.
    """
    return tuple(map(_checked, modules_in(path, wanted)))


def _checked(module: ModuleFile) -> ModuleFile:
    if module.is_relocatable and not module.uuid:
        reason = "an object file without a build id, which is not a module yet"
        raise UnsupportedError(reason, path=module.path)
    if module.kind != "gsym":
        return module
    key = module.identity
    if len(f"{key.os} {key.architecture}".split()) > _WORDS:
        reason = "invalid operating system or architecture"
        raise FormatError(reason, path=module.path)
    named = key._replace(
        debug_file=bare_name(key.debug_file), code_file=bare_name(key.code_file)
    )
    return module._replace(identity=named)
