"""Conflicts: the data changed before a write, so nothing was saved. Page, API and CLI print `reason`.

Views need not catch them: `reviews/http/errors.py` answers each with 409.
"""

import datetime as dt
from typing import Any


class Conflict(Exception):
    """The write does not fit the current data. Nothing was saved."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        #: One or two sentences for the person who sent the write.
        self.reason = reason
        #: Further members of the API's answer, such as `who` and `since`.
        self.members: dict[str, Any] = {}


class RecordUnavailable(Conflict):
    """The reviewer cannot claim, renew or decide the record now."""


class RunArchived(Conflict):
    """The run is archived, so nothing in it can change."""

    def __init__(self, run: str) -> None:
        super().__init__(f"The run {run} is archived, so nothing was changed. A lead can unarchive it.")


class RecordReimported(Conflict):
    """A file changed the record after the reviewer opened it."""

    def __init__(self, time: str) -> None:
        self._beginning = f"This record was re-imported at {time}"
        super().__init__(f"{self._beginning} and has changed since you opened it.")

    def with_changes(self, criteria: int) -> str:
        """Return the reason with the number of criteria on which the judge's output changed."""
        if not criteria:
            return self.reason
        counted = f"{criteria} {'criterion' if criteria == 1 else 'criteria'}"
        return f"{self._beginning} and the judge's output changed on {counted}. Check the marked rows."


class DraftOutdated(Conflict):
    """A newer revision of the draft was saved, from elsewhere or by a faster request."""

    def __init__(self, saved_at: dt.datetime) -> None:
        super().__init__("A newer draft of yours was saved.")
        #: Time of the newer revision.
        self.saved_at = saved_at


class SettingsChanged(Conflict):
    """Another person changed the settings after they were loaded."""

    def __init__(self) -> None:
        super().__init__("Another person changed these settings. Check them and save again.")
