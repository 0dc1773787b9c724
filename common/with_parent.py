"""Runs a command that ends when its parent does, even by SIGKILL: `with_parent.py PARENT_PID COMMAND...` (Linux).

It is a separate program because the child itself must make the system call, before the command runs.
"""

import ctypes
import os
import signal
import sys
from typing import Final

_SET_PARENT_DEATH_SIGNAL: Final = 1
"""PR_SET_PDEATHSIG of prctl(2); it outlives exec."""


def main() -> None:
    parent, command = int(sys.argv[1]), sys.argv[2:]
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_SET_PARENT_DEATH_SIGNAL, signal.SIGTERM, 0, 0, 0)
    if os.getppid() != parent:
        sys.exit(1)
    os.execvp(command[0], command)  # noqa: S606  # the command is the supervisor's own


if __name__ == "__main__":
    main()
