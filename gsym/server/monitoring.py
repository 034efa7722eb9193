"""Health endpoints, and metrics for Prometheus.

Several workers write their metrics to files in the folder named by
`PROMETHEUS_MULTIPROC_DIR`, and any of them returns the sum.
"""

from __future__ import annotations

import os
from typing import Any

import msgspec
from prometheus_client import (
    CONTENT_TYPE_LATEST,
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    generate_latest,
)
from prometheus_client.values import MultiProcessValue
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Match, Route
from starlette.types import Scope

from gsym import __version__
from gsym.api.symbolication import Symbolication
from gsym.modules.symbolizer import Symbolizer

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from gsym.server.service import Service


HEALTH_PATHS = frozenset({"/__heartbeat__", "/__lbheartbeat__", "/__version__"})
# Answered at any load, as monitoring needs them most then, and logged if they fail.
PROBES = HEALTH_PATHS | {"/metrics"}
_JSON = "application/json; charset=utf-8"


def health_routes(service: Service) -> list[Route]:
    """`GET /__heartbeat__`, `/__lbheartbeat__`, `/__version__` and `/metrics`."""

    async def heartbeat(_request: Request) -> Response:
        return Response(b"", headers={"content-type": _JSON})

    async def version(_request: Request) -> Response:
        body = msgspec.json.encode({"version": __version__, **service.facts})
        return Response(body, headers={"content-type": _JSON})

    async def metrics(_request: Request) -> Response:
        text = await service.run(service.metrics.text)
        return Response(text, media_type=CONTENT_TYPE_LATEST)

    endpoints = {
        "/metrics": metrics,
        "/__heartbeat__": heartbeat,
        "/__lbheartbeat__": heartbeat,
        "/__version__": version,
    }
    return [Route(path, each, methods=["GET"]) for path, each in endpoints.items()]


FOLDER_VARIABLE = "PROMETHEUS_MULTIPROC_DIR"
_SECONDS = (
    *(0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5),
    *(1, 2.5, 5, 10, 30, 60),
)
_COUNTS = (1, 2, 5, 10, 20, 50, 100, 1_000, 10_000, 100_000, 1_000_000)
_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "DELETE", "PATCH", "OPTIONS"})

_LIVE, _LAST = "livesum", "mostrecent"
# name: (labels, description), repeated in the manual; and of histograms the buckets, of
# gauges what they are for several workers: the sum of those that live, or the value set
# last. All others are counters and get the suffix `_total`.
METRICS: dict[str, tuple[Any, ...]] = {
    "gsym_requests": (
        ("path", "method", "status"),
        "requests answered; the path is that of an endpoint, else `other`",
    ),
    "gsym_request_seconds": (("path",), "time to the end of the answer", _SECONDS),
    "gsym_requests_in_flight": ((), "requests in progress", _LIVE),
    "gsym_request_errors": (
        ("reason",),
        (
            "symbolication requests refused: bad_json, invalid_job, invalid_modules, "
            "invalid_stacks, too_many_jobs, too_many_frames, too_many_modules, "
            "too_large_answer"
        ),
    ),
    "gsym_symbolicate_jobs": (("version",), "jobs of a request", _COUNTS),
    "gsym_symbolicate_stacks": (("version",), "stacks of a request", _COUNTS),
    "gsym_symbolicate_frames": (("version",), "frames of a request", _COUNTS),
    "gsym_modules": (
        ("result",),
        "requested modules: found (already open or stored), fetched, missing",
    ),
    "gsym_source_answers": (
        ("source", "outcome"),
        "answers of sources about modules: found, missing, failed, refused",
    ),
    "gsym_symbfile_parts": (
        ("kind", "result"),
        (
            "pushed parts of symbfiles: stored, repeated, refused, broken off; for the "
            "last part added, replaced or kept, as for a module"
        ),
    ),
    "gsym_symbfile_bytes": (("kind",), "bytes of the accepted parts"),
    "gsym_profile_locations": (
        ("result",),
        "addresses without functions of received profiles: symbolized, left",
    ),
    "gsym_profiles_forwarded": (
        ("status",),
        "requests sent to the next collector, by the status that the client got",
    ),
    "gsym_modules_opening": ((), "modules being searched, fetched or converted", _LIVE),
    "gsym_converters": ((), "confined processes that run", _LIVE),
    "gsym_worker_deaths": ((), "workers that died and were replaced"),
    "gsym_store_bytes": (
        (),
        "bytes of the files in the store, once a minute or less",
        _LAST,
    ),
    "gsym_store_modules": ((), "modules in the store", _LAST),
    "gsym_store_free_bytes": ((), "free bytes of the file system of the store", _LAST),
    "gsym_store_pending_bytes": (
        (),
        "bytes of removed modules that are freed when they are closed",
        _LAST,
    ),
    "gsym_store_lacking_bytes": (
        (),
        "bytes by which the store exceeds `max_store` or `min_free`",
        _LAST,
    ),
    "gsym_evictions": ((), "modules removed from the store by its limits"),
    "gsym_uploads": (("result",), "uploaded modules: added, replaced, kept"),
    "gsym_resident_bytes": ((), "memory of all workers, once a minute or less", _LIVE),
    "gsym_info": (("version",), "1, with the version of the server", _LAST),
    "gsym_open_modules": ((), "open modules", _LIVE),
    "gsym_mapped_bytes": ((), "bytes of the files of open modules", _LIVE),
}


class Metrics(dict[str, Any]):
    """The metrics of one worker, by name."""

    def __init__(self) -> None:
        super().__init__()
        self.registry: CollectorRegistry = CollectorRegistry()
        for name, (labels, text, *option) in METRICS.items():
            kind: Any = Counter
            options: dict[str, Any] = {}
            if option in ([_LIVE], [_LAST]):
                kind, options = Gauge, {"multiprocess_mode": option[0]}
            elif option:
                kind, options = Histogram, {"buckets": option[0]}
            self[name] = kind(name, text, labels, registry=self.registry, **options)
        self["gsym_info"].labels(__version__).set(1)
        self.symbolizer: Symbolizer | None = None  # whose open modules are reported
        self._labelled: dict[tuple[str | int, ...], Any] = {}

    def count_work(self, version: str, work: Symbolication) -> None:
        """Count the contents and results of a request."""
        stacks = sum(len(job.stacks) for job, _ in work.jobs)
        self.of("gsym_symbolicate_jobs", version).observe(len(work.jobs))
        self.of("gsym_symbolicate_stacks", version).observe(stacks)
        self.of("gsym_symbolicate_frames", version).observe(work.frames)
        for each in work.modules.values():
            if not each.is_wanted:
                continue
            module = each.module
            if module is None or not each.is_found:
                result = "missing"
            else:
                result = "found" if each.was_known else "fetched"
            self.of("gsym_modules", result).inc()
            if module is not None and not each.was_known:
                for attempt in module.attempts:
                    self.of(
                        "gsym_source_answers", attempt.source, attempt.outcome
                    ).inc()
        if self.symbolizer is not None:
            self["gsym_open_modules"].set(len(self.symbolizer))
            self["gsym_mapped_bytes"].set(self.symbolizer.mapped)

    def count_request(self, scope: Scope, status: int, seconds: float) -> None:
        """Count a request that was answered."""
        path = _endpoint_of(scope)
        method = scope["method"] if scope["method"] in _METHODS else "other"
        self.of("gsym_requests", path, method, status).inc()
        self.of("gsym_request_seconds", path).observe(seconds)

    def of(self, *name: str | int) -> Any:
        """Metric with labels: `metric.labels(...)`, but faster after the first time."""
        found = self._labelled.get(name)
        if found is None:
            found = self._labelled[name] = self[str(name[0])].labels(*name[1:])
        return found

    def text(self) -> bytes:
        """The metrics of all workers, as Prometheus reads them."""
        if FOLDER_VARIABLE not in os.environ:
            return generate_latest(self.registry)
        from prometheus_client.multiprocess import MultiProcessCollector

        registry = CollectorRegistry()
        MultiProcessCollector(registry)  # type: ignore[no-untyped-call]
        return generate_latest(registry)


def _endpoint_of(scope: Scope) -> str:
    """The path of the endpoint that a request is for, also if it did not come there."""
    route = scope.get("route")
    if route is None and "app" in scope:
        routes = scope["app"].routes
        fits = (each for each in routes if each.matches(scope)[0] != Match.NONE)
        route = next(fits, None)
    return "other" if route is None else route.path


def count_death() -> None:
    """Count a worker that died; called by the process that starts workers."""
    # prometheus_client decides when it is imported whether processes share metrics,
    # and here it is imported before their folder exists.
    name = "gsym_worker_deaths"
    shared = MultiProcessValue()  # type: ignore[no-untyped-call]
    shared("counter", name, f"{name}_total", (), (), METRICS[name][1]).inc(1)
