"""Transports: what answers over HTTP."""

from __future__ import annotations

from gsym import lazy_names

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from gsym.server.application import (
        create_app as create_app,
    )
    from gsym.server.settings import (
        Limits as Limits,
        Settings as Settings,
        load_settings as load_settings,
    )
else:
    __all__, __getattr__, __dir__ = lazy_names(
        __name__,
        {
            "application": "create_app",
            "settings": "Limits Settings load_settings",
        },
    )
