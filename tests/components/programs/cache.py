"""The cache of built components: one folder a name and version, outside the checkout, built at most once."""

import contextlib
import fcntl
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextvars import ContextVar
from pathlib import Path
from typing import Final, NoReturn

import pytest

PROGRESS_SECONDS: Final = 30.0
LAST_LINES: Final = 25
_BUILDING: Final[ContextVar[tuple[Path, ...]]] = ContextVar("building", default=())
"""The components that are being built now, each for the one before it."""

INSTALLED_BY: Final[Mapping[str, str]] = {
    "go": "Go 1.26 or newer (Debian: apt-get install golang)",
    "mvn": "Maven (Debian: apt-get install maven)",
    "java": "Java 17 or newer (Debian: apt-get install openjdk-17-jre-headless)",
    "gcc": "a C compiler with a static libc (Debian: apt-get install gcc libc6-dev)",
    "apt-get": "a Debian or Ubuntu machine, whose packages hold etcd and containerd",
    "dpkg-deb": "dpkg (a Debian or Ubuntu machine has it)",
    "openssl": "OpenSSL (Debian: apt-get install openssl)",
    "node": "Node.js 18 or newer (Debian: apt-get install nodejs)",
    "npm": "Node.js 18 or newer with npm (Debian: apt-get install nodejs npm)",
    "ip": "iproute2 (Debian: apt-get install iproute2)",
}
"""The command that installs a tool with which a component is built or run."""


class ComponentMissing(RuntimeError):
    """A component cannot be had on this machine; the message says what to install."""


def cache_folder() -> Path:
    """`LEADSMAN_CACHE`, or `~/.cache/leadsman-components`."""
    named = os.environ.get("LEADSMAN_CACHE")
    return Path(named) if named else Path.home() / ".cache" / "leadsman-components"


def say(message: str) -> None:
    sys.stderr.write(f"components: {message}\n")
    sys.stderr.flush()


def tool(name: str) -> str:
    """The path of a program on PATH; ComponentMissing names what to install."""
    path = shutil.which(name)
    if path is None:
        raise ComponentMissing(f"`{name}` is not on PATH: install {INSTALLED_BY.get(name, name)}")
    return path


def cached(name: str, version: str, build: Callable[[Path], None]) -> Path:
    """The folder `<cache>/<name>-<version>`; `build(folder)` fills it if it is not there yet.

    A folder that exists is complete: it is built beside its place and renamed when `build` returned. Of several
    processes that ask at the same time one builds and the others wait for it. A build that needs itself is a mistake
    in the code, and would wait for ever: RuntimeError names it.
    """
    place = cache_folder() / f"{name}-{version}"
    if place.is_dir():
        return place
    building = _BUILDING.get()
    if place in building:
        raise RuntimeError(f"{name} is needed to build itself, by way of {building[-1].name}")
    place.parent.mkdir(parents=True, exist_ok=True)
    with _locked(place.with_name(f"{place.name}.lock")):
        if not place.is_dir():
            token = _BUILDING.set((*building, place))
            try:
                _build_beside(place, build)
            finally:
                _BUILDING.reset(token)
    return place


def _build_beside(place: Path, build: Callable[[Path], None]) -> None:
    began = time.monotonic()
    say(f"{place.name}: building into {place}")
    for abandoned in place.parent.glob(f"{place.name}.unfinished-*"):  # by a build that was killed; we hold the lock
        shutil.rmtree(abandoned)
    unfinished = Path(tempfile.mkdtemp(prefix=f"{place.name}.unfinished-", dir=place.parent))
    try:
        build(unfinished)
        unfinished.chmod(0o755)
        unfinished.rename(place)
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)
    say(f"{place.name}: ready after {time.monotonic() - began:.0f} s")


@contextlib.contextmanager
def _locked(path: Path) -> Iterator[None]:
    with path.open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say(f"{path.stem}: waiting for another process that builds it")
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def run_step(what: str, argv: Sequence[str], folder: Path, env: Mapping[str, str] | None = None) -> None:
    """Run one step of a build in `folder`, gently, and tell every half minute that it still runs.

    ComponentMissing carries the last lines that the step printed when it fails.
    """
    say(what)
    command = ["nice", "-n", "19", tool(argv[0]), *argv[1:]]
    began = time.monotonic()
    with tempfile.TemporaryFile() as output:
        process = subprocess.Popen(
            command,
            cwd=folder,
            env={**os.environ, **(env or {})},
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
        )
        try:
            while _still_runs(process):
                say(f"{what}: {time.monotonic() - began:.0f} s so far")
        finally:
            process.kill()
            process.wait()
        if process.returncode:
            output.seek(0)
            lines = output.read().decode(errors="replace").splitlines()[-LAST_LINES:]
            raise ComponentMissing("\n".join([f"{what}: `{' '.join(argv)}` exited {process.returncode}", *lines]))


def _still_runs(process: subprocess.Popen[bytes]) -> bool:
    try:
        process.wait(PROGRESS_SECONDS)
    except subprocess.TimeoutExpired:
        return True
    return False


def require(*providers: Callable[[], Path]) -> None:
    """Call each; where one cannot be had, a failure under CI=true and a skip that says what to install elsewhere."""
    try:
        for provide in providers:
            provide()
    except ComponentMissing as missing:
        refuse(str(missing))


def refuse(reason: str) -> NoReturn:
    """A component is missing: fail under CI=true, which has to have them all; skip elsewhere."""
    if os.environ.get("CI") == "true":
        pytest.fail(reason, pytrace=False)
    pytest.skip(reason)
