"""Every page of the site in each of its states, for the accessibility tests.

Add each new page to `SIGHTS`: the name of its URL, the visitor, and a function that creates the state and
returns the argument of the URL, a key or a token. URLs that are not pages belong in `NO_PAGES`.
"""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from itertools import product
from typing import Any

from allauth.mfa.recovery_codes.internal.auth import RecoveryCodes
from allauth.mfa.totp.internal.auth import TOTP, generate_totp_secret
from django.urls import reverse
from django.utils import timezone
from playwright.sync_api import Page, Route

from reviews.accounts import api_tokens, one_time_links, people
from reviews.dashboard import bulk_changes, spot_checks
from reviews.dashboard.selection import WorkSelection
from reviews.exports import jobs, output
from reviews.imports import jobs as import_jobs
from reviews.imports import uploads
from reviews.imports.runs import get_or_create_run
from reviews.imports.shipped_mappings import BY_NAME
from reviews.judge.gold import gold_sets
from reviews.judge.scope import JudgeScope
from reviews.models import (
    Evaluation,
    Export,
    GoldSet,
    Import,
    ImportProgress,
    KnownAnswerCheck,
    Run,
    SpotCheck,
    User,
    Webhook,
)
from reviews.queue import claims
from reviews.queue.members import configure_members
from reviews.records.rubric import Criterion, Rubric, VerdictRule
from reviews.records.scales import PairwiseScale, RangeScale, Scale, ValueScale
from reviews.records.status import COMPLETED
from reviews.review import decisions, drafts, escalations, independent_reviews, known_answers
from reviews.runs.changes import archive_run
from reviews.search import indexing, saved_views, strata
from reviews.search.filters import Filters
from reviews.webhooks import signing_secrets
from tests.browser.screen import settle
from tests.records.test_mapping import MT_BENCH
from tests.support.factories import (
    PASSWORD,
    EvaluationFactory,
    ExportFactory,
    ImportFactory,
    RunFactory,
    UserFactory,
)
from tests.support.lines import file_of, import_data, line
from tests.support.questions import CONVERSATION, PASSAGES, import_question
from tests.support.rubrics import rubric_data
from tests.support.threads import together
from tests.support.work import decide, evaluations, lock_in_scores

LONG = "a_name_without_a_single_space_" * 6
MODEL = "openai/o4-mini"


def nothing() -> None:
    """Create nothing, for a URL without argument."""


def the_person(name: str) -> User:
    return User.objects.get(username=name)


@dataclass(frozen=True)
class Sight:
    """A page in a state."""

    #: Name of a URL, or a path.
    address: str
    #: Username of the visitor.
    who: str
    #: Creates the state, and returns the argument of the URL if it has one.
    state: Callable[[], int | str | None] = nothing
    query: str = ""
    #: Actions on the page before the checks.
    then: Callable[[Page], object] = lambda _: None
    #: Whether the site is in debug mode.
    in_debug_mode: bool = False

    def prepare(self) -> str:
        """Create the state and return the path of the page."""
        argument = self.state()
        if self.address.startswith("/"):
            return self.address
        return reverse(self.address, args=[] if argument is None else [argument]) + self.query


def archived_run() -> int:
    return archive_run(run_id=run(), actor=None).pk


def run() -> int:
    """A run with waiting, claimed, reviewed and outdated records, a conflict, and an invalid line."""
    bo = the_person("bo")
    lines = [line(f"eval_{n}", task_id=str(n)) for n in range(5)]
    made = import_data(file_of(*lines, b"no record"), run=f"Algebra {LONG}").target_run
    records = list(Evaluation.objects.order_by("pk"))
    for record in records[:3]:
        decide(record, bo, comments=r"Compare with \(\frac{1}{2}\).")
    theirs = {"human_review_status": "Reviewed", "human_reviewer_id": "carla", "human_corrected_scores": {}}
    newer = {"aggregated_score": "Fail"}
    import_data(
        file_of(line("eval_0", task_id="0", **theirs), line("eval_1", task_id="1", **newer)), run=made.name
    )
    claims.claim(evaluation_id=records[4].pk, reviewer=bo)
    return made.pk


def saved_view() -> int:
    """The run, with a shared view of lea."""
    made = Run.objects.get(pk=run())
    lea = the_person("lea")
    saved_views.save(run=made, owner=lea, name=LONG[:100], query="verdict=Pass", is_shared=True)
    return made.pk


def bulk_changed_run() -> int:
    """The run, with priority for its waiting records."""
    made = Run.objects.get(pk=run())
    order = bulk_changes.BulkOrder(
        made,
        Filters.from_query_string("verdict=Pass"),
        bulk_changes.Kind.PRIORITISE,
        priority=bulk_changes.PRIORITY_FIRST,
    )
    bulk_changes.apply(order=order, actor=the_person("lea"))
    return made.pk


def the(number: int) -> Callable[[], int]:
    """A record of that run: 1 is outdated, 2 reviewed, 3 waiting, 4 claimed by bo."""

    def record() -> int:
        run()
        return Evaluation.objects.get(evaluation_id=f"eval_{number}").pk

    return record


def own_record() -> int:
    """A record with long and unusual values, claimed by ana."""
    record = EvaluationFactory.create(
        task_id=LONG,
        model_id=LONG,
        parsed_rubric_scores={
            LONG: {
                "score": "No",
                "justification": r"Ends with \[" + "x + " * 60 + r"y\], not $\undefined{z}$.",
            },
            "clarity": {"score": 3, "justification": f"`{LONG}`"},
        },
        structured_model_response={"steps": ["Let $x = 1$.", LONG], "final_answer": "1/2"},
        structured_ideal_response={"response": "| a | b |\n|---|---|\n| 1 | 2 |"},
    )
    claims.claim(evaluation_id=record.pk, reviewer=the_person("ana"))
    return record.pk


def among_others() -> int:
    """That record with others of its task, whose values are as long, and a flag reason."""
    record = Evaluation.objects.get(pk=own_record())
    Evaluation.objects.filter(pk=record.pk).update(review_reasons=[f"Odd: {LONG}", "Short."])
    for answer in (rf"\(\frac{{{'x + ' * 30}y}}{{2}}\)", LONG):
        EvaluationFactory.create(
            run=record.run,
            task_id=LONG,
            model_id=f"{LONG}{len(answer)}",
            parsed_rubric_scores=record.parsed_rubric_scores,
            structured_model_response={"final_answer": answer, "steps": [LONG] * 20},
        )
    return record.pk


def peek(page: Page) -> None:
    """Show the first of the other records of the task."""
    page.locator("#siblings [data-peek]").first.click()
    page.locator("#peek .peek-scores").wait_for()


def two_responses() -> int:
    """A record that compares two responses, claimed by ana."""
    named = [{"name": LONG, "response": LONG}, {"name": "claude-3", "response": "It is **54**."}]
    return own_question(prompt=f"What is $6 \\cdot 9$? {LONG}", responses=named, reference="54")


def conversation() -> int:
    """A record with a conversation, passages and metadata, claimed by ana."""
    messages = [*CONVERSATION, {"role": "system", "content": f"{LONG} " * 20, "id": LONG}]
    passages = [*PASSAGES, {"text": LONG, "title": LONG, "source": LONG}]
    metadata = {LONG: LONG, "nested": {LONG: [1, LONG]}}
    return own_question(conversation=messages, context=passages, responses="It is 54.", metadata=metadata)


def own_question(**values: Any) -> int:
    record = import_question(**values)
    claims.claim(evaluation_id=record.pk, reviewer=the_person("ana"))
    return record.pk


def independent_review(answer: str, *names: str) -> int:
    """The long record with overlap; each of these people submitted different scores."""
    record = Evaluation.objects.get(pk=own_record())
    Run.objects.update(overlap_share=1)
    claims.clear_claim(record)
    for number, name in enumerate(names):
        scores = {
            LONG: {"score": ("No", "Yes")[number], "justification": rf"{answer} \(\frac{{1}}{{2}}\), {LONG}"},
            "clarity": {"score": 3, "justification": "It is clear."},
        }
        causes = {LONG: "too strict"} if number else {}
        decide(record, the_person(name), scores=scores, comments=answer, causes=causes)
    return record.pk


def disagreement() -> int:
    """A record claimed by lea, with two independent reviews that disagree."""
    record = independent_review("I find", "ana", "bo")
    claims.claim(evaluation_id=record, reviewer=the_person("lea"))
    return record


def late_independent_review() -> int:
    """Bo's independent review follows ana's decision and disagrees."""
    run()
    record = Evaluation.objects.get(evaluation_id="eval_3")
    decide(record, the_person("ana"))
    scores = {"Clarity": {"score": "No", "justification": LONG}}
    late = Evaluation.objects.get(pk=record.pk)
    decide(late, the_person("bo"), by=independent_reviews.add, scores=scores)
    return record.pk


def press(name: str) -> Callable[[Page], None]:
    """Press a button."""
    return lambda page: page.get_by_role("button", name=name, exact=True).click()


def records_to_find() -> None:
    """The records of a run with a long name."""
    run()


def open_palette(page: Page) -> None:
    """Open the palette and search for a run."""
    page.keyboard.press("Control+k")
    page.get_by_role("combobox", name="Search and commands").fill("run")
    page.locator("#palette-found .option").first.wait_for()


def submit_too_late(page: Page) -> None:
    """Submit a record that somebody else has just decided."""
    record = Evaluation.objects.get(claimed_by__username="ana")
    claims.clear_claim(record)
    decide(record, the_person("bo"))
    # Without htmx: the console would report the 409 of a script as an error.
    page.route("**/draft/", lambda route: route.fulfill(status=204))
    page.locator("#review-form").evaluate("form => HTMLFormElement.prototype.submit.call(form)")
    page.get_by_text("Submit as independent review").wait_for()


def new_webhook() -> int:
    """A webhook for a run, with two secrets and without deliveries."""
    url = f"https://hooks.example.org/{LONG}"
    made = Webhook.objects.create(url=url, run=Run.objects.get(pk=run()), created_by=the_person("max"))
    for _ in range(2):
        signing_secrets.add(webhook=made, actor=made.created_by)
    return made.pk


def webhook() -> int:
    """The same with a message delivered at the third attempt, one waiting, and one given up."""
    made = Webhook.objects.get(pk=new_webhook())
    for state, event in (("delivered", "run.reviewed"), ("waiting", "test"), ("given up", "run.reviewed")):
        delivery = made.deliveries.create(
            message_id=f"msg_{state}",
            event=event,
            run=made.run,
            state=state,
            next_attempt_at=timezone.now() if state == "waiting" else None,
        )
        delivery.attempts.create(number=1, reason="hooks.example.org leads to 10.0.0.1, which is not public.")
        delivery.attempts.create(number=2, status=500, reason="Internal Server Error")
        if state == "delivered":
            delivery.attempts.create(number=3, status=204, reason="No Content")
    return made.pk


def all_webhooks() -> None:
    """A webhook for a run, with deliveries, and one for every run."""
    webhook()
    Webhook.objects.create(url="https://hooks.example.org/", created_by=the_person("max"))


def independent_reviews_list() -> int:
    """A run whose escalations include a disagreement."""
    return Evaluation.objects.get(pk=independent_review("I find", "ana", "bo")).run_id


def independent_reviews_to_export() -> int:
    return Evaluation.objects.get(pk=independent_review("I find", "ana")).run_id


def changed_record() -> int:
    """Ana's record with a draft: an override and its cause."""
    record = own_record()
    ana = the_person("ana")
    fields = [["criteria-0-name", LONG], ["criteria-0-score", "Yes"], ["criteria-0-cause", "too strict"]]
    drafts.save(evaluation_id=record, reviewer=ana, fields=fields, revision=1)
    return record


def blind_record() -> int:
    """Ana's record, in blind review."""
    record = own_record()
    Run.objects.update(blind_share=1)
    return record


def open_dialog(page: Page, key: str) -> None:
    """Open a dialog of the review screen by its key."""
    settle(page)
    page.keyboard.press(key)
    page.get_by_role("dialog").wait_for()


def lock_in(page: Page) -> None:
    settle(page)
    page.keyboard.press("Shift+N")
    page.keyboard.press("a")
    page.get_by_role("heading", name="The judge scored").wait_for()


def escalated_record() -> int:
    """Ana's record, escalated with a question."""
    record, ana = own_record(), the_person("ana")
    escalations.escalate(evaluation_id=record, reviewer=ana, kind="question", reason="question", note=LONG)
    return record


def history() -> int:
    """A run in which ana decided, skipped and escalated."""
    record = Evaluation.objects.get(pk=escalated_record())
    ana = the_person("ana")
    decided, skipped = (EvaluationFactory.create(run=record.run, task_id=LONG) for _ in range(2))
    decide(decided, ana)
    claims.skip(evaluation_id=skipped.pk, reviewer=ana)
    return record.run_id


def escalations_in_two_runs() -> None:
    """Open escalations in a run and in another with a long name."""
    history()
    other = EvaluationFactory.create(run=RunFactory.create(name=LONG))
    ana = the_person("ana")
    escalations.escalate(evaluation_id=other.pk, reviewer=ana, kind="question", reason="question", note="")


def listed_disagreement() -> None:
    """A disagreement in the inbox."""
    independent_reviews_list()


def failed_import() -> None:
    """A failed import and a run whose inferred rubric is not confirmed."""
    ImportFactory.create(run=RunFactory.create(name=LONG), state=Import.State.FAILED, error="It broke.")
    Run.objects.update(rubric=rubric_data("Clarity"))


def reviewed_runs() -> None:
    """Decisions of bo, one of them reopened by lea, and a record claimed by ana."""
    run()
    own_record()
    judged = {"Clarity": "No", LONG: "Yes"}
    decide(EvaluationFactory.create(), the_person("bo"), judged=judged)
    record = Evaluation.objects.get(evaluation_id="eval_2")
    lea = the_person("lea")
    decisions.reopen(evaluation_id=record.pk, actor=lea, reason=f"See {LONG}.")


def reviewer_with_decisions() -> int:
    reviewed_runs()
    return the_person("bo").pk


def reviewer_without_decisions() -> int:
    return the_person("bo").pk


def judged_run() -> int:
    """A run with decisions of every kind that the judge pages distinguish."""
    made = RunFactory.create(name=f"Judged {LONG}", accuracy_target=0.8)
    ana, bo = the_person("ana"), the_person("bo")
    kinds: list[dict[str, Any]] = [
        {"model_id": LONG},
        {"model_id": MODEL, "judge_prompt_template_path": f"prompts/{LONG}.txt"},
        {"needs_human_review": False, "is_sampled": True},
        {"needs_human_review": False},
    ]
    for number, (kind, is_blind) in enumerate(product(kinds, (True, False))):
        record = EvaluationFactory.create(run=made, **kind)
        if is_blind:
            lock_in_scores(record, ana, {LONG: "Yes"})
        scores = {LONG: {"score": ("Yes", "No")[number % 2], "justification": rf"\(x\) {LONG}"}}
        judged, causes = {LONG: "No", "clarity": 3}, {LONG: "too strict"}
        decide(
            record,
            bo if number % 3 and not is_blind else ana,
            scores=scores,
            judged=judged,
            causes=causes,
            active_ms=9_000,
        )
    strata.recount(made, {})
    return made.pk


# The key of the run before the compared one, which queries name.
_EARLIER = 900_000


def _judge_responses(run: Run, judge: str, verdict: str) -> list[Evaluation]:
    """Import the same two responses, as scored by a judge."""
    records = [
        record
        for task in "12"
        for record in evaluations(
            run,
            tasks=[task],
            first_line=1,
            judge_llm_model=judge,
            aggregated_score=verdict,
            structured_model_response={"response": f"{LONG} {task}"},
        )
    ]
    for record in records:
        record.first_import.lines = 1
    indexing.index_at_once(run, [record.first_import for record in records])
    return records


def compared_run() -> int:
    """A run in which two judges scored the same responses, one of which ana scored blind."""
    made = RunFactory.create(name=f"Compared {LONG}", blind_share=0)
    records = _judge_responses(made, "judge-1", "Pass")
    _judge_responses(made, "judge-2", "Fail")
    lock_in_scores(records[0], the_person("ana"), {"Clarity": "Yes"})
    return made.pk


def drifted_run() -> int:
    """The same run, whose first judge gave other verdicts in an earlier run."""
    _judge_responses(RunFactory.create(pk=_EARLIER, name=f"Earlier {LONG}", blind_share=0), "judge-1", "Fail")
    return compared_run()


def pairwise_run() -> int:
    """A run whose judge chose the first of two responses in both orders."""
    scale = {"kind": "pairwise", "a": "A", "b": "B"}
    made = RunFactory.create(rubric={**rubric_data("Winner"), "scale": scale}, blind_share=0)
    responses = [{"name": name, "response": f"{LONG} {name}"} for name in "xy"]
    for order in (responses, responses[::-1]):
        [record] = evaluations(
            made,
            tasks=["1"],
            first_line=1,
            structured_model_response=None,
            task_context={"responses": order},
            parsed_rubric_scores={"Winner": {"score": "A"}},
        )
        record.first_import.lines = 1
        indexing.index_at_once(made, [record.first_import])
    return made.pk


def gold_run() -> int:
    """The same run, whose rated record was decided, with a gold set."""
    made = Run.objects.get(pk=compared_run())
    rated = Evaluation.objects.filter(run=made, blind_scores__isnull=False)
    rated.update(human_review_status=COMPLETED)
    gold_sets.freeze(scope=JudgeScope(made), name="gold", actor=the_person("lea"))
    return made.pk


def gold_set() -> int:
    gold_run()
    return GoldSet.objects.get().pk


def gold_set_list() -> None:
    gold_set()


def spot_checks_drawn() -> None:
    run()
    bo, lea = (the_person(name) for name in ("bo", "lea"))
    spot_checks.draw(selection=WorkSelection(reviewer=bo), count=5, actor=lea)


def overlapping_run() -> int:
    """A run whose records are for two people each."""
    made = RunFactory.create(overlap_share=1, overlap=2)
    evaluations(made, tasks=["1", "2", "3", "4", "5", "6"])
    return made.pk


def running_check() -> int:
    made = Run.objects.get(pk=overlapping_run())
    bo, lea = (the_person(name) for name in ("bo", "lea"))
    known_answers.start(run_id=made.pk, actor=lea, count=6)
    for number, record in enumerate(made.evaluations.order_by("pk")[:5]):
        decide(record, lea)
        if number:
            decide(record, bo)
    return made.pk


def ended_check() -> int:
    running_check()
    check = KnownAnswerCheck.objects.get()
    known_answers.end(check_id=check.pk, actor=the_person("lea"))
    return check.pk


def mapped_run() -> None:
    mapping = BY_NAME["promptfoo"].read()
    get_or_create_run(name=f"Nightly {LONG}"[:200], mapping=mapping, actor=None)


def open_mapping(page: Page) -> None:
    page.get_by_text("Nightly").click()


def map_without_a_field(page: Page) -> None:
    page.get_by_role("textbox", name="Run").fill("nightly")
    page.get_by_role("textbox", name="Own mapping").fill("[fields]")
    page.get_by_role("button", name="Save mapping").click()
    page.get_by_text("is missing").first.wait_for()


def spot_check() -> int:
    spot_checks_drawn()
    return SpotCheck.objects.earliest("pk").pk


def decided_record() -> int:
    record = EvaluationFactory.create()
    decide(record, the_person("ana"))
    return record.pk


def eventful_record() -> int:
    """A re-imported record that ana escalated and decided, and lea revised."""
    import_data(file_of(line("eval_1")), run=f"Algebra {LONG}")
    import_data(
        file_of(line("eval_1", aggregated_score="Fail", verification_message=LONG)), run=f"Algebra {LONG}"
    )
    record, ana, lea = Evaluation.objects.get(), *(the_person(name) for name in ("ana", "lea"))
    asked = escalations.escalate(evaluation_id=record.pk, reviewer=ana, kind="question", reason="", note=LONG)
    escalations.resolve(escalation_id=asked.pk, actor=lea, outcome="returned", answer=LONG)
    claims.claim(evaluation_id=record.pk, reviewer=ana)
    decided = decide(record, ana, causes={"Clarity": "too strict"}).evaluation
    scores = {"Clarity": {"score": "No", "justification": r"Ends with \(\frac{1}{3}\)."}}
    decide(decided, lea, by=decisions.revise, scores=scores, comments=LONG)
    return record.pk


def unparsed_record() -> int:
    return EvaluationFactory.create(
        parsed_rubric_scores={},
        aggregated_score=None,
        parsing_error="Invalid JSON",
        raw_judge_output={
            "raw_content": '```json\n{"clarity": {"score": "Yes", "justification": "\\(x\\)"}}\n```'
        },
    ).pk


def runs() -> None:
    run()
    empty_run()


def restricted_run() -> int:
    made = empty_run()
    configure_members(run_id=made, actor=None, members=["bo", "lea"])
    return made


def empty_run() -> int:
    return RunFactory.create().pk


def reviewed_run() -> int:
    return EvaluationFactory.create(human_review_status="Completed").run_id


def finished_import() -> int:
    run()
    return Import.objects.earliest("pk").pk


def repeated_import() -> int:
    run()
    return Import.objects.latest("pk").pk


def refused_import() -> int:
    source = import_jobs.enqueue_import(
        run_name="Algebra",
        file_name="algebra.jsonl",
        blocks=iter([file_of(line("eval_1"), b"no record")]),
        strict=True,
        actor=the_person("max"),
    )
    together(lambda: import_jobs.import_upload(import_id=source.pk))
    return source.pk


def import_of_another_judge() -> int:
    import_data(file_of(line("eval_1")), run="Algebra")
    source = import_jobs.enqueue_import(
        run_name="Algebra",
        file_name="second.jsonl",
        blocks=iter([file_of(line("eval_1", judge_llm_model="second", aggregated_score="Fail"))]),
        strict=False,
        actor=the_person("max"),
    )
    together(lambda: import_jobs.import_upload(import_id=source.pk))
    return source.pk


def name_a_known_run(page: Page) -> None:
    page.get_by_label("Name of the new run").fill("Algebra")
    page.get_by_role("button", name="Import as new run").click()
    page.get_by_text("A run with this name exists.").wait_for()


def run_to_read_again() -> int:
    import_data(file_of(line("eval_1")), run="Algebra")
    return Run.objects.get().pk


def read_again(page: Page) -> None:
    page.get_by_role("button", name="Preview").click()
    page.get_by_text("would be rejected").wait_for()


def uploaded_file_of_a_tool() -> str:
    words = MT_BENCH.replace(b"Rate it.", LONG.encode())
    kept = uploads.keep_for_mapping(
        file_name=f"{LONG}.jsonl",
        run_name=LONG,
        strict=False,
        size=len(words),
        parts=[words],
        actor=the_person("max"),
    )
    return str(kept.pk)


def unfinished_import(**progress: Any) -> Callable[[], int]:
    def source() -> int:
        made = ImportFactory.create(state=Import.State.RUNNING, file_name=f"{LONG}.jsonl")
        ImportProgress.objects.create(source=made, size=4_000_000, **progress)
        return made.pk

    return source


def cancelled_import() -> int:
    return ImportFactory.create(state=Import.State.CANCELLED).pk


def built_export() -> int:
    run()
    export = jobs.enqueue(options=output.ExportOptions(Run.objects.get()), actor=the_person("lea"))
    together(lambda: jobs.build(export_id=export.pk))
    return export.pk


def export(**values: Any) -> Callable[[], int]:
    return lambda: ExportFactory.create(**values).pk


def first_start() -> str:
    User.objects.all().delete()
    return people.welcome_token()


def invitation() -> str:
    return one_time_links.invite(
        role="reviewer", email=f"{LONG[:60]}@example.org", actor=the_person("max")
    ).token


def new_password() -> str:
    return one_time_links.create_password_link(person=the_person("ana"), actor=the_person("max")).token


def token() -> None:
    api_tokens.create(person=the_person("ana"), scopes=["review", "read"], actor=None)


def second_factor() -> None:
    TOTP.activate(the_person("ana"), generate_totp_secret())
    RecoveryCodes.activate(the_person("ana"))


def all_people() -> None:
    invitation()
    new_password()
    second_factor()
    UserFactory.create(username=LONG[:150], is_active=False)


def person() -> int:
    second_factor()
    token()
    return the_person("ana").pk


def enter_password(page: Page) -> None:
    page.get_by_label("Username").fill("ana")
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Sign in", exact=True).click()
    page.get_by_role("heading", name="Second factor").wait_for()


def confirm_identity(page: Page) -> None:
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Continue").click()
    page.get_by_role("heading", name="Confirm your identity").wait_for(state="detached")


def create_codes(page: Page) -> None:
    page.get_by_role("button", name="Create new codes").click()
    confirm_identity(page)


def invite(page: Page) -> None:
    page.get_by_label("Names or e-mail addresses").fill(f"Bo, {LONG[:60]}@example.org\neve@example.org, lead")
    page.get_by_role("button", name="Create invitations").click()
    confirm_identity(page)


def invite_a_wrong_list(page: Page) -> None:
    page.get_by_label("Names or e-mail addresses").fill("bo, owner\neve@")
    page.get_by_role("button", name="Create invitations").click()
    confirm_identity(page)


def create_token(page: Page) -> None:
    confirm_identity(page)
    page.get_by_label("What it is for").fill("Nightly import")
    page.get_by_role("button", name="Create token").click()


def jobs_of_every_kind() -> None:
    ExportFactory.create(state=Export.State.FAILED, error=f"The disk is full: {LONG}")
    ImportFactory.create(file_name=f"{LONG}.jsonl", state=Import.State.QUEUED)
    webhook()


def press_revoke(page: Page) -> None:
    page.get_by_role("button", name="Revoke").click()


def choose_a_file_and_pause(page: Page) -> None:
    held: list[Route] = []

    def hold(route: Route) -> None:
        held.append(route)

    page.route("**/uploads/", hold)
    page.get_by_label("File", exact=True).set_input_files(
        {"name": f"{LONG}.jsonl", "mimeType": "application/x-ndjson", "buffer": line()}
    )
    page.get_by_role("button", name="Import", exact=True).click()
    page.get_by_role("button", name="Pause").click()
    page.get_by_text("Paused").wait_for()
    for route in held:
        route.abort()


def open_everything(page: Page) -> None:
    page.evaluate("document.querySelectorAll('details').forEach((it) => { it.open = true; })")


def submit_nothing(page: Page) -> None:
    page.locator("main form").first.evaluate("form => { form.noValidate = true; form.requestSubmit(); }")
    page.locator("[aria-invalid]").first.wait_for()


def save_invalid_share(page: Page) -> None:
    page.get_by_label("Blind review (%)").fill("101")
    page.get_by_role("button", name="Save").click()
    page.get_by_text("Enter a share from 0 to 100%").wait_for()


def run_with_every_scale() -> int:
    """A run with a proposed rubric: a criterion on each kind of scale, and weights."""
    scales: list[Scale | None] = [
        None,
        ValueScale(("Good", "Fair", LONG[:40]), "Good", "Fair", ("N/A",)),
        ValueScale((False, True), False),
        RangeScale(1, 5, pass_from=4, partial_from=3),
        RangeScale(0, 1, is_integer=False, step=0.05),
        PairwiseScale(both_bad="neither"),
    ]
    criteria = tuple(Criterion(f"{n} {LONG}", scale=scale) for n, scale in enumerate(scales))
    rubric = Rubric(criteria, rule=VerdictRule("weighted", 0.7, 0.4))
    return RunFactory.create(rubric=rubric.as_json()).pk


def save_invalid_mean(page: Page) -> None:
    page.get_by_label("Rule").select_option("mean")
    page.get_by_role("button", name="Save rubric").click()
    page.locator(".errorlist").first.wait_for()


def escalate_without_reason(page: Page) -> None:
    page.get_by_role("button", name="Send").click()
    page.locator(".errorlist").first.wait_for()


def restore_without_reason(page: Page) -> None:
    page.get_by_text("Restore version 1").click()
    page.get_by_label("Reason for restoring it").fill(" ")
    page.get_by_role("button", name="Restore").click()
    page.get_by_role("alert").wait_for()


def assign_a_key_twice(page: Page) -> None:
    page.get_by_label("Skip (moves to the end of your queue)").fill("a")
    page.get_by_role("button", name="Save").click()
    page.locator(".errorlist").first.wait_for()


def log_in_without_cookies(page: Page) -> None:
    page.context.clear_cookies()
    page.get_by_label("Username").fill("ana")
    page.get_by_label("Password").fill("any")
    page.get_by_role("button", name="Sign in").click()
    page.get_by_role("heading", name="This form is out of date").wait_for()


def assigned_records() -> None:
    run = Run.objects.get(pk=bulk_changed_run())
    run.evaluations.update(assigned_to=the_person("bo"), due_on="2026-01-02")


def select_rows(page: Page) -> None:
    page.locator("[data-pick]").first.check()
    page.keyboard.press("j")
    page.keyboard.press("Shift+X")


def open_help_of_search(page: Page) -> None:
    page.get_by_role("button", name="How to search").click()


def open_help_of_figure(page: Page) -> None:
    page.get_by_role("button", name="What is “Faster than reading time”?").click()


def open_help_of_kappa(page: Page) -> None:
    open_everything(page)
    page.get_by_role("button", name="What is “Kappa”?").first.click()


def reopen_without_reason(page: Page) -> None:
    page.get_by_role("button", name="Reopen").click()
    page.get_by_text("Enter the reason for reopening").wait_for()


def answer_with_nothing(page: Page) -> None:
    page.get_by_role("button", name="Answer and return to queue").first.click()
    page.locator("#pane-errors").wait_for()


def add_refused_webhook(page: Page) -> None:
    page.get_by_label("URL").fill(f"https://{LONG}/")
    page.get_by_role("button", name="Add").click()
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Continue").click()
    page.locator(".errorlist").first.wait_for()


SECONDS_AGO = timedelta(seconds=10)
SIGHTS = {
    "sign in": Sight("login", "nobody"),
    "sign in, nothing typed": Sight("login", "nobody", then=submit_nothing),
    "sign in, out of date": Sight("login", "nobody", then=log_in_without_cookies),
    "welcome": Sight("welcome", "nobody", first_start),
    "welcome, nothing typed": Sight("welcome", "nobody", first_start, then=submit_nothing),
    "welcome, over": Sight("welcome", "nobody", lambda: "0" * 40),
    "password": Sight("password", "ana"),
    "password, nothing typed": Sight("password", "ana", then=submit_nothing),
    "account": Sight("account", "ana"),
    "account, with a token": Sight("account", "ana", token),
    "api": Sight("api", "ana", then=open_everything),
    "api, a problem": Sight("api-problem", "ana", lambda: "conflict"),
    "account, all set up": Sight("account", "ana", second_factor),
    "recovery codes": Sight("account", "ana", second_factor, then=create_codes),
    "authenticator app": Sight("add-app", "ana", then=confirm_identity),
    "passkey": Sight("add-passkey", "ana", then=confirm_identity),
    "confirm identity": Sight("reauthenticate", "ana"),
    "confirm identity, nothing typed": Sight("reauthenticate", "ana", then=submit_nothing),
    "second factor": Sight("second-factor", "nobody", second_factor, then=enter_password),
    "join": Sight("join", "nobody", invitation),
    "join, nothing typed": Sight("join", "nobody", invitation, then=submit_nothing),
    "join, over": Sight("join", "nobody", lambda: "0" * 40),
    "new password": Sight("new-password", "nobody", new_password),
    "people": Sight("people", "max", all_people),
    "people, nobody found": Sight("people", "max", query="?q=nobody"),
    "people, invitation links": Sight("people", "max", then=invite),
    "people, invalid list": Sight("people", "max", then=invite_a_wrong_list),
    "jobs": Sight("jobs", "max", jobs_of_every_kind),
    "jobs, none": Sight("jobs", "max", query="?state=failed"),
    "system": Sight("system", "max"),
    "tokens": Sight("tokens", "max", token),
    "tokens, question before revoking": Sight("tokens", "max", token, then=press_revoke),
    "tokens, none": Sight("tokens", "max"),
    "tokens, new": Sight("add-token", "max", then=confirm_identity),
    "tokens, created": Sight("add-token", "ana", then=create_token),
    "person": Sight("person", "max", person),
    "webhooks, off": Sight("webhooks", "max"),
    "webhooks": Sight("webhooks", "max", all_webhooks),
    "webhooks, refused": Sight("webhooks", "max", then=add_refused_webhook),
    "webhook": Sight("webhook", "max", webhook),
    "webhook, nothing sent": Sight("webhook", "max", new_webhook),
    "no such page": Sight("/nothing/", "ana"),
    "address of a form": Sight("/logout/", "ana"),
    "no role": Sight("runs", "eve"),
    "not allowed": Sight("export", "ana", run),
    "runs, none yet": Sight("runs", "ana"),
    "runs, none yet, for an admin": Sight("runs", "max"),
    "runs": Sight("runs", "max", runs),
    "import a file": Sight("import-file", "max"),
    "import a file, uploading": Sight("import-file", "max", then=choose_a_file_and_pause),
    "import a file, nothing chosen": Sight("import-file", "max", then=submit_nothing),
    "run": Sight("run", "lea", run),
    "run, for a reviewer": Sight("run", "ana", run),
    "run, done": Sight("run", "ana", run, query="?status=done", then=open_help_of_search),
    "run, filtered": Sight(
        "run",
        "lea",
        saved_view,
        query=f"?verdict=Pass&model={MODEL}&colour=red&sort=task",
        then=open_everything,
    ),
    "run, filtered to nothing": Sight("run", "ana", run, query=f"?verdict=Partial&task={LONG}"),
    "bulk actions": Sight(
        "bulk-change", "lea", bulk_changed_run, query="?kind=assign&to=bo&list=verdict%3DPass"
    ),
    "run, empty": Sight("run", "max", empty_run),
    "run settings": Sight("run-settings", "lea", run),
    "run settings, every scale": Sight("run-settings", "lea", run_with_every_scale, then=open_everything),
    "run settings, refused": Sight("run-settings", "lea", run, then=save_invalid_mean),
    "queue settings": Sight("run-queue", "lea", run),
    "bulk actions, split": Sight(
        "bulk-change", "lea", bulk_changed_run, query="?kind=split&to=ana&to=bo&number:bo=1"
    ),
    "run, rows selected": Sight("run", "lea", run, then=select_rows),
    "guideline": Sight("run-guideline", "lea", run),
    "members": Sight("run-members", "lea", restricted_run),
    "name and archive": Sight("run-name", "lea", run),
    "name and archive, archived": Sight("run-name", "lea", archived_run),
    "delete run": Sight("delete-run", "max", run),
    "archived run": Sight("run", "lea", archived_run),
    "sampling settings": Sight("run-sampling", "lea", run),
    "sampling settings, refused": Sight("run-sampling", "lea", run, then=save_invalid_share),
    "conflicts": Sight("conflicts", "lea", run),
    "conflicts, none": Sight("conflicts", "lea", empty_run),
    "import": Sight("import", "max", finished_import),
    "import, repeated": Sight("import", "max", repeated_import),
    "import, refused": Sight("import", "max", refused_import),
    "import, another judge": Sight("import", "max", import_of_another_judge),
    "import, another judge, known name": Sight(
        "import", "max", import_of_another_judge, then=name_a_known_run
    ),
    "import, waiting": Sight("import", "max", unfinished_import()),
    "import, running": Sight(
        "import",
        "max",
        unfinished_import(
            bytes_done=1_000_000,
            counts={"lines": 50_000, "new": 49_990, "rejected": 10},
            started_at=timezone.now() - SECONDS_AGO,
            reported_at=timezone.now(),
        ),
    ),
    "import, cancelled": Sight("import", "max", cancelled_import),
    "exports": Sight("export", "lea", reviewed_run),
    "export, waiting": Sight("export-page", "lea", export()),
    "export, failed": Sight("export-page", "lea", export(state=Export.State.FAILED, error="It broke.")),
    "export, cancelled": Sight("export-page", "lea", export(state=Export.State.CANCELLED)),
    "export, built": Sight("export-page", "lea", built_export),
    "review, some left": Sight("review", "ana", run),
    "review, none left": Sight("review", "ana", reviewed_run),
    "record, waiting": Sight("evaluation", "ana", the(3)),
    "record, claimed": Sight("evaluation", "ana", own_record),
    "record, among others, all opened": Sight("evaluation", "ana", among_others, then=open_everything),
    "record, among others, peek": Sight("evaluation", "ana", among_others, then=peek),
    "record, two responses": Sight("evaluation", "ana", two_responses, then=open_everything),
    "record, conversation": Sight("evaluation", "ana", conversation, then=open_everything),
    "record, claimed, all opened": Sight("evaluation", "ana", own_record, then=open_everything),
    "record, claimed, keys": Sight("evaluation", "ana", own_record, then=partial(open_dialog, key="?")),
    "record, claimed, changed": Sight("evaluation", "ana", changed_record),
    "record, blind": Sight("evaluation", "ana", blind_record),
    "record, blind, all opened": Sight("evaluation", "ana", blind_record, then=open_everything),
    "record, blind, claimed by another": Sight("evaluation", "lea", blind_record),
    "record, blind, locked in": Sight("evaluation", "ana", blind_record, then=lock_in),
    "record, claimed, escalation dialog": Sight(
        "evaluation", "ana", own_record, then=partial(open_dialog, key="x")
    ),
    "record, escalated": Sight("evaluation", "ana", escalated_record),
    "record, escalated, for a lead": Sight("evaluation", "lea", escalated_record),
    "record, to revise": Sight("revise", "ana", decided_record),
    "escalation": Sight("escalate", "ana", own_record),
    "escalation, nothing typed": Sight("escalate", "ana", own_record, then=escalate_without_reason),
    "my reviews": Sight("recent", "ana", history),
    "my reviews, none": Sight("recent", "ana", empty_run),
    "record history": Sight("record-history", "lea", eventful_record, then=open_everything),
    "record history, for a reviewer": Sight("record-history", "ana", eventful_record),
    "record history, nothing older": Sight("record-history", "ana", the(3), query="?after=0.0"),
    "record history, refused": Sight("record-history", "lea", eventful_record, then=restore_without_reason),
    "dashboard": Sight("dashboard", "lea", reviewed_runs),
    "audit log": Sight("audit", "lea", reviewed_runs),
    "audit log, nothing found": Sight("audit", "lea", query="?address=192.0.2.1"),
    "audit log, invalid filters": Sight("audit", "lea", query="?person=nobody&since=yesterday"),
    "dashboard, nothing yet": Sight("dashboard", "lea"),
    "dashboard, help of a figure": Sight("dashboard", "lea", reviewed_runs, then=open_help_of_figure),
    "dashboard, invalid days": Sight("dashboard", "lea", query="?first=yesterday&run=0"),
    "activity of a reviewer": Sight("reviewer-activity", "lea", reviewer_with_decisions),
    "activity of a reviewer, none": Sight("reviewer-activity", "lea", reviewer_without_decisions),
    "my activity": Sight("my-activity", "ana", reviewed_runs),
    "decisions": Sight("decisions", "lea", reviewed_runs),
    "decisions, none": Sight("decisions", "lea", query="?signal=fast"),
    "run, judge measured": Sight("run", "lea", judged_run),
    "judge": Sight("judge", "lea", judged_run, then=open_everything),
    "judge, a criterion by model": Sight(
        "judge-errors", "lea", judged_run, query=f"?of={LONG}&model={MODEL}"
    ),
    "judge, help of a figure": Sight("judge", "lea", judged_run, then=open_help_of_kappa),
    "judge, nothing yet": Sight("judge", "lea", empty_run, query="?model=nobody"),
    "judge, plan": Sight("judge-plan", "lea", judged_run, then=open_everything),
    "judge, plan, refused": Sight("judge-plan", "lea", empty_run, query="?target=99"),
    "judge, flags": Sight("judge-flags", "lea", judged_run, then=open_everything),
    "judge, flags, nothing yet": Sight("judge-flags", "lea", empty_run),
    "judge, models": Sight("judge-models", "lea", judged_run, then=open_everything),
    "judge, errors": Sight("judge-errors", "lea", judged_run, then=open_everything),
    "judge, errors, none": Sight("judge-errors", "lea", empty_run),
    "judge, reviewers": Sight("judge-reviewers", "lea", judged_run, then=open_everything),
    "judge, data": Sight("judge-data", "lea", judged_run),
    "judge, report": Sight("judge-report", "lea", judged_run),
    "judge, report, nothing yet": Sight("judge-report", "lea", empty_run),
    "judge, compare": Sight(
        "judge-compare", "lea", drifted_run, query=f"?with={_EARLIER}", then=open_everything
    ),
    "judge, gold set": Sight("judge-gold", "lea", gold_run, query="?set=gold", then=open_everything),
    "judge, gold records": Sight(
        "judge-gold-records", "lea", gold_run, query="?set=gold&basis=blind&judge_said=*&human_said=*"
    ),
    "judge, no gold sets": Sight("judge-gold", "lea", empty_run),
    "gold sets": Sight("gold-sets", "lea", gold_set_list),
    "gold set": Sight("gold-set", "lea", gold_set, then=open_everything),
    "judge, compare, one judge": Sight("judge-compare", "lea", empty_run),
    "judge, anchors": Sight(
        "judge-anchors", "lea", drifted_run, query=f"?with={_EARLIER}&first=Fail&second=Pass"
    ),
    "judge, orders": Sight("judge-orders", "lea", pairwise_run, query="?of=Winner&figure=changed"),
    "judge, over runs": Sight("judge-history", "lea", judged_run, then=open_everything),
    "judge, pairs": Sight(
        "judge-pairs", "lea", compared_run, query="?first=judge-1&second=judge-2&side=first"
    ),
    "judge, decisions": Sight("judge-decisions", "lea", judged_run, query="?cause=too+strict"),
    "judge, decisions, none": Sight("judge-decisions", "lea", empty_run),
    "judge, records to score blind": Sight("judge-blind-records", "lea", judged_run),
    "judge, records closed, none": Sight("judge-blind-records", "lea", empty_run, query="?state=closed"),
    "spot checks": Sight("spot-checks", "lea", spot_checks_drawn),
    "spot checks, none": Sight("spot-checks", "lea"),
    "spot check": Sight("spot-check", "lea", spot_check),
    "spot check, no reason given": Sight("spot-check", "lea", spot_check, then=reopen_without_reason),
    "known answers": Sight("known-answers", "lea", overlapping_run),
    "known answers, no overlap": Sight("known-answers", "lea", run),
    "known answers, running": Sight("known-answers", "lea", running_check),
    "known answers, ended": Sight("known-answer-check", "lea", ended_check),
    "inbox, caught up": Sight("inbox", "lea"),
    "workload": Sight("workload", "lea", assigned_records),
    "inbox": Sight("inbox", "lea", escalations_in_two_runs),
    "style guide": Sight("styleguide", "ana", in_debug_mode=True),
    "signed in": Sight("signed-in", "ana"),
    "search": Sight("palette", "max", records_to_find, query="?q=eval_1"),
    "search, nothing found": Sight("palette", "ana", query="?q=nothing"),
    "palette": Sight("evaluation", "ana", own_record, then=open_palette),
    "menu of a person": Sight("my-activity", "ana", then=press("ana")),
    "menu of an admin": Sight("people", "max", then=press("Admin")),
    "inbox, disagreement": Sight("inbox", "lea", listed_disagreement),
    "inbox, nothing typed": Sight("inbox", "lea", escalations_in_two_runs, then=answer_with_nothing),
    "inbox, failed import": Sight("inbox", "max", failed_import),
    "task context": Sight("task-context", "max"),
    "upload of a known tool": Sight("upload-mapping", "max", uploaded_file_of_a_tool),
    "mapping of a run": Sight("run-mapping", "max", run_to_read_again),
    "mapping of a run, refused": Sight("run-mapping", "max", run_to_read_again, then=read_again),
    "mappings, none": Sight("mappings", "max"),
    "mappings": Sight("mappings", "max", mapped_run, then=open_mapping),
    "mappings, refused": Sight("mappings", "max", then=map_without_a_field),
    "preferences": Sight("preferences", "ana"),
    "preferences, refused": Sight("preferences", "ana", then=assign_a_key_twice),
    "record, not parsed": Sight("evaluation", "ana", unparsed_record),
    "record, claimed by another": Sight("evaluation", "lea", the(4)),
    "record, reviewed": Sight("evaluation", "ana", the(2)),
    "record, disagreement": Sight("evaluation", "lea", disagreement),
    "record, disagreement, for a reviewer": Sight("evaluation", "bo", disagreement),
    "record, independent review submitted": Sight(
        "evaluation", "ana", partial(independent_review, "I find", "ana")
    ),
    "record, independent review submitted, for a lead": Sight(
        "evaluation", "lea", partial(independent_review, "I find", "ana")
    ),
    "record, late independent review": Sight("evaluation", "lea", late_independent_review),
    "record, decided meanwhile": Sight("evaluation", "ana", own_record, then=submit_too_late),
    "export, with independent reviews": Sight("export", "lea", independent_reviews_to_export),
    "record, outdated": Sight("evaluation", "ana", the(1)),
}
# They answer with a file, or redirect after a form.
NO_PAGES = {
    "audit-csv",
    "audit-json",
    "check-audit",
    "dismiss-failure",
    "inbox-next",
    "read-answer",
    "take-side",
    "retry-failure",
    "add-webhook",
    "add-webhook-secret",
    "remove-webhook-secret",
    "resend-webhook-message",
    "dismiss-key-hint",
    "remove-webhook",
    "test-webhook",
    "cancel-export",
    "cancel-import",
    "confirm-rubric",
    "import-as-new-run",
    "retry-import",
    "archive-run",
    "serve-plan",
    "stop-plan",
    "unarchive-run",
    "change-role",
    "decisions-csv",
    "dashboard-release",
    "dashboard-table",
    "claim",
    "claim-next",
    "lock-in",
    "draft",
    "deactivate",
    "adjudicate",
    "end-other-sessions",
    "end-session",
    "export-file",
    "export-receipt",
    "import-exceptions",
    "import-rejected",
    "invite",
    "judge-blind-records-csv",
    "judge-decisions-csv",
    "judge-gold-records-csv",
    "export-gold-set",
    "delete-gold-set",
    "judge-error-analysis-markdown",
    "judge-few-shot",
    "judge-pairs-csv",
    "judge-history-csv",
    "judge-orders-csv",
    "judge-anchors-csv",
    "judge-report-csv",
    "judge-report-html",
    "judge-report-json",
    "judge-table",
    "line",
    "log-in-by-passkey",
    "logout",
    "look-next",
    "look-previous",
    "new-codes",
    "independent-reviews",
    "end-known-answers",
    "password-link",
    "peek",
    "preview",
    "reactivate",
    "reauthenticate-by-code",
    "reauthenticate-by-passkey",
    "release",
    "release-prefetched",
    "remove-view",
    "renew",
    "reopen",
    "save-view",
    "independent-review",
    "restore",
    "revoke-token",
    "rubric-toml",
    "resolve-conflicts",
    "resolve-escalation",
    "remove-app",
    "remove-passkey",
    "reset-second-factor",
    "my-reviews",
    "session",
    "single-sign-on",
    "start",
    "single-sign-on-callback",
    "skip",
    "prefetch",
    "submit",
    "unskip-all",
    "tasks",
    "undo",
    "undo-bulk-change",
    "unskip",
    "upload",
    "uploads",
    "withdraw-escalation",
    "renew-link",
    "retry-job",
    "cancel-job",
    "withdraw-link",
}
