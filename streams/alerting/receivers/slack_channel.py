"""Posts to a channel of Slack, by its Web API: one message for each alert, updated in place, and one thread for each
incident. Slack does not recognise a repeated message. So each has its alert as metadata, and the channel's history
records what was sent. It is read after a start and after an attempt that may have arrived, so that a kill neither
loses nor repeats a message. A bot may read the history of a channel but not its threads, so each reply is broadcast
to the channel.
"""

import asyncio
import re
from collections.abc import Awaitable, Callable, Sequence
from datetime import timedelta
from typing import Any, Final, NamedTuple
from urllib.parse import urlencode

import msgspec
import structlog

from common.clock import SYSTEM, Clock
from streams.alerting.receivers.alert_states import AlertStates, Received, digest, incident_of
from streams.alerting.receivers.posting import REFUSALS, Failed, Poster, Refused
from streams.alerting.receivers.pushing import NOWHERE, ROUND_SECONDS, Addresses, Pushed, slack_message, status_of
from streams.alerting.settings import SLACK
from streams.kafka.messages.alerts import AlertMessage

CHANNEL: Final = re.compile(r"[CDG][A-Z0-9]{6,}", re.ASCII)
"""Matches the ID of a channel; names are not accepted if messages are updated."""
APART_SECONDS: Final = 1.0
"""Slack accepts about one message a second for each channel."""
KEPT: Final = timedelta(days=7)
"""Age of the oldest message that is searched for after a start."""
UPDATES: Final = 40
"""Maximum number of updates in one round: Slack accepts 50 a minute."""
_EVENT: Final = "leadsman_alert"
_PAGE: Final = 200
_PAGES: Final = 25
_PAGE_BYTES: Final = 16 << 20
_REMEMBERED: Final = 10_000
_BUSY: Final = {"ratelimited": 429, "rate_limited": 429, "service_unavailable": 503, "team_added_to_org": 503}
_FAILED: Final = frozenset({"internal_error", "fatal_error", "request_timeout"})
"""Errors after which Slack may still have acted on the request."""
_GONE: Final = frozenset({"message_not_found", "cant_update_message", "edit_window_closed", "channel_not_found"})
"""Errors after which a message can no longer be updated."""
_NO_THREAD: Final = frozenset({"thread_not_found", "cannot_reply_to_message"})
"""Errors for a thread whose first message was deleted."""
log = structlog.get_logger(__name__)


class _Answer(msgspec.Struct):
    ok: bool = False
    error: str = ""
    ts: str = ""
    bot_id: str = ""
    messages: list[dict[str, Any]] = []
    response_metadata: dict[str, Any] | None = None


class _Metadata(msgspec.Struct):
    alert: str
    incident: str
    said: str


class _Sent(NamedTuple):
    ts: str
    """Slack's timestamp, which identifies the message."""
    thread: str
    """The first message of its incident: itself if it is the first, empty if the first was deleted."""
    incident: str
    said: str
    """A digest of its text."""


class SlackChannel(Pushed):
    """Posts firing alerts to one channel, and updates each message as its alert changes and is resolved."""

    def __init__(
        self,
        channel: str,
        token: str,
        link: Callable[[AlertMessage], Addresses] = lambda _: NOWHERE,
        more: Callable[[AlertMessage], Awaitable[str]] | None = None,
        url: str = SLACK,
        clock: Clock = SYSTEM,
    ) -> None:
        """`channel` is an ID; `token` is of a bot in it with chat:write and channels:history (or groups:history)."""
        poster = Poster(f"slack {channel}", url.rstrip("/"), clock, token, _judged, _PAGE_BYTES)
        super().__init__(self._tell, poster)
        self._slack = poster
        self._channel = channel
        self._token = token
        self._link = link
        self._more = more
        self._clock = clock
        self._states = AlertStates()
        self._sent: dict[str, _Sent] = {}
        """Messages by alert and time of its start, in the order in which they were learnt."""
        self._is_recalled = False
        self._next_at = clock.monotonic()
        self._turn = asyncio.Lock()

    @property
    def resend_seconds(self) -> float:
        """Return the seconds between two rounds in which changed texts are updated."""
        return ROUND_SECONDS

    async def deliver(self, news: Sequence[Received], states: AlertStates) -> None:
        """Return when news were accepted, refused or parked, and open messages have the current text."""
        self._states = states
        await super().deliver(news, states)
        try:
            async with self._turn:
                await self._update_open(news)
        except (Failed, Refused) as error:
            log.warning("messages in Slack are not up to date", receiver=self.name, reason=str(error))

    async def _tell(self, received: Received, deadline_seconds: float) -> None:
        async with self._turn:
            await self._recall(deadline_seconds)
            known = self._sent.get(_key(received.alert))
            if known is None or not await self._update(received, known, deadline_seconds):
                await self._post(received, deadline_seconds)

    async def _update_open(self, news: Sequence[Received]) -> None:
        """Update the messages of firing alerts, and the first one of each incident that fires or has news."""
        firing = self._states.firing()
        if not firing and not news:
            return
        await self._recall(0.0)
        incidents = {incident_of(each.alert) for each in (*firing, *news)}
        first = {each.partition("@")[0] for each, sent in self._sent.items() if sent.incident in incidents}
        left = UPDATES
        open_ones = {each.alert.fingerprint: each for each in (*firing, *self._states.of(sorted(first)))}
        for received in open_ones.values():
            known = self._sent.get(_key(received.alert))
            if known and left and known.said != self._said(received):
                left -= 1
                await self._update(received, known, 0.0)

    async def _update(self, received: Received, known: _Sent, deadline_seconds: float) -> bool:
        """Update the message's text; return False if the message no longer exists."""
        said = self._said(received)
        if known.said == said:
            return True
        message = await self._message(received, known.incident, said)
        try:
            await self._call("chat.update", {**message, "ts": known.ts}, deadline_seconds)
        except Refused as error:
            if _parsed(error.answer).error not in _GONE:
                raise
            del self._sent[_key(received.alert)]
            return False
        self._sent[_key(received.alert)] = known._replace(said=said)
        return True

    async def _post(self, received: Received, deadline_seconds: float) -> None:
        """Post it, in the thread of its incident if another alert of that incident fires."""
        incident = incident_of(received.alert)
        others = (self._sent.get(_key(each.alert)) for each in self._states.firing())
        thread = max((each.thread for each in others if each and each.incident == incident), default="")
        try:
            await self._posted(received, thread, deadline_seconds)
        except Refused as error:
            if not thread or _parsed(error.answer).error not in _NO_THREAD:
                raise
            for key, each in self._sent.items():
                self._sent[key] = each._replace(thread="") if each.thread == thread else each
            await self._posted(received, "", deadline_seconds)

    async def _posted(self, received: Received, thread: str, deadline_seconds: float) -> None:
        key, incident, said = _key(received.alert), incident_of(received.alert), self._said(received)
        message = await self._message(received, incident, said)
        message |= {"unfurl_links": False, "unfurl_media": False}
        if thread:
            message |= {"thread_ts": thread, "reply_broadcast": True}

        async def arrived() -> bool:
            self._is_recalled = False
            await self._recall(deadline_seconds)
            return key in self._sent

        await self._clock.sleep(max(0.0, self._next_at - self._clock.monotonic()))
        try:
            answer = await self._call("chat.postMessage", message, deadline_seconds, arrived)
        except (Failed, asyncio.CancelledError):
            self._is_recalled = False
            raise
        finally:
            self._next_at = self._clock.monotonic() + APART_SECONDS
        if answer.ts:
            self._remember(key, _Sent(answer.ts, thread or answer.ts, incident, said))

    async def _message(self, received: Received, incident: str, said: str) -> dict[str, Any]:
        alert = received.alert
        known = await self._more(alert) if self._more else ""
        shown = slack_message(received, self._link(alert), " ".join(filter(None, (known, self._others(received)))))
        payload = {"alert": _key(alert), "incident": incident, "said": said}
        return {**shown, "channel": self._channel, "metadata": {"event_type": _EVENT, "event_payload": payload}}

    def _others(self, received: Received) -> str:
        """Return the other firing alerts of the incident, for its first message."""
        known = self._sent.get(_key(received.alert))
        if known is None or known.ts != known.thread:
            return ""
        names = [
            each.alert.labels.get("alertname", "")
            for each in self._states.firing()
            if each.alert.fingerprint != received.alert.fingerprint
            and (sent := self._sent.get(_key(each.alert))) is not None
            and sent.thread == known.ts
        ]
        return f"Also firing in this thread: {', '.join(names)}." if names else ""

    def _said(self, received: Received) -> str:
        words = received.alert.annotations
        return digest(
            status_of(received.alert), words.get("summary", ""), words.get("description", ""), self._others(received)
        )

    async def _recall(self, deadline_seconds: float) -> None:
        """Find the messages that this bot sent to the channel; without permission to read them, post all news."""
        if self._is_recalled:
            return
        try:
            bot = (await self._look("auth.test", {}, deadline_seconds)).bot_id
            oldest = f"{(self._clock.now() - KEPT).timestamp():.6f}"
            cursor = ""
            for _ in range(_PAGES):
                given = {"channel": self._channel, "limit": _PAGE, "include_all_metadata": "true", "cursor": cursor}
                page = await self._look("conversations.history", given, deadline_seconds)
                for message in page.messages:
                    self._learn(message, bot)
                cursor = (page.response_metadata or {}).get("next_cursor") or ""
                if not cursor or not page.messages or str(page.messages[-1].get("ts")) < oldest:
                    break
        except Refused as error:
            log.warning(
                "earlier messages in Slack cannot be read, so after a restart one may be sent twice: a bot needs the "
                "scope channels:history, or groups:history for a private channel",
                receiver=self.name,
                reason=str(error),
            )
        self._is_recalled = True

    def _learn(self, message: dict[str, Any], bot: str) -> None:
        """Remember one of our messages; another app can write the same metadata."""
        metadata = message.get("metadata")
        if message.get("bot_id") != bot or not isinstance(metadata, dict) or metadata.get("event_type") != _EVENT:
            return
        try:
            sent = msgspec.convert(metadata.get("event_payload"), _Metadata)
        except msgspec.ValidationError:
            return
        ts = str(message.get("ts", ""))
        if sent.alert not in self._sent or self._sent[sent.alert].ts < ts:
            self._remember(sent.alert, _Sent(ts, str(message.get("thread_ts") or ts), sent.incident, sent.said))

    def _remember(self, key: str, sent: _Sent) -> None:
        self._sent[key] = sent
        if len(self._sent) > _REMEMBERED:
            del self._sent[next(iter(self._sent))]

    async def _look(self, method: str, given: dict[str, Any], deadline_seconds: float) -> _Answer:
        body = urlencode({name: value for name, value in given.items() if value}).encode()
        kind = "application/x-www-form-urlencoded"
        sent = await self._slack.post(
            f"/{method}", body, self._headers(kind), refusals=1, deadline_seconds=deadline_seconds, tallied=False
        )
        return _parsed(sent)

    async def _call(
        self,
        method: str,
        message: dict[str, Any],
        deadline_seconds: float,
        arrived: Callable[[], Awaitable[bool]] | None = None,
    ) -> _Answer:
        kind = "application/json; charset=utf-8"
        body = msgspec.json.encode(message)
        sent = await self._slack.post(
            f"/{method}",
            body,
            self._headers(kind),
            refusals=REFUSALS if arrived else 1,
            deadline_seconds=deadline_seconds,
            arrived=arrived,
        )
        return _parsed(sent)

    def _headers(self, kind: str) -> Callable[[], dict[str, str]]:
        return lambda: {"Content-Type": kind, "Authorization": f"Bearer {self._token}"}


def _key(alert: AlertMessage) -> str:
    return f"{alert.fingerprint}@{alert.starts_at.isoformat()}"


def _parsed(content: bytes) -> _Answer:
    try:
        return msgspec.json.decode(content, type=_Answer, strict=False)
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError):
        return _Answer()


def _judged(status: int, content: bytes) -> int:
    """Return the status that Slack means, because it answers 200 with `"ok": false`."""
    if not 200 <= status < 300:  # noqa: PLR2004  # what HTTP calls a success
        return status
    answer = _parsed(content)
    if answer.ok:
        return status
    return 500 if answer.error in _FAILED or not answer.error else _BUSY.get(answer.error, 400)
