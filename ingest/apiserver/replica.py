"""The identity of one replica of a watcher."""

import os
import secrets
import socket


def new_identity() -> str:
    """A name in the election that no other process has."""
    return f"{socket.gethostname()}-{os.getpid()}-{secrets.token_hex(4)}"
