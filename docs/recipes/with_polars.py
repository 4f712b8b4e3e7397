"""Read an export with polars, and compute how often judge and human gave the same score.

Usage: python with_polars.py evaluations.parquet, or evaluations.jsonl
"""

import sys

import polars as pl
from exported import BOOLEANS, COLUMNS, KEYS, PARTS, records, row
from exported import scores as scores_of

TYPES = {name: pl.Boolean if name in BOOLEANS else pl.String for name in (*COLUMNS, "extra")}


def from_parquet(path):
    return pl.read_parquet(path)


def from_jsonl(path):
    """Read with explicit types: the types that polars infers differ between files."""
    return pl.DataFrame(map(row, records(path)), schema=TYPES)


def scores(table):
    """Return a row for each criterion, from a Parquet table."""
    return table.select(*KEYS, "scores").explode("scores").drop_nulls("scores").unnest("scores")


def scores_from_jsonl(path):
    types = dict.fromkeys((*KEYS, *PARTS), pl.String)
    return pl.DataFrame((one for record in records(path) for one in scores_of(record)), schema=types)


def agreement(rows):
    """Return the share of agreeing pairs and the number of pairs, by criterion."""
    agreed = pl.col("judge") == pl.col("human")  # null unless both gave a score
    by_criterion = rows.group_by("criterion", maintain_order=True)
    return by_criterion.agg(agreed.mean().alias("mean"), agreed.count().alias("count"))


if __name__ == "__main__":
    path = sys.argv[1]
    print(agreement(scores_from_jsonl(path) if path.endswith(".jsonl") else scores(from_parquet(path))))
