"""Stores the version up to which each stream is acknowledged and from which it resumes (delivery.md#watching)."""

import os
from collections import deque
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Final, NamedTuple

import msgspec
import structlog

from common.errors import SourceUnusable
from common.tasks import in_thread
from common.text import plain
from ingest.model.observation import UNDECODABLE

FORMAT: Final = 1
log = structlog.get_logger(__name__)


class StoredVersions(NamedTuple):
    """The stored versions by stream, and a function that replaces them."""

    versions: Mapping[str, str]
    """Versions by stream; a missing stream starts with a list."""
    save: Callable[[Mapping[str, str]], Awaitable[None]] | None
    """Replaces all of them or none, or raises OSError; None if they cannot be stored."""


NOT_KEPT: Final = StoredVersions({}, None)


class _Kept(msgspec.Struct, frozen=True):
    format: int
    cluster: str
    versions: dict[str, str]


class VersionFile:
    """Stores the versions in a small file that is replaced as a whole."""

    def __init__(self, path: Path, cluster: str) -> None:
        self._path = path
        self._cluster = cluster

    def kept(self) -> StoredVersions:
        """Return the stored versions; raises SourceUnusable like `load`."""
        return StoredVersions(self.load(), lambda versions: in_thread(partial(self.save, versions)))

    def load(self) -> dict[str, str]:
        """Return the versions; none if the file is damaged or of another format, so that every stream lists again.

        Raises SourceUnusable if it belongs to another cluster, or cannot be opened.
        """
        try:
            kept = msgspec.json.decode(self._path.read_bytes(), type=_Kept)
        except FileNotFoundError:
            return {}
        except UNDECODABLE as error:
            log.warning(
                "versions cannot be read: everything is listed again", file=str(self._path), reason=str(error)
            )
            return {}
        except OSError as error:
            raise SourceUnusable(
                f"{self._path}: {error.strerror}: name a file that can be read and replaced"
            ) from error
        if kept.cluster != self._cluster:
            raise SourceUnusable(
                f"{self._path} has the versions of cluster {plain(kept.cluster)}, not of {plain(self._cluster)}: "
                "name another file, or delete it to start with new lists"
            )
        if kept.format != FORMAT:
            log.warning(
                "versions are of another format: everything is listed again", file=str(self._path), format=kept.format
            )
            return {}
        return kept.versions

    def save(self, versions: Mapping[str, str]) -> None:
        """Save all versions. Raises OSError; the old file then stays unchanged.

        A watcher that was replaced by another one may save at the same time: neither writes into the other's file.
        """
        kept = msgspec.json.encode(_Kept(FORMAT, self._cluster, dict(versions)))
        with NamedTemporaryFile(prefix=f"{self._path.name}.", dir=self._path.parent, delete=False) as file:
            written = Path(file.name)
            try:
                os.fchmod(file.fileno(), 0o644)
                file.write(kept)
                file.flush()
                os.fsync(file.fileno())
                written.replace(self._path)
            except OSError:
                written.unlink()
                raise


@dataclass(slots=True, eq=False)
class Ticket:
    """A step of a stream that awaits acknowledgement."""

    stream: str
    version: str
    acknowledged: bool = False


class Acknowledgements:
    """Tracks the version of each stream up to which all steps are acknowledged, in any order."""

    def __init__(self, versions: Mapping[str, str] | None = None) -> None:
        self._reached = dict(versions or {})
        self._out: dict[str, deque[Ticket]] = {}

    def hand_out(self, stream: str, version: str) -> Ticket:
        """Register the next step of a stream. A stream cannot resume after a step with an empty version."""
        ticket = Ticket(stream, version)
        self._out.setdefault(stream, deque()).append(ticket)
        return ticket

    def acknowledge(self, ticket: Ticket) -> None:
        """Record that the step is safely stored; repeating this changes nothing."""
        ticket.acknowledged = True
        tickets = self._out[ticket.stream]
        while tickets and tickets[0].acknowledged:
            version = tickets.popleft().version
            if version:
                self._reached[ticket.stream] = version

    @property
    def versions(self) -> dict[str, str]:
        return dict(self._reached)
