"""Unusual records can be listed, opened, reviewed and exported, and any JSON objects exported."""

import json
from io import BytesIO
from typing import Any

import pytest
from django.db import transaction
from django.test import Client
from django.urls import reverse
from hypothesis import given
from hypothesis import settings as examples
from hypothesis import strategies as st

from reviews.exports.verify_export import compare
from reviews.models import Evaluation, User
from reviews.records.schema import HUMAN_FIELDS
from tests.records.test_traps import ACCEPTED, AFTER, BEFORE, distinct
from tests.support.factories import UserFactory
from tests.support.json_texts import json_texts, objects, strings, texts
from tests.support.lines import export_data, file_of, import_data, line
from tests.support.pages import filled_in
from tests.support.work import decide

pytestmark = pytest.mark.django_db

STATUSES = ["waiting", "done", "not-required"]
# The first example of every third kind is always tried.
TRIED = [examples[0] for examples in [*ACCEPTED.values()][::3]]
ODD = [
    pytest.param(TRIED, id="some examples"),
    pytest.param(
        [text for examples in ACCEPTED.values() for text in examples if text not in TRIED],
        id="other examples",
        marks=pytest.mark.exhaustive,
    ),
]


@pytest.mark.slow
@pytest.mark.parametrize("odd", ODD)
def test_unusual_records_can_be_listed_opened_reviewed_and_exported(
    odd: list[bytes], client: Client, lea: User
) -> None:
    """Lists, record page, review form and export accept every imported line."""
    lines = [distinct(text, number) for number, text in enumerate(odd)]
    data = file_of(BEFORE, *lines, AFTER)
    run = import_data(data).target_run
    client.force_login(lea)
    listed = client.get(reverse("run", args=[run.pk]), {"status": STATUSES})
    assert listed.context["rows"].count("<tr ") == 2 + len(odd)
    records = run.evaluations.order_by("first_line")[1 : 1 + len(odd)]
    for evaluation, written in zip(records, lines, strict=True):
        assert b"".join(client.get(reverse("line", args=[evaluation.pk]))) == written + b"\n"
        assert client.post(reverse("claim", args=[evaluation.pk])).status_code == 303, written
        posted = filled_in(client.get(reverse("evaluation", args=[evaluation.pk])))
        scored = {name: value or "Yes" for name, value in posted.items() if name.endswith("-score")}
        named = {name: value or "Clarity" for name, value in posted.items() if name.endswith("-name")}
        submitted = client.post(reverse("submit", args=[evaluation.pk]), posted | scored | named)
        assert submitted.status_code == 303, written
        assert client.get(reverse("evaluation", args=[evaluation.pk])).status_code == 200, written
    result = compare([lambda: BytesIO(data)], BytesIO(export_data()))
    assert (result.problems, result.identical, result.changed) == ([], 2, len(odd))


# JSON for a decision, and lines that may be invalid.
decided_scores = st.dictionaries(
    texts,
    st.fixed_dictionaries({"score": texts | st.integers() | st.none(), "justification": texts}),
    max_size=3,
)
stored_texts = texts.filter(lambda value: "\0" not in value)


class TestAnyFile:
    @pytest.mark.slow
    @examples(max_examples=6)
    @given(st.lists(objects(json_texts) | st.just(""), min_size=1, max_size=6), st.booleans())
    def test_file_of_any_json_objects_is_exported_verbatim(self, held: list[str], ends: bool) -> None:
        """With rejected lines in their places."""
        lines = [line(f"eval_{n}", x=extra.encode()) if extra else b"" for n, extra in enumerate(held)]
        data = file_of(line("eval"), *lines, *(extra.encode() for extra in held))
        data = data if ends else data.removesuffix(b"\n")
        with transaction.atomic():
            done = import_data(data)
            assert done.new == 1 + sum(bool(extra) for extra in held)
            assert export_data(with_rejected=True) == data
            transaction.set_rollback(True)

    @pytest.mark.slow
    @examples(max_examples=6)
    @given(
        objects(json_texts, keys=strings.filter(lambda key: json.loads(key) not in HUMAN_FIELDS)),
        st.dictionaries(st.sampled_from(HUMAN_FIELDS[1:]), st.sampled_from([..., None])),
        decided_scores,
        stored_texts,
    )
    def test_reviewed_file_differs_in_human_values_only(
        self, extra: str, human: dict[str, Any], scores: dict[str, Any], comments: str
    ) -> None:
        scores = json.loads(json.dumps(scores).replace(r"\u0000", ""))
        data = file_of(BEFORE, line(x=extra.encode(), **human), AFTER)
        with transaction.atomic():
            import_data(data)
            decide(
                Evaluation.objects.get(evaluation_id="eval_1"),
                UserFactory.create(username="ana", role="reviewer"),
                scores=scores,
                comments=comments,
            )
            result = compare([lambda: BytesIO(data)], BytesIO(export_data()))
            assert (result.problems, result.identical, result.changed) == ([], 2, 1)
            transaction.set_rollback(True)
