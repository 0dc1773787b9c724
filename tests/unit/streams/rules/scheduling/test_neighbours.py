"""Pods that are there keep others away."""

import pytest

from streams.rules.scheduling.constraints import Constraints, NeighbourTerm
from streams.rules.scheduling.neighbours import Neighbour, Neighbourhood, Place
from streams.rules.scheduling.selectors import Requirement

WEB = {"app": "web"}
UNKNOWN = ["which namespaces the anti-affinity of pods that are there selects"]
UNWELCOME = ["node(s) didn't satisfy existing pods anti-affinity rules"]


@pytest.mark.parametrize(
    ("namespaces", "reasons", "unknowns"), [(["shop"], UNWELCOME, []), (["bank"], [], UNKNOWN), ([], [], UNKNOWN)]
)
def test_a_term_that_names_the_pods_namespace_needs_no_namespace_labels(
    namespaces: list[str], reasons: list[str], unknowns: list[str]
) -> None:
    selects = [Requirement("app", "In", ["web"])]
    term = NeighbourTerm("zone", selects, namespaces, unknown_namespaces=True)
    there = Neighbour("bank", constraints=Constraints(anti_affinity=[term]))
    place = Place("n", {"zone": "a"}, [there])
    around = Neighbourhood(Neighbour("shop", WEB), [place])
    assert (around.reasons(place), around.unknowns(place)) == (reasons, unknowns)
