"""Reads the machine's memory as the kernel counts it (rules: eviction-signals), and the file systems that the
kubelet does not watch.
"""

import os
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

from common.text import plain
from ingest.node.sysfs import CannotReadError, is_there, read_bytes, read_file

MOUNTS: Final = Path("/proc/self/mountinfo")
_DEVICE, _POINT, _OPTIONS = 2, 4, 2
"""Indices in a line of mountinfo: of the first two before the dash, of the options after it."""
MAX_FILE_SYSTEMS: Final = 64
_ESCAPED: Final = re.compile(r"\\([0-3][0-7]{2})")
_CONTAINER: Final = re.compile(r"/[0-9a-f]{64}/")
"""The mount point of a container's root contains the container's id."""


class _Mount(NamedTuple):
    device: str
    """Major and minor number; each file system has its own."""
    point: str
    kind: str
    options: tuple[str, ...]
    """Options of the file system itself; a pod mounts it read-only."""

    @property
    def is_writable_disk(self) -> bool:
        """True for a writable local file system; FUSE may never answer, so it is skipped."""
        has_device = not self.device.startswith("0:") or self.kind == "btrfs"
        return has_device and not self.kind.startswith("fuse") and "rw" in self.options


def read_file_systems(
    root: Path, mounts: Path = MOUNTS, statvfs: Callable[[str], os.statvfs_result] = os.statvfs
) -> list[dict[str, Any]]:
    """Return the file systems below `root` without those of the kubelet and of images, at most 64, fullest first.

    Raises CannotReadError if the mounts cannot be read.
    """
    known = {each.point: each for each in _mounts(os.fsdecode(read_bytes(mounts)))}
    kubelet = os.path.realpath(root / "var/lib/kubelet")
    of_images = {_device(known, path) for path in _image_paths(known, str(root))} - {""}
    watched_by_kubelet = {_device(known, kubelet), *of_images}
    if str(root) != "/":
        watched_by_kubelet |= {each.device for each in known.values() if not _is_below(each.point, str(root))}
    found = dict[str, _Mount]()
    for mount in sorted(known.values(), key=lambda each: (len(each.point), each.point), reverse=True):
        is_candidate = mount.is_writable_disk and mount.device not in watched_by_kubelet
        if is_candidate and _is_below(mount.point, str(root)) and not _is_below(mount.point, kubelet):
            found[mount.device] = mount
    read = (_usage_of(mount, str(root), statvfs) for mount in sorted(found.values(), key=lambda each: each.point))
    fullest = sorted(filter(None, read), key=lambda each: each["available_bytes"] / each["capacity_bytes"])
    return [{**each, "images_known": bool(of_images)} for each in fullest[:MAX_FILE_SYSTEMS]]


def _mounts(text: str) -> Iterator[_Mount]:
    """Return the mounts in order: if several have one mount point, only the last one is visible."""
    for line in text.split("\n"):
        mount, _, source = line.partition(" - ")
        fields, of_source = mount.split(" "), source.split(" ")
        if len(fields) > _POINT and len(of_source) > _OPTIONS:
            options = tuple(map(_unescaped, of_source[_OPTIONS].split(",")))
            yield _Mount(fields[_DEVICE], _unescaped(fields[_POINT]), of_source[0], options)


def _unescaped(text: str) -> str:
    return _ESCAPED.sub(lambda found: chr(int(found[1], 8)), text)


def _is_below(path: str, folder: str) -> bool:
    return path == folder or path.startswith(f"{folder.rstrip('/')}/")


def _device(known: Mapping[str, _Mount], path: str) -> str:
    above = (str(each) for each in (Path(path), *Path(path).parents))
    return next((known[each].device for each in above if each in known), "")


def _image_paths(known: Mapping[str, _Mount], root: str) -> Iterator[str]:
    """Return paths on the file systems of images and writable layers: those of the layers of containers' roots.

    In the agent's pod (`root` is not /) overlay mounts are not visible, so use /etc/hostname, which the runtime
    bind-mounts from its own directory, or from memory.
    """
    if root != "/":
        yield from (each for each in ("/etc/hostname",) if each in known and known[each].is_writable_disk)
        return
    for mount in known.values():
        if mount.kind == "overlay" and _CONTAINER.search(f"{mount.point}/"):
            named = dict(each.partition("=")[::2] for each in mount.options)
            paths = [named.get("upperdir", ""), *named.get("lowerdir", "").split(":")]
            yield from (each for each in paths if each.startswith("/"))


def _usage_of(mount: _Mount, root: str, statvfs: Callable[[str], os.statvfs_result]) -> dict[str, Any] | None:
    """Return the mount point, size and use of a file system; None if it has no blocks, or cannot be read."""
    try:
        found = statvfs(mount.point)
    except OSError:
        return None
    if not found.f_blocks:
        return None
    shown = os.fsencode(mount.point.removeprefix(root.rstrip("/")) or "/").decode("utf-8", "backslashreplace")
    return {
        "mount_point": shown,
        "device": mount.device,
        "kind": mount.kind,
        "capacity_bytes": found.f_blocks * found.f_frsize,
        "available_bytes": found.f_bavail * found.f_frsize,
        "used_bytes": (found.f_blocks - found.f_bfree) * found.f_frsize,
        "inodes": found.f_files or None,
        "inodes_free": found.f_ffree if found.f_files else None,
    }


_MEMINFO_LINE: Final = re.compile(r"^([A-Za-z]+(?:\([a-z]+\))?): +([0-9]{1,15}) kB$", re.MULTILINE)
_MEMINFO_FIELDS: Final = {
    "MemTotal": "total_bytes",
    "MemFree": "free_bytes",
    "MemAvailable": "available_bytes",
    "Buffers": "buffers_bytes",
    "Cached": "cached_bytes",
    "SwapCached": "swap_cached_bytes",
    "AnonPages": "anonymous_bytes",
    "Active(file)": "active_file_bytes",
    "Inactive(file)": "inactive_file_bytes",
    "SReclaimable": "reclaimable_slab_bytes",
}


def read_machine(root: Path) -> dict[str, Any] | None:
    """Read the kernel's data about the machine below `root`; None if there is none. Raises CannotReadError."""
    memory, file_systems = _memory(root / "proc/meminfo"), read_file_systems(root)
    return {"machine_memory": memory, "file_systems": file_systems} if memory or file_systems else None


def _memory(path: Path) -> dict[str, int] | None:
    if not is_there(path):
        return None
    found = dict(_MEMINFO_LINE.findall(read_file(path)))
    if missing := sorted(_MEMINFO_FIELDS.keys() - found.keys()):
        raise CannotReadError(f"{plain(path)}: lacks {', '.join(missing)}")
    return {field: int(found[name]) << 10 for name, field in _MEMINFO_FIELDS.items()}
