"""Read an export with Hugging Face datasets, and make a data set with a row for each criterion.

Usage: python with_datasets.py evaluations.parquet
"""

import sys

from datasets import Dataset, Features, Value, load_dataset
from exported import COLUMNS, KEYS, PARTS, TRUTHS, records, row
from exported import scores as scores_of

FEATURES = Features({name: Value("bool" if name in TRUTHS else "string") for name in (*COLUMNS, "extra")})
SCORES = Features(dict.fromkeys((*KEYS, *PARTS), Value("string")))


def from_parquet(path):
    """The types stand in the file, so they are the same for every run."""
    return load_dataset("parquet", data_files=str(path), split="train")


def from_jsonl(path):
    """In memory. load_dataset("json") would make numbers of texts, whatever features it is given."""
    return Dataset.from_list([row(record) for record in records(path)], features=FEATURES)


def scores(table):
    """A row for each criterion, of a table from Parquet."""

    def rows(batch):
        found = [(place, score) for place, scores in enumerate(batch["scores"]) for score in scores]
        keys = {name: [batch[name][place] for place, _ in found] for name in KEYS}
        return keys | {name: [score[name] for _, score in found] for name in PARTS}

    return table.map(rows, batched=True, remove_columns=table.column_names, features=SCORES)


def scores_from_jsonl(path):
    return Dataset.from_list([one for record in records(path) for one in scores_of(record)], features=SCORES)


def agreement(rows):
    """How often they agree, and of how many pairs."""
    pairs = rows.filter(lambda one: one["judge"] is not None and one["human"] is not None)
    return sum(one["judge"] == one["human"] for one in pairs), len(pairs)


if __name__ == "__main__":
    print(*agreement(scores(from_parquet(sys.argv[1]))), sep=" of ")
