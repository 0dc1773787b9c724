"""File systems that no eviction signal is about, by the kernel's lists of mounts (rules: unguarded-signals)."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from ingest.model.machine import FileSystem
from ingest.node.machine import read_file_systems
from ingest.node.sysfs import CannotReadError

CONTAINER = "c0" * 32
ROOT = "27 1 254:0 / / rw,relatime - ext4 /dev/vda rw,discard"
IMAGES = "28 27 254:16 / /var/lib/containerd rw - xfs /dev/vdb rw"
LAYERS = "/var/lib/containerd/io.containerd.snapshotter.v1.overlayfs/snapshots"
OVERLAY = (
    f"60 27 0:80 / /run/containerd/io.containerd.runtime.v2.task/k8s.io/{CONTAINER}/rootfs rw - overlay overlay"
    f" rw,lowerdir={LAYERS}/1/fs:{LAYERS}/2/fs,upperdir={LAYERS}/3/fs,workdir={LAYERS}/3/work"
)
LOG = "30 27 254:32 / /var/log rw - ext4 /dev/vdc rw"
PLENTY = (1000, 500, 400, 100, 50)


def measured(points: Mapping[str, Sequence[int]]) -> Any:
    """Answer for these mount points: blocks, free, available, inodes and free ones. A block has 4 KiB."""

    def answer(path: str) -> os.statvfs_result:
        if path not in points:
            raise OSError(116, "Stale file handle")
        blocks, free, available, inodes, inodes_free = points[path]
        return os.statvfs_result((4096, 4096, blocks, free, available, inodes, inodes_free, inodes_free, 0, 255))

    return answer


def found(tmp_path: Path, *lines: str, root: str = "/") -> list[tuple[str, bool]]:
    """Return where the file systems are mounted, and whether those of images are known."""
    return [(each["mount_point"], each["images_known"]) for each in read(tmp_path, *lines, root=root)]


def read(tmp_path: Path, *lines: str, root: str = "/", points: Mapping[str, Sequence[int]] | None = None) -> Any:
    mounts = tmp_path / "mountinfo"
    mounts.write_bytes("\n".join([*lines, ""]).encode(errors="surrogateescape"))
    shown = (line.split(" ")[4].replace(r"\040", " ") for line in lines if line.count(" ") > 3)
    places = points or dict.fromkeys(shown, PLENTY)
    return read_file_systems(Path(root), mounts, measured(places))


def test_the_amounts_of_a_separate_var_log(tmp_path: Path) -> None:
    assert read(tmp_path, ROOT, IMAGES, OVERLAY, LOG) == [
        {
            "mount_point": "/var/log",
            "device": "254:32",
            "kind": "ext4",
            "capacity_bytes": 1000 << 12,
            "available_bytes": 400 << 12,
            "used_bytes": 500 << 12,
            "inodes": 100,
            "inodes_free": 50,
            "images_known": True,
        }
    ]


def test_the_kubelet_s_own_and_those_of_images_are_known_by_their_device(tmp_path: Path) -> None:
    """nodefs is /, as nothing is mounted at the kubelet's folder; images lie where the layers of a container do."""
    assert found(tmp_path, ROOT, IMAGES, OVERLAY) == []
    bound = "31 27 254:16 /x /somewhere rw - xfs /dev/vdb rw"
    assert found(tmp_path, ROOT, IMAGES, OVERLAY, bound) == []
    own = "32 27 254:48 / /var/lib/kubelet rw - ext4 /dev/vdd rw"
    assert found(tmp_path, ROOT, IMAGES, OVERLAY, own) == [("/", True)]


def test_without_a_container_it_is_not_known_where_images_lie(tmp_path: Path) -> None:
    assert found(tmp_path, ROOT, IMAGES) == [("/var/lib/containerd", False)]
    of_a_person = f"60 27 0:80 / /merged rw - overlay overlay rw,lowerdir=/a,upperdir={LAYERS}/3/fs,workdir=/w"
    assert found(tmp_path, ROOT, IMAGES, of_a_person) == [("/var/lib/containerd", False)]


def test_layers_without_their_folder_in_the_list_do_not_show_where_images_lie(tmp_path: Path) -> None:
    """The runtime was in a folder of the layers and named them from there."""
    relative = OVERLAY.replace(f"{LAYERS}/", "")
    assert found(tmp_path, ROOT, IMAGES, relative) == [("/var/lib/containerd", False)]


@pytest.mark.parametrize(
    "line",
    [
        "40 27 0:45 / /run rw - tmpfs tmpfs rw",
        "40 27 7:1 / /snap/core/1 ro - squashfs /dev/loop1 ro",
        "40 27 0:46 / /home/user/m rw - fuse.sshfs /dev/sdb rw,user_id=1000",
        "40 27 8:16 / /home/user/m rw - fuseblk /dev/sdb rw,user_id=0",
        "40 27 0:47 / /mnt rw - nfs4 server:/export rw,vers=4.2",
        "40 27 259:9 / /var/lib/kubelet/plugins/kubernetes.io/csi/d/1/globalmount rw - ext4 /dev/nvme2n1 rw",
        "40 27 259:9 / /var/lib/kubelet/pods/u/volumes/kubernetes.io~csi/v/mount rw - ext4 /dev/nvme2n1 rw",
        "40 27 8:17",
        "garbage - without fields",
        " - ",
    ],
)
def test_file_systems_that_are_not_the_nodes_disks_are_left_out(tmp_path: Path, line: str) -> None:
    """Memory, networks, users' own file systems, images that nobody writes, volumes of pods, and broken lines."""
    assert found(tmp_path, ROOT, LOG, line) == [("/var/log", False)]


def test_a_disk_of_a_local_volume_is_shown_where_the_node_has_it(tmp_path: Path) -> None:
    here = "41 27 8:16 / /mnt/disks/one rw - ext4 /dev/sdb rw"
    volume = "42 27 8:16 / /var/lib/kubelet/pods/u/volumes/kubernetes.io~local-volume/v rw - ext4 /dev/sdb rw"
    assert found(tmp_path, ROOT, here, volume) == [("/mnt/disks/one", False)]


def test_a_file_system_is_named_once_by_its_shortest_mount_point(tmp_path: Path) -> None:
    lines = [
        f"4{at} 27 0:50 /sub{at} {point} rw - btrfs /dev/sdc rw" for at, point in enumerate(("/data/b", "/data"))
    ]
    assert found(tmp_path, ROOT, *lines) == [("/data", False)]


def test_the_upper_of_two_mounts_is_reported(tmp_path: Path) -> None:
    over = "43 30 0:51 / /var/log rw - tmpfs tmpfs rw"
    assert found(tmp_path, ROOT, LOG, over) == []


def test_hostile_names_of_mount_points_are_data(tmp_path: Path) -> None:
    """The kernel escapes white space and backslashes, and leaves all other bytes as they are."""
    names = {"/a\\040b": "/a b", "/\x1b[31mred": "/\x1b[31mred", "/=cmd|'x'": "/=cmd|'x'"}
    lines = [f"5{at} 27 8:{at} / {name} rw - ext4 /dev/x rw" for at, name in enumerate(names)]
    assert {name for name, _ in found(tmp_path, ROOT, *lines)} == {*names.values()}
    raw = "/\udcff\udcfe"
    assert found(tmp_path, ROOT, f"50 27 8:1 / {raw} rw - ext4 /dev/x rw") == [("/\\xff\\xfe", False)]


def test_the_fullest_come_first_and_no_more_than_64(tmp_path: Path) -> None:
    points = {f"/d{at}": (100, at, at, 0, 0) for at in range(80)}
    lines = [f"{at} 27 8:{at} / {point} rw - ext4 /dev/x rw" for at, point in enumerate(points)]
    rows = read(tmp_path, ROOT, *lines, points=points)
    assert [each["mount_point"] for each in rows] == [f"/d{at}" for at in range(64)]
    assert {each["inodes"] for each in rows} == {None}


def test_one_that_cannot_be_asked_or_has_no_blocks_is_left_out(tmp_path: Path) -> None:
    empty = "44 27 8:32 / /empty rw - vfat /dev/sdc1 rw"
    stale = "45 27 8:48 / /stale rw - ext4 /dev/sdd rw"
    points = {"/var/log": PLENTY, "/empty": (0, 0, 0, 0, 0)}
    assert [each["mount_point"] for each in read(tmp_path, ROOT, LOG, empty, stale, points=points)] == ["/var/log"]


POD = (
    "700 600 0:90 / / ro - overlay overlay rw,lowerdir=/hidden/1/fs,upperdir=/hidden/2/fs",
    "701 700 254:0 /var/lib/kubelet/pods/u/etc-hosts /etc/hosts rw - ext4 /dev/vda rw",
    "702 700 254:0 /var/lib/kubelet /host/var/lib/kubelet ro - ext4 /dev/vda rw",
    "703 700 0:22 /devices/system /host/sys/devices/system ro - sysfs sysfs rw",
    "704 700 254:32 /empty /host/var/log/empty ro - ext4 /dev/vdc rw",
    "705 700 254:16 /images /host/images ro - xfs /dev/vdb rw",
)
"""Mounts of a pod of the DaemonSet, on a node whose images lie on 254:16."""
RUNTIME = (
    f"706 700 254:16 /io.containerd.grpc.v1.cri/sandboxes/{CONTAINER}/hostname /etc/hostname rw - xfs /dev/vdb rw"
)
IN_MEMORY = f"706 700 0:30 /containers/{CONTAINER}/userdata/hostname /etc/hostname rw - tmpfs tmpfs rw"


def test_a_pod_sees_what_is_mounted_below_its_root(tmp_path: Path) -> None:
    """Containerd keeps the pod's host name beside its images, CRI-O in memory."""
    assert found(tmp_path, *POD, RUNTIME, root="/host") == [("/var/log/empty", True)]
    assert found(tmp_path, *POD, IN_MEMORY, root="/host") == [("/images", False), ("/var/log/empty", False)]


def test_a_pod_without_other_file_systems_sees_none(tmp_path: Path) -> None:
    assert found(tmp_path, *POD[:4], RUNTIME, root="/host") == []


def test_a_list_that_cannot_be_read_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(CannotReadError, match="mountinfo"):
        read_file_systems(Path("/"), tmp_path / "mountinfo")


def test_this_machine_s_own_are_what_a_record_can_hold() -> None:
    for each in read_file_systems(Path("/")):
        assert FileSystem(**each).capacity_bytes > 0
