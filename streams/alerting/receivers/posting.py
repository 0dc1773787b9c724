"""Sends one HTTP POST to a receiver, and retries until it is accepted or refused for good."""

import re
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping
from typing import Final, NamedTuple
from urllib.parse import unquote, urlsplit

import aiohttp
import structlog

from common.clock import SYSTEM, Backoff, Clock, retry_after_seconds
from common.text import plain
from streams.kafka.messages.alerts import AlertMessage

TIMEOUT_SECONDS: Final = 10.0
CONNECT_SECONDS: Final = 5.0
"""Time to connect. A receiver that accepts the connection and then does not answer counts as failing on the
message.
"""
LONGEST_WAIT_SECONDS: Final = 60.0
REFUSALS: Final = 5
"""Number of 4xx answers to a message after which it is dropped."""
DEADLINE_SECONDS: Final = 120.0
"""Time for which a message is retried if its receiver fails or does not answer."""
_COME_AGAIN: Final = frozenset({408, 425, 429, 502, 503, 504})
"""Statuses that mean "not now", or an unreachable server behind a proxy, so the message is not at fault."""
_HANGS: Final = 0
"""Stands for the status if a connection was made, but no answer came in time, or it was not HTTP."""
_SHOWN: Final = 300
_READ: Final = 4096
"""Number of bytes of an answer that are read."""
_WORD: Final = re.compile(r"[\w~-]{6,}")
_REDACTED: Final = "[redacted]"
OF_JSON: Final = {"Content-Type": "application/json"}
log = structlog.get_logger(__name__)


class Refused(Exception):
    """The receiver refused this message every time; `answer` has the last answer's bytes."""

    def __init__(self, why: str, answer: bytes = b"") -> None:
        super().__init__(why)
        self.answer = answer


class Failed(Exception):
    """The receiver can be reached, and failed on this message until its deadline."""


class _Answer(NamedTuple):
    status: int | None
    """HTTP status; None if no connection was made."""
    shown: str
    again_seconds: float = 0.0
    """Minimum number of seconds to wait."""
    content: bytes = b""


class Poster:
    """Posts to one address. `tally` counts the outcomes: `delivered`, `retried`, `refused`, `parked`."""

    def __init__(
        self,
        kind: str,
        url: str,
        clock: Clock = SYSTEM,
        secret: str = "",
        judged: Callable[[int, bytes], int] = lambda status, _: status,
        most_bytes: int = _READ,
    ) -> None:
        """Words of the address and of `secret` are removed from an answer that is shown.

        `judged` returns the status that an answer means, for a receiver that answers 200 to failures; up to
        `most_bytes` of it are read.
        """
        self.tally: Counter[str] = Counter()
        self.trouble = ""
        """Reason why it does not accept alerts now; empty while it does."""
        self.name = _name(kind, url)
        self._url = url
        self._secrets = [*_secrets(url), secret]
        self._judged = judged
        self._most_bytes = most_bytes
        self._clock = clock
        self._session: aiohttp.ClientSession | None = None

    async def close(self) -> None:
        if self._session is not None:
            await self._session.close()

    async def post(
        self,
        path: str,
        body: bytes,
        headers: Callable[[], Mapping[str, str]] = lambda: OF_JSON,
        *,
        refusals: int = REFUSALS,
        deadline_seconds: float = DEADLINE_SECONDS,
        arrived: Callable[[], Awaitable[bool]] | None = None,
        tallied: bool = True,
    ) -> bytes:
        """Return the answer when the receiver has accepted it.

        An unreachable receiver is retried forever, with growing delays. Raises Refused after `refusals` answers of
        4xx, and Failed after `deadline_seconds` of 5xx or no answer. `headers` are built for each attempt. After an
        attempt that may have arrived, `arrived` tells whether it did. A request that is not `tallied` carries no
        alert.
        """
        backoff = Backoff(self._clock, limit_seconds=LONGEST_WAIT_SECONDS)
        refused = 0
        failing_since: float | None = None
        while True:
            status, reply, again_seconds, content = await self._attempt(path, body, headers())
            if status is not None and _HANGS < status < 300:  # noqa: PLR2004  # what HTTP calls a success
                self.tally["delivered"] += tallied
                self.trouble = ""
                return content
            answer = f"{status} {reply}" if status else reply
            why = f"{self.name}: {answer}"
            if status is None or status in _COME_AGAIN:
                pass  # this does not end a failure either: behind a proxy the receiver may crash at each attempt
            elif _HANGS < status < 500:  # noqa: PLR2004  # as above
                refused += 1
                if refused >= refusals:
                    self.tally["refused"] += tallied
                    self.trouble = ""
                    raise Refused(why, content)
            else:
                now = self._clock.monotonic()
                failing_since = now if failing_since is None else failing_since
                if now - failing_since >= deadline_seconds:
                    self.trouble = ""
                    raise Failed(why)
            self.tally["retried"] += 1
            self.trouble = f"{self.name} does not accept alerts: {answer}"
            log.warning("an alert was not accepted", receiver=self.name, status=status, reply=reply)
            await backoff.wait(again_seconds)
            if arrived is not None and _may_have_arrived(status) and await arrived():
                self.tally["delivered"] += tallied
                self.trouble = ""
                return b""

    async def _attempt(self, path: str, body: bytes, headers: Mapping[str, str]) -> _Answer:
        if self._session is None:
            timeouts = aiohttp.ClientTimeout(total=TIMEOUT_SECONDS, connect=CONNECT_SECONDS)
            # an unknown encoding, or a decompression bomb, is not decoded
            self._session = aiohttp.ClientSession(
                timeout=timeouts, auto_decompress=False, headers={"Accept-Encoding": "identity"}
            )
        try:
            async with self._session.post(
                self._url + path, data=body, headers=dict(headers), allow_redirects=False
            ) as answer:
                content = await self._read(answer.content)
                shown = content[:_READ]
                if len(shown) < len(content) or not answer.content.at_eof():
                    shown = b" ".join(shown.split()[:-1])  # the last word may be part of a secret
                retry_seconds = min(retry_after_seconds(answer.headers), LONGEST_WAIT_SECONDS)
                status = self._judged(answer.status, content)
                return _Answer(status, self._shown(shown.decode(errors="replace")), retry_seconds, content)
        except aiohttp.ConnectionTimeoutError:
            return _Answer(None, "no connection in time")
        except (TimeoutError, aiohttp.ClientResponseError, aiohttp.ClientPayloadError) as error:
            return _Answer(_HANGS, _why(error))
        except (aiohttp.ClientError, OSError) as error:
            return _Answer(None, _why(error))

    async def _read(self, content: aiohttp.StreamReader) -> bytes:
        """Read the answer. If it is only shown, use what has arrived, because a gateway may never end it."""
        if self._most_bytes == _READ:
            return await content.read(_READ)
        found = bytearray()
        while len(found) < self._most_bytes and (piece := await content.read(self._most_bytes - len(found))):
            found += piece
        return bytes(found)

    def _shown(self, reply: str) -> str:
        """Return the reply without words of the address, which a server repeats for an unknown path."""
        reply, hidden = unquote(reply), {word for each in self._secrets for word in _WORD.findall(each)}
        for secret in self._secrets:
            reply = reply.replace(secret, _REDACTED) if len(secret) > 1 else reply
        return plain(_WORD.sub(lambda word: _REDACTED if word[0] in hidden else word[0], reply), _SHOWN)


def _may_have_arrived(status: int | None) -> bool:
    """Tell whether a receiver may have acted on a message without confirming it."""
    return status is None or status in (_HANGS, 408) or status >= 500  # noqa: PLR2004  # as above


def _why(error: Exception) -> str:
    """Describe the cause in our own words, because a library's text can contain the address, which may be secret."""
    return next((text for kind, text in _CAUSES if isinstance(error, kind)), "the connection failed")


_CAUSES: Final[tuple[tuple[type[Exception], str], ...]] = (
    (TimeoutError, "no answer in time"),
    (aiohttp.ClientResponseError, "its answer is not HTTP"),
    (aiohttp.ClientPayloadError, "its answer was cut off"),
    (aiohttp.ClientConnectorCertificateError, "its certificate is not trusted"),
    (aiohttp.ClientConnectorSSLError, "TLS failed"),
    (aiohttp.ClientConnectorDNSError, "its name has no address"),
    (aiohttp.ClientConnectorError, "it cannot be reached"),
    (aiohttp.ServerDisconnectedError, "the connection was closed before an answer"),
)


def log_refused(alert: AlertMessage, error: Refused) -> None:
    """Log that the alert is dropped."""
    log.error("an alert was refused", alert=alert.labels.get("alertname"), reason=str(error))


def log_parked(alert: AlertMessage, error: Failed) -> None:
    """Log that the alert is retried later, and that nothing waits for it."""
    log.error("an alert is parked", alert=alert.labels.get("alertname"), reason=str(error))


def _secrets(url: str) -> list[str]:
    """Return the parts of an address that can be secret: everything but scheme, host and port."""
    parts = urlsplit(url)
    found = (parts.path, parts.query, parts.fragment, parts.username or "", parts.password or "")
    return list(map(unquote, found))


def _name(kind: str, url: str) -> str:
    """Return a receiver's name for logs, without path and user, because these can be secret."""
    parts = urlsplit(url)
    port = f":{parts.port}" if parts.port else ""
    return plain(f"{kind} {parts.scheme}://{parts.hostname}{port}")
