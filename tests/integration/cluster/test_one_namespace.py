"""An account with rights in one namespace alone, and kubelets that nobody reaches: what can be read is shown."""

import json
import re
import uuid
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import NamedTuple

import pytest

from components.cluster.kubernetes import Cluster
from components.command import leadsman, leadsman_process, rows
from components.processes import HOST, free_port
from integration.cluster.node_story import captured
from waiting import eventually

pytestmark = pytest.mark.components("cluster")

RBAC = "/apis/rbac.authorization.k8s.io/v1/namespaces"
PICKY = {"containers": [{"name": "c", "image": "none"}], "nodeSelector": {"nobody": "has-this"}}


class Tenant(NamedTuple):
    namespace: str
    kubeconfig: Path


def _is_refused(cluster: Cluster, namespace: str) -> bool:
    pod = cluster.request("GET", f"/api/v1/namespaces/{namespace}/pods/{namespace}-0")
    return any(each["reason"] == "Unschedulable" for each in pod["status"].get("conditions", ()))


@pytest.fixture
def tenant(cluster: Cluster, tmp_path: Path) -> Iterator[Tenant]:
    """A service account that may read pods and Events of its namespace; there and in another one a pod waits."""
    ours, others = (f"{word}-{uuid.uuid4().hex[:8]}" for word in ("shop", "bank"))
    for namespace in (ours, others):
        cluster.make_namespace(namespace)
        pod = {"metadata": {"name": f"{namespace}-0"}, "spec": PICKY}
        cluster.request("POST", f"/api/v1/namespaces/{namespace}/pods", pod)
        eventually("the scheduler has found no node", partial(_is_refused, cluster, namespace))
    accounts = f"/api/v1/namespaces/{ours}/serviceaccounts"
    cluster.request("POST", accounts, {"metadata": {"name": "reader"}})
    rule = {"apiGroups": [""], "resources": ["pods", "events"], "verbs": ["list", "watch"]}
    cluster.request("POST", f"{RBAC}/{ours}/roles", {"metadata": {"name": "reader"}, "rules": [rule]})
    binding = {
        "metadata": {"name": "reader"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "reader"},
        "subjects": [{"kind": "ServiceAccount", "name": "reader", "namespace": ours}],
    }
    cluster.request("POST", f"{RBAC}/{ours}/rolebindings", binding)
    token = cluster.request("POST", f"{accounts}/reader/token", {"spec": {"expirationSeconds": 3600}})
    kubeconfig = tmp_path / "tenant.kubeconfig"
    config = json.loads(cluster.kubeconfig().read_text())
    config["users"] = [{"name": "admin", "user": {"token": token["status"]["token"]}}]
    kubeconfig.write_text(json.dumps(config))
    yield Tenant(ours, kubeconfig)
    for namespace in (ours, others):
        cluster.request("DELETE", f"/api/v1/namespaces/{namespace}/pods/{namespace}-0", {"gracePeriodSeconds": 0})


def test_look_shows_the_namespace_that_the_account_may_read(tenant: Tenant) -> None:
    done = leadsman("look", f"--kubeconfig={tenant.kubeconfig}", "-n", tenant.namespace, "--for=8s")
    assert done.returncode == 0, done.stderr
    assert f"this account may read pods, events of namespace {tenant.namespace}\n" in done.stderr
    assert f"{tenant.namespace}-0" in done.stdout
    assert "bank-" not in done.stdout
    assert "cannot be read" not in done.stderr


def test_without_a_namespace_the_account_is_refused_with_what_would_work(tenant: Tenant, tmp_path: Path) -> None:
    for command in (("look",), ("up", f"--db=chdb://{tmp_path / 'db'}", "--port=0")):
        done = leadsman(*command, f"--kubeconfig={tenant.kubeconfig}")
        assert (done.returncode, done.stderr.count("\n")) == (4, 1)
        assert "or watch one namespace: -n NAMESPACE" in done.stderr
    other = leadsman("look", f"--kubeconfig={tenant.kubeconfig}", "-n", "default")
    assert (other.returncode, "list pods in default: not allowed" in other.stderr) == (4, True)


def test_up_watches_that_namespace_as_a_view_of_its_own(tenant: Tenant, cluster: Cluster, tmp_path: Path) -> None:
    flags = (f"--kubeconfig={tenant.kubeconfig}", f"--namespace={tenant.namespace}", "--port=0")
    up = leadsman_process(
        "up", f"--db=chdb://{tmp_path / 'db'}", f"--capture={tmp_path / 'c'}", *flags, folder=tmp_path
    )
    pods = f"/api/v1/namespaces/{tenant.namespace}/pods"
    try:
        up.start()
        eventually("the page is served", lambda: "is at http" in up.log.read_text())
        cluster.request("POST", pods, {"metadata": {"name": "later"}, "spec": PICKY})
        (folder,) = (tmp_path / "c").iterdir()
        for name in ("later", f"{tenant.namespace}-0"):  # the Events of both may come first
            eventually(f"{name} was seen", partial(captured, folder, '"resource":"pods"', f'"name":"{name}"'))
        up.terminate()
        assert up.wait() == 0
    finally:
        up.stop()
        cluster.request("DELETE", f"{pods}/later", {"gracePeriodSeconds": 0})
    found = rows("SELECT DISTINCT cluster, pod FROM pod_bindings ORDER BY pod", tmp_path / "db")
    view = f"test/{tenant.namespace}"
    assert found == [(view, "later"), (view, f"{tenant.namespace}-0")]
    assert re.search("only namespace .* is watched: nodes and kubelets are not", up.log.read_text())


def test_the_status_of_look_is_15_where_no_kubelet_answers(cluster: Cluster) -> None:
    name, port = f"deaf-{uuid.uuid4().hex[:8]}", free_port()
    status = {
        "addresses": [{"type": "InternalIP", "address": HOST}],
        "daemonEndpoints": {"kubeletEndpoint": {"Port": port}},
        "conditions": [{"type": "Ready", "status": "Unknown", "reason": "NodeStatusUnknown"}],
    }
    cluster.request("POST", "/api/v1/nodes", {"metadata": {"name": name}})
    try:
        cluster.request("PATCH", f"/api/v1/nodes/{name}/status", {"status": status})
        done = leadsman("look", f"--kubeconfig={cluster.kubeconfig()}", "--for=8s")
        without = leadsman("look", f"--kubeconfig={cluster.kubeconfig()}", "--for=8s", "--kubelet=off")
    finally:
        cluster.request("DELETE", f"/api/v1/nodes/{name}")
    assert (done.returncode, without.returncode) == (15, 0)
    assert "with Ready unknown" in done.stdout
    last = done.stderr.splitlines()[-1]
    assert re.match(r"leadsman: no kubelet could be read: [\d.]+:\d+ cannot be reached from here", last)
    assert "(--kubelet proxy)" in last
