"""Commands for several clusters in pasted text: what each printed is of its own cluster (rules: pasted-text)."""

from pathlib import Path

import pytest

from ingest.files.lines import SourceError
from ingest.files.sources import read_sources
from ingest.files.texts.contexts import SEVERAL, selected_lines
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


PROD = "arn:aws:eks:eu-west-1:123456789012:cluster/prod"


@pytest.mark.parametrize(
    ("first", "second", "third", "names"),
    [
        (
            "$ aws eks update-kubeconfig --name prod\n$ kubectl get nodes",
            f"$ kubectl --context {PROD} get nodes",
            f"$ kubectl --context {PROD.replace('prod', 'stage')} get nodes",
            [(PROD, False), (PROD.replace("prod", "stage"), True)],
        ),
        (
            "$ gcloud container clusters get-credentials prod --zone z\n$ kubectl get nodes",
            "$ kubectl --context gke_p_z_prod get nodes",
            "$ kubectl --context gke_p_z_stage get nodes",
            [("gke_p_z_prod", False), ("gke_p_z_stage", True)],
        ),
        (
            "$ az aks get-credentials -g g -n prod\n$ kubectl get nodes",
            "$ kubectl --context prod get nodes",
            "$ kubectl --context me@stage.eu-west-1.eksctl.io get nodes",
            [("me@stage.eu-west-1.eksctl.io", True), ("prod", False)],
        ),
    ],
    ids=["aws", "google", "azure"],
)
def test_a_cluster_that_a_cloud_and_a_context_name_is_one(
    tmp_path: Path, first: str, second: str, third: str, names: list[tuple[str, bool]]
) -> None:
    (tmp_path / "paste.txt").write_text(f"{first}\n{NOT_READY}{second}\n{NOT_READY}{third}\n{READY}")
    assert nodes(tmp_path / "paste.txt") == names


AWS = "$ aws eks update-kubeconfig --name prod --region {}\n$ kubectl get nodes"
GOOGLE = "$ gcloud container clusters get-credentials prod {}\n$ kubectl get nodes"


@pytest.mark.parametrize(
    ("first", "second", "count"),
    [
        (AWS.format("eu-west-1"), f"$ kubectl --context {PROD} get nodes", 1),
        (AWS.format("us-east-1"), f"$ kubectl --context {PROD} get nodes", 2),
        (AWS.format("us-east-1"), AWS.format("us-east-1"), 1),
        (AWS.format("us-east-1"), AWS.format("eu-west-1"), 2),
        (AWS.format("us-east-1"), AWS.format("$REGION"), 1),
        (AWS.format("us-east-1"), "$ aws eks update-kubeconfig --name prod\n$ kubectl get nodes", 1),
        (AWS.format("us-east-1"), "$ aws --region=eu-west-1 eks update-kubeconfig --name prod\n$ k get nodes", 2),
        (AWS.format("us-east-1"), "$ kubectl --context me@prod.us-east-1.eksctl.io get nodes", 1),
        (AWS.format("us-east-1"), "$ kubectl --context me@prod.eu-west-1.eksctl.io get nodes", 2),
        (GOOGLE.format("--zone z --project p"), "$ kubectl --context gke_p_z_prod get nodes", 1),
        (GOOGLE.format("--region=z"), "$ kubectl --context gke_p_z_prod get nodes", 1),
        (GOOGLE.format("-z other"), "$ kubectl --context gke_p_z_prod get nodes", 2),
        (GOOGLE.format("--zone z --project other"), "$ kubectl --context gke_p_z_prod get nodes", 2),
        (
            "$ az aks get-credentials -g a -n prod\n$ kubectl get nodes",
            "$ az aks get-credentials --resource-group b --name prod\n$ kubectl get nodes",
            2,
        ),
    ],
)
def test_a_name_in_two_places_of_a_cloud_is_two_clusters(tmp_path: Path, first: str, second: str, count: int) -> None:
    """A third cluster shows that names of one kind differ."""
    third = f"$ kubectl --context {PROD.replace('prod', 'stage')} get nodes\n{READY}"
    for texts in ((first, second), (second, first)):
        text = "".join(f"{each}\n{NOT_READY}" for each in texts)
        (tmp_path / "paste.txt").write_text(text)
        assert len(nodes(tmp_path / "paste.txt")) == count
        (tmp_path / "paste.txt").write_text(text + third)
        assert len(nodes(tmp_path / "paste.txt")) == count + 1


def test_a_name_in_two_places_is_shown_with_them(tmp_path: Path) -> None:
    texts = f"{AWS.format('us-east-1')}\n{READY}{AWS.format('eu-west-1')}\n{NOT_READY}"
    (tmp_path / "paste.txt").write_text(texts)
    assert nodes(tmp_path / "paste.txt") == [("prod eu-west-1", False), ("prod us-east-1", True)]


def test_a_context_of_another_cluster_than_the_clouds_is_another(tmp_path: Path) -> None:
    switched = "$ aws eks update-kubeconfig --name prod\n$ kubectl get nodes"
    other = f"$ kubectl --context {PROD.replace('prod', 'stage')} get nodes"
    (tmp_path / "paste.txt").write_text(f"{switched}\n{READY}{other}\n{NOT_READY}")
    assert nodes(tmp_path / "paste.txt") == [("prod", True), ("stage", False)]


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
    printed = [(each.text, each.selected.context) for each in selected_lines(text) if each.is_output]
    assert printed == [("1", "a"), ("2", "b"), ("3", "a"), ("4", "c"), ("5", "a")]


def test_a_context_in_a_value_of_json_names_no_cluster() -> None:
    text = b'{\n  "a": "$ kubectl --context a get nodes",\n  "b": "$ kubectl --context b get nodes"\n}\n'
    assert {each.selected.context for each in selected_lines(text)} == {""}


SCRIPTED = """apiVersion: v1
kind: Pod
metadata:
  name: sync-1
  namespace: ops
  uid: u-1
  creationTimestamp: "2024-05-06T08:00:00Z"
spec:
  nodeName: n1
  containers:
  - name: c
    image: x
    command:
    - sh
    - -c
    - |
      {}
      /usr/bin/sync
      {}
status:
  phase: Failed
  reason: Evicted
"""


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("export KUBECONFIG=/etc/a.conf", "export KUBECONFIG=/etc/b.conf"),
        ("kubectl --context a get nodes", "kubectl --context b get nodes"),
        ("# kubectl --context a get nodes", "$ kubectl --context b get nodes"),
    ],
)
@pytest.mark.parametrize("before", ["", "The pod is:\n\n", "$ kubectl get pod sync-1 -n ops -o yaml\n"])
def test_commands_in_the_script_of_a_pod_were_typed_by_nobody(
    tmp_path: Path, before: str, first: str, second: str
) -> None:
    (tmp_path / "paste.txt").write_text(before + SCRIPTED.format(first, second))
    (pod,) = (each.observation for each in read_sources([tmp_path / "paste.txt"]) if isinstance(each, Observed))
    assert (pod.cluster, pod.resource) == ("default", "pods")
    assert second.encode() in bytes(pod.object)
    assert b'"Evicted"' in bytes(pod.object)


@pytest.mark.parametrize(
    "command",
    [
        "$ kubectl --kubeconfig ~/all.conf --context {} get nodes",
        "$ kubectl --context {} --cluster x get nodes",
        "$ kubectl \\\n    --context {} get nodes",
        "$ watch kubectl --context {} get nodes",
        "$ watch -n 2 'kubectl --context {} get nodes'",
        "$ time kubectl --context {} get nodes",
        "$ ssh n1 uptime; kubectl --context {} get nodes",
        "Output of `kubectl --context {} get nodes`:",
        "```\nkubectl --context {} get nodes\n```",
        "> kubectl --context {} get nodes",
        "PS C:\\> kubectl --context {} get nodes",
        "\u279c  ~ kubectl --context {} get nodes",
        "    $ kubectl --context {} get nodes",
    ],
)
def test_every_form_of_a_command_selects_its_cluster(tmp_path: Path, command: str) -> None:
    """Otherwise a later table would replace that of another cluster."""
    text = f"{command.replace('{}', 'eu')}\n{NOT_READY}{command.replace('{}', 'us')}\n{READY}"
    (tmp_path / "paste.txt").write_text(text)
    assert nodes(tmp_path / "paste.txt") == [("eu", False), ("us", True)]


@pytest.mark.parametrize(
    "loop",
    [
        "$ for c in eu us\n> do\n>   kubectl --context $c get nodes\n> done",
        '$ for c in eu us; do echo "== $c"; kubectl --context $c get nodes; done',
        "$ for c in eu us; do kubectx $c; kubectl get nodes; done",
        "$ echo eu us | xargs -n1 -I{} kubectl --context {} get nodes",
        "$ kubectl config get-contexts -o name | while read c; do kubectl --context $c get nodes; done",
        "for c in eu us; do\n  kubectl config use-context $c\n  kubectl get nodes\ndone",
        "$ for f in *.conf; do KUBECONFIG=$f kubectl get nodes; done",
        "$ for r in eu us; do aws eks update-kubeconfig --name prod --region $r; kubectl get nodes; done",
        "$ kubectl --context eu get nodes; kubectl --context us get nodes",
    ],
)
def test_the_output_of_several_clusters_together_is_refused(tmp_path: Path, loop: str) -> None:
    (tmp_path / "paste.txt").write_text(f"{loop}\n{NOT_READY}{READY}")
    with pytest.raises(SourceError, match="does not say which printed it"):
        nodes(tmp_path / "paste.txt")


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("$ export KUBECONFIG=~/prod\n$ kubectl get nodes", "$ kubectl --context admin@prod get nodes"),
        ("$ gcloud container clusters get-credentials prod\n$ kubectl get no", "$ kubectl --context g_prod get no"),
        ("$ kubectl --context eu get nodes", "$ kubectl --kubeconfig=eu.conf get nodes"),
        ("$ kubectl --kubeconfig=./eu.conf get nodes", "$ kubectl --kubeconfig=eu.conf get nodes"),
        ("$ kubectl --context eu get nodes", "$ kubectl config use-context us\n$ kubectl --context eu get nodes"),
    ],
)
def test_names_of_two_kinds_are_not_compared(tmp_path: Path, first: str, second: str) -> None:
    (tmp_path / "paste.txt").write_text(f"{first}\n{READY}{second}\n{NOT_READY}")
    assert nodes(tmp_path / "paste.txt") == [("default", False)]


def test_a_prompt_glued_to_output_selects_its_cluster(tmp_path: Path) -> None:
    asked = "ops@bastion:~$ kubectl --context a get pod c-0 -n shop -o jsonpath='{.status.message}'\n"
    said = "The node was low on resource: memory. Threshold quantity: 100Mi, available: 60Mi."
    glued = f"{said}ops@bastion:~$ kubectl --context b get nodes\n"
    first = f"ops@bastion:~$ kubectl --context a get nodes\n{NOT_READY}"
    (tmp_path / "paste.txt").write_text(first + asked + glued + READY)
    assert nodes(tmp_path / "paste.txt") == [("a", False), ("b", True)]


def test_more_clusters_than_the_limit_are_refused(tmp_path: Path) -> None:
    texts = (f"$ kubectl --context c{number} get nodes\n{READY}" for number in range(33))
    (tmp_path / "paste.txt").write_text("".join(texts))
    with pytest.raises(SourceError, match="commands for more than 32 clusters; save each cluster's output alone"):
        nodes(tmp_path / "paste.txt")


def test_a_later_table_replaces_only_what_it_states(tmp_path: Path) -> None:
    """The second table has no column for cordons, and the third none for amounts."""
    columns = 'NAME:.metadata.name,CPU:.status.allocatable.cpu,READY:.status.conditions[?(@.type=="Ready")].status'
    text = (
        f"$ kubectl get nodes\n{NOT_READY.replace('NotReady  ', 'NotReady,SchedulingDisabled  ')}"
        f"$ kubectl get nodes -o custom-columns='{columns}'\nNAME   CPU   READY\nn1     4     True\n"
    )
    (tmp_path / "paste.txt").write_text(text)
    (node,) = (each.observation for each in read_sources([tmp_path / "paste.txt"]) if isinstance(each, Observed))
    raw = bytes(node.object)
    assert b'"unschedulable":true' in raw
    assert b'"status":"True"' in raw
    (tmp_path / "paste.txt").write_text(f"{text}$ kubectl get nodes\n{NOT_READY}")
    read = [each.observation for each in read_sources([tmp_path / "paste.txt"]) if isinstance(each, Observed)]
    raw = bytes(read[-1].object)
    assert b'"unschedulable":false' in raw
    assert b'"cpu":"4"' in raw
    assert b'"status":"False"' in raw


def test_what_a_loop_over_clusters_printed_is_of_none(tmp_path: Path) -> None:
    loop = "$ for c in eu us; do kubectl --context $c get nodes; done"
    (tmp_path / "paste.txt").write_text(f"$ kubectl get no\n{READY}{loop}\n{READY}{NOT_READY}")
    read = list[str]()
    with pytest.raises(SourceError, match="a loop over clusters, whose output does not say which printed it"):  # noqa: PT012
        for each in read_sources([tmp_path / "paste.txt"]):
            assert isinstance(each, Observed)
            read.append(each.observation.cluster)
    assert read == ["default"]


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
    lines = selected_lines(f"{loop}{READY}{NOT_READY}".encode())
    assert {line.selected for line in lines if line.is_output} == {SEVERAL}
    assert {line.text for line in lines if line.is_output} >= set(f"{READY}{NOT_READY}".splitlines())


def test_behind_a_loop_a_command_is_of_its_own_cluster() -> None:
    loop = b"$ for c in eu us; do\n> kubectl --context $c get no\n> done\n1\n"
    last = selected_lines(loop + b"$ kubectl --context eu get no\n2")[-1]
    assert (last.text, last.selected.context) == ("2", "eu")


def test_a_variable_outside_of_a_loop_is_of_one_cluster() -> None:
    loop = b"$ for n in a b; do\n> kubectl get no $n\n> done\n"
    last = selected_lines(loop + b"$ kubectl --context $PROD get no\n2")[-1]
    assert (last.text, last.selected.context) == ("2", "$PROD")


def test_a_loop_within_one_cluster_is_of_it() -> None:
    (_, line, _) = selected_lines(b"$ for n in a b; do kubectl --context eu get node $n; done\n1\n")
    assert line.selected.context == "eu"
