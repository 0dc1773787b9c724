"""Start, await and stop the processes of a component: exactly those that were started, and by their own id."""

import contextlib
import os
import random
import shutil
import signal
import socket
import subprocess
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import cycle
from pathlib import Path
from typing import Final, Protocol

from waiting import PATIENCE_SECONDS, NotReady, holds_in_time

HOST: Final = "127.0.0.1"
PORTS: Final = range(15_000, 30_000)
"""Below the range of which Linux takes ports for outgoing connections: a port stays ours over a restart."""

_MOST_PROCESSES: Final = 20


def _own_ports() -> Iterator[int]:
    """Return the ports of this process of a run in turn, from a random one on: another run may go on beside it.

    A port is free until its program has started, which takes seconds, and pytest-randomly gives all processes of a
    run the same random numbers.
    """
    own = PORTS[int(os.environ.get("PYTEST_XDIST_WORKER", "gw0")[2:]) % _MOST_PROCESSES :: _MOST_PROCESSES]
    first = random.SystemRandom().randrange(len(own))
    return cycle((*own[first:], *own[:first]))


_OWN: Final = _own_ports()
LAST_BYTES: Final = 4_000


def free_port() -> int:
    """A TCP port of 127.0.0.1 that nothing listens on now, and that no other process of this run is given."""
    while True:
        port = next(_OWN)
        with socket.socket() as probe, contextlib.suppress(OSError):
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind((HOST, port))
            return port


class Running(Protocol):
    """A started process, as subprocess has it."""

    pid: int

    def poll(self) -> int | None: ...
    def wait(self, timeout: float | None = None) -> int: ...
    def send_signal(self, sig: int, /) -> None: ...
    def kill(self) -> None: ...


class Process:
    """A program that is started again and again with the same command; its output is appended to one log file."""

    def __init__(self, name: str, argv: Sequence[str], log: Path, env: Mapping[str, str] | None = None) -> None:
        self.name = name
        self.log = log
        self._argv = list(argv)
        self._env = {**os.environ, **(env or {})}
        self._process: Running | None = None

    @property
    def pid(self) -> int:
        """The id of the running process; NotReady when it does not run."""
        if self._process is None or self._process.poll() is not None:
            raise NotReady(f"{self.name} does not run\n{self.last_lines()}")
        return self._process.pid

    @property
    def runs(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def start(self) -> None:
        """Start the program in a session of its own; started by the main thread it ends with it, even by SIGKILL."""
        self._process = self._begin()

    def _begin(self) -> Running:
        with self.log.open("ab") as output:
            return subprocess.Popen(
                [*ends_with_parent(), *self._argv],
                env=self._env,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    def await_ready(self, ready: Callable[[], bool], timeout_seconds: float = PATIENCE_SECONDS) -> None:
        """Return when `ready()` is true; NotReady when the program exits before that, or the time is over."""

        def answered() -> bool:
            if ready():
                return True
            if not self.runs:
                raise NotReady(f"{self.name} exited before it was ready\n{self.last_lines()}")
            return False

        if not holds_in_time(answered, timeout_seconds):
            raise NotReady(f"{self.name} was not ready in {timeout_seconds:.0f} s\n{self.last_lines()}")

    def stop(self, timeout_seconds: float = 30.0) -> None:
        """SIGTERM, and SIGKILL if it still runs after `timeout_seconds`. Stopping what is stopped does nothing."""
        self._end(signal.SIGTERM, timeout_seconds)

    def kill(self) -> None:
        """SIGKILL: what a test does that asks what survives it."""
        self._end(signal.SIGKILL, 10.0)

    def terminate(self) -> None:
        """SIGTERM, without waiting."""
        os.kill(self.pid, signal.SIGTERM)

    def wait(self, timeout_seconds: float = PATIENCE_SECONDS) -> int:
        """The exit status, negative for a signal; NotReady when it still runs when the time is over."""
        assert self._process is not None
        try:
            return self._process.wait(timeout_seconds)
        except subprocess.TimeoutExpired:
            raise NotReady(f"{self.name} did not end in {timeout_seconds:.0f} s\n{self.last_lines()}") from None

    def _end(self, how: signal.Signals, timeout_seconds: float) -> None:
        process, self._process = self._process, None
        if process is None or process.poll() is not None:
            return
        process.send_signal(how)
        process.send_signal(signal.SIGCONT)
        try:
            process.wait(timeout_seconds)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()

    def last_lines(self) -> str:
        """The end of the log, for a message to a person."""
        if not self.log.exists():
            return ""
        return self.log.read_bytes()[-LAST_BYTES:].decode(errors="replace")


def is_paused(pid: int) -> bool:
    """Return whether a process was stopped by SIGSTOP; FileNotFoundError if there is none."""
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "T"


def ends_with_parent() -> list[str]:
    """Before a command that is started now by the main thread: it ends with this process, even by SIGKILL."""
    setpriv = shutil.which("setpriv")
    in_main_thread = threading.current_thread() is threading.main_thread()  # the signal comes when the thread ends
    return [setpriv, "--pdeathsig", "KILL", "--"] if setpriv and in_main_thread else []


def is_alive(pid: int) -> bool:
    """Return whether a process runs. A zombie does not."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False
    return stat.rpartition(")")[2].split()[0] not in "ZX"
