"""`python -m gsym.config` prints the options with which C programs use libgsym.

It does what pkg-config does for an installed libgsym:
`cc program.c $(python -m gsym.config --cflags --libs)`. The library is the static one,
so that programs run without this package.
"""

from __future__ import annotations

import os
import sys

_PACKAGE = os.path.dirname(os.path.abspath(__file__))
# A wheel has the library in the package, a checkout where `make libgsym` puts it.
_PLACES = (_PACKAGE, os.path.join(os.path.dirname(_PACKAGE), "build", "libgsym"))
_USAGE = "usage: python -m gsym.config --cflags --libs --includedir --libdir --version"


def library_folder() -> str:
    """The folder with `include/gsym/libgsym.h` and `lib/libgsym.a`.

    Raises:
        FileNotFoundError: The library was not built.
    """
    for place in _PLACES:
        if os.path.exists(os.path.join(place, "lib", "libgsym.a")):
            return place
    reason = f"no lib/libgsym.a in {' or '.join(_PLACES)}: `make libgsym` builds it"
    reason += "; pkg-config finds one that is installed"
    raise FileNotFoundError(reason)


def words_for(option: str) -> list[str]:
    """The text that an option of this program prints.

    Raises:
        FileNotFoundError: The library was not built.
        ValueError: The option is unknown.
    """
    if option == "--version":
        from gsym import __version__

        return [__version__]
    folder = library_folder()
    include, lib = os.path.join(folder, "include"), os.path.join(folder, "lib")
    words = {
        "--cflags": [f"-I{include}"],
        # A file, because -lgsym would take a shared library beside it.
        "--libs": [os.path.join(lib, "libgsym.a"), "-pthread", "-ldl"],
        "--includedir": [include],
        "--libdir": [lib],
    }
    if option not in words:
        raise ValueError(_USAGE)
    return words[option]


def main() -> int:
    """Print what the arguments ask for; the exit status."""
    import shlex

    wanted = sys.argv[1:] or [""]
    try:
        words = [word for option in wanted for word in words_for(option)]
    except (FileNotFoundError, ValueError) as error:
        print(error, file=sys.stderr)  # noqa: T201
        return 2 if isinstance(error, ValueError) else 1
    print(" ".join(map(shlex.quote, words)))  # noqa: T201
    return 0


if __name__ == "__main__":
    sys.exit(main())
