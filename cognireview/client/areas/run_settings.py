"""The settings of a run."""

from collections.abc import AsyncIterator, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any, TypedDict, Unpack

from cognireview.client.dual_methods import B, RunArea, call, stream
from cognireview.client.requests import Filter, definition, filters_of
from cognireview.types import operations
from cognireview.types.runs import (
    Aim,
    Guideline,
    QueueSettings,
    ReviewPlan,
    Rubric,
    RunDetails,
    RunSettings,
    SamplingSettings,
    View,
)


class PlannedRecords(TypedDict, total=False):
    """The records whose accuracy a plan is about. The whole run without them."""

    judge: str
    #: The prompt.
    template: str
    model: str


class SettingsArea(RunArea[B]):
    """The settings of a run."""

    @call
    async def details(self) -> RunDetails:
        """Return the number of its records in each state."""
        return await self._send(operations.RUN)

    @call
    async def rename(self, name: str) -> RunDetails:
        """Rename the run."""
        found = await self._send(operations.CHANGE_RUN, body={"name": name})
        self.name = found.name
        return found

    @call
    async def archive(self) -> RunDetails:
        """Archive the run."""
        return await self._send(operations.CHANGE_RUN, body={"archived": True})

    @call
    async def unarchive(self) -> RunDetails:
        """Return the run from the archive."""
        return await self._send(operations.CHANGE_RUN, body={"archived": False})

    @call
    async def delete(self, *, confirmation: str) -> None:
        """Delete the run with everything about it. `confirmation` repeats its name."""
        query = {"confirmation": confirmation}
        await self._send(operations.DELETE_RUN, query=query)

    @call
    async def members(self) -> list[str] | None:
        """Return who may see the run, besides admins; None if everybody may."""
        return (await self._send(operations.MEMBERS)).members

    @call
    async def set_members(self, members: list[str] | None) -> None:
        """Restrict the run to members, or open it to everybody with None."""
        await self._send(operations.SET_MEMBERS, body={"members": members})

    @call
    async def rubric(self) -> Rubric:
        """Return the rubric, declared or inferred."""
        return await self._send(operations.RUBRIC)

    @call
    async def set_rubric(self, rubric: str | Path | Mapping[str, Any], *, seen: str | None = None) -> Rubric:
        """Declare the rubric: TOML as text or in a file (`Path`), or the same members.

        With `seen`, the fingerprint that you read, a rubric that has changed since is not replaced:
        `Conflict`.
        """
        return await self._send(operations.SET_RUBRIC, query={"seen": seen}, body=definition(rubric))

    @call
    async def guideline(self) -> Guideline:
        """Return the guideline for reviewers."""
        return await self._send(operations.GUIDELINE)

    @call
    async def set_guideline(self, text: str, *, seen: int | None = None) -> Guideline:
        """Write the next version. With `seen`, another version than this one is not replaced (`Conflict`)."""
        return await self._send(operations.SET_GUIDELINE, body={"text": text, "seen": seen})

    @call
    async def settings(self) -> RunSettings:
        """Return the settings of the queue and of sampling."""
        return await self._send(operations.SETTINGS)

    @call
    async def set_queue(self, settings: QueueSettings) -> RunSettings:
        """Change the settings of the queue."""
        return await self._send(operations.SET_QUEUE, body=asdict(settings))

    @call
    async def set_sampling(self, settings: SamplingSettings, *, seen: str) -> RunSettings:
        """Change the settings of sampling and blind review.

        `seen` is the `fingerprint` that you read. Settings that have changed since are not replaced
        (`Conflict`).
        """
        return await self._send(operations.SET_SAMPLING, body=asdict(settings) | {"seen": seen})

    @call
    async def plan(
        self, *, target: float = 0.05, aim: Aim = "run", **records: Unpack[PlannedRecords]
    ) -> ReviewPlan:
        """Return how many more blind reviews an interval of plus and minus `target` needs."""
        return await self._send(operations.PLAN, query={"target": target, "aim": aim, **records})

    @call
    async def serve_plan(
        self, *, target: float = 0.05, aim: Aim = "run", **records: Unpack[PlannedRecords]
    ) -> ReviewPlan:
        """Let the queue serve the records of a plan first."""
        return await self._send(operations.SERVE_PLAN, body={"target": target, "aim": aim, **records})

    @call
    async def stop_plan(self) -> ReviewPlan:
        """Stop serving a plan."""
        return await self._send(operations.STOP_PLAN)

    @stream
    def views(self) -> AsyncIterator[View]:
        """Yield your saved lists of records and those that are shared, the oldest first."""
        return self._rows(operations.VIEWS, run=self.name)

    @call
    async def save_view(self, name: str, /, *, is_shared: bool = False, **filters: Filter) -> View:
        """Save a list of records, with the filters of `records`. It replaces your view of the same name."""
        body = {"name": name, "is_shared": is_shared, "filters": filters_of(filters)}
        return await self._send(operations.SAVE_VIEW, body=body)

    @call
    async def remove_view(self, view_id: int) -> None:
        """Remove a saved list."""
        await self._send(operations.REMOVE_VIEW, view_id=view_id)
