import pytest
from django.db import transaction
from reviews import queue, workflow, merge
from uuid import uuid4
from tests.factories import *
from tests.threads import *

@pytest.mark.django_db(transaction=True)
def test_x(ana, bo):
    e = EvaluationFactory.create()
    with transaction.atomic():
        queue.claim(evaluation_id=e.pk, reviewer=ana)
        f = start_and_wait_for_lock(lambda: queue.claim(evaluation_id=e.pk, reviewer=bo))
    print(repr(f.exception()))
    with transaction.atomic():
        workflow.submit_review(evaluation_id=e.pk, reviewer=ana, version=1, scores={}, comments="", origins={}, submission=uuid4())
        f = start_and_wait_for_lock(lambda: queue.claim(evaluation_id=e.pk, reviewer=bo))
    print(repr(f.exception()))

@pytest.mark.django_db(transaction=True)
def test_y(ana, bo):
    e = EvaluationFactory.create()
    class R: evaluation_id = e.evaluation_id
    class I: record = R; line = 1
    def known():
        with transaction.atomic():
            return merge.known_records(e.first_import, [I])
    with transaction.atomic():
        workflow.submit_review(evaluation_id=e.pk, reviewer=ana, version=1, scores={}, comments="", origins={}, submission=uuid4())
        f = start_and_wait_for_lock(known)
    print(f.result())
