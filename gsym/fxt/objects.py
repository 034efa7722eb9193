"""The objects that koids and pointers of a trace refer to, such as threads."""

from __future__ import annotations

from itertools import product

from gsym.fxt import records as fxt

PROCESS, THREAD = 1, 2
"""Types of kernel objects."""
_ANY = -1  # in place of the id of a provider


class Objects:
    """The objects that records have described up to now.

    An object is looked for among those of a provider, then among those of all; the last
    description counts, for koids the one with the longest name.
    """

    def __init__(self) -> None:
        # By type (None for any), provider (or `_ANY`) and koid.
        self._kernel: dict[tuple[int | None, int | None, int], fxt.KernelObject] = {}
        # By provider (or `_ANY`), process and pointer.
        self._userspace: dict[tuple[int | None, int, int], fxt.UserspaceObject] = {}
        self._processes: dict[int, int] = {}

    def add(self, record: fxt.Record) -> None:
        """Take the description of an object, if a record has one."""
        if isinstance(record, fxt.KernelObject):
            self._add_kernel_object(record)
        elif isinstance(record, fxt.UserspaceObject):
            for provider in (record.provider, _ANY):
                self._userspace[provider, record.process, record.pointer] = record
        elif (
            isinstance(record, (fxt.Thread, fxt.Event))
            and record.process != fxt.UNKNOWN_KOID
        ):
            self._processes.setdefault(record.thread, record.process)

    def kernel_object(
        self, koid: int, provider: int | None = None, kind: int | None = None
    ) -> fxt.KernelObject | None:
        """The description of a koid.

        The description of *provider* and of *kind* is preferred: on Linux a process and
        its first thread have one number.
        """
        for key in product(dict.fromkeys((kind, None)), (provider, _ANY), (koid,)):
            if key in self._kernel:
                return self._kernel[key]
        return None

    def userspace_object(
        self, pointer: int, process: int, provider: int | None = None
    ) -> fxt.UserspaceObject | None:
        """The description of the object at a pointer of a process."""
        found = self._userspace.get((provider, process, pointer))
        return found or self._userspace.get((_ANY, process, pointer))

    def process_of(self, thread: int) -> int | None:
        """The koid of the process of a thread; None if unknown."""
        return self._processes.get(thread)

    def name_of(
        self, koid: int, provider: int | None = None, kind: int | None = None
    ) -> str | None:
        """The name of a process, a thread or another kernel object."""
        found = self.kernel_object(koid, provider, kind)
        return found.name if found is not None else None

    def referent(
        self, argument: fxt.Argument, process: int, provider: int | None = None
    ) -> fxt.KernelObject | fxt.UserspaceObject | None:
        """The object that an argument of an event of a process refers to."""
        if not isinstance(argument.value, int):
            return None
        if argument.type == "koid":
            return self.kernel_object(argument.value, provider)
        if argument.type == "pointer":
            return self.userspace_object(argument.value, process, provider)
        return None

    def _add_kernel_object(self, record: fxt.KernelObject) -> None:
        for key in product(
            (record.type, None), (record.provider, _ANY), (record.koid,)
        ):
            known = self._kernel.get(key)
            if known is None or len(record.name) >= len(known.name):
                self._kernel[key] = record
        for name, _, value in record.args if record.type == THREAD else ():
            if name == "process" and isinstance(value, int):
                self._processes[record.koid] = value
