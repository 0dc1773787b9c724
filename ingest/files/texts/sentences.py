"""Translates messages of kubelets before 1.21 into those of later ones, with their values (rules: kubelet-log)."""

import re
from itertools import islice
from typing import Final, NamedTuple, TypeAlias

Values: TypeAlias = dict[str, str | list[str]]

_POD: Final = r"(?P<{0}>[a-z0-9][a-z0-9.-]{{0,252}}_[a-z0-9-]{{1,63}}\([0-9A-Za-z.-]{{1,64}}\))"
_ONE_POD: Final = _POD.format("a_pod")
_RESOURCE: Final = r"(?P<resourceName>[A-Za-z-]{1,40})"
_PODS: Final = re.compile(_POD.format("pod"))
_MOST_PODS: Final = 512


class _Sentence(NamedTuple):
    prefix: str
    """Its start, which distinguishes it from other lines."""
    pattern: re.Pattern[str]
    said: str
    """The later text."""


def _sentence(prefix: str, pattern: str, kind: str) -> _Sentence:
    return _Sentence(prefix, re.compile(pattern, re.DOTALL), kind)


_SENTENCES: Final = (
    _sentence(
        "eviction manager: attempting to reclaim ",
        rf"eviction manager: attempting to reclaim {_RESOURCE}",
        "Eviction manager: attempting to reclaim",
    ),
    _sentence(
        "eviction manager: able to reduce ",
        rf"eviction manager: able to reduce {_RESOURCE} pressure without evicting pods\.",
        "Eviction manager: able to reduce resource pressure without evicting pods.",
    ),
    _sentence(
        "eviction manager: must evict pod(s) to reclaim ",
        rf"eviction manager: must evict pod\(s\) to reclaim {_RESOURCE}",
        "Eviction manager: must evict pod(s) to reclaim",
    ),
    _sentence(
        "eviction manager: pods ranked for eviction: ",
        r"eviction manager: pods ranked for eviction: (?P<pods>.*)",
        "Eviction manager: pods ranked for eviction",
    ),
    _sentence(
        "eviction manager: pods ",
        r"eviction manager: pods (?P<pods>.*) evicted, waiting for pod to be cleaned up",
        "Eviction manager: pods evicted, waiting for pod to be cleaned up",
    ),
    _sentence(
        "eviction manager: pod ",
        rf"eviction manager: pod {_ONE_POD} (?:is )?evicted successfully",
        "Eviction manager: pod is evicted successfully",
    ),
    _sentence(
        "eviction manager: cannot evict a critical ",
        rf"eviction manager: cannot evict a critical (?:static )?pod {_ONE_POD}",
        "Eviction manager: cannot evict a critical pod",
    ),
    _sentence(
        "eviction manager: unable to evict any pods from the node",
        r"eviction manager: unable to evict any pods from the node",
        "Eviction manager: unable to evict any pods from the node",
    ),
    _sentence(
        "eviction manager: eviction thresholds have been met, but no pods are active to evict",
        r"eviction manager: eviction thresholds have been met, but no pods are active to evict",
        "Eviction manager: eviction thresholds have been met, but no pods are active to evict",
    ),
    _sentence(
        "eviction manager: timed out waiting for pods ",
        r"eviction manager: timed out waiting for pods (?P<pods>.*) to be cleaned up",
        "Eviction manager: timed out waiting for pods to be cleaned up",
    ),
    _sentence(
        "[imageGCManager]: Disk usage on ",
        r"\[imageGCManager\]: Disk usage on .{1,4200} is at (?P<usage>\d{1,3})% which is over the high threshold"
        r" \((?P<highThreshold>\d{1,3})%\)\. Trying to free (?P<amountToFree>\d{1,19}) bytes"
        r"(?: down to the low threshold \((?P<lowThreshold>\d{1,3})%\)\.)?",
        "Disk usage on image filesystem is over the high threshold, trying to free bytes down to the low threshold",
    ),
    _sentence(
        "[imageGCManager]: Removing image ",
        r"\[imageGCManager\]: Removing image \"(?P<imageID>[^\"]{1,512})\" to free (?P<size>\d{1,19}) bytes",
        "Removing image to free bytes",
    ),
    _sentence(
        "Image garbage collection failed once. ",
        r"Image garbage collection failed once\. Stats initialization may not have completed yet: (?P<err>.+)",
        "Image garbage collection failed once. Stats initialization may not have completed yet",
    ),
    _sentence(
        "Image garbage collection failed multiple times in a row: ",
        r"Image garbage collection failed multiple times in a row: (?P<err>.+)",
        "Image garbage collection failed multiple times in a row",
    ),
    _sentence(
        "Image garbage collection failed: ",
        r"Image garbage collection failed: (?P<err>[Ff]ailed to garbage collect .+|wanted to free \d.+)",
        "Image garbage collection failed multiple times in a row",
    ),
    _sentence(
        "Failed to admit pod ",
        rf"Failed to admit pod {_ONE_POD} - node has conditions: (?:%v%!\(EXTRA \[\]api\.NodeConditionType=)?"
        r"\[(?P<nodeCondition>[A-Za-z ]{1,300})\]\)?",
        "Failed to admit pod to node",
    ),
    _sentence(
        "Predicate failed on Pod: ",
        rf"Predicate failed on Pod: {_ONE_POD}, for reason: (?P<err>.+)",
        "Predicate failed on Pod",
    ),
    _sentence(
        "preemption: pod ",
        rf"preemption: pod {_ONE_POD} evicted successfully",
        "Pod evicted successfully",
    ),
    _sentence(
        "Node became not ready: ",
        r"Node became not ready: \{Type:Ready .{0,400}?Message:(?P<err>.*?)\}?",
        "Node became not ready",
    ),
    _sentence(
        "Recording Node",
        r"Recording (?P<event>Node[A-Za-z]{1,40}) event message for node [a-z0-9][a-z0-9.-]{0,252}",
        "Recording event message for node",
    ),
    _sentence(
        "Starting kubelet main sync loop.",
        r"Starting kubelet main sync loop\.",
        "Starting kubelet main sync loop",
    ),
    _sentence(
        "Event(",
        r"Event\((?:v1|api)\.ObjectReference\{Kind:\"(?P<kind>\w{1,63})\", Namespace:\"(?P<ns>[a-z0-9-]{0,63})\","
        r" Name:\"(?P<name>[a-z0-9.:-]{1,253})\", UID:\"(?P<podUID>[^\"]{0,64})\"[^}]{0,400}\}\):"
        r" type: '(?P<type>\w{1,32})' reason: '(?P<reason>\w{1,128})' (?P<message>.*)",
        "Event occurred",
    ),
)
BEGINNINGS: Final = tuple(each.prefix for each in _SENTENCES)


def in_later_words(text: str) -> tuple[str, Values] | None:
    """Return the later form of a message, and its values under their later names; None for any other message."""
    for each in _SENTENCES:
        if text.startswith(each.prefix) and (found := each.pattern.fullmatch(text)) is not None:
            named = {name: value for name, value in found.groupdict().items() if value is not None}
            return each.said, _values(named)
    return None


def _values(named: dict[str, str]) -> Values:
    """Extract values. A pod is `name_namespace(uid)` in a message, and an Event's object has three fields."""
    values: Values = {name: value for name, value in named.items() if name not in {"a_pod", "pods", "ns", "name"}}
    if "a_pod" in named:
        values |= dict(zip(("pod", "podUID"), _pod(named["a_pod"]), strict=True))
    if "pods" in named:
        values["pods"] = pods_of_sentence(named["pods"])
    if "name" in named:
        values["object"] = f"{named['ns']}/{named['name']}" if named["ns"] else named["name"]
    if "nodeCondition" in named:
        values["nodeCondition"] = named["nodeCondition"].split()
    return values


def pods_of_sentence(text: str) -> list[str]:
    return [_pod(each[0])[0] for each in islice(_PODS.finditer(text), _MOST_PODS)]


def _pod(text: str) -> tuple[str, str]:
    name, _, rest = text.partition("_")
    namespace, _, uid = rest.rstrip(")").partition("(")
    return f"{namespace}/{name}", uid
