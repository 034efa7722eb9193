"""What a place is that modules come from, and how it answers."""

from __future__ import annotations

from gsym.conversion.identity import ModuleIdentity
from gsym.errors import GsymError
from gsym.records import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Protocol

    from gsym.store.modules import ModuleKey

    class Source(Protocol):
        """A place that has debug files by the identifiers of modules.

        Sources are used by many threads at once.
        """

        @property
        def name(self) -> str:
            """What reports call it: its kind and where it is, without credentials."""

        def find(self, key: ModuleKey, folder: str) -> FoundFile:
            """The file for a module, which is not checked yet.

            Args:
                key: What is known of the module.
                folder: Empty, exists; what has to be fetched goes there. It is removed
                    by the caller.

            Raises:
                NotThereError: The source does not have it. Also where the key lacks
                    what this kind of source goes by.
                SourceError: The source gave no answer, or none of use.
            """


class FoundFile(NamedTuple):
    """A file that a source has for a module.

    Attributes:
        path: Where it can be read now: a file of the source itself, or one that
            was fetched into the folder given to `Source.find`.
        location: Where it is from, for people: a path or a URL without
            credentials.
        identity: What the source knows of the module and the file does not tell.
    """

    path: str
    location: str
    identity: ModuleIdentity = ModuleIdentity()


class NotThereError(GsymError):
    """The source answered, and does not have it; the text says what was asked."""


class SourceError(GsymError):
    """The source could not answer, or what it gave is of no use.

    *may_retry* tells whether asking once more, later, may go better.
    """

    def __init__(
        self, reason: str, *, path: str | None = None, may_retry: bool = False
    ) -> None:
        super().__init__(reason, path=path)
        self.may_retry = may_retry
