"""Parses the scheduler's text of all versions, and finds why a pod waits (rules: scheduler-messages,
recorded-behaviour).
"""

import re
from collections.abc import Mapping
from typing import Final, Literal, NamedTuple, TypeAlias

from ingest.model.objects.pod import Pod

TEXT_LIMIT: Final = 256 * 1024
"""Characters that are read; a longer text counts as truncated. The text of a real failure has a few hundred."""
CUT: Final = " ..."
"""End of an event's note of more than 1024 characters."""

_COMBINED: Final = "(combined from similar events): "
_NO_NODES: Final = "no nodes available to schedule pods"
_DELETING: Final = "skip schedule deleting pod"
_NODES: Final = re.compile(r"0/([0-9]{1,9}) nodes are (?:un)?available:?")
"""Volcano has the opposite order."""
_NEXT_REASON: Final = re.compile(r", (?=[0-9]{1,9} )")
_REASON: Final = re.compile(r"([0-9]{1,9}) (.*)", re.DOTALL)
_PREEMPTION: Final = re.compile(r"(?<= )preemption: ")
_HALF_COUNT: Final = re.compile(r"(?:^|,) ?[0-9]{0,9}$")

Kind: TypeAlias = Literal["no_fit", "no_nodes", "deleting"]


class Preemption(NamedTuple):
    """Result of preemption (1.24 and later): its own histogram, or the reason why it was not tried."""

    nodes_total: int | None
    reasons: Mapping[str, int]
    text: str
    """Text without a histogram: "not eligible due to preemptionPolicy=Never"."""


class SchedulingMessage(NamedTuple):
    """A parsed FailedScheduling text.

    `reasons` counts nodes by reason; a node can have several, so `reason_sum` can be above `nodes_total`, the N of
    "0/N nodes". If the text is `truncated`, all of them are lower bounds.
    """

    kind: Kind
    nodes_total: int
    reasons: Mapping[str, int]
    reason_sum: int
    prefilter: str
    """Reason why no node was even checked (1.26 and later); it is beside the histogram in 1.26 to 1.28."""
    post_filter: str
    """Texts of other plugins after the histogram: "no new claims to deallocate" (1.36)."""
    preemption: Preemption | None
    truncated: bool

    @property
    def oldest_minor(self) -> int:
        """Return the oldest Kubernetes 1.x that can have written it: 24 where it mentions preemption, else 0."""
        if self.prefilter:
            return 26
        return 24 if self.preemption is not None or self.post_filter else 0


def parse(text: str) -> SchedulingMessage | None:
    """Parse a text; None if it is not a failure to find a node (a timeout, a binding error, another language).

    Linear in the text's length. Reasons may contain commas: they end only before ", " and a number.
    """
    truncated = len(text) > TEXT_LIMIT
    text = text[:TEXT_LIMIT].strip().removeprefix(_COMBINED)
    if text.endswith(CUT):
        truncated, text = True, _HALF_COUNT.sub("", text.removesuffix(CUT))
    if text.startswith(_DELETING):
        return _without_nodes("deleting", truncated)
    if text.startswith(_NO_NODES):
        return _without_nodes("no_nodes", truncated)
    found = _NODES.match(text)
    if found is None:
        return None
    rest = text[found.end() :]
    marker = _PREEMPTION.search(rest)
    about_nodes = _sentences(rest[: marker.start()] if marker else rest, truncated=truncated and marker is None)
    preemption = _preemption(rest[marker.end() :], truncated=truncated) if marker else None
    return SchedulingMessage(
        kind="no_fit",
        nodes_total=int(found[1]),
        reasons=about_nodes.reasons,
        reason_sum=sum(about_nodes.reasons.values()),
        prefilter=about_nodes.before,
        post_filter=about_nodes.after,
        preemption=preemption,
        truncated=truncated,
    )


def _without_nodes(kind: Kind, truncated: bool) -> SchedulingMessage:
    return SchedulingMessage(kind, 0, {}, 0, "", "", None, truncated)


class _Sentences(NamedTuple):
    before: str
    reasons: dict[str, int]
    after: str


def _sentences(text: str, *, truncated: bool) -> _Sentences:
    sentences = _bare(text).split(". ")
    counted = [_REASON.match(sentence) is not None for sentence in sentences]
    first = counted.index(True) if True in counted else len(sentences)
    last = counted.index(False, first) if False in counted[first:] else len(sentences)
    if first == last and text.rstrip().endswith(","):
        # A comma leads over to the next plugin's words, so the last sentence is one of those, histogram or not.
        first = last = len(sentences) - 1
    return _Sentences(
        before=". ".join(sentences[:first]).rstrip("."),
        reasons=_histogram(", ".join(sentences[first:last]), truncated=truncated and last == len(sentences)),
        after=". ".join(sentences[last:]).rstrip("."),
    )


def _bare(text: str) -> str:
    """Strip the blanks and full stops around it (none, one or two, by version)."""
    return text.strip().rstrip(".,").strip()


def _histogram(text: str, *, truncated: bool) -> dict[str, int]:
    """Return nodes by reason. If the text is truncated, the last reason is marked, because it may be cut."""
    reasons: dict[str, int] = {}
    parts = _NEXT_REASON.split(text)
    for i, part in enumerate(parts):
        found = _REASON.match(part)
        if found is None:
            continue
        reason = found[2] + CUT if truncated and i == len(parts) - 1 else found[2]
        reasons[reason] = reasons.get(reason, 0) + int(found[1])
    return reasons


def _preemption(text: str, *, truncated: bool) -> Preemption:
    found = _NODES.match(text)
    if found is None:
        return Preemption(None, {}, _bare(text))
    parts = _sentences(text[found.end() :], truncated=truncated)
    words = ". ".join(part for part in (parts.before, parts.after) if part)
    return Preemption(int(found[1]), parts.reasons, words)


_USUAL: Final = frozenset({"", "ContainerCreating", "PodInitializing"})
_CRASH_LOOP: Final = "CrashLoopBackOff"
"""Its message has a time in it, new at each restart."""


def waits_for(pod: Pod) -> str:
    """Return why a pending pod waits: the scheduler's text, or the state of the first container that cannot start.

    Empty if the status has no reason, and for a text about nodes, which is in `scheduling_failures`.
    """
    status = pod.status
    if status.phase != "Pending":
        return ""
    scheduled = next((each for each in status.conditions or () if each.type == "PodScheduled"), None)
    if scheduled is not None and scheduled.status == "False":
        return "" if parse(scheduled.message) else scheduled.message.strip() or scheduled.reason
    for each in (*(status.init_container_statuses or ()), *(status.container_statuses or ())):
        waiting = each.state and each.state.waiting
        if waiting and waiting.reason not in _USUAL:
            message = "" if waiting.reason == _CRASH_LOOP else waiting.message.strip()
            return ": ".join(filter(None, (f"Container {each.name}", waiting.reason, message)))
    return ""
