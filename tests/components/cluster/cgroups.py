"""A cgroup of our own in every hierarchy of the machine (v1 and v2), which tells a test's pods from all others."""

import contextlib
import os
import signal
from pathlib import Path
from typing import Final

from waiting import PATIENCE_SECONDS, holds_in_time

ROOT: Final = Path("/sys/fs/cgroup")
UNIFIED: Final = "cgroup2"


def hierarchies() -> list[Path]:
    """Mount points of cgroup file systems, by `/proc/self/mountinfo`."""
    found = []
    for line in Path("/proc/self/mountinfo").read_text().splitlines():
        before, _, after = line.partition(" - ")
        if after.split()[0] in ("cgroup", UNIFIED):
            found.append(Path(before.split()[4]))
    return found


def make(name: str) -> None:
    """Make the cgroup `/name` everywhere; a new cpuset takes the CPUs and memory nodes of its parent."""
    for hierarchy in hierarchies():
        group = hierarchy / name
        group.mkdir(exist_ok=True)
        for file in ("cpuset.cpus", "cpuset.mems"):
            if (hierarchy / file).exists() and (group / file).exists():
                (group / file).write_text((hierarchy / file).read_text())
        if (group / "cgroup.subtree_control").exists():
            _delegate(hierarchy)
            _delegate(group)


def _delegate(group: Path) -> None:
    for controller in (group / "cgroup.controllers").read_text().split():
        with contextlib.suppress(OSError):  # some cannot be handed on; the kubelet names those that it needs
            (group / "cgroup.subtree_control").write_text(f"+{controller}")


def processes(name: str) -> set[int]:
    """The ids of all processes in the cgroup `/name` and below."""
    found: set[int] = set()
    for hierarchy in hierarchies():
        for file in (hierarchy / name).rglob("cgroup.procs"):
            with contextlib.suppress(OSError):
                found.update(int(line) for line in file.read_text().split())
    return found - {0}


def end_processes(name: str, timeout_seconds: float = PATIENCE_SECONDS) -> None:
    """SIGKILL to every process in the cgroup, until none is left."""

    def none_is_left() -> bool:
        left = processes(name)
        for pid in left:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        return not left

    holds_in_time(none_is_left, timeout_seconds)


def remove(name: str, timeout_seconds: float = PATIENCE_SECONDS) -> None:
    """Remove the cgroup and those below it, innermost first; a process that is ending may hold one for a moment."""

    def none_is_left() -> bool:
        for hierarchy in hierarchies():
            for folder, _, _ in os.walk(hierarchy / name, topdown=False):
                with contextlib.suppress(OSError):
                    Path(folder).rmdir()
        return not any((hierarchy / name).is_dir() for hierarchy in hierarchies())

    holds_in_time(none_is_left, timeout_seconds)
