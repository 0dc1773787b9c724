"""Explains the ends of pods and containers, from their first witness: table `pod_ends`.

A pod's end is one row, independent of what follows: deleting a rejected pod is not another end. Each end of a
restarted container is a separate row. A pod whose own process ended it has one too (`exited`).
"""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Final

from msgspec.structs import replace

from ingest.model.objects.event import event_time
from ingest.model.objects.pod import Pod
from ingest.model.records import (
    EventRecord,
    KnownNodeRecord,
    KnownPodRecord,
    NodeRecord,
    PodActRecord,
    PodRecord,
    Record,
)
from streams.analytics.pod_end_rows import new_row
from streams.analytics.pod_end_state import (
    BOUNDED,
    MAX_ENDS,
    Announcement,
    Open,
    State,
    bounded,
    compared_with,
    explained_by_machine,
    is_unexplained,
    key_of,
    left_open,
    witnessed,
)
from streams.fold.findings import PodEnd
from streams.fold.reducer import Output, Reducer
from streams.fold.shelves import on_shelf, put, without
from streams.rules.pod_ends.causes import (
    KUBELET,
    OOM_KILLED,
    OUTLIVED_KILL,
    PREEMPTED,
    SIGKILL,
    ContainerEnd,
    End,
    attempt_that_ended,
    container_ends,
    exit_code,
    is_end_by_probe,
    is_failed_probe,
    known_code,
    kubelet_end,
    own_end,
    pod_end,
    preempted_end,
    restarted_by_probe,
    restarts_of,
)
from streams.rules.pod_ends.machine import end_of_container, may_be_of_a_reboot, was_rebooted, with_event, with_node
from streams.rules.pod_ends.when import When, deletion_asked_at, drainer, event_when
from streams.rules.pods.qos import FINISHED
from streams.rules.scheduling.constraints import DEFAULT_SCHEDULER, constraints_of

DELETION_GRACE: Final = timedelta(seconds=30)
"""The usual grace period between a deletion request and `deletionTimestamp`, if the Pod lacks it."""
PROBE_MEMORY: Final = timedelta(minutes=10)
"""A failed probe is remembered this long, which exceeds the longest usual grace period."""


def step(state: State, record: Record) -> tuple[State, Sequence[Output]]:
    match record:
        case NodeRecord(object=node):
            disruptor = drainer(taint.key for taint in node.spec.taints or ())
            state = state if disruptor == state.disruptor else replace(state, disruptor=disruptor)
            after, rows = explained_by_machine(state, with_node(state.machine, node), record)
        case KnownNodeRecord(object=node):
            after, rows = explained_by_machine(state, with_node(state.machine, node), record)
        case PodRecord():
            after, rows = _pod(state, record)
        case KnownPodRecord(object=pod):
            after, rows = _implied(state, pod), list[PodEnd]()
        case PodActRecord():
            after, rows = _note_announcement(state, record)
        case EventRecord() if record.change != "DELETED":
            after, rows = _event(state, record)
        case _:
            return state, ()
    return after, rows


def _implied(state: State, pod: Pod) -> State:
    """Remember the facts of a pod that its Events lack: its owner, and a static pod's UID."""
    uid, annotations = pod.metadata.uid, pod.metadata.annotations
    owner = next((each for each in pod.metadata.owner_references or () if each.controller), None)
    owners = state.owners if owner is None else put(state.owners, uid, (owner.kind, owner.name))
    mirror = {annotations.config_mirror: uid} if annotations is not None and annotations.config_mirror else {}
    return replace(state, owners=owners, mirrored=state.mirrored | mirror)


def _pod(state: State, record: PodRecord) -> tuple[State, list[PodEnd]]:
    pod, is_gone = record.object, record.change == "DELETED"
    uid, rows = pod.metadata.uid, list[PodEnd]()
    for each in container_ends(pod):
        state = _container_ended(state, record, each, rows)
    if state.owners:
        state = replace(state, owners=without(state.owners, uid))
    known = on_shelf(state.ends, key_of(uid, "", 0))
    end = pod_end(pod, record.ts, is_gone=is_gone, is_first=record.change == "ADDED")
    if end is None and known is None:
        end = _end_without_witness(state, record)
    if end is not None and not on_shelf(state.finished, uid):
        if end.cause == "api_eviction" and state.disruptor:
            end = end._replace(actor=state.disruptor)
        row = new_row(record, pod.metadata, end)
        if end.cause in BOUNDED and not row.time_known:
            state = left_open(state, Open(row))
            row = bounded(state.machine, row)
        elif row.refused_by == "node_labels":
            node_terms = constraints_of(pod).nodes
            state = left_open(state, Open(row, node_terms=node_terms))
            row = compared_with(state.machine, row, node_terms)
        state = witnessed(state, row, rows)
    elif known is not None:
        is_both = known.witness == "event" and pod.status.phase in FINISHED
        later = known._replace(
            exit_code=exit_code(pod),
            deleted=is_gone,
            updated_at=record.ts,
            witness="both" if is_both else known.witness,
        )
        state = witnessed(state, later, rows)
    return _remember(state, record), rows


def _container_ended(state: State, record: PodRecord, ended: ContainerEnd, rows: list[PodEnd]) -> State:
    """Record the end of a container.

    An OOM kill is an end by itself, and so is a kill by an unknown actor with a restart after it. For other ends, the
    status has the exit code for the Event. The kernel did not kill a container that completed, or ended by SIGTERM,
    even if its cgroup counted a kill.
    """
    pod, terminated = record.object.metadata, ended.terminated
    if terminated.reason == OOM_KILLED and terminated.exit_code not in OUTLIVED_KILL:
        end = End(
            "oom_kill",
            "kernel",
            OOM_KILLED,
            "",
            _when_seen(record) if terminated.finished_at is None else When(terminated.finished_at),
        )
        row = new_row(record, pod, end, ended.container, ended.attempt)
        row = row._replace(exit_code=terminated.exit_code, restarted=ended.restarted)
        return witnessed(state, row, rows)
    known = on_shelf(state.ends, key_of(pod.uid, ended.container, ended.attempt))
    when, failed_at = end_of_container(terminated), state.unhealthy.get(pod.uid)
    by_probe = failed_at is not None and when is not None and is_end_by_probe(record.object, failed_at, when.at)
    if when is not None and ended.restarted and may_be_of_a_reboot(terminated) and not by_probe:
        row = new_row(record, pod, End("node_reboot", "", "Rebooted", "", when), ended.container, ended.attempt)
        row = row._replace(exit_code=known_code(terminated), restarted=True, witness="both")
        state = left_open(state, Open(row, terminated.started_at, ended.started_at))
        if was_rebooted(state.machine, terminated.started_at, when.at, ended.started_at):
            return witnessed(state, row, rows) if is_unexplained(known) else state
    if known is None and ended.restarted and known_code(terminated) == SIGKILL and terminated.finished_at is not None:
        if by_probe:
            end = End("liveness", KUBELET, "Unhealthy", "", When(terminated.finished_at))
        else:
            end = End("exited", "", terminated.reason, "", When(terminated.finished_at))
        row = new_row(record, pod, end, ended.container, ended.attempt)
        return witnessed(state, row._replace(exit_code=SIGKILL, restarted=True), rows)
    if known is None or known.exit_code is not None:
        return state
    return witnessed(state, known._replace(exit_code=known_code(terminated), updated_at=record.ts), rows)


def _when_seen(record: PodRecord) -> When:
    """Bound the end of a container by the start of its pod, if known, and this reading."""
    started = record.object.status.start_time
    earliest = started if started is not None and started <= record.ts else None
    return When(record.ts, is_known=False, earliest=earliest, latest=record.ts)


def _end_without_witness(state: State, record: PodRecord) -> End | None:
    """Name the cause: a deletion before the end, else a failed probe shortly before it, else the pod itself."""
    pod = record.object
    deletion_at = deletion_asked_at(pod)
    if pod.status.phase not in FINISHED:
        is_deleted = deletion_at is not None or record.change == "DELETED"
        return End("deleted", "", "", "", When(min(deletion_at or record.ts, record.ts))) if is_deleted else None
    failed_at = state.unhealthy.get(pod.metadata.uid)
    if deletion_at is None and failed_at is not None and is_end_by_probe(pod, failed_at, record.ts):
        return End("liveness", KUBELET, "Unhealthy", "", When(failed_at))
    return None if _ended_in_container(state, pod) else _own_or_deleted(pod, record.ts)


def _own_or_deleted(pod: Pod, read_at: datetime) -> End | None:
    """Return the end of a finished pod: by its deletion, unless it ended by itself before that."""
    own, deletion_at = own_end(pod, read_at), deletion_asked_at(pod)
    grace = timedelta() if deletion_at != pod.metadata.deletion_timestamp else DELETION_GRACE
    is_before = own is not None and own.when is not None and own.when.is_known and own.when.at
    if deletion_at is None or (is_before and is_before < deletion_at - grace):
        return own
    return End("deleted", "", "", "", When(min(deletion_at, read_at)))


def _ended_in_container(state: State, pod: Pod) -> bool:
    containers = (*(pod.status.init_container_statuses or ()), *(pod.status.container_statuses or ()))
    rows = (on_shelf(state.ends, key_of(pod.metadata.uid, each.name, each.restart_count)) for each in containers)
    return any(row is not None and not row.restarted for row in rows)


def _remember(state: State, record: PodRecord) -> State:
    """Remember whether the pod ended by itself, and its containers' restarts, for its later records."""
    pod, uid = record.object, record.object.metadata.uid
    is_gone = record.change == "DELETED"
    was_own, counts = on_shelf(state.finished, uid), {} if is_gone else restarts_of(pod)
    is_own = pod.status.phase in FINISHED and (was_own or on_shelf(state.ends, key_of(uid, "", 0)) is None)
    finished, restarts = state.finished, state.restarts
    if state.gone not in {"", uid}:
        finished = without(finished, state.gone)
    if is_own != bool(was_own):
        finished = put(finished, uid, True) if is_own else without(finished, uid)
    if counts != (on_shelf(restarts, uid) or {}):
        restarts = put(restarts, uid, counts) if counts else without(restarts, uid)
    gone = uid if is_own and is_gone else ""
    unhealthy = {each: at for each, at in state.unhealthy.items() if not (is_gone and each == uid)}
    mirrored = {static: mirror for static, mirror in state.mirrored.items() if mirror != uid}
    annotations = pod.metadata.annotations
    if not is_gone and annotations is not None and annotations.config_mirror:
        mirrored[annotations.config_mirror] = uid
    after = replace(state, finished=finished, gone=gone, restarts=restarts, unhealthy=unhealthy, mirrored=mirrored)
    return state if after == state else after


def _event(state: State, record: EventRecord) -> tuple[State, list[PodEnd]]:
    event, rows = record.object, list[PodEnd]()
    involved = event.involved
    if involved.kind == "Node":
        at = event_time(event) or record.ts
        return explained_by_machine(state, with_event(state.machine, event.reason, event.text, at), record)
    if involved.kind != "Pod" or not involved.uid:
        return state, rows
    when, text, component = event_when(event, record.ts), event.text, event.component
    at = when.at
    if component not in {"", KUBELET} or event.reason == PREEMPTED:
        end = preempted_end(event.reason, text, component or DEFAULT_SCHEDULER, when)
        return (state if end is None else witnessed(state, new_row(record, involved, end), rows)), rows
    if (mirror := state.mirrored.get(involved.uid)) is not None:
        involved = replace(involved, uid=mirror)
    if event.reason == "Unhealthy":
        if is_failed_probe(text):
            state = replace(state, unhealthy=_recent(state.unhealthy, involved.uid, at))
        return state, rows
    if event.reason == "Killing":
        container = restarted_by_probe(text)
        if container is not None:
            attempt = _attempt(state, involved.uid, container, at)
            restarts = (on_shelf(state.restarts, involved.uid) or {}).get(container)
            code = dict(restarts.exit_codes).get(attempt) if restarts else None
            row = new_row(record, involved, End("liveness", KUBELET, event.reason, text, when), container, attempt)
            row = _owned(state, row)._replace(restarted=True, exit_code=code)
            state = witnessed(state, row, rows)
        return state, rows
    end = kubelet_end(event.reason, text, when)
    if end is not None and not on_shelf(state.finished, involved.uid):
        state = witnessed(state, _owned(state, new_row(record, involved, end)), rows)
    return state, rows


def _owned(state: State, row: PodEnd) -> PodEnd:
    owner = on_shelf(state.owners, row.uid)
    return row if owner is None else row._replace(owner_kind=owner[0], owner_name=owner[1])


def _note_announcement(state: State, record: PodActRecord) -> tuple[State, list[PodEnd]]:
    """Remember who announced the end of a pod, and add that to the row of a known end."""
    acted, rows = Announcement(record.cause, record.actor, record.reason, record.message, record.at), list[PodEnd]()
    state = replace(state, acts=put(state.acts, record.uid, acted, MAX_ENDS))
    known = on_shelf(state.ends, key_of(record.uid, "", 0))
    if known is not None:
        state = witnessed(state, known._replace(updated_at=max(known.updated_at, record.ts)), rows)
    return state, rows


def _attempt(state: State, uid: str, container: str, at: datetime) -> int:
    restarts = (on_shelf(state.restarts, uid) or {}).get(container)
    before = restarts and on_shelf(state.ends, key_of(uid, container, restarts.number - 1))
    return attempt_that_ended(restarts, at, before.ts if before else None)


def _recent(unhealthy: dict[str, datetime], uid: str, at: datetime) -> dict[str, datetime]:
    kept = {each: failed_at for each, failed_at in unhealthy.items() if at - failed_at <= PROBE_MEMORY}
    return {**kept, uid: max(at, kept.get(uid, at))}


REDUCER: Final = Reducer(
    name="pod_ends",
    version=6,
    log="node",
    takes=(PodRecord, KnownPodRecord, EventRecord, NodeRecord, KnownNodeRecord, PodActRecord),
    state=State,
    step=step,
)
