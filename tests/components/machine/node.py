"""A node that is a virtual machine, under software emulation: cgroups of version 2, PSI and swap, on a machine that
has none of them.
"""

import contextlib
import json
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from components.cluster.image import IMAGE
from components.cluster.kubernetes import Cluster
from components.cluster.node import ClusterNode
from components.machine.disk import write_disks, write_kernel
from components.machine.programs import emulator_programs
from components.machine.shell import Shell
from components.processes import HOST, Process
from components.programs.debian import libraries

VIRTUAL: Final = "virtual-node-1"
MEMORY_MIB: Final = 1536
SWAPS_PER_SECOND: Final = 500
"""Operations a second of the disk that holds the swap: it is slow, so that the machine stays usable."""
STATIC: Final = "static"
_HOST_SEEN_FROM_INSIDE: Final = "10.0.2.2"
_PORT_INSIDE: Final = 10250
_MANIFESTS: Final = "etc/kubernetes/manifests"
_CONFIG: Final = {
    "kind": "KubeletConfiguration",
    "apiVersion": "kubelet.config.k8s.io/v1beta1",
    "port": _PORT_INSIDE,
    "authentication": {"anonymous": {"enabled": True}, "webhook": {"enabled": False}},
    "authorization": {"mode": "AlwaysAllow"},
    "cgroupDriver": "cgroupfs",
    "containerRuntimeEndpoint": "unix:///run/containerd/containerd.sock",
    "failSwapOn": False,
    "memorySwap": {"swapBehavior": "LimitedSwap"},
    "makeIPTablesUtilChains": False,
    "nodeStatusUpdateFrequency": "5s",
    "staticPodPath": f"/{_MANIFESTS}",
    "volumePluginDir": "/var/lib/kubelet/plugins",
    "evictionHard": {"memory.available": "100Mi", "nodefs.available": "1%", "imagefs.available": "1%"},
    "evictionPressureTransitionPeriod": "10s",
}
_BOOT: Final = "console=ttyS0 psi=1 mitigations=off nmi_watchdog=0 loglevel=4 panic=-1"
_POD: Final = {"hostNetwork": True, "automountServiceAccountToken": False}


class VirtualNode(ClusterNode):
    """A node named VIRTUAL of `cluster`, which was made with `nodes=(VIRTUAL,)`: one CPU, MEMORY_MIB, SWAP_MIB.

    It has a static pod STATIC of `limits`, which waits.
    """

    def __init__(self, cluster: Cluster, limits: Mapping[str, str]) -> None:
        super().__init__(cluster, VIRTUAL)
        self._folder = Path(tempfile.mkdtemp(prefix="leadsman-vm-"))
        self._console = self._folder / "console"
        self._shell = Shell(self._folder / "shell")
        write_kernel(self._folder)
        write_disks(self._folder, self._files(limits))
        self._process = Process("the virtual machine", self._command(), self._console, libraries(emulator_programs()))

    def start(self) -> "VirtualNode":
        """Boot; returns when the node is Ready, after 20 s on a machine with nothing else to do."""
        self._process.start()
        self._process.await_ready(self.is_ready)
        return self

    def stop(self) -> None:
        """Switch it off; nothing is left of it."""
        self._shell.close()
        self._process.stop()
        shutil.rmtree(self._folder)

    def run(self, command: str) -> str:
        """Return the output of a shell command inside."""
        return self._shell.run(command)

    def copy_files(self, to: Path, *found: str) -> None:
        """Have files of the machine below `to`, as they are now; which ones are arguments of `find`."""
        each = "; ".join(f"find {arguments} -type f" for arguments in found)
        printed = self.run(f'for file in $({each}); do echo "@$file"; cat "$file"; done')
        for part in printed.split("@")[1:]:
            path, _, text = part.partition("\n")
            copy = to / path.lstrip("/")
            copy.parent.mkdir(parents=True, exist_ok=True)
            copy.write_text(text)

    def summary(self) -> Any:
        """`/stats/summary`."""
        return json.loads(self.ask("/stats/summary"))

    def pod_spec(self) -> Mapping[str, object]:
        return _POD

    def last_lines(self) -> str:
        with contextlib.suppress(OSError):
            return self.ask("/logs/kubelet.log")[-4000:].decode(errors="replace")
        return self._process.last_lines()

    def _files(self, limits: Mapping[str, str]) -> dict[str, str]:
        config = json.loads(self.cluster.kubeconfig(f"system:node:{self.name}").read_text())
        config["clusters"][0]["cluster"] = {
            "server": f"https://{_HOST_SEEN_FROM_INSIDE}:{self.cluster.port}",
            "insecure-skip-tls-verify": True,  # its certificate has no such address
        }
        container = {"name": "w", "image": IMAGE, "imagePullPolicy": "Never", "resources": {"limits": dict(limits)}}
        static = {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": STATIC, "namespace": "default"},
            "spec": {"containers": [container], "terminationGracePeriodSeconds": 1, **_POD},
        }
        return {
            "etc/hostname": self.name,
            "etc/kubeconfig": json.dumps(config),
            "etc/kubelet.json": json.dumps(_CONFIG),
            f"{_MANIFESTS}/{STATIC}.json": json.dumps(static),
        }

    def _command(self) -> list[str]:
        programs, folder = emulator_programs(), self._folder
        disk = "format=raw,if=virtio,cache=unsafe"
        network = f"user,id=net,hostfwd=tcp:{HOST}:{self.port}-10.0.2.15:{_PORT_INSIDE}"
        return [
            str(programs / "usr/bin/qemu-system-x86_64"),
            *("-L", str(programs / "usr/share/qemu"), "-L", str(programs / "usr/share/seabios")),
            *("-nodefaults", "-no-user-config", "-display", "none", "-no-reboot"),
            *("-machine", "q35", "-accel", "tcg", "-smp", "1", "-m", str(MEMORY_MIB)),
            *("-kernel", str(folder / "vmlinuz"), "-initrd", str(folder / "initramfs"), "-append", _BOOT),
            *("-drive", f"file={folder / 'disk'},{disk}"),
            *("-drive", f"file={folder / 'swap'},{disk},throttling.iops-total={SWAPS_PER_SECOND}"),
            *("-netdev", network, "-device", "virtio-net-pci,netdev=net,romfile="),
            *("-serial", "stdio"),
            *("-chardev", f"socket,id=shell,path={self._shell.path},server=on,wait=off"),
            *("-device", "virtio-serial-pci", "-device", "virtserialport,chardev=shell"),
        ]
