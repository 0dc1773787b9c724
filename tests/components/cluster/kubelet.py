"""A real node: the kubelet of `kubernetes`, with containerd and real containers (contributing.md#real-components)."""

import contextlib
import json
import os
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

from components.cluster import cgroups, containerd
from components.cluster.containerd import Containerd
from components.cluster.kubernetes import ApiError, Cluster
from components.cluster.node import ClusterNode
from components.processes import HOST, Process
from waiting import NotReady, eventually

NODE: Final = "real-node-1"
PREFIX: Final = "leadsman-node-"
OWNER: Final = "owner.pid"
KERNEL_SETTINGS: Final = "sysctls.json"

EVICTION: Final = {"memory.available": "100Mi", "nodefs.available": "1%", "imagefs.available": "1%"}
CONFIG: Final[Mapping[str, object]] = MappingProxyType(
    {
        "kind": "KubeletConfiguration",
        "apiVersion": "kubelet.config.k8s.io/v1beta1",
        "address": HOST,
        "authentication": {"anonymous": {"enabled": True}, "webhook": {"enabled": False}},
        "authorization": {"mode": "AlwaysAllow"},
        "cgroupDriver": "cgroupfs",
        "failCgroupV1": False,
        "failSwapOn": False,
        "makeIPTablesUtilChains": False,
        "oomScoreAdj": 0,  # a lower one needs CAP_SYS_RESOURCE
        "cpuManagerPolicy": "static",
        "reservedSystemCPUs": "0",
        "topologyManagerPolicy": "best-effort",
        "nodeStatusUpdateFrequency": "2s",
        "syncFrequency": "10s",
        "evictionHard": EVICTION,
        "evictionPressureTransitionPeriod": "10s",
        "imageGCHighThresholdPercent": 99,  # the disk of a test machine may be nearly full
        "imageGCLowThresholdPercent": 98,
    }
)
"""Settings unless a test changes them: CPU 0 is reserved, a Guaranteed pod of whole CPUs is pinned to the others."""

SYSCTLS: Final = ("vm/overcommit_memory", "vm/panic_on_oom", "kernel/panic", "kernel/panic_on_oops")
"""Settings of the kernel that a kubelet changes (with `kernel.keys.*`, which it only raises); they are restored at
the end.
"""


def why_no_kubelet() -> str:
    """Return the reason why no kubelet can run on this machine; empty if one can."""
    if os.geteuid() != 0:
        return "a kubelet needs root"
    if (os.cpu_count() or 1) < 2:  # one for the system, one to pin
        return "a kubelet that pins CPUs needs two of them"
    if not cgroups.hierarchies() or not os.access(cgroups.hierarchies()[0], os.W_OK):
        return "no cgroup file system can be written here"
    if not Path("/dev/kmsg").exists():
        return "a kubelet needs /dev/kmsg"
    if others := _kubelets_of_others():
        return f"process {others[0]} is a kubelet already, and some of its paths are the same for all"
    return ""


def _kubelets_of_others() -> list[int]:
    found = []
    for file in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            words = file.read_bytes().split(b"\0")
            if Path(words[0].decode()).name == "kubelet" and f"--hostname-override={NODE}".encode() not in words:
                found.append(int(file.parent.name))
    return found


class RealNode(ClusterNode):
    """A node named NODE of `cluster`, which was made with `nodes=(NODE,)`. `config` goes over CONFIG.

    All that it keeps is in a folder of its own, its pods are in a cgroup of its own: `stop` leaves nothing.
    """

    def __init__(self, cluster: Cluster, config: Mapping[str, object] | None = None) -> None:
        super().__init__(cluster, NODE)
        self.folder = new_folder()
        self._cgroup = self.folder.name
        self._config = {**CONFIG, **(config or {}), **self._own()}
        self.containerd = Containerd(self.folder)
        self.kubelet = Process("kubelet", self._command(), self.folder / "kubelet.log")

    def start(self) -> "RealNode":
        """Start containerd and the kubelet; returns when the node is Ready and has no taint."""
        cgroups.make(self._cgroup)
        self.containerd.start()
        self.start_kubelet()
        return self

    def start_kubelet(self) -> None:
        """Start the kubelet; its pods, if it has any, went on without it."""
        self.kubelet.start()
        self.kubelet.await_ready(self.is_ready)

    def restart_kubelet(self, config: Mapping[str, object] | None = None) -> None:
        """Stop the kubelet and start it again, with `config` over what it had."""
        self.kubelet.stop()
        self._config = {**self._config, **(config or {})}
        self._write_config()
        self.start_kubelet()

    def stop(self) -> None:
        """Remove the pods, the containers, the processes, mounts and cgroups, and the folder."""
        with contextlib.suppress(ApiError, OSError, NotReady):
            self._delete_pods()
        self.kubelet.stop()
        self.containerd.stop()
        clear(self.folder)

    def cpu_manager_state(self) -> Any:
        """The CPU manager's checkpoint (rules: cpu-checkpoint)."""
        return json.loads((self.folder / "kubelet" / "cpu_manager_state").read_text())

    def await_free_cpus(self) -> None:
        """Return when no pod holds a CPU exclusively: the kubelet lets go of one seconds after its pod is gone."""
        eventually("the CPUs are free again", lambda: not self.cpu_manager_state().get("entries"))

    def evict_after(self, taken_mib: int) -> int:
        """Restart the kubelet with a memory threshold that is reached when `taken_mib` MiB more are taken than now.

        The threshold is returned, in bytes of `memory.available`. Choose far more than others on the machine take.
        """
        available = json.loads(self.ask("/stats/summary"))["node"]["memory"]["availableBytes"]
        threshold = int(available) - taken_mib * 1024 * 1024
        self.restart_kubelet({"evictionHard": {**EVICTION, "memory.available": str(threshold)}})
        return threshold

    def last_lines(self) -> str:
        return self.kubelet.last_lines()

    def _own(self) -> dict[str, object]:
        return {
            "port": self.port,
            "healthzPort": 0,
            "cgroupRoot": f"/{self._cgroup}",
            "podLogsDir": str(self.folder / "logs"),
            "containerRuntimeEndpoint": f"unix://{self.folder}/containerd.sock",
            "volumePluginDir": str(self.folder / "plugins"),
        }

    def _write_config(self) -> None:
        (self.folder / "kubelet.json").write_text(json.dumps(self._config))

    def _command(self) -> list[str]:
        self._write_config()
        return [
            str(self.cluster.program("kubelet")),
            f"--config={self.folder / 'kubelet.json'}",
            f"--kubeconfig={self.cluster.kubeconfig(f'system:node:{NODE}')}",
            f"--root-dir={self.folder / 'kubelet'}",
            f"--cert-dir={self.folder / 'pki'}",
            f"--hostname-override={NODE}",
        ]

    def _delete_pods(self) -> None:
        pods = "/api/v1/pods"
        for pod in self.cluster.request("GET", pods)["items"]:
            meta = pod["metadata"]
            path = f"/api/v1/namespaces/{meta['namespace']}/pods/{meta['name']}"
            self.cluster.request("DELETE", path, {"gracePeriodSeconds": 1})
        eventually("the node's pods are deleted", lambda: not self.cluster.request("GET", pods)["items"])


def new_folder() -> Path:
    """Runs for one node, and keeps the machine's settings that the kubelet changes; `clear` restores them."""
    clear_abandoned()
    folder = Path(tempfile.mkdtemp(prefix=PREFIX))
    (folder / OWNER).write_text(str(os.getpid()))
    values = {name: Path("/proc/sys", name).read_text() for name in SYSCTLS}
    (folder / KERNEL_SETTINGS).write_text(json.dumps(values))
    return folder


def clear(folder: Path) -> None:
    """Remove what a node of `folder` left: processes, network, mounts, cgroups, settings, and the folder."""
    cgroups.end_processes(folder.name)
    containerd.clear(folder)
    cgroups.remove(folder.name)
    if (settings := folder / KERNEL_SETTINGS).exists():
        for name, value in json.loads(settings.read_text()).items():
            Path("/proc/sys", name).write_text(value)
    shutil.rmtree(folder, ignore_errors=True)


def clear_abandoned() -> None:
    """Remove what is left of nodes whose test run was killed."""
    for owner in Path(tempfile.gettempdir()).glob(f"{PREFIX}*/{OWNER}"):
        if not Path("/proc", owner.read_text()).exists():
            clear(owner.parent)
