"""A shell inside a virtual machine, by way of a port that is a socket outside."""

import socket
from pathlib import Path
from typing import Final

_END: Final = b"--- the command has ended ---\n"
_TIMEOUT_SECONDS: Final = 120.0


class Shell:
    """A shell of the machine whose port is the socket `path`; it connects at the first command."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._socket: socket.socket | None = None

    def run(self, command: str) -> str:
        """Return the output; TimeoutError if it does not end."""
        if self._socket is None:
            self._socket = socket.socket(socket.AF_UNIX)
            self._socket.settimeout(_TIMEOUT_SECONDS)
            self._socket.connect(str(self.path))
        self._socket.sendall(f"{command}\necho '{_END.decode().strip()}'\n".encode())
        printed = b""
        while not printed.endswith(_END):
            more = self._socket.recv(65_536)
            if not more:
                raise ConnectionError("the virtual machine is gone")
            printed += more
        return printed.removesuffix(_END).decode()

    def close(self) -> None:
        if self._socket is not None:
            self._socket.close()
            self._socket = None
