"""Create, list and revoke API tokens."""

from typing import Any

from allauth.account.decorators import reauthentication_required
from django import forms
from django.contrib import messages
from django.http import Http404, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.views.decorators.http import require_POST, require_safe

from reviews.accounts import api_tokens
from reviews.accounts.permissions import can, people_with_role
from reviews.database.pagination import page_by_key, parse_key
from reviews.http.redirects import SeeOther, sending_page
from reviews.http.request import Request
from reviews.models import ApiToken, User
from reviews.views.form_fields import WholeNumberField, refusal_in
from reviews.views.shortcuts import form_page, page_links, render_form, requires

_PAGE_SIZE = 50


class TokenForm(forms.Form):
    person = forms.ModelChoiceField(
        User.objects.none(), label="Acts as", empty_label=None, widget=forms.Select(attrs={"class": "input"})
    )
    name = forms.CharField(
        label="What it is for",
        max_length=100,
        widget=forms.TextInput(attrs={"autocomplete": "off", "placeholder": "Nightly import"}),
    )
    scopes = forms.MultipleChoiceField(
        label="What programs may do with it", widget=forms.CheckboxSelectMultiple
    )
    days = WholeNumberField(
        label="Days until it expires",
        min_value=1,
        max_value=api_tokens.MAX_DAYS,
        initial=api_tokens.DEFAULT_DAYS,
        help_text=f"At most {api_tokens.MAX_DAYS}.",
    )

    def __init__(self, author: User, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        is_admin = can(author, "manage_people")
        if is_admin:
            owners: Any = self.fields["person"]
            owners.queryset = people_with_role()
            owners.label_from_instance = lambda person: person.name
        else:
            del self.fields["person"]
        # Scopes that the role of another person does not allow are refused after sending.
        choices: Any = self.fields["scopes"]
        choices.choices = [
            (scope, f"{scope}: {api_tokens.SCOPE_MEANINGS[scope]}")
            for scope, permission in api_tokens.SCOPES.items()
            if is_admin or can(author, permission)
        ]


@require_safe
@requires("manage_people")
def token_list(request: Request) -> HttpResponse:
    """List the tokens of everybody, or with `?ended=1` those that expired or were revoked."""
    with_ended = bool(request.GET.get("ended"))
    after = request.GET.get("after", "")
    tokens = api_tokens.ended_tokens() if with_ended else api_tokens.all_valid_tokens()
    page = page_by_key(tokens, after=after, size=_PAGE_SIZE, newest_first=True)
    address = reverse("tokens", query={"ended": 1} if with_ended else None)
    context = {
        "page": page,
        "with_ended": with_ended,
        **page_links(address, after, page.next_after),
    }
    return render(request, "accounts/tokens/page.html", context)


@form_page
@requires("review_evaluation")
@reauthentication_required
def add(request: Request) -> HttpResponse:
    """Create a token for oneself or, as an admin, for anybody, and show it once.

    `from` says which page leads here, and `person` who is selected at first.
    """
    origin = _origin(request)
    if request.method == "POST":
        form = TokenForm(request.user, request.POST)
    else:
        key = parse_key(request.GET.get("person", "")) or request.user.pk
        form = TokenForm(request.user, initial={"person": key, "scopes": ["read"]})
    if form.is_valid():
        values = form.cleaned_data
        with refusal_in(form, api_tokens.TokenError, "scopes"):
            made = api_tokens.create(
                person=values.get("person") or request.user,
                scopes=values["scopes"],
                days=values["days"],
                name=values["name"],
                actor=request.user,
            )
            return render(request, "accounts/tokens/created.html", {"made": made, **origin})
    return render_form(request, "accounts/tokens/new.html", form, **origin)


def _origin(request: Request) -> dict[str, Any]:
    """Return the page that leads to a new token, as the page above it, and its URL.

    It is the list of tokens, the page of a person, or one's own account.
    """
    if can(request.user, "manage_people"):
        if request.GET.get("from") == "tokens":
            return {"above": "tokens", "back": reverse("tokens")}
        person = people_with_role().filter(pk=parse_key(request.GET.get("person", "")) or 0).first()
        if person and person != request.user:
            return {"above": "person", "back": reverse("person", args=[person.pk]), "person": person}
    return {"above": "account", "back": reverse("account")}


@require_POST
def revoke(request: Request, pk: int) -> HttpResponse:
    """Revoke one's own token or, as an admin, any token."""
    token = get_object_or_404(ApiToken.objects.select_related("person"), pk=pk)
    is_own = token.person_id == request.user.pk
    if not is_own and not can(request.user, "manage_people"):
        raise Http404
    api_tokens.revoke(token=token, actor=request.user)
    messages.success(request, f"Token {token.prefix}… revoked.")
    if sending_page(request).startswith(reverse("tokens")):
        return SeeOther(sending_page(request))
    return redirect("account") if is_own else redirect("person", token.person_id)
