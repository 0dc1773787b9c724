"""Our own programs as processes forked from one that has imported them: to import takes half of a short life."""

import atexit
import ctypes
import os
import runpy
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from multiprocessing import active_children, get_context
from multiprocessing.connection import wait as await_any
from pathlib import Path
from threading import Lock
from typing import Final

from components.processes import Process, Running

LEADSMAN: Final = "leadsman.__main__"
_PDEATHSIG: Final = 1
_FORKING: Final = get_context("forkserver")
_FORKING.set_forkserver_preload([f"leadsman.run.{part}" for part in ("land", "watch", "work")])


_ONE_ASKS: Final = Lock()


class Part(Process):
    """A module of ours that runs as a program; `leadsman.__main__` is the command."""

    def _begin(self) -> Running:
        sys.audit("components.Part", *self._argv)
        self.log.touch()
        return _Forked(self._argv, self._env, self.log)


class _Forked:
    """A process as subprocess has it. Threads may ask it: multiprocessing reads a status once, and forgets it."""

    def __init__(self, argv: Sequence[str], environment: Mapping[str, str], log: Path) -> None:
        self._process = _FORKING.Process(target=_become, args=(argv, environment, log), daemon=True)
        with _ONE_ASKS:
            self._process.start()
        assert self._process.pid is not None
        self.pid = self._process.pid

    def poll(self) -> int | None:
        with _ONE_ASKS:
            return self._process.exitcode

    def wait(self, timeout: float | None = None) -> int:
        await_any([self._process.sentinel], timeout)
        if (status := self.poll()) is None:
            raise subprocess.TimeoutExpired(str(self.pid), timeout or 0)
        return status

    def send_signal(self, sig: int) -> None:
        if self.poll() is None:
            with suppress(ProcessLookupError):
                os.kill(self.pid, sig)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)


@atexit.register
def _end_all() -> None:
    """Kill what a failed test has left, also what is paused: multiprocessing, which ends later, would await it."""
    for each in active_children():
        each.kill()


def _become(argv: Sequence[str], environment: Mapping[str, str], log: Path) -> None:
    """Run a program here, as if it had been started: nothing that the process it was forked from has open is left."""
    ctypes.CDLL(None).prctl(_PDEATHSIG, signal.SIGKILL)
    os.setsid()
    os.closerange(3, os.sysconf("SC_OPEN_MAX"))
    for descriptor, flags in ((0, os.O_RDONLY), (1, os.O_WRONLY), (2, os.O_WRONLY)):
        opened = os.open(log if flags else os.devnull, flags | os.O_APPEND)
        os.dup2(opened, descriptor)
        os.close(opened)
    os.environ.clear()
    os.environ.update(environment)
    time.tzset()
    module, *arguments = argv
    sys.argv[1:] = arguments
    runpy.run_module(module, run_name="__main__", alter_sys=True)
