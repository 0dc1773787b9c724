"""Combines pasted texts with the objects of a dump (rules: pasted-text). An API object has more than a text about it.

So the text is left out if the object is there, and its Events get the pod's UID.
"""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from datetime import datetime, timedelta
from itertools import chain
from typing import Any, Final

import msgspec

from ingest.files.history import Fact
from ingest.files.lines import SourceError
from ingest.files.texts.ages import with_zone
from ingest.files.texts.columns import OF_CONTAINERS
from ingest.files.texts.event_rows import SCHEDULED, without_status_words
from ingest.files.texts.merged import merged
from ingest.messages.reasons import is_by_kubelet
from ingest.model.objects.base import UNKNOWN_NAME
from ingest.model.objects.event import Event
from ingest.model.objects.pod import Pod
from ingest.model.observation import UNDECODABLE
from ingest.resources.events import EVENTS
from ingest.resources.nodes import NODES
from ingest.resources.pods import PODS

_ANY: Final = msgspec.json.Decoder(dict[str, Any])
_EVENT: Final = msgspec.json.Decoder(Event)
_BY_KUBELET: Final = "Kubelet"
"""The kubelet's condition has the reason KubeletHasDiskPressure, but its Event NodeHasDiskPressure."""
_BY_KARPENTER: Final = "Evicted pod"
"""The text of a pod's Events with reason Evicted."""
_SLACK: Final = timedelta(minutes=10)
"""Tolerance for ages, more than the longest unit of a young age: a text can be older than its newest time."""


_SECOND: Final = timedelta(seconds=1)
"""The API's times of creation and of Events are whole seconds."""


class _Condition(msgspec.Struct, frozen=True, rename="camel"):
    reason: str = ""
    last_transition_time: datetime | None = None


class _Status(msgspec.Struct, frozen=True):
    conditions: list[_Condition] = []


class _Name(msgspec.Struct, frozen=True):
    name: str = ""


class _Node(msgspec.Struct, frozen=True):
    metadata: _Name = _Name()
    status: _Status = _Status()


_NODE: Final = msgspec.json.Decoder(_Node)
_POD: Final = msgspec.json.Decoder(Pod)


def completed_facts(
    pasted: Iterable[Fact],
    objects: Iterable[Fact],
    of_logs: Mapping[str, set[str]] = {},
    hosts: Mapping[str, set[str]] = {},
    refused: list[SourceError] | None = None,
) -> Iterator[Fact]:
    """Yield each pasted thing that is not among the objects, once, with UIDs from other sources.

    `of_logs` has UIDs of pods in logs, by `namespace/name`. `hosts` has their nodes, if no other source has them.
    `refused` receives contradictions between texts.
    """
    refused = [] if refused is None else refused
    pasted, objects = list(pasted), list(objects)
    if not pasted:
        return
    names = {fact.thing.identity[:3] for fact in objects if fact.thing.identity}
    known_events = {_message_and_object(fact) for fact in objects if fact.thing.resource == EVENTS.name}
    around = (*pasted, *objects) if any(map(_is_unnamed, pasted)) else ()
    named = set(chain.from_iterable(_words(fact) for fact in around if not _is_unnamed(fact)))
    uids = _uids_of_pods(objects)
    for name, others in of_logs.items():
        uids[name] = dict.fromkeys(others) | uids.get(name, {})
    pasted = list(_in_namespaces(pasted, objects, hosts))
    nodes = {**hosts, **_nodes_of_pods((*pasted, *objects))}
    dated = dict(chain.from_iterable(_transitions(fact) for fact in (*pasted, *objects)))
    texts_of: dict[tuple[str, ...], list[Fact]] = {}
    for fact in pasted:
        is_event = fact.thing.resource == EVENTS.name
        telling = _message_and_object(fact) if is_event else ()
        key = (*telling, fact.thing.identity[2]) if is_event else fact.thing.identity
        if fact.thing.identity[:3] in names or (is_event and telling in known_events):
            continue
        if _is_unnamed(fact) and _words(fact) & named:
            continue  # its object is in another text
        texts_of.setdefault(key, []).append(fact)
    for fact in chain.from_iterable(merged(facts, refused) for facts in texts_of.values()):
        is_event = fact.thing.resource == EVENTS.name
        fact = _with_uid(_add_node(fact, nodes) if is_event else _bound(fact, nodes), uids)  # noqa: PLW2901 - as it is
        yield (_add_time(fact, dated) if is_event else fact)._replace(is_from_text=True)


def _uids_of_pods(objects: Iterable[Fact]) -> dict[str, dict[str, datetime | None]]:
    """Return the UIDs of pods by name, from the pods and from Events, each with its creation if known."""
    uids: dict[str, dict[str, datetime | None]] = {}
    for fact in objects:
        with suppress(*UNDECODABLE):
            if fact.thing.resource == PODS.name and fact.thing.identity:
                _, namespace, name, uid = fact.thing.identity
                uids.setdefault(f"{namespace}/{name}", {})[uid] = None
                uids[f"{namespace}/{name}"][uid] = _POD.decode(fact.thing.raw).metadata.creation_timestamp
            elif fact.thing.resource == EVENTS.name:
                involved = _EVENT.decode(fact.thing.raw).involved
                if involved.kind == "Pod" and involved.uid:
                    uids.setdefault(f"{involved.namespace}/{involved.name}", {}).setdefault(involved.uid)
    return uids


def _nodes_of_pods(facts: Iterable[Fact]) -> dict[str, set[str]]:
    """Return the nodes of each pod, by the pod itself, and by Events of its scheduler and kubelet."""
    nodes: dict[str, set[str]] = {}
    for fact in facts:
        with suppress(*UNDECODABLE):
            if fact.thing.resource == PODS.name:
                pod = _POD.decode(fact.thing.raw)
                if pod.spec.node_name:
                    nodes.setdefault(f"{pod.metadata.namespace}/{pod.metadata.name}", set()).add(pod.spec.node_name)
            elif fact.thing.resource == EVENTS.name:
                event = _EVENT.decode(fact.thing.raw)
                if (found := SCHEDULED.fullmatch(event.text)) is not None:
                    nodes.setdefault(f"{found['ns']}/{found['pod']}", set()).add(found["node"])
                involved = event.involved
                source = event.source
                if involved.kind == "Pod" and source and source.component == "kubelet" and source.host:
                    nodes.setdefault(f"{involved.namespace}/{involved.name}", set()).add(source.host)
    return nodes


def _node_of(about: Mapping[str, Any], nodes: Mapping[str, set[str]]) -> str:
    """Return the only node on which a pod is known to have been, else an unknown one."""
    known = nodes.get(f"{about.get('namespace', '')}/{about['name']}", set())
    return next(iter(known)) if len(known) == 1 else UNKNOWN_NAME


def _bound(fact: Fact, nodes: Mapping[str, set[str]]) -> Fact:
    """Give a pod that has ended, or whose containers have a state, the node from other texts, else an unknown one.

    A table of pods names nodes only with `-o wide`, and a part of a pod seldom has the node. Only a kubelet sets the
    state of a container.
    """
    if fact.thing.resource != PODS.name:
        return fact
    pod = _ANY.decode(fact.thing.raw)
    status = pod["status"]
    states = (each.get("state") or each.get("lastState") for kind in OF_CONTAINERS for each in status.get(kind) or ())
    has_run = status.get("phase") == "Running" or bool(status.get("startTime")) or any(states)
    if pod["spec"].get("nodeName") or not (has_run or is_by_kubelet(status.get("reason", ""))):
        return fact
    raw = msgspec.json.encode(pod | {"spec": pod["spec"] | {"nodeName": _node_of(pod["metadata"], nodes)}})
    return fact._replace(thing=fact.thing._replace(raw=raw))


def _add_node(fact: Fact, nodes: Mapping[str, set[str]]) -> Fact:
    """Give an Event about a pod the pod's node, if its table has no column for its source."""
    event = _ANY.decode(fact.thing.raw)
    about, source = event["involvedObject"], event["source"]
    is_by_other = not is_by_kubelet(event["reason"]) or event["message"].startswith(_BY_KARPENTER)
    if about["kind"] != "Pod" or source["host"] or source["component"] not in {"", "kubelet"} or is_by_other:
        return fact
    raw = msgspec.json.encode(event | {"source": source | {"host": _node_of(about, nodes)}})
    return fact._replace(thing=fact.thing._replace(raw=raw))


def _in_namespaces(pasted: Iterable[Fact], objects: Iterable[Fact], logged: Iterable[str]) -> Iterator[Fact]:
    """Give rows of a table without namespaces the namespace of the only pod with that name; if there are several,
    leave the row out.
    """
    pasted = list(pasted)
    spaces: dict[str, set[str]] = {}
    for namespace, _, name in (each.rpartition("/") for each in logged):
        spaces.setdefault(name, set()).add(namespace)
    for fact in (*pasted, *objects):
        if fact.thing.resource == PODS.name and fact.thing.identity and fact.thing.identity[1]:
            spaces.setdefault(fact.thing.identity[2], set()).add(fact.thing.identity[1])
        elif fact.thing.resource == EVENTS.name and b"Successfully assigned " in fact.thing.raw:
            with suppress(*UNDECODABLE):
                event = _EVENT.decode(fact.thing.raw)
                if (placed := SCHEDULED.fullmatch(event.text)) is not None:
                    spaces.setdefault(placed["pod"], set()).add(placed["ns"])
    for fact in pasted:
        resource, namespace, *_ = fact.thing.identity
        if namespace or resource not in {PODS.name, EVENTS.name}:
            yield fact
            continue
        made = _ANY.decode(fact.thing.raw)
        about = made["involvedObject"] if resource == EVENTS.name else made["metadata"]
        found = spaces.get(about["name"], {UNKNOWN_NAME})
        if len(found) > 1:
            continue
        (namespace,) = found
        about |= {"namespace": namespace, "uid": f"{namespace}/{about['name']}"}
        made["metadata"]["namespace"] = namespace
        uid = about["uid"] if resource == PODS.name else ""
        identity = (resource, namespace, made["metadata"]["name"], uid)
        yield fact._replace(thing=fact.thing._replace(raw=msgspec.json.encode(made), identity=identity))


def _message_and_object(fact: Fact) -> tuple[str, ...]:
    """Return the message of an Event, and its object; empty if it cannot be read."""
    try:
        event = _ANY.decode(fact.thing.raw)
    except UNDECODABLE:
        return ()
    about = event.get("involvedObject") or event.get("regarding")
    if not isinstance(about, dict):
        return ()
    text = event.get("message") or event.get("note") or ""
    namespace = about.get("namespace") if about.get("kind") == "Pod" else ""
    return (
        str(namespace),
        *(str(about.get(each, "")) for each in ("kind", "name")),
        str(event.get("reason")),
        str(text).strip(),
    )


def _words(fact: Fact) -> set[str]:
    """Return a kubelet's message from an Event or from the status of a pod."""
    if fact.thing.resource not in {PODS.name, EVENTS.name}:
        return set()
    try:
        made = _ANY.decode(fact.thing.raw)
    except UNDECODABLE:
        return set()
    status = made.get("status")
    texts = (made.get("message"), made.get("note"), status.get("message") if isinstance(status, dict) else None)
    return {without_status_words(each) for each in texts if isinstance(each, str) and each.strip()}


def _is_unnamed(fact: Fact) -> bool:
    """Tell whether a pod, or the object of an Event, has no name: then the Event's own name begins with that of a
    nameless pod.
    """
    return fact.thing.identity[2:3] != () and fact.thing.identity[2].startswith(UNKNOWN_NAME)


def _transitions(fact: Fact) -> Iterator[tuple[tuple[str, str], datetime]]:
    """Yield when a Node's conditions last changed and when an evicted pod ended, by object and the Event's reason."""
    if fact.thing.resource == PODS.name:
        with suppress(*UNDECODABLE):
            pod = _POD.decode(fact.thing.raw)
            if pod.status.reason == "Evicted" and (ended := max(_ends_of_containers(pod), default=None)):
                key = f"{pod.metadata.namespace}/{pod.metadata.name}", pod.status.reason
                yield key, ended
    if fact.thing.resource != NODES.name:
        return
    with suppress(*UNDECODABLE):
        node = _NODE.decode(fact.thing.raw)
        for condition in node.status.conditions:
            if condition.last_transition_time and condition.reason.startswith(_BY_KUBELET):
                reason = "Node" + condition.reason.removeprefix(_BY_KUBELET)
                at = condition.last_transition_time
                yield (node.metadata.name, reason), with_zone(at)


def _ends_of_containers(pod: Pod) -> Iterator[datetime]:
    for each in pod.status.container_statuses or ():
        if each.state and each.state.terminated and each.state.terminated.finished_at:
            yield with_zone(each.state.terminated.finished_at)


def _add_time(fact: Fact, transitions: Mapping[tuple[str, str], datetime]) -> Fact:
    """Give an Event the time of the Node's condition or of the pod's containers, if its age fits that."""
    event = _EVENT.decode(fact.thing.raw)
    involved = event.involved_object
    if involved is None:
        return fact
    name = f"{involved.namespace}/{involved.name}" if involved.kind == "Pod" else involved.name
    at = transitions.get((name, event.reason))
    around = [each for each in (event.earliest, event.latest) if each is not None]
    if at is None or not around or not min(around) - _SLACK <= at <= max(around) + _SLACK:
        return fact
    fields = {
        name: value for name, value in _ANY.decode(fact.thing.raw).items() if name not in {"earliest", "latest"}
    }
    return fact._replace(thing=fact.thing._replace(raw=msgspec.json.encode(fields | {"lastTimestamp": at})))


def _with_uid(fact: Fact, uids: Mapping[str, Mapping[str, datetime | None]]) -> Fact:
    """Give a pod, or an Event about one, the only UID known for its name.

    An Event from before that pod is about an earlier one with its name.
    """
    made = _ANY.decode(fact.thing.raw)
    field = "involvedObject" if "involvedObject" in made else "metadata"
    known = uids.get(made[field].get("uid", ""), {})
    if len(known) != 1:
        return fact
    ((uid, created),) = known.items()
    if created is not None and field == "involvedObject":
        until = made.get("latest") or ("" if "earliest" in made else made["lastTimestamp"])
        if until and with_zone(datetime.fromisoformat(until)) < with_zone(created) - _SECOND:
            return fact
    raw = msgspec.json.encode(made | {field: made[field] | {"uid": uid}})
    own = fact.thing.identity
    identity = (*own[:3], uid) if own and fact.thing.resource == PODS.name else own
    return fact._replace(thing=fact.thing._replace(raw=raw, identity=identity))
