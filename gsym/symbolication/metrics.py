"""What a client gets to know of the work that its request took."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from gsym.symbolication.symbolication import ModuleWork, Symbolication


def debug_figures(work: Symbolication) -> dict[str, Any]:
    """The value of `debug` in a response, with times in seconds.

    Files are mapped as they are: what other servers report of the files that they
    save is 0 here. Conversion takes the place of parsing.
    """
    searched = [each for each in work.modules.values() if each.is_wanted]
    hits = [each for each in searched if each.was_known]
    fetched = [each for each in searched if each not in hits and each.module]
    downloads = {each.label: _fetched(each) for each in fetched if each.is_found}
    return {
        "time": work.seconds,
        "modules": _module_counts(work),
        "cache_lookups": {
            "count": len(searched),
            "hits": len([each for each in hits if each.is_found]),
            "time": sum(each.seconds for each in hits),
        },
        "downloads": {
            "count": len(fetched),
            "size": sum(size for size, _ in downloads.values()),
            "time": sum(seconds for _, seconds in downloads.values()),
            "size_per_module": {label: size for label, (size, _) in downloads.items()},
            "time_per_module": {
                label: spent for label, (_, spent) in downloads.items()
            },
            "fail_time_per_module": {
                each.label: each.seconds for each in fetched if not each.is_found
            },
        },
        "parse_sym": {"time": 0, "time_per_module": {}, "fail_time_per_module": {}},
        "save_symcache": {"time": 0, "time_per_module": {}},
    }


def _module_counts(work: Symbolication) -> dict[str, Any]:
    counts: dict[str, int] = {}
    for _, modules in work.jobs:
        for label in {each.label for each in modules if each.is_wanted}:
            counts[label] = counts.get(label, 0) + 1
    return {"count": sum(counts.values()), "stacks_per_module": counts}


def _fetched(work: ModuleWork) -> tuple[int, float]:
    """Bytes and seconds of all that sources gave for a module."""
    attempts = work.module.attempts if work.module is not None else ()
    return sum(each.size for each in attempts), sum(each.seconds for each in attempts)
