"""Contextual elements: they change the address space, and a line lists each module."""

from __future__ import annotations

from gsym.markup.elements import Element, Mmap, Module, Reset
from gsym.model import UINT64_MAX

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from collections.abc import Callable

    from gsym.markup.address_space import AddressSpace, LoadedModule, Segment
    from gsym.markup.element_text import ElementText
    from gsym.markup.parser import Token
    from gsym.markup.settings import FilterSettings


class ContextLines:
    """Handles the contextual elements of one process."""

    def __init__(
        self,
        settings: FilterSettings,
        space: AddressSpace,
        text: ElementText,
        put: Callable[[bytes], object],
    ) -> None:
        self._shows_summary = settings.context == "summary"
        self._style = settings.style
        self._space = space
        self._text = text
        self._put = put
        self._module: LoadedModule | None = None  # whose line is open
        self._segments: list[Segment] = []  # to be listed in that line
        self._line_start = b""  # the beginning of that line
        self._prefix = b""
        self._bases: dict[int, int] = {}

    @property
    def waits_for_segments(self) -> bool:
        """Whether the line about a module may continue."""
        return self._module is not None

    def take(
        self,
        element: Element,
        token: Token,
        ending: bytes,
        prefix: bytes,
        put_before: Callable[[], object],
    ) -> bytes:
        """Apply an element, and print what the style shows of it.

        *prefix* is the beginning of a line, which names the process. *put_before*
        prints the text before the element and is called before this prints. Return the
        text that replaces it.

        Raises:
            ContextError: It conflicts with earlier elements.
        """
        self._prefix = prefix
        if isinstance(element, Module):
            module = self._space.add_module(element)
            if self._style.lists_segments:
                self.close_line(ending)
                put_before()
                self._begin_line(module, is_new=True)
        elif isinstance(element, Mmap):
            return self._take_mmap(element, ending, put_before)
        elif isinstance(element, Reset):
            if self._space and self._style.lists_segments:
                self.close_line(ending)
                put_before()
                if self._shows_summary:
                    self._put(self._prefix + self._text.raw(token) + ending)
            self.clear()
        return b""

    def close_line(self, ending: bytes) -> None:
        """End the line about a module that waits for more segments."""
        if self._module is not None:
            end = self._text.module_end(self._segments, ending)
            self._put(self._line_start + end)
            self._line_start = b""
            self._module = None
            self._segments = []

    def clear(self) -> None:
        """Remove all modules."""
        self._space.clear()
        self._bases.clear()

    def _take_mmap(
        self, element: Mmap, ending: bytes, put_before: Callable[[], object]
    ) -> bytes:
        if element.module not in self._space.modules:
            return b"symbolizer: Invalid module id."
        segment = self._space.add_segment(element)
        if not self._style.lists_segments:
            # The load address of a module, shown once, as Fuchsia does
            module = segment.module
            base = (segment.start - segment.address) & UINT64_MAX
            is_first = module.id not in self._bases
            known = self._bases.setdefault(module.id, base)
            if known != base:
                return b"symbolizer: Inconsistent base address."
            is_shown = is_first and self._shows_summary
            return self._text.module_base(module, base) if is_shown else b""
        if self._module is not segment.module:
            self.close_line(ending)
            put_before()
            self._begin_line(segment.module, is_new=False)
        self._segments.append(segment)
        return b""

    def _begin_line(self, module: LoadedModule, *, is_new: bool) -> None:
        if not self._shows_summary:
            return
        begin = self._prefix + self._text.module_begin(module, is_new=is_new)
        # The text around the element is printed first, as may be lines of other
        # processes.
        if self._style.keeps_context_text or self._prefix:
            self._line_start = begin
        else:
            self._put(begin)
        self._module = module
