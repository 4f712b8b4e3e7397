"""The figures of a judge report as JSON, by the names of `tests.judge.recomputed`."""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from reviews.judge.accuracy_figures import FIGURES

Part = dict[str, Any]
_OUTCOMES = {"passed": 1, "not shown yet": 0, "shown worse": -1}


class Published(NamedTuple):
    """A published figure. Counts have no interval."""

    value: float
    low: float | None = None
    high: float | None = None

    def covers(self, truth: float) -> bool:
        """Return whether the interval includes the truth."""
        return self.low is not None and self.high is not None and self.low <= truth <= self.high


def read_report(report: Part) -> dict[str, Published]:
    """Return all figures of a report that exported data can reproduce."""
    found: dict[str, Published] = {}
    for parts in (_accuracy, _flags, _models, _alt_tests, _agreement, _funnel):
        for name, figure in parts(report):
            assert name not in found, name
            found[name] = _published(figure)
    return found


def _published(figure: Any) -> Published:
    if not isinstance(figure, Mapping):
        return Published(float(figure))
    assert figure["value"] is not None, figure["why"]
    return Published(figure["value"], figure["low"], figure["high"])


def _subject(part: Part) -> str:
    return str(part["criterion"] or "Verdict")


def _accuracy(report: Part) -> Iterator[tuple[str, Any]]:
    compared = report["judge_vs_human"]
    for one in compared["overall"]:
        is_blind = one["basis"] == "blind"
        if not is_blind and one["part"] != "run":
            continue
        part = one["part"] if is_blind else "assisted"
        name = f"{_subject(one)}, {part}"
        for figure in FIGURES:
            yield f"{name}: {figure}", one[figure]
        if is_blind:
            for row, shares in enumerate(reversed(one["shares"])):
                for column, share in enumerate(reversed(shares)):
                    yield f"{name}: judge {row}, human {column}", share
    for one in compared["groups"]:
        group = one["group"]
        yield f"{_subject(one)}, {group['judge']} on {group['model']}: accuracy", one["accuracy"]
    for one in compared["after_reveal"]:
        yield f"{_subject(one)}: changed", one["changed"]
        yield f"{_subject(one)}: changed towards the judge", one["towards_judge"]
        yield f"{_subject(one)}: changed away from the judge", one["away_from_judge"]


def _flags(report: Part) -> Iterator[tuple[str, Any]]:
    missed = report["missed_errors"]
    yield "miss rate", missed["miss_rate"]
    yield "flagged error rate", missed["flagged_error_rate"]
    yield "flag recall", missed["flag_recall"]
    yield "missed errors", missed["missed"]
    for one in missed["criteria"]:
        yield f"{one['criterion']}: miss rate", one["miss_rate"]
    for one in report["flag_precision"]["families"]:
        for figure in ("precision", "recall", "ratings", "wrong", "minutes_per_error"):
            yield f"{one['key']}: {figure}", one[figure]
    for dropped, step in enumerate(report["flag_choice"]["steps"]):
        yield f"error rate without {dropped} reasons", step["error_rate"]
        yield f"flagged without {dropped} reasons", step["flagged"]


def _models(report: Part) -> Iterator[tuple[str, Any]]:
    for one in report["leaderboard"]["models"]:
        names = {
            "pass rate": "estimate",
            "judge's rate": "judge_rate",
            "records": "records",
            "ratings": "ratings",
            "best rank": "best_rank",
            "worst rank": "worst_rank",
        }
        for name, key in names.items():
            yield f"{one['model']}: {name}", one[key]
    for one in report["leaderboard"]["ranking_disagreements"]:
        yield f"{one['behind']} - {one['ahead']}: pass rate", one["difference"]


def _alt_tests(report: Part) -> Iterator[tuple[str, Any]]:
    for one in report["alt_test"]:
        name = f"{_subject(one)}, {one['judge']}"
        yield f"{name}: joint records", one["records"]
        for reviewer in one["reviewers"]:
            yield f"{name}: {reviewer['reviewer']} compared", reviewer["difference"]
        if one["advantage"]["value"] is not None:
            yield f"{name}: advantage", one["advantage"]
        for answer in one["answers"]:
            if answer["winning_rate"] is not None:
                yield f"{name}: winning rate {answer['epsilon']}", answer["winning_rate"]
                yield f"{name}: outcome {answer['epsilon']}", _OUTCOMES[answer["outcome"]]


def _agreement(report: Part) -> Iterator[tuple[str, Any]]:
    for one in report["reviewers"]:
        for figure in ("alpha", "ordinal_alpha", "fleiss_kappa", "unanimous"):
            yield f"{_subject(one)}: {figure}", one[figure]


def _funnel(report: Part) -> Iterator[tuple[str, Any]]:
    funnel = report["funnel"]
    for name in ("locked_in", "ratings", "changed", "escalated", "closed", "assigned"):
        yield f"funnel: {name}", funnel[name]
    for name, value in funnel["bounds"].items():
        yield f"funnel: bounds {name}", value
