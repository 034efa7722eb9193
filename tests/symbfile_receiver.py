"""A receiver of symbfiles on this machine: strict, and failing as a test says."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from tests.http_server import Reply, Server

if TYPE_CHECKING:
    from tests.http_server import Request

SUCCESS = Reply(b'{"success": true, "status": 200}')


def failure(
    status: int,
    text: str = "Something went wrong on our side.",
    fault: str = "",
    **headers: str,
) -> Reply:
    """A refusal in the form of the protocol."""
    body = {
        "success": False,
        "uuid": "f1ada52e-d705-423f-a1b0-fc054eb8900e",
        "error": {"Code": "1000", "Text": text},
        "status": status,
    }
    named = tuple((n.replace("_", "-"), value) for n, value in headers.items())
    return Reply(json.dumps(body).encode(), status, named, fault=fault)


def kind_of(request: Request) -> str:
    return request.path.rpartition("symbols-")[2]


class Receiver(Server):
    """Answers requests in turn, those behind the last reply with success."""

    def __init__(self, *replies: Reply) -> None:
        super().__init__(*replies, SUCCESS)

    @property
    def parts(self) -> dict[tuple[str, str, int], bytes]:
        """The body of each part that was accepted, by FileID, kind and number."""
        return {
            (each.headers["FileID"], kind_of(each), int(each.headers["FilePart"])): (
                each.body
            )
            for each in self.requests
            if each.reply.status == 200 and not each.reply.fault
        }

    @property
    def problems(self) -> list[str]:
        """What a client did against the protocol."""
        return [problem for each in self.requests for problem in _problems_of(each)]


def _problems_of(request: Request) -> list[str]:
    names = [name.lower() for name in request.headers.keys()]  # noqa: SIM118 - each
    found = []
    if len(set(names)) != len(names):
        found.append(f"a header comes twice: {names}")
    if "transfer-encoding" in names or "expect" in names:
        found.append(f"the body is not plain: {names}")
    method, path, version = request.first_line.split(" ")
    ends = ("/api/symbols-ranges", "/api/symbols-returnpads")
    if (method, version) != ("POST", "HTTP/1.1") or not path.endswith(ends):
        found.append(f"first line: {request.first_line}")
    return found
