"""Cards about pods that wait for something other than a node: a resize, or their end. Pure."""

from collections.abc import Iterator, Sequence
from typing import Final

from common.amounts import counted
from common.text import plain
from leadsman.web.attention.badges import Severity
from leadsman.web.attention.item import Item, Step, distinct
from leadsman.web.reading.asked import RowDict
from leadsman.web.reading.overview import Overview
from leadsman.web.reading.words import sentence

_MOST: Final = 3
_MOST_TEXT: Final = 300


def resizes(view: Overview) -> Iterator[Item]:
    """Resizes that the kubelet deferred, and those that it never can do: a card each."""
    for state, why, step in (
        ("deferred", "Not done now", Step("See what would have to go", "pending_resizes")),
        (
            "infeasible",
            "Never done on this node",
            Step("Request less, or move the pod to another node", "pending_resizes"),
        ),
    ):
        if rows := [row for row in view.resizes if row["state"] == state]:
            said = plain(rows[0]["message"], _MOST_TEXT)
            words = f" The kubelet's words: {sentence(said)}" if said else ""
            yield _item(f"{counted(len(rows), 'resize')} {state}", f"{why}: {_pods(rows)}.{words}", rows, step)


def terminating(view: Overview) -> Iterator[Item]:
    """Pods that do not go away: their kubelet is gone, cannot end them, or something holds their object."""
    rows = view.terminating
    if not rows:
        return
    lost = [row["node"] for row in view.not_ready if row["ready"] != 1]
    away = distinct(row["node"] for row in rows if row["node"] in lost)
    if away:
        text = f"{plain(away[0])} does not report, so nobody confirms that they ended; a StatefulSet waits for that."
        step = Step(
            f"If the machine is off: kubectl taint node {plain(away[0])} node.kubernetes.io/out-of-service=:NoExecute"
        )
    else:
        text = "A long grace period lasts, the kubelet cannot end them, or a finalizer holds them."
        step = Step(f"Read kubectl describe pod -n {plain(rows[0]['namespace'])} {plain(rows[0]['pod'])}")
    yield _item(f"{counted(len(rows), 'pod')} still Terminating", f"{_pods(rows)}. {text}", rows, step)


def _item(title: str, text: str, rows: Sequence[RowDict], step: Step) -> Item:
    nodes, since = distinct(row["node"] for row in rows), min(row["since"] for row in rows)
    return Item(Severity.WARNING, title, text, nodes, "timeline", since=since, step=step)


def _pods(rows: Sequence[RowDict]) -> str:
    named = [f"{plain(row['namespace'])}/{plain(row['pod'])}" for row in rows[:_MOST]]
    more = len(rows) - len(named)
    return ", ".join(named) + (f" and {counted(more, 'more', 'more')}" if more else "")
