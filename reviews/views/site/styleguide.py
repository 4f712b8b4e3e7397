"""The tokens and components of the pages on one page, for developers."""

import re
from pathlib import Path

from django import forms
from django.conf import settings
from django.contrib import messages
from django.contrib.messages.storage.base import Message
from django.http import Http404, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.http import require_safe

from cognireview.types.estimates import Estimate
from reviews.http.places import Crumb
from reviews.http.request import Request
from reviews.models import User
from reviews.statistics.intervals import undefined
from reviews.templatetags.navigation import format_breadcrumb
from reviews.views.dot_plots import Dot, DotPlot
from reviews.views.tables import share

_TOKENS = Path(settings.BASE_DIR) / "static" / "css" / "tokens.css"

_EXAMPLE_PLOT = DotPlot(
    "Accuracy by criterion",
    [
        Dot("Completeness", share(Estimate(0.83, 0.76, 0.88, 146), "#main"), band=(81, 92), other=70),
        Dot("Rigor", share(Estimate(0.55, 0.44, 0.66, 81)), band=(58, 74)),
        Dot("Clarity, assisted", share(Estimate(1, 0.51, 1, 4)), is_assisted=True),
        Dot("Notation", share(undefined("There are no ratings to count."))),
    ],
    line=80,
    line_title="target 80%",
    band_title="agreement among reviewers",
    other_title="judge's own pass rate",
)


class ExampleForm(forms.Form):
    """A field of each kind, the last one with an error."""

    text = forms.CharField(label="Text field", help_text="Help is above the field.")
    number = forms.IntegerField(label="Number field", widget=forms.NumberInput(attrs={"min": 1, "max": 5}))
    choice = forms.ChoiceField(label="Select", choices=[("yes", "Yes"), ("no", "No")])
    long = forms.CharField(label="Text area", widget=forms.Textarea(attrs={"rows": 2}))
    wrong = forms.CharField(label="Field with an error", error_messages={"required": "Enter a name."})


@require_safe
def styleguide(request: Request) -> HttpResponse:
    """Show all tokens and components, in a `theme`; 404 unless the site is in debug mode."""
    if not settings.DEBUG:
        raise Http404
    theme = request.GET.get("theme", "")
    values = {"text": "Algebra", "number": 3, "choice": "no", "long": "Two lines", "wrong": ""}
    context = {
        "themes": User.Theme,
        "theme": theme if theme in User.Theme else request.user.theme,
        "form": ExampleForm(values),
        "colours": _tokens("^(light-dark|#|rgb)"),
        "spaces": _tokens("rem", prefix="space"),
        "texts": _tokens("rem", prefix="text"),
        "breadcrumb": format_breadcrumb(
            [Crumb("Runs", "/"), Crumb("Algebra", "/"), Crumb("Task 5500 · o1", "")]
        ),
        "toasts": [Message(messages.SUCCESS, "Saved."), Message(messages.ERROR, "Not saved: try again.")],
        "plot": _EXAMPLE_PLOT,
        "now": timezone.now(),
    }
    return render(request, "site/styleguide.html", context)


def _tokens(pattern: str, *, prefix: str = "") -> list[str]:
    """Return the names of the tokens whose value matches a pattern, as the style sheet has them."""
    root = _TOKENS.read_text().partition("[data-theme")[0]
    found = re.findall(r"--([\w-]+): ([^;]+);", root)
    return [name for name, value in found if name.startswith(prefix) and re.search(pattern, value)]
