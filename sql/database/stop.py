"""Ends the queries of one piece of work from another thread."""

from threading import Event
from typing import Final
from uuid import uuid4

KILL: Final = "KILL QUERY WHERE Settings['log_comment'] = {name:String} ASYNC"


class Stop:
    """For one piece of work. Its queries carry a name, by which the one that runs can be killed."""

    def __init__(self) -> None:
        self.name = f"leadsman-{uuid4().hex}"
        self._over = Event()

    @property
    def is_set(self) -> bool:
        return self._over.is_set()

    def set(self) -> None:
        """No further query of this work begins."""
        self._over.set()
