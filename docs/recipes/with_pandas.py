"""Read an export with pandas, and count how often judge and human gave the same score.

Usage: python with_pandas.py evaluations.parquet
"""

import sys

import pandas as pd
from exported import KEYS, records
from exported import scores as scores_of


def from_parquet(path):
    """Typed columns. Without the backend, a boolean with nulls would be a column of objects."""
    return pd.read_parquet(path, dtype_backend="pyarrow")


def from_jsonl(path):
    """Each value as it stands: None is a null of the line, NaN a key that the line does not have."""
    return pd.DataFrame(records(path), dtype=object)


def scores(table):
    """A row for each criterion, of a table from Parquet."""
    rows = table[[*KEYS, "scores"]].explode("scores", ignore_index=True).dropna(subset="scores")
    return rows[[*KEYS]].join(rows["scores"].struct.explode())


def scores_from_jsonl(path):
    return pd.DataFrame(
        (one for record in records(path) for one in scores_of(record)), dtype="string[pyarrow]"
    )


def agreement(rows):
    """How often they agree, of how many pairs, by criterion."""
    pairs = rows.dropna(subset=["judge", "human"])
    return (pairs["judge"] == pairs["human"]).groupby(pairs["criterion"]).agg(["mean", "size"])


if __name__ == "__main__":
    print(agreement(scores(from_parquet(sys.argv[1]))))
