"""What is refused, in which order, with which words."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from gsym.api.request import RequestError, RequestLimits, read_v4, read_v5
from gsym.confined.process import ConfinedError
from gsym.errors import (
    FormatError,
    GsymError,
    LimitError,
    SourceError,
    UnsupportedError,
)
from gsym.server.errors import HttpError, answered
from gsym.store.publication import IdTakenError
from tests.server import error_cases
from tests.server.modules import LIB_ID, XUL_ID

if TYPE_CHECKING:
    from tests.server.running import RunningServer

pytestmark = pytest.mark.no_engine

LIMITS = RequestLimits()


def encoded(body: Any) -> bytes:
    return body if isinstance(body, bytes) else json.dumps(body).encode()


@pytest.mark.parametrize(("body", "title"), error_cases.COMMON)
def test_an_invalid_job_is_refused(
    server: RunningServer, body: Any, title: str
) -> None:
    for version in ("v4", "v5"):
        answer = server.post(body, f"/symbolicate/{version}")
        assert (answer.status, answer.title) == (400, title)
    if title != error_cases.NO_JSON and not isinstance(body, list):
        # In a list of jobs it is refused with the same words.
        with pytest.raises(RequestError) as refused:
            read_v5(b'{"jobs": [' + encoded(body) + b"]}", LIMITS)
        assert refused.value.reason == title


@pytest.mark.parametrize(
    ("body", "title"), error_cases.BAD_MODULE + error_cases.OF_VERSION_4
)
def test_version_4_refuses_a_module(
    server: RunningServer, body: Any, title: str
) -> None:
    answer = server.post(body, "/symbolicate/v4")
    assert (answer.status, answer.title) == (400, title)


@pytest.mark.parametrize(("body", "title"), error_cases.BAD_MODULE)
def test_version_5_answers_the_other_modules(
    server: RunningServer, body: Any, title: str
) -> None:
    sound, bad = error_cases.MODULES[0], len(body["memoryMap"]) - 1
    stacks = [[[bad, 16], [bad + 1, 16]]]
    both = {**body, "memoryMap": [*body["memoryMap"], sound], "stacks": stacks}
    if "codeIds" in body:
        both["codeIds"] = [*body["codeIds"], ""]
    (answer,) = server.post({"jobs": [both]}).json["results"]
    assert answer["found_modules"]["/".join(sound)] is True
    assert [len(each) for each in answer["stacks"]] == [2]
    (problem,) = answer["module_errors"].values()
    assert problem[0]["name"] == "InvalidModule"
    assert title.endswith(problem[0]["message"])
    assert False in answer["found_modules"].values()


@pytest.mark.parametrize(("body", "title"), error_cases.BAD_JOB)
def test_version_5_answers_the_other_jobs(
    server: RunningServer, body: Any, title: str
) -> None:
    first, second = server.post(body).json["results"]
    assert first["found_modules"]["/".join(error_cases.MODULES[0])] is True
    assert "error" not in first
    assert second == {"stacks": [], "found_modules": {}, "error": title}


@pytest.mark.parametrize(
    "name",
    ["[kernel.kallsyms]", "Code Helper (Plugin)", "app (deleted)", "libé.so", "x,y.so"],
)
def test_version_5_takes_names_of_all_systems(server: RunningServer, name: str) -> None:
    modules = [[name, "0" * 31 + "10"], error_cases.MODULES[0]]
    (answer,) = server.post(error_cases.job([[[0, 16], [1, 16]]], modules)).json[
        "results"
    ]
    assert answer["found_modules"][f"{name}/{modules[0][1]}"] is False
    assert answer["found_modules"]["/".join(modules[1])] is True


@pytest.mark.parametrize(("body", "title"), error_cases.V5)
def test_invalid_jobs_are_refused(server: RunningServer, body: Any, title: str) -> None:
    answer = server.post(body)
    assert (answer.status, answer.title) == (400, title)


SOUND: list[Any] = [
    error_cases.job(),
    error_cases.job([[]], []),
    error_cases.job([[], [[-1, -1], [-1, (1 << 64) - 1]]], []),
    error_cases.frame(0, (1 << 64) - 1),
    error_cases.frame(0, -1),
    error_cases.job([[[1, 0]]], [["", ""], ["a-b_c.d+e{f}g@h<i>j k~l", "0aF"]]),
    {**error_cases.job(), "version": 5, "extra": [{}]},
    b'{"stacks": 1, "stacks": [[[0, 1]]], "memoryMap": [["a", "1"]]}',
]


@pytest.mark.parametrize("body", SOUND)
@pytest.mark.parametrize("version", ["v4", "v5"])
def test_a_valid_job_is_answered(
    server: RunningServer, body: Any, version: str
) -> None:
    assert server.post(body, f"/symbolicate/{version}").status == 200


@pytest.mark.parametrize(
    "body",
    [
        {"jobs": []},
        {"jobs": [error_cases.job()] * 10},
        {"jobs": [error_cases.job()], "stacks": 1, "memoryMap": "x"},
    ],
)
def test_valid_jobs_are_answered(server: RunningServer, body: Any) -> None:
    answer = server.post(body)
    assert answer.status == 200
    assert len(answer.json["results"]) == len(body["jobs"])


def test_version_4_has_no_list_of_jobs(server: RunningServer) -> None:
    answer = server.post({"jobs": [error_cases.job()]}, "/symbolicate/v4")
    assert answer.title == "job 0 is invalid: no stacks specified"
    both = {"jobs": [], **error_cases.job()}
    assert server.post(both, "/symbolicate/v4").status == 200


def test_kernel_names_are_allowed_by_a_setting() -> None:
    body = encoded(error_cases.job(modules=[["[kernel.kallsyms]:1", "00"]]))
    assert read_v4(body, RequestLimits(wide_names=True))
    with pytest.raises(RequestError):
        read_v4(body, LIMITS)
    slash = encoded(error_cases.job(modules=[["a/b", "00"]]))
    with pytest.raises(RequestError):
        read_v4(slash, RequestLimits(wide_names=True))


@pytest.mark.parametrize(
    ("limits", "what", "at_limit", "beyond"),
    [
        (
            RequestLimits(jobs=2),
            "jobs",
            {"jobs": [error_cases.job()] * 2},
            {"jobs": [error_cases.job()] * 3},
        ),
        (
            RequestLimits(frames=3),
            "frames",
            {"jobs": [error_cases.job([[[0, 1]], [[0, 2], [0, 3]]])]},
            {"jobs": [error_cases.job([[[0, 1]], [[0, 2]]])] * 2},
        ),
        (
            RequestLimits(modules=3),
            "modules",
            {"jobs": [error_cases.job(modules=[["a", "1"]] * 3)]},
            {"jobs": [error_cases.job(modules=[["a", "1"]] * 2)] * 2},
        ),
    ],
)
def test_the_size_of_a_request_is_limited(
    limits: RequestLimits, what: str, at_limit: Any, beyond: Any
) -> None:
    assert read_v5(encoded(at_limit), limits)
    with pytest.raises(RequestError) as refused:
        read_v5(encoded(beyond), limits)
    limit = getattr(limits, what)
    assert refused.value.reason == (
        f"please limit number of {what} in a single request to <= {limit}"
    )
    assert refused.value.status == (400 if what == "jobs" else 413)
    assert refused.value.kind == f"too_many_{what}"


@pytest.mark.parametrize("method", ["GET", "POST", "OPTIONS"])
@pytest.mark.parametrize(
    "path",
    [
        "/symbolicate",
        "/symbolicate/v5/",
        "/symbolicate/v6",
        "//symbolicate/v5",
        "/Symbolicate/v5",
        "/symbolicate/v5/x",
        "/%00",
    ],
)
def test_any_other_path_is_not_found(
    server: RunningServer, method: str, path: str
) -> None:
    answer = server.ask(method, path)
    assert (answer.status, answer.title) == (404, "404 Not Found"), path


@pytest.mark.parametrize("method", ["GET", "PUT", "DELETE", "PATCH"])
def test_any_other_method_is_not_allowed(server: RunningServer, method: str) -> None:
    answer = server.ask(method, "/symbolicate/v5")
    assert (answer.status, answer.title) == (405, "405 Method Not Allowed")
    assert answer.headers["allow"] == "POST, OPTIONS"


@pytest.mark.parametrize("accept", ["application/xml", "text/plain;q=0.1", ""])
def test_errors_are_json_whatever_the_accept_header(
    server: RunningServer, accept: str
) -> None:
    assert server.post(b"x", Accept=accept).title == error_cases.NO_JSON
    assert server.ask("GET", "/no", headers={"Accept": accept}).title


@pytest.mark.parametrize("kind", ["application/x-www-form-urlencoded"])
def test_the_content_type_of_a_request_is_ignored(
    server: RunningServer, kind: str
) -> None:
    body = error_cases.job(modules=[["xul.pdb", XUL_ID], ["libdemo.so", LIB_ID]])
    assert server.post(body, Content_Type=kind).body == server.post(body).body


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (LimitError("x"), 413),
        (ConfinedError("x"), 422),
        (SourceError("x", status=404), 502),
        (IdTakenError("x"), 403),
        (UnsupportedError("x"), 415),
        (FormatError("x", path="/secret"), 400),
        (RequestError("x", 404), 404),
    ],
    ids=repr,
)
def test_an_error_has_one_status(error: GsymError, status: int) -> None:
    with pytest.raises(HttpError) as refused, answered():
        raise error
    assert (refused.value.status_code, refused.value.detail) == (status, "x")
