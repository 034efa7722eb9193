"""gsym.trace.fxt.records: what a type checker sees is what there is."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from gsym.trace.fxt import records as fxt_context_records, records as fxt_records
from gsym.trace.fxt.records import Event

if TYPE_CHECKING:
    from types import ModuleType


def typed(module: ModuleType) -> dict[str, Any]:
    """The records as the module defines them for a type checker."""
    path = module.__file__
    assert path is not None
    source = Path(path).read_text("utf-8")
    for_checkers = source.replace("TYPE_CHECKING = False", "TYPE_CHECKING = True")
    names: dict[str, Any] = {"__name__": f"{module.__name__}_typed"}
    exec(compile(for_checkers, path, "exec"), names)  # noqa: S102 - our own source
    return names


@pytest.mark.parametrize("module", [fxt_records, fxt_context_records])
def test_records_have_the_fields_that_type_checkers_see(module: ModuleType) -> None:
    for name, record in typed(module).items():
        if hasattr(record, "_fields"):
            actual = getattr(module, name)
            assert actual._fields == record._fields, name
            assert actual._field_defaults == record._field_defaults, name


def test_an_event_needs_no_more_than_what_happened() -> None:
    event = Event("instant", 7, 1, 2, "category", "name")
    assert event.args == ()
    assert event.provider is event.id is event.end_ticks is None
