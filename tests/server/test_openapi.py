"""The OpenAPI document: it is true, whatever is asked."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
import schemathesis
from hypothesis import HealthCheck, settings
from schemathesis.specs.openapi.checks import positive_data_acceptance

from gsym.server.openapi import openapi_document

if TYPE_CHECKING:
    from tests.server.running import RunningServer

pytestmark = [pytest.mark.long, pytest.mark.no_engine]

PATHS = ("/symbolicate/v5", "/symbolicate/v4", "/__heartbeat__", "/__version__")
SCHEMA = schemathesis.openapi.from_dict(openapi_document(PATHS))


def test_the_document_describes_the_endpoints(server: RunningServer) -> None:
    document = server.ask("GET", "/openapi.json").json
    assert document["openapi"].startswith("3.1")
    assert set(document["paths"]) >= set(PATHS)


@SCHEMA.parametrize()
@settings(max_examples=15, deadline=None, suppress_health_check=list(HealthCheck))
@pytest.mark.filterwarnings("ignore")
def test_answers_are_as_described(
    case: schemathesis.Case[Any], server: RunningServer
) -> None:
    # No schema can say that an index is below the length of another list.
    unfit: list[Any] = [positive_data_acceptance]
    case.call_and_validate(base_url=server.url, excluded_checks=unfit)
