"""Contextual elements: they are taken in, and listed in the log line by line."""

from __future__ import annotations

from gsym.markup.elements import Mmap, Module, Reset
from gsym.model import UINT64_MAX

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from gsym.markup.address_space import AddressSpace, LoadedModule, Segment
    from gsym.markup.element_text import ElementText
    from gsym.markup.elements import Element
    from gsym.markup.parser import Token
    from gsym.markup.settings import FilterSettings


class ContextLines:
    """Takes in what is loaded in one process.

    Args:
        settings: How the log is filtered.
        space: Gets modules and segments.
        text: Makes the lines on modules.
        put: Prints text.
    """

    def __init__(
        self,
        settings: FilterSettings,
        space: AddressSpace,
        text: ElementText,
        put: Callable[[bytes], object],
    ) -> None:
        self._is_told = settings.context == "summary"
        self._style = settings.style
        self._space = space
        self._text = text
        self._put = put
        self._module: LoadedModule | None = None  # that a line is open on
        self._segments: list[Segment] = []  # that it will list
        self._begun = b""  # the beginning of it
        self._prefix = b""
        self._bases: dict[int, int] = {}

    @property
    def awaits_segments(self) -> bool:
        """Whether the line on a module may go on."""
        return self._module is not None

    def take(
        self,
        element: Element,
        token: Token,
        ending: bytes,
        prefix: bytes,
        put_before: Callable[[], object],
    ) -> bytes:
        """Remember what an element says, and print what is to be seen of it.

        Args:
            element: It.
            token: As it stands in the log.
            ending: Ends a line.
            prefix: Begins a line and names the process.
            put_before: Prints what is in front of it, before what it prints.

        Returns:
            What takes its place; b"": nothing does.

        Raises:
            ContextError: It does not fit what came before.
        """
        self._prefix = prefix
        if isinstance(element, Module):
            self._take_module(element, ending, put_before)
        elif isinstance(element, Mmap):
            return self._take_mmap(element, ending, put_before)
        elif isinstance(element, Reset):
            self._take_reset(token, ending, put_before)
        return b""

    def close_line(self, ending: bytes) -> None:
        """End the line on a module that waits for more of its segments."""
        if self._module is not None:
            end = self._text.module_end(self._segments, ending)
            self._put(self._begun + end)
            self._begun = b""
            self._module = None
            self._segments = []

    def clear(self) -> None:
        """Forget all."""
        self._space.clear()
        self._bases.clear()

    def _take_module(
        self, element: Module, ending: bytes, put_before: Callable[[], object]
    ) -> None:
        module = self._space.add_module(element)
        if self._style.lists_segments:
            self.close_line(ending)
            put_before()
            self._begin_line(module, is_new=True)

    def _take_mmap(
        self, element: Mmap, ending: bytes, put_before: Callable[[], object]
    ) -> bytes:
        if element.module not in self._space.modules:
            return b"symbolizer: Invalid module id."
        segment = self._space.add_segment(element)
        if not self._style.lists_segments:
            return self._base_text(segment)
        if self._module is not segment.module:
            self.close_line(ending)
            put_before()
            self._begin_line(segment.module, is_new=False)
        self._segments.append(segment)
        return b""

    def _take_reset(
        self, token: Token, ending: bytes, put_before: Callable[[], object]
    ) -> None:
        if self._space and self._style.lists_segments:
            self.close_line(ending)
            put_before()
            if self._is_told:
                self._put(self._prefix + self._text.raw(token) + ending)
        self.clear()

    def _begin_line(self, module: LoadedModule, *, is_new: bool) -> None:
        if not self._is_told:
            return
        begin = self._prefix + self._text.module_begin(module, is_new=is_new)
        # Text round the element comes before, and so may lines of other processes.
        if self._style.keeps_context_text or self._prefix:
            self._begun = begin
        else:
            self._put(begin)
        self._module = module

    def _base_text(self, segment: Segment) -> bytes:
        """What tells the load address of a module once, as Fuchsia does."""
        module = segment.module
        base = (segment.start - segment.address) & UINT64_MAX
        is_first = module.id not in self._bases
        known = self._bases.setdefault(module.id, base)
        if known != base:
            return b"symbolizer: Inconsistent base address."
        is_told = is_first and self._is_told
        return self._text.module_base(module, base) if is_told else b""
