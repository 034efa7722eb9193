"""A client written from the text of the specification, and from nothing else.

Quoted lines are those of its page "Symbolication"; the code knows no more.
"""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from tests.server.running import RunningServer

pytestmark = pytest.mark.no_engine

AGENT = "my-script/1.0 (+https://example.com/path-to-code/)"


def send(url: str, payload: Any) -> Any:
    """Send an HTTP POST request with a JSON payload. Set a User-Agent."""
    body = json.dumps(payload).encode()
    request = urllib.request.Request(url, body, {"User-Agent": AGENT})  # noqa: S310 - http
    with urllib.request.urlopen(request, timeout=20) as response:  # noqa: S310
        assert response.status == 200
        assert response.headers.get_content_type() == "application/json"
        return json.load(response)


def check_result(job: dict[str, Any], result: dict[str, Any]) -> None:
    """One of `results`: array of result objects, one for every job."""
    assert isinstance(result["stacks"], list)
    assert len(result["stacks"]) == len(job["stacks"])
    for asked, stack in zip(job["stacks"], result["stacks"], strict=True):
        assert len(stack) == len(asked)
        for number, (frame, (_, offset)) in enumerate(zip(stack, asked, strict=True)):
            assert frame["frame"] == number  # "frame index; 0-based"
            assert isinstance(frame["module"], str)
            assert frame["module_offset"] == hex(offset)  # "the module offset in hex"
            for optional in ("function", "function_offset", "file"):
                assert isinstance(frame.get(optional, ""), str)
            assert isinstance(frame.get("line", 1), int)
    found = result["found_modules"]
    assert set(found) == {f"{name}/{debug_id}" for name, debug_id in job["memoryMap"]}
    assert set(found.values()) <= {True, False, None}


def test_the_example_request_is_answered(server: RunningServer) -> None:
    payload = {
        "jobs": [
            {
                "stacks": [[[1, 7556668], [1, 7509754]]],
                "memoryMap": [
                    ["firefox.pdb", "C0A5F7D110D262364C4C44205044422E1"],
                    ["xul.pdb", "0FBE970321AB8CF14C4C44205044422E1"],
                ],
            }
        ],
        "version": 5,
    }
    answer = send(f"{server.url}/symbolicate/v5", payload)
    (result,) = answer["results"]
    check_result(payload["jobs"][0], result)  # type: ignore[index]
    assert result["found_modules"] == {
        "firefox.pdb/C0A5F7D110D262364C4C44205044422E1": None,
        "xul.pdb/0FBE970321AB8CF14C4C44205044422E1": False,
    }
    assert [frame["module_offset"] for frame in result["stacks"][0]] == [
        "0x734e3c",
        "0x7296fa",
    ]


def test_the_example_command_of_the_reference_is_answered(
    server: RunningServer,
) -> None:
    # curl sends its data as a form.
    payload = (
        '{"jobs": [{"stacks":[[[0,11723767],[1, 65802]]],"memoryMap":[["xul.pdb",'
        '"44E4EC8C2F41492B9369D6B9A059577C2"],["wntdll.pdb",'
        '"D74F79EB1F8D4A45ABCD2F476CCABACC2"]]}]}'
    )
    answer = server.post(
        payload.encode(),
        Content_Type="application/x-www-form-urlencoded",
        User_Agent="my-script/1.0 (+https://example.com/)",
    )
    check_result(json.loads(payload)["jobs"][0], answer.json["results"][0])
