"""What was made of a text, kept while there is room: the same texts come again and again.

The models of a task share its reference, a record is fetched ahead and then shown, and a form that was
refused shows everything once more. Threads share one; each process has its own.
"""

import sys
from collections import OrderedDict
from collections.abc import Callable, Hashable
from threading import Lock
from typing import Generic, TypeVar

_Made = TypeVar("_Made", bound=str)


class TextCache(Generic[_Made]):
    """Forgets what was asked for least recently once keys and texts take more than `most` bytes."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._kept: OrderedDict[Hashable, tuple[_Made, int]] = OrderedDict()
        self._lock = Lock()
        self.size = 0

    def get(self, text: str, variant: Hashable, make: Callable[[], _Made]) -> _Made:
        """What `make` returns, or returned before for the same text and variant."""
        key = (variant, text)
        with self._lock:
            if found := self._kept.get(key):
                self._kept.move_to_end(key)
                return found[0]
        made = make()
        self._keep(key, made, sys.getsizeof(text) + sys.getsizeof(made))
        return made

    def _keep(self, key: Hashable, made: _Made, size: int) -> None:
        with self._lock:
            if key in self._kept:
                return  # another thread made it meanwhile
            self._kept[key] = (made, size)
            self.size += size
            while self.size > self._most:
                _, (_, freed) = self._kept.popitem(last=False)
                self.size -= freed
