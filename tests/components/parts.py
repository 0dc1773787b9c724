"""Our own programs as processes forked from one that has imported them: to import takes half of a short life."""

import ctypes
import os
import runpy
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from multiprocessing import get_context
from pathlib import Path
from typing import Final

from components.processes import Process, Running

LEADSMAN: Final = "leadsman.__main__"
_PDEATHSIG: Final = 1
_FORKING: Final = get_context("forkserver")
_FORKING.set_forkserver_preload([f"leadsman.run.{part}" for part in ("land", "watch", "work")])


class Part(Process):
    """A module of ours that runs as a program; `leadsman.__main__` is the command."""

    def _begin(self) -> Running:
        sys.audit("components.Part", *self._argv)
        self.log.touch()
        return _Forked(self._argv, self._env, self.log)


class _Forked:
    """A process as subprocess has it."""

    def __init__(self, argv: Sequence[str], environment: Mapping[str, str], log: Path) -> None:
        self._process = _FORKING.Process(target=_become, args=(argv, environment, log), daemon=True)
        self._process.start()
        assert self._process.pid is not None
        self.pid = self._process.pid

    def poll(self) -> int | None:
        return self._process.exitcode

    def wait(self, timeout: float | None = None) -> int:
        self._process.join(timeout)
        if (status := self.poll()) is None:
            raise subprocess.TimeoutExpired(str(self.pid), timeout or 0)
        return status

    def send_signal(self, sig: int) -> None:
        if self.poll() is None:
            os.kill(self.pid, sig)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)


def _become(argv: Sequence[str], environment: Mapping[str, str], log: Path) -> None:
    """Run a program here, as if it had been started: nothing that the process it was forked from has open is left."""
    os.setsid()
    os.closerange(3, os.sysconf("SC_OPEN_MAX"))
    for descriptor, flags in ((0, os.O_RDONLY), (1, os.O_WRONLY), (2, os.O_WRONLY)):
        os.dup2(os.open(log if flags else os.devnull, flags | os.O_APPEND), descriptor)
    ctypes.CDLL(None).prctl(_PDEATHSIG, signal.SIGKILL)
    os.environ.clear()
    os.environ.update(environment)
    time.tzset()
    module, *arguments = argv
    sys.argv[1:] = arguments
    runpy.run_module(module, run_name="__main__", alter_sys=True)
