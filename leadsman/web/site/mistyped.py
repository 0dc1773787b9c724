"""Addresses that people type or shorten by hand, and the page that each of them means."""

from typing import Final
from urllib.parse import urlencode

from leadsman.web.rendering.links import ASK, FIND, NODE, NUMA, RUNBOOKS
from streams.alerting.runbook import runbooks

_PAGES: Final = {page.strip("/"): page for page in (ASK, FIND, NODE, NUMA, RUNBOOKS)}
_NAMED: Final = {
    "node": (NODE, "node"),
    "nodes": (NODE, "node"),
    "pod": (FIND, "q"),
    "pods": (FIND, "q"),
    "find": (FIND, "q"),
}
"""Page and parameter for a path that ends in a name."""


def meant(path: str, query: str) -> str:
    """Return the address that a path without a page means, with its query, still quoted; empty if it means none.

    Slashes at its end and the case of its letters do not matter: `/runbooks`, `/NUMA/`, `/node/NAME/`.
    """
    head, _, name = path.strip("/").partition("/")
    page = _PAGES.get(head.lower(), "")
    if name:
        page, query = _of_name(head.lower(), name, query)
    return f"{page}?{query}" if page and query else page


def _of_name(head: str, name: str, query: str) -> tuple[str, str]:
    if head == RUNBOOKS.strip("/"):
        known = {each.lower(): each for each in runbooks()}
        found = known.get(name.lower().removesuffix(".md"))
        return (RUNBOOKS + found if found else ""), query
    page, key = _NAMED.get(head, ("", ""))
    return page, "&".join(filter(None, (query, urlencode({key: name}))))
