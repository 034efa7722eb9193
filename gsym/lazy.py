"""Modules of the standard library, and regular expressions, loaded at their first use.

To import one of these modules, or to compile the expressions of all reports, takes
longer than many commands take to work. Files import the modules from here, not inside
functions: each file then lists at its head what it uses, and each module stands in it
once.
"""

from __future__ import annotations

from gsym import import_module

__all__ = ["collections", "hashlib", "html", "json", "logging", "re", "regex"]
__all__ += ["shutil", "tempfile", "threading"]

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    import collections
    import hashlib
    import html
    import json
    import logging
    import re
    import shutil
    import tempfile
    import threading
    from re import compile as regex
    from typing import Any
else:

    class _Module:
        """Stands for a module until it is used."""

        def __init__(self, name: str) -> None:
            self.__dict__["__name__"] = name

        def __getattr__(self, name: str) -> Any:
            """Import the module; keep what it has by this name, to be found at once."""
            value = self.__dict__[name] = getattr(import_module(self.__name__), name)
            return value

        def __setattr__(self, name: str, value: Any) -> None:
            """Set it in the module, whose functions read it, as `tempfile.tempdir`."""
            setattr(import_module(self.__name__), name, value)
            self.__dict__[name] = value

    collections = _Module("collections")
    hashlib = _Module("hashlib")
    html = _Module("html")
    json = _Module("json")
    logging = _Module("logging")
    re = _Module("re")
    shutil = _Module("shutil")
    tempfile = _Module("tempfile")
    threading = _Module("threading")

    class regex:  # noqa: N801 - stands for `re.compile`
        """The pattern that `re.compile` returns for the same arguments."""

        def __init__(self, pattern: str | bytes, flags: int = 0) -> None:
            self.pattern = pattern
            self._given = flags

        def __getattr__(self, name: str) -> Any:
            """Compile the pattern; keep the method, so that it is found at once."""
            if name.startswith("__"):  # of copies and the like
                raise AttributeError(name)
            found = getattr(re.compile(self.pattern, self._given), name)
            setattr(self, name, found)
            return found
