"""Our judgement of places and neighbours against the scheduler's plugins NodeAffinity, NodePorts, PodTopologySpread
and InterPodAffinity (rules: scheduler-fit).
"""

from typing import Any

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from fakes.places import Objects, a_pod, clusters, namespace_objects, namespaces, neighbour
from ingest.model.objects.node import Taint
from ingest.model.objects.pod import Pod
from oracle.programs import Oracles
from streams.rules.scheduling.blind_spot import tolerates
from streams.rules.scheduling.constraints import unknowns
from streams.rules.scheduling.filters import FREE_PORTS, conflict
from streams.rules.scheduling.neighbours import Neighbourhood, Place, in_namespaces, is_among


@settings(settings.get_profile("oracle"))
@given(clusters(), a_pod(), namespaces, st.sampled_from([None, None, "ns", "other"]))
def test_places_and_neighbours_are_what_the_schedulers_plugins_find(
    kubernetes: Oracles,
    cluster: tuple[Objects, Objects],
    asked: dict[str, Any],
    spaces: dict[str, dict[str, str]],
    unseen: str | None,
) -> None:
    nodes, pods = cluster
    question = {"namespaces": namespace_objects(spaces), "nodes": nodes, "pods": pods, "pod": asked}
    answer = kubernetes.ask("placement", question)
    tolerations = msgspec.convert(asked, Pod).spec.tolerations or []
    there = [
        Place(
            each["metadata"]["name"],
            each["metadata"]["labels"],
            [neighbour(other) for other in pods if other["spec"]["nodeName"] == each["metadata"]["name"]],
            not all(tolerates(tolerations, msgspec.convert(taint, Taint)) for taint in each["spec"]["taints"]),
        )
        for each in nodes
    ]
    known = {name: labels for name, labels in spaces.items() if name != unseen}
    pod, places = in_namespaces(neighbour(asked), there, known)
    around = Neighbourhood(pod, places)
    for place in places:
        reasons = around.reasons(place)
        if not is_among(place, pod.constraints):
            reasons.append("node(s) didn't match Pod's node affinity/selector")
        if conflict(pod.constraints.ports, [used for other in place.pods for used in other.constraints.ports]):
            reasons.append(FREE_PORTS)
        # Terms that no node's name meets are refused before any node is looked at, in other words.
        theirs = [
            "node(s) didn't match Pod's node affinity/selector" if "conflict" in each else each
            for each in answer[place.node]
        ]
        unknown = [*unknowns(pod.constraints), *around.unknowns(place)]
        if unknown:
            assert unseen
            assert theirs or not reasons, place
        else:
            assert sorted(reasons) == sorted(theirs), place
