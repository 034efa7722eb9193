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
_ORIGINS = ("https://profiler.firefox.com", "localhost")


class SettingsError(GsymError):
    """An unknown setting, or an invalid value."""


Count = Annotated[int, msgspec.Meta(ge=1)]
Bytes = Annotated[int, msgspec.Meta(ge=1, description="bytes")]
Seconds = Annotated[float, msgspec.Meta(gt=0)]
Size = Annotated[int, msgspec.Meta(ge=0, description="bytes")]
Age = Annotated[float, msgspec.Meta(ge=0, description="seconds")]


class Limits(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Limits of a server; the manual (docs/server.md) has a table of them."""

    max_body: Bytes = 8 << 20  # size of a request body, compressed and inflated
    max_jobs: Count = 10  # jobs of a request
    # frames of a request; each takes about 14 bytes of the request and 200 to 400 of
    # the answer, so `max_body` and `max_answer` apply as well
    max_frames: Count = 1_000_000
    max_modules: Count = 10_000  # modules of a request
    max_paste: Count = 4 << 20  # characters of a report
    max_answer: Bytes = 256 << 20  # approximate size of the frames of an answer
    # total size of the large answers that a worker holds until clients have read them;
    # above it the server answers 503, or 413 if a single answer exceeds it
    max_held_answers: Bytes = 1 << 30
    # total size of the request bodies that a worker holds; above it the server answers
    # 503, or 413 if a single body exceeds it
    max_held_bodies: Bytes = 256 << 20
    # concurrent requests of a worker, from when their bodies have arrived; above it the
    # server answers 503
    max_in_flight: Count = 200
    # concurrent requests of a client in a worker; above it the server answers 429
    max_of_client: Count = 150
    rate_burst: Count = 50  # requests that a client may send at once under `rate_limit`
    max_head: Bytes = 1 << 16  # size of the request line and headers
    # time for the handshake of TLS, and for the request line and headers to arrive
    head_timeout: Seconds = 10.0
    body_timeout: Seconds = 30.0  # time for a request body to arrive
    # time to compute an answer; downloads continue after the 503
    request_timeout: Seconds = 60.0
    write_timeout: Seconds = 60.0  # time for a client to accept more of its answer
    # age after which a connection is closed with its next answer
    connection_time: Seconds = 30.0
    # time for which a request waits for sources; then it is answered without the
    # modules that they have not sent, which are still fetched
    source_wait: Seconds = 15.0
    profile_wait: Seconds = 5.0  # time for which received profiles wait for modules
    forward_timeout: Seconds = 10.0  # time for the next collector to answer
    fetch_timeout: Seconds = 300.0  # time for a file from a source, with all attempts
    # size of a file from a source, as transferred; twice that inflated
    max_fetch: Bytes = 4 << 30
    # how long a module that a source lacks is not requested again
    missing_time: Seconds = 3600.0
    fetch_threads: Count = 16  # modules that a worker fetches or converts at a time
    max_open: Count = 256  # modules that a worker keeps open
    # memory for names, paths and function lists of all open modules
    cache_memory: Bytes = 256 << 20
    max_source: Bytes = 8 << 20  # size of a source file
    max_code: Bytes = 256 << 10  # size of the code that one request may disassemble
    max_upload: Bytes = 2 << 30  # size of an upload
    upload_timeout: Seconds = 600.0  # time for an upload to arrive
    # concurrent uploads of a worker; above it the server answers 503
    max_uploads: Count = 2
    # size of a core file or minidump that is to be symbolicated
    max_dump: Bytes = 512 << 20
    max_dump_inflated: Bytes = 4 << 30  # its inflated size
    # concurrent dumps of a worker; above it the server answers 503
    max_dumps: Count = 2
    max_members: Count = 10_000  # files of an uploaded archive
    # total inflated size of the files of an uploaded archive
    max_inflated: Bytes = 8 << 30
    max_symbfile_part: Bytes = 256 << 20  # size of a part of a symbfile
    max_symbfile_parts: Count = 1000  # parts of a symbfile
    # total size of the parts of a symbfile, compressed and inflated
    max_symbfile: Bytes = 4 << 30
    # unfinished symbfiles of one API key; above it the server answers 429
    max_pending_of_key: Count = 200
    # unfinished symbfiles of all keys; above it the server answers 503
    max_pending_symbfiles: Count = 1000
    # time without a new part after which an unfinished symbfile is deleted
    symbfile_time: Seconds = 3600.0
    # memory of a confined process, plus 6 bytes for each byte of input
    child_memory: Bytes = 2 << 30
    # seconds for a confined process, plus 20 for each 100 MiB of input
    child_seconds: Count = 60


class Settings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """All settings of a server; the manual (docs/server.md) has a table of them."""

    host: str = "127.0.0.1"  # address to listen on
    # port to listen on; 0: any free port
    port: Annotated[int, msgspec.Meta(ge=0, le=65535)] = 8000
    workers: Count = 1  # worker processes
    threads: Count = 4  # threads of a worker that compute answers
    store: str = ""  # folder of the store; "": the user's default store
    # size of the files in the store above which the least recently used modules that a
    # source has are removed; 0: no limit
    max_store: Size = 0
    # time without a use after which a module that a source has is removed from the
    # store; 0: no limit
    max_unused: Age = 0.0
    # time without a use after which another module is removed; 0: never
    max_unused_uploads: Age = 0.0
    # free space below which modules that a source has are removed from the store, and
    # uploads are refused; 0: no limit
    min_free: Size = 0
    sources: list[str] = []  # where to get modules that the store lacks, in order
    # allow private addresses for redirects of sources and for `upload_hosts`
    allow_private: bool = False
    root_path: str = ""  # path prefix that a proxy removes
    # accepted `Host` names, besides `localhost`, `127.0.0.1` and `[::1]`; `*`: any.
    # Empty: any, except on a server that listens on loopback
    allowed_hosts: list[str] = []
    # addresses and networks whose forwarded headers are trusted
    trusted_proxies: list[str] = []
    # origins whose pages may use the symbolication API, such as
    # `https://profiler.firefox.com`; `localhost`: any server on the machine of the
    # browser; `*`: any
    allowed_origins: list[str] = msgspec.field(default_factory=lambda: [*_ORIGINS])
    token_files: list[str] = []  # files with the tokens of clients
    # PEM file with the certificate, and those up to the root's; with it the server
    # speaks HTTPS
    tls_certificate: str = ""
    # PEM file with the private key; "": it is in the file of the certificate
    tls_key: str = ""
    # requests per second of one client, in each worker; 0: no limit. A client is an
    # IPv4 address or an IPv6 /64 network
    rate_limit: Annotated[float, msgspec.Meta(ge=0)] = 0.0
    path_map: list[str] = []  # OLD=NEW: prefixes of source paths to replace in answers
    # OLD=TEMPLATE: source paths as `hg:`, `git:` or `s3:` with `{path}`
    source_map: list[str] = []
    # accept `[`, `]` and `:` in names of modules of version 4 of the API; version 5
    # accepts any name of a file
    wide_names: bool = False
    # report to clients which sources lacked a module, and why
    module_errors: bool = True
    enable_source: bool = False  # answer `/source/v1`
    # DIR or OLD=DIR: folders whose source files may be read, with the prefix that they
    # have in the debug information
    source_roots: list[str] = []
    enable_asm: bool = False  # answer `/asm/v1` (extra `asm`)
    # folders with binaries to disassemble, found by id or name
    binary_dirs: list[str] = []
    # where to send profiles of OpenTelemetry, symbolized: the collector's endpoint for
    # profiles, or `grpc://HOST:PORT` or `grpcs://HOST:PORT`; "": they are not accepted
    # (extra `otlp`)
    forward_profiles: str = ""
    # port of a gRPC server that accepts them too; 0: none
    grpc_port: Annotated[int, msgspec.Meta(ge=0, le=65535)] = 0
    # serve files of the store by name and id, or by build id
    enable_downloads: bool = True
    # for downloads, fetch modules that the store lacks from sources
    fetch_downloads: bool = False
    upload_hosts: list[str] = []  # servers that `url=` of an upload may name
    keep_originals: bool = True  # keep the uploaded files unchanged, for downloads
    # convert files from sources in confined processes, like uploads
    confine_fetched: bool = True
    # `json`, `text`, or `auto`: text on a terminal
    log_format: Annotated[str, msgspec.Meta(pattern="^(auto|json|text)$")] = "auto"
    # lowest level to log: debug, info, warning, error
    log_level: Annotated[str, msgspec.Meta(pattern="^(debug|info|warning|error)$")] = (
        "info"
    )
    limits: Limits = Limits()  # see below


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
    fields = re.findall(
        r"((?:^    # .*\n)*)^    (\w+): .*?(?:  # (.*))?$",
        inspect.getsource(kind),
        re.MULTILINE,
    )
    meanings = {
        name: beside or " ".join(above.replace("    # ", "").split())
        for above, name, beside in fields
    }
    for field in msgspec.structs.fields(kind):
        default = field.default
        if default is msgspec.NODEFAULT:
            default = field.default_factory()
        yield field.name, _default_text(default, field.type), meanings[field.name]


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
