"""Any document comes back with its values, and with human_* keys in the reviewed members."""

import json

import pytest
from django.db import transaction
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from reviews.models import Evaluation, User
from reviews.records import mapping
from reviews.records.schema import HUMAN_FIELDS
from tests.support.documents import bring, exported
from tests.support.json_texts import json_texts
from tests.support.work import decide

pytestmark = [pytest.mark.django_db, pytest.mark.slow]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=6)
@given(
    values=st.lists(json_texts, max_size=4),
    space=st.text(st.sampled_from(" \t\r\n"), max_size=3),
    other=json_texts,
    decided=st.sets(st.integers(0, 3)),
)
def test_any_members_come_back_with_decisions_in_some(
    ana: User, values: list[str], space: str, other: str, decided: set[int]
) -> None:
    members = [f'{{{space}"id":{space}{index},"x":{value}{space}}}' for index, value in enumerate(values)]
    inside = f"{space},{space}".join(["{}", *members])
    data = f'{{"x":{other},{space}"list"{space}:[{space}{inside}{space}]{space}}}{space}'.encode()
    fields = {"judge_llm_model": "'j'", "judge_prompt_template_path": "'p'", "created_at": "`0`"}
    how = mapping.mapping_from_json({"records": "list", "fields": fields})
    sid = transaction.savepoint()
    try:
        bring(data, how)
        assert exported() == data
        records = list(Evaluation.objects.order_by("first_line"))
        for record in records:
            if record.first_line in decided:
                decide(record, ana)
        found, original = json.loads(exported()), json.loads(data)
        for member, before in zip(found["list"], original["list"], strict=True):
            assert {key: value for key, value in member.items() if key not in HUMAN_FIELDS} == before
        assert found["x"] == original["x"]
        done = [member for member in found["list"] if "human_reviewer_id" in member]
        assert len(done) == len([record for record in records if record.first_line in decided])
    finally:
        transaction.savepoint_rollback(sid)
