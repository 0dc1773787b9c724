"""Composes the sentences of the view `story` and of the saved question `story`, which call them with columns.

Every function takes values, or columns as `Expression`. Amounts are in bytes, inodes or processes, durations in
whole seconds. An empty name or text is left out.
"""

from collections.abc import Callable, Mapping
from typing import Final

from streams.fold.reasons import stalled
from streams.fold.titles import capital, ready_unknown
from streams.rules.eviction.shortage import NO_NEW_PODS, PRESSURES
from streams.rules.eviction.signals import CONSEQUENCES, RESOURCES, SIGNALS, describe_signal
from streams.rules.values.expressions import Operand, choose
from streams.rules.values.wording import (
    amount_left,
    counted,
    date_time,
    first_of,
    format_bytes,
    format_duration,
    format_number,
    joined,
    lookup,
    phrase,
    truncate,
)

_NAMES: Final = {each: capital(describe_signal(each)) for each in SIGNALS}
_CONSEQUENCES: Final = {each: CONSEQUENCES[RESOURCES[each]] for each in SIGNALS}
_UNDER: Final = {condition: f" under {pressure}" for condition, pressure in PRESSURES.items()}


def kubelet_started() -> str:
    return "The kubelet started."


def ran_low(signal: Operand, resource: Operand, lowest: Operand, capacity: Operand) -> Operand:
    """Describe the least amount left of a signal without a threshold."""
    of_bytes = (resource == "memory") | (resource == "ephemeral-storage")
    ran = phrase(
        lookup(_NAMES, signal), " ran low without a threshold: ", amount_left(of_bytes, lowest, capacity), ". "
    )
    return phrase(ran, lookup(_CONSEQUENCES, signal))


def rejected(pods: Operand, seconds: Operand, condition: Operand, owners: Operand) -> Operand:
    """Describe pods that one node rejected one after another."""
    why = lookup(_UNDER, condition)
    why = choose(why == "", _prefixed(": ", condition), why)
    were = counted(pods, "pod was", "pods were")
    within = choose(pods == 1, "", phrase(" within ", format_duration(seconds)))
    return phrase(were, " rejected at admission", within, why, _prefixed(", of ", owners), ".")


def ended(
    *,
    pods: Operand,
    pod: Operand,
    times: Operand,
    ending: Operand,
    timed: Operand,
    has_earliest: Operand,
    has_latest: Operand,
    earliest: Operand,
    latest: Operand,
    explanation: Operand,
    words: Operand,
) -> Operand:
    """Describe pods of a node that ended alike; `pod` names the only one, and `words` are the kubelet's.

    `timed` is the number of ends with a known time; if it is 0, there may be bounds.
    """
    who = choose(pod == "", phrase(format_number(pods), " pods were "), phrase("Pod ", pod, " was "))
    again = choose(times > pods, phrase(" (", format_number(times), " times)"), "")
    when = first_of(
        (timed == times, ""),
        (timed > 0, " Some of the times are unknown."),
        (
            has_earliest & has_latest,
            phrase(" That was between ", date_time(earliest), " and ", date_time(latest), " UTC."),
        ),
        (has_earliest, phrase(" That was at or after ", date_time(earliest), " UTC.")),
        (has_latest, phrase(" That was at or before ", date_time(latest), " UTC.")),
        otherwise=" The time is unknown: this is when it was seen.",
    )
    return phrase(who, ending, again, ".", when, _prefixed(" ", explanation), _quoted(words))


def ended_by_event(pods: Operand, pod: Operand, ending: Operand, by_taint: Operand, words: Operand) -> Operand:
    """Describe pods whose end only Events show; `pod` names the only one."""
    one = pods == 1
    who = choose(one, phrase("Pod ", pod, " was "), phrase(format_number(pods), " pods were "))
    of_nodes = choose(one, " of its node.", " of their nodes.")
    return phrase(who, ending, choose(by_taint, of_nodes, _quoted_after_colon(words)))


def images_removed(images: Operand, freed: Operand) -> Operand:
    were = choose(images == 1, " was removed.", " were removed.")
    return phrase("The kubelet's log: ", counted(images, "image"), " of ", format_bytes(freed), were)


def not_admitted(
    *,
    pods: Operand,
    pod: Operand,
    owner: Operand,
    namespace: Operand,
    seconds: Operand,
    nodes: Operand,
    reason: Operand,
    untimed: Operand,
    explanation: Operand,
    words: Operand,
) -> Operand:
    """Describe pods of one owner for which NUMA nodes had no room; the last rejection is explained."""
    one = pods == 1
    who = choose(one, phrase("Pod ", pod, " was"), phrase(_pods(pods, owner, namespace), " were"))
    within = choose(one, "", phrase(" within ", format_duration(seconds)))
    where = choose(nodes == 1, "", phrase(" on ", counted(nodes, "node")))
    last = choose(one, "", "The last: ")
    when = choose(untimed, " The exact time is unknown.", "")
    return phrase(who, " not admitted", within, where, ": ", reason, ". ", last, explanation, when, _quoted(words))


def disagreement(explanation: Operand) -> Operand:
    return phrase("NUMA sources disagree: ", explanation)


def late_joiners(explanation: Operand, fits: Operand, would_fit: Operand) -> Operand:
    """Describe nodes that joined later, and the largest request that fits now and if most_allocated had placed the
    pods.
    """
    placed = "; if most_allocated had placed the same pods, a request for "
    more = phrase(placed, counted(would_fit, "CPU"), " would still fit")
    return phrase("NUMA, late joiners: ", explanation, choose(would_fit > fits, more, ""), ".")


def readiness(state: Operand, again: Operand, message: Operand, timed: Operand) -> Operand:
    """Describe a change of a Node's condition Ready; a table of kubectl has neither its time nor its message."""
    ended = choose(timed, ".", ". It became so at or before this time.")
    return first_of(
        (state == "Ready", choose(again, "The node is Ready again.", "The node is Ready.")),
        (state == "NotReady", phrase("The node is not Ready", choose(message == "", ended, phrase(": ", message)))),
        otherwise=f"{capital(ready_unknown('the node'))}.",
    )


def readiness_by_event(is_ready: Operand) -> Operand:
    return choose(
        is_ready, "The node is Ready again, according to an Event.", "The node is not Ready, according to an Event."
    )


def began_often(condition: Operand, times: Operand) -> Operand:
    return phrase(
        condition, ": an Event counts ", format_number(times), " starts; only the last one's time is known."
    )


def machine_event(
    reason: Operand, called_off: Operand, by_machine_config: Operand, component: Operand, message: Operand
) -> Operand:
    """Describe an Event about a node's machine; `by_machine_config` if OpenShift's machine config causes it."""
    shutdown = choose(
        called_off, "The machine's shutdown was cancelled.", "The machine is shutting down, according to its kubelet."
    )
    statement = phrase(component, choose(message == "", phrase(": ", reason, "."), phrase(': "', message, '"')))
    return first_of(
        ((reason == "NodeShutdown") | (reason == "Shutdown"), shutdown),
        (reason == "DeletingNode", "The cloud provider no longer has this machine."),
        (reason == "Rebooted", "The machine was rebooted."),
        (by_machine_config, statement),
        otherwise=phrase(component, " is removing the node", _quoted_after_colon(message)),
    )


def problem(condition: Operand, begins: Operand, words: Operand) -> Operand:
    """Describe a condition that another program than the kubelet sets."""
    shows = phrase(" reports a problem", _quoted_after_colon(words))
    return phrase("Condition ", condition, choose(begins, shows, " no longer reports a problem."))


def cordon(cordoned: Operand) -> Operand:
    return choose(cordoned, f"The node is cordoned: {NO_NEW_PODS}.", "The node is no longer cordoned.")


def cordon_by_event(cordoned: Operand, by_event: Operand) -> Operand:
    """Describe a cordon that only an Event shows, not a Node object."""
    ends = choose(by_event, "The node is no longer cordoned, according to an Event.", cordon(False))
    return choose(cordoned, f"The node is cordoned, according to an Event: {NO_NEW_PODS}.", ends)


def tasks_stalled(resource: Operand, percent: Operand, seconds: Operand, swapped: Operand) -> Operand:
    """Describe a time in which all tasks of a node waited (PSI); `percent` is that of the worst minute."""
    swap = choose(swapped > 0, phrase("; ", format_bytes(swapped), " of swap was in use"), "")
    most = stalled(resource, phrase("up to ", format_number(percent), " %"))
    return phrase("For ", format_duration(seconds), ", ", most, swap, ".")


def setting(nodes: Operand, problem: Operand, advice: Operand) -> Operand:
    """Describe a problem of settings that several nodes share."""
    return phrase(choose(nodes == 1, "", phrase("On ", counted(nodes, "node"), ": ")), problem, " ", advice)


def silenced(until: Operand, author: Operand, matchers: Operand, comment: Operand) -> Operand:
    return phrase(
        "Alerts are silenced until ",
        date_time(until),
        " UTC by ",
        author,
        " (",
        matchers,
        ")",
        _prefixed(": ", comment),
    )


def pending(pods: Operand, pod: Operand, owner: Operand, namespace: Operand, state: Operand, why: Operand) -> Operand:
    who = choose(pods == 1, phrase("Pod ", pod, " is Pending"), phrase(_pods(pods, owner, namespace), " are Pending"))
    return phrase(who, " and ", state, choose(why == "", ".", phrase(": ", why)))


def warning(
    reason: Operand, at_least: Operand, times: Operand, objects: Operand, thing: Operand, message: Operand
) -> Operand:
    """Describe Events of one reason; `thing` is their object if they have only one."""
    often = phrase(choose(at_least, ", at least ", ", "), counted(times, "time"))
    on = choose(objects == 1, phrase(", ", thing), phrase(", on ", format_number(objects), " objects"))
    return phrase(reason, often, on, _prefixed(": ", truncate(message, 160)))


def fell_silent(seconds: Operand) -> Operand:
    """Describe a kubelet without statistics; `seconds` is how long the cluster was observed after the last sample."""
    observed = phrase("the cluster was observed for another ", format_duration(seconds))
    return phrase("No statistics of this kubelet were read after this time; ", observed, ".")


def unsampled(without: Operand, nodes: Operand) -> Operand:
    seen = phrase(format_number(without), " of ", counted(nodes, "node"))
    return phrase("No kubelet statistics of ", seen, " were seen: their remaining room is unknown.")


def partial(resource: Operand, entries: Operand) -> Operand:
    """Describe a reducer whose state lost some entries."""
    dropped = counted(entries, "entry", "entries")
    return phrase("Verdicts from ", resource, " are partial from here on: ", dropped, " did not fit into its state.")


def event_seen(
    reason: Operand, object_kind: Operand, namespace: Operand, object_name: Operand, message: Operand
) -> Operand:
    thing = phrase(choose(namespace == "", "", phrase(namespace, "/")), object_name)
    return phrase(reason, " of ", object_kind, " ", thing, _prefixed(": ", message))


def pod_changed(namespace: Operand, pod: Operand, change: Operand, phase: Operand, reason: Operand) -> Operand:
    return joined(", ", phrase("Pod ", namespace, "/", pod, " ", change), phase, reason)


def _pods(pods: Operand, owner: Operand, namespace: Operand) -> Operand:
    return phrase(format_number(pods), " pods", _prefixed(" of ", owner), " in ", namespace)


def _prefixed(words: str, text: Operand) -> Operand:
    return choose(text == "", "", phrase(words, text))


def _quoted_after_colon(words: Operand) -> Operand:
    """Return the end of a sentence: a full stop if there are no words."""
    return choose(words == "", ".", phrase(': "', words, '"'))


def _quoted(words: Operand) -> Operand:
    return choose(words == "", "", phrase(' The kubelet: "', words, '"'))


SENTENCES: Final[Mapping[str, Callable[..., Operand]]] = {
    each.__name__: each
    for each in (
        *(
            kubelet_started,
            ran_low,
            rejected,
            ended,
            ended_by_event,
            images_removed,
            not_admitted,
            disagreement,
            late_joiners,
        ),
        *(readiness, readiness_by_event, began_often, machine_event, problem, cordon, cordon_by_event),
        *(tasks_stalled, setting),
        *(silenced, pending, warning, fell_silent, unsampled, partial),
        *(event_seen, pod_changed),
    )
}
"""The functions by name, which is their placeholder in a view."""
