"""How pastes name modules: by name, debug id, build id or LC_UUID."""

from __future__ import annotations

from gsym.api.stack_parts import StackModule, base_name
from gsym.module_identity import read_debug_id
from gsym.store.module_key import ModuleKey

__all__ = [
    "module_of_build_id",
    "module_of_debug_id",
    "module_of_path",
    "module_of_uuid",
]

_UUID_DIGITS = 32


def module_of_path(path: str) -> StackModule:
    """A module with a name only, or with a debug id behind it: `NAME/DEBUGID`."""
    folder, _, last = path.replace("\\", "/").rpartition("/")
    if folder and len(last) > _UUID_DIGITS:
        try:
            debug_id = read_debug_id(last)
        except ValueError:
            pass
        else:
            return module_of_debug_id(base_name(folder), debug_id)
    name = base_name(path)
    return StackModule(name, ModuleKey(name, code_file=name))


def module_of_debug_id(name: str, debug_id: str) -> StackModule:
    """A module as symbolication requests name it."""
    if not debug_id:
        return StackModule(name, ModuleKey(name))
    try:
        known = read_debug_id(debug_id).upper()
    except ValueError as problem:
        return StackModule(name, ModuleKey(name, debug_id), str(problem))
    return StackModule(name, ModuleKey(name, known))


def module_of_build_id(path: str, build_id: str) -> StackModule:
    """A module of an ELF system; *build_id* as hexadecimal digits, "" for none."""
    name = base_name(path)
    return StackModule(name, ModuleKey(name, "", name, build_id.upper()))


def module_of_uuid(path: str, uuid: str) -> StackModule:
    """A module of an Apple system; *uuid* with or without dashes, "" for none."""
    digits = uuid.replace("-", "").upper()
    name = base_name(path)
    if len(digits) != _UUID_DIGITS:
        return StackModule(name, ModuleKey(name, code_file=name))
    return StackModule(name, ModuleKey(name, digits + "0", name, digits))
