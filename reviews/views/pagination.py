"""The links between the pages of a list, for `includes/pagination.html`."""

from urllib.parse import urlencode


def page_links(address: str, after: str, next_after: str) -> dict[str, str]:
    """Return the URLs of the first and of the next page; empty texts where the list has no such page.

    `address` is that of the first page, with its filters. `after` and `next_after` are cursors.
    """
    joint = "&" if "?" in address else "?"
    return {
        "first": address if after else "",
        "previous": "",
        "next": f"{address}{joint}{urlencode({'after': next_after})}" if next_after else "",
    }
