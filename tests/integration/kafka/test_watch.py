"""`leadsman watch` between a real API server and a real Kafka: replicas, permissions, secrets."""

import asyncio
import json
import uuid
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import msgspec
import pytest
from aiokafka.admin import AIOKafkaAdminClient

from components.cluster.kubernetes import ApiError, Cluster
from components.command import leadsman_process
from components.kafka import Kafka
from components.pipeline import waiting
from components.processes import Process
from components.rows import dicts
from components.topics import messages
from ingest.kafka.aiokafka_fixes import started
from integration.cluster.node_story import CANARY
from sql.database.open import connect
from waiting import eventually

pytestmark = pytest.mark.components("cluster")


class Watchers:
    """Watchers of one cluster with topics of their own."""

    def __init__(self, cluster: Cluster, kafka: Kafka, folder: Path) -> None:
        self.prefix = f"w{uuid.uuid4().hex[:8]}"
        self._cluster = cluster
        self._kafka = kafka
        self._folder = folder
        self._all: list[Process] = []

    def start(self, name: str, *flags: str, user: str = "admin", command: str = "watch") -> Process:
        arguments = [
            f"--kafka={self._kafka.bootstrap_servers}",
            f"--kubeconfig={self._cluster.kubeconfig(user)}",
            "--cluster=lab",
            "--kubelet=off",
            *flags,
        ]
        environment = {"LEADSMAN_KAFKA__TOPIC_PREFIX": self.prefix, "LEADSMAN_KAFKA__PARTITIONS": "2"}
        watcher = leadsman_process(command, *arguments, folder=self._folder, name=name, environment=environment)
        self._all.append(watcher)
        watcher.start()
        return watcher

    def messages(self) -> list[bytes]:
        """The values of all messages that are in the cluster's log now."""
        return [bytes(each.value) for each in messages(self._kafka.bootstrap_servers, f"{self.prefix}.cluster")]

    def pods(self, namespace: str) -> list[str]:
        """The names of the pods in all messages: those of another test's namespace may still be on their way out."""
        found = [msgspec.json.decode(value) for value in self.messages()]
        pods = [each["object"]["metadata"] for each in found if each["kind"] == "pod"]
        return [str(pod["name"]) for pod in pods if pod["namespace"] == namespace]

    def is_landed(self) -> bool:
        """Return whether the worker has taken all of the cluster's log, and the lander all findings."""
        servers = self._kafka.bootstrap_servers
        parts = (("work", "cluster"), ("land", "findings"))
        return all(
            waiting(servers, f"{self.prefix}-{part}", [f"{self.prefix}.{topic}"]) == 0 for part, topic in parts
        )

    def stop(self) -> None:
        for watcher in self._all:
            watcher.stop()


@pytest.fixture
def watchers(cluster: Cluster, kafka: Kafka, tmp_path: Path) -> Iterator[Watchers]:
    running = Watchers(cluster, kafka, tmp_path)
    try:
        yield running
    finally:
        running.stop()
        with suppress(ApiError):
            cluster.request(
                "DELETE", f"/apis/coordination.k8s.io/v1/namespaces/default/leases/{running.prefix}-watch"
            )


@pytest.fixture
def namespace(cluster: Cluster) -> Iterator[str]:
    """Create a namespace where pods can be created; they are deleted with it."""
    name = f"watch-{uuid.uuid4().hex[:8]}"
    cluster.make_namespace(name)
    yield name
    cluster.request("DELETE", f"/api/v1/namespaces/{name}")


def _make_pod(cluster: Cluster, namespace: str, name: str) -> None:
    """A pod that no scheduler touches, with secrets."""
    container = {"name": "c", "image": "none", "args": [CANARY], "env": [{"name": "A", "value": CANARY}]}
    metadata = {"name": name, "annotations": {"kubectl.kubernetes.io/last-applied-configuration": CANARY}}
    spec = {"schedulerName": "nobody", "containers": [container], "terminationGracePeriodSeconds": 0}
    cluster.request("POST", f"/api/v1/namespaces/{namespace}/pods", {"metadata": metadata, "spec": spec})


def test_another_replica_takes_over_from_a_killed_one_and_nothing_is_missed(
    cluster: Cluster, kafka: Kafka, watchers: Watchers, namespace: str
) -> None:
    first = watchers.start("first")
    first.await_ready(lambda: "watching begins" in first.last_lines())
    second = watchers.start("second")
    second.await_ready(lambda: "waiting for the lease" in second.last_lines())
    _make_pod(cluster, namespace, "before")
    eventually("the first pod is in Kafka", lambda: "before" in watchers.pods(namespace))
    eventually("its list is over", lambda: "pods" in committed(kafka, f"{watchers.prefix}-watch-lab"))
    first.kill()
    _make_pod(cluster, namespace, "between")
    _make_pod(cluster, namespace, "brief")  # a list would no longer have it
    cluster.request("DELETE", f"/api/v1/namespaces/{namespace}/pods/brief")
    # the second has to see the Lease unchanged for its 15 s
    second.await_ready(lambda: "watching begins" in second.last_lines())
    _make_pod(cluster, namespace, "after")
    eventually("the others are in Kafka", lambda: {"between", "brief", "after"} <= {*watchers.pods(namespace)})
    assert CANARY.encode() not in b"".join(watchers.messages())


def committed(kafka: Kafka, group: str) -> dict[str, str]:
    """The versions that a watcher keeps in Kafka."""

    async def read() -> dict[str, str]:
        async with started(AIOKafkaAdminClient(bootstrap_servers=kafka.bootstrap_servers)) as admin:
            found = await admin.list_consumer_group_offsets(group)
        return {name: at for each in found.values() for name, at in json.loads(each.metadata)["versions"].items()}

    return asyncio.run(read())


@pytest.mark.parametrize("where", ["in a file", "in Kafka"])
def test_a_watcher_that_ends_in_order_goes_on_where_it_was(
    where: str, cluster: Cluster, kafka: Kafka, watchers: Watchers, namespace: str, tmp_path: Path
) -> None:
    file = tmp_path / "versions.json"
    flags = (f"--versions={file}",) if where == "in a file" else ()

    def kept() -> dict[str, str]:
        if where == "in Kafka":
            return committed(kafka, f"{watchers.prefix}-watch-lab")
        return dict(json.loads(file.read_bytes())["versions"]) if file.exists() else {}

    _make_pod(cluster, namespace, "before")
    first = watchers.start("first", *flags)
    first.await_ready(lambda: "watching begins" in first.last_lines())
    eventually("the pod is in Kafka", lambda: "before" in watchers.pods(namespace))
    eventually("the list is over", lambda: "pods" in kept())  # one that is not over begins anew
    first.stop()
    _make_pod(cluster, namespace, "between")
    # its Lease was given back: the next one need not wait for the end of it
    second = watchers.start("second", *flags)
    second.await_ready(lambda: "between" in watchers.pods(namespace))
    second.stop()
    assert watchers.pods(namespace) == ["before", "between"]


def test_up_lands_in_the_embedded_database_that_can_be_asked_when_it_has_ended(
    cluster: Cluster, watchers: Watchers, namespace: str, tmp_path: Path
) -> None:
    dsn = f"chdb://{tmp_path / 'db'}"
    up = watchers.start("up", f"--db={dsn}", command="up")
    up.await_ready(lambda: "watching begins" in up.last_lines())
    _make_pod(cluster, namespace, "pending")
    eventually("the pod is in Kafka", lambda: "pending" in watchers.pods(namespace))
    eventually("all is landed", watchers.is_landed)
    up.stop()
    assert "Traceback" not in up.log.read_text()
    with connect(dsn) as db:
        found = dicts(db, "SELECT change FROM pod_bindings WHERE namespace = {namespace:String}", namespace=namespace)
    assert found == [{"change": "pending"}]


def test_a_watcher_that_may_not_take_part_in_the_election_says_what_to_allow(watchers: Watchers) -> None:
    refused = watchers.start("refused", user="nobody")
    eventually("it has given up", lambda: "leases" in refused.last_lines())
    assert "allow get, create and update on leases" in refused.last_lines()
    assert "Traceback" not in refused.last_lines()
