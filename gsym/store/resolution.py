"""What became of the search for a module: plain records."""

from __future__ import annotations

from gsym.records import NamedTuple

__all__ = ["Attempt", "Resolution"]

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gsym.store.entry import Entry


class Attempt(NamedTuple):
    """What one source said of a module.

    Attributes:
        source: Its name, as `Source.name` has it.
        outcome: "found"; "missing": it does not have the module; "failed": it gave
            no answer; "refused": what it gave is damaged or of another module.
        detail: What was asked, or why it is of no use.
        seconds: How long it took: fetching, then converting.
        size: Bytes that were fetched.
    """

    source: str
    outcome: str
    detail: str = ""
    seconds: float = 0.0
    size: int = 0


class Resolution(NamedTuple):
    """The answer to the search for a module.

    Attributes:
        entry: The GSYM file with what is known of it; None for a miss.
        attempts: Which sources were asked, in order, and what each said. With a
            remembered miss they are those of the search that is remembered.
        is_cached: Whether the answer was known: the module was in the store, or
            its miss was remembered.
    """

    entry: Entry | None
    attempts: tuple[Attempt, ...] = ()
    is_cached: bool = False
