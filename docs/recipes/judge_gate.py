"""Fail a build if the judge of a run is not good enough.

Usage: python judge_gate.py RUN 'blind flagged kappa >= 0.6' ['miss_rate <= 0.05' ...]

COGNIREVIEW_URL and COGNIREVIEW_TOKEN (of a lead or an admin, with the scope read) come from the environment.
Prints a line for each requirement. Exit status: 1 if one is missed, otherwise 2 if one is undecided (too few
decisions, uncounted records, no response), otherwise 0.
"""

import argparse
import json
import os
import sys
from urllib.error import HTTPError
from urllib.parse import quote, urlencode
from urllib.request import Request, urlopen


def report(run, required):
    """Return the report on the judge of a run, with the outcome of each requirement."""
    query = urlencode({"require": required}, doseq=True)
    url = f"{os.environ['COGNIREVIEW_URL'].rstrip('/')}/api/v1/runs/{quote(run, safe='')}/report?{query}"
    token = {"Authorization": f"Bearer {os.environ['COGNIREVIEW_TOKEN']}"}
    with urlopen(Request(url, headers=token), timeout=60) as response:
        return json.load(response)


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("run")
    parser.add_argument("required", nargs="+", metavar="'METRIC >= LIMIT'")
    options = parser.parse_args()
    checked = report(options.run, options.required)["requirements"]
    for one in checked:
        print(one["sentence"])
    outcomes = {one["outcome"] for one in checked}
    return 1 if "missed" in outcomes else 0 if outcomes == {"met"} else 2


if __name__ == "__main__":
    try:
        sys.exit(main())
    except HTTPError as error:
        print(error.code, error.read().decode(errors="replace"), file=sys.stderr)
    except Exception as error:  # noqa: BLE001 (status 1 would mean a missed limit)
        print(f"{type(error).__name__}: {error}", file=sys.stderr)
    sys.exit(2)
