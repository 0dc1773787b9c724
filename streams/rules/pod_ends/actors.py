"""Finds who ended a pod, from the Events that controllers write about it (rules: how-pods-end).

Such an Event does not prove an end, because the deletion can fail. It only names the actor of an end seen elsewhere.
"""

import re
from datetime import datetime, timedelta
from typing import Final, NamedTuple

from ingest.model.objects.event import Event
from streams.rules.events.messages import message_body
from streams.rules.pod_ends.causes import Cause
from streams.rules.values.expressions import Operand, is_among, starts_with_match
from streams.rules.values.wording import first_of

MAX_LEAD: Final = timedelta(minutes=2)
"""Longest time from an Event to the end: the cluster autoscaler retries an eviction for up to this long."""
MAX_LAG: Final = timedelta(seconds=10)
"""Longest time from an end to the Event about it, because the clocks of two machines differ."""


class PodEndClaim(NamedTuple):
    """A controller's statement that it ends a pod."""

    cause: Cause
    actor: str
    namespace: str
    pod: str
    uid: str
    """Empty if the Event has only the pod's name."""


class _Author(NamedTuple):
    """A program that ends pods, and how to recognise its Events."""

    components: tuple[str, ...]
    """The Event has one of these components; an empty one stands for an Event without a component."""
    reason: str
    """Empty if the program uses several reasons: any matches."""
    text_pattern: str
    """The Event's text starts with a match of this pattern."""
    cause: Cause
    actor: str
    follows_eviction: bool = False
    """True if the program writes the Event after the API accepted the eviction."""


_AUTHORS: Final = (
    _Author(
        ("", "sigs.k8s.io/descheduler", "sigs.k8s.io.descheduler"),
        "",
        r"pod evict(?:ed|ion) (?:from \S{1,253} node )?by sigs\.k8s\.io/descheduler",
        "api_eviction",
        "descheduler",
        follows_eviction=True,
    ),
    _Author(
        ("", "vpa-updater"),
        "EvictedByVPA",
        r"Pod was evicted by VPA Updater",
        "api_eviction",
        "vpa-updater",
        follows_eviction=True,
    ),
    # without a component, an Event with the reason Evicted can be a kubelet's
    _Author(("karpenter",), "Evicted", "Evicted pod", "api_eviction", "karpenter", follows_eviction=True),
    _Author(
        ("eks-auto-mode/compute",), "Evicted", "Evicted pod", "api_eviction", "EKS Auto Mode", follows_eviction=True
    ),
    _Author(("karpenter",), "Disrupted", "Deleting the pod ", "deleted", "karpenter"),
    _Author(
        ("", "cluster-autoscaler"),
        "ScaleDown",
        "deleting pod for node scale down$",
        "api_eviction",
        "cluster-autoscaler",
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
_AUTHORS_BY_COMPONENT: Final = {
    name: [author for author in _AUTHORS if name in author.components]
    for name in sorted({name for author in _AUTHORS for name in author.components})
}
_CONTROLLERS: Final = frozenset({"Job", "ReplicaSet", "ReplicationController", "DaemonSet", "StatefulSet"})
_DELETED: Final = re.compile(r"Deleted pod: (\S{1,253})|delete Pod (\S{1,253}) in StatefulSet \S{1,253} successful")


def claim_of(event: Event) -> PodEndClaim | None:
    """Return the claim if an Event says that a pod is being ended; None for any other Event."""
    involved, text, component = event.involved, message_body(event.text), event.component
    if involved.kind in _CONTROLLERS and event.reason == "SuccessfulDelete" and (match := _DELETED.fullmatch(text)):
        actor = component or f"{involved.kind.lower()}-controller"
        return PodEndClaim("deleted", actor, involved.namespace, match[1] or match[2], "")
    if involved.kind != "Pod":
        return None
    candidates = _AUTHORS_BY_COMPONENT.get(component, ())
    author = next((each for each in candidates if _wrote(each, component, event.reason, text)), None)
    return author and PodEndClaim(author.cause, author.actor, involved.namespace, involved.name, involved.uid)


def _wrote(author: _Author, component: Operand, reason: Operand, text: Operand) -> Operand:
    """Tell whether an author wrote an Event, whose `text` lacks the prefix of combined Events.

    The rules from here on take values of an Event or columns of a query (`streams.rules.values.expressions`).
    """
    matches = is_among(component, author.components)
    matches = matches & (reason == author.reason) if author.reason else matches
    return matches & starts_with_match(text, author.text_pattern)


def evicted_by(component: Operand, reason: Operand, text: Operand) -> Operand:
    """Return who evicted a pod if an Event was written after its eviction; an empty text for any other Event."""
    evictors = [author for author in _AUTHORS if author.follows_eviction]
    return first_of(*((_wrote(each, component, reason, text), each.actor) for each in evictors), otherwise="")


def marked_for_taint(component: Operand, reason: Operand, text: Operand) -> Operand:
    """Tell whether an Event says that a pod is deleted for a taint of its node."""
    [author] = (each for each in _AUTHORS if each.cause == "taint_manager")
    return _wrote(author, component, reason, text)


def explains(cause: str, at: datetime, ended_as: str, earliest: datetime, latest: datetime) -> bool:
    """Tell whether a claim of the time `at` explains the end of a pod between `earliest` and `latest`.

    Any cause explains a deletion. Only an API eviction explains an API eviction.
    """
    if ended_as not in {"deleted", "api_eviction"} or (ended_as == "api_eviction" and cause != ended_as):
        return False
    return earliest - MAX_LEAD <= at <= latest + MAX_LAG
