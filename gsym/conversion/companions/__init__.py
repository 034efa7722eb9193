"""Files that belong to an input: debug links, split units, dSYM bundles, debuginfod."""

from __future__ import annotations

import os

DEBUG_DIRECTORIES = ("/usr/lib/debug",)  # of installed debug files


def cache_root() -> str:
    """The user's cache: files that were fetched, and conversions for each version."""
    folder = os.environ.get("GSYM_CACHE_DIR")
    if folder:
        return folder
    home = os.path.expanduser("~")
    caches = os.environ.get("XDG_CACHE_HOME") or os.path.join(home, ".cache")
    return os.path.join(caches, "gsym")


def symbol_cache(root: str = "") -> str:
    """The folder in a cache for files of symbol servers, laid out as these are."""
    return os.path.join(root or cache_root(), "symbols")
