"""Read an export with pandas, and compute how often judge and human gave the same score.

Usage: python with_pandas.py evaluations.parquet, or evaluations.jsonl
"""

import sys

import pandas as pd
from exported import KEYS, records
from exported import scores as scores_of


def from_parquet(path):
    """Read typed columns. Without the backend, a boolean with nulls would become a column of objects."""
    return pd.read_parquet(path, dtype_backend="pyarrow")


def from_jsonl(path):
    """Read values unchanged: None is a null in the line, NaN a missing key."""
    return pd.DataFrame(records(path), dtype=object)


def scores(table):
    """Return a row for each criterion, from a Parquet table."""
    rows = table[[*KEYS, "scores"]].explode("scores", ignore_index=True).dropna(subset="scores")
    return rows[[*KEYS]].join(rows["scores"].struct.explode())


def scores_from_jsonl(path):
    return pd.DataFrame(
        (one for record in records(path) for one in scores_of(record)), dtype="string[pyarrow]"
    )


def agreement(rows):
    """Return the share of agreeing pairs and the number of pairs, by criterion."""
    agreed = rows["judge"] == rows["human"]  # null unless both gave a score
    return agreed.groupby(rows["criterion"]).agg(["mean", "count"])


if __name__ == "__main__":
    path = sys.argv[1]
    print(agreement(scores_from_jsonl(path) if path.endswith(".jsonl") else scores(from_parquet(path))))
