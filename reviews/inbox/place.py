"""The place of an item in the inbox, which pages pass on until the item is settled."""

import re
from typing import NamedTuple, Self

from django.http import HttpRequest, QueryDict

from reviews.inbox.kinds import BY_NAME

_PLACE = re.compile(r"([a-z]{1,20})-([0-9]{1,18})(?:-([0-9]{1,18}))?")


class Place(NamedTuple):
    """The kind of an item, and its position among the items of that kind.

    URLs and forms have it as `inbox`. The review screen passes it on in `queue`, like the filters of a queue.
    """

    kind: str
    position: int
    #: The key of the run to which the inbox is filtered; None for all runs.
    run: int | None = None

    @classmethod
    def parse(cls, text: str) -> Self | None:
        """Parse the text of a place. Return None for any other text."""
        found = _PLACE.fullmatch(text)
        if not found or found[1] not in BY_NAME:
            return None
        return cls(found[1], int(found[2]), int(found[3]) if found[3] else None)

    def __str__(self) -> str:
        return f"{self.kind}-{self.position}" + (f"-{self.run}" if self.run else "")


def place_of(request: HttpRequest) -> Place | None:
    """Return the place in the inbox from which a page was opened; None for other pages."""
    sent = request.POST if request.method == "POST" else request.GET
    return Place.parse(sent.get("inbox") or QueryDict(sent.get("queue", "")[:200]).get("inbox") or "")
