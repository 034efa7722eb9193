"""Runs of lines with code locations, which the engine formats many at a time.

It formats lines with one frame, with any number of code locations, and without markup;
any other line ends a run.
"""

from __future__ import annotations

from gsym.engine.name_texts import NameTexts
from gsym.engine.native import ffi, lib
from gsym.engine.text_buffer import TextBuffer
from gsym.markup.answers import NO_SYMBOL
from gsym.markup.short_names import short_name

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from gsym.markup.address_space import AddressSpace, LoadedModule
    from gsym.markup.outputs import Output
    from gsym.markup.settings import FilterSettings
    from gsym.markup.symbols import ModuleSymbols, SymbolOptions, Symbols

_MAX_MODULES = 64
_MAX_NAME_BYTES = 1 << 24
_SEGMENTS_PER_LINE = 64  # passed to the engine in the time one line takes


class LineRuns:
    """Filters runs of lines of one process; for one thread at a time.

    *count_unknown* receives the number of unresolved addresses of a module, and what
    damage they are at, or "".
    """

    def __init__(
        self,
        settings: FilterSettings,
        symbols: Symbols,
        space: AddressSpace,
        output: Output,
        count_unknown: Callable[[LoadedModule, ModuleSymbols, int, str], object],
    ) -> None:
        self._needs_reader = settings.style.reports_each_failure
        self._symbols = symbols
        self._space = space
        self._output = output
        self._count_unknown = count_unknown
        self._job = ffi.new("gsym_markup_job *")
        self._flags = _engine_flags(settings, symbols.options, output.form)
        self._job.line_limit = settings.line_limit
        self._modules: dict[LoadedModule, ModuleSymbols] = {}
        self._with_code: set[LoadedModule] = set()  # of them
        self._text: TextBuffer | None = None
        self._names: NameTexts | None = None
        self._version = -1  # of the space that the engine has
        self._refused = 0  # lines since then

    def answer(
        self,
        lines: memoryview,
        number: int,
        prefix: bytes,
        process: bytes | None,
        *,
        are_exact: bool = False,
    ) -> int:
        """Filter as many lines as the engine can.

        Return how many bytes were filtered. Only the last line of a log may lack its
        newline. *prefix* is repeated before each frame of a line.
        """
        if not self._is_ready():
            return 0
        job, used = self._job, 0
        job.prefix_size, job.line_number = len(prefix), number
        job.flags = self._flags | (lib.GSYM_MARKUP_PLAIN_EXACT * are_exact)
        self._process = ffi.new("char[]", self._output.process_text(process))
        job.process = self._process
        while used < len(lines):
            used += self._answer(lines[used:])
            if not job.wanted or not self._open(job.segments[job.wanted - 1].start):
                break
        return used

    def _answer(self, lines: memoryview) -> int:
        names = ffi.NULL if self._names is None else self._names.handle
        assert self._text is not None  # noqa: S101 - it is ready
        for record in self._module_records:
            record.unknown = record.damaged = 0
        try:
            return self._text.answer(
                lib.gsym_text_markup,
                (names, self._job),
                lines,
                self._names,
                self._output.run,
            )
        finally:  # even if it is interrupted
            known = self._modules.items()
            for (module, symbols), record in zip(
                known, self._module_records, strict=True
            ):
                if record.unknown:
                    self._count_unknown(module, symbols, record.unknown, "")
                if record.damaged:
                    damage = symbols.damage_at(record.damaged_at)
                    self._count_unknown(module, symbols, record.damaged, damage)

    def _is_ready(self) -> bool:
        """Whether the engine has the current segments.

        False if filtering line by line is faster than passing them to the engine.
        """
        if self._version != self._space.version:
            self._refused += 1
            if self._refused * _SEGMENTS_PER_LINE < len(self._space):
                return False
            self._refused = 0
            self._place()
        elif (self._names is not None and self._names.size > _MAX_NAME_BYTES) or any(
            each.is_old_miss for each in self._modules.values()
        ):
            self._forget()
            self._place()
        return True

    def _open(self, address: int) -> bool:
        """Add the module at an address to the runs, or the code of one that is there.

        False if that is impossible.
        """
        segment = self._space.find(address)
        if segment is None:
            return False
        if segment.module in self._modules:
            self._with_code.add(segment.module)
            self._place()
            return True
        symbols = self._symbols.of(segment.module)
        is_missing = self._needs_reader and symbols.module.reader is None
        if is_missing or not symbols.is_local:
            return False
        if symbols.module.unsure and self._output.form != "text":
            return False  # the engine's records do not say it
        if len(self._modules) >= _MAX_MODULES:
            self._forget()
        self._modules[segment.module] = symbols
        self._place()
        return True

    def _forget(self) -> None:
        self._text = self._names = None
        self._modules.clear()
        self._with_code.clear()

    def _place(self) -> None:
        """Pass the modules and segments to the engine."""
        options, quoted = self._symbols.options, self._output.quoted
        if self._text is None:
            self._text = TextBuffer(escape=options.escape is not None)
            if options.demangle or options.functions == "short" or quoted is not None:
                self._names = _names(options, quoted)
        numbers = {module: number for number, module in enumerate(self._modules)}
        modules, texts, images = [], [], []
        readers = [symbols.module.reader for symbols in self._modules.values()]
        known = zip(self._modules.items(), readers, strict=True)
        for (module, symbols), reader in known:
            images.append(ffi.NULL if reader is None else reader.mapped.image)
            texts.append(_module_texts(module, symbols, self._output))
            code = symbols.code.handle if module in self._with_code else ffi.NULL
            is_map = reader is not None and reader.mapped.file is not None
            modules.append((images[-1], *texts[-1], 0, 0, 0, is_map, code))
        segments = [
            (
                each.start,
                each.size,
                each.address,
                numbers.get(each.module, lib.GSYM_MARKUP_NO_MODULE),
                each.mode,
            )
            for each in self._space
            if each.covers(each.start)
        ]
        job = self._job
        self._module_records = ffi.new("gsym_markup_module[]", modules)
        job.modules, job.module_count = self._module_records, len(modules)
        job.segments = segment_records = ffi.new("gsym_markup_segment[]", segments)
        job.segment_count = len(segments)
        # Keep alive what the job points to, and the owners of the images.
        self._kept = segment_records, texts, readers
        if self._names is not None:
            self._names.images = images
        self._version = self._space.version


def _module_texts(
    module: LoadedModule, symbols: ModuleSymbols, output: Output
) -> tuple[Any, int, Any, Any]:
    """The name of a module with its size, its build id, the reason for no symbols."""
    name = module.name
    reason = (symbols.reason or NO_SYMBOL).encode("utf-8", "surrogateescape")
    if output.quoted is not None:
        name, reason = output.quoted(name), output.quoted(reason)
    texts = name, module.build_id.hex().encode(), reason
    shown, build_id, why = (ffi.new("char[]", text) for text in texts)
    return shown, len(name), build_id, why


def _names(
    options: SymbolOptions, quoted: Callable[[bytes], bytes] | None
) -> NameTexts:
    is_short = options.functions == "short"
    escape = options.escape
    if escape is None or quoted is None:
        shown = escape or quoted
    else:

        def shown(text: bytes) -> bytes:
            return quoted(escape(text))

    return NameTexts(
        ffi.NULL,
        demangle=options.demangle or is_short,
        escape=shown,
        reduce=short_name if is_short else None,
    )


def _engine_flags(settings: FilterSettings, options: SymbolOptions, form: str) -> int:
    style = settings.style
    chosen = (
        (options.inlines, lib.GSYM_MARKUP_INLINES),
        (options.basenames, lib.GSYM_MARKUP_BASENAMES),
        (options.functions == "none", lib.GSYM_MARKUP_NO_FUNCTIONS),
        (style.shows_adjusted, lib.GSYM_MARKUP_ADJUSTED),
        (style.has_columns, lib.GSYM_MARKUP_COLUMNS),
        (style.indents_frames, lib.GSYM_MARKUP_INDENTS),
        # A page has the colours of the log.
        (style.interprets_sgr or form == "html", lib.GSYM_MARKUP_STOPS_AT_ESCAPE),
        (settings.colour, lib.GSYM_MARKUP_COLOURED),
        (not style.lists_segments, lib.GSYM_MARKUP_FUCHSIA_FRAMES),
        (style.adjusts_plain_pc, lib.GSYM_MARKUP_PLAIN_PC_RETURNS),
        (style.weighs_evidence, lib.GSYM_MARKUP_READS_CODE),
        (style.pc_is_outermost, lib.GSYM_MARKUP_OUTERMOST_PC),
        (form == "json", lib.GSYM_MARKUP_JSON),
        (form == "html", lib.GSYM_MARKUP_HTML),
    )
    return sum(int(flag) for is_chosen, flag in chosen if is_chosen)
