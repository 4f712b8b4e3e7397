"""Gold sets: frozen human decisions, to measure judges with."""

from collections.abc import AsyncIterator
from pathlib import Path

from cognireview.client.dual_methods import Area, B, call, stream
from cognireview.client.received_file import Download
from cognireview.client.requests import Source, opened
from cognireview.types import operations
from cognireview.types.judge import GoldSet


class GoldSets(Area[B]):
    """The gold sets of the site. `freeze_gold_set` and `measure_gold_set` are methods of a run."""

    @stream
    def all(self) -> AsyncIterator[GoldSet]:
        """Yield the gold sets that you may see, newest first."""
        return self._rows(operations.GOLD_SETS)

    @call
    async def import_file(self, source: Source, *, name: str | None = None) -> GoldSet:
        """Import an exported gold set. `name` replaces the name in the file."""
        with opened(source, None) as upload:
            return await self._transport.send(operations.IMPORT_GOLD_SET, query={"name": name}, body=upload)

    @call
    async def export_to(self, name: str, path: str | Path) -> Download:
        """Download a gold set as JSONL."""
        return await self._transport.download(operations.EXPORT_GOLD_SET, path, name=name)

    @call
    async def rename(self, name: str, new_name: str) -> GoldSet:
        """Rename a gold set."""
        return await self._transport.send(operations.RENAME_GOLD_SET, body={"name": new_name}, name=name)

    @call
    async def delete(self, name: str) -> None:
        """Delete a gold set. The decisions of its run stay."""
        await self._transport.send(operations.DELETE_GOLD_SET, name=name)
