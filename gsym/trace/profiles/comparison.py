"""What changed between two profiles: the shares that names have of each."""

from __future__ import annotations

from gsym.records import NamedTuple
from gsym.trace.profiles.top import top_rows

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gsym.trace.profiles.model import Profile


class ChangeRow(NamedTuple):
    """A name in both profiles; shares are parts of 1 of all samples.

    Attributes:
        name: As `top_rows` has it.
        own: The sums of samples of its own, before and after.
        total: Those of samples in whose stacks it is, before and after.
        own_change: Its own share after, less that before.
        total_change: Likewise of the total.
    """

    name: str
    own: tuple[int, int]
    total: tuple[int, int]
    own_change: float
    total_change: float


def compare_profiles(
    before: Profile,
    after: Profile,
    by: str = "function",
    *,
    values: tuple[int, int] = (0, 0),
) -> list[ChangeRow]:
    """A row for each name, the greatest changes of shares first.

    Args:
        before: The first profile.
        after: The second.
        by: One of `gsym.trace.profiles.top.GROUPS`.
        values: Which value type of each is summed, counted from 0.
    """
    profiles = tuple(zip((before, after), values, strict=True))
    wholes = [
        sum(sample.values[value] for sample in profile.samples)
        for profile, value in profiles
    ]
    found: dict[str, list[tuple[int, int]]] = {}
    for index, (profile, value) in enumerate(profiles):
        for row in top_rows(profile, by, value=value):
            found.setdefault(row.name, [(0, 0), (0, 0)])[index] = (row.own, row.total)
    rows = []
    for name, (first, second) in found.items():
        own, total = zip(first, second, strict=True)
        rows.append(
            ChangeRow(name, own, total, _change(own, wholes), _change(total, wholes))
        )
    return sorted(
        rows, key=lambda row: (-abs(row.own_change), -abs(row.total_change), row.name)
    )


def _change(sums: tuple[int, ...], wholes: list[int]) -> float:
    first, second = (
        part / whole if whole else 0.0 for part, whole in zip(sums, wholes, strict=True)
    )
    return second - first
