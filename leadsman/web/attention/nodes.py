"""Builds items about nodes: not Ready, silent, cordoned. Pure: it reads only an overview."""

from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from typing import Final

from common.amounts import counted
from common.text import argument, plain
from leadsman.web.attention import kinds
from leadsman.web.attention.item import Item, Step
from leadsman.web.reading.ask import RowDict
from leadsman.web.reading.nodes import NodeLine
from leadsman.web.reading.overview import Overview, Since, earliest, first
from leadsman.web.reading.words import duration, sentence, timestamp
from streams.fold.titles import no_report, pods_unknown, reported
from streams.rules.eviction.shortage import NO_NEW_PODS
from streams.rules.pod_ends.when import drainer


def not_ready(view: Overview) -> Iterator[Item]:
    """Yield cards for Ready False and Unknown. A drained node is only a note, because somebody wants it to leave."""
    of_nodes = f"of {counted(sum(node.known for node in view.nodes), 'node')}"
    drained = [row for row in view.not_ready if _leaves(row)]
    others = [row for row in view.not_ready if row not in drained]
    if rows := [row for row in others if row["ready"] is not None]:
        words = reported(sentence(plain(rows[0]["message"])).rstrip("."))
        text = f"{f'{words} ' if len(rows) == 1 else ''}{_leases(rows)}{NO_NEW_PODS.capitalize()}."
        step = Step(f"See kubectl describe node {argument(rows[0]['node'])} and its kubelet's and runtime's logs")
        title = "Not Ready" if view.node else f"{len(rows)} {of_nodes} not Ready"
        yield _of(kinds.NOT_READY, rows, title, text, step)
    if rows := [row for row in others if row["ready"] is None]:
        last = last_sample(node for node in view.nodes if node.name in {row["node"] for row in rows})
        text = f"{sentence(no_report(len(rows)))} {last}{_leases(rows)}{pods_unknown(len(rows))}"
        step = check_machine(rows[0]["node"])
        title = "Ready unknown" if view.node else f"{len(rows)} {of_nodes} with Ready unknown"
        yield _silent(_of(kinds.READY_UNKNOWN, rows, title, text, step))
    for report in (_being_removed, _cordoned):
        of_it = [row for row in drained if bool(drainer(row["taints"])) == (report is _being_removed)]
        if rows := [row for row in of_it if not does_not_report(row)]:
            yield report(view, rows, of_nodes)
        if rows := [row for row in of_it if does_not_report(row)]:
            item = report(view, rows, of_nodes)
            last = last_sample(node for node in view.nodes if node.name in item.nodes)
            yield _silent(item._replace(title=f"{item.title}, Ready unknown", text=f"{item.text} {last}".rstrip()))


def _silent(item: Item) -> Item:
    """Return a card about silent kubelets with the alert that their statistics are missing."""
    return item._replace(alert_keys=(*item.alert_keys, ("StreamStalled", "stats/summary")))


def _cordoned(view: Overview, rows: Sequence[RowDict], of_nodes: str) -> Item:
    text = f"{NO_NEW_PODS.capitalize()}.{_down(rows, one=bool(view.node) or len(rows) == 1)}"
    ready = [row for row in rows if row["ready"]]
    state = "it is unknown whether it is Ready" if rows[0]["ready"] is None else "it is not Ready"
    step = Step(
        f"When the maintenance is over: kubectl uncordon {argument(ready[0]['node'])}"
        if ready
        else f"See kubectl describe node {argument(rows[0]['node'])} before it is uncordoned: {state}"
    )
    title = "Cordoned" if view.node else f"{len(rows)} {of_nodes} cordoned"
    item = _of(kinds.LEAVING, rows, title, text, step)._replace(since=None, or_earlier=False)
    return item.begun(first(view.begun, "cordoned", ("",), item.nodes))


def last_sample(nodes: Iterable[NodeLine]) -> str:
    """Say when nodes without recent statistics were last sampled, if that was at one time."""
    ages = {node.sample_age for node in nodes if node.stale and node.sample_age}
    return f"Last sample: {min(ages)}. " if len(ages) == 1 else ""


def _leaves(row: RowDict) -> bool:
    return bool(row["cordoned"] or drainer(row["taints"]))


def silent_nodes(view: Overview) -> set[str]:
    """Return the nodes whose card says that their kubelets do not report."""
    return {row["node"] for row in view.not_ready if does_not_report(row)}


def does_not_report(row: RowDict) -> bool:
    """Tell whether a row of `not_ready` is about a silent kubelet. A truncated Node does not show that."""
    return row["ready"] is None and bool(row["message"])


def check_machine(node: str) -> Step:
    """Return the next step for a node whose kubelet does not report."""
    return Step(f"Check the machine of {plain(node)}, its kubelet and its network")


def cordoned_by_event(view: Overview) -> Iterator[Item]:
    """Yield a card for a cordon that only an Event shows."""
    if rows := view.event_cordons:
        title = "Cordoned (from an Event)" if view.node else f"{counted(len(rows), 'node')} cordoned (from an Event)"
        nodes, text = tuple(row["node"] for row in rows), "No Node object in the data shows it."
        step = Step(f"Check whether it still is: kubectl get node {argument(nodes[0])}")
        yield kinds.CORDONED_BY_EVENT.item(title, text, nodes, since=rows[0]["since"], step=step)


def _down(rows: Sequence[RowDict], *, one: bool) -> str:
    """Say how many nodes are not Ready, and for how many that is unknown; empty if there are none."""
    parts = []
    for is_unknown, words in ((False, "not Ready"), (True, "silent, so whether {} Ready is unknown")):
        number = sum(is_not_ready(row) and (row["ready"] is None) is is_unknown for row in rows)
        if number:
            who = "It is" if one else f"{number} of them {'is' if number == 1 else 'are'}"
            parts.append(f" {who} {words.format('it is' if number == 1 else 'they are')}.")
    return "".join(parts)


def is_not_ready(row: RowDict) -> bool:
    """Tell whether a row of `not_ready` says that the node is not Ready, rather than only cordoned."""
    return row["ready"] == 0 or does_not_report(row)


def problems(view: Overview) -> Iterator[Item]:
    """Yield a card for each condition of nodes that shows a problem, other than the kubelet's own conditions."""
    for condition in dict.fromkeys(row["condition"] for row in view.problems):
        rows = [row for row in view.problems if row["condition"] == condition]
        name, node = plain(condition), argument(rows[0]["node"])
        of_nodes = "" if view.node else f" of {counted(len(rows), 'node')}"
        words = sentence(plain(rows[-1]["said"])) if rows[-1]["said"] else ""
        text = f"The last: {words}" if words and len(rows) > 1 else words
        step = Step(f"See kubectl describe node {node}, and what sets this condition")
        title = f"Condition {name}{of_nodes} reports a problem"
        yield _of(kinds.CONDITION._replace(of_each=name), rows, title, text, step)


def _being_removed(view: Overview, rows: Sequence[RowDict], of_nodes: str) -> Item:
    """Report a node that an autoscaler removes, because nobody should uncordon it.

    A Ready node can have an old taint.
    """
    by = " and ".join(dict.fromkeys(drainer(row["taints"]) for row in rows))
    title = f"Being removed by {by}" if view.node else f"{len(rows)} {of_nodes} being removed by {by}"
    keeps = f"{'Its taint keeps' if len(rows) == 1 else 'Their taints keep'} new pods away."
    text = f"{keeps}{_down(rows, one=bool(view.node) or len(rows) == 1)}"
    left = next((row for row in rows if row["ready"]), None)
    name = argument((left or rows[0])["node"])
    if left is not None:
        key = _taint(left)[0]
    step = Step(
        f"If {by} does not finish, the taint was left behind: kubectl taint node {name} {argument(f'{key}-')}"
        if left is not None
        else f"See what {by} says: kubectl get events --field-selector involvedObject.name={name}"
    )
    item = _of(kinds.LEAVING, rows, title, text, step)._replace(since=None, or_earlier=False)
    marked = [at for row in rows if (at := _marked(_taint(row)[1], view)) is not None]
    if marked and len(marked) == len(rows):
        at = min(marked)
        before = duration((view.scope.judged_at - at).total_seconds())
        which = "The taint" if len(set(marked)) == 1 else "The oldest taint"
        return item._replace(text=f"{text} {which} dates from {timestamp(at)} UTC, {before} before.", since=at)
    return item.begun(first(view.begun, "cordoned", ("",), item.nodes))


def _taint(row: RowDict) -> tuple[str, str]:
    taint = next(taint for taint in row["taints"] if drainer([taint]))
    key, _, value = taint.partition(":")[0].partition("=")
    return key, value


def _marked(value: str, view: Overview) -> datetime | None:
    """Return when the taint was added: cluster-autoscaler writes that as its value, in seconds since 1970."""
    if not (value.isascii() and value.isdigit() and len(value) <= _DIGITS):
        return None
    at = datetime.fromtimestamp(int(value), UTC)
    return at if at <= view.scope.judged_at else None


_DIGITS: Final = 10


def _leases(rows: Sequence[RowDict]) -> str:
    """Describe the age of the Leases at the time of the check; nodes whose Lease was not read are left out."""
    seen = [row["lease_age_seconds"] for row in rows if row["lease_seen"]]
    ages = sorted(age for age in seen if age is not None)
    if not seen:
        return ""
    if not ages:
        return f"The last renewal of {'its Lease' if len(seen) == 1 else 'their Leases'} is unknown. "
    first, last = duration(ages[0]), duration(ages[-1])
    if len(rows) == 1:
        return f"Its Lease had last been renewed {first} before that was seen. "
    before = first if first == last else f"{first} to {last}"
    return f"{counted(len(ages), 'Lease')} had last been renewed {before} before that was seen. "


def _of(kind: kinds.Kind, rows: Sequence[RowDict], title: str, text: str, step: Step) -> Item:
    began = earliest(Since(row["since"], bool(row.get("or_earlier"))) for row in rows)
    return kind.item(title, text, (row["node"] for row in rows), step=step).begun(began)
