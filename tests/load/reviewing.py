"""A program that claims records, releases some of them and decides most."""

import random
import threading
import time
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote

from tests.load.client import Answer, Client, GaveUp

OK, NOTHING, FORBIDDEN, CONFLICT, INVALID = 200, 204, 403, 409, 422
GIVES_BACK = 0.1
DISAGREES = 0.2
# How often a decision is sent: once, twice, or again after the connection was cut.
WAYS, WEIGHTS = ("once", "twice", "cut"), (80, 10, 10)
_SECONDS_WITHOUT_WORK = 0.2


@dataclass(frozen=True)
class Accepted:
    """A decision that the site has accepted, with the sent values and the returned version."""

    evaluation_id: str
    reviewer: str
    key: str
    version: int
    scores: dict[str, Any]


@dataclass
class Reviewer:
    """A program with one person's token. Use each instance in one thread only."""

    name: str
    run: str
    client: Client
    chance: random.Random
    accepted: list[Accepted] = field(default_factory=list)
    # Unexpected answers.
    wrong: list[str] = field(default_factory=list)
    # Decisions that were refused because another decision or file came first.
    refused: int = 0
    given_back: int = 0

    def work_until(self, stopped: threading.Event) -> None:
        try:
            while not stopped.is_set():
                self.go_on()
        except GaveUp as error:
            self.wrong.append(f"{self.name}: {error}")

    def go_on(self) -> None:
        """Claim a record and decide or release it."""
        record = self._claimed()
        if record is None:
            time.sleep(_SECONDS_WITHOUT_WORK)
        elif self.chance.random() < GIVES_BACK:
            self._release(record)
        else:
            if record["is_blind"]:
                record = self._committed(record)
            self._decide(record)

    def end(self) -> None:
        """Release the last claimed record, even if the answer to its claim was lost."""
        record = self._claimed()
        if record:
            self._release(record)

    def _claimed(self) -> dict[str, Any] | None:
        answer = self.client.ask_until_answered("claim", "POST", f"runs/{quote(self.run, safe='')}/claims")
        record = self._expect(answer, OK, NOTHING)
        if record and record["claimed_by"] != self.name:
            self.wrong.append(f"{self.name} claimed {record['evaluation_id']} of {record['claimed_by']}")
        return record

    def _release(self, record: dict[str, Any]) -> None:
        answer = self.client.ask_until_answered("give back", "DELETE", f"{_address(record)}/claim")
        # The first request released the claim, and somebody else has claimed the record since.
        is_of_others = answer.is_repeated and answer.status == FORBIDDEN
        if not is_of_others:
            self._expect(answer, NOTHING)
        self.given_back += 1

    def _committed(self, record: dict[str, Any]) -> dict[str, Any]:
        scores = {one["criterion"]: self._choice(one["scores"]) for one in record["criteria"]}
        body = {"scores": scores, "version": record["version"]}
        answer = self.client.ask_until_answered("blind", "PUT", f"{_address(record)}/blind-scores", body)
        if answer.status == CONFLICT:
            # The scores were locked in, but the answer was lost: other scores are refused.
            answer = self.client.ask_until_answered("read", "GET", _address(record))
        if answer.status == INVALID and (current := self._with_other_criteria(record)):
            return self._committed(current)
        return self._expect(answer, OK) or record

    def _with_other_criteria(self, record: dict[str, Any]) -> dict[str, Any] | None:
        """Return the record as it is now if a file that was imported meanwhile has extended the rubric."""
        current = self.client.ask_until_answered("read", "GET", _address(record)).body
        return current if _criteria(current) != _criteria(record) else None

    def _decide(self, record: dict[str, Any]) -> None:
        key = f"{self.name}-{self.chance.getrandbits(64):016x}"
        way = self.chance.choices(WAYS, WEIGHTS)[0]
        request = ("PUT", f"{_address(record)}/review", self._decision(record, key))
        headers = {"Idempotency-Key": key}
        if way == "cut":
            self.client.hang_up(*request, headers)
        answer = self.client.ask_until_answered("submit", *request, headers)
        if answer.status == CONFLICT:
            self.refused += 1
            return
        if answer.status == INVALID and (current := self._with_other_criteria(record)):
            self._decide(current)
            return
        saved = self._expect(answer, OK)
        if saved is None:
            return
        decision = saved["decision"]
        scores = {name: entry["score"] for name, entry in decision["corrected_scores"].items()}
        self.accepted.append(Accepted(record["evaluation_id"], self.name, key, decision["version"], scores))
        if decision["comments"] != key:
            self.wrong.append(f"{self.name} sent {key} and was answered {decision['comments']}")
        if way == "twice":
            again = self.client.ask_until_answered("submit", *request, headers)
            repeated = self._expect(again, OK)
            if repeated and repeated["decision"] != decision:
                self.wrong.append(f"{key} sent twice: {decision} and then {repeated['decision']}")

    def _decision(self, record: dict[str, Any], key: str) -> dict[str, Any]:
        """Return a decision that mostly agrees with the judge; its comment is the key."""
        scores, causes = {}, {}
        for one in record["criteria"]:
            name, judged = one["criterion"], one["score"]
            agrees = judged in one["scores"] and self.chance.random() >= DISAGREES
            scores[name] = {"score": judged if agrees else self._choice(one["scores"])}
            if scores[name]["score"] != judged is not None and self.chance.random() < 0.5:
                causes[name] = self.chance.choice(sorted(record["causes"]))
        return {
            "corrected_scores": scores,
            "comments": key,
            "causes": causes,
            "version": record["version"],
        }

    def _choice(self, scores: list[Any]) -> Any:
        return self.chance.choice(scores)

    def _expect(self, answer: Answer, *statuses: int) -> Any:
        """Return the body of an answer with one of these statuses; note other answers as wrong."""
        if answer.status in statuses:
            return answer.body
        self.wrong.append(f"{self.name} was answered {answer.status}: {str(answer.body)[:300]}")
        return None


def _criteria(record: dict[str, Any]) -> set[str]:
    return {one["criterion"] for one in record["criteria"]}


def _address(record: dict[str, Any]) -> str:
    return f"runs/{quote(record['run'], safe='')}/evaluations/{quote(record['evaluation_id'], safe='')}"
