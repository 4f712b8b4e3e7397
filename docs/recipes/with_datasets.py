"""Read an export with Hugging Face datasets, and build a dataset with a row for each criterion.

Usage: python with_datasets.py evaluations.parquet, or evaluations.jsonl
"""

import sys

from datasets import Dataset, Features, Value, load_dataset
from exported import BOOLEANS, COLUMNS, KEYS, PARTS, records, row
from exported import scores as scores_of

FEATURES = Features({name: Value("bool" if name in BOOLEANS else "string") for name in (*COLUMNS, "extra")})
SCORES = Features(dict.fromkeys((*KEYS, *PARTS), Value("string")))


def from_parquet(path):
    """Return the export as a dataset. The file contains the types, so they are the same for every run."""
    return load_dataset("parquet", data_files=str(path), split="train")


def from_jsonl(path):
    """Build the dataset in memory: load_dataset("json") turns texts into numbers, even with features."""
    return Dataset.from_list([row(record) for record in records(path)], features=FEATURES)


def scores(table):
    """Return a row for each criterion, from a Parquet dataset."""

    def rows(batch):
        found = [(place, score) for place, scores in enumerate(batch["scores"]) for score in scores]
        keys = {name: [batch[name][place] for place, _ in found] for name in KEYS}
        return keys | {name: [score[name] for _, score in found] for name in PARTS}

    return table.map(rows, batched=True, remove_columns=table.column_names, features=SCORES)


def scores_from_jsonl(path):
    return Dataset.from_list([one for record in records(path) for one in scores_of(record)], features=SCORES)


def agreement(rows):
    """Return the number of pairs that agree, and the number of all pairs."""
    pairs = rows.filter(lambda one: one["judge"] is not None and one["human"] is not None)
    return sum(one["judge"] == one["human"] for one in pairs), len(pairs)


if __name__ == "__main__":
    path = sys.argv[1]
    rows = scores_from_jsonl(path) if path.endswith(".jsonl") else scores(from_parquet(path))
    print(*agreement(rows), sep=" of ")
