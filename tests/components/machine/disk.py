"""The files that a virtual machine boots from: an archive for its kernel to begin with, and a disk."""

import json
import shutil
import subprocess
from collections.abc import Iterable, Iterator, Mapping
from itertools import count
from pathlib import Path
from typing import Final

from components.cluster.containerd import containerd_programs
from components.cluster.image import IMAGE, worker_archive
from components.cluster.kubernetes import kubernetes_programs
from components.machine.programs import busybox_program, kernel_files, shared_libraries
from components.programs.cache import tool

DISK_MIB: Final = 1536
SWAP_MIB: Final = 1024
MODULES: Final = (
    "virtio_ring",
    "virtio",
    "virtio_pci_legacy_dev",
    "virtio_pci_modern_dev",
    "virtio_pci",
    "virtio_blk",
    "virtio_console",
    "failover",
    "net_failover",
    "virtio_net",
    "overlay",
)
"""Each after those that it needs. ext4 is in the kernel itself."""
_INIT: Final = f"""\
#!/bin/busybox sh
busybox=/bin/busybox
$busybox mount -t devtmpfs dev /dev
for module in {" ".join(MODULES)}; do $busybox insmod /$module.ko; done
$busybox mount -t ext4 /dev/vda /root
$busybox mount -o move /dev /root/dev
exec $busybox switch_root /root /start
"""
_FOLDERS: Final = ("dev", "proc", "run", "sys", "tmp", "root", "var/log", "etc/cni/net.d", "etc/kubernetes/manifests")
_CONTAINERD: Final = f"""\
version = 2
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "{IMAGE}"
[plugins."io.containerd.grpc.v1.cri".cni]
  conf_dir = "/etc/cni/net.d"
[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
  runtime_type = "io.containerd.runc.v2"
"""
_NO_NETWORK: Final = {"cniVersion": "0.4.0", "name": "none", "plugins": [{"type": "loopback"}]}
"""The runtime is ready with any; pods have the machine's own network."""


def write_kernel(folder: Path) -> None:
    """`vmlinuz` and `initramfs`."""
    (kernel,) = kernel_files().glob("boot/vmlinuz-*")
    shutil.copy(kernel, folder / "vmlinuz")
    (folder / "initramfs").write_bytes(b"".join(_archive()))


def write_disks(folder: Path, files: Mapping[str, str]) -> None:
    """`disk`, which has containerd, the kubelet, the worker's image and `files` by their paths; an empty `swap`."""
    root = folder / "root"
    for each in _FOLDERS:
        (root / each).mkdir(parents=True)
    for program in _programs():
        _copy(program, root / "usr" / "bin" / program.name)
        for library in shared_libraries(program):
            _copy(library, root / library.relative_to("/"))
    _copy(busybox_program(), root / "bin" / "busybox")
    _copy(worker_archive(), root / "worker.tar")
    _copy(Path(__file__).with_name("start.sh"), root / "start")
    (root / "start").chmod(0o755)
    own = {
        "etc/hosts": "127.0.0.1 localhost\n",
        "etc/passwd": "root:x:0:0:root:/root:/bin/sh\n",
        "etc/resolv.conf": "",
        "etc/containerd.toml": _CONTAINERD,
        "etc/cni/net.d/none.conflist": json.dumps(_NO_NETWORK),
    }
    for path, text in {**own, **files}.items():
        (root / path).write_text(text)
    make = [tool("mke2fs"), "-q", "-t", "ext4", "-d", str(root), str(folder / "disk"), f"{DISK_MIB}M"]
    subprocess.run(make, check=True, capture_output=True)
    shutil.rmtree(root)
    with (folder / "swap").open("wb") as swap:
        swap.truncate(SWAP_MIB * 1024 * 1024)


def _programs() -> Iterator[Path]:
    yield kubernetes_programs() / "kubelet"
    for each in ("usr/bin/containerd", "usr/bin/containerd-shim-runc-v2", "usr/bin/ctr", "usr/sbin/runc"):
        yield containerd_programs() / each


def _copy(file: Path, to: Path) -> None:
    to.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy(file, to)


def _archive() -> Iterable[bytes]:
    """Return an archive that the kernel unpacks: cpio, in the format `newc`."""
    modules = {file.stem: file for file in kernel_files().glob("lib/modules/*/kernel/**/*.ko")}
    numbers = count(1)
    for folder in ("bin", "dev", "root"):
        yield _entry(next(numbers), folder, 0o040755)
    yield _entry(next(numbers), "bin/busybox", 0o100755, busybox_program().read_bytes())
    yield _entry(next(numbers), "init", 0o100755, _INIT.encode())
    for name in MODULES:
        yield _entry(next(numbers), f"{name}.ko", 0o100644, modules[name].read_bytes())
    yield _entry(0, "TRAILER!!!", 0)


def _entry(inode: int, name: str, mode: int, data: bytes = b"") -> bytes:
    named = name.encode() + b"\0"
    fields = (inode, mode, 0, 0, 1, 0, len(data), 0, 0, 0, 0, len(named), 0)
    head = b"070701" + b"".join(b"%08X" % field for field in fields) + named
    return _padded(head) + _padded(data)


def _padded(data: bytes) -> bytes:
    return data + b"\0" * (-len(data) % 4)
