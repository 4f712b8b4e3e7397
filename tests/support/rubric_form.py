"""The rubric form of the settings page of a run."""

from copy import deepcopy
from html.parser import HTMLParser
from typing import Any

from django.test import Client
from django.urls import reverse

from reviews.models import Run
from reviews.records.rubric import Criterion, Rubric
from reviews.rubric.run_rubric import run_rubric

DEPTH = Rubric((Criterion("depth"), Criterion("style")))
Fields = dict[str, str | list[str]]


class _Fields(HTMLParser):
    """Collect the fields that a browser posts for the rubric form of a page."""

    def __init__(self) -> None:
        super().__init__()
        self.posted: Fields = {}
        self._is_inside = False
        self._name = ""
        self._is_text = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        known = {name: value or "" for name, value in attrs}
        if tag == "form":
            self._is_inside = known.get("id") == "rubric"
        elif not self._is_inside:
            return
        elif tag == "input" and known.get("type") == "checkbox":
            if "checked" in known:
                chosen = self.posted.setdefault(known["name"], [])
                assert isinstance(chosen, list)
                chosen.append(known.get("value", "on"))
        elif tag == "input" and "disabled" not in known:
            self.posted[known["name"]] = known.get("value", "")
        elif tag in {"select", "textarea"}:
            self._name, self._is_text = known["name"], tag == "textarea"
            self.posted[self._name] = ""
        elif tag == "option" and "selected" in known:
            self.posted[self._name] = known["value"]

    def handle_endtag(self, tag: str) -> None:
        self._is_text = self._is_text and tag != "textarea"

    def handle_data(self, data: str) -> None:
        if self._is_inside and self._is_text:
            self.posted[self._name] = data.removeprefix("\r\n").removeprefix("\n")


def page_of(run: Run) -> str:
    return reverse("run-settings", args=[run.pk])


def fields_of(response: Any) -> Fields:
    parser = _Fields()
    parser.feed(response.content.decode())
    assert parser.posted, "The page has no rubric form."
    return parser.posted


# The fields that a browser posts for a rubric, by its fingerprint.
_FIELDS: dict[str, Fields] = {}


def filled_in(client: Client, run: Run, **changes: str) -> Fields:
    """Return the fields that a browser posts from the current page. `a__b_c` changes the field `a-b_c`.

    The page of a rubric is opened once.
    """
    shown = judged_by(run).fingerprint
    if shown not in _FIELDS:
        _FIELDS[shown] = fields_of(client.get(page_of(run)))
    return deepcopy(_FIELDS[shown]) | renamed(changes)


def renamed(changes: dict[str, str]) -> dict[str, str]:
    return {name.replace("__", "-"): value for name, value in changes.items()}


def saved(client: Client, run: Run, **changes: str) -> Any:
    return client.post(page_of(run), filled_in(client, run, **changes))


def judged_by(run: Run) -> Rubric:
    return run_rubric(Run.objects.get(pk=run.pk))
