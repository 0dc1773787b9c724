"""Makes, changes and deletes numbered objects on a real API server; notes each request's time and acknowledgement."""

import math
import random
import time
import uuid
from collections import Counter
from collections.abc import Callable
from datetime import UTC, datetime
from http import HTTPStatus
from http.client import HTTPException
from threading import Event, Thread
from typing import Any, Final, Self

from components.cluster.kubernetes import ApiError, Cluster
from faults.history import Asked, Kind, Thing

HOMES: Final = 3
"""Nodes that stay, on which pods are; those that come and go have none."""
ALIVE: Final = 40
"""Objects of a kind, about which more go than come."""
SEQUENCE: Final = "fire/sequence"
"""The taint of a node whose value is its sequence; a pod has it in its status' reason, an Event counts."""
REFUSED: Final = frozenset(range(400, 500)) - {HTTPStatus.FORBIDDEN, HTTPStatus.TOO_MANY_REQUESTS}
"""Statuses that no server has because it begins: its admission forbids while it knows no service accounts."""
KINDS: Final[tuple[Kind, ...]] = ("nodes", "pods", "events")


class Generator:
    """Asks from a thread of its own while it is entered; `history` is of what has names that begin with `name`."""

    def __init__(self, cluster: Cluster, pause_seconds: float = 0.0, most: float = math.inf) -> None:
        """Pauses after each request. Nodes and Events, of which something is kept for hours, are `most` of each: then
        they stay, and only change.
        """
        self.name = f"history-{uuid.uuid4().hex[:6]}"
        self.history: dict[Thing, list[Asked]] = {}
        self._cluster = cluster
        self._pause_seconds = pause_seconds
        self._most = most
        self._made: Counter[Kind] = Counter()
        self._chance = random.Random(7)  # noqa: S311  # no secret
        self._over = Event()
        self._done = False
        self._thread = Thread(target=self._run, name="generator", daemon=True)
        self._pods = f"/api/v1/namespaces/{self.name}/pods"
        self._events = f"/api/v1/namespaces/{self.name}/events"

    def __enter__(self) -> Self:
        self._cluster.make_namespace(self.name)
        self._homes = [self._create("nodes") for _ in range(HOMES)]
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join(60)
        for thing in self._there("nodes"):
            self._delete(thing)
        self._cluster.request("DELETE", f"/api/v1/namespaces/{self.name}")

    def stop(self) -> list[Thing]:
        """Ask for nothing more; one last object of each kind."""
        self._over.set()
        self._thread.join(60)
        assert self._done, "a request was refused, or got no answer for a minute"
        return [self._create(kind) for kind in KINDS]

    @property
    def gone(self) -> int:
        """Objects that came and went."""
        return sum(asked[-1].deleted for asked in list(self.history.values()))

    def _run(self) -> None:
        while not self._over.wait(self._pause_seconds):
            kind = self._chance.choice(KINDS)
            alive = self._alive(kind)
            thing = self._chance.choice(alive[-ALIVE:]) if alive else None
            what, is_full = self._chance.random(), kind != "pods" and self._made[kind] >= self._most
            if not is_full and (thing is None or what < 0.4):
                self._create(kind)
            elif thing is None:
                continue
            elif not is_full and kind != "events" and what < (0.9 if len(alive) > ALIVE else 0.6):
                self._delete(thing)
            else:
                self._update(thing)
        self._done = True

    def _there(self, kind: Kind) -> list[Thing]:
        """Return those that are certain."""
        certain = [thing for thing, asked in self.history.items() if asked[-1].acknowledged and not asked[-1].deleted]
        return [thing for thing in certain if thing.kind == kind]

    def _alive(self, kind: Kind) -> list[Thing]:
        """But the homes."""
        return [thing for thing in self._there(kind) if thing not in self._homes]

    def _create(self, kind: Kind) -> Thing:
        thing = Thing(kind, f"{self.name}-{len(self.history)}")
        self._made[kind] += 1
        body: dict[str, Any] = {"metadata": {"name": thing.name}}
        if kind == "nodes":
            body["spec"] = {"taints": [_taint(0)]}
            path = "/api/v1/nodes"
        elif kind == "pods":
            body["spec"] = self._pod()
            path = self._pods
        else:
            body |= self._event()
            path = self._events
        self._ask(thing, 0, lambda: self._cluster.request("POST", path, body))
        return thing

    def _update(self, thing: Thing) -> None:
        sequence = self.history[thing][-1].sequence + 1
        if thing.kind == "nodes":
            body: dict[str, Any] = {"spec": {"taints": [_taint(sequence)]}}
        elif thing.kind == "pods":
            body = {"status": {"reason": f"{sequence}"}}
        else:
            body = {"count": sequence + 1, "lastTimestamp": _now()}
        path = f"{self._path(thing)}/status" if thing.kind == "pods" else self._path(thing)
        self._ask(thing, sequence, lambda: self._cluster.request("PATCH", path, body, patch="strategic-merge"))

    def _delete(self, thing: Thing) -> None:
        sequence = self.history[thing][-1].sequence + 1
        self._ask(thing, sequence, lambda: self._cluster.request("DELETE", self._path(thing)), deleted=True)

    def _ask(self, thing: Thing, sequence: int, request: Callable[[], object], *, deleted: bool = False) -> None:
        """A request that got no answer, or that a server refused which begins, may have been done."""
        began = time.time()
        try:
            request()
            acknowledged = True
        except (ApiError, HTTPException, OSError) as error:
            if isinstance(error, ApiError) and error.status in REFUSED:
                raise
            acknowledged = False
        self.history.setdefault(thing, []).append(Asked(sequence, deleted, began, time.time(), acknowledged))

    def _path(self, thing: Thing) -> str:
        base = {"nodes": "/api/v1/nodes", "pods": self._pods, "events": self._events}[thing.kind]
        return f"{base}/{thing.name}"

    def _pod(self) -> dict[str, Any]:
        """On a node, or pending for ever."""
        where = {"nodeName": self._chance.choice(self._homes).name} if self._chance.random() < 0.7 else {}
        return {
            "schedulerName": "nobody",
            "containers": [{"name": "c", "image": "none"}],
            "terminationGracePeriodSeconds": 0,
            "tolerations": [{"operator": "Exists"}],
            **where,
        }

    def _event(self) -> dict[str, Any]:
        about = {"kind": "Node", "name": self._chance.choice(self._homes).name, "namespace": self.name}
        times = {"firstTimestamp": _now(), "lastTimestamp": _now(), "count": 1}
        source = {"component": "generator"}
        return {"involvedObject": about, "reason": "Numbered", "type": "Normal", "source": source, **times}


def _taint(sequence: int) -> dict[str, str]:
    return {"key": SEQUENCE, "value": f"{sequence}", "effect": "PreferNoSchedule"}


def _now() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
