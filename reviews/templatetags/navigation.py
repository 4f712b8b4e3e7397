"""The navigation and the breadcrumb of a page."""

from functools import lru_cache
from typing import Any, NamedTuple

from django import template
from django.template.context import RequestContext
from django.template.loader import render_to_string
from django.urls import resolve, reverse
from django.utils.safestring import SafeString

from cognireview.web.markup import format_html, join_html
from reviews.accounts import permissions
from reviews.http import places
from reviews.inbox.items import Inbox, Waiting, count_up_to
from reviews.inbox.place import place_of
from reviews.models import User
from reviews.review import answers

register = template.Library()

# Formatted in Python, because almost every page has another breadcrumb.
_BREADCRUMB = """
<nav class="breadcrumb" aria-label="Breadcrumb">
  <ol>
    {}
    <li aria-current="page">{}</li>
  </ol>
</nav>
"""
_ABOVE, _ABOVE_WITHOUT_PAGE = '<li><a href="{1}">{0}</a></li>', "<li><span>{}</span></li>"
_NOTHING = format_html("")
# Where its line is too short for all of it, pointing at it shows the rest.
_HEADING = '<h1 id="heading" tabindex="-1" data-focus{0} title="{1}">{1}</h1>'
# The largest number of waiting items that is shown, and counted, on every page.
_MOST_SHOWN = 999


class Entry(NamedTuple):
    """A link of the navigation."""

    title: str
    url: str
    #: The letter after G that opens it; empty for other links.
    key: str = ""
    #: "page" for the current page, "true" for a page below it, or empty.
    current: str = ""
    #: Shown after the title: the number of waiting items, or "999+" for more; empty for none.
    waiting: str = ""


class Navigation(NamedTuple):
    """The links on every page that the person may open."""

    areas: tuple[Entry, ...]
    #: Empty for everybody but admins.
    admin: tuple[Entry, ...]
    #: The pages of the person.
    own: tuple[Entry, ...]
    #: Whether the current page belongs to the admin's pages.
    is_admin: bool
    #: Whether the current page belongs to the pages of the person, and to no area.
    is_own: bool
    #: Whether the current page is the search.
    is_search: bool
    #: Whether the person may have unread answers, perhaps in a run that they may no longer see.
    may_have_answers: bool
    is_reviewer: bool


@register.simple_tag(takes_context=True)
def navigation(context: RequestContext) -> Navigation:
    """Return the navigation of the page for its reader (a query for leads)."""
    request: Any = context["request"]
    user: User = request.user
    run = places.run_in(context)
    is_lead = permissions.can(user, "lead_review")
    waiting = _waiting(context, user) if is_lead else Waiting()
    return _navigation(
        _page_name(request),
        run.pk if run else None,
        _shown(waiting.number),
        may_have_answers=waiting.may_have_answers,
        is_reviewer=permissions.can(user, "review_evaluation"),
        is_lead=is_lead,
        is_admin=permissions.can(user, "manage_people"),
    )


@lru_cache(maxsize=512)
def _navigation(
    here: str,
    run: int | None,
    waiting: str,
    *,
    may_have_answers: bool,
    is_reviewer: bool,
    is_lead: bool,
    is_admin: bool,
) -> Navigation:
    """Return the navigation of the page with a name, for everybody with these permissions."""
    area = places.area_of(here)

    def entry(name: str, key: str = "", waiting: str = "", url: str = "") -> Entry:
        is_part = area == name or (area == places.ADMIN and places.is_below(here, name))
        current = "page" if here == name else "true" if is_part else ""
        return Entry(places.PLACES[name].title, url or reverse(name), key, current, waiting)

    areas, own, admin = [], [], []
    if is_reviewer:
        areas += [entry("start", "q", url=reverse("review", args=[run]) if run else ""), entry("runs", "r")]
        own.append(entry("recent", "h", url=reverse("recent", args=[run]) if run else reverse("my-reviews")))
        own.append(entry("my-activity"))
    if is_lead:
        areas += [entry("dashboard", "d"), entry("inbox", "i", waiting=waiting)]
    if is_admin:
        admin = [entry(name) for name in places.ADMIN_PAGES]
    own += [entry("preferences"), entry("account")]
    is_own = any(entry.current for entry in own) and not any(entry.current for entry in areas)
    return Navigation(
        tuple(areas),
        tuple(admin),
        tuple(own),
        is_admin=area == places.ADMIN,
        is_own=is_own,
        is_search=here == "palette",
        may_have_answers=may_have_answers,
        is_reviewer=is_reviewer,
    )


def _waiting(context: RequestContext, user: User) -> Waiting:
    """Count the items in the inbox, which the page of the inbox has done already."""
    shown = context.get("inbox")
    if isinstance(shown, Inbox) and shown.run is None:
        return Waiting(shown.total)
    return count_up_to(_MOST_SHOWN + 1, user)


def _shown(number: int) -> str:
    return f"{_MOST_SHOWN}+" if number > _MOST_SHOWN else str(number or "")


@register.simple_tag(takes_context=True)
def inbox_place(context: RequestContext) -> str:
    """Return a hidden field with the place in the inbox; empty on pages that were not opened from there."""
    place = place_of(context["request"])
    return format_html('<input type="hidden" name="inbox" value="{}">', str(place)) if place else ""


@register.simple_tag(takes_context=True)
def inbox_strip(context: RequestContext) -> str:
    """Show links to the next item and to the inbox, on pages that were opened from there."""
    place = place_of(context["request"])
    return render_to_string("includes/inbox_strip.html", {"place": place}) if place else ""


@register.simple_tag(takes_context=True)
def unread_answers(context: RequestContext) -> str:
    """Show the answers of leads that the reader has not read yet (one query, or two).

    No query on a review screen (`basis`) or with a navigation (`shell`) that has found none.
    """
    known = (context.get(name) for name in ("basis", "shell"))
    has_none = any(one is not None and not one.may_have_answers for one in known)
    found = [] if has_none else answers.unread_answers(context["request"].user)
    shown = {"answers": found, "csrf_token": context["csrf_token"]}
    return render_to_string("includes/answers.html", shown) if found else ""


@register.inclusion_tag("includes/own_questions.html", takes_context=True)
def own_questions(context: RequestContext) -> dict[str, Any]:
    """List the records that the reader sent to a lead, with the answers."""
    return {"questions": answers.own_questions(context["request"].user)[: answers.LISTED]}


@register.simple_tag(takes_context=True)
def breadcrumb(
    context: RequestContext,
    name: str = "",
    *,
    above: str = "",
    link: str = "",
    heading: bool = False,
    described_by: str = "",
) -> SafeString:
    """Show the breadcrumb of the page, or of the page with a name. See `places.breadcrumb`.

    With `heading`, the current page is the `h1`; the element with the id `described_by` describes it.
    """
    crumbs = places.breadcrumb(name or _page_name(context["request"]), context, above=above, link=link)
    return format_breadcrumb(crumbs, is_heading=heading, described_by=described_by)


def format_breadcrumb(
    crumbs: list[places.Crumb], *, is_heading: bool = False, described_by: str = ""
) -> SafeString:
    """Return the HTML of a breadcrumb; nothing without crumbs. The last one is the current page."""
    if not crumbs:
        return _NOTHING
    *above, here = crumbs
    links = (format_html(_ABOVE if one.url else _ABOVE_WITHOUT_PAGE, one.title, one.url) for one in above)
    described = format_html(' aria-describedby="{}"', described_by) if described_by else _NOTHING
    shown = (
        format_html(_HEADING, described, here.title)
        if is_heading
        else format_html("<span>{}</span>", here.title)
    )
    return format_html(_BREADCRUMB, join_html(links), shown)


def _page_name(request: Any) -> str:
    """Return the name of the page's URL; empty for an unknown address.

    A request that is repeated after its person has confirmed their identity still has the match of that page.
    """
    match = request.resolver_match
    if match and (match.url_name or "").startswith("reauthenticate"):
        match = resolve(request.path_info)
    return match.url_name or "" if match else ""
