"""Texts with and without the name of an object are about one thing, in whatever form and order."""

from itertools import permutations
from pathlib import Path

import pytest

from field.folding import Stored
from ingest.files.lines import SourceError

LOW = "The node was low on resource: ephemeral-storage. Container a was using 92Ki, which exceeds its request of 0."
SECTION = (
    "Events:\n  Type     Reason   Age   From            Message\n  ----     ------   ----  ----            -------\n"
    f"  Warning  Evicted  18m   kubelet, mgt04  {LOW}\n"
)
STATUS = f"Status:         Failed\nReason:         Evicted\nMessage:        {LOW}\n"
NAMED = (
    "$ kubectl get events -n net\nLAST SEEN   TYPE      REASON    OBJECT     MESSAGE\n"
    f"18m         Warning   Evicted   pod/x2x4z  {LOW}\n"
)
PODS = "$ kubectl get po -n net -o wide\nNAME    READY   STATUS    RESTARTS   AGE   IP       NODE\n"
PODS += "x2x4z   0/1     Evicted   0          1h    <none>   mgt04\n"


@pytest.mark.parametrize(
    ("texts", "pod", "node"),
    [
        ((SECTION,), "(unknown)", "mgt04"),
        ((STATUS,), "(unknown)", "(unknown)"),
        ((SECTION, STATUS), "(unknown)", "mgt04"),
        ((SECTION, STATUS, NAMED), "x2x4z", "(unknown)"),
        ((SECTION, NAMED, PODS), "x2x4z", "mgt04"),
        ((NAMED.replace(" -n net", ""), SECTION), "x2x4z", "(unknown)"),
    ],
)
def test_an_eviction_in_several_texts_is_one_row_in_any_order(
    tmp_path: Path, texts: tuple[str, ...], pod: str, node: str
) -> None:
    for number, order in enumerate(permutations(texts)):
        folder = tmp_path / f"{number}"
        folder.mkdir()
        for place, text in enumerate(order):
            (folder / f"{place}.txt").write_text(text)
        stored = Stored()
        stored.replay(folder)
        for table in ("evictions", "pod_ends"):
            (row,) = stored.of(table, {})
            assert (row["pod"], row["node"]) == (pod, node), (table, order)


WRITTEN = "I1215 19:23:0{}.700000   77158 eviction_manager.go:391] {}\n"
LINES = WRITTEN.format(8, '"Eviction manager: must evict pod(s) to reclaim" resourceName="memory"')
LINES += WRITTEN.format(9, '"Eviction manager: pod is evicted successfully" pod="d/m"')


def test_one_log_without_a_node_is_read_and_a_second_could_be_of_another_node(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text(LINES)
    stored = Stored()
    stored.replay(tmp_path)
    assert [row["node"] for row in stored.of("evictions", {})] == ["(unknown)"]
    (tmp_path / "b.txt").write_text(LINES.replace("19:23", "19:24"))
    with pytest.raises(SourceError, match=r"b\.txt: the node of this kubelet's log is unknown"):
        Stored().replay(tmp_path)


@pytest.mark.parametrize("names", [("a.log", "a.log"), ("a.log", "b.log")], ids=["a path twice", "a copy"])
def test_the_same_log_given_twice_counts_once(tmp_path: Path, names: tuple[str, str]) -> None:
    for name in names:
        (tmp_path / name).write_text(LINES)
    once, twice = Stored(), Stored()
    once.replay(tmp_path / "a.log")
    twice.replay(*(tmp_path / name for name in names))
    assert once.of("evictions", {})
    assert twice.comparable() == once.comparable()


def test_a_copy_of_a_log_that_names_its_node_names_the_node(tmp_path: Path) -> None:
    for name in ("a.log", "node-1.kubelet.log"):
        (tmp_path / name).write_text(LINES)
    stored = Stored()
    stored.replay(tmp_path / "a.log", tmp_path / "node-1.kubelet.log")
    assert {row["node"] for row in stored.of("evictions", {})} == {"node-1"}


TABLE = "NAME     STATUS     ROLES    AGE   VERSION\nnode-1   {:8}   <none>   90d   v1.28.4\n"


@pytest.mark.parametrize(("states", "ready"), [(("NotReady", "Ready"), True), (("Ready", "NotReady"), False)])
def test_the_last_table_of_a_session_shows_how_a_node_is_now(
    tmp_path: Path, states: tuple[str, str], ready: bool
) -> None:
    parts = [f"$ kubectl get nodes\n{TABLE.format(each)}" for each in states]
    (tmp_path / "a.txt").write_text("$ sudo systemctl restart kubelet\n".join(parts))
    stored = Stored()
    stored.replay(tmp_path / "a.txt")
    (row,) = stored.of("nodes", {})
    assert bool(row["ready"]) is ready
