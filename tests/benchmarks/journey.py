"""Take a run of 1,000,000 records and one of 10,000 from the upload to the export, with a clock on each step.

Each run has a site of its own, as `manage.py up` starts it. The one that is not measured is idle.
"""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from statistics import median

from tests.benchmarks.measuring import Figure, seconds
from tests.benchmarks.serving import Site, our_site

SMALL, LARGE = 10_000, 1_000_000
MOST = 1.3
REQUESTS = 20
# Records that need a review: each step that decides one does so in every request, and some are prefetched.
LEAST = 1_000
BLIND_SHARE = 0.15

Step = Callable[[Site], object]


def _decide(site: Site) -> None:
    site.review(0)


_LISTS: dict[str, Step] = {
    "list of 50 records": Site.find,
    "the same by model": lambda site: site.find(model="model-a"),
    "the same by model and verdict": lambda site: site.find(model="model-a", verdict="Fail"),
    "search for a word of all records": lambda site: site.find(q="the"),
    "search that finds nothing": lambda site: site.find(q="zebra"),
    "page with 50 records": Site.show,
    "page by model and verdict": lambda site: site.show(model="model-a", verdict="Fail"),
    "page without a match": lambda site: site.show(model="zebra"),
    "home page": lambda site: site.browse("/"),
    "dashboard": lambda site: site.browse("/dashboard/"),
}
_REPORTS: dict[str, Step] = {
    "Overview of the judge": lambda site: site.show("judge/"),
    "Report of the judge": lambda site: site.show("judge/report/"),
    "Flags of the judge": lambda site: site.show("judge/flags/"),
    "report of the judge over the API": Site.read_report,
}


def steps(small: Path, large: Path) -> Iterator[Figure]:
    """Compare the time that each step takes with both files: that of imports and exports for each byte."""
    files = (small, large)
    with our_site(small.parent / "small") as one, our_site(small.parent / "large") as other:
        sites = (one, other)
        imports = [site.prepare_import(file) for site, file in zip(sites, files, strict=True)]
        yield _whole("import until a search finds the last line", files, imports)
        for name, step in _LISTS.items():
            yield _request(name, sites, step)
        yield _request("submit in the browser, and the next record", sites, Site.submit)
        for site in sites:
            site.review_blind(BLIND_SHARE)
        yield _request(f"claim and decision over the API, {BLIND_SHARE:.0%} of them blind", sites, _decide)
        for name, step in _REPORTS.items():
            yield _request(name, sites, step)
            yield _request(f"{name}, after a decision", sites, step, before=_decide)
        yield _whole("export", files, [site.export for site in sites])


def _whole(name: str, files: tuple[Path, Path], actions: Sequence[Callable[[], object]]) -> Figure:
    """Measure an action with whole files, once each."""
    small, large = map(seconds, actions)
    sizes = [file.stat().st_size for file in files]
    return Figure(
        name, f"{large:.1f} s", f"{small:.1f} s", (large / sizes[1]) / (small / sizes[0]), most=MOST
    )


def _request(name: str, sites: tuple[Site, Site], step: Step, *, before: Step = lambda _: None) -> Figure:
    """Measure a step in turns and compare the medians. The first time, statements are prepared."""
    taken: tuple[list[float], list[float]] = ([], [])
    for _ in range(REQUESTS + 1):
        for site, times in zip(sites, taken, strict=True):
            before(site)
            times.append(seconds(partial(step, site)))
    small, large = (median(times[1:]) * 1000 for times in taken)
    return Figure(name, f"{large:.0f} ms", f"{small:.0f} ms", large / small, most=MOST)
