"""Pods that are placed at the same time, where one bears on the next: by affinity, anti-affinity or topology spread
(rules: scheduler-fit).
"""

from collections import Counter
from collections.abc import Mapping, Sequence

from streams.rules.scheduling.neighbours import Neighbour, Neighbourhood, Place


def heeds_neighbours(pod: Neighbour, places: Sequence[Place]) -> bool:
    """Tell whether pods on other nodes can affect where it goes."""
    wants = pod.constraints
    return bool(wants.affinity or wants.anti_affinity or wants.spread) or any(
        other.constraints.anti_affinity for place in places for other in place.pods
    )


def at_once(pod: Neighbour, places: Sequence[Place], room: Mapping[str, int], count: int) -> Counter[str]:
    """How many of `count` such pods each node takes, all at the same time; `room` is what a node takes by itself.

    One after the other, as the scheduler does: each where the fewest are that it spreads among, then where most room
    is left. The first decides where those go that want to be together, so each domain is tried for it.
    """
    starts: list[Place | None] = [None]
    if pod.constraints.affinity:
        keys = [term.topology_key for term in pod.constraints.affinity]
        roomy = sorted(places, key=lambda place: room.get(place.node, 0))
        starts = [*{tuple(place.labels.get(key) for key in keys): place for place in roomy}.values()]
    found = [_placed(pod, places, room, count, start) for start in starts]
    return max(found, key=lambda taken: taken.total(), default=Counter())


def _placed(
    pod: Neighbour, places: Sequence[Place], room: Mapping[str, int], count: int, start: Place | None
) -> Counter[str]:
    around = Neighbourhood(pod, places)
    taken = Counter[str]()
    while taken.total() < count:
        choice = [start] if start is not None and not taken else places
        open_ = [each for each in choice if taken[each.node] < room.get(each.node, 0) and not _refuses(around, each)]
        if not open_:
            break
        best = min(open_, key=lambda each: (around.crowd(each), taken[each.node] - room[each.node], each.node))
        taken[best.node] += 1
        around.join(best, pod)
    return taken


def _refuses(around: Neighbourhood, place: Place) -> bool:
    return bool(around.reasons(place) or around.unknowns(place))
