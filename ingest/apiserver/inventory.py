"""Inventories: the content of a complete list, for each log that it concerns (delivery.md#watching).

A log compares it with its own state, so that no watcher has to remember what another one published.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final, NamedTuple

import msgspec

from ingest.resources.resource import ApiResource, on_cluster

KEYS_OF_A_PART: Final = 4000
"""A key has at most 253 characters, so that a part stays below 1 MiB."""


class Part(NamedTuple):
    """Keys of one log."""

    node: str
    object: msgspec.Raw
    """The object of the observation in a capture (capture-format.md)."""


def parts(resource: ApiResource[Any], uids: Mapping[str | None, Iterable[str]]) -> Iterator[Part]:
    """The inventories of a resource, from the uids by the node of their log; none where no log is reconciled.

    An object that cannot be placed is in the inventory of every log: it exists.
    """
    if resource.log is None:
        return
    elsewhere = set(uids.get(None, ()))
    nodes = sorted(node for node in uids if node)
    for node in ("", *nodes):
        yield from _split(node, {*uids.get(node, ()), *elsewhere}, of_logs=False)
    if resource.log is not on_cluster and not elsewhere:
        yield from _split("", nodes, of_logs=True)


def _split(node: str, keys: Iterable[str], *, of_logs: bool) -> Iterator[Part]:
    """Keys in order, in parts that each say from where to where they are complete."""
    ordered = sorted(keys)
    for first in range(0, len(ordered) or 1, KEYS_OF_A_PART):
        part = ordered[first : first + KEYS_OF_A_PART]
        content: dict[str, Any] = {"keys": part}
        if of_logs:
            content["ofLogs"] = True
        if first:
            content["after"] = ordered[first - 1]
        if first + KEYS_OF_A_PART < len(ordered):
            content["until"] = part[-1]
        yield Part(node, msgspec.Raw(msgspec.json.encode(content)))
