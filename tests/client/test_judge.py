"""Figures about the judge by the client, as far as docs/client.md does not use it."""

from pathlib import Path

import pytest

from cognireview.client import Client, Invalid, NotFound
from tests.support.connected_clients import ClientRun
from tests.support.lines import file_of, import_data, line

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow]


def test_figures_about_the_judge(client: Client, run: ClientRun, tmp_path: Path) -> None:
    import_data(file_of(line("a")), run="earlier")
    assert run.judge_report(require=["flagged kappa >= 0.6"]).outcome == "not shown yet"
    assert run.compare_judge("earlier").outcome == "not shown"
    assert run.judge_drift("earlier").second == "nightly"
    assert run.judge_history(by="judge").run == "nightly"
    with pytest.raises(Invalid):
        run.freeze_gold_set("gold", model="another")
    assert [*client.gold_sets.all()] == []
    with pytest.raises(NotFound):
        run.measure_gold_set("gold")
    assert run.judge_data_to(tmp_path / "population.csv", table="population", file_format="csv").size > 0
