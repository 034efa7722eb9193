"""Convert Breakpad symbol files."""

from __future__ import annotations

import _thread

from gsym.containers.mapped_file import give_back
from gsym.conversion.output import ConversionOutput, ConversionRequest
from gsym.conversion.report import ConversionReport, ConversionWarning
from gsym.engine.native import (
    bytes_of,
    check,
    ffi,
    lib,
    new_error,
    new_object,
    to_bytes,
)
from gsym.engine.workers import core_count
from gsym.errors import EmptyError
from gsym.model import base_name
from gsym.modules.key import GUID_DIGITS, ModuleKey, is_apple, print_guid, read_debug_id

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from queue import SimpleQueue
    from typing import Any

    CData = Any  # a cffi object
    from collections.abc import Iterator


# Names of architectures that LLVM's target triples spell otherwise.
_TRIPLE_ARCHITECTURES = {
    "x86": "i386",
    "amd64": "x86_64",
    "arm64": "aarch64",
    "ppc": "powerpc",
    "ppc64": "powerpc64",
}
_MODULE_FIELDS = 4
_HEAD_SIZE = 64 << 10  # where MODULE and INFO records are expected


def read_module(records: Iterable[bytes]) -> ModuleKey:
    """The module that MODULE and INFO records describe, in any order.

    Its fields are unchanged texts of the records; "" where these say nothing.
    """
    found = ModuleKey()
    for record in records:
        words = record.decode("utf-8", "replace").split()
        if words[:1] == ["MODULE"] and len(words) >= _MODULE_FIELDS:
            system, architecture, debug_id = words[1:_MODULE_FIELDS]
            name = " ".join(words[_MODULE_FIELDS:])
            found = found._replace(
                os=system, architecture=architecture, debug_id=debug_id, debug_file=name
            )
        elif words[:2] == ["INFO", "CODE_ID"] and not found.code_id:
            code_id, name = "".join(words[2:3]), " ".join(words[3:])
            found = found._replace(code_id=code_id, code_file=name)
    return found


def read_head(text: memoryview) -> ModuleKey:
    """The module that the records at the start of a text describe."""
    return read_module(bytes(text[:_HEAD_SIZE]).splitlines())


def breakpad_identity(module: ModuleKey, *, is_strict: bool = True) -> ModuleKey:
    """The identity of a module that `read_module` returned.

    A debug id that is none is left out, or an error if it *is_strict*.
    """
    debug_id = module.debug_id
    try:
        debug_id = read_debug_id(debug_id) if debug_id else ""
    except ValueError:
        if is_strict:
            raise
        debug_id = ""
    debug_file, code_file = map(base_name, (module.debug_file, module.code_file))
    code_id = module.code_id.upper()
    return module._replace(
        debug_id=debug_id, code_id=code_id, debug_file=debug_file, code_file=code_file
    )


def triple_architecture(module: ModuleKey) -> str:
    """The architecture in LLVM's target triples of a module from `read_module`."""
    if is_apple(module.os) and module.architecture == "arm64":
        return module.architecture  # Apple's own name stands in its triples
    return _TRIPLE_ARCHITECTURES.get(module.architecture, module.architecture)


def own_build_id(module: ModuleKey) -> bytes:
    """The identifier in the binary of a module from `read_module`; b"" for none.

    It is the GNU build id, the LC_UUID, or the GUID of the CodeView record. A debug
    id has the first 16 bytes of a build id, so a code id that begins with them is the
    whole build id. Other code ids, such as those of PE files, are no build ids.
    """
    guid = _hex(module.debug_id.replace("-", "")[:GUID_DIGITS])
    if len(guid) * 2 != GUID_DIGITS or not any(guid):
        return b""
    if not is_apple(module.os):
        guid = bytes.fromhex(print_guid(guid, is_little=True))
    whole = _hex(module.code_id)
    return whole if whole and whole[:16].ljust(16, b"\0") == guid else guid


def _hex(digits: str) -> bytes:
    """The bytes of an even number of hexadecimal digits, else none."""
    try:
        return bytes.fromhex(digits)
    except ValueError:
        return b""


_MAX_AHEAD = 4  # batches: more of them only take memory


class Encoding:
    """Encodes batches: at once, or in a thread while the next text is read.

    All methods are called by one thread, and `stop` at last. *check* raises an
    exception for a status and an error of the engine, *keep* gives an encoded batch to
    the creator.
    """

    def __init__(
        self,
        check: Callable[[int, CData], None],
        keep: Callable[[CData], None],
        *,
        ahead: bool,
    ) -> None:
        self._check = check
        self._keep = keep
        self._ahead = ahead
        if not ahead:
            return
        from queue import SimpleQueue  # takes long to import

        self._count = 0  # batches that the thread has
        self._read: SimpleQueue[CData | None] = SimpleQueue()
        self._encoded: SimpleQueue[tuple[CData, int, CData]] = SimpleQueue()
        self._ended = _thread.allocate_lock()
        self._ended.acquire()
        _thread.start_new_thread(self._work, ())

    def put(self, batch: CData) -> None:
        """Take a batch over."""
        if not self._ahead:
            self._keep_encoded(*_encode(batch))
            return
        self._read.put(batch)
        self._count += 1
        while self._count > _MAX_AHEAD or not self._encoded.empty():
            self._keep_next()

    def finish(self) -> None:
        """Keep what is left."""
        while self._ahead and self._count:
            self._keep_next()

    def stop(self) -> None:
        """End, also in the middle of it; the batches belong to nobody then."""
        if self._ahead:
            self._read.put(None)
            self._ended.acquire()

    def _keep_next(self) -> None:
        encoded = self._encoded.get()
        self._count -= 1
        self._keep_encoded(*encoded)

    def _keep_encoded(self, batch: CData, status: int, error: CData) -> None:
        self._check(status, error)
        self._keep(batch)

    def _work(self) -> None:
        while (batch := self._read.get()) is not None:
            self._encoded.put(_encode(batch))
        self._ended.release()


def _encode(batch: CData) -> tuple[CData, int, CData]:
    error = new_error()
    return batch, lib.gsym_breakpad_batch_encode(batch, error), error


# By gsym_breakpad_fault.
_CATEGORIES = {
    lib.GSYM_BREAKPAD_UNKNOWN_RECORD: "Not a record",
    lib.GSYM_BREAKPAD_LONG_LINE: "Line too long",
    lib.GSYM_BREAKPAD_NUMBER: "Number missing, damaged or too large",
    lib.GSYM_BREAKPAD_MODULE: "MODULE incomplete or repeated",
    lib.GSYM_BREAKPAD_RANGE: "FUNC without bytes or with an impossible range",
    lib.GSYM_BREAKPAD_TOO_LARGE: "FUNC of 4 GiB or more, which no record can hold",
    lib.GSYM_BREAKPAD_NO_FUNCTION: "Line record or INLINE without FUNC",
    lib.GSYM_BREAKPAD_HEAD: "Limit reached, MODULE or INFO record is left out",
    lib.GSYM_BREAKPAD_NAME: "Name missing or cut",
    lib.GSYM_BREAKPAD_OUTSIDE: "Line record or INLINE reaches out of its FUNC",
    lib.GSYM_BREAKPAD_OVERLAP: "Line records or INLINEs overlap",
    lib.GSYM_BREAKPAD_UNCOVERED: "INLINE reaches out of the level above",
    lib.GSYM_BREAKPAD_NO_FILE: "Number without FILE",
    lib.GSYM_BREAKPAD_NO_ORIGIN: "Number without INLINE_ORIGIN",
    lib.GSYM_BREAKPAD_REDEFINED: "FILE or INLINE_ORIGIN number used twice",
    lib.GSYM_BREAKPAD_LIMIT: "Limit reached, inlined calls of a function are left out",
}
_NO_MODULE = "No MODULE record"

_BLOCK_SIZE = 256 << 10
_BLOCKS_PER_PROGRESS = 64
_LEAST_FOR_THREAD = 4 << 20  # bytes of text


def convert(request: ConversionRequest) -> ConversionReport:
    """Carry *request* out; `gsym.convert` lists what it raises."""
    output = ConversionOutput(request, big_endian=False, base_address=0)
    text = _Text(output, request)
    text.read()
    text.require_functions()
    if request.options.merged_functions:
        output.merge_functions()
    text.add_publics()
    module = read_module(text.head())
    architecture, build_id = triple_architecture(module), own_build_id(module)
    request.check_architecture(architecture)
    output.set_uuid(build_id)
    warnings = text.warnings()
    if not module.os:
        warnings[_NO_MODULE] = 1
    return output.write(
        architecture=architecture,
        build_id=build_id,
        module=breakpad_identity(module, is_strict=False),
        warnings=warnings,
        details=text.details(),
    )


class _Text:
    """The engine's reader and the file that it is fed from."""

    def __init__(self, output: ConversionOutput, request: ConversionRequest) -> None:
        self._request = request
        self._creator = output.creator  # outlives the reader
        self._error: Any = new_error()
        self._handle: Any = new_object(
            *("breakpad", lib.gsym_breakpad_create, lib.gsym_breakpad_destroy),
            *(self._creator, request.options.verbose),
            path=request.input,
        )
        for rule in request.options.path_map:
            old, new = map(to_bytes, rule)
            self._call(lib.gsym_breakpad_add_path_map, old, len(old), new, len(new))

    def read(self) -> None:
        """Read the complete text and add its functions to the creator."""
        threads = self._request.options.threads or core_count()
        size = len(self._request.source.data)
        ahead = threads > 1 and size >= _LEAST_FOR_THREAD
        encoding = Encoding(self._check, self._keep, ahead=ahead)
        try:
            self._feed(encoding)
            self._call(lib.gsym_breakpad_finish)
            self._hand_over(encoding)
            encoding.finish()
        finally:
            encoding.stop()

    def _feed(self, encoding: Encoding) -> None:
        """Read the text in blocks, and release the pages of each after that."""
        progress, data = self._request.progress, self._request.source.data
        text = bytes_of(data)
        for number, start in enumerate(range(0, len(data), _BLOCK_SIZE), 1):
            size = min(_BLOCK_SIZE, len(data) - start)
            self._call(lib.gsym_breakpad_feed, text + start, size)
            self._hand_over(encoding)
            give_back(data, start, size)
            if progress is not None and number % _BLOCKS_PER_PROGRESS == 0:
                progress(start + size, len(data))

    def _hand_over(self, encoding: Encoding) -> None:
        """Let the functions that are read be encoded, if they are many."""
        batch = ffi.new("gsym_breakpad_batch **")
        while True:
            self._call(lib.gsym_breakpad_next_batch, batch)
            if not batch[0]:
                return
            encoding.put(batch[0])

    def _keep(self, batch: Any) -> None:
        self._call(lib.gsym_breakpad_keep_batch, batch)

    def require_functions(self) -> None:
        """See to it that there is something to write."""
        counts = ffi.new("gsym_breakpad_counts *")
        lib.gsym_breakpad_count(self._handle, counts)
        if not counts.functions and not counts.publics:
            raise EmptyError(
                f"it has no FUNC or PUBLIC record; {counts.stack_records} STACK "
                f"records, {counts.bad_records} damaged",
                path=self._request.input,
            )

    def add_publics(self) -> None:
        self._call(lib.gsym_breakpad_add_publics)

    def head(self) -> Iterator[bytes]:
        """The MODULE record and the INFO records."""
        size = ffi.new("size_t *")
        index = 0
        while (text := lib.gsym_breakpad_head(self._handle, index, size)) != ffi.NULL:
            yield bytes(ffi.buffer(text, size[0]))
            index += 1

    def warnings(self) -> dict[str, int]:
        counts = {}
        for fault, category in _CATEGORIES.items():
            count = lib.gsym_breakpad_fault_count(self._handle, fault)
            if count:
                counts[category] = count
        return counts

    def details(self) -> tuple[ConversionWarning, ...]:
        count = ffi.new("size_t *")
        found = lib.gsym_breakpad_findings(self._handle, count)
        return tuple(
            ConversionWarning(
                _CATEGORIES[item.fault], item.offset, item.value, item.line
            )
            for item in (found[i] for i in range(count[0]))
        )

    def _call(self, function: Any, *arguments: Any) -> None:
        self._check(function(self._handle, *arguments, self._error))

    def _check(self, status: int, error: Any = None) -> None:
        check(status, self._error if error is None else error, self._request.input)
