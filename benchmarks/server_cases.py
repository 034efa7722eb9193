"""Generated requests against the endpoints that a server describes.

    python -m benchmarks.server_cases [--cases N] [--seed N]

Schemathesis makes requests that fit the OpenAPI document and requests that do not,
equally many for each operation. Each answer must be one that the document describes.
The exit status is 1 if an answer was 5xx, or the server took too much memory, or died.
"""

from __future__ import annotations

import argparse
import hashlib
import sys
import tempfile
import time
import warnings
from collections import Counter
from pathlib import Path
from typing import Any

import schemathesis
from hypothesis import HealthCheck, Phase, given, seed as seeded, settings
from hypothesis.errors import Unsatisfiable
from schemathesis.specs.openapi.checks import (
    negative_data_rejection,
    positive_data_acceptance,
)

from benchmarks.markdown import table
from benchmarks.report import context, made_by
from benchmarks.serving import HOST, ServerProcess
from gsym.store.adding import add_file
from gsym.store.directory import Store

_ROUND = 250  # cases of one kind that Hypothesis makes together
_MOST_GROWTH = 64.0  # MiB
_MODES = (schemathesis.GenerationMode.POSITIVE, schemathesis.GenerationMode.NEGATIVE)
# No schema can say that an index is below the length of another list.
_UNFIT: list[Any] = [positive_data_acceptance]
_TOO_LARGE = 413
_OPTIONS = ("--set", "enable_source=true", "--set", "enable_asm=true")
_TOKEN = "benchmark"  # noqa: S105 - of a server that nobody else reaches
_HEADERS = {"Authorization": f"APIKey {_TOKEN}"}
# Bodies that a schema does not describe are any bytes.
for _media_type in ("application/vnd.apache.arrow.stream", "application/x-protobuf"):
    schemathesis.serializer.alias(_media_type, "application/octet-stream")
_MODULE = """MODULE Linux x86_64 0905AE80CEE75A33E3CAB61C274274DE0 libdemo.so
FUNC 1000 100 0 main
"""


def send(operation: Any, mode: Any, count: int, seed: int, url: str) -> Counter[int]:
    """Send up to *count* requests of one kind, and count the answers by their status.

    Raises:
        Exception: An answer is not as described; the error has the request.
    """
    statuses: Counter[int] = Counter()

    @settings(
        max_examples=count,
        database=None,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @seeded(seed)
    @given(case=operation.as_strategy(generation_mode=mode))
    def ask(case: Any) -> None:
        answer = case.call(base_url=url, headers=_HEADERS)
        statuses[answer.status_code] += 1
        # A body that is too large is refused whatever it holds.
        refused = [negative_data_rejection] if answer.status_code == _TOO_LARGE else []
        case.validate_response(answer, excluded_checks=[*_UNFIT, *refused])

    ask()
    return statuses


def send_all(url: str, cases: int, seed: int) -> dict[str, Counter[int]]:
    """Send *cases* requests or some more, and count the answers by operation."""
    schema = schemathesis.openapi.from_url(f"{url}/openapi.json")
    kinds = [
        (each.ok(), mode)  # type: ignore[union-attr]
        for each in schema.get_all_operations()
        for mode in _MODES
    ]
    found: dict[str, Counter[int]] = {}
    sent = 0
    while sent < cases:
        share = min(_ROUND, (cases - sent) // len(kinds) + 1)
        for operation, mode in list(kinds):
            counts = found.setdefault(operation.label, Counter())
            try:
                counts.update(send(operation, mode, share, seed, url))
            except Unsatisfiable:  # any text fits a path, and nothing to send is fit
                kinds.remove((operation, mode))
        seed += 1
        sent = sum(each.total() for each in found.values())
        print(f"{sent:,} requests", file=sys.stderr)
    return found


def shown(counts: Counter[int]) -> str:
    """How many answers had which status, as text."""
    return ", ".join(f"{status}: {count:,}" for status, count in sorted(counts.items()))


def main() -> None:
    """Send, and print what came back."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--cases", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        (folder / "demo.sym").write_text(_MODULE, encoding="ascii")
        store = Store(folder / "store")
        add_file(store, folder / "demo.sym")
        digest = hashlib.sha256(_TOKEN.encode()).hexdigest()
        tokens = folder / "tokens"
        tokens.write_text(f"client upload,replace {digest}\n", encoding="ascii")
        options = ("--store", store.path, "--source", str(folder), *_OPTIONS)
        with ServerProcess(*options, "--set", f"token_files={tokens}") as server:
            url, workers = f"http://{HOST}:{server.port}", server.workers()
            send_all(url, arguments.cases // 100, arguments.seed + 1000)
            before, start = server.resources(), time.monotonic()
            found = send_all(url, arguments.cases, arguments.seed)
            seconds, after = time.monotonic() - start, server.resources()
            lives = server.workers() == workers
    command = f"python -m benchmarks.server_cases --cases {arguments.cases}"
    rows = [
        [label, f"{counts.total():,}", shown(counts)] for label, counts in found.items()
    ]
    grown = after.private - before.private
    failed = sum(n for counts in found.values() for s, n in counts.items() if s >= 500)  # noqa: PLR2004
    head = ["operation", "requests", "statuses"]
    print(f"{context()}\n{made_by(command)}\n\n{table(head, rows)}\n")
    print(f"{seconds:.0f} s; memory grew by {grown:.1f} MiB; {failed} answers 5xx")
    sys.exit(bool(failed) or grown > _MOST_GROWTH or not lives)


if __name__ == "__main__":
    main()
