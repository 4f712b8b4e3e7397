"""Manage webhooks and see their deliveries, for admins."""

from collections.abc import Callable
from functools import wraps
from typing import Concatenate, ParamSpec, cast

from allauth.account.decorators import reauthentication_required
from django import forms
from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST, require_safe

from reviews.accounts.permissions import check
from reviews.http.request import Request
from reviews.models import Run
from reviews.webhooks import allowlist, deliveries

P = ParamSpec("P")


def _for_admins(
    view: Callable[Concatenate[Request, P], HttpResponse],
) -> Callable[Concatenate[Request, P], HttpResponse]:
    """Require the permission to manage webhooks."""

    @never_cache
    @wraps(view)
    def checked(request: Request, *args: P.args, **options: P.kwargs) -> HttpResponse:
        check(request.user, "manage_webhooks")
        return view(request, *args, **options)

    return cast("Callable[Concatenate[Request, P], HttpResponse]", checked)


class WebhookForm(forms.Form):
    """The URL of a webhook, and its run."""

    url = forms.CharField(
        label="URL",
        max_length=2000,
        widget=forms.URLInput(
            attrs={"autocomplete": "off", "placeholder": "https://hooks.example.org/reviewed"}
        ),
    )
    run = forms.ModelChoiceField(
        Run.objects.order_by("-created_at", "-pk"),
        required=False,
        label="Run",
        empty_label="Every run",
        widget=forms.Select(attrs={"class": "input"}),
    )


@require_safe
@_for_admins
def webhook_list(request: Request) -> HttpResponse:
    return _show(request, WebhookForm())


def _show(request: Request, form: WebhookForm) -> HttpResponse:
    """Render the page, with status 422 for an invalid form."""
    listed = list(deliveries.active_webhooks())
    last = deliveries.latest_deliveries(listed)
    context = {
        "webhooks": [(webhook, last.get(webhook.pk)) for webhook in listed],
        "form": form,
        "are_on": allowlist.is_enabled(),
        "setting": allowlist.SETTING,
    }
    return render(request, "site/webhooks/page.html", context, status=422 if form.is_bound else 200)


@require_POST
@_for_admins
@reauthentication_required
def add(request: Request) -> HttpResponse:
    """Add a webhook and show its secret once."""
    form = WebhookForm(request.POST)
    if not form.is_valid():
        return _show(request, form)
    try:
        made = deliveries.add_webhook(**form.cleaned_data, actor=request.user)
    except allowlist.TargetNotAllowed as refused:
        form.add_error("url", str(refused))
        return _show(request, form)
    return render(request, "site/webhooks/secret.html", {"made": made})


@require_safe
@_for_admins
def webhook(request: Request, pk: int) -> HttpResponse:
    """Show the deliveries of a webhook."""
    found = get_object_or_404(deliveries.active_webhooks(), pk=pk)
    context = {
        "webhook": found,
        "deliveries": deliveries.webhook_deliveries(found),
        "shown": deliveries.SHOWN,
    }
    return render(request, "site/webhooks/webhook.html", context)


@require_POST
@_for_admins
def send_test(request: Request, pk: int) -> HttpResponse:
    found = get_object_or_404(deliveries.active_webhooks(), pk=pk)
    deliveries.send_test(webhook=found, actor=request.user)
    messages.success(request, "Test message queued. Reload the page to see the result.")
    return redirect("webhook", found.pk)


@require_POST
@_for_admins
def remove(request: Request, pk: int) -> HttpResponse:
    deliveries.remove_webhook(
        webhook=get_object_or_404(deliveries.active_webhooks(), pk=pk), actor=request.user
    )
    messages.success(request, "Webhook removed.")
    return redirect("webhooks")
