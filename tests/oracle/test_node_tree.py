"""Our list of nodes against the scheduler's node tree (rules: node-tree, zone-key)."""

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from oracle.programs import Oracles
from streams.rules.scheduling.node_tree import NodeTree, add, listed, remove, update
from streams.rules.values.labels import zone_key

texts = st.sampled_from(["", "a", "b", "c"])
labels = st.fixed_dictionaries(
    {},
    optional={
        "topology.kubernetes.io/zone": texts,
        "topology.kubernetes.io/region": texts,
        "failure-domain.beta.kubernetes.io/zone": texts,
        "failure-domain.beta.kubernetes.io/region": texts,
    },
)
names = st.integers(0, 8).map("n{}".format)
changes = st.one_of(
    st.fixed_dictionaries({"change": st.sampled_from(["add", "add", "remove"]), "name": names, "labels": labels}),
    st.fixed_dictionaries({"change": st.just("update"), "name": names, "old": labels, "labels": labels}),
)


def changed(tree: NodeTree, change: dict[str, Any]) -> NodeTree:
    name, key = change["name"], zone_key(change["labels"])
    if change["change"] == "update":
        return update(tree, name, zone_key(change["old"]), key)
    return (add if change["change"] == "add" else remove)(tree, name, key)


@settings(settings.get_profile("oracle"))
@given(st.lists(changes, max_size=25))
def test_nodes_are_listed_as_the_scheduler_lists_them(kubernetes: Oracles, question: list[dict[str, Any]]) -> None:
    tree, lists = NodeTree(), []
    for change in question:
        tree = changed(tree, change)
        lists.append(listed(tree))
    assert lists == kubernetes.ask("node_tree", question)
