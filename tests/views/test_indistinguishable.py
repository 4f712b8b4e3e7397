"""No response reveals the judge's output for blind records, or which records are random samples.

The records of a pair differ only in secrets. Every request is sent twice, and the pairs swap their secrets in
between. If both responses are equal, they do not depend on secrets.
"""

import re
from collections.abc import Callable, Container, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple
from urllib.parse import quote, urlencode

import pytest
from django.db import transaction
from django.test import Client
from django.urls import reverse

from reviews.api.urls import api
from reviews.models import Evaluation, Run, RunFacet, User
from reviews.queue import allocation
from reviews.search import indexing
from reviews.search.filters import FILTERS
from reviews.search.sort_orders import SORTS
from reviews.search.terms import distinct_words
from reviews.views.dashboard.tables import TABLES as DASHBOARD_TABLES
from reviews.views.judge.downloads import TABLES as JUDGE_TABLES
from tests.api.access import path_values
from tests.support.addresses import ROUTES, address, one_of_everything
from tests.support.api_requests import Program, program_of
from tests.support.filter_values import FILTER_VALUES
from tests.support.lines import file_of, import_data, line
from tests.support.work import agree
from tests.views.access import ACCESS, PEOPLE

pytestmark = [pytest.mark.django_db, pytest.mark.slow]

# Columns that identify a record. Each other column is a secret in one of the pairs.
IDENTITY = {
    "id",
    "run",
    "first_import",
    "first_line",
    "source_import",
    "source_line",
    "content_hash",
    "evaluation_id",
    "task_id",
    "model_id",
    "response_id",
    "ideal_response_id",
    "judge_llm_model",
    "judge_prompt_template_path",
    "structured_model_response",
    "structured_ideal_response",
    "created_at",
    "extra",
    "has_answer",
    "blind_position",
}
CALM = {"needs_human_review": False, "review_reasons": [], "human_review_status": "Not Required"}
FLAGGED = {"review_reasons": ["Odd unit: wavelength"], "human_review_status": "Pending"}
FAILS = {
    "parsed_rubric_scores": {"Clarity": {"score": "No", "justification": "Obfuscated zeppelin."}},
    "raw_judge_output": {"raw_content": '{"Clarity": "quixotic"}'},
    "aggregated_score": "Fail",
    "verification_message": "Verification (Marmalade): Mismatch (Extracted: '54', Correct: '60')",
    "final_answer_verified": False,
    "parsing_error": "Truncated jabberwock",
    "review_reasons": ["Final answer does not match.", "Missing step: kumquat"],
}
PASSES = {
    "parsed_rubric_scores": {"Clarity": {"score": "Yes", "justification": "Lucid xylophone."}},
    "raw_judge_output": {"raw_content": '{"Clarity": "wombat"}'},
    "aggregated_score": "Pass",
    "verification_message": "Verification (Tangerine): Match (Extracted: '54', Correct: '60')",
    "final_answer_verified": True,
    "parsing_error": None,
    "review_reasons": ["Sampled for audit"],
}
# Task contexts that a mapping took from the lines of two records.
CONTEXTS = [
    {"prompt": "Why?", "metadata": {"judge": f"Obstinate {animal}"}} for animal in ("aardvark", "ibex")
]
# Words that only the judge's output for blind records contains.
MARKERS = (
    "zeppelin",
    "quixotic",
    "marmalade",
    "jabberwock",
    "xylophone",
    "wombat",
    "tangerine",
    "aardvark",
    "ibex",
)
_MARKED = re.compile("|".join(MARKERS))
# Files for leads with the judge's output. A download is recorded, and later reviews are not blind.
FILES = ("independent-reviews", "GET /runs/{run}/export", "GET /audit")


def names(*, is_blind: bool) -> Iterator[str]:
    """Yield ids of records inside or outside the blind share of the run."""
    for number in range(1_000):
        name = f"record-{number}"
        if (allocation.position(allocation.BLIND, name) < 0.5) == is_blind:
            yield name


class Pair(NamedTuple):
    """Two records that differ only in secrets."""

    first: Evaluation
    second: Evaluation


class World:
    """A run with pairs of records, and with records that have nothing hidden."""

    def __init__(self, lead: User, reviewer: User) -> None:
        self.run = Run.objects.create(name="twins", blind_share=0.5, sample_share=1)
        blind, shown = names(is_blind=True), names(is_blind=False)
        made: dict[str, list[tuple[str, dict[str, Any]]]] = {
            "verdict": [(next(blind), FAILS), (next(blind), PASSES)],
            "flag": [(next(shown), FLAGGED), (next(shown), CALM)],
            "both": [(next(blind), FLAGGED), (next(blind), CALM)],
            "plain": [(next(shown), {"aggregated_score": "Fail"}), (next(shown), {})],
            "decided": [(next(shown), {}), (next(shown), CALM)],
        }
        answer = {"response": {"final_answer": "54"}}
        lines = [
            line(
                name,
                task_id=f"{kind}-{number}",
                model_id=f"model-{number}" if kind == "verdict" else "o1",
                response_id=f"of-{name}",
                structured_model_response=answer,
                **secrets,
            )
            for kind, two in made.items()
            for number, (name, secrets) in enumerate(two)
        ]
        self.source = import_data(file_of(*lines), run=self.run.name)
        for number, context in enumerate(CONTEXTS):
            self.run.evaluations.filter(task_id=f"verdict-{number}").update(task_context=context)
        indexing.index_import(self.source)
        by_task = {record.task_id: record for record in self.run.evaluations.select_related("run")}
        self.pairs = [
            Pair(by_task[f"{kind}-0"], by_task[f"{kind}-1"]) for kind in ("verdict", "flag", "both")
        ]
        for number in (0, 1):
            agree(by_task[f"decided-{number}"], reviewer)
        one_of_everything(lead, by_task["plain-0"])
        indexing._update_counts(self.run)

    def exchange(self, *pairs: Pair) -> None:
        """Swap the secrets within each pair, and index the records again."""
        columns = [field.name for field in Evaluation._meta.concrete_fields if field.name not in IDENTITY]
        for pair in pairs:
            first, second = (Evaluation.objects.get(pk=one.pk) for one in pair)
            for name in columns:
                ours, theirs = getattr(first, name), getattr(second, name)
                setattr(first, name, theirs)
                setattr(second, name, ours)
            for one in (first, second):
                one.save(update_fields=columns)
        indexing._index_lines(self.source, indexing.LineRange(0, self.source.lines))
        indexing._update_counts(self.run)

    @property
    def asked_about(self) -> list[Evaluation]:
        """Return one record of each pair, which has the secrets of both: its own, then those of the other."""
        return [pair.first for pair in self.pairs]

    @property
    def firsts(self) -> list[tuple[str, str]]:
        """Return filters for the first record of each pair."""
        return [("task", pair.first.task_id or "") for pair in self.pairs]

    def queries(self) -> Iterator[list[tuple[str, str]]]:
        """Return every filter with every existing value, and every word that one record of a pair has."""
        occurring = (
            RunFacet.objects.filter(run=self.run).values_list("name", "value").order_by("name", "value")
        )
        fixed = [(name, value) for name, one in FILTERS.items() for value in one.options]
        people = [(name, who) for name, one in FILTERS.items() if one.is_person for who in ("bo", "nobody")]
        of_fails, of_passes, of_flagged = (
            set(distinct_words(map(str, secrets.values()))) for secrets in (FAILS, PASSES, FLAGGED)
        )
        searched = [("q", word) for word in sorted((of_fails ^ of_passes) | of_flagged)]
        pairs = [*occurring, *fixed, *people, *searched]
        pairs += [pair for pair in FILTER_VALUES.items() if pair[0] not in dict(pairs)]
        assert dict(pairs).keys() == FILTERS.keys(), "Add a value of the filter."
        for pair in pairs:
            yield [pair]
        for name, value in (("verdict", "Fail"), ("reason", "odd-unit"), ("q", "zeppelin")):
            yield [(name, value), ("status", "waiting")]


Question = tuple[str, Callable[[], Any]]


class Asker:
    """Send every request as one person, to pages and API, and roll back the changes."""

    def __init__(self, person: User, world: World) -> None:
        self.role = person.groups.get().name
        self.world, self.client = world, Client()
        self.client.force_login(person)
        self.program: Program = program_of(person)
        self.scopes = person.api_tokens.latest("pk").scopes

    def answers(self, only: Container[str]) -> dict[str, str]:
        """Return the responses to the questions with these names."""
        found = {}
        for name, question in self.questions():
            if name in only:
                with _taken_back():
                    found[name] = _comparable(question())
        return found

    def questions(self) -> Iterator[Question]:
        """Return every request by a name of its own."""
        yield from self._pages()
        yield from self._operations()
        yield from self._lists()
        if self.role == "lead":
            yield from self._figures()

    def usual(self) -> set[str]:
        """Return the names of the questions to ask always: one for each page, operation, filter and table."""
        first: dict[str, str] = {}
        for name, _ in self.questions():
            first.setdefault(_DETAIL.sub("", name), name)
        return {*first.values()}

    def _get(self, place: str, **more: Any) -> Callable[[], Any]:
        return lambda: self.client.get(place, **more)

    def _post(self, place: str, **posted: Any) -> Callable[[], Any]:
        return lambda: self.client.post(place, posted)

    def _pages(self) -> Iterator[Question]:
        column = PEOPLE.index({"reviewer": "ana", "lead": "lea"}[self.role])
        for name, methods in ACCESS.items():
            is_of_record = ROUTES[name].startswith("evaluations/<int:pk>")
            for record in self.world.asked_about if is_of_record else self.world.asked_about[:1]:
                place, label = address(name, record), f"{name} {record.task_id}"
                if methods.get("get", (0,) * 5)[column] in {200, 302, 404}:
                    yield f"page {label}", self._get(place)
                if is_of_record and methods.get("post", (0,) * 5)[column] not in {0, 403}:
                    yield f"form {label}", self._post(place)

    def _figures(self) -> Iterator[Question]:
        run, models = self.world.run, {record.model_id or "" for pair in self.world.pairs for record in pair}
        for table in JUDGE_TABLES:
            yield f"table {table}", self._get(reverse("judge-table", args=[run.pk, table]))
        for table in DASHBOARD_TABLES:
            yield f"table {table}", self._get(reverse("dashboard-table", args=[table], query={"run": run.pk}))
        for name in ("judge", "judge-flags", "judge-models", "judge-report-json"):
            for model in models:
                yield f"{name} of {model}", self._get(reverse(name, args=[run.pk], query={"model": model}))

    def _operations(self) -> Iterator[Question]:
        for path, methods in api.get_openapi_schema()["paths"].items():
            for method, operation in methods.items():
                if operation["x-scope"] not in self.scopes:
                    continue  # rejected before anything is read
                for record in (
                    self.world.asked_about if "evaluation_id" in path else self.world.asked_about[:1]
                ):
                    asked = path.removeprefix("/api/v1/").format(**path_values(record, path))
                    name = f"{method.upper()} {path.removeprefix('/api/v1')} {record.task_id}"
                    yield name, self._by_program(method.upper(), asked)

    def _by_program(self, method: str, path: str, body: Any = None) -> Callable[[], Any]:
        key = {"Idempotency_Key": "1"} if method == "PUT" else {}
        return lambda: self.program.ask(method, path, body, **key)

    def _lists(self) -> Iterator[Question]:
        run = self.world.run
        place = reverse("run", args=[run.pk])
        for sort in SORTS:
            for after in ("", "[0, 0]", "[1, 0]", "[2, 0]"):
                query = urlencode([("sort", sort), *([("after", after)] if after else [])])
                yield f"page sort {query}", self._get(f"{place}?{query}&menu=open")
                listed = f"runs/{quote(run.name)}/evaluations?{query}"
                yield f"API sort {query}", self._by_program("GET", listed)
        for number, pairs in enumerate(self.world.queries()):
            # With the first of each pair alone, a count or a claim shows which of them a filter finds.
            with_firsts = pairs + self.world.firsts
            for filters in [with_firsts] if pairs[0][0] == "q" else [with_firsts, pairs]:
                first, *others = [*self._by_api(filters), *self._on_pages(filters)]
                yield first
                # Claims and pages find records by the same condition: values take turns on them.
                yield from others if len(pairs) > 1 else [others[number % len(others)]]

    def _by_api(self, pairs: list[tuple[str, str]]) -> Iterator[Question]:
        run, query = self.world.run, urlencode(pairs)
        yield f"API {query}", self._by_program("GET", f"runs/{quote(run.name)}/evaluations?{query}")
        filters: dict[str, list[str]] = {}
        for name, value in pairs:
            filters.setdefault(name, []).append(value)
        claim = self._by_program("POST", f"runs/{quote(run.name)}/claims", {"filters": filters})
        yield f"API claim {query}", claim

    def _on_pages(self, pairs: list[tuple[str, str]]) -> Iterator[Question]:
        run, query = self.world.run, urlencode(pairs)
        if query.startswith("q="):
            return
        place = reverse("run", args=[run.pk])
        yield f"page {query}", self._get(f"{place}?{query}&menu=open")
        yield f"claim {query}", self._post(reverse("claim-next", args=[run.pk]), queue=query)
        yield f"spare {query}", self._post(reverse("prefetch", args=[run.pk]), queue=query)
        yield f"standing {query}", self._get(reverse("review", args=[run.pk], query={"queue": query}))
        if self.role == "lead":
            change = reverse("bulk-change", args=[run.pk])
            sent = {"list": query, "kind": "prioritise", "priority": "1"}
            yield f"plan {query}", self._get(f"{change}?{urlencode(sent)}")
            yield f"change {query}", lambda: (self._post(change, **sent)(), self._get(place)())[1]


# The record, the model, the filters (except those of lists in the API), the first of each pair, and values.
_DETAIL = re.compile(r" (verdict|flag|both)-[01]$| of \S+$|(?<!API) [^ ]*=.*|(&task=[^&]*)+$|=[^&]*")


@contextmanager
def _taken_back() -> Iterator[None]:
    """Roll back the database at the end."""
    with transaction.atomic():
        yield
        transaction.set_rollback(True)


_OWN = re.compile(
    r"[A-Za-z0-9]{64}|[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f-]{22}|(?<=nonce=\")[^\"]+|(?<=nonce-)[^']+"
    r"|\d{4}-\d\d-\d\d[T ][\d:.]+|\d\d:\d\d(:\d\d)?|every [\d.]+s"
    # The key of a new export.
    r"|(?<={\"id\":)\d+(?=,\"run\":)"
    # The key of an audit event, for Undo.
    r"|(?<=data-event=\")\d+|(?<=name=\"event\" value=\")\d+"
)


def _comparable(response: Any) -> str:
    """Return a response without tokens and times."""
    headers = [
        f"{name}: {response.headers[name]}"
        for name in ("Location", "ETag", "HX-Replace-Url")
        if name in response
    ]
    content = response.getvalue().decode(errors="replace")
    return _OWN.sub("", "\n".join([str(response.status_code), *headers, content]))


def separated(asker: Asker, before: dict[str, str], *pairs: Pair) -> dict[str, tuple[str, str]]:
    """Return the responses that change when the pairs swap their secrets."""
    with _taken_back():
        asker.world.exchange(*pairs)
        after = asker.answers(before)
    assert before.keys() == after.keys()
    return {name: (before[name], after[name]) for name in before if before[name] != after[name]}


def differing(one: str, other: str) -> list[tuple[str, str]]:
    """Return the first lines that differ between two responses."""
    lines = zip(one.splitlines(), other.splitlines(), strict=False)
    return [(ours.strip()[:200], theirs.strip()[:200]) for ours, theirs in lines if ours != theirs][:2]


@pytest.fixture
def world(max: User, bo: User) -> World:
    return World(max, bo)


@pytest.mark.exhaustive
@pytest.mark.parametrize("is_rest", [False, True])
@pytest.mark.parametrize("who", ["ana", "lea"])
def test_no_response_depends_on_hidden_values(
    who: str, is_rest: bool, world: World, request: pytest.FixtureRequest
) -> None:
    asker = Asker(request.getfixturevalue(who), world)
    usual = asker.usual()
    rest = {name for name, _ in asker.questions()} - usual
    if who == "lea":
        # A lead gets all that reviewers get, and more. The rest asks again for each kind, not for each value.
        reviewer = Asker(request.getfixturevalue("ana"), world)
        of_reviewer = reviewer.usual()
        rest -= {name for name, _ in reviewer.questions()} - of_reviewer
        rest |= usual & of_reviewer
        usual -= of_reviewer
    answers = asker.answers(rest if is_rest else usual)
    telling = {
        name: [word for word in words if word not in name]
        for name, answer in answers.items()
        if (words := _MARKED.findall(answer.casefold())) and not name.startswith(FILES)
    }
    assert {name: words for name, words in telling.items() if words} == {}
    found = separated(asker, answers, *world.pairs)
    assert {name: differing(*both) for name, both in found.items()} == {}


def test_response_that_depends_on_hidden_value_is_detected(world: World, ana: User) -> None:
    asker, pair = Asker(ana, world), world.pairs[1]
    name = f"GET /runs/{{run}}/evaluations/{{evaluation_id}} {pair.first.task_id}"
    Evaluation.objects.filter(pk=pair.first.pk).update(version=7)
    before = asker.answers([name])
    assert before.keys() == separated(asker, before, pair).keys() == {name}
