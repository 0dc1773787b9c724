"""Commands for several clusters in pasted text: what each printed is of its own cluster (rules: pasted-text)."""

from pathlib import Path

import pytest

from ingest.files.lines import SourceError
from ingest.files.sources import read_sources
from ingest.files.texts.contexts import clusters_in, of_cluster
from ingest.model.observation import Observed

READY = "NAME   STATUS   ROLES    AGE   VERSION\nn1     Ready    <none>   3d    v1.29.3\n"
NOT_READY = "NAME   STATUS     ROLES    AGE   VERSION\nn1     NotReady   <none>   9d    v1.28.3\n"


def nodes(*paths: Path) -> list[tuple[str, bool]]:
    """The cluster of each Node, and whether it is Ready."""
    read = [each.observation for each in read_sources(paths) if isinstance(each, Observed)]
    return sorted(
        (each.cluster, b'"status":"True"' in bytes(each.object)) for each in read if each.resource == "nodes"
    )


@pytest.mark.parametrize(
    ("first", "second", "names"),
    [
        ("$ kubectl --context a get nodes", "$ kubectl --context=b get nodes", ("a", "b")),
        ("$ kubectl get nodes --context 'a'", "$ kubectl get nodes --context b", ("a", "b")),
        ("$ oc --cluster a get nodes", "$ oc --cluster b get nodes", ("a", "b")),
        (
            "$ kubectl --kubeconfig ~/a.conf get nodes",
            "$ kubectl --kubeconfig ~/b.conf get nodes",
            ("~/a.conf", "~/b.conf"),
        ),
        ("$ KUBECONFIG=a.conf kubectl get nodes", "$ KUBECONFIG=b.conf kubectl get nodes", ("a.conf", "b.conf")),
        ("$ export KUBECONFIG=a\n$ kubectl get nodes", "$ export KUBECONFIG=b\n$ kubectl get nodes", ("a", "b")),
        ("$ kubectx a\n$ kubectl get no", '$ kubectx b\nSwitched to context "b".\n$ kubectl get no', ("a", "b")),
        ("$ kubectl config use-context a\n$ k get no", "$ kubectl config use-context b\n$ k get no", ("a", "b")),
        (
            "$ oc login https://api.a.example:6443\n$ oc get nodes",
            "$ oc login --server https://api.b.example:6443\n$ oc get nodes",
            ("https://api.a.example:6443", "https://api.b.example:6443"),
        ),
        (
            "(\u2388|a:default) me@host:~$ kubectl get nodes",
            "(\u2388|b:shop) me@host:~$ kubectl get nodes",
            ("a", "b"),
        ),
        ("$ kubectl get nodes", "$ kubectl --context b get nodes\n" + READY + "$ kubectl --context c get no", None),
    ],
    ids=lambda each: each[0] if isinstance(each, tuple) else None,
)
def test_two_clusters_in_one_paste_are_two(
    tmp_path: Path, first: str, second: str, names: tuple[str, str] | None
) -> None:
    (tmp_path / "paste.txt").write_text(f"{first}\n{READY}{second}\n{NOT_READY}")
    expected = (
        [("b", True), ("c", False), ("default", True)] if names is None else [(names[0], True), (names[1], False)]
    )
    assert nodes(tmp_path / "paste.txt") == expected


def test_files_of_two_clusters_are_two_and_text_of_neither_is_of_none(tmp_path: Path) -> None:
    for name, text in (("a", READY), ("b", NOT_READY)):
        (tmp_path / f"{name}.txt").write_text(f"$ kubectl --context {name} get nodes\n{text}")
    (tmp_path / "c.txt").write_text(READY)
    assert nodes(*sorted(tmp_path.iterdir())) == [("a", True), ("b", False), ("default", True)]


def test_one_context_names_no_cluster(tmp_path: Path) -> None:
    """Text before and behind it is most likely of the same one."""
    (tmp_path / "paste.txt").write_text(f"$ kubectl get nodes\n{READY}$ kubectl --context a get pods -n shop\n")
    assert nodes(tmp_path / "paste.txt") == [("default", True)]


def test_kubectx_goes_back() -> None:
    lines = ["$ kubectx a", "1", "$ kubectx b", "2", "$ kubectx -", "3", "$ kubectl --context c get no", "4"]
    text = "\n".join([*lines, "$ kubectl get no", "5"]).encode()
    assert clusters_in(text) == {"a", "b", "c"}
    assert [each for each in of_cluster(text, "a").decode().split("\n") if each.isdecimal()] == ["1", "3", "5"]
    assert len(of_cluster(text, "b").split(b"\n")) == len(lines) + 2


def test_a_context_in_a_value_of_json_names_no_cluster() -> None:
    text = b'{\n  "a": "$ kubectl --context a get nodes",\n  "b": "$ kubectl --context b get nodes"\n}\n'
    assert clusters_in(text) == {""}


def test_what_a_loop_over_clusters_printed_is_of_none(tmp_path: Path) -> None:
    loop = "$ for c in eu us; do kubectl --context $c get nodes; done"
    (tmp_path / "paste.txt").write_text(f"$ kubectl get no\n{READY}{loop}\n{READY}{NOT_READY}")
    read = []
    with pytest.raises(SourceError, match="a loop over clusters, whose output does not say which printed it"):
        read += [
            each.observation.cluster for each in read_sources([tmp_path / "paste.txt"]) if isinstance(each, Observed)
        ]
    assert clusters_in((tmp_path / "paste.txt").read_bytes()) == {"", "$"}


@pytest.mark.parametrize(
    "loop",
    [
        "$ for c in eu us; do\n>   kubectl --context $c get nodes\n> done\n",
        '$ for c in eu us\n> do\n> kubectl --context="$c" get nodes\n> done\n',
        "for c in eu us; do\n  kubectl config use-context $c\n  kubectl get nodes\ndone\n",
        "$ for c in eu us; do kubectx $c; kubectl get nodes; done\n",
        "$ for f in *.conf; do KUBECONFIG=$f kubectl get nodes; done\n",
        "$ kubectl config get-contexts -o name | while read c; do kubectl --context $c get nodes; done\n",
    ],
)
def test_a_loop_is_one_however_it_was_typed(loop: str) -> None:
    text = f"{loop}{READY}{NOT_READY}".encode()
    assert "$" in clusters_in(text)
    assert READY.strip() in of_cluster(text, "$").decode()


def test_behind_a_loop_a_command_is_of_its_own_cluster() -> None:
    text = b"$ for c in eu us; do\n> kubectl --context $c get no\n> done\n1\n$ kubectl --context eu get no\n2\n"
    assert of_cluster(text, "eu").decode().split("\n")[-2] == "2"
    outside = b"$ for n in a b; do\n> kubectl get no $n\n> done\n$ kubectl --context $PROD get no\n2\n"
    assert clusters_in(outside) == {"", "$PROD"}, "a variable outside of a loop is of one cluster"


def test_a_loop_within_one_cluster_is_of_it() -> None:
    assert clusters_in(b"$ for n in a b; do kubectl --context eu get node $n; done\n1\n") == {"eu"}
