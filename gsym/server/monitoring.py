"""Health endpoints, and metrics for Prometheus.

Several workers write their metrics to files in the folder named by
`PROMETHEUS_MULTIPROC_DIR`, and any of them returns the sum.
"""

from __future__ import annotations

import os
from typing import TypeVar

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
from starlette.responses import Response
from starlette.routing import Match, Route

from gsym import __version__

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from typing import Any

    from starlette.requests import Request
    from starlette.types import Scope

    from gsym.api.symbolication import Symbolication
    from gsym.modules.symbolizer import Symbolizer
    from gsym.server.service import Service


_Metric = TypeVar("_Metric", Counter, Gauge, Histogram)
HEALTH_PATHS = frozenset({"/__heartbeat__", "/__lbheartbeat__", "/__version__"})
# Answered at any load, as monitoring needs them most then, and logged if they fail.
PROBES = HEALTH_PATHS | {"/metrics"}
_JSON = "application/json; charset=utf-8"


def health_routes(service: Service) -> list[Route]:
    """`GET /__heartbeat__`, `/__lbheartbeat__` and `/__version__`."""

    async def heartbeat(_request: Request) -> Response:
        return Response(b"", headers={"content-type": _JSON})

    async def version(_request: Request) -> Response:
        body = msgspec.json.encode({"version": __version__, **service.facts})
        return Response(body, headers={"content-type": _JSON})

    return [
        Route("/__heartbeat__", heartbeat, methods=["GET"]),
        Route("/__lbheartbeat__", heartbeat, methods=["GET"]),
        Route("/__version__", version, methods=["GET"]),
    ]


FOLDER_VARIABLE = "PROMETHEUS_MULTIPROC_DIR"
_SECONDS = (
    *(0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5),
    *(1, 2.5, 5, 10, 30, 60),
)
_COUNTS = (1, 2, 5, 10, 20, 50, 100, 1_000, 10_000, 100_000, 1_000_000)
# Of several workers, the sum of those that live, or the value that was set last.
_LIVE = {"multiprocess_mode": "livesum"}
_LATEST = {"multiprocess_mode": "mostrecent"}
_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "DELETE", "PATCH", "OPTIONS"})

# name: (labels, description), repeated in the manual; counters get the suffix `_total`
METRICS: dict[str, tuple[tuple[str, ...], str]] = {
    "gsym_requests": (
        ("path", "method", "status"),
        "requests answered; the path is that of an endpoint, else `other`",
    ),
    "gsym_request_seconds": (("path",), "time to the end of the answer"),
    "gsym_requests_in_flight": ((), "requests in progress"),
    "gsym_request_errors": (
        ("reason",),
        (
            "symbolication requests refused: bad_json, invalid_job, invalid_modules, "
            "invalid_stacks, too_many_jobs, too_many_frames, too_many_modules, "
            "too_large_answer"
        ),
    ),
    "gsym_symbolicate_jobs": (("version",), "jobs of a request"),
    "gsym_symbolicate_stacks": (("version",), "stacks of a request"),
    "gsym_symbolicate_frames": (("version",), "frames of a request"),
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
    "gsym_modules_opening": ((), "modules being searched, fetched or converted"),
    "gsym_converters": ((), "confined processes that run"),
    "gsym_worker_deaths": ((), "workers that died and were replaced"),
    "gsym_store_bytes": ((), "bytes of the files in the store, once a minute or less"),
    "gsym_store_modules": ((), "modules in the store"),
    "gsym_store_free_bytes": ((), "free bytes of the file system of the store"),
    "gsym_store_pending_bytes": (
        (),
        "bytes of removed modules that are freed when they are closed",
    ),
    "gsym_store_lacking_bytes": (
        (),
        "bytes by which the store exceeds `max_store` or `min_free`",
    ),
    "gsym_evictions": ((), "modules removed from the store by its limits"),
    "gsym_uploads": (("result",), "uploaded modules: added, replaced, kept"),
    "gsym_resident_bytes": ((), "memory of all workers, once a minute or less"),
    "gsym_info": (("version",), "1, with the version of the server"),
    "gsym_open_modules": ((), "open modules"),
    "gsym_mapped_bytes": ((), "bytes of the files of open modules"),
}


class Metrics:
    """The metrics of one worker."""

    def __init__(self) -> None:
        self.registry: CollectorRegistry = CollectorRegistry()
        self.requests: Counter = self._new(Counter, "gsym_requests")
        self.request_seconds: Histogram = self._new(
            Histogram, "gsym_request_seconds", buckets=_SECONDS
        )
        self.in_flight: Gauge = self._new(Gauge, "gsym_requests_in_flight", **_LIVE)
        self.request_errors: Counter = self._new(Counter, "gsym_request_errors")
        self._jobs = self._new(Histogram, "gsym_symbolicate_jobs", buckets=_COUNTS)
        self._stacks = self._new(Histogram, "gsym_symbolicate_stacks", buckets=_COUNTS)
        self._frames = self._new(Histogram, "gsym_symbolicate_frames", buckets=_COUNTS)
        self._modules = self._new(Counter, "gsym_modules")
        self._source_answers = self._new(Counter, "gsym_source_answers")
        self._symbfile_parts = self._new(Counter, "gsym_symbfile_parts")
        self._symbfile_bytes = self._new(Counter, "gsym_symbfile_bytes")
        self._locations = self._new(Counter, "gsym_profile_locations")
        self.profiles_forwarded: Counter = self._new(Counter, "gsym_profiles_forwarded")
        self.opening: Gauge = self._new(Gauge, "gsym_modules_opening", **_LIVE)
        self.converters: Gauge = self._new(Gauge, "gsym_converters", **_LIVE)
        # Counted by the process that starts workers.
        self._new(Counter, "gsym_worker_deaths")
        self.store_bytes: Gauge = self._new(Gauge, "gsym_store_bytes", **_LATEST)
        self.store_modules: Gauge = self._new(Gauge, "gsym_store_modules", **_LATEST)
        self.store_free: Gauge = self._new(Gauge, "gsym_store_free_bytes", **_LATEST)
        self.store_pending: Gauge = self._new(
            Gauge, "gsym_store_pending_bytes", **_LATEST
        )
        self.store_lacking: Gauge = self._new(
            Gauge, "gsym_store_lacking_bytes", **_LATEST
        )
        self.evictions: Counter = self._new(Counter, "gsym_evictions")
        self.uploads: Counter = self._new(Counter, "gsym_uploads")
        self.resident: Gauge = self._new(Gauge, "gsym_resident_bytes", **_LIVE)
        self._new(Gauge, "gsym_info", **_LATEST).labels(__version__).set(1)
        self._open_modules = self._new(Gauge, "gsym_open_modules", **_LIVE)
        self._mapped_bytes = self._new(Gauge, "gsym_mapped_bytes", **_LIVE)
        self._symbolizer: Symbolizer | None = None
        self._labelled: dict[tuple[Any, tuple[str | int, ...]], Any] = {}

    def watch(self, symbolizer: Symbolizer) -> None:
        """Report the modules that *symbolizer* has open."""
        self._symbolizer = symbolizer

    def _new(self, kind: type[_Metric], name: str, **options: Any) -> _Metric:
        labels, text = METRICS[name]
        return kind(name, text, labels, registry=self.registry, **options)

    def count_work(self, version: str, work: Symbolication) -> None:
        """Count the contents and results of a request."""
        stacks = sum(len(job.stacks) for job, _ in work.jobs)
        self._of(self._jobs, version).observe(len(work.jobs))
        self._of(self._stacks, version).observe(stacks)
        self._of(self._frames, version).observe(work.frames)
        for each in work.modules.values():
            if not each.is_wanted:
                continue
            module = each.module
            if module is None or not each.is_found:
                result = "missing"
            else:
                result = "found" if each.was_known else "fetched"
            self._of(self._modules, result).inc()
            if module is not None and not each.was_known:
                for attempt in module.attempts:
                    self._source_answers.labels(attempt.source, attempt.outcome).inc()
        if self._symbolizer is not None:
            self._open_modules.set(len(self._symbolizer))
            self._mapped_bytes.set(self._symbolizer.mapped)

    def count_rows(self, addresses: int, found: int, missing: int) -> None:
        """Count the contents of a request with Arrow batches, and its modules."""
        self._frames.labels("arrow").observe(addresses)
        self._modules.labels("found").inc(found)
        self._modules.labels("missing").inc(missing)

    def count_part(self, kind: str, result: str, size: int = 0) -> None:
        """Count a part of a symbfile, and its bytes."""
        self._symbfile_parts.labels(kind, result).inc()
        self._symbfile_bytes.labels(kind).inc(size)

    def count_locations(self, symbolized: int, left: int) -> None:
        """Count the addresses of a received profile that had no functions."""
        self._locations.labels("symbolized").inc(symbolized)
        self._locations.labels("left").inc(left)

    def count_request(self, scope: Scope, status: int, seconds: float) -> None:
        """Count a request that was answered."""
        path = _endpoint_of(scope)
        method = scope["method"] if scope["method"] in _METHODS else "other"
        self._of(self.requests, path, method, status).inc()
        self._of(self.request_seconds, path).observe(seconds)

    def _of(self, metric: _Metric, *labels: str | int) -> _Metric:
        """Find `metric.labels(*labels)`, but faster after the first time."""
        name = metric, labels
        found: _Metric | None = self._labelled.get(name)
        if found is None:
            found = self._labelled[name] = metric.labels(*labels)
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


def metrics_routes(service: Service) -> list[Route]:
    """`GET /metrics`."""

    async def metrics(_request: Request) -> Response:
        text = await service.run(service.metrics.text)
        return Response(text, media_type=CONTENT_TYPE_LATEST)

    return [Route("/metrics", metrics, methods=["GET"])]
