"""The client against a server that answers as a script says."""

from __future__ import annotations

import gzip
import json
import socket
import time
from base64 import b64encode
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from gsym import ClientSettings, StackFrame, SymbolicationClient
from gsym.api.client import symbolication_client
from gsym.errors import ServerError
from gsym.net import retry
from tests.http_server import Reply, Request, Server

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = [pytest.mark.long, pytest.mark.no_engine]

ID = "0905AE80CEE75A33E3CAB61C274274DE0"
WAITS = [0, 1, 2, 3, 4, 5]


def job(*stacks: list[int], name: str = "a.so") -> dict[str, Any]:
    """A job whose stacks are lists of offsets in one module."""
    return {
        "stacks": [[[0, offset] for offset in stack] for stack in stacks],
        "memoryMap": [[name, ID]],
    }


def reply(body: object, status: int = 200, **headers: str) -> Reply:
    named = tuple((name.replace("_", "-"), value) for name, value in headers.items())
    return Reply(json.dumps(body).encode(), status, named)


def title(text: str, status: int = 400) -> Reply:
    return reply({"title": text}, status)


def result(asked: dict[str, Any]) -> dict[str, Any]:
    """What version 5 says of a job: each function is named after its offset."""
    names = [name for name, _ in asked["memoryMap"]]
    return {
        "stacks": [
            [
                {
                    "frame": number,
                    "module": names[module],
                    "module_offset": hex(offset),
                    "function": f"f{offset}",
                    "function_offset": "0x0",
                }
                for number, (module, offset) in enumerate(stack)
            ]
            for stack in asked["stacks"]
        ],
        "found_modules": {f"{name}/{id_}": True for name, id_ in asked["memoryMap"]},
    }


def symbolicated(request: Request) -> Reply:
    return reply(
        {"results": [result(each) for each in json.loads(request.body)["jobs"]]}
    )


class Clock:
    """Remembers what a client wanted to sleep."""

    def __init__(self) -> None:
        self.waits: list[float] = []

    def __call__(self, seconds: float) -> None:
        self.waits.append(seconds)


def ask(
    server: Server,
    request: object,
    clock: Clock | None = None,
    settings: ClientSettings | None = None,
) -> list[dict[str, Any]]:
    sleep: Callable[[float], object] = clock or Clock()
    with SymbolicationClient(server.url + "/", settings, sleep=sleep) as client:
        results = client.answer(request)["results"]
    assert isinstance(results, list)
    return results


def functions(answer: dict[str, Any]) -> list[list[str]]:
    return [[frame["function"] for frame in stack] for stack in answer["stacks"]]


@pytest.mark.parametrize(
    "request_form",
    [
        {"jobs": [job([1, 2])], "version": 5},
        job([1, 2]),
        [job([1, 2])],
        {**job([1, 2]), "version": 4},
    ],
    ids=["version 5", "one job", "list of jobs", "version 4"],
)
def test_every_input_format_becomes_one_request_of_version_5(
    request_form: object,
) -> None:
    with Server(symbolicated) as server:
        (answer,) = ask(server, request_form)
    assert functions(answer) == [["f1", "f2"]]
    (sent,) = server.requests
    path, headers = sent.path, sent.headers
    assert path == "/symbolicate/v5"
    assert headers["user-agent"].startswith("gsym/")
    assert "gzip" in headers["accept-encoding"]


@pytest.mark.parametrize("nonsense", [3, "x", None, {"jobs": {}}])
def test_what_is_no_request_is_refused_before_it_is_sent(nonsense: object) -> None:
    refused = pytest.raises(ValueError, match="not a symbolication request")
    with Server(symbolicated) as server, refused:
        ask(server, nonsense)
    assert server.requests == []


def test_answers_come_as_records() -> None:
    frame = {
        "frame": 0,
        "module": "xul.dll",
        "module_offset": "0x10",
        "function": "f",
        "function_offset": "0x4",
        "file": "a.c",
        "line": 7,
        "inlines": [{"function": "g", "file": "b.h", "line": 3}],
    }
    found = {f"xul.pdb/{ID}": True}
    body = {"results": [{"stacks": [[frame]], "found_modules": found}]}
    with Server(reply(body)) as server, SymbolicationClient(server.url) as client:
        (answer,) = client.symbolicate(job([16], name="xul.pdb"))
    assert answer.found_modules == found
    (only,) = answer.stacks[0]
    inlines = (("g", "b.h", 3),)
    assert only == StackFrame("xul.dll", 16, "f", 4, "a.c", 7, inlines)


# ---- what will pass


TEMPORARY = {
    "429": title("slow down", 429),
    "500": title("500 Internal Server Error", 500),
    "503": Reply(b"<html>overloaded</html>", 503),
    "HTML": Reply(b"<html>hello</html>"),
    "cut JSON": Reply(b'{"results": [{"sta'),
    "nothing": Reply(b""),
    "no gzip": Reply(b"plain", headers=(("Content-Encoding", "gzip"),)),
    "less than it says": Reply(b"{}", claimed=1000),
    "deep JSON": Reply(b"[" * 200_000),
    "a refusal without JSON": Reply(b"<html>no</html>", 400),
}


@pytest.mark.parametrize("failure", TEMPORARY.values(), ids=TEMPORARY)
def test_a_temporary_failure_is_retried(failure: Reply) -> None:
    clock = Clock()
    with Server(failure, failure, failure, symbolicated) as server:
        (answer,) = ask(server, job([5]), clock)
    assert functions(answer) == [["f5"]]
    assert clock.waits == WAITS[:3]
    assert len(server.requests) == 4


def test_a_server_to_which_nothing_connects_is_not_asked_again() -> None:
    clock = Clock()
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    with (
        SymbolicationClient(f"http://127.0.0.1:{port}", sleep=clock) as client,
        pytest.raises(ServerError, match=r"refused.*\(attempt 1\)"),
    ):
        client.answer(job([5]))
    assert clock.waits == []


def test_waits_are_told(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO", "gsym.client")
    with Server(Reply(b"", 503), Reply(b"", 503), symbolicated) as server:
        ask(server, job([5]), Clock())
    (record,) = caplog.records
    path = f"{server.url}/symbolicate/v5"
    assert record.getMessage() == f"{path}: HTTP status 503; again in 1 s"


def test_the_last_failure_is_reported() -> None:
    clock = Clock()
    with (
        Server(Reply(b"<html>", 502)) as server,
        pytest.raises(ServerError, match=r"HTTP status 502 \(attempt 7\)") as caught,
    ):
        ask(server, job([5]), clock)
    assert clock.waits == WAITS
    assert caught.value.path == f"{server.url}/symbolicate/v5"


@pytest.mark.parametrize(
    ("asked", "waited"), [("0", 0), ("60", 60), ("61", 60), ("9" * 400, 60)]
)
def test_retry_after_is_honoured_up_to_a_limit(asked: str, waited: float) -> None:
    clock = Clock()
    with Server(reply({}, 429, Retry_After=asked), symbolicated) as server:
        ask(server, job([5]), clock)
    assert clock.waits == [waited]


@pytest.mark.parametrize(("total", "waits"), [(29.5, [10, 10]), (30.5, [10, 10, 10])])
def test_the_total_time_of_a_request_is_limited(
    total: float, waits: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    clock, started = Clock(), time.monotonic()
    passing = SimpleNamespace(monotonic=lambda: started + sum(clock.waits))
    for module in (retry, symbolication_client):
        monkeypatch.setattr(module, "time", passing)
    busy = reply({}, 429, Retry_After="10")
    settings = ClientSettings(total_timeout=total, timeout=1000)
    with (
        Server(busy) as server,
        pytest.raises(ServerError, match=f"attempt {len(waits) + 1}"),
    ):
        ask(server, job([5]), clock, settings)
    assert clock.waits == waits


def test_an_endless_response_times_out() -> None:
    slow = reply({"results": []})._replace(fault="pause")
    settings = ClientSettings(total_timeout=0.3)
    with Server(slow) as server, pytest.raises(ServerError, match="no answer in time"):
        ask(server, job([5]), settings=settings)


@pytest.mark.parametrize("status", [401, 403])
def test_a_denied_request_is_not_retried(status: int) -> None:
    with (
        Server(title("who are you?", status)) as server,
        pytest.raises(ServerError, match="who are you"),
    ):
        ask(server, job([5]))
    assert len(server.requests) == 1


# ---- how requests are put together


def test_requests_hold_ten_jobs_and_jobs_of_one_build_go_together() -> None:
    jobs = [job([n], name=f"{n % 3}.so") for n in range(36)]
    with Server(symbolicated) as server:
        answers = ask(server, jobs)
    assert [functions(each) for each in answers] == [[[f"f{n}"]] for n in range(36)]
    sent = [
        [each["memoryMap"][0][0][0] for each in json.loads(body)["jobs"]]
        for body in server.bodies
    ]
    assert ["".join(names) for names in sent] == [
        "0" * 10,
        "1" * 10,
        "2" * 10,
        "001122",
    ]


def test_a_build_stays_in_one_request_where_it_fits_in_one() -> None:
    jobs = [job([n], name="a.so") for n in range(6)]
    jobs += [job([n], name="b.so") for n in range(6)]
    with Server(symbolicated) as server:
        ask(server, jobs)
    assert [len(json.loads(body)["jobs"]) for body in server.bodies] == [6, 6]


@pytest.mark.parametrize(("frames", "requests"), [(100, 1), (101, 2), (250, 3)])
def test_a_job_with_too_many_frames_is_split_and_merged(
    frames: int, requests: int
) -> None:
    stacks = [[], list(range(frames - 60)), [], list(range(1000, 1060)), []]
    with Server(symbolicated) as server:
        (answer,) = ask(server, job(*stacks), settings=ClientSettings(most_frames=100))
    assert functions(answer) == [[f"f{each}" for each in stack] for stack in stacks]
    for stack in answer["stacks"]:
        assert [frame["frame"] for frame in stack] == list(range(len(stack)))
    assert answer["found_modules"] == {f"a.so/{ID}": True}
    assert len(server.requests) == requests


def test_a_module_that_only_one_piece_needs_is_found() -> None:
    asked = {
        "stacks": [[[0, 1]], [[1, 2]], [[0, 3]]],
        "memoryMap": [["a", ID], ["b", ID], ["c", ID]],
    }

    def answer(request: Request) -> Reply:
        (piece,) = json.loads(request.body)["jobs"]
        used = {frame[0] for stack in piece["stacks"] for frame in stack}
        found = {
            f"{name}/{ID}": (index == 1 if index in used else None)
            for index, name in enumerate("abc")
        }
        return reply({"results": [{**result(piece), "found_modules": found}]})

    with Server(answer) as server:
        (whole,) = ask(server, asked, settings=ClientSettings(most_frames=1))
    assert whole["found_modules"] == {
        f"a/{ID}": False,
        f"b/{ID}": True,
        f"c/{ID}": None,
    }


def test_requests_are_compressed_on_request_only() -> None:
    with Server(symbolicated) as server:
        ask(server, job([5]))
    assert "content-encoding" not in server.requests[0].headers

    def inflated(request: Request) -> Reply:
        return symbolicated(request._replace(body=gzip.decompress(request.body)))

    with Server(inflated) as server:
        ask(server, job([5]), settings=ClientSettings(compresses=True))
    assert server.requests[0].headers["content-encoding"] == "gzip"


def test_credentials_in_the_url_are_sent_and_not_printed() -> None:
    with Server(title("no", 403)) as server:
        url = server.url.replace("://", "://me:s%C3%A9cret@") + "/below?key=secret"
        settings = ClientSettings(user_agent="mine/1", headers=(("X-Token", "t"),))
        with (
            SymbolicationClient(url, settings) as client,
            pytest.raises(ServerError) as caught,
        ):
            client.answer(job([5]))
    headers = server.requests[0].headers
    assert (headers["user-agent"], headers["x-token"]) == ("mine/1", "t")
    expected = b64encode("me:sécret".encode()).decode()
    assert headers["authorization"] == f"Basic {expected}"
    assert str(caught.value).startswith(f"{server.url}/below: ")


def test_a_redirect_is_reported_without_secrets() -> None:
    with (
        Server(reply({}, 307, Location="http://me:x@elsewhere/a?key=secret")) as server,
        pytest.raises(ServerError, match=r"redirects to http://elsewhere/a: name"),
    ):
        ask(server, job([5]))
    assert len(server.requests) == 1


@pytest.mark.parametrize(
    "url", ["ftp://me:secret@host/", "127.0.0.1:8000", "http://me:secret@host:x", ""]
)
def test_a_server_url_must_be_http(url: str) -> None:
    with pytest.raises(ServerError) as caught:
        SymbolicationClient(url)
    assert "secret" not in str(caught.value)


# ---- jobs that are refused


def refusing(*bad: int) -> Callable[[Request], Reply]:
    """A server that names the first job with one of these offsets."""

    def answer(request: Request) -> Reply:
        for number, each in enumerate(json.loads(request.body)["jobs"]):
            if each["stacks"][0][0][1] in bad:
                return title(f"job {number} is invalid: no such luck")
        return symbolicated(request)

    return answer


def test_a_refused_job_costs_the_others_nothing() -> None:
    with Server(refusing(0, 4, 24)) as server:
        answers = ask(server, [job([n]) for n in range(25)])
    for number, each in enumerate(answers):
        if number in {0, 4, 24}:
            assert each["error"] == f"job {number} is invalid: no such luck"
        else:
            assert functions(each) == [[f"f{number}"]]


def test_a_refused_job_is_found_by_bisection() -> None:
    def answer(request: Request) -> Reply:
        if b"NaN" in request.body:
            return title("Payload is not valid JSON")
        return symbolicated(request)

    bad = {**job([7]), "x": float("nan")}
    with Server(answer) as server:
        answers = ask(server, [*(job([n]) for n in range(7)), bad, job([8])])
    assert [each.get("error") for each in answers] == [
        *[None] * 7,
        "Payload is not valid JSON",
        None,
    ]


def test_malformed_jobs_are_sent_to_the_server() -> None:
    odd: list[Any] = [None, 3, [], {}, {"stacks": 3}, {"stacks": [3], "memoryMap": 3}]

    def answer(request: Request) -> Reply:
        for number, each in enumerate(json.loads(request.body)["jobs"]):
            if each in odd:
                return title(f"job {number} is invalid")
        return symbolicated(request)

    with Server(answer) as server:
        answers = ask(server, [*odd, job([1])])
    assert ["error" in each for each in answers] == [True] * len(odd) + [False]


def test_a_refused_piece_is_a_refused_job_and_the_rest_is_not_sent() -> None:
    with Server(refusing(2)) as server:
        first, second = ask(
            server,
            [job([1], [2], [3], [4]), job([9])],
            settings=ClientSettings(most_frames=1),
        )
    assert "no such luck" in first["error"]
    assert functions(second) == [["f9"]]
    assert len(server.requests) == 3


@pytest.mark.parametrize("most", [1, 3, 40])
def test_a_request_that_is_too_large_is_halved(most: int) -> None:
    def answer(request: Request) -> Reply:
        jobs = json.loads(request.body)["jobs"]
        if sum(len(stack) for each in jobs for stack in each["stacks"]) > most:
            return title("too large", 413)
        return symbolicated(request)

    asked = [list(range(20)), list(range(20, 23))]
    with Server(answer) as server:
        first, second = ask(server, [job(*asked), job([50, 51])])
    assert functions(first) == [[f"f{n}" for n in stack] for stack in asked]
    assert functions(second) == [["f50", "f51"]]
    numbers = [[frame["frame"] for frame in stack] for stack in first["stacks"]]
    assert numbers == [list(range(20)), list(range(3))]


def test_a_frame_that_is_too_large_by_itself_is_refused() -> None:
    with Server(title("too large", 413)) as server:
        (answer,) = ask(server, job([1, 2]))
    assert answer == {"error": "too large"}


# ---- version 4


def version_4_only(request: Request) -> Reply:
    if request.path != "/symbolicate/v4":
        return title("404 Not Found", 404)
    asked = json.loads(request.body)
    names = [name for name, _ in asked["memoryMap"]]
    stacks = [
        [
            f"{f'f (in) {offset}' if offset else '0x0'} (in {names[module]})"
            for module, offset in stack
        ]
        for stack in asked["stacks"]
    ]
    return reply({"symbolicatedStacks": stacks, "knownModules": [True] * len(names)})


def test_version_4_is_used_if_there_is_no_version_5() -> None:
    with Server(version_4_only) as server:
        first, second = ask(server, [job([0, 6]), job([7], name="b.so")])
    assert server.paths == [
        "/symbolicate/v5",
        "/symbolicate/v4",
        "/symbolicate/v4",
    ]
    assert [json.loads(body)["version"] for body in server.bodies] == [5, 4, 4]
    assert first == {
        "stacks": [
            [
                {"frame": 0, "module": "a.so", "module_offset": "0x0"},
                {
                    "frame": 1,
                    "module": "a.so",
                    "module_offset": "0x6",
                    "function": "f (in) 6",
                },
            ]
        ],
        "found_modules": {f"a.so/{ID}": True},
    }
    assert functions(second) == [["f (in) 7"]]


@pytest.mark.parametrize(
    ("status", "body"), [(404, b"{}"), (405, b"<html>"), (410, b"{}")]
)
def test_a_server_without_the_api_is_reported(status: int, body: bytes) -> None:
    with (
        Server(Reply(body, status)) as server,
        pytest.raises(ServerError, match="no symbolication API"),
    ):
        ask(server, job([1]))
    assert len(server.requests) == 2


# ---- answers that do not fit


GOOD = result(job([1]))
UNFIT = {
    "no object": [],
    "no results": {},
    "too many results": {"results": [GOOD, GOOD]},
    "no result": {"results": [None]},
    "no stacks": {"results": [{"found_modules": {}}]},
    "no found_modules": {"results": [{"stacks": GOOD["stacks"]}]},
    "a stack less": {"results": [{"stacks": [], "found_modules": {}}]},
    "a frame less": {"results": [{"stacks": [[]], "found_modules": {}}]},
    "a stack that is none": {"results": [{"stacks": [{}], "found_modules": {}}]},
    "a frame that is none": {"results": [{"stacks": [[3]], "found_modules": {}}]},
    "an error of its own": {"results": [{**GOOD, "error": {}}]},
    "a frame without module": {"results": [{"stacks": [[{}]], "found_modules": {}}]},
    "an odd offset": {
        "results": [
            {
                "stacks": [[{"module": "a", "module_offset": "zz"}]],
                "found_modules": {},
            }
        ]
    },
}


@pytest.mark.parametrize("body", UNFIT.values(), ids=UNFIT)
def test_a_malformed_response_is_an_error(body: object) -> None:
    with (
        Server(reply(body)) as server,
        SymbolicationClient(server.url) as client,
        pytest.raises(ServerError, match="does not match the request"),
    ):
        client.symbolicate(job([1]))


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"symbolicatedStacks": [["x (in y)"]]},
        {"symbolicatedStacks": [[3]], "knownModules": [True]},
        {"symbolicatedStacks": [[]], "knownModules": [True]},
        {"symbolicatedStacks": [["x (in y)"]], "knownModules": []},
        [],
    ],
)
def test_a_malformed_response_of_version_4_is_an_error(body: object) -> None:
    with (
        Server(title("404 Not Found", 404), reply(body)) as server,
        pytest.raises(ServerError, match="does not match the request"),
    ):
        ask(server, job([1]))


@pytest.mark.parametrize("text", ["\\ud800", "\\uDFFF"])
def test_lone_surrogates_in_a_response_are_replaced(text: str) -> None:
    good = json.dumps({"results": [GOOD]})
    assert good.count('"f1"') == 1
    with Server(
        Reply(good.replace('"f1"', f'"\\ud83d\\ude00{text}"').encode())
    ) as server:
        (answer,) = ask(server, job([1]))
    assert functions(answer) == [["\U0001f600?"]]


@pytest.mark.parametrize(("most", "is_read"), [(1000, True), (999, False)])
def test_the_size_of_a_response_is_limited(most: int, *, is_read: bool) -> None:
    body = json.dumps({"results": [GOOD]}).encode().ljust(1000)
    with Server(Reply.zipped(body)) as server:
        if is_read:
            assert ask(server, job([1]), settings=ClientSettings(most_bytes=most)) == [
                GOOD
            ]
        else:
            with pytest.raises(ServerError, match="more than 999 bytes"):
                ask(server, job([1]), settings=ClientSettings(most_bytes=most))
