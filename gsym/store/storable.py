"""The modules in a file that a store may have."""

from __future__ import annotations

from gsym.conversion.module_file import modules_in
from gsym.errors import FormatError, UnsupportedError
from gsym.store.archives import bare_name

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from gsym.conversion.module_file import ModuleFile
    from gsym.modules.key import ModuleKey

_WORDS = 2  # the name of an operating system and that of an architecture


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
    own = module.identity
    if len(f"{own.os} {own.architecture}".split()) > _WORDS:
        reason = "invalid operating system or architecture"
        raise FormatError(reason, path=module.path)
    named = own._replace(
        debug_file=bare_name(own.debug_file), code_file=bare_name(own.code_file)
    )
    return module._replace(identity=named)
