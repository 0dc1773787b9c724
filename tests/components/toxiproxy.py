"""Toxiproxy before a component: connections through it can be slow, reset, silent or refused."""

import json
import urllib.request
from pathlib import Path
from typing import Final, Self

from components.processes import HOST, Process, free_port
from components.programs.cache import require
from components.programs.extras import toxiproxy_program
from waiting import PATIENCE_SECONDS

_TOXICS: Final = ("upstream", "downstream")


class Toxiproxy:
    """The running program; leaving it ends every connection through it."""

    def __init__(self, folder: Path) -> None:
        require(toxiproxy_program)
        self._port = free_port()
        command = [str(toxiproxy_program()), "-host", HOST, "-port", str(self._port)]
        self._process = Process("Toxiproxy", command, folder / "toxiproxy.log")

    def __enter__(self) -> Self:
        self._process.start()
        self._process.await_ready(self._answers)
        return self

    def __exit__(self, *_: object) -> None:
        self._process.stop()

    def before(self, upstream_port: int, port: int | None = None) -> "Proxy":
        """A proxy that listens on `port`, or a free one, and passes all on to `upstream_port`."""
        return Proxy(self, f"to-{upstream_port}", port or free_port(), upstream_port)

    def ask(self, method: str, path: str, body: object = None) -> None:
        """One request to its HTTP API; urllib's HTTPError where it refuses."""
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(f"http://{HOST}:{self._port}{path}", data, method=method)
        urllib.request.urlopen(request, timeout=PATIENCE_SECONDS).close()  # noqa: S310  # ours

    def _answers(self) -> bool:
        try:
            self.ask("GET", "/version")
        except OSError:
            return False
        return True


class Proxy:
    """Passes connections to `port` on, until it is told otherwise; `heal` undoes all."""

    def __init__(self, toxiproxy: Toxiproxy, name: str, port: int, upstream_port: int) -> None:
        self.port = port
        self._toxiproxy = toxiproxy
        self._path = f"/proxies/{name}"
        self._toxics: list[str] = []
        listen, upstream = f"{HOST}:{port}", f"{HOST}:{upstream_port}"
        toxiproxy.ask("POST", "/proxies", {"name": name, "listen": listen, "upstream": upstream})

    def slow(self, milliseconds: int) -> None:
        """Every piece of data comes that much later, give or take half of it."""
        self._poison("latency", {"latency": milliseconds, "jitter": milliseconds // 2})

    def reset(self) -> None:
        """Every connection is reset, those that begin too."""
        self._poison("reset_peer", {"timeout": 0})

    def hang(self) -> None:
        """Connections stay open, and nothing comes through."""
        self._poison("timeout", {"timeout": 0})

    def cut(self) -> None:
        """Connections end, and new ones are refused."""
        self._toxiproxy.ask("POST", self._path, {"enabled": False})

    def heal(self) -> None:
        for toxic in self._toxics:
            self._toxiproxy.ask("DELETE", f"{self._path}/toxics/{toxic}")
        self._toxics.clear()
        self._toxiproxy.ask("POST", self._path, {"enabled": True})

    def _poison(self, kind: str, attributes: dict[str, int]) -> None:
        for stream in _TOXICS:
            name = f"{kind}-{stream}"
            toxic = {"name": name, "type": kind, "stream": stream, "attributes": attributes}
            self._toxiproxy.ask("POST", f"{self._path}/toxics", toxic)
            self._toxics.append(name)
