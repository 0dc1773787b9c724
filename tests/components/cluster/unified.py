"""A kubelet that sees cgroups of version 2, on a machine of either version, and memory that runs short for real."""

import contextlib
import json
import ssl
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

from components.cluster import cgroups
from components.cluster.containerd import Containerd
from components.cluster.kubelet import CONFIG, clear, new_folder
from components.cluster.kubernetes import kubernetes_programs
from components.processes import HOST, Process, free_port
from waiting import PATIENCE_SECONDS

NAME: Final = "unified-node"
PRESSURE: Final = Path("/proc/pressure")
_ALONE: Final = 'mount -t cgroup2 none /sys/fs/cgroup && mount -t tmpfs none /var/lib && exec "$@"'
"""In a mount namespace of its own: the machine's mounts, and another kubelet's sockets, stay as they are."""
_NO_PODS: Final = {
    "cpuManagerPolicy": "none",
    "topologyManagerPolicy": "none",
    "cgroupsPerQOS": False,
    "enforceNodeAllocatable": [],
}
_LIMIT_BYTES: Final = 24 * 1024 * 1024
_THRASH: Final = """
import mmap, random, sys
file = open(sys.argv[1], "wb+")
file.truncate(4 * int(sys.argv[2]))
pages = mmap.mmap(file.fileno(), 0)
for each in range(0, len(pages), 4096):
    pages[each] = 1
chosen = random.Random(1)
while True:
    pages[chosen.randrange(len(pages))]
"""


def why_no_pressure() -> str:
    """Return the reason why no kubelet can report stalls on this machine; empty if one can."""
    if not PRESSURE.is_dir():
        return "this kernel counts no stalls: boot it with psi=1"
    tried = subprocess.run(["unshare", "--mount", "mount", "-t", "cgroup2", "none", "/sys/fs/cgroup"], check=False)  # noqa: S607
    return "no cgroup file system of version 2 can be mounted here" if tried.returncode else ""


def stalled_microseconds(resource: str, kind: str) -> int:
    """Return the kernel's count since boot: `resource` is cpu, memory or io, `kind` some or full."""
    lines = (PRESSURE / resource).read_text().splitlines()
    (total,) = (line.rpartition("total=")[2] for line in lines if line.startswith(kind))
    return int(total)


class UnifiedKubelet:
    """A kubelet without a cluster and, since the controllers may belong to version 1, without pods."""

    def __init__(self) -> None:
        self._folder = folder = new_folder()
        self._port = free_port()
        self._containerd = Containerd(folder)
        config = {name: value for name, value in CONFIG.items() if name != "reservedSystemCPUs"} | _NO_PODS
        config |= {
            "port": self._port,
            "healthzPort": 0,
            "podLogsDir": str(folder / "logs"),
            "containerRuntimeEndpoint": f"unix://{self._containerd.socket}",
            "volumePluginDir": str(folder / "plugins"),
        }
        file = folder / "kubelet.json"
        file.write_text(json.dumps(config))
        kubelet = [str(kubernetes_programs() / "kubelet"), f"--config={file}", f"--hostname-override={NAME}"]
        kubelet += [f"--root-dir={folder / 'kubelet'}", f"--cert-dir={folder / 'pki'}"]
        self._kubelet = Process("kubelet", ["unshare", "--mount", "sh", "-c", _ALONE, "sh", *kubelet], folder / "log")

    def __enter__(self) -> Self:
        self._containerd.start()
        self._kubelet.start()
        self._kubelet.await_ready(self._answers)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        self._kubelet.stop()
        self._containerd.stop()
        clear(self._folder)

    def summary(self) -> Any:
        """`/stats/summary`."""
        trusting = ssl._create_unverified_context()  # noqa: S323  # the kubelet signed its certificate itself
        with urllib.request.urlopen(
            f"https://{HOST}:{self._port}/stats/summary", timeout=PATIENCE_SECONDS, context=trusting
        ) as it:
            return json.load(it)

    def _answers(self) -> bool:
        try:
            return bool(self.summary()["node"]["memory"])
        except (OSError, KeyError):
            return False


@contextlib.contextmanager
def short_of_memory(folder: Path) -> Iterator[None]:
    """A process uses four times the memory that it may have: it waits for its pages again and again."""
    name = f"leadsman-{folder.name}"
    limits = ("memory.limit_in_bytes", "memory.max")
    run = [sys.executable, "-c", _THRASH, str(folder / "pages"), str(_LIMIT_BYTES)]
    try:
        cgroups.make(name)
        limit = next(found for each in cgroups.hierarchies() for of in limits if (found := each / name / of).exists())
        limit.write_text(str(_LIMIT_BYTES))
        enter = f'echo $$ > {limit.with_name("cgroup.procs")} && exec "$@"'
        with subprocess.Popen(["sh", "-c", enter, "sh", *run]) as process:  # noqa: S607
            try:
                yield
            finally:
                process.kill()
    finally:
        cgroups.end_processes(name)
        cgroups.remove(name)
