"""Manage webhooks and see their deliveries, for admins."""

from allauth.account.decorators import reauthentication_required
from django import forms
from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_POST, require_safe

from reviews.http.request import Request
from reviews.models import Run, Webhook
from reviews.notifications.event_types import WEBHOOK_EVENTS
from reviews.records.conflicts import Conflict
from reviews.views.form_fields import refusal_in
from reviews.views.shortcuts import refusal_shown, render_form, requires
from reviews.webhooks import allowlist, deliveries, signing_secrets

# The latest messages on the page of a webhook.
_SHOWN = 50


class WebhookForm(forms.Form):
    url = forms.CharField(
        label="URL",
        max_length=2000,
        widget=forms.URLInput(attrs={"autocomplete": "off", "placeholder": "https://example.org/hook"}),
    )
    run = forms.ModelChoiceField(
        Run.objects.filter(archived_at=None).order_by("-created_at", "-pk"),
        required=False,
        label="Run",
        empty_label="Every run",
        widget=forms.Select(attrs={"class": "input"}),
    )
    events = forms.MultipleChoiceField(
        choices=[*WEBHOOK_EVENTS.items()],
        initial=[deliveries.REVIEWED],
        label="Events",
        widget=forms.CheckboxSelectMultiple,
        error_messages={"required": "Choose at least one event."},
    )


@require_safe
@requires("manage_webhooks")
def webhook_list(request: Request) -> HttpResponse:
    return _show(request, WebhookForm())


def _show(request: Request, form: WebhookForm) -> HttpResponse:
    """Render the page, with status 422 for an invalid form."""
    listed = list(deliveries.active_webhooks())
    last = deliveries.latest_deliveries(listed)
    context = {
        "webhooks": [(webhook, last.get(webhook.pk)) for webhook in listed],
        "are_on": allowlist.is_enabled(),
        "setting": allowlist.SETTING,
    }
    return render_form(request, "site/webhooks/page.html", form, **context)


@require_POST
@requires("manage_webhooks")
@reauthentication_required
def add(request: Request) -> HttpResponse:
    """Add a webhook and show its secret once."""
    form = WebhookForm(request.POST)
    if form.is_valid():
        with refusal_in(form, allowlist.TargetNotAllowed, "url"):
            made = deliveries.add_webhook(**form.cleaned_data, actor=request.user)
            return _show_secret(request, made.webhook, made.secret)
    return _show(request, form)


def _show_secret(request: Request, webhook: Webhook, text: str) -> HttpResponse:
    return render(request, "site/webhooks/secret.html", {"webhook": webhook, "secret": text})


@require_safe
@requires("manage_webhooks")
def webhook(request: Request, pk: int) -> HttpResponse:
    found = get_object_or_404(deliveries.active_webhooks(), pk=pk)
    context = {
        "webhook": found,
        "events": [WEBHOOK_EVENTS[name] for name in found.events if name in WEBHOOK_EVENTS],
        "deliveries": deliveries.webhook_deliveries(found)[:_SHOWN],
        "shown": _SHOWN,
        "secrets": signing_secrets.secrets_of(found),
        "most_secrets": signing_secrets.MOST,
    }
    return render(request, "site/webhooks/webhook.html", context)


@require_POST
@requires("manage_webhooks")
def send_test(request: Request, pk: int) -> HttpResponse:
    found = get_object_or_404(deliveries.active_webhooks(), pk=pk)
    deliveries.send_test(webhook=found, actor=request.user)
    messages.success(request, "Test message queued. Reload the page to see the result.")
    return redirect("webhook", found.pk)


@require_POST
@requires("manage_webhooks")
def add_secret(request: Request, pk: int) -> HttpResponse:
    """Add a secret to a webhook and show it once."""
    found = get_object_or_404(deliveries.active_webhooks(), pk=pk)
    response: HttpResponse = reauthentication_required(_add_secret)(request, found)
    return response


def _add_secret(request: Request, found: Webhook) -> HttpResponse:
    with refusal_shown(request, Conflict):
        made = signing_secrets.add(webhook=found, actor=request.user)
        return _show_secret(request, found, made.text)
    return redirect("webhook", found.pk)


@require_POST
@requires("manage_webhooks")
def remove_secret(request: Request, pk: int, secret_pk: int) -> HttpResponse:
    found = get_object_or_404(deliveries.active_webhooks(), pk=pk)
    secret = get_object_or_404(signing_secrets.secrets_of(found), pk=secret_pk)
    with refusal_shown(request, Conflict):
        signing_secrets.remove(secret=secret, actor=request.user)
        messages.success(request, "Secret removed.")
    return redirect("webhook", found.pk)


@require_POST
@requires("manage_webhooks")
def resend(request: Request, pk: int, delivery_pk: int) -> HttpResponse:
    found = get_object_or_404(deliveries.active_webhooks(), pk=pk)
    delivery = get_object_or_404(found.deliveries, pk=delivery_pk)
    if deliveries.retry(delivery_id=delivery.pk, actor=request.user, is_delivered_too=True):
        messages.success(request, "Message queued. Reload the page to see the result.")
    else:
        messages.error(request, "This message is still being sent.")
    return redirect("webhook", found.pk)


@require_POST
@requires("manage_webhooks")
def remove(request: Request, pk: int) -> HttpResponse:
    deliveries.remove_webhook(
        webhook=get_object_or_404(deliveries.active_webhooks(), pk=pk), actor=request.user
    )
    messages.success(request, "Webhook removed.")
    return redirect("webhooks")
