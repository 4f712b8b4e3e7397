"""Read an export with polars, and count how often judge and human gave the same score.

Usage: python with_polars.py evaluations.parquet
"""

import sys

import polars as pl
from exported import COLUMNS, KEYS, PARTS, TRUTHS, records, row
from exported import scores as scores_of

TYPES = {name: pl.Boolean if name in TRUTHS else pl.String for name in (*COLUMNS, "extra")}


def from_parquet(path):
    return pl.read_parquet(path)


def from_jsonl(path):
    """The types are given: what polars would infer differs from file to file."""
    return pl.DataFrame(map(row, records(path)), schema=TYPES)


def scores(table):
    """A row for each criterion, of a table from Parquet."""
    return table.select(*KEYS, "scores").explode("scores").drop_nulls("scores").unnest("scores")


def scores_from_jsonl(path):
    types = dict.fromkeys((*KEYS, *PARTS), pl.String)
    return pl.DataFrame((one for record in records(path) for one in scores_of(record)), schema=types)


def agreement(rows):
    """How often they agree, of how many pairs, by criterion."""
    pairs = rows.drop_nulls(["judge", "human"])
    agreed = (pl.col("judge") == pl.col("human")).mean()
    return pairs.group_by("criterion", maintain_order=True).agg(agreed.alias("mean"), pl.len().alias("size"))


if __name__ == "__main__":
    print(agreement(scores(from_parquet(sys.argv[1]))))
