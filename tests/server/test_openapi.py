"""The OpenAPI document: it is true, whatever is asked."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, settings

from gsym.modules.symbolizer import Symbolizer
from gsym.server.openapi import openapi_document
from tests.server.running import RunningServer

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.server.modules import KnownModules

pytestmark = [pytest.mark.long, pytest.mark.no_engine]

PATHS = ("/symbolicate/v5", "/symbolicate/v4", "/source/v1", "/asm/v1")
schemathesis = pytest.importorskip("schemathesis")
checks = pytest.importorskip("schemathesis.specs.openapi.checks")
SCHEMA = schemathesis.openapi.from_dict(openapi_document(PATHS))
EXAMPLES = 75  # of each path: 300 requests in all


@pytest.fixture(scope="module")
def complete(modules: KnownModules) -> Iterator[RunningServer]:
    """A server with all endpoints."""
    with RunningServer(
        Symbolizer(modules), enable_source=True, enable_asm=True
    ) as running:
        yield running


def test_the_document_describes_the_endpoints(complete: RunningServer) -> None:
    document = complete.ask("GET", "/openapi.json").json
    assert document["openapi"].startswith("3.1")
    assert set(document["paths"]) >= set(PATHS)


@SCHEMA.parametrize()  # type: ignore[untyped-decorator]
@settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck))
@pytest.mark.filterwarnings("ignore")
def test_answers_are_as_described(case: Any, complete: RunningServer) -> None:
    # No schema can say that an index is below the length of another list.
    unfit: list[Any] = [checks.positive_data_acceptance]
    if case.path == "/symbolicate/v5":  # it answers what is valid, and says what is not
        unfit.append(checks.negative_data_rejection)
    case.call_and_validate(base_url=complete.url, excluded_checks=unfit)
