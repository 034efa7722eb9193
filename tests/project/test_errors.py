"""Exceptions of the package can be pickled, copied and sent between processes."""

from __future__ import annotations

import copy
import importlib
import inspect
import multiprocessing
import pickle
import pkgutil
import re
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest

import gsym
from gsym.errors import ClosedError, FormatError, GsymError, SourceError
from gsym.server.symbfiles.protocol import REFUSALS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

# A value for a parameter of the constructor, by its annotation.
VALUES = {
    "str": "why",
    "str | None": "/a/file",
    "int": 503,
    "int | None": 7,
    "float": 1.5,
    "float | None": 2.5,
    "bool": True,
    "Mapping[str, str] | None": {"allow": "GET"},
    "tuple[str, ...]": ("name", "architecture"),
    "Refusal": REFUSALS[0],
}


def pickled(error: Exception, protocol: int = pickle.DEFAULT_PROTOCOL) -> Exception:
    again = pickle.loads(pickle.dumps(error, protocol))  # noqa: S301 - our own
    assert isinstance(again, Exception)
    return again


WAYS: tuple[Callable[[Exception], Exception], ...] = (
    copy.copy,
    copy.deepcopy,
    pickled,
    partial(pickled, protocol=0),
)


def exception_classes() -> list[type[Exception]]:
    for module in pkgutil.walk_packages(gsym.__path__, "gsym."):
        if not module.name.endswith("__main__"):
            try:
                importlib.import_module(module.name)
            except ModuleNotFoundError as error:
                if (error.name or "gsym").startswith("gsym"):
                    raise
                # It needs an extra that is not installed.
    return sorted(_own_subclasses(Exception), key=lambda each: each.__qualname__)


def _own_subclasses(kind: type[Exception]) -> Iterator[type[Exception]]:
    for each in kind.__subclasses__():
        if each.__module__.startswith("gsym."):
            yield each
        yield from _own_subclasses(each)


def made(kind: type[Exception]) -> Exception:
    """An exception with a value for each attribute."""
    if kind.__init__ is Exception.__init__:
        return kind("why")
    words: list[Any] = []
    keywords: dict[str, Any] = {}
    for name, parameter in inspect.signature(kind).parameters.items():
        hint = parameter.annotation  # a type, if a test before asked for hints
        text = hint if isinstance(hint, str) else inspect.formatannotation(hint)
        value = VALUES[re.sub(r"\b(?:\w+\.)+(?=\w)", "", text)]
        if parameter.kind is parameter.KEYWORD_ONLY:
            keywords[name] = value
        else:
            words.append(value)
    return kind(*words, **keywords)


def test_every_exception_survives_pickle_and_copy() -> None:
    classes = exception_classes()
    assert FormatError in classes
    for kind in classes:
        error = made(kind)
        error.note = "added later"  # type: ignore[attr-defined]
        for again in WAYS:
            other = again(error)
            case = f"{kind.__module__}.{kind.__name__}, {again}"
            assert type(other) is kind, case
            assert (str(other), other.args) == (str(error), error.args), case
            assert vars(other) == vars(error), case


def test_a_process_pool_returns_the_error_of_a_bad_file(tmp_path: Path) -> None:
    path = tmp_path / "bad.gsym"
    path.write_bytes(b"GSYM")
    with pytest.raises(FormatError) as here:
        gsym.open(path)
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, context) as pool, pytest.raises(FormatError) as there:
        pool.submit(gsym.open, path).result()
    assert (str(there.value), there.value.path) == (str(here.value), str(path))


@pytest.mark.parametrize("kind", [FormatError, SourceError, ClosedError])
def test_an_error_without_a_file_says_its_reason_alone(kind: type[GsymError]) -> None:
    assert str(kind("why")) == "why"
