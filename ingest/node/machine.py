"""Reads the machine's memory as the kernel counts it (rules: eviction-signals), and its other file systems."""

import os
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

from common.text import plain
from ingest.node.sysfs import CannotReadError, is_there, read_bytes, read_file

MOUNTS: Final = Path("/proc/self/mountinfo")
_DEVICE, _POINT, _OPTIONS = 2, 4, 2
"""Number of fields of a line: of the mount, and after the dash."""
_MOST: Final = 64
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
    def is_on_disk(self) -> bool:
        """Tell whether it is on a disk: a FUSE file system of a user may never answer."""
        on_disk = not self.device.startswith("0:") or self.kind == "btrfs"
        return on_disk and not self.kind.startswith("fuse") and "rw" in self.options


def read_file_systems(
    root: Path, mounts: Path = MOUNTS, measured: Callable[[str], os.statvfs_result] = os.statvfs
) -> list[dict[str, Any]]:
    """Return the file systems below `root` without those of the kubelet and of images, at most 64, fullest first.

    Raises CannotReadError if the mounts cannot be read.
    """
    known = {each.point: each for each in _mounts(os.fsdecode(read_bytes(mounts)))}
    kubelet = os.path.realpath(root / "var/lib/kubelet")
    of_images = {_device(known, path) for path in _image_paths(known, str(root))} - {""}
    guarded = {_device(known, kubelet), *of_images}
    if str(root) != "/":
        guarded |= {each.device for each in known.values() if not _is_below(each.point, str(root))}
    found = dict[str, _Mount]()
    for mount in sorted(known.values(), key=lambda each: (len(each.point), each.point), reverse=True):
        is_volume = _is_below(mount.point, kubelet)
        if mount.is_on_disk and _is_below(mount.point, str(root)) and not is_volume and mount.device not in guarded:
            found[mount.device] = mount
    read = (_amounts(mount, str(root), measured) for mount in sorted(found.values(), key=lambda each: each.point))
    fullest = sorted(filter(None, read), key=lambda each: each["available_bytes"] / each["capacity_bytes"])
    return [{**each, "images_known": bool(of_images)} for each in fullest[:_MOST]]


def _mounts(text: str) -> Iterator[_Mount]:
    """Return the mounts in order: of several on one point, the last one is visible."""
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
    """Return paths on the file systems of images and writable layers, which contain the layers of containers' roots.

    These are hidden in a pod. There, the runtime mounts the pod's host name from its own folder, or from memory.
    """
    if root != "/":
        yield from (each for each in ("/etc/hostname",) if each in known and known[each].is_on_disk)
        return
    for mount in known.values():
        if mount.kind == "overlay" and _CONTAINER.search(f"{mount.point}/"):
            named = dict(each.partition("=")[::2] for each in mount.options)
            paths = [named.get("upperdir", ""), *named.get("lowerdir", "").split(":")]
            yield from (each for each in paths if each.startswith("/"))


def _amounts(mount: _Mount, root: str, measured: Callable[[str], os.statvfs_result]) -> dict[str, Any] | None:
    """Return None if it has no blocks, or does not answer: it may be gone."""
    try:
        found = measured(mount.point)
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


_AMOUNT: Final = re.compile(r"^([A-Za-z]+(?:\([a-z]+\))?): +([0-9]{1,15}) kB$", re.MULTILINE)
_AMOUNTS: Final = {
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
    found = dict(_AMOUNT.findall(read_file(path)))
    if missing := sorted(_AMOUNTS.keys() - found.keys()):
        raise CannotReadError(f"{plain(path)}: lacks {', '.join(missing)}")
    return {field: int(found[name]) << 10 for name, field in _AMOUNTS.items()}
