"""Finds who ends a pod by the Events that controllers write about it (rules: how-pods-end).

Such an Event announces what may still fail, so it ends nothing by itself: it only names who ended a pod that is over.
"""

import re
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Final, NamedTuple

from ingest.model.objects.event import Event
from streams.rules.events.counting import component_of, message
from streams.rules.events.messages import plain
from streams.rules.pod_ends.causes import Cause

ASKED_BEFORE: Final = timedelta(minutes=2)
"""So long the autoscaler of clusters tries to evict a pod, after its Event about that."""
REPORTED_WITHIN: Final = timedelta(seconds=10)
"""So late the Event of an end can come, with the clocks of two machines."""


class Act(NamedTuple):
    """An announcement that a pod is ended."""

    cause: Cause
    actor: str
    namespace: str
    pod: str
    uid: str
    """Empty if the Event has the pod's name alone."""


class _Author(NamedTuple):
    """A program that ends pods, by its Events about them."""

    components: frozenset[str]
    reason: str
    """Empty if it is one of many."""
    is_text: Callable[[str], object]
    cause: Cause
    actor: str


_KNOWN: Final = (
    _Author(
        frozenset({"", "sigs.k8s.io/descheduler", "sigs.k8s.io.descheduler"}),
        "",
        re.compile(r"pod evict(?:ed|ion) (?:from \S{1,253} node )?by sigs\.k8s\.io/descheduler").match,
        "api_eviction",
        "descheduler",
    ),
    _Author(
        frozenset({"", "vpa-updater"}),
        "EvictedByVPA",
        re.compile(r"Pod was evicted by VPA Updater").match,
        "api_eviction",
        "vpa-updater",
    ),
    _Author(frozenset({"karpenter"}), "Evicted", re.compile("Evicted pod").match, "api_eviction", "karpenter"),
    _Author(
        frozenset({"eks-auto-mode/compute"}),
        "Evicted",
        re.compile("Evicted pod").match,
        "api_eviction",
        "EKS Auto Mode",
    ),
    _Author(frozenset({"karpenter"}), "Disrupted", re.compile("Deleting the pod ").match, "deleted", "karpenter"),
    _Author(
        frozenset({"", "cluster-autoscaler"}),
        "ScaleDown",
        re.compile("deleting pod for node scale down").fullmatch,
        "api_eviction",
        "cluster-autoscaler",
    ),
    _Author(
        frozenset({"", "taint-eviction-controller", "taint-controller"}),
        "TaintManagerEviction",
        re.compile("Marking for deletion Pod ").match,
        "taint_manager",
        "taint-eviction-controller",
    ),
    _Author(
        frozenset({"", "node-controller", "controllermanager"}),
        "NodeControllerEviction",
        re.compile("Marking for deletion Pod ").match,
        "node_lost",
        "node-controller",
    ),
)
_CONTROLLERS: Final = frozenset({"Job", "ReplicaSet", "ReplicationController", "DaemonSet", "StatefulSet"})
_DELETED: Final = re.compile(r"Deleted pod: (\S{1,253})|delete Pod (\S{1,253}) in StatefulSet \S{1,253} successful")


def act_of(event: Event) -> Act | None:
    """Return the announcement of an Event that a pod is ended; None for any other Event."""
    about, text, component = event.involved_object or event.regarding, plain(message(event)), component_of(event)
    if about is None:
        return None
    if about.kind in _CONTROLLERS and event.reason == "SuccessfulDelete" and (found := _DELETED.fullmatch(text)):
        actor = component or f"{about.kind.lower()}-controller"
        return Act("deleted", actor, about.namespace, found[1] or found[2], "")
    if about.kind != "Pod":
        return None
    author = next((each for each in _KNOWN if _wrote(each, component, event.reason, text)), None)
    return author and Act(author.cause, author.actor, about.namespace, about.name, about.uid)


def _wrote(author: _Author, component: str, reason: str, text: str) -> bool:
    return component in author.components and author.reason in {"", reason} and bool(author.is_text(text))


def explains(cause: str, at: datetime, ended_as: str, earliest: datetime, latest: datetime) -> bool:
    """Tell whether an announcement at a time names who ended a pod that ended between two times.

    It adds to a deletion by nobody known, and to an eviction through the API.
    """
    if ended_as not in {"deleted", "api_eviction"} or (ended_as == "api_eviction" and cause != ended_as):
        return False
    return earliest - ASKED_BEFORE <= at <= latest + REPORTED_WITHIN
