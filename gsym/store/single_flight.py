"""Work that several threads want at the same time is done by one of them."""

from __future__ import annotations

import threading
from concurrent.futures import Future

__all__ = ["SingleFlight"]

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Hashable
    from typing import Any, TypeVar

    T = TypeVar("T")


class SingleFlight:
    """Results of work in progress, by what it is about."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._flights: dict[Hashable, Future[Any]] = {}

    def run(self, subject: Hashable, work: Callable[[], T]) -> T:
        """What *work* gives, which is called by the first who asks.

        Raises:
            Exception: What *work* raises, for all who wait for it.
        """
        mine: Future[Any] = Future()
        with self._lock:
            flight = self._flights.setdefault(subject, mine)
        if flight is not mine:
            result: T = flight.result()
            return result
        try:
            result = work()
            mine.set_result(result)
        except BaseException as error:
            mine.set_exception(error)
            raise
        finally:
            with self._lock:
                del self._flights[subject]
        return result
