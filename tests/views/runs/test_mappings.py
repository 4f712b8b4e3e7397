"""The mapping page: mapping files of other tools, and errors in a mapping."""

from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from reviews.imports.runs import run_mapping
from reviews.models import Run
from reviews.records.mapping import parse_mapping
from tests.records.test_mapping import MAPPINGS, MT_BENCH
from tests.support.lines import file_of, import_data, line
from tests.support.pages import text

pytestmark = pytest.mark.django_db

TOML = (MAPPINGS / "mt-bench.toml").read_text()


def send(client: Client, mapping: str = TOML, run: str = "evaluations") -> Any:
    return client.post(reverse("mappings"), {"run_name": run, "mapping": mapping}, follow=True)


@pytest.mark.slow
def test_mapped_run_imports_files_by_its_mapping(as_max: Client) -> None:
    page = text(send(as_max))
    assert "Mapping of evaluations saved." in page
    assert "<code>judge[0]</code>" in page
    brought = import_data(MT_BENCH)
    assert brought.new == 1
    assert "read with the run's mapping" in text(as_max.get(reverse("import", args=[brought.pk])))


def test_shipped_mapping_can_be_chosen(as_max: Client) -> None:
    chosen = {"run_name": "evaluations", "shipped": "mt-bench", "mapping": "is not used"}
    page = text(as_max.post(reverse("mappings"), chosen, follow=True))
    assert "Mapping of evaluations saved." in page
    assert run_mapping(Run.objects.get()) == parse_mapping(TOML.encode())


def test_mapping_shows_the_places_of_records(as_max: Client) -> None:
    chosen = {"run_name": "evaluations", "shipped": "inspect-ai"}
    page = text(as_max.post(reverse("mappings"), chosen, follow=True))
    assert "<code>samples</code>" in page
    assert "<code>samples/*.json</code>" in page


def test_unknown_shipped_mapping_is_refused(as_max: Client) -> None:
    answer = as_max.post(reverse("mappings"), {"run_name": "evaluations", "shipped": "x", "mapping": TOML})
    assert answer.status_code == 422
    assert not Run.objects.exists()


def test_invalid_mapping_shows_all_errors(as_max: Client) -> None:
    answer = send(as_max, "[fields]\ntask_id = 'a['\n<b> = 1")
    assert answer.status_code == 422
    assert "mapping: is not TOML" in text(answer)
    page = text(send(as_max, "[fields]\ntask_id = 'a['"))
    assert "fields.task_id: is not valid JMESPath" in page
    assert "fields.created_at: is missing" in page
    assert not Run.objects.exists()


@pytest.mark.slow
def test_mapping_of_run_with_records_cannot_change(as_max: Client) -> None:
    import_data(file_of(line()))
    answer = send(as_max)
    assert answer.status_code == 422
    assert "has records that were read with another mapping" in text(answer)


@pytest.mark.slow
def test_initial_mapping_of_the_form_is_valid(as_max: Client) -> None:
    begun = as_max.get(reverse("mappings")).context["form"].initial["mapping"]
    assert send(as_max, begun).status_code == 200
    assert run_mapping(Run.objects.get())


@pytest.mark.slow
@pytest.mark.parametrize("count", [1, 3])
def test_mappings_page_query_count_is_constant(
    as_max: Client, count: int, django_assert_num_queries: Any
) -> None:
    for number in range(count):
        send(as_max, run=f"run {number}")
    as_max.get(reverse("mappings"))
    with django_assert_num_queries(3):
        as_max.get(reverse("mappings"))
