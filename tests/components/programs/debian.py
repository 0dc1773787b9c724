"""Programs out of Debian's packages, unpacked into the cache: nothing is installed on the machine itself."""

import os
import shutil
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path

from components.programs.cache import ComponentMissing, cached, run_step, tool


def unpacked(name: str, packages: Sequence[str]) -> Path:
    """A folder laid out like `/` with the files of `packages`, of this machine's release, without dependencies."""
    return _unpacked(name, lambda: packages)


def unpacked_with_libraries(name: str, *packages: str) -> Path:
    """The same, with what `packages` depend on and this machine lacks; `libraries` has a program find that."""
    return _unpacked(name, lambda: [*packages, *_what_is_not_installed(packages)])


def unpacked_latest(name: str, package: str) -> Path:
    """The same of what `package` stands for: it has nothing but a dependency on the newest of its kind."""
    return _unpacked(name, lambda: [_listed(["apt-cache", "depends", package], "Depends:")[0]])


def libraries(folder: Path) -> dict[str, str]:
    """The environment in which a program of an unpacked folder finds its libraries there."""
    found = [str(each) for top in ("lib", "usr/lib") for each in sorted((folder / top).glob("*-linux-gnu"))]
    return {"LD_LIBRARY_PATH": ":".join(found)}


def _unpacked(name: str, packages: Callable[[], Sequence[str]]) -> Path:
    def build(folder: Path) -> None:
        folder.chmod(0o755)
        _download(packages, folder)
        for package in sorted(folder.glob("*.deb")):
            run_step(f"unpacking {package.name}", ["dpkg-deb", "-x", package.name, "."], folder)
            package.unlink()

    return cached(name, _release(), build)


def _download(packages: Callable[[], Sequence[str]], folder: Path) -> None:
    def fetch() -> None:
        named = packages()
        run_step(f"fetching Debian's {', '.join(named)}", ["apt-get", "download", "-q", *named], folder)

    try:
        fetch()
    except ComponentMissing:
        run_step("apt-get update (the list of packages is missing or old)", ["apt-get", "update", "-q"], folder)
        fetch()


def _what_is_not_installed(packages: Sequence[str]) -> list[str]:
    simulated = ["apt-get", "install", "--simulate", "--no-install-recommends", *packages]
    return [package for package in _listed(simulated, "Inst") if package not in packages]


def _listed(command: Sequence[str], first: str) -> list[str]:
    """The second word of each line that begins with `first`; ComponentMissing where it fails."""
    plain = {**os.environ, "LC_ALL": "C"}
    done = subprocess.run([tool(command[0]), *command[1:]], capture_output=True, text=True, check=False, env=plain)
    found = [words[1] for line in done.stdout.splitlines() if len(words := line.split()) > 1 and words[0] == first]
    if done.returncode:
        raise ComponentMissing(f"`{' '.join(command)}`: {done.stderr.strip()}")
    return found


def _release() -> str:
    """`debian-bookworm`: what the packages are cached by, since a release keeps their versions."""
    if shutil.which("apt-get") is None:
        return "none"
    lines = Path("/etc/os-release").read_text().splitlines()
    known = dict(line.split("=", 1) for line in lines if "=" in line)
    return f"{known['ID']}-{known.get('VERSION_CODENAME', 'unnamed')}"
