"""The settings of a server: one declaration for flags, environment and files.

A setting NAME is `--set NAME=VALUE` on the command line (the usual ones have a flag of
their own), `GSYM_NAME` in the environment, and `name` in a TOML file, in this order of
precedence; a later file overrides an earlier one. In the environment, items of a list
are separated by commas.

Limits are set individually: with `--limit NAME=VALUE`, `GSYM_LIMITS=NAME=VALUE,...`, or
the table `limits` in a file.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from textwrap import wrap
from typing import Annotated, Any, cast

import msgspec

from gsym.errors import FormatError, GsymError, UnsupportedError
from gsym.sizes import exact_size, read_duration, read_size

_PREFIX = "GSYM_"
_LIMITS = "limits"
_NS = 10**9
_COMMENT_WIDTH = 78
# An attribute in the docstring of a class, with its meaning.
_ENTRY = re.compile(r"^    (\w+): (.*(?:\n {8}.*)*)", re.MULTILINE)
_ORIGINS = ("https://profiler.firefox.com", "localhost")


class SettingsError(GsymError):
    """An unknown setting, or an invalid value."""


Count = Annotated[int, msgspec.Meta(ge=1)]
Bytes = Annotated[int, msgspec.Meta(ge=1, description="bytes")]
Seconds = Annotated[float, msgspec.Meta(gt=0)]
Size = Annotated[int, msgspec.Meta(ge=0, description="bytes")]
Age = Annotated[float, msgspec.Meta(ge=0, description="seconds")]


class Limits(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Limits of a server; the manual (docs/server.md) has a table of them.

    Attributes:
        max_body: size of a request body, compressed and inflated
        max_jobs: jobs of a request
        max_frames: frames of a request; each takes about 14 bytes of the request and
            200 to 400 of the answer, so `max_body` and `max_answer` apply as well
        max_modules: modules of a request
        max_paste: characters of a report
        max_answer: approximate size of the frames of an answer
        max_held_answers: total size of the large answers that a worker holds until
            clients have read them; above it the server answers 503, or 413 if a single
            answer exceeds it
        max_held_bodies: total size of the request bodies that a worker holds; above it
            the server answers 503, or 413 if a single body exceeds it
        max_in_flight: concurrent requests of a worker, from when their bodies have
            arrived; above it the server answers 503
        max_of_client: concurrent requests of a client in a worker; above it the server
            answers 429
        rate_burst: requests that a client may send at once under `rate_limit`
        max_head: size of the request line and headers
        head_timeout: time for the handshake of TLS, and for the request line and
            headers to arrive
        body_timeout: time for a request body to arrive
        request_timeout: time to compute an answer; downloads continue after the 503
        write_timeout: time for a client to accept more of its answer
        connection_time: age after which a connection is closed with its next answer
        source_wait: time for which a request waits for sources; then it is answered
            without the modules that they have not sent, which are still fetched
        profile_wait: time for which received profiles wait for modules
        forward_timeout: time for the next collector to answer
        fetch_timeout: time for a file from a source, with all attempts
        max_fetch: size of a file from a source, as transferred; twice that inflated
        missing_time: how long a module that a source lacks is not requested again
        fetch_threads: modules that a worker fetches or converts at a time
        max_open: modules that a worker keeps open
        cache_memory: memory for names, paths and function lists of all open modules
        max_source: size of a source file
        max_code: size of the code that one request may disassemble
        max_upload: size of an upload
        upload_timeout: time for an upload to arrive
        max_uploads: concurrent uploads of a worker; above it the server answers 503
        max_dump: size of a core file or minidump that is to be symbolicated
        max_dump_inflated: its inflated size
        max_dumps: concurrent dumps of a worker; above it the server answers 503
        max_members: files of an uploaded archive
        max_inflated: total inflated size of the files of an uploaded archive
        max_symbfile_part: size of a part of a symbfile
        max_symbfile_parts: parts of a symbfile
        max_symbfile: total size of the parts of a symbfile, compressed and inflated
        max_pending_of_key: unfinished symbfiles of one API key; above it the server
            answers 429
        max_pending_symbfiles: unfinished symbfiles of all keys; above it the server
            answers 503
        symbfile_time: time without a new part after which an unfinished symbfile is
            deleted
        child_memory: memory of a confined process, plus 6 bytes for each byte of input
        child_seconds: seconds for a confined process, plus 20 for each 100 MiB of input
    """

    max_body: Bytes = 8 << 20
    max_jobs: Count = 10
    max_frames: Count = 1_000_000
    max_modules: Count = 10_000
    max_paste: Count = 4 << 20
    max_answer: Bytes = 256 << 20
    max_held_answers: Bytes = 1 << 30
    max_held_bodies: Bytes = 256 << 20
    max_in_flight: Count = 200
    max_of_client: Count = 150
    rate_burst: Count = 50
    max_head: Bytes = 1 << 16
    head_timeout: Seconds = 10.0
    body_timeout: Seconds = 30.0
    request_timeout: Seconds = 60.0
    write_timeout: Seconds = 60.0
    connection_time: Seconds = 30.0
    source_wait: Seconds = 15.0
    profile_wait: Seconds = 5.0
    forward_timeout: Seconds = 10.0
    fetch_timeout: Seconds = 300.0
    max_fetch: Bytes = 4 << 30
    missing_time: Seconds = 3600.0
    fetch_threads: Count = 16
    max_open: Count = 256
    cache_memory: Bytes = 256 << 20
    max_source: Bytes = 8 << 20
    max_code: Bytes = 256 << 10
    max_upload: Bytes = 2 << 30
    upload_timeout: Seconds = 600.0
    max_uploads: Count = 2
    max_dump: Bytes = 512 << 20
    max_dump_inflated: Bytes = 4 << 30
    max_dumps: Count = 2
    max_members: Count = 10_000
    max_inflated: Bytes = 8 << 30
    max_symbfile_part: Bytes = 256 << 20
    max_symbfile_parts: Count = 1000
    max_symbfile: Bytes = 4 << 30
    max_pending_of_key: Count = 200
    max_pending_symbfiles: Count = 1000
    symbfile_time: Seconds = 3600.0
    child_memory: Bytes = 2 << 30
    child_seconds: Count = 60


class Settings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """All settings of a server; the manual (docs/server.md) has a table of them.

    Attributes:
        host: address to listen on
        port: port to listen on; 0: any free port
        workers: worker processes
        threads: threads of a worker that compute answers
        store: folder of the store; "": the user's default store
        max_store: size of the files in the store above which the least recently used
            modules that a source has are removed; 0: no limit
        max_unused: time without a use after which a module that a source has is removed
            from the store; 0: no limit
        max_unused_uploads: time without a use after which another module is removed; 0:
            never
        min_free: free space below which modules that a source has are removed from the
            store, and uploads are refused; 0: no limit
        sources: where to get modules that the store lacks, in order
        allow_private: allow private addresses for redirects of sources and for
            `upload_hosts`
        root_path: path prefix that a proxy removes
        allowed_hosts: accepted `Host` names, besides `localhost`, `127.0.0.1` and
            `[::1]`; `*`: any. Empty: any, except on a server that listens on loopback
        trusted_proxies: addresses and networks whose forwarded headers are trusted
        allowed_origins: origins whose pages may use the symbolication API, such as
            `https://profiler.firefox.com`; `localhost`: any server on the machine of
            the browser; `*`: any
        token_files: files with the tokens of clients
        tls_certificate: PEM file with the certificate, and those up to the root's; with
            it the server speaks HTTPS
        tls_key: PEM file with the private key; "": it is in the file of the certificate
        rate_limit: requests per second of one client, in each worker; 0: no limit. A
            client is an IPv4 address or an IPv6 /64 network
        path_map: OLD=NEW: prefixes of source paths to replace in answers
        source_map: OLD=TEMPLATE: source paths as `hg:`, `git:` or `s3:` with `{path}`
        wide_names: accept `[`, `]` and `:` in names of modules of version 4 of the API;
            version 5 accepts any name of a file
        module_errors: report to clients which sources lacked a module, and why
        enable_source: answer `/source/v1`
        source_roots: DIR or OLD=DIR: folders whose source files may be read, with the
            prefix that they have in the debug information
        enable_asm: answer `/asm/v1` (extra `asm`)
        binary_dirs: folders with binaries to disassemble, found by id or name
        forward_profiles: where to send profiles of OpenTelemetry, symbolized: the
            collector's endpoint for profiles, or `grpc://HOST:PORT` or
            `grpcs://HOST:PORT`; "": they are not accepted (extra `otlp`)
        grpc_port: port of a gRPC server that accepts them too; 0: none
        enable_downloads: serve files of the store by name and id, or by build id
        fetch_downloads: for downloads, fetch modules that the store lacks from sources
        upload_hosts: servers that `url=` of an upload may name
        keep_originals: keep the uploaded files unchanged, for downloads
        confine_fetched: convert files from sources in confined processes, like uploads
        log_format: `json`, `text`, or `auto`: text on a terminal
        log_level: lowest level to log: debug, info, warning, error
        limits: see below
    """

    host: str = "127.0.0.1"
    port: Annotated[int, msgspec.Meta(ge=0, le=65535)] = 8000
    workers: Count = 1
    threads: Count = 4
    store: str = ""
    max_store: Size = 0
    max_unused: Age = 0.0
    max_unused_uploads: Age = 0.0
    min_free: Size = 0
    sources: list[str] = []
    allow_private: bool = False
    root_path: str = ""
    allowed_hosts: list[str] = []
    trusted_proxies: list[str] = []
    allowed_origins: list[str] = msgspec.field(default_factory=lambda: [*_ORIGINS])
    token_files: list[str] = []
    tls_certificate: str = ""
    tls_key: str = ""
    rate_limit: Annotated[float, msgspec.Meta(ge=0)] = 0.0
    path_map: list[str] = []
    source_map: list[str] = []
    wide_names: bool = False
    module_errors: bool = True
    enable_source: bool = False
    source_roots: list[str] = []
    enable_asm: bool = False
    binary_dirs: list[str] = []
    forward_profiles: str = ""
    grpc_port: Annotated[int, msgspec.Meta(ge=0, le=65535)] = 0
    enable_downloads: bool = True
    fetch_downloads: bool = False
    upload_hosts: list[str] = []
    keep_originals: bool = True
    confine_fetched: bool = True
    log_format: Annotated[str, msgspec.Meta(pattern="^(auto|json|text)$")] = "auto"
    log_level: Annotated[str, msgspec.Meta(pattern="^(debug|info|warning|error)$")] = (
        "info"
    )
    limits: Limits = Limits()


def load_settings(
    flags: Mapping[str, Any],
    environment: Mapping[str, str],
    files: Sequence[str] = (),
) -> Settings:
    """The settings in effect.

    Raises:
        SettingsError: An unknown setting, or an invalid value.
    """
    settings: Any = Settings()
    for path in files:
        settings = _replaced(settings, _read_file(path), path, _of_file)
    chosen = {
        name: environment[_PREFIX + name.upper()]
        for name in Settings.__struct_fields__
        if _PREFIX + name.upper() in environment
    }
    settings = _replaced(settings, chosen, "the environment", _of_text)
    settings = _replaced(settings, flags, "the command line", _of_text)
    return cast("Settings", settings)


def _read_file(path: str) -> dict[str, Any]:
    with open(path, "rb") as file:
        text = file.read()
    try:
        found = msgspec.toml.decode(text, type=dict[str, Any])
    except ImportError:
        raise UnsupportedError("TOML needs the package tomli", path=path) from None
    except (msgspec.MsgspecError, ValueError) as error:
        raise FormatError(f"invalid TOML: {error}", path=path) from None
    return found


def _replaced(
    settings: Any,
    chosen: Mapping[str, Any],
    where: str,
    convert: Callable[[Any, Any, object], Any],
    noun: str = "setting",
) -> Any:
    """A copy of *settings*, or of their limits, with other values."""
    fields = {field.name: field for field in msgspec.structs.fields(settings)}
    values = {}
    for name, value in chosen.items():
        field = fields.get(name)
        if field is None:
            raise SettingsError(f"{where}: unknown {noun} '{name}'")
        try:
            if name == _LIMITS:
                limits = _named_limits(value)
                old = settings.limits
                values[name] = _replaced(old, limits, where, convert, "limit")
            else:
                values[name] = convert(value, field.type, getattr(settings, name))
        except (ValueError, OverflowError) as error:
            raise SettingsError(f"{where}: {noun} '{name}': {error}") from None
    return msgspec.structs.replace(settings, **values)


def _named_limits(value: Any) -> dict[str, Any]:
    """Limits by name, from a table, a list of NAME=VALUE, or a comma-separated one."""
    if isinstance(value, dict):
        return value
    parts = value.split(",") if isinstance(value, str) else value
    if not isinstance(parts, (list, tuple)):
        raise ValueError("expected NAME=VALUE")  # noqa: TRY004 - a value is at fault
    limits = {}
    for part in filter(None, map(str.strip, parts)):
        name, equals, text = part.partition("=")
        if not equals:
            raise ValueError(f"expected NAME=VALUE, got '{part}'")
        limits[name.strip()] = text.strip()
    return limits


def _of_file(value: Any, kind: Any, _old: object) -> Any:
    return msgspec.convert(_measured(value, kind), kind)


def _of_text(value: Any, kind: Any, old: object) -> Any:
    if not isinstance(value, str):
        return msgspec.convert(value, kind)
    if isinstance(old, list):
        parts = [part.strip() for part in value.split(",")]
        return msgspec.convert([part for part in parts if part], kind)
    return msgspec.convert(_measured(value, kind), kind, strict=False)


def _measured(value: Any, kind: Any) -> Any:
    """The number for a size or a time given as text."""
    if isinstance(value, str) and kind in (Bytes, Size):
        return read_size(value)
    if isinstance(value, str) and kind in (Seconds, Age):
        return read_duration(value, "s") / _NS
    return value


def toml_lines(settings: Settings) -> Iterator[str]:
    """Settings as a TOML file, each after its meaning."""
    for table in (settings, settings.limits):
        if table is settings.limits:
            yield f"\n[{_LIMITS}]\n"
        for name, _, meaning in setting_rows(type(table)):
            value = getattr(table, name)
            if value is not settings.limits:
                yield from (f"# {line}\n" for line in wrap(meaning, _COMMENT_WIDTH))
                # Strings, numbers, booleans and lists are written as in JSON.
                yield f"{name} = {msgspec.json.encode(value).decode()}\n"


def setting_rows(kind: type[msgspec.Struct]) -> Iterator[tuple[str, str, str]]:
    """Name, default and description of each field of `Settings` or `Limits`."""
    entries = _ENTRY.findall(inspect.getdoc(kind) or "")
    meanings = {name: " ".join(text.split()) for name, text in entries}
    for field in msgspec.structs.fields(kind):
        default = field.default
        if default is msgspec.NODEFAULT:
            default = field.default_factory()
        meaning = meanings.get(field.name, "")
        yield field.name, _default_text(default, field.type), meaning


def _default_text(default: Any, kind: Any) -> str:
    if isinstance(default, list):
        return ",".join(default)
    if default == "" or isinstance(default, Limits):
        return ""
    if isinstance(default, bool):
        return str(default).lower()
    if kind is Bytes:
        return exact_size(default)
    return f"{default:g}s" if kind is Seconds else str(default)
