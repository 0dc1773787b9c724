"""containerd with its own root, state, socket and network, for the pods of a test's kubelet."""

import contextlib
import json
import os
import signal
import subprocess
from pathlib import Path
from typing import Final

from components.cluster.image import IMAGE, worker_archive
from components.processes import Process
from components.programs.cache import tool
from components.programs.debian import unpacked
from waiting import PATIENCE_SECONDS, eventually

PACKAGES: Final = ("containerd", "runc", "containernetworking-plugins")
SUBNET: Final = "198.51.100.0/24"
"""Range for documentation (RFC 5737): the pods have addresses, and no host has one of them."""

SOCKET: Final = "containerd.sock"
REGISTRIES: Final = "registries"
CONFIG: Final = """\
version = 2
root = "{folder}/root"
state = "{folder}/state"

[grpc]
  address = "{folder}/containerd.sock"

[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "{image}"
  restrict_oom_score_adj = true
  netns_mounts_under_state_dir = true
  stream_server_address = "127.0.0.1"

[plugins."io.containerd.grpc.v1.cri".cni]
  bin_dir = "{programs}/usr/lib/cni"
  conf_dir = "{folder}/cni"

[plugins."io.containerd.grpc.v1.cri".registry]
  config_path = "{folder}/{registries}"

[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
  runtime_type = "io.containerd.runc.v2"

[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
  BinaryName = "{programs}/usr/sbin/runc"
  Root = "{folder}/runc"
  SystemdCgroup = false
"""
# restrict_oom_score_adj: without CAP_SYS_RESOURCE every sandbox fails otherwise (contributing.md#real-components)


def containerd_programs() -> Path:
    """containerd, runc and the CNI plugins of this machine's Debian release, unpacked."""
    return unpacked("containerd", PACKAGES)


class Containerd:
    """A containerd in `folder` (a short path: its sockets' names may not exceed 107 bytes)."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.socket = folder / SOCKET
        programs = containerd_programs()
        self._bin = programs / "usr" / "bin"
        config = folder / "containerd.toml"
        config.write_text(CONFIG.format(folder=folder, programs=programs, image=IMAGE, registries=REGISTRIES))
        self._write_network()
        path = f"{self._bin}:{programs}/usr/sbin:{os.environ['PATH']}"
        argv = [str(self._bin / "containerd"), "--config", str(config)]
        self.process = Process("containerd", argv, folder / "containerd.log", {"PATH": path})

    def start(self) -> None:
        """Start; returns when it answers and has the worker's image."""
        self.process.start()
        self.process.await_ready(lambda: self.ctr("version", check=False).returncode == 0)
        self.import_image()

    def import_image(self) -> None:
        """Import the worker's image, again when image garbage collection took it."""
        self.ctr("images", "import", str(worker_archive()))

    def mirror(self, registry: str, url: str) -> None:
        """Pull from `url` what images name `registry`."""
        folder = self.folder / REGISTRIES / registry
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "hosts.toml").write_text(f'server = "{url}"\n[host."{url}"]\n')

    def has_image(self, image: str) -> bool:
        return bool(self._names(image))

    def is_used(self, image: str) -> bool:
        """Tell whether a container has it, which may have ended: its snapshot keeps the layers."""
        return any(image in line.split() for line in self.ctr("containers", "list").stdout.splitlines())

    def remove_image(self, image: str) -> None:
        """Remove an image, by each name that it has, with its layers, as an administrator would."""
        self.ctr("images", "remove", "--sync", *self._names(image))

    def _names(self, image: str) -> list[str]:
        listed = [line.split() for line in self.ctr("images", "list").stdout.splitlines()]
        digests = {digest for name, _, digest, *_ in listed if name == image}
        return [name for name, _, digest, *_ in listed if digest in digests]

    def ctr(self, *arguments: str, check: bool = True) -> subprocess.CompletedProcess[str]:
        """One call of containerd's own client in the kubelet's namespace."""
        command = [str(self._bin / "ctr"), "-a", str(self.socket), "-n", "k8s.io", *arguments]
        return subprocess.run(command, capture_output=True, text=True, check=check, timeout=PATIENCE_SECONDS)

    def stop(self) -> None:
        """Delete the containers, whose shims end with them, and stop."""
        for container in self.ctr("tasks", "list", "-q", check=False).stdout.split():
            self.ctr("tasks", "delete", "-f", container, check=False)
        self.process.stop()

    def _write_network(self) -> None:
        """Pods have addresses, and no interface: one that comes or goes ends every request of a browser beside it."""
        ranges = {"type": "host-local", "subnet": SUBNET, "dataDir": str(self.folder / "addresses")}
        network = {"cniVersion": "0.4.0", "name": "pods", "plugins": [{"type": "host-local", "ipam": ranges}]}
        (self.folder / "cni").mkdir()
        (self.folder / "cni" / "10-pods.conflist").write_text(json.dumps(network))


def clear(folder: Path) -> None:
    """End what a containerd of `folder` left when it was killed: its shims and its mounts."""
    for pid in _shims(folder):
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    eventually("the shims of containerd end", lambda: not _shims(folder))
    for address in folder.glob("state/io.containerd.runtime.v2.task/k8s.io/*/address"):
        Path(address.read_text().removeprefix("unix://")).unlink(missing_ok=True)
    _unmount_below(folder)


def _shims(folder: Path) -> list[int]:
    """Processes that were started with the socket in `folder` as an argument, which only its containerd does."""
    ours = f"{folder}/{SOCKET}".encode()
    found = []
    for file in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            words = file.read_bytes().split(b"\0")
            if b"containerd-shim" in words[0] and ours in words:
                found.append(int(file.parent.name))
    return found


def _unmount_below(folder: Path) -> None:
    """Unmount everything that is mounted below `folder`, the innermost first."""
    mounts = [line.split()[4] for line in Path("/proc/self/mountinfo").read_text().splitlines()]
    for mount in sorted((m for m in mounts if m.startswith(f"{folder}/")), key=len, reverse=True):
        subprocess.run([tool("umount"), "--lazy", mount], capture_output=True, check=False)
