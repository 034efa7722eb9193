"""Modules of a profile: in the places of the command line, and at their own paths."""

from __future__ import annotations

from gsym.cli.options import UsageError
from gsym.cli.verbs.module_options import module_options, open_folders
from gsym.conversion.companions.elf import DEBUG_DIRECTORIES
from gsym.errors import GsymError
from gsym.store.symbolizer import OpenModule
from gsym.symbolication.binary_lookup import BinarySearch, find_gsym
from gsym.trace.profiles.binaries import Binaries, build_id_of
from gsym.trace.profiles.symbolizing import symbolize

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gsym.cli.options import Values
    from gsym.markup.symbols import Opening
    from gsym.store.modules import ModuleKey
    from gsym.trace.profiles.model import Profile

SYMBOL_OPTIONS = module_options()


def symbolize_profile(profile: Profile, values: Values) -> None:
    """Give a profile its functions, as a command line with `SYMBOL_OPTIONS` asks.

    Raises:
        UnsupportedError: A source needs a package that is not installed.
        UsageError: A source is not understood.
    """
    modules, binaries = open_places(values)
    paths = {mapping.build_id: mapping.path for mapping in profile.mappings}
    symbolize(profile, ProfileModules(modules, paths), binaries)


def open_places(values: Values) -> tuple[Opening, Binaries]:
    """The places where modules are, and those where their binaries are.

    Raises:
        UnsupportedError: A source needs a package that is not installed.
        UsageError: A source is not understood.
    """
    sources = values.texts("--source")
    if values.flag("--debuginfod") and not values.flag("--no-debuginfod"):
        sources.append("debuginfod")
    try:
        modules = open_folders(values, sources, debug_directories=DEBUG_DIRECTORIES)
    except ValueError as error:
        raise UsageError(f"option '--source': {error}") from None
    folders = values.texts("--gsym-dir")
    debug = values.texts("--debug-file-directory") or DEBUG_DIRECTORIES
    return modules, Binaries(folders, tuple(debug))


class ProfileModules:
    """Opens modules in given places, then at the paths that the profile has.

    Args:
        places: Asked first.
        paths: Of modules by their build ids, hexadecimal; a file there counts only
            with the build id.
    """

    def __init__(self, places: Opening, paths: dict[str, str]) -> None:
        self._places = places
        self._paths = paths
        self._search = BinarySearch(debug_directories=DEBUG_DIRECTORIES)

    def open(self, key: ModuleKey) -> OpenModule:
        """The module, or what all places said."""
        module = self._places.open(key)
        if module.reader is not None:
            return module
        build_id = key.code_id.lower()
        path = self._paths.get(build_id, "")
        if not path or build_id_of(path) != build_id:
            return module
        try:
            found = find_gsym(path, self._search)
        except (GsymError, OSError):
            return module
        return OpenModule(None, found.reader) if found.reader is not None else module
