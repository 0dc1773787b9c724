"""Kubelet settings that deserve a warning, with the start and end of each: table
`settings_warnings`. The rules are those of `streams.rules.kubelet.settings`.
"""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Final

import msgspec

from ingest.messages.reasons import is_kubelet_start
from ingest.model.objects.event import event_time
from ingest.model.objects.node import KubeletConfiguration, Node
from ingest.model.records import EventRecord, KnownNodeRecord, NodeRecord, PodRecord, Record, SettingsRecord
from streams.fold.findings import SettingsWarning
from streams.fold.reducer import Output, Reducer
from streams.rules.eviction.signals import CONDITIONS
from streams.rules.eviction.thresholds import effective_thresholds
from streams.rules.kubelet.settings import FADING, SWINGS, Kubelet, concerns, reserved
from streams.rules.pods.qos import has_ended
from streams.rules.pods.requests import effective_requests, is_critical
from streams.rules.values.quantity import in_base_units

SETTLED_AFTER: Final = timedelta(minutes=6)
"""A kubelet reports its node's status at least every 5 minutes."""
LONGEST_MESSAGE: Final = 300
"""Maximum number of characters that are quoted from an Event."""
_NO_CGROUP: Final = "FailedNodeAllocatableEnforcement"
_NO_SANDBOX: Final = "FailedCreatePodSandBox"
_RUNTIME_IS_SYSTEMD: Final = ("for systemd cgroups", '"/kubepods')
"""Parts of its message; the text between them is withheld."""
_CONDITIONS: Final = frozenset(CONDITIONS.values())


class Held(msgspec.Struct, frozen=True, array_like=True):
    rule: str
    subject: str
    problem: str
    advice: str


class State(msgspec.Struct, frozen=True, omit_defaults=True):
    config: KubeletConfiguration | None = None
    """None before complete settings were seen; settings without some default are a fragment, and ignored."""
    version: str = ""
    capacity: dict[str, int] = {}
    allocatable: dict[str, int] = {}
    amplified: bool = False
    changed_at: datetime | None = None
    """The last change of settings or resources after they were first seen; None once they have settled."""
    started_at: datetime | None = None
    """The kubelet's start, by its own Event."""
    pressures: dict[str, tuple[datetime, ...]] = {}
    daemon_pods: dict[str, str] = {}
    """DaemonSet of each pod that is evicted again and again, by uid."""
    events: dict[str, str] = {}
    held: tuple[Held, ...] = ()


def step(state: State, record: Record) -> tuple[State, Sequence[Output]]:
    match record:
        case NodeRecord(change="DELETED"):
            return State(daemon_pods=state.daemon_pods), _changed(state.held, (), record)
        case NodeRecord(object=node) | KnownNodeRecord(object=node):
            after = _node(state, node, record.ts)
        case SettingsRecord():
            after = _settings(state, record)
        case PodRecord():
            after = _pod(state, record)
        case EventRecord():
            after = _event(state, record)
        case _:
            return state, ()
    if after.changed_at is not None and record.ts - after.changed_at >= SETTLED_AFTER:
        after = msgspec.structs.replace(after, changed_at=None)
    fades = any(each.rule in FADING for each in after.held)
    if after.config is None or (after == state and after.changed_at is None and not fades):
        return after, ()
    found = concerns(_kubelet(after, after.config, record.ts))
    held = tuple(Held(rule, subject, each.problem, each.advice) for (rule, subject), each in found.items())
    if held == after.held:
        return after, ()
    return msgspec.structs.replace(after, held=held), _changed(after.held, held, record)


def _kubelet(state: State, config: KubeletConfiguration, now: datetime) -> Kubelet:
    return Kubelet(
        now=now,
        config=config,
        version=state.version,
        capacity=state.capacity,
        allocatable=state.allocatable,
        settled=state.changed_at is None,
        amplified=state.amplified,
        pressures=state.pressures,
        daemon_sets=frozenset(state.daemon_pods.values()),
        events=state.events,
    )


def _changed(before: Sequence[Held], held: Sequence[Held], record: Record) -> list[Output]:
    subjects = {(each.rule, each.subject) for each in held}
    begun = [(each, True) for each in held if each not in before]
    ended = [(each, False) for each in before if (each.rule, each.subject) not in subjects]
    return [
        SettingsWarning(*record.row_key, each.rule, each.subject, holds, each.problem, each.advice)
        for each, holds in begun + ended
    ]


def _settings(state: State, record: SettingsRecord) -> State:
    """Apply new settings.

    Raises BadRecord for settings with which no kubelet would start; the earlier ones stay in force.
    """
    config = record.config
    if config == state.config:
        return state
    effective_thresholds(config, state.version)
    reserved(config)
    if config.eviction_hard is None:
        return state
    changed_at = None if state.config is None else record.ts
    return msgspec.structs.replace(state, config=config, changed_at=changed_at or state.changed_at)


def _node(state: State, node: Node, at: datetime) -> State:
    pressures = dict(state.pressures)
    for each in node.status.conditions or ():
        if each.type in _CONDITIONS and each.status == "True" and each.last_transition_time is not None:
            began = pressures.get(each.type, ())
            if each.last_transition_time not in began:
                pressures[each.type] = (*began, each.last_transition_time)[-SWINGS:]
    info, notes = node.status.node_info, node.metadata.annotations
    capacity, allocatable = in_base_units(node.status.capacity), in_base_units(node.status.allocatable)
    version = info.kubelet_version
    is_new = state.capacity and (capacity, allocatable, version) != (state.capacity, state.allocatable, state.version)
    return msgspec.structs.replace(
        state,
        version=version,
        capacity=capacity,
        allocatable=allocatable,
        pressures=pressures,
        changed_at=at if is_new else state.changed_at,
        amplified=notes is not None
        and bool(notes.koordinator_raw_allocatable or notes.koordinator_amplification_ratio),
    )


def _pod(state: State, record: PodRecord) -> State:
    uid, name = record.object.metadata.uid, _daemon_set(record)
    if state.daemon_pods.get(uid, "") == name:
        return state
    pods = {key: each for key, each in state.daemon_pods.items() if key != uid}
    return msgspec.structs.replace(state, daemon_pods=pods | {uid: name} if name else pods)


def _daemon_set(record: PodRecord) -> str:
    """Return the DaemonSet whose pod is evicted repeatedly for memory; empty for any other pod."""
    pod = record.object
    owner = next((each for each in pod.metadata.owner_references or () if each.controller), None)
    if owner is None or owner.kind != "DaemonSet" or has_ended(record) or is_critical(pod):
        return ""
    return "" if effective_requests(pod).get("memory") else f"{pod.metadata.namespace}/{owner.name}"


def _event(state: State, record: EventRecord) -> State:
    event = record.object
    at = event_time(event) or record.ts
    if state.started_at is not None and at < state.started_at:
        return state
    if is_kubelet_start(event.reason, event.text):
        return msgspec.structs.replace(state, started_at=at, events={})
    text = event.text[:LONGEST_MESSAGE]
    if event.reason == _NO_CGROUP:
        return _supported(state, "reservation_failed", text)
    if event.reason == _NO_SANDBOX and all(each in event.text for each in _RUNTIME_IS_SYSTEMD):
        return _supported(state, "cgroup_driver", "A pod's sandbox could not be created.")
    return state


def _supported(state: State, rule: str, text: str) -> State:
    if state.events.get(rule) == text:
        return state
    return msgspec.structs.replace(state, events={**state.events, rule: text})


REDUCER: Final = Reducer(
    name="settings_warnings",
    version=1,
    log="node",
    takes=(SettingsRecord, NodeRecord, KnownNodeRecord, PodRecord, EventRecord),
    state=State,
    step=step,
)
