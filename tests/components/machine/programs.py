"""Builds a virtual machine from an emulator, a kernel and a userland of this machine's Debian release."""

import platform
import subprocess
from pathlib import Path

from components.programs.cache import tool
from components.programs.debian import unpacked, unpacked_latest, unpacked_with_libraries


def emulator_programs() -> Path:
    """QEMU, with the libraries that this machine lacks, unpacked."""
    return unpacked_with_libraries("qemu", "qemu-system-x86")


def kernel_files() -> Path:
    """A Linux for virtual machines, with its modules; Debian 12 has 6.1."""
    return unpacked_latest("linux-cloud", "linux-image-cloud-amd64")


def busybox_program() -> Path:
    """Everything else that a machine runs, as one static program."""
    return unpacked("busybox", ["busybox-static"]) / "bin" / "busybox"


def shared_libraries(program: Path) -> list[Path]:
    """Return the libraries that `program` is linked with, and the loader; empty for a static one."""
    done = subprocess.run([tool("ldd"), str(program)], capture_output=True, text=True, check=False)
    words = (word for line in done.stdout.splitlines() for word in line.split())
    return [Path(word) for word in words if word.startswith("/")]


def why_no_machine() -> str:
    """Return the reason why no virtual machine can run here; empty if one can."""
    if platform.machine() != "x86_64":
        return "the programs of a virtual machine are built for x86-64"
    return ""
