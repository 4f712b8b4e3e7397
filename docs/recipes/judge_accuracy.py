"""Compute the judge's blind accuracy over a whole run and its confusion matrix, from `judge_data` alone.

Usage: python judge_accuracy.py ratings.jsonl population.jsonl
Needs numpy and statsmodels.
"""

import json
import sys
from collections import Counter, defaultdict
from pathlib import Path

import numpy as np
import statsmodels.api as sm

# From coarse to fine: cells with too few ratings are pooled at the first difference.
PATH = ("is_flagged", "judge_verdict", "judge_llm_model", "judge_prompt_template_path", "model_id")
ENOUGH = 10


def lines(path):
    try:
        with Path(path).open("rb") as file:
            return [json.loads(line) for line in file if line.strip()]
    except ValueError:
        sys.exit(f"{path} is not JSONL. Export it with --format jsonl.")


def blind(ratings):
    """Return the blind ratings that represent other records."""
    if any(one["withheld"] for one in ratings):
        sys.exit("Scores are withheld. Export the data on the server, with manage.py judge_data.")
    return [
        one
        for one in ratings
        if one["basis"] == "blind" and one["is_counted"] and (one["is_flagged"] or one["is_sampled"])
    ]


def judged(lines):
    """Return the ratings, or records, with a verdict by the judge. The others say nothing about them."""
    return [one for one in lines if one["judge_verdict"]]


def groups(cells, ratings, depth=0):
    """Split cells at each name of `PATH`, and pool those with fewer than `ENOUGH` ratings."""
    if depth == len(PATH):
        yield cells
        return
    parts = defaultdict(list)
    for cell, record in cells:
        parts[record[PATH[depth]]].append((cell, record))
    named = sorted(parts.items(), key=lambda part: (rated(part[1], ratings), str(part[0] or "")))
    parts = [part for _, part in named]
    pooled = []
    # Flagged records never represent unflagged ones.
    while depth and parts and min(rated(one, ratings) for one in (parts[0], pooled) if one) < ENOUGH:
        pooled += parts.pop(0)
    if pooled:
        yield pooled
    for part in parts:
        yield from groups(part, ratings, depth + 1)


def rated(cells, ratings):
    return sum(ratings[cell] for cell, _ in cells)


def weigh(ratings, population):
    """Return the group of each cell, and the number of records that each rating represents."""
    cells = {one["cell"]: one for one in [*ratings, *population]}
    counts = Counter(one["cell"] for one in ratings)
    found = groups(list(cells.items()), counts)
    group = {cell: number for number, pooled in enumerate(found) for cell, _ in pooled}
    records, weights = Counter(), Counter()
    for one in population:
        records[group[one["cell"]]] += one["records"]
    for one in ratings:
        weights[group[one["cell"]]] += 1 / (one["probability"] * one["raters"])
    if any(records[number] and not weights[number] for number in records):
        sys.exit("No blind rating represents the flagged, or the unflagged, records.")
    represented = []
    for one in ratings:
        number = group[one["cell"]]
        represented.append(records[number] / weights[number] / (one["probability"] * one["raters"]))
    return group, represented


def confusion(ratings, represented):
    """Return the share of records by the judge's verdict and the verdict of an unaided reviewer."""
    found = Counter()
    for one, records in zip(ratings, represented, strict=True):
        if one["judge_verdict"] and one["verdict"]:
            found[one["judge_verdict"], one["verdict"]] += records
    whole = sum(found.values())
    return {pair: records / whole for pair, records in found.items()}


def accuracy(ratings, represented, population, group):
    """Return the share of records with a right verdict, and its 95% interval by tasks.

    Each record is predicted by the mean of its group, and ratings correct the prediction. The sums by cluster
    (tasks) are the data of the regression. The interval on the judge's pages is Wilson's with the same
    variance, corrected for few ratings, so the ends differ a little.
    """
    # Whether the verdict is right, and whether the reviewer came to one.
    pairs = [
        np.array([one["judge_verdict"] == one["verdict"], one["verdict"] is not None], dtype=float)
        for one in ratings
    ]
    sums, records_of = defaultdict(lambda: np.zeros(2)), Counter()
    for one, pair, records in zip(ratings, pairs, represented, strict=True):
        sums[group[one["cell"]]] += records * pair
        records_of[group[one["cell"]]] += records
    means = {number: found / records_of[number] for number, found in sums.items()}
    clusters = defaultdict(lambda: np.zeros(2))
    for one in population:
        clusters[one["cluster"]] += one["records"] * means[group[one["cell"]]]
    for one, pair, records in zip(ratings, pairs, represented, strict=True):
        clusters[one["cluster"]] += records * (pair - means[group[one["cell"]]])
    totals, sizes = np.array([one for one in clusters.values() if one[1]]).T
    fit = sm.WLS(totals / sizes, np.ones(len(sizes)), weights=sizes).fit(cov_type="HC1", use_t=True)
    [value], [(low, high)] = fit.params, fit.conf_int()
    return value, low, high


if __name__ == "__main__":
    given, records_by_cell = judged(blind(lines(sys.argv[1]))), judged(lines(sys.argv[2]))
    if not given:
        sys.exit("No record with a verdict by the judge has a blind rating.")
    group_of, weights_of = weigh(given, records_by_cell)
    print(
        "accuracy {:.4f} ({:.4f} to {:.4f})".format(*accuracy(given, weights_of, records_by_cell, group_of))
    )
    for (judge, human), share in sorted(confusion(given, weights_of).items()):
        print(f"judge {judge}, reviewer {human}: {share:.4f}")
