"""Profiles of samples: inputs, symbolization, outputs."""

from __future__ import annotations

from gsym import lazy_names

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from gsym.profiles.flame_graph import flame_page as flame_page
    from gsym.profiles.model import (
        Frame as Frame,
        Location as Location,
        Mapping as Mapping,
        Profile as Profile,
        Sample as Sample,
        Thread as Thread,
        ValueType as ValueType,
    )
    from gsym.profiles.opening import (
        ProfileOptions as ProfileOptions,
        read_profile as read_profile,
    )
    from gsym.profiles.outputs import collapsed_lines as collapsed_lines
    from gsym.profiles.symbolizing import symbolize as symbolize
else:
    __all__, __getattr__, __dir__ = lazy_names(
        __name__,
        {
            "flame_graph": "flame_page",
            "model": "Frame Location Mapping Profile Sample Thread ValueType",
            "opening": "ProfileOptions read_profile",
            "outputs": "collapsed_lines",
            "symbolizing": "symbolize",
        },
    )
