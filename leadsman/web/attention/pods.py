"""Builds cards about pods: evicted, rejected, OOM killed, pending, resized, not ending.

Pure: it reads only an overview.
"""

from collections.abc import Iterator, Sequence
from typing import Any, Final

from common.amounts import counted
from common.text import argument, plain
from ingest.model.objects.base import UNKNOWN_NAME
from ingest.resources.rejections import UNSEEN_BY_SCHEDULER
from leadsman.web.attention import kinds
from leadsman.web.attention.item import Item, Step, distinct, first_owner, named_owner, owners_of
from leadsman.web.reading.ask import RowDict
from leadsman.web.reading.overview import Overview
from leadsman.web.reading.words import sentence
from streams.alerting.rejections import fewer, known_cause
from streams.fold.findings import KERNEL_KILLS
from streams.fold.titles import (
    OUTSIDE_PODS,
    WORD_ALONE,
    for_own_limits,
    oom_kills,
    pods_evicted,
    pods_rejected,
)
from streams.rules.events.admission import amount, of, parse_refusal
from streams.rules.eviction.shortage import FAMILIES, UNKNOWN_CAUSE, WHY_UNKNOWN, short_of

MOST_REASONS: Final = 4
"""Maximum number of reasons that a card lists."""
MOST_NAMES: Final = 3
"""Maximum number of pods that a card names."""
MOST_TEXT: Final = 300
"""Maximum number of characters of a message."""
MOST_AUTOSCALER_TEXT: Final = 500
"""Maximum number of characters of an autoscaler's message:

Karpenter gives the reason last, after resources and requirements.
"""


def evicted(view: Overview) -> Iterator[Item]:
    """Yield a card for each resource of pressure, one for pods' own limits, and one for unknown causes."""
    under_pressure = [row for row in view.evicted if row["cause"] == "pressure"]
    for resource in dict.fromkeys(row["resource"] for row in under_pressure):
        rows = [row for row in under_pressure if row["resource"] == resource]
        pods = sum(row["pods"] for row in rows)
        outside = resource == "ephemeral-storage" and sum(row["unexplained"] for row in rows) * 2 > pods
        step = _EVICTION_STEPS.get(resource, kinds.EVICTED.step)
        yield _ended(
            kinds.EVICTED,
            f"{pods_evicted(pods)} for {short_of(resource)}",
            rows,
            "pods",
            "pressure",
            resource,
            text=OUTSIDE_PODS if outside else "",
            step=_DISK_STEP if outside else step,
            short_of=FAMILIES.get(resource, ""),
            fact=f"{pods_evicted(pods)}{' for inodes' if resource == 'inodes' else ''}",
            is_cause=outside,
        )
    if rows := [row for row in view.evicted if row["cause"] == "limit"]:
        pods = sum(row["pods"] for row in rows)
        title = f"{pods_evicted(pods)} {for_own_limits(pods)}"
        text = f"{'They' if pods > 1 else 'It'} used more local storage than allowed."
        step = Step(f"Raise the limit of {named_owner(rows)}, or find what fills it")
        yield _ended(kinds.EVICTED_FOR_LIMIT, title, rows, "pods", "limit", text=text, step=step)
    if rows := [row for row in view.evicted if row["cause"] == UNKNOWN_CAUSE]:
        title = f"{pods_evicted(sum(row['pods'] for row in rows))}: {WHY_UNKNOWN}"
        yield _ended(kinds.EVICTED_UNKNOWN, title, rows, "pods", UNKNOWN_CAUSE, text=WORD_ALONE)


_DISK_STEP: Final = Step("Check system logs, images and host paths", "disk_growth")
_EVICTION_STEPS: Final = {
    "memory": Step("Compare what pods use with what they request", "requests"),
    "ephemeral-storage": Step("Find what fills the disk", "disk_growth"),
    "inodes": Step("Find what makes many small files", "evicted_pods"),
    "pids": Step("Find what creates so many processes", "evicted_pods"),
}


UNEXPECTED: Final = "UnexpectedAdmissionError"
"""The kubelet's reason for several different failures: only the message names the manager and the resource."""


def rejected(view: Overview) -> Iterator[Item]:
    """Yield a card for each reason, and for each form of an unexpected error, with the kubelet's last message."""
    rows = [row for row in view.killed if row["cause"] == "admission"]
    for reason, kind in dict.fromkeys((row["reason"], row["kind"]) for row in rows):
        same = [row for row in rows if (row["reason"], row["kind"]) == (reason, kind)]
        pods = sum(row["pods"] for row in same)
        refusals = [row for row in view.refused if row["reason"] == reason]
        numa = ""
        if reason == UNEXPECTED:
            refusals = [row for row in refusals if (row["refused_by"], row["resource"]) == kind]
        else:
            numa = next((row["explanation"] for row in view.numa_failures if row["reason"] == reason), "")
        denied = next((row for row in refusals if row["is_contradicted"]), None)
        yield _ended(
            kinds.REJECTED,
            pods_rejected(pods),
            same,
            text=_refusal(reason, refusals, numa, denied, pods),
            step=_against(reason, same, refusals, denied),
            alert_keys=_alerts_of(reason),
        )


def _refusal(reason: str, refusals: Sequence[RowDict], numa: str, denied: RowDict | None, pods: int) -> str:
    """Explain the reason by the kubelet's texts and facts that contradict them, with the last text itself."""
    last = denied or (refusals[0] if refusals else None)
    known = known_cause(reason)
    others = [row["explanation"] for row in refusals if not (known and _is_said_by_reason(row))]
    others = [text for text in others if not numa.startswith(text.rstrip("."))]  # the same refusal, other amounts
    words = [denied["explanation"]] if denied and not numa else [*dict.fromkeys(filter(None, (numa, *others)))]
    parts = [sentence(known)] if known else []
    which = ("The last: " if _explains(last, words) else "One of them: ") if pods > 1 and (known or words[1:]) else ""
    parts += [f"{which}{sentence(words[0])}"] if words else []
    parts += [f"Others: {' '.join(map(sentence, words[1:MOST_REASONS]))}"] if words[1:] else []
    if denied:
        parts.append(_contradiction(denied))
    if last and last["message"]:
        parts.append(f"The kubelet reported: {sentence(plain(last['message'], MOST_TEXT))}")
    return " ".join(parts)


def _is_said_by_reason(row: RowDict) -> bool:
    """Tell whether `known_cause` already says what the explanation says. A volume limit has no resource."""
    return row["refused_by"] in _SAID_BY_REASON or (row["refused_by"] == "resources" and not row["resource"])


def _explains(last: RowDict | None, words: Sequence[str]) -> bool:
    """Tell whether the explanation covers the last refusal, and not an earlier one."""
    explained = last["explanation"].rstrip(".") if last else ""
    return last is None or (bool(explained) and bool(words) and words[0].startswith(explained))


def _contradiction(denied: RowDict) -> str:
    """Return facts of the API that contradict a refusal: the kubelet counts pods that are gone, or knows fewer
    resources.
    """
    resource, free, allocatable = denied["contradiction"]
    if _exceeds_known_capacity(denied):
        return f"The Node object offers {plain(amount(allocatable, resource))}."
    free_of = of(free, allocatable, resource)
    return f"The API shows {plain(free_of)} free: the kubelet still counts pods that are gone."


def _exceeds_known_capacity(denied: RowDict) -> bool:
    refusal = parse_refusal(denied["reason"], denied["message"])
    return None not in {refusal.capacity, refusal.requested} and (refusal.capacity or 0) < (refusal.requested or 0)


def _against(reason: str, same: Sequence[RowDict], refusals: Sequence[RowDict], denied: RowDict | None) -> Step:
    if denied and not _exceeds_known_capacity(denied):
        return Step(
            f"Restart the kubelet of {plain(denied['node'])}. Drain the node first: this can end running pods, and "
            "leadsman query restart_ends foresees only some of them"
        )
    if reason in UNSEEN_BY_SCHEDULER or (refusals and refusals[0]["refused_by"] in _OF_NUMA):
        return Step(f"{fewer(*first_owner(same))}, and see what fits", "numa_map")
    step = _against_last(refusals[0], is_denied=denied is not None) if refusals else None
    return step or kinds.REJECTED.step


def _against_last(last: RowDict, *, is_denied: bool) -> Step | None:
    resource = plain(last["resource"])
    name = "NODE" if plain(last["node"]) == UNKNOWN_NAME else argument(last["node"])
    if "/" in resource and last["refused_by"] in {"resources", "device_manager"}:
        return Step(f"See whether the device plugin of {resource} runs on {name}, and delete the failed pods")
    if _exceeds_known_capacity(last):
        if resource.startswith("hugepages-"):
            return Step(f"Give {name} {resource}, drain it and restart its kubelet, or keep such pods off it")
        if is_denied or not parse_refusal(last["reason"], last["message"]).capacity:
            return Step(f"Delete the failed pods; if new ones are refused too, drain {name} and restart its kubelet")
    words = _STEPS.get(last["reason"]) or _STEPS.get(last["refused_by"])
    return words._replace(words=words.words.format(name)) if words else None


_STEPS: Final = {
    "VolumeAttachmentLimitExceeded": Step("See what the driver can attach: kubectl get csinode {} -o yaml"),
    "node_labels": Step("See kubectl get node {} --show-labels; delete the failed pods, and recreate bare ones"),
    "node_shutdown": Step("Delete the failed pods, and recreate bare ones: nothing else does"),
    "node_pressure": Step("Find what {} lacks", "pressure_history"),
    "host_port": Step(
        "Find the pod that uses the port: kubectl get pods -A --field-selector spec.nodeName={} "
        "-o custom-columns=NS:.metadata.namespace,POD:.metadata.name,PORTS:.spec.containers[*].ports[*].hostPort"
    ),
    "resources": Step("Compare what the pods on {} request with what it has", "fit"),
    "taint": Step("See the taints of the node: kubectl describe node {}"),
    "node_name": Step("Find what sets spec.nodeName of the pods to another node than {}"),
    "system": Step("Give the pods a node selector for their operating system, kubernetes.io/os"),
    "security": Step("Change the pods' security context, or allow it in the kubelet of {}"),
    "feature": Step("Keep such pods off {}, or give its kubelet the version or feature gate that they need"),
}
_SAID_BY_REASON: Final = frozenset(
    {"node_labels", "node_pressure", "host_port", "taint", "node_shutdown", "system", "security"}
)
_OF_NUMA: Final = frozenset({"topology_manager", "cpu_manager", "memory_manager"})


def _alerts_of(reason: str) -> tuple[tuple[str, str], ...]:
    runaway = (("TopologyAdmissionRunaway", ""),) if reason in UNSEEN_BY_SCHEDULER else ()
    return (("PodsRejected", reason), *runaway)


def out_of_memory(view: Overview) -> Iterator[Item]:
    if rows := [row for row in view.killed if row["cause"] == "oom_kill"]:
        kills = sum(row["times"] for row in rows)
        containers = len({(row["namespace"], row["owner"], row["container"]) for row in rows})
        title = f"{oom_kills(kills)} of {counted(containers, 'container')}"
        step = f"See whether {named_owner(rows, 'times')} reached its own limit, or the node ran out"
        yield _ended(kinds.OOM_KILLED, title, rows, "times", text=KERNEL_KILLS, step=Step(step, "oom_storms"))


def _ended(
    kind: kinds.Kind,
    title: str,
    rows: Sequence[RowDict],
    counted: str = "pods",
    *values: str,
    text: str = "",
    **more: Any,
) -> Item:
    first, last = min(row["first_at"] for row in rows), max(row["last_at"] for row in rows)
    or_earlier, is_bounded = any(row["or_earlier"] for row in rows), not any(row["timed"] for row in rows)
    first = last if or_earlier and is_bounded else first
    times = {"since": first, "until": last, "or_earlier": or_earlier, "is_bounded": is_bounded}
    given = {"now": False, "who": owners_of(rows, counted)} | times | more
    return kind.item(title, text, distinct(row["node"] for row in rows), *values, **given)


def waiting(view: Overview) -> Iterator[Item]:
    """Yield a card of pending pods with their main reasons, and another if the scheduler contradicts the API."""
    if not view.waiting:
        return
    pods = sum(row["pods"] for row in view.waiting)
    listed = [
        f"{_group(row)}: {plain(row['why'], MOST_TEXT).rstrip('.') or _unexplained(row)}{_autoscaler(row)}"
        for row in view.waiting[:MOST_REASONS]
    ]
    more = len(view.waiting) - len(listed)
    text = ". ".join(listed) + (f". And {counted(more, 'more group')}." if more else ".")
    first = min(view.waiting, key=lambda row: row["first_since"])
    since, or_earlier = first["first_since"], bool(first["or_earlier"])
    nodes = distinct(row["node"] for row in view.waiting)
    step = _next_step(view.waiting[0])
    yield kinds.PENDING.item(
        f"{counted(pods, 'pod')} Pending", text, nodes, since=since, or_earlier=or_earlier, step=step
    )
    if view.contradicted:
        yield _contradicted(view)


def _unexplained(row: RowDict) -> str:
    return "no reason was seen" if row["node"] else "no scheduler message was seen"


def _next_step(row: RowDict) -> Step:
    if not row["node"]:
        return Step("See where each would fit", "pending_pods --by node")
    if row["event"] == "FailedAttachVolume":
        return Step("See how many volumes the node has, and can attach", "node_volumes")
    return Step(f"Read the Events of its pods: kubectl describe pod {_named(row)}")


def _contradicted(view: Overview) -> Item:
    nodes = distinct(view.contradicted.values())
    pods = len(view.contradicted)
    text = f"{counted(pods, 'pending pod fits', 'pending pods fit')} {plain(nodes[0])}"
    text += f" or {counted(len(nodes) - 1, 'other node')}" if len(nodes) > 1 else ""
    text += " by the API's objects, but the scheduler has just found no room. It may count a pod that is gone."
    return kinds.CONTRADICTED.item("The scheduler contradicts the API: inconclusive", text, nodes)


def _autoscaler(row: RowDict) -> str:
    words = plain(row["autoscaler"], MOST_AUTOSCALER_TEXT).rstrip(" .:")  # cluster-autoscaler's list can be empty
    return f". {words}" if words else ""


def _group(row: RowDict) -> str:
    if row["pods"] == 1:
        who = f"{plain(row['namespace'])}/{plain(row['pod'])}"
    else:
        owner = plain(row["owner"]).replace("/", " ", 1)
        who = f"{row['pods']}{' of ' + owner if owner else ''} in {plain(row['namespace'])}"
    return f"{who} on {plain(row['node'])}" if row["node"] else who


def resizes(view: Overview) -> Iterator[Item]:
    """Yield a card each for resizes that the kubelet deferred and for impossible ones."""
    for state, why, kind in (
        ("deferred", "Waiting for room", kinds.DEFERRED),
        ("infeasible", "Impossible on this node", kinds.INFEASIBLE),
    ):
        if rows := [row for row in view.resizes if row["state"] == state]:
            message = plain(rows[0]["message"], MOST_TEXT)
            words = f" The kubelet reported: {sentence(message)}" if message else ""
            text = f"{why}: {_names(rows)}.{words}"
            yield _of_pods(kind, f"{counted(len(rows), 'resize')} {state}", text, rows)


def terminating(view: Overview) -> Iterator[Item]:
    """Yield cards for pods that do not go away: their kubelet is gone or cannot end them, or a finalizer holds the
    object.
    """
    rows = view.terminating
    if not rows:
        return
    lost = [row["node"] for row in view.not_ready if row["ready"] is None]
    away = distinct(row["node"] for row in rows if row["node"] in lost)
    if away:
        text = f"{plain(away[0])} does not report, so nothing confirms that they ended; a StatefulSet waits for that."
        step = Step(f"{_POWERED_OFF}: kubectl taint node {argument(away[0])} {_OUT_OF_SERVICE}=:NoExecute")
        taints = [taint for row in view.not_ready if row["node"] == away[0] for taint in row["taints"]]
        if any(taint.startswith(_OUT_OF_SERVICE) for taint in taints):
            step = Step(
                f"{plain(away[0])} has the taint out-of-service: see why the pod garbage collector deletes none"
            )
    elif all(row["is_over"] for row in rows):
        have = "Its containers have" if len(rows) == 1 else "Their containers have"
        text = f"{have} ended: a finalizer holds the object, or the kubelet has not cleaned up."
        step = Step(f"See its finalizers: kubectl get pod {_named(rows[0])} -o jsonpath={{.metadata.finalizers}}")
    else:
        text = "A long grace period has not ended, the kubelet cannot end them, or a finalizer holds them."
        step = Step(f"Read its state: kubectl describe pod {_named(rows[0])}")
    title = f"{counted(len(rows), 'pod')} still Terminating"
    yield _of_pods(kinds.TERMINATING._replace(step=step), title, f"{_names(rows)}. {text}", rows)


_OUT_OF_SERVICE: Final = "node.kubernetes.io/out-of-service"
_POWERED_OFF: Final = (
    "If its provider or console confirms that the machine is off (one that still runs may write to the same volumes)"
)


def _named(row: RowDict) -> str:
    """Return a pod's name and namespace as kubectl arguments."""
    return f"-n {argument(row['namespace'])} {argument(row['pod'])}"


def _of_pods(kind: kinds.Kind, title: str, text: str, rows: Sequence[RowDict]) -> Item:
    return kind.item(title, text, distinct(row["node"] for row in rows), since=min(row["since"] for row in rows))


def _names(rows: Sequence[RowDict]) -> str:
    named = [f"{plain(row['namespace'])}/{plain(row['pod'])}" for row in rows[:MOST_NAMES]]
    more = len(rows) - len(named)
    return ", ".join(named) + (f" and {counted(more, 'more', 'more')}" if more else "")
