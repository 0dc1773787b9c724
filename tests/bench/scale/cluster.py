"""A real API server with any number of nodes and pods; they are written into its etcd, as it would do itself."""

from base64 import b64encode
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Final

import msgspec

from bench.generate import node_object, pod_object
from bench.shapes import Json, load_shapes
from components.cluster.kubernetes import Cluster

from .stubs import address

_OBJECTS_AT_ONCE: Final = 100
"""Objects of one transaction; etcd takes 128 operations."""


class LargeCluster(Cluster):
    """Without controllers: nobody marks a node that sends no heartbeats, and nobody evicts its pods."""

    def __init__(self, folder: Path, kubelet_port: int) -> None:
        super().__init__(folder, {"disable-admission-plugins": "ServiceAccount"})
        self._managers.clear()
        self._shapes = load_shapes()
        self._kubelet_port = kubelet_port

    def add(self, nodes: range, pods: int) -> None:
        """Make these nodes with so many pods each; returns when etcd has them."""
        objects = self._objects(nodes, pods)
        while some := list(islice(objects, _OBJECTS_AT_ONCE)):
            self._etcd("kv/txn", {"success": [{"requestPut": each} for each in some]})

    def _objects(self, nodes: Iterable[int], pods: int) -> Iterator[dict[str, str]]:
        for node in nodes:
            for pod in range(pods):
                made = pod_object(self._shapes, node, pod)
                yield _stored(f"pods/{made['metadata']['namespace']}", "Pod", made)
            yield _stored("minions", "Node", self._node(node))

    def _node(self, node: int) -> Json:
        made = node_object(self._shapes, node)
        made["status"]["addresses"] = [{"type": "InternalIP", "address": address(node)}]
        made["status"]["daemonEndpoints"] = {"kubeletEndpoint": {"Port": self._kubelet_port}}
        return made


def _stored(folder: str, kind: str, made: Json) -> dict[str, str]:
    for given_by_the_server in ("resourceVersion", "managedFields"):
        made["metadata"].pop(given_by_the_server, None)
    value = msgspec.json.encode({**made, "kind": kind, "apiVersion": "v1"})
    key = f"/registry/{folder}/{made['metadata']['name']}"
    return {"key": b64encode(key.encode()).decode(), "value": b64encode(value).decode()}
