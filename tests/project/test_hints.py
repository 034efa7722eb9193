"""Hints of the public names: types at run time, for libraries that read them."""

from __future__ import annotations

import inspect
import subprocess
import sys
import typing
from collections.abc import Mapping
from typing import TYPE_CHECKING

import pytest

import gsym

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

METHODS = [
    (f"{name}.{key}", method)
    for name in gsym.__all__
    if isinstance(getattr(gsym, name), type)
    for key, each in vars(getattr(gsym, name)).items()
    if inspect.isfunction(
        method := getattr(each, "fget", None) or getattr(each, "__func__", each)
    )
]


@pytest.mark.parametrize("name", gsym.__all__)
def test_hints_of_public_names_are_types(name: str) -> None:
    is_typed(getattr(gsym, name))


@pytest.mark.parametrize("method", [pytest.param(m, id=name) for name, m in METHODS])
def test_hints_of_public_methods_are_types(method: Callable[..., object]) -> None:
    is_typed(method)


def is_typed(value: Callable[..., object]) -> None:
    assert not [
        each for each in typing.get_type_hints(value).values() if type(each) is str
    ]


def test_hints_name_the_types_of_the_package() -> None:
    assert typing.get_type_hints(gsym.Reader.lookup)["return"] == gsym.Lookup | None
    assert typing.get_type_hints(gsym.Lookup)["frames"] == tuple[gsym.Frame, ...]
    assert dict(gsym.Frame.__annotations__)["line"] is int
    assert gsym.Frame.__annotations__.get("nothing") is None
    assert int in gsym.Frame.__annotations__.values()


def test_hints_come_without_a_name_of_gsym_before(tmp_path: Path) -> None:
    """A record that only the hint of another one names has hints, too."""
    script = tmp_path / "hints.py"
    script.write_text(
        "import typing, gsym\n"
        "lookup = typing.get_type_hints(gsym.Reader.lookup)['return'].__args__[0]\n"
        "frame = typing.get_type_hints(lookup)['frames'].__args__[0]\n"
        "print(typing.get_type_hints(frame)['name'])\n"
    )
    done = subprocess.run(
        [sys.executable, script], capture_output=True, text=True, check=True
    )
    assert done.stdout == "<class 'str'>\n"


def test_pydantic_has_a_schema_of_answers() -> None:
    pydantic = pytest.importorskip("pydantic")
    schema = pydantic.TypeAdapter(gsym.Lookup).json_schema()
    assert {"Frame", "FunctionRange"} <= schema["$defs"].keys()


def test_names_are_public_ones() -> None:
    assert {*dir(gsym)} == {*gsym.__all__, "__version__"}
    assert "open" in gsym.__all__
    assert not [name for name in gsym.__all__ if name.startswith("_")]


def test_records_keep_their_hints() -> None:
    assert isinstance(gsym.Frame.__annotations__, Mapping)
    assert list(gsym.Frame.__annotations__) == list(gsym.Frame._fields)
