"""The statements that a submit and the next page send to PostgreSQL, sessions and claims included."""

import pytest
from django.test import Client

from reviews.models import Evaluation, Run, SourceChunk
from reviews.queue import claims
from tests.support.factories import UserFactory
from tests.support.lines import file_of, import_data, line
from tests.support.pages import HTMX, form_of, url
from tests.support.sessions import log_in
from tests.support.statements import sent_statements

pytestmark = pytest.mark.django_db(transaction=True)

SUBMIT, PAGE, BOTH_BY_HTMX = 11, 5, 14


@pytest.mark.slow
def test_submit_and_next_page_send_few_statements_and_do_not_read_the_file(client: Client) -> None:
    ana = UserFactory.create(username="ana", role="reviewer")
    scores = {name: {"score": "Yes"} for name in ("the longest name", "b", "a")}
    import_data(file_of(*(line(f"e-{n}", task_id="7", parsed_rubric_scores=scores) for n in range(4))))
    log_in(client, ana)
    claims.claim_next(run=Run.objects.get(), reviewer=ana)
    record = Evaluation.objects.get(claimed_by=ana)
    first = client.post(url("submit", record), form_of(record))
    client.get(first["Location"])
    record = Evaluation.objects.get(claimed_by=ana)
    form = form_of(record)
    with sent_statements() as submit:
        answer = client.post(url("submit", record), form)
    with sent_statements() as page:
        assert client.get(answer["Location"]).status_code == 200
    record = Evaluation.objects.get(claimed_by=ana)
    form = form_of(record)
    with sent_statements() as both:
        assert b'id="screen"' in client.post(url("submit", record), form, headers=HTMX).content
    sent = submit.sent + page.sent
    assert not [one for one in sent + both.sent if SourceChunk._meta.db_table in one]
    assert (len(submit.sent), len(page.sent)) == (SUBMIT, PAGE), sent
    assert len(both.sent) == BOTH_BY_HTMX, both.sent
