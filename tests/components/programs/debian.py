"""Programs out of Debian's packages, unpacked into the cache: nothing is installed on the machine itself."""

import shutil
from collections.abc import Sequence
from pathlib import Path

from components.programs.cache import ComponentMissing, cached, run_step


def unpacked(name: str, packages: Sequence[str]) -> Path:
    """A folder laid out like `/` with the files of `packages`, of this machine's release, without dependencies."""

    def build(folder: Path) -> None:
        folder.chmod(0o755)
        _download(packages, folder)
        for package in sorted(folder.glob("*.deb")):
            run_step(f"unpacking {package.name}", ["dpkg-deb", "-x", package.name, "."], folder)
            package.unlink()

    return cached(name, _release(), build)


def _download(packages: Sequence[str], folder: Path) -> None:
    what = f"fetching Debian's {', '.join(packages)}"
    try:
        run_step(what, ["apt-get", "download", "-q", *packages], folder)
    except ComponentMissing:
        run_step("apt-get update (the list of packages is missing or old)", ["apt-get", "update", "-q"], folder)
        run_step(what, ["apt-get", "download", "-q", *packages], folder)


def _release() -> str:
    """`debian-bookworm`: what the packages are cached by, since a release keeps their versions."""
    if shutil.which("apt-get") is None:
        return "none"
    lines = Path("/etc/os-release").read_text().splitlines()
    known = dict(line.split("=", 1) for line in lines if "=" in line)
    return f"{known['ID']}-{known.get('VERSION_CODENAME', 'unnamed')}"
