"""Where the store of a user is."""

from __future__ import annotations

import os

__all__ = ["default_store"]

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping


def default_store(environment: Mapping[str, str] = os.environ) -> str:
    """The folder that GSYM_STORE names, else one with the data of the user.

    Args:
        environment: GSYM_STORE, XDG_DATA_HOME, HOME.
    """
    if path := environment.get("GSYM_STORE"):
        return path
    home = environment.get("HOME") or os.path.expanduser("~")
    data = environment.get("XDG_DATA_HOME") or os.path.join(home, ".local", "share")
    return os.path.join(data, "gsym", "store")
