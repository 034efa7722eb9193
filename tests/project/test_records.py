"""Records are what `typing.NamedTuple` makes."""

from __future__ import annotations

import copy
import inspect
import pickle
from collections import namedtuple
from typing import TYPE_CHECKING, Any

import pytest

import gsym
from gsym.records import NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable


class Point(NamedTuple):
    x: Any
    y: Any = ""
    label: Any = None


Peer: Any = namedtuple(  # type: ignore[name-match]  # noqa: PYI024
    "Point", "x y label", defaults=("", None)
)

QUESTIONS: list[Callable[[Any], object]] = [
    lambda kind: kind(1),
    lambda kind: kind(1, 2, 3),
    lambda kind: kind(1, label=[]),
    lambda kind: kind(label=3, y=2, x=1),
    lambda kind: kind(1, 2) == (1, 2, None),
    lambda kind: hash(kind(1, 2)),
    lambda kind: (kind(1, 2).x, kind(1, 2).y, kind(1, 2).label),
    lambda kind: kind(1, 2)._replace(y=5),
    lambda kind: kind(1, 2)._asdict(),
    lambda kind: kind._make(iter("abc")),
    lambda kind: kind._fields,
    lambda kind: kind._field_defaults,
    lambda kind: kind.__match_args__,
    lambda kind: kind.__name__,
    lambda kind: kind.__module__,
    lambda kind: repr(kind("a", [2])),
    lambda kind: copy.copy(kind(1, 2)),
    lambda kind: str(inspect.signature(kind)),
    lambda kind: (kind.x.__doc__, kind.label.__doc__),
]
REFUSED: list[Callable[[Any], object]] = [
    lambda kind: kind(),
    lambda kind: kind(y=1),
    lambda kind: kind(1, 2, 3, 4),
    lambda kind: kind(1, x=1),
    lambda kind: kind(1, 2, 3, y=2),
    lambda kind: kind(1, z=1),
    lambda kind: kind._make("ab"),
    lambda kind: kind(1)._replace(z=1),
    lambda kind: setattr(kind(1), "x", 2),
    lambda kind: setattr(kind(1), "z", 2),
]


def settle(question: Callable[[Any], object], kind: object) -> object:
    # `_replace` raised ValueError before Python 3.13.
    try:
        return question(kind)
    except (TypeError, ValueError):
        return "refused"
    except AttributeError:
        return "not to be set"


def test_records_answer_as_named_tuples() -> None:
    for question in QUESTIONS:
        answer = settle(question, Point)
        assert answer == settle(question, Peer)
        assert answer not in {"refused", "not to be set"} if hashable(answer) else True
        assert repr(answer) == repr(settle(question, Peer))


def hashable(value: object) -> bool:
    try:
        hash(value)
    except TypeError:
        return False
    return True


def test_records_refuse_what_named_tuples_refuse() -> None:
    for question in REFUSED:
        assert settle(question, Point) == settle(question, Peer)
        assert settle(question, Point) in {"refused", "not to be set"}


def test_records_survive_a_pickle() -> None:
    frame = gsym.Frame("main", "/src", "a.c", 3, 0, inlined=False)
    for protocol in range(2, pickle.HIGHEST_PROTOCOL + 1):
        again = pickle.loads(pickle.dumps(frame, protocol))  # noqa: S301 - our own
        assert type(again) is gsym.Frame
        assert again == frame


def test_records_are_matched_by_position() -> None:
    match Point(1, 2):
        case Point(x, y, _):
            assert (x, y) == (1, 2)
        case _:
            pytest.fail("not matched")


def test_type_checkers_know_the_fields() -> None:
    """The comments are errors of mypy where it does not find anything to ignore."""
    with pytest.raises(AttributeError):
        Point(1).z  # type: ignore[attr-defined] # noqa: B018
    with pytest.raises(TypeError):
        gsym.Range(1)  # type: ignore[call-arg]
    assert gsym.Range("start", 2).end == 2  # type: ignore[arg-type]


def test_each_record_has_its_own_dict() -> None:
    first, second = gsym.FunctionInfo(0, 1, "f"), gsym.FunctionInfo(0, 1, "f")
    assert first.extra == second.extra == {}
    assert first.extra is not second.extra


def test_methods_and_subclasses_add_no_fields() -> None:
    class Named(Point):
        @property
        def shown(self) -> str:
            return f"{self.x}"

    assert Named(1, 2).shown == "1"
    assert Named._fields == Point._fields
    assert not hasattr(Named(1), "__dict__")
