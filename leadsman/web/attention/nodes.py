"""What needs attention of nodes as such: not Ready, silent, cordoned. Pure, from an overview."""

from collections.abc import Iterator, Sequence

from common.amounts import some
from common.text import plain
from leadsman.web.attention.badges import Severity
from leadsman.web.attention.item import Item
from leadsman.web.reading.asked import RowDict
from leadsman.web.reading.begun import first
from leadsman.web.reading.overview import Overview
from leadsman.web.reading.words import duration, sentence
from streams.rules.pod_ends.drains import drainer


def not_ready(view: Overview) -> Iterator[Item]:
    """False and Unknown apart; a node that is drained is a note, for it is meant to go."""
    of = f"of {some(sum(node.known for node in view.nodes), 'node')}"
    drained = [row for row in view.not_ready if row["cordoned"] or drainer(row["taints"])]
    others = [row for row in view.not_ready if row not in drained]
    if rows := [row for row in others if row["ready"] is not None]:
        reported = f"Its kubelet reports: {sentence(plain(rows[0]['message']))} " if rows[0]["message"] else ""
        text = f"{reported if len(rows) == 1 else ''}{_leases(rows)}No new pods are placed there."
        step = (
            f"See kubectl describe node {plain(rows[0]['node'])} and the logs of its kubelet and container runtime."
        )
        yield _of(rows, Severity.CRITICAL, "Not Ready" if view.node else f"{len(rows)} {of} not Ready", text, step)
    if rows := [row for row in others if row["ready"] is None]:
        text = f"The kubelet does not report, or the Node has no condition Ready. {_leases(rows)}"
        text += "Whether its pods run is not known."
        step = f"Look at the machine of {plain(rows[0]['node'])}, its kubelet and its network."
        title = "Ready is unknown" if view.node else f"{len(rows)} {of} with Ready unknown"
        yield _of(rows, Severity.CRITICAL, title, text, step)
    if drained:
        down = sum(not row["ready"] for row in drained)
        of_them = "It is" if view.node else f"{down} of them {'is' if down == 1 else 'are'}"
        text = "No new pods are placed there." + (f" {of_them} not Ready." if down else "")
        step = f"When the maintenance is over: kubectl uncordon {plain(drained[0]['node'])}."
        title = "Cordoned" if view.node else f"{len(drained)} {of} cordoned"
        item = _of(drained, Severity.NOTE, title, text, step)._replace(since=None)
        yield item.begun(first(view.begun, "cordoned", ("",), item.nodes))


def _leases(rows: Sequence[RowDict]) -> str:
    """How old the Leases were when they were looked at; of a node whose Lease nobody asked for, nothing is said."""
    seen = [row["lease_age_seconds"] for row in rows if row["lease_seen"]]
    ages = sorted(age for age in seen if age is not None)
    if not seen:
        return ""
    if not ages:
        return f"When {'its Lease was' if len(seen) == 1 else 'their Leases were'} last renewed is not known. "
    first, last = duration(ages[0]), duration(ages[-1])
    if len(rows) == 1:
        return f"When that was seen, its Lease was last renewed {first} before. "
    before = first if first == last else f"{first} to {last}"
    return f"When that was seen, {some(len(ages), 'Lease')} had last been renewed {before} before. "


def _of(rows: Sequence[RowDict], severity: Severity, title: str, text: str, step: str) -> Item:
    nodes = tuple(row["node"] for row in rows)
    about = (("NodeNotReady", ""),)
    return Item(severity, title, text, nodes, "nodes", since=rows[0]["since"], step=step, about=about)
