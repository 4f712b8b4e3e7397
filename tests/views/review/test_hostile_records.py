"""Hostile records, names and settings: they inject no markup, open no file and make no request.

Every text of a record, every name of a person or file and every setting of a lead contains markup,
script URLs, spreadsheet formulas, paths and line ends. Every response to a GET is then parsed by
its declared type: HTML, JSON, JSONL, CSV or Markdown.
"""

import csv
import io
import json
import re
import sys
import tomllib
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from django.conf import LazySettings
from django.test import Client
from django.utils import timezone

from reviews.accounts import api_tokens, one_time_links
from reviews.exports import jobs, output
from reviews.imports import jobs as import_jobs
from reviews.imports.runs import get_or_create_run
from reviews.models import (
    BulkChange,
    Evaluation,
    Export,
    GoldSet,
    Import,
    KnownAnswerCheck,
    Run,
    SpotCheck,
    User,
)
from reviews.queue import claims
from reviews.records import mapping
from reviews.records.rubric import Cause, Criterion, Rubric
from reviews.records.task_context import build_task_context
from reviews.review import drafts, escalations
from reviews.rubric.run_rubric import declare_rubric, run_rubric
from reviews.search import saved_views, strata
from reviews.search.filters import FILTERS, Filters
from reviews.webhooks import deliveries
from tests.support import contexts
from tests.support.addresses import ROUTES, address
from tests.support.lines import file_of, line
from tests.support.work import decide
from tests.views.access import ACCESS

pytestmark = pytest.mark.django_db

PROBE = "zq-probe"
MARKUP = (
    f"=1+1'\"><{PROBE} onmouseover=alert(1)></title></textarea></script><script {PROBE}>alert(1)</script>"
    f"<img src=x {PROBE} onerror=alert(1)><svg {PROBE} onload=alert(1)><a {PROBE} href=javascript:alert(1)>"
    f"[link](javascript:alert('{PROBE}')) ![picture](https://{PROBE}.example/x.png)"
    f" [data](data:text/html,{PROBE})"
    f" {{{{ {PROBE} }}}} {{% {PROBE} %}} \\href{{javascript:alert('{PROBE}')}}{{x}} $\\unsafe{{{PROBE}}}$"
)
PATH = f"../../../../tmp/{PROBE}/secret"
NAME = f"=cmd|'/C calc'!A0\"><{PROBE} onload=x>"


# A run's name contains no slash.
RUN_NAME = NAME.replace("/", "")


def hostile_line(number: int, **changes: Any) -> bytes:
    scores = {NAME: {"score": "No", "justification": MARKUP}, "Clarity": {"score": MARKUP[:60]}}
    values = {
        "task_id": NAME,
        "model_id": f"@{NAME}",
        "response_id": NAME,
        "ideal_response_id": NAME,
        "judge_llm_model": f"+{NAME}",
        "judge_prompt_template_path": PATH if number else NAME,
        "raw_judge_output": {"raw_content": MARKUP, MARKUP: MARKUP},
        "parsed_rubric_scores": scores,
        "verification_message": f"Mismatch (Extracted: '{MARKUP}', Correct: '{MARKUP}')",
        "review_reasons": [MARKUP, NAME],
        "structured_model_response": {"steps": [MARKUP], MARKUP: MARKUP, "final_answer": MARKUP},
        "structured_ideal_response": MARKUP,
        "parsing_error": MARKUP if number == 1 else None,
        MARKUP: MARKUP,
        "password__startswith": MARKUP,
        "_connector": ") OR 1=1 --",
    }
    return line(f"{NAME}{number}", **(values | changes))


def hostile_question() -> Any:
    return build_task_context(
        {
            "prompt": [
                {"role": MARKUP, "name": MARKUP, "content": [MARKUP, {"type": MARKUP, "text": MARKUP}]},
                {"role": "tool", "content": MARKUP * 4, "tool_calls": [MARKUP], MARKUP: MARKUP},
            ],
            "context": [MARKUP, {"text": MARKUP * 2, "title": MARKUP, "source": MARKUP, MARKUP: MARKUP}],
            "responses": [{"name": MARKUP, "response": MARKUP}, {"name": NAME, "response": {MARKUP: MARKUP}}],
            "metadata": {MARKUP: MARKUP},
        }
    )


def hostile_rubric() -> Rubric:
    criteria = (Criterion(NAME, description=MARKUP), Criterion(MARKUP[:60], title=MARKUP[:60]))
    return Rubric(criteria, causes=(Cause(NAME[:60]), Cause(MARKUP[:40])))


@pytest.fixture
def record(max: User, lea: User, ana: User, settings: LazySettings) -> Evaluation:
    """A waiting record among others in every state, all hostile, with a row for each address."""
    settings.WEBHOOK_HOSTS = ["localhost:9"]
    User.objects.filter(pk=max.pk).update(
        first_name=NAME, last_name=MARKUP[:140], email=f'"{PROBE}"@example.org'
    )
    upload = import_jobs.enqueue_import(
        run_name=RUN_NAME,
        file_name=f"{PATH}/{NAME}.jsonl",
        blocks=[
            file_of(*(hostile_line(number) for number in range(5)), b'{"evaluation_id": "' + MARKUP.encode())
        ],
        strict=False,
        actor=max,
    )
    import_jobs.import_upload(import_id=upload.pk)
    run = Run.objects.get()
    declare_rubric(run_id=run.pk, actor=lea, rubric=hostile_rubric())
    answers = {"ideal_response": MARKUP, "final_answer": MARKUP, "metadata": {NAME: MARKUP}}
    assert contexts.bring(contexts.task(task_id=NAME, prompt=MARKUP, **answers), actor=max).tasks == 1
    waiting, *others = Evaluation.objects.order_by("pk")
    # As a mapping takes it from a line.
    Evaluation.objects.update(task_context=hostile_question())
    scores = {NAME: {"score": "Yes", "justification": MARKUP}}
    causes = {NAME: run_rubric(run).causes[0].word}
    for other in others[:2]:
        decided = decide(other, max, scores=scores, comments=MARKUP, causes=causes, judged={NAME: "No"})
    SpotCheck.objects.create(review=decided, run=run, reviewer=max, drawn_by=max)
    escalations.escalate(
        evaluation_id=others[2].pk, reviewer=max, kind="question", reason="question", note=MARKUP
    )
    claims.claim(evaluation_id=others[3].pk, reviewer=max)
    fields = [["comments", MARKUP], ["criteria-0-name", NAME], ["criteria-0-justification", MARKUP]]
    drafts.save(evaluation_id=others[3].pk, reviewer=max, fields=fields, revision=1)
    bring_contradiction(run, max)
    strata.recount(run, {})
    saved_views.save(
        run=run, owner=max, name=NAME, query=Filters.parse({"model": NAME}).query_string, is_shared=True
    )
    BulkChange.objects.create(run=run, actor=max, kind=BulkChange.Kind.RELEASE, query=f"q={MARKUP[:200]}")
    check = KnownAnswerCheck.objects.create(run=run, started_by=max)
    check.answers.create(evaluation=waiting)
    jobs.build(export_id=jobs.enqueue(options=output.ExportOptions(run), actor=max).pk)
    api_tokens.create(person=max, scopes=["read"], actor=None)
    one_time_links.invite(role="reviewer", email=f"{PROBE}@example.org", actor=max)
    bring_mapping(max)
    deliveries.add_webhook(url=f"http://localhost:9/?{PROBE}", run=run, actor=max)
    bring_gold_set(run, waiting, NAME)
    return waiting


def bring_gold_set(run: Run, record: Evaluation, name: str) -> None:
    """Create a gold set with one rating, all of whose texts are hostile."""
    made = GoldSet.objects.create(
        name=name[:100],
        run=run,
        run_name=run.name,
        filters={"model": NAME},
        rubric=run_rubric(run).as_json(),
        frozen_by=MARKUP,
        frozen_at=timezone.now(),
    )
    made.ratings.create(
        basis="blind",
        response=1,
        evaluation_id=record.evaluation_id,
        task_id=record.task_id,
        model_id=record.model_id,
        is_flagged=True,
        scores={NAME: MARKUP},
        verdict="Pass",
        probability=1,
        raters=1,
        reviewer=MARKUP,
        at=timezone.now(),
    )


def bring_mapping(actor: User) -> None:
    """Create a run with a mapping of hostile texts."""
    needed = ("evaluation_id", "judge_llm_model", "judge_prompt_template_path", "created_at")
    key = json.dumps(MARKUP)
    parts = {"fields": dict.fromkeys(needed, key), "review": [{"when": key, "reason": MARKUP}]}
    get_or_create_run(name=f"{RUN_NAME}, mapped", mapping=mapping.mapping_from_json(parts), actor=actor)


def bring_contradiction(run: Run, actor: User) -> None:
    """Return the file with other verdicts and another person's decisions."""
    theirs = {
        "human_review_status": "Reviewed",
        "human_reviewer_id": NAME,
        "human_corrected_scores": {NAME: MARKUP},
    }
    lines = [
        hostile_line(1, **theirs),
        hostile_line(2, aggregated_score="Fail", human_review_comments=MARKUP),
    ]
    again = import_jobs.enqueue_import(
        run_name=run.name, file_name=NAME, blocks=[file_of(*lines)], strict=False, actor=actor
    )
    import_jobs.import_upload(import_id=again.pk)


class Page(HTMLParser):
    """Collect injected parts of a page: elements and attributes made from a probe, and URLs that run code."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.taken: list[str] = []
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in [(tag, None), *attrs]:
            text = re.sub(r"[\0-\x20]", "", value or "").lower()
            if PROBE in name or name.startswith("on"):
                self.taken.append(f"<{tag} {name}>")
            if name in {"href", "src", "action", "formaction"} and text.startswith(
                ("javascript:", "data:text")
            ):
                self.taken.append(f"<{tag} {name}={value}>")
        if tag in {"img", "iframe", "object", "embed"} and PROBE in str(attrs):
            self.taken.append(f"<{tag}>")

    def handle_comment(self, data: str) -> None:
        self.taken += [f"<!--{data}-->"] if PROBE in data else []


def assert_harmless(response: Any) -> str:
    """Parse a response by its declared content type and return that type."""
    kind, text = response["Content-Type"].partition(";")[0], response.getvalue()
    assert response.headers["X-Content-Type-Options"] == "nosniff"
    if named := response.headers.get("Content-Disposition"):
        assert re.fullmatch(r'attachment; filename="[\w][\w.-]*"', named)
    if kind == "text/html":
        assert Page(text.decode()).taken == []
    elif kind in {"application/json", "application/problem+json"}:
        json.loads(text)
    elif kind == "application/x-ndjson":
        [json.loads(row) for row in text.splitlines() if not row.startswith(b'{"evaluation_id": "=1+1')]
    elif kind == "text/csv":
        cells = [cell for row in csv.reader(io.StringIO(text.decode(), newline="")) for cell in row]
        assert [cell for cell in cells if cell[:1] in "=+@\t\r" and cell] == []
        assert [cell for cell in cells if cell.startswith("-") and not re.fullmatch(r"-[0-9.]+", cell)] == []
    elif kind == "text/markdown":
        outside = re.sub(r"^(`{3,})text\n.*?\n\1$", "", text.decode(), flags=re.DOTALL | re.MULTILINE)
        assert not re.search(rf"(?<!\\)<{PROBE}|(?<!\\)\]\(javascript:", outside)
    elif kind == "application/toml":
        tomllib.loads(text.decode())
    else:
        assert kind in {"text/plain", "application/octet-stream", ""}, kind
    return str(kind)


@pytest.fixture
def happened() -> Iterator[list[tuple[str, str]]]:
    """Record audit hook events with the probe in their arguments: files, processes, connections, code."""
    found: list[tuple[str, str]] = []
    watched = (
        "open",
        "os.",
        "shutil.",
        "subprocess.",
        "socket.",
        "exec",
        "compile",
        "import",
        "ctypes.",
        "pathlib.",
    )
    is_on = [True]

    def listen(event: str, arguments: tuple[Any, ...]) -> None:
        if is_on[0] and event.startswith(watched) and PROBE in str(arguments):
            found.append((event, str(arguments)[:200]))

    sys.addaudithook(listen)  # Python cannot remove audit hooks; a flag disables this one.
    yield found
    is_on[0] = False


# Pages that show a record by its state. Others show its texts, and are tried with one of the other records.
BY_STATE = {"evaluation", "record-history"}
PAGES = [name for name, methods in ACCESS.items() if methods.get("get", (0,) * 5)[4] in {200, 404}]


def places(record: Evaluation) -> Iterator[str]:
    """Return every address for the waiting record, and the record addresses for the others."""
    others = [*Evaluation.objects.exclude(pk=record.pk).order_by("pk")]
    for number, name in enumerate(PAGES):
        path = address(name, record)
        yield path
        if ROUTES[name].startswith("evaluations/"):
            turn = others if name in BY_STATE else [others[number % len(others)]]
            for other in turn:
                yield address(name, other)
        if ROUTES[name].startswith("imports/"):
            for source in Import.objects.all():
                yield re.sub(r"\d+", str(source.pk), path)


@pytest.mark.exhaustive
def test_hostile_record_texts_are_escaped_on_pages_and_in_files(
    happened: list[tuple[str, str]], record: Evaluation, as_max: Client
) -> None:
    """From import to export, nothing in the file is opened, run or fetched."""
    kinds: set[str] = set()
    shown = 0
    for path in places(record):
        response = as_max.get(path)
        assert response.status_code in {200, 404}, path
        kinds.add(assert_harmless(response))
        shown += not response.streaming and PROBE in response.content.decode()
    # The hostile text was present in every form.
    assert shown > 30
    assert {"text/html", "application/json", "application/x-ndjson", "text/csv", "text/markdown"} <= kinds
    assert Export.objects.get().state == Export.State.DONE
    assert happened == []


def test_unescaped_text_on_a_page_is_detected() -> None:
    for html in (
        f"<{PROBE}>",
        f'<p {PROBE}="">',
        '<p onclick="x">',
        '<a href="java\nscript:x">',
        f'<img src="https://{PROBE}.example">',
        f"<!-- {PROBE} -->",
    ):
        assert Page(html).taken
    assert Page(f'<p title="{PROBE}">&lt;{PROBE}&gt;</p>').taken == []


@pytest.mark.slow
def test_filters_views_and_previews_show_hostile_text_as_text(record: Evaluation, as_max: Client) -> None:
    run = record.run_id
    for path in (
        f"/runs/{run}/",
        f"/runs/{run}/judge/",
        f"/runs/{run}/tasks/",
        "/dashboard/",
        f"/runs/{run}/change/",
    ):
        query = dict.fromkeys((*FILTERS, "sort", "after", "of", "kind", "to", "list", "term"), MARKUP)
        response = as_max.get(path, query | {PROBE: MARKUP, f'"><{PROBE}>': NAME})
        assert response.status_code in {200, 404}
        assert_harmless(response)
    assert_harmless(as_max.post("/preview/", {"text": MARKUP, "comments": MARKUP}))
    assert_harmless(as_max.post("/import/", {"run": NAME, "file": io.BytesIO(MARKUP.encode())}))
    assert_harmless(as_max.post("/login/", {"login": MARKUP, "password": MARKUP, "next": MARKUP}))
    assert_harmless(as_max.get(f"/<{PROBE}>/"))


def test_unsafe_downloads_are_detected(happened: list[tuple[str, str]], tmp_path: Path) -> None:
    (tmp_path / PROBE).write_text("seen")
    assert {event for event, _ in happened} == {"open"}
