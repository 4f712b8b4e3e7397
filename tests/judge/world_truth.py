"""The truth of a simulated world: the figures if reviewers had scored every record blind."""

from dataclasses import replace

from tests.judge.exported import Exports, Line
from tests.judge.recomputed import Figures, recompute
from tests.judge.world import World, verdict_of


def true_figures(world: World, exports: Exports, reviewers: list[str]) -> Figures:
    """Return the true value of each figure about all records, by name.

    It is the mean of these reviewers, as they score without the judge's scores in view.
    """
    tasks = {one["evaluation_id"]: one["task_id"] for one in exports.records}
    blind = [
        _rating(world, key, tasks[key], name, len(reviewers)) for key in world.judgments for name in reviewers
    ]
    population = [
        {name: one[name] for name in ("cell", "judge_llm_model", "judge_prompt_template_path", "model_id")}
        | {"is_flagged": one["is_flagged"], "judge_verdict": one["judge_verdict"]}
        | {"cluster": one["cluster"], "records": 1 / len(reviewers)}
        for one in blind
    ]
    found = recompute(replace(exports, blind=blind, population=population))
    return {name: value for name, value in found.items() if _is_about_records(name)}


def _is_about_records(name: str) -> bool:
    """Return whether a figure is about records, and not about the reviews that were made."""
    parts = (
        "assisted",
        "changed",
        "funnel",
        "ratings",
        "wrong",
        "joint",
        "winning rate",
        "outcome",
        "minutes",
    )
    return not any(part in name for part in parts)


def _rating(world: World, key: str, task: str | None, reviewer: str, raters: int) -> Line:
    """Return the line that an export would have for a reviewer's blind scores of a record."""
    judgment = world.judgments[key]
    model, judge = f"model-{judgment.response.model}", f"judge-{judgment.judge}"
    given = world.unaided(reviewer, key)
    return {
        "evaluation_id": key,
        "judge_llm_model": judge,
        "judge_prompt_template_path": "prompts/judge.txt",
        "model_id": model,
        "is_flagged": judgment.is_flagged,
        "flag_families": [*judgment.reasons],
        "cell": f"{judge} {model} {judgment.is_flagged} {judgment.verdict}",
        "cluster": hash(task or key) % 65_536,
        "probability": 1.0,
        "raters": raters,
        "reviewer": reviewer,
        "submitted_at": None,
        "decision_active_ms": None,
        "judge_verdict": judgment.verdict,
        "verdict": verdict_of(given),
        "final_verdict": None,
        "scores": [
            {"criterion": name, "judge": score, "human": given[name], "final": None}
            for name, score in judgment.scores.items()
        ],
    }
