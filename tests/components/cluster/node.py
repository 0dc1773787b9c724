"""A node of a test's cluster, whatever machine it is: what is asked of its kubelet and of the API server."""

import ssl
import urllib.request
from collections.abc import Mapping
from typing import Any

from components.cluster.image import IMAGE
from components.cluster.kubernetes import ApiError, Cluster
from components.processes import HOST, free_port
from waiting import PATIENCE_SECONDS, NotReady, eventually


class ClusterNode:
    """A node `name` of `cluster`, which was made with `nodes=(name,)`; its kubelet answers on `port` of loopback."""

    def __init__(self, cluster: Cluster, name: str) -> None:
        self.cluster = cluster
        self.name = name
        self.port = free_port()
        self.url = f"https://{HOST}:{self.port}"

    def ask(self, path: str) -> bytes:
        """Return the kubelet's answer for `path`, such as `/stats/summary`, `/configz` or `/metrics`."""
        trusting = ssl._create_unverified_context()  # noqa: S323  # the kubelet signed its certificate itself
        asked = urllib.request.Request(self.url + path, headers={"Authorization": f"Bearer {self.cluster.token()}"})  # noqa: S310  # https
        with urllib.request.urlopen(asked, timeout=PATIENCE_SECONDS, context=trusting) as answer:  # noqa: S310  # https
            return bytes(answer.read())

    def run_pod(
        self, name: str, *command: str, requests: Mapping[str, str], limits: Mapping[str, str], image: str = IMAGE
    ) -> None:
        """Make a pod of one container `w`, as `run_pod("a", "grow", "1000", "64", ...)`; another image is pulled."""
        container = {
            "name": "w",
            "image": image,
            "imagePullPolicy": "Never" if image == IMAGE else "IfNotPresent",
            "args": list(command),
            "resources": {"requests": dict(requests), "limits": dict(limits)},
        }
        spec = {"containers": [container], "terminationGracePeriodSeconds": 1, **self.pod_spec()}
        body = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": spec}
        self.cluster.request("POST", "/api/v1/namespaces/default/pods", body)

    def pod_spec(self) -> Mapping[str, object]:
        """Return the fields that all of its pods have besides."""
        return {}

    def node(self) -> Any:
        """The Node as the API server has it."""
        return self.cluster.request("GET", f"/api/v1/nodes/{self.name}")

    def pod(self, name: str) -> Any:
        """The pod `default/name` as the API server has it."""
        return self.cluster.request("GET", f"/api/v1/namespaces/default/pods/{name}")

    def await_phase(self, name: str, phase: str, timeout_seconds: float = PATIENCE_SECONDS) -> Any:
        """The pod, when its phase is `phase`; NotReady when the time is over."""
        try:
            eventually(f"pod {name} {phase}", lambda: self.pod(name)["status"]["phase"] == phase, timeout_seconds)
        except NotReady as late:
            raise NotReady(f"{late}\n{self.pod(name)['status']}\n{self.last_lines()}") from None
        return self.pod(name)

    def is_ready(self) -> bool:
        """Return whether the node is Ready, has no taint, and its kubelet answers."""
        try:
            node = self.node()
            self.ask("/healthz")
        except (ApiError, OSError):
            return False
        conditions = {c["type"]: c["status"] for c in node["status"].get("conditions", ())}
        return conditions.get("Ready") == "True" and not node["spec"].get("taints")

    def last_lines(self) -> str:
        """The end of its log, for a message to a person."""
        return ""
