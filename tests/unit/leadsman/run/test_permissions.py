"""Permissions are asked for verb by verb, and what a refusal costs is in the answer."""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from components.processes import HOST, free_port
from fakes.apiserver import Answer, FakeApiServer, listing, refusal
from ingest.apiserver.leader import LeaseName
from ingest.kubelet.settings import KubeletSettings
from ingest.live.settings import LiveSettings
from leadsman.run.permissions import NOBODY, REVIEWS, Checked, check_cluster
from leadsman.run.validate import check_kubelet

pytestmark = pytest.mark.asyncio


def kubeconfig(folder: Path, server: str) -> Path:
    path = folder / "kubeconfig"
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "c",
        "clusters": [{"name": "c", "cluster": {"server": server}}],
        "users": [{"name": "c", "user": {"token": "t"}}],
        "contexts": [{"name": "c", "context": {"cluster": "c", "user": "c"}}],
    }
    path.write_text(json.dumps(config))
    return path


def verdicts(*allowed: bool) -> list[Answer]:
    return [Answer(msgspec.json.encode({"status": {"allowed": each}}), 201) for each in allowed]


async def checked(folder: Path, answers: Iterable[Answer], lease: LeaseName | None = None, **settings: Any) -> Any:
    async with FakeApiServer().running() as server:
        server.script[REVIEWS] = list(answers)
        watch = LiveSettings(kubeconfig=kubeconfig(folder, server.url), **settings)
        found = [each async for each in check_cluster(watch, lease)]
    asked = [request.body["spec"]["resourceAttributes"] for request in server.requests]
    return found, asked


async def test_each_verb_is_asked_for_and_the_proxy_at_last(tmp_path: Path) -> None:
    found, asked = await checked(tmp_path, verdicts(True), LeaseName("ns", "l"), resources=("nodes",))
    leases = {"group": "coordination.k8s.io", "resource": "leases", "namespace": "ns"}
    assert asked == [
        {"verb": "list", "resource": "nodes"},
        {"verb": "watch", "resource": "nodes"},
        {"verb": "get", **leases, "namespace": "kube-node-lease"},
        {"verb": "get", "resource": "nodes", "subresource": "stats"},
        {"verb": "get", "resource": "nodes", "subresource": "metrics"},
        {"verb": "get", "resource": "nodes", "subresource": "configz"},
        {"verb": "create", **leases},
        {"verb": "get", **leases, "name": "l"},
        {"verb": "update", **leases, "name": "l"},
        {"verb": "get", "resource": "nodes", "subresource": "proxy"},
    ]
    assert all(each.usable for each in found[:-1])
    assert "can run commands in every pod" in found[-1].note


async def test_a_refused_watch_is_a_problem_and_a_refused_kubelet_costs_what_it_gives(tmp_path: Path) -> None:
    answers = verdicts(True, False, True, True, False, False)
    found, _ = await checked(tmp_path, answers, resources=("pods",))
    assert [(each.what, each.problem, each.note) for each in found if not each.usable] == [
        (
            "cluster: watch pods",
            "not allowed: give the account this verb, as the roles in deploy/kubernetes/10-rbac.yaml do",
            "",
        ),
        ("cluster: get nodes/configz", "", "not allowed: eviction thresholds are assumed"),
    ]


async def test_without_leases_of_nodes_all_else_is_usable(tmp_path: Path) -> None:
    off = KubeletSettings(access="off")
    found, _ = await checked(tmp_path, verdicts(True, True, False), resources=("nodes",), kubelet=off)
    assert [(each.what, each.problem, each.note) for each in found if not each.usable] == [
        (
            "cluster: get leases.coordination.k8s.io in kube-node-lease",
            "",
            "not allowed: the age of the Lease of a NotReady node is unknown",
        )
    ]


async def test_without_claims_of_volumes_all_else_is_usable_and_that_is_reported(tmp_path: Path) -> None:
    off = KubeletSettings(access="off")
    found, _ = await checked(tmp_path, verdicts(False), resources=("persistentvolumeclaims",), kubelet=off)
    assert [(each.what, each.problem, each.note, each.needed) for each in found] == [
        (
            f"cluster: {verb} persistentvolumeclaims",
            "",
            "not allowed: it is unknown where pods with volume claims fit",
            True,
        )
        for verb in ("list", "watch")
    ]


async def test_a_custom_resource_is_not_missed(tmp_path: Path) -> None:
    found, asked = await checked(
        tmp_path, verdicts(False), resources=("noderesourcetopologies",), kubelet=KubeletSettings(access="off")
    )
    assert {(each["group"], each["resource"]) for each in asked[:-1]} == {
        ("topology.node.k8s.io", "noderesourcetopologies"),
        ("topology.crane.io", "noderesourcetopologies"),
        ("nodeinfo.volcano.sh", "numatopologies"),
    }
    assert not any(each.problem or each.needed for each in found)


@pytest.mark.parametrize(("access", "resources"), [("proxy", {"proxy"}), ("off", set())])
async def test_no_more_is_asked_for_than_the_settings_need(tmp_path: Path, access: Any, resources: set[str]) -> None:
    kubelet = KubeletSettings(access=access)
    _, asked = await checked(tmp_path, verdicts(True), resources=("nodes",), kubelet=kubelet)
    assert {each["subresource"] for each in asked[3:-1]} == resources


async def test_a_server_that_does_not_answer_is_one_problem(tmp_path: Path) -> None:
    (found,), _ = await checked(tmp_path, [refusal(401, "Refused", "no")])
    assert "log in again" in found.problem
    assert found.unknown_account
    watch = LiveSettings(kubeconfig=kubeconfig(tmp_path, f"http://{HOST}:{free_port()}"))
    (gone,) = [each async for each in check_cluster(watch)]
    assert gone == Checked("cluster", gone.problem)
    assert "does not answer" in gone.problem


@pytest.mark.parametrize(
    "answer",
    [
        pytest.param(refusal(403, "Forbidden", "cannot create selfsubjectaccessreviews"), id="refused"),
        pytest.param(refusal(404, "NotFound", "the server could not find the requested resource"), id="not served"),
        pytest.param(refusal(500, "InternalError", "webhook authorizer: no route to host"), id="broken"),
        pytest.param(Answer(b"<html>403</html>"), id="a proxy that answers instead"),
        pytest.param(Answer(b'{"status":{"allowed":false,"evaluationError":"webhook: timeout"}}', 201), id="unsure"),
    ],
)
async def test_permissions_that_cannot_be_reviewed_are_tried(tmp_path: Path, answer: Answer) -> None:
    """The account may list and watch pods, and list Events, but not watch them; kubelets give statistics."""
    forbidden = refusal(403, "Forbidden", "no")
    async with FakeApiServer().running() as server:
        server.script[REVIEWS] = [answer]
        server.script["/api/v1/pods"] = [listing("7", [])]
        server.script["/api/v1/events"] = [listing("7", []), forbidden]
        for subresource in ("metrics", "configz", "proxy"):
            server.script[f"/api/v1/nodes/{NOBODY}/{subresource}"] = [forbidden]
        watch = LiveSettings(kubeconfig=kubeconfig(tmp_path, server.url), resources=("pods", "events"))
        found = [each async for each in check_cluster(watch, LeaseName("ns", "l"))]
        asked = {request.method for request in server.requests if request.path != REVIEWS}
    assert asked == {"GET"}
    assert [each.what for each in found if each.usable] == [
        "cluster: list pods",
        "cluster: watch pods",
        "cluster: list events",
        "cluster: get nodes/stats",
        "cluster: get leases.coordination.k8s.io in ns",
    ]
    assert [each.what for each in found if each.problem] == ["cluster: watch events"]


async def test_where_nothing_can_be_asked_nor_tried_that_is_one_problem(tmp_path: Path) -> None:
    broken = refusal(503, "ServiceUnavailable", "etcd is not ready")
    async with FakeApiServer().running() as server:
        server.script[REVIEWS] = server.script["/api/v1/pods"] = [broken]
        watch = LiveSettings(kubeconfig=kubeconfig(tmp_path, server.url), resources=("pods",))
        (found,) = [each async for each in check_cluster(watch)]
    assert found.problem.startswith("503 ServiceUnavailable: etcd is not ready")


NODE = {
    "metadata": {"name": "n1"},
    "status": {
        "addresses": [{"type": "InternalIP", "address": HOST}],
        "daemonEndpoints": {"kubeletEndpoint": {"Port": free_port()}},
    },
}
SUMMARY = "/api/v1/nodes/n1/proxy/stats/summary"


@pytest.mark.parametrize(
    ("access", "nodes", "answer", "found"),
    [
        ("proxy", [NODE], Answer(b"{}"), [("kubelet of n1", "")]),
        ("proxy", [NODE], refusal(403, "Forbidden", "no"), [("kubelet of n1", "403 Forbidden: no")]),
        ("proxy", [], Answer(b"{}"), []),
        ("off", [NODE], Answer(b"{}"), []),
    ],
)
async def test_one_kubelet_is_asked(tmp_path: Path, access: Any, nodes: Any, answer: Answer, found: Any) -> None:
    async with FakeApiServer().running() as server:
        server.script["/api/v1/nodes"], server.script[SUMMARY] = [listing("5", nodes)], [answer]
        kubelet = KubeletSettings(access=access)
        watch = LiveSettings(kubeconfig=kubeconfig(tmp_path, server.url), kubelet=kubelet)
        assert [each[:2] async for each in check_kubelet(watch)] == found


async def test_a_kubelet_that_cannot_be_reached_names_the_cure_before_anything_is_watched(tmp_path: Path) -> None:
    async with FakeApiServer().running() as server:
        server.script["/api/v1/nodes"] = [listing("5", [NODE])]
        watch = LiveSettings(kubeconfig=kubeconfig(tmp_path, server.url))
        (found,) = [each async for each in check_kubelet(watch)]
    assert "cannot be reached from here" in found.problem
    assert "watch.kubelet.access: proxy" in found.problem
