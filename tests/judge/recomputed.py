"""A second implementation of the judge's figures, from the exported files alone.

It imports nothing of the program. The judge's coefficients come from scikit-learn, tests from statsmodels,
and weights from the documented recipe (docs/recipes/judge_accuracy.py).
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from hashlib import sha256
from itertools import permutations
from typing import Any

import numpy as np

from tests.judge.exported import (
    PARTS,
    SCORES,
    VERDICT,
    VERDICTS,
    Exports,
    Line,
    Values,
    by_domain,
    pairs_of,
    score_of,
)
from tests.support.statistics_packages import metrics, models, multitest, stats

#: Figures by name, such as "Clarity, flagged: kappa".
Figures = dict[str, float]

# Records of a reviewer that an alt-test shows, and that it tests.
_FEWEST, _ENOUGH = 10, 30


def recompute(exports: Exports) -> Figures:
    """Compute all figures, by name."""
    found: Figures = {}
    for parts in (_accuracy, _after_reveal, _flags, _models, _alt_tests, _agreement, _funnel):
        for name, value in parts(exports):
            assert name not in found, name
            found[name] = float(value)
    return found


def figures_of(matrix: Values) -> Figures:
    """Compute the coefficients of a confusion matrix, judge x human, of any weights."""
    shares = matrix / matrix.sum()
    judge, human = (place.ravel() for place in np.indices(matrix.shape))
    weight = shares.ravel()
    chance = (shares.sum(axis=0) + shares.sum(axis=1)) / 2
    by_chance = (chance * (1 - chance)).sum() / (len(matrix) - 1)
    agreed = np.trace(shares)
    return {
        "accuracy": agreed,
        "kappa": metrics.cohen_kappa_score(judge, human, sample_weight=weight),
        "weighted_kappa": metrics.cohen_kappa_score(judge, human, sample_weight=weight, weights="linear"),
        "ac1": (agreed - by_chance) / (1 - by_chance),
        "defects_caught": shares[0, 0] / shares[:, 0].sum(),
        "false_pass": shares[-1, 0] / shares[:, 0].sum(),
        "false_fail": shares[0, -1] / shares[:, -1].sum(),
        "leniency": weight @ np.sign(judge - human),
    }


def confusion_of(judge: Values, human: Values, weight: Values) -> Values:
    known = (judge >= 0) & (human >= 0)
    found: Values = metrics.confusion_matrix(
        judge[known], human[known], sample_weight=weight[known], labels=range(len(SCORES))
    )
    return found


def figure_name(subject: str, part: str, figure: str) -> str:
    return f"{subject}, {part}: {figure}"


def _accuracy(exports: Exports) -> Iterator[tuple[str, float]]:
    is_flagged = np.array([one["is_flagged"] for one in exports.blind])
    for subject in (VERDICT, *exports.criteria):
        judge, human = pairs_of(exports.blind, subject)
        for part, flags in PARTS.items():
            kept = np.isin(is_flagged, flags)
            matrix = confusion_of(judge[kept], human[kept], exports.weights[kept])
            for figure, value in figures_of(matrix).items():
                yield figure_name(subject, part, figure), value
            for (row, column), value in np.ndenumerate(matrix / matrix.sum()):
                yield figure_name(subject, part, f"judge {row}, human {column}"), value
        names = [(one["judge_llm_model"], one["model_id"]) for one in exports.blind]
        known = (judge >= 0) & (human >= 0)
        sums = by_domain(
            exports,
            np.column_stack([known & (judge == human), known]),
            names,
            ("judge_llm_model", "model_id"),
        )
        for name, (right, records) in sums.items():
            # The correction by a few ratings can exceed a share of 1.
            yield f"{subject}, {' on '.join(name)}: accuracy", min(1.0, max(0.0, right / records))
    for subject in (VERDICT, *exports.criteria):
        judge, human = pairs_of(exports.assisted, subject)
        assisted = figures_of(confusion_of(judge, human, np.ones(len(judge))))
        for figure, value in assisted.items():
            yield figure_name(subject, "assisted", figure), value


def _after_reveal(exports: Exports) -> Iterator[tuple[str, float]]:
    for subject in (VERDICT, *exports.criteria):
        lines = [one for one in exports.blind if one["submitted_at"]]
        judge, human = pairs_of(lines, subject)
        final = pairs_of(lines, subject, "final")[1]
        known = human >= 0
        changed = known & (human != final)
        yield f"{subject}: changed", changed.sum() / max(1, known.sum())
        yield f"{subject}: changed towards the judge", (changed & (final == judge)).sum()
        yield f"{subject}: changed away from the judge", (changed & (human == judge)).sum()


def _flags(exports: Exports) -> Iterator[tuple[str, float]]:
    judge, human = pairs_of(exports.blind, VERDICT)
    wrong, weights = judge != human, exports.weights
    is_flagged = np.array([one["is_flagged"] for one in exports.blind])
    errors = weights[wrong].sum()
    yield "miss rate", (weights * wrong)[~is_flagged].sum() / weights[~is_flagged].sum()
    yield "flagged error rate", (weights * wrong)[is_flagged].sum() / weights[is_flagged].sum()
    yield "flag recall", (weights * wrong)[is_flagged].sum() / errors
    unflagged = sum(one["records"] for one in exports.population if not one["is_flagged"])
    yield "missed errors", (weights * wrong)[~is_flagged].sum() / weights[~is_flagged].sum() * unflagged
    for criterion in exports.criteria:
        judge, human = pairs_of(exports.blind, criterion)
        scored = (judge >= 0) & ~is_flagged
        missed = weights[scored & (judge != human)].sum() / weights[scored].sum()
        yield f"{criterion}: miss rate", missed
    for family in _families(exports.blind):
        chosen = np.array([one["is_flagged"] and family in one["flag_families"] for one in exports.blind])
        precision = weights[chosen & wrong].sum() / weights[chosen].sum()
        yield f"{family}: precision", precision
        yield f"{family}: recall", weights[chosen & wrong].sum() / errors
        yield f"{family}: ratings", chosen.sum()
        yield f"{family}: wrong", (chosen & wrong).sum()
        yield f"{family}: minutes_per_error", _mean_minutes(exports, family) / precision
    yield from _choice(exports, wrong)


def _families(lines: Iterable[Line]) -> list[str]:
    return sorted({family for one in lines for family in one["flag_families"]})


def _mean_minutes(exports: Exports, family: str) -> float:
    """Return the mean active minutes of the timed current decisions on records with a flag reason."""
    times = [
        one["decision_active_ms"]
        for one in (*exports.blind, *exports.assisted)
        if family in one["flag_families"] and one["decision_active_ms"] is not None
    ]
    return sum(times) / max(1, len(times)) / 60_000


def _choice(exports: Exports, wrong: Values) -> Iterator[tuple[str, float]]:
    """Drop the reasons that find fewest errors in assisted decisions, one after the other."""
    rated: Counter[str] = Counter()
    found: Counter[str] = Counter()
    for one in exports.assisted:
        rated.update(one["flag_families"])
        found.update(one["flag_families"] if one["judge_verdict"] != one["verdict"] else [])
    order = sorted(_families(exports.blind), key=lambda family: (found[family] + 1) / (rated[family] + 2))
    for dropped in range(len(order) + 1):
        gone = {*order[:dropped]}
        stays = np.array(
            [
                one["is_flagged"] and not (one["flag_families"] and {*one["flag_families"]} <= gone)
                for one in exports.blind
            ]
        )
        rate = exports.weights[wrong & ~stays].sum() / exports.weights[~stays].sum()
        yield f"error rate without {dropped} reasons", rate
        yield f"flagged without {dropped} reasons", exports.weights[stays].sum()


def _models(exports: Exports) -> Iterator[tuple[str, float]]:
    human = pairs_of(exports.blind, VERDICT)[1]
    values = np.column_stack([human == len(VERDICTS) - 1, human >= 0])
    rates = by_domain(exports, values, [(one["model_id"],) for one in exports.blind], ("model_id",))
    for ((one,), first), ((other,), second) in permutations(rates.items(), 2):
        yield f"{one} - {other}: pass rate", first[0] / first[1] - second[0] / second[1]
    for (model,), (passes, records) in rates.items():
        chosen = [one["aggregated_score"] for one in exports.records if one["model_id"] == model]
        yield f"{model}: pass rate", min(1.0, max(0.0, passes / records))
        yield f"{model}: judge's rate", chosen.count("Pass") / len(chosen)
        yield f"{model}: records", len(chosen)
        yield f"{model}: ratings", sum(one["model_id"] == model for one in exports.blind)


def _alt_tests(exports: Exports) -> Iterator[tuple[str, float]]:
    for judge in sorted({one["judge_llm_model"] for one in exports.blind}):
        lines = [one for one in exports.blind if one["judge_llm_model"] == judge and one["raters"] > 1]
        for subject in (VERDICT, *exports.criteria):
            name = f"{subject}, {judge}"
            compared = _compare_reviewers(lines, subject)
            yield (
                f"{name}: joint records",
                len({one["evaluation_id"] for one in lines if _is_rated(one, subject)}),
            )
            yield from _alt_test(name, compared)


def _is_rated(line: Line, subject: str) -> bool:
    return subject == VERDICT or bool(score_of(line, subject))


def _compare_reviewers(lines: Sequence[Line], subject: str) -> Mapping[str, Sequence[Any]]:
    """Return whether judge and reviewer are the closer one, weight and cluster, by reviewer and record."""
    of_record = defaultdict(list)
    judges, humans = pairs_of(lines, subject)
    for line, judge, human in zip(lines, judges, humans, strict=True):
        if human >= 0 and judge >= 0:
            of_record[line["evaluation_id"]].append((line, judge, human))
    found = defaultdict(list)
    for given in of_record.values():
        for line, judge, human in given:
            others = [score for one, _, score in given if one is not line]
            if others:
                by_judge, by_reviewer = (others.count(score) for score in (judge, human))
                found[line["reviewer"]].append(
                    (
                        by_judge >= by_reviewer,
                        by_reviewer >= by_judge,
                        1 / line["probability"],
                        line["cluster"],
                    )
                )
    return found


def _alt_test(name: str, compared: Mapping[str, Sequence[Any]]) -> Iterator[tuple[str, float]]:
    tested, closer = {}, []
    for reviewer, rows in compared.items():
        if len(rows) < _FEWEST:
            continue
        of_judge, of_reviewer, weight, cluster = np.array(rows, dtype=float).T
        fit = models.WLS(of_judge - of_reviewer, np.ones(len(rows)), weights=weight).fit(
            cov_type="cluster", cov_kwds={"groups": cluster.astype(int)}, use_t=True
        )
        yield f"{name}: {reviewer} compared", fit.params[0]
        if len(rows) >= _ENOUGH:
            tested[reviewer] = fit
            closer.append(np.average(of_judge, weights=weight))
    if closer:
        yield f"{name}: advantage", np.mean(closer)
    for epsilon in (0.2, 0.15, 0.1) if len(tested) > 1 else ():
        wins, losses = (
            multitest.multipletests(
                [_p_value(fit, epsilon, sign) for fit in tested.values()], method="fdr_by"
            )[0]
            for sign in (1, -1)
        )
        yield f"{name}: winning rate {epsilon}", wins.mean()
        yield f"{name}: outcome {epsilon}", 1 if wins.mean() >= 0.5 else -1 if losses.mean() > 0.5 else 0


def _p_value(fit: Any, epsilon: float, sign: int) -> float:
    return float(stats.t.sf(sign * (fit.params[0] + epsilon) / fit.bse[0], fit.df_resid_inference))


def _agreement(exports: Exports) -> Iterator[tuple[str, float]]:
    lines = [one for one in exports.blind if one["raters"] > 1]
    for subject in (VERDICT, *exports.criteria):
        human = pairs_of(lines, subject)[1]
        by_record = defaultdict(list)
        # A record that is scored twice was in the smaller blind share of both times.
        weight: dict[str, float] = defaultdict(float)
        for line, score in zip(lines, human, strict=True):
            weight[line["evaluation_id"]] = max(weight[line["evaluation_id"]], 1 / line["probability"])
            if score >= 0:
                by_record[line["evaluation_id"]].append(score)
        paired = {record: scores for record, scores in by_record.items() if len(scores) > 1}
        counts = np.array([np.bincount(scores, minlength=len(SCORES)) for scores in paired.values()])
        weights = np.array([weight[record] for record in paired])
        for figure, value in agreement_of(counts, weights / weights.mean()).items():
            yield f"{subject}: {figure}", value


def agreement_of(counts: Values, weights: Values) -> Figures:
    """Compute the agreement of people. `counts` has how many gave each score, by record."""
    raters = counts.sum(axis=1)
    pairs = counts[:, :, None] * counts[:, None, :] - np.einsum("rs,st->rst", counts, np.eye(len(SCORES)))
    coincidences = np.einsum("r,rst->st", weights / (raters - 1), pairs)
    given = coincidences.sum(axis=0)
    middle = np.cumsum(given) - given / 2
    same = np.einsum("rss->r", pairs) / (raters * (raters - 1))
    shares = (weights / weights.sum()) @ (counts / raters[:, None])
    agreed, chance = np.average(same, weights=weights), (shares**2).sum()
    own = raters @ weights**2
    return {
        "alpha": _alpha(coincidences, 1 - np.eye(len(SCORES)), own),
        "ordinal_alpha": _alpha(coincidences, (middle[:, None] - middle) ** 2, own),
        "fleiss_kappa": (agreed - chance) / (1 - chance),
        "unanimous": np.average(counts.max(axis=1) == raters, weights=weights),
    }


def _alpha(coincidences: Values, distance: Values, own: float) -> float:
    """`own` is the weight of pairs of a score with itself."""
    given = coincidences.sum(axis=0)
    expected = np.outer(given, given) * given.sum() / (given.sum() ** 2 - own)
    return float(1 - (coincidences * distance).sum() / (expected * distance).sum())


def _funnel(exports: Exports) -> Iterator[tuple[str, float]]:
    rated = {one["evaluation_id"] for one in exports.blind}
    by_action = defaultdict(set)
    for event in exports.events:
        outcome = event["detail"].get("outcome") if event["action"] == "resolve escalation" else None
        by_action[outcome or event["action"]].add(event["record"])
    changed = {
        one["evaluation_id"]
        for one in exports.blind
        if one["submitted_at"] and one["final_verdict"] != one["verdict"]
    }
    missing = [one for one in exports.records if _is_missing(one, rated, by_action["closed"], exports)]
    yield "funnel: assigned", len(rated) + len(missing)
    yield "funnel: locked_in", len(rated)
    yield "funnel: ratings", len(exports.blind)
    yield "funnel: changed", len(changed)
    yield "funnel: escalated", len(rated & (by_action["escalate"] | by_action["disagreement"]))
    yield "funnel: closed", len(by_action["closed"])
    yield from _bounds(exports, missing)


def _is_missing(record: Line, rated: set[str], closed: set[str], exports: Exports) -> bool:
    """Return whether a record was to be scored blind, and was closed without that. Nobody waits any more."""
    key = record["evaluation_id"]
    place = int(sha256(f"blind:{key}".encode()).hexdigest(), 16) / 16**64
    return key in closed - rated and place < exports.blind_share


def _bounds(exports: Exports, missing: Sequence[Line]) -> Iterator[tuple[str, float]]:
    """Compute the accuracy if the judge were wrong, or right, on the records without a rating."""
    judge, human = pairs_of(exports.blind, VERDICT)
    low = high = 0.0
    for flag in (True, False):
        chosen = np.array([one["is_flagged"] == flag for one in exports.blind])
        size = sum(one["records"] for one in exports.population if one["is_flagged"] == flag)
        right = np.average(judge[chosen] == human[chosen], weights=exports.weights[chosen])
        rated = len({one["evaluation_id"] for one in exports.blind if one["is_flagged"] == flag})
        share = rated / (rated + sum(one["needs_human_review"] == flag for one in missing))
        low += size * share * right
        high += size * (share * right + 1 - share)
    yield "funnel: bounds low", low / len(exports.records)
    yield "funnel: bounds high", high / len(exports.records)
