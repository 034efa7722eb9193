"""The objects that koids and pointers of a trace refer to, such as threads."""

from __future__ import annotations

from gsym.fxt import records as fxt

PROCESS, THREAD = 1, 2
"""Types of kernel objects."""


class Objects:
    """The objects that records have described up to now.

    An object is looked for among those of a provider, then among those of all; the last
    description counts, for koids the one with the longest name.
    """

    def __init__(self) -> None:
        # By type (None for any), provider and koid.
        self._kernel: dict[tuple[int | None, int | None, int], fxt.KernelObject] = {}
        self._any_kernel: dict[tuple[int | None, int], fxt.KernelObject] = {}
        self._userspace: dict[tuple[int | None, int, int], fxt.UserspaceObject] = {}
        self._any_userspace: dict[tuple[int, int], fxt.UserspaceObject] = {}
        self._processes: dict[int, int] = {}

    def add(self, record: fxt.Record) -> None:
        """Take the description of an object, if a record has one."""
        if isinstance(record, fxt.KernelObject):
            self._add_kernel_object(record)
        elif isinstance(record, fxt.UserspaceObject):
            process, pointer = record.process, record.pointer
            self._userspace[record.provider, process, pointer] = record
            self._any_userspace[process, pointer] = record
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
        for each in dict.fromkeys((kind, None)):
            found = self._kernel.get((each, provider, koid))
            found = found or self._any_kernel.get((each, koid))
            if found is not None:
                return found
        return None

    def userspace_object(
        self, pointer: int, process: int, provider: int | None = None
    ) -> fxt.UserspaceObject | None:
        """The description of the object at a pointer of a process."""
        found = self._userspace.get((provider, process, pointer))
        return self._any_userspace.get((process, pointer)) if found is None else found

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
        for kind in (record.type, None):
            key = (kind, record.provider, record.koid)
            if _is_better(record, self._kernel.get(key)):
                self._kernel[key] = record
            if _is_better(record, self._any_kernel.get((kind, record.koid))):
                self._any_kernel[kind, record.koid] = record
        if record.type == THREAD:
            for argument in record.args:
                if argument.name == "process" and isinstance(argument.value, int):
                    self._processes[record.koid] = argument.value


def _is_better(record: fxt.KernelObject, known: fxt.KernelObject | None) -> bool:
    return known is None or len(record.name) >= len(known.name)
