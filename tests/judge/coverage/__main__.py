"""Print how often each 95% interval includes the truth: `python -m tests.judge.coverage`."""

import argparse

from tests.judge.coverage.settings import all_settings
from tests.judge.coverage.simulation import measure


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--replications", type=int, default=2_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", default="", help="settings whose name contains this text")
    options = parser.parse_args()
    print("| Figure | Setting | Coverage | Below, above | Mean width |\n|---|---|---|---|---|")  # noqa: T201
    for setting in all_settings():
        if options.only in f"{setting.figure}: {setting.setting}":
            found = measure(setting, options.replications, options.seed)
            print(  # noqa: T201
                f"| {setting.figure} | {setting.setting} | {found.share:.1%} ± {1.96 * found.error:.1%} | "
                f"{found.below:.1%}, {found.above:.1%} | {found.width:.3f} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
