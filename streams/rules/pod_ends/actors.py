"""Finds who ends a pod by the Events that controllers write about it (rules: how-pods-end).

Such an Event announces what may still fail, so it ends nothing by itself: it only names who ended a pod that is over.
"""

import re
from datetime import datetime, timedelta
from typing import Final, NamedTuple

from ingest.model.objects.event import Event
from streams.rules.events.messages import message_body
from streams.rules.pod_ends.causes import Cause
from streams.rules.values.expressions import Amount, begins_as, is_among
from streams.rules.values.wording import first_of

ASKED_BEFORE: Final = timedelta(minutes=2)
"""An announcement can precede the end by this much: the cluster autoscaler retries an eviction for so long."""
REPORTED_WITHIN: Final = timedelta(seconds=10)
"""An announcement can follow the end by this much, because the clocks of two machines differ."""


class Act(NamedTuple):
    cause: Cause
    actor: str
    namespace: str
    pod: str
    uid: str
    """Empty if the Event has the pod's name alone."""


class _Author(NamedTuple):
    """A program that ends pods, by its Events about them."""

    components: tuple[str, ...]
    reason: str
    """Empty if the program uses several reasons."""
    text: str
    """The Event's text begins with a match of this pattern."""
    cause: Cause
    actor: str
    is_done: bool = True
    """The API had accepted the eviction when the Event was written."""


_KNOWN: Final = (
    _Author(
        ("", "sigs.k8s.io/descheduler", "sigs.k8s.io.descheduler"),
        "",
        r"pod evict(?:ed|ion) (?:from \S{1,253} node )?by sigs\.k8s\.io/descheduler",
        "api_eviction",
        "descheduler",
    ),
    _Author(("", "vpa-updater"), "EvictedByVPA", r"Pod was evicted by VPA Updater", "api_eviction", "vpa-updater"),
    _Author(("karpenter",), "Evicted", "Evicted pod", "api_eviction", "karpenter"),
    _Author(("eks-auto-mode/compute",), "Evicted", "Evicted pod", "api_eviction", "EKS Auto Mode"),
    _Author(("karpenter",), "Disrupted", "Deleting the pod ", "deleted", "karpenter"),
    _Author(
        ("", "cluster-autoscaler"),
        "ScaleDown",
        "deleting pod for node scale down$",
        "api_eviction",
        "cluster-autoscaler",
        is_done=False,
    ),
    _Author(
        ("", "taint-eviction-controller", "taint-controller"),
        "TaintManagerEviction",
        "Marking for deletion Pod ",
        "taint_manager",
        "taint-eviction-controller",
    ),
    _Author(
        ("", "node-controller", "controllermanager"),
        "NodeControllerEviction",
        "Marking for deletion Pod ",
        "node_lost",
        "node-controller",
    ),
)
_OF: Final = {name: [each for each in _KNOWN if name in each.components] for author in _KNOWN for name in author[0]}
_CONTROLLERS: Final = frozenset({"Job", "ReplicaSet", "ReplicationController", "DaemonSet", "StatefulSet"})
_DELETED: Final = re.compile(r"Deleted pod: (\S{1,253})|delete Pod (\S{1,253}) in StatefulSet \S{1,253} successful")


def act_of(event: Event) -> Act | None:
    """Return the announcement if an Event says that a pod is being ended; None for any other Event."""
    involved, text, component = event.involved, message_body(event.text), event.component
    if involved.kind in _CONTROLLERS and event.reason == "SuccessfulDelete" and (found := _DELETED.fullmatch(text)):
        actor = component or f"{involved.kind.lower()}-controller"
        return Act("deleted", actor, involved.namespace, found[1] or found[2], "")
    if involved.kind != "Pod":
        return None
    author = next((each for each in _OF.get(component, ()) if _wrote(each, component, event.reason, text)), None)
    return author and Act(author.cause, author.actor, involved.namespace, involved.name, involved.uid)


def _wrote(author: _Author, component: Amount, reason: Amount, text: Amount) -> Amount:
    """Tell whether an author wrote an Event, whose `text` is without the prefix of combined Events."""
    by_it = is_among(component, author.components)
    by_it = by_it & (reason == author.reason) if author.reason else by_it
    return by_it & begins_as(text, author.text)


def evicted_by(component: Amount, reason: Amount, text: Amount) -> Amount:
    """Return who evicted a pod if an Event was written after its eviction; an empty text for any other Event."""
    after = [each for each in _KNOWN if each.cause == "api_eviction" and each.is_done]
    return first_of(*((_wrote(each, component, reason, text), each.actor) for each in after), otherwise="")


def marked_for_taint(component: Amount, reason: Amount, text: Amount) -> Amount:
    """Tell whether an Event says that a pod is deleted for a taint of its node."""
    [author] = (each for each in _KNOWN if each.cause == "taint_manager")
    return _wrote(author, component, reason, text)


def explains(cause: str, at: datetime, ended_as: str, earliest: datetime, latest: datetime) -> bool:
    """Tell whether an announcement explains the end of a pod between `earliest` and `latest`.

    Any cause explains a deletion. Only an API eviction explains an API eviction.
    """
    if ended_as not in {"deleted", "api_eviction"} or (ended_as == "api_eviction" and cause != ended_as):
        return False
    return earliest - ASKED_BEFORE <= at <= latest + REPORTED_WITHIN
