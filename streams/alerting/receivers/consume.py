"""Delivers the topic of alerts to one receiver: reads it from the beginning, delivers news, then commits.

The topic is compacted and has the state of each alert. Messages before the committed offsets were delivered, and are
read again at the start only to learn which alerts fire. So a killed process continues where it was. A new process
sends alerts that fire now, not those resolved long ago. A new leader may lack messages of the previous one (KIP-320),
and have others there. So the topic is read again after each change of the connection to a leader. A message is news
if this process has not delivered it or, after a start, if it is newer than all that was delivered.
"""

import asyncio
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, Final

import msgspec
import structlog
from aiokafka import AIOKafkaConsumer, OffsetAndMetadata, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient
from aiokafka.errors import KafkaError
from msgspec.structs import replace

from common.clock import SYSTEM, Backoff, Clock, unstepped
from common.tasks import Tasks
from common.text import plain
from ingest.kafka import aiokafka_fixes
from ingest.kafka.publish import BY_BROKER
from ingest.kafka.reaching import explain_refusal
from ingest.model.topics import MAX_MESSAGE_BYTES, Topic
from streams.alerting.receivers.alert_states import AlertStates, DeliveryState, Mark, Received, RereadPartition
from streams.alerting.receivers.choose import Receiver, reported
from streams.alerting.silences import Silence, Silencing
from streams.kafka.messages.alerts import decode_alert

LOOK_SECONDS: Final = 60.0
"""Time after the end of a silence within which a firing alert is sent."""


class SilenceFilter:
    """Forwards alerts that no silence covers to a receiver.

    An alert that starts to fire while it is silenced is withheld until the silence is over. If it is resolved before,
    the receiver never learns of it. If the receiver was sent an alert, its end is always sent too, so that nothing
    stays open.
    """

    def __init__(
        self, receiver: Receiver, silences: Callable[[], Sequence[Silence]] = tuple, clock: Clock = SYSTEM
    ) -> None:
        """`silences` returns the silences that are known now."""
        self.receiver = receiver
        self._silences = silences
        self._clock = clock
        self._silencing = Silencing()
        self._withheld: set[str] = set()
        self._perhaps: set[str] = set()
        """Firing alerts that an earlier process may have withheld; its metadata had no room to list them."""
        self._is_in_doubt = False

    @property
    def resend_seconds(self) -> float | None:
        seconds = self.receiver.resend_seconds
        return LOOK_SECONDS if seconds is None and (self._withheld or self.is_in_doubt) else seconds

    @property
    def withheld(self) -> Collection[str]:
        """Return the fingerprints of alerts whose current state was not sent, because they are or were silenced."""
        return self._withheld

    @property
    def is_in_doubt(self) -> bool:
        """Return whether more alerts may be withheld than `withheld` lists."""
        return self._is_in_doubt or bool(self._perhaps)

    def withhold(self, fingerprints: Iterable[str], *, more: bool = False) -> None:
        """Restore alerts that an earlier process had withheld.

        If there were more than listed, everything that fires is sent again once no silence covers it, because twice
        is better than never.
        """
        self._withheld = set(fingerprints)
        self._is_in_doubt = more

    def remembered(self, judged_at: datetime, mark: Mark = Mark()) -> DeliveryState:  # noqa: B008  # it is frozen
        """Return the data that the next process needs to continue."""
        return DeliveryState.of(judged_at, self.receiver.parked, self._withheld, mark, more=self.is_in_doubt)

    async def deliver(self, news: Sequence[Received], states: AlertStates) -> None:
        """Deliver like a receiver. `states` includes silenced alerts."""
        firing = {each.alert.fingerprint: each for each in states.firing()}
        silenced = {fingerprint for fingerprint, each in firing.items() if self._is_silenced(each)}
        if self._is_in_doubt:
            self._perhaps, self._is_in_doubt = firing.keys() - self._withheld, False
        passed = [each for each in news if self._passes(each)]
        known = {each.alert.fingerprint for each in passed}
        for fingerprint in sorted((self._withheld | self._perhaps) & firing.keys() - silenced):
            self._withheld.discard(fingerprint)
            passed += [firing[fingerprint]] if fingerprint not in known else []
        self._perhaps &= silenced - self._withheld
        self._withheld |= silenced & set(self.receiver.parked)
        self._withheld = {fingerprint for fingerprint in self._withheld if fingerprint in states}
        await self.receiver.deliver(passed, states.without(self._withheld | silenced))

    def _passes(self, received: Received) -> bool:
        fingerprint = received.alert.fingerprint
        if received.alert.status != "firing":
            return fingerprint not in self._withheld
        if self._is_silenced(received):
            self._withheld.add(fingerprint)
            return False
        self._withheld.discard(fingerprint)
        return True

    def _is_silenced(self, received: Received) -> bool:
        return self._silencing.silence_of(received.alert.labels, self._silences(), self._clock.now()) is not None


_FIRST: Final = "first "
"""Prefix of the metadata in a new group's first commit; the end offset of the existing messages follows."""
_NOTHING: Final = OffsetAndMetadata(-1, "")
_Offsets = dict[TopicPartition, int]
POLL_MS: Final = 500
AT_ONCE: Final = 500
JUDGE_EVERY: Final = timedelta(minutes=1)
SKEW: Final = timedelta(minutes=1)
"""A smaller difference between Kafka's clock and ours is ignored."""
log = structlog.get_logger(__name__)


class _AnotherLeader(Exception):
    """The partition may have another log than the one read so far."""


class AlertConsumer:
    """Delivers to one receiver, with its own consumer group; one process for each receiver and group."""

    def __init__(
        self,
        topic: Topic,
        group: str,
        receiver: Receiver,
        bootstrap_servers: str,
        client_options: Mapping[str, Any] | None = None,
        silences: Callable[[], Sequence[Silence]] = tuple,
    ) -> None:
        self._topic = topic
        self._group = group
        self._receiver = receiver
        self._withholding = SilenceFilter(receiver, silences)
        self._trouble = "it is starting"
        self._known_alerts: AlertStates | None = None
        """Alerts as this process has delivered them."""
        self._clock = unstepped()
        self._options = {"bootstrap_servers": bootstrap_servers, **(client_options or {})}

    async def run(self) -> None:
        """Deliver until cancelled. If Kafka fails, retry with growing delays."""
        try:
            with reported(self._receiver, lambda: self._trouble):
                await self._follow_for_ever()
        finally:
            await self._receiver.close()

    async def _follow_for_ever(self) -> None:
        backoff = Backoff(SYSTEM)
        while True:
            try:
                await self._follow()
            except _AnotherLeader:
                log.info(
                    "the alerts are read again: their partition may have a new leader", receiver=self._receiver.name
                )
                await backoff.wait()
            except KafkaError as error:
                reason = explain_refusal(error)
                self._trouble = f"Kafka cannot be read: {reason}"
                log.warning("Kafka cannot be read", receiver=self._receiver.name, error=reason)
                await backoff.wait()

    async def _follow(self) -> None:
        partitions = [TopicPartition(self._topic.name, number) for number in range(self._topic.partitions)]
        client = AIOKafkaConsumer(
            **self._options,
            group_id=self._group,
            enable_auto_commit=False,
            auto_offset_reset="earliest",
            max_partition_fetch_bytes=MAX_MESSAGE_BYTES,
        )
        async with aiokafka_fixes.started(client) as consumer, Tasks() as spawn:
            spawn(aiokafka_fixes.failure(consumer))
            self._trouble = ""
            committed = await self._read_committed(partitions)
            following = _Following(
                consumer, partitions, committed, self._withholding, self._known_alerts, self._clock
            )
            try:
                await following.run()
            finally:
                self._known_alerts = following.known_alerts

    async def _read_committed(self, partitions: list[TopicPartition]) -> dict[TopicPartition, OffsetAndMetadata]:
        async with aiokafka_fixes.started(AIOKafkaAdminClient(**self._options)) as admin:
            return dict(await aiokafka_fixes.committed(admin, self._group, set(partitions)))


class _Following:
    def __init__(
        self,
        consumer: AIOKafkaConsumer,
        partitions: Sequence[TopicPartition],
        committed: Mapping[TopicPartition, OffsetAndMetadata],
        receiver: SilenceFilter,
        known_alerts: AlertStates | None,
        clock: Clock,
    ) -> None:
        self._consumer = consumer
        self._partitions = partitions
        self._committed = committed
        self._receiver = receiver
        self._clock = clock
        self.known_alerts = known_alerts
        """Alerts as this process has delivered them; None before the first delivery."""
        self._states = AlertStates()
        self._done: _Offsets = {}
        """Offset of each partition before which every message was delivered or parked."""
        self._marks = {each: Mark.parse(committed.get(each, _NOTHING).metadata) for each in partitions}
        """Times in each partition before that, by Kafka's clock."""
        self._live: set[TopicPartition] = set()
        """Partitions that are read to their end, so that a message is read as soon as it is stored."""
        self._connections: dict[TopicPartition, object] = {}
        self._remembered = DeliveryState.parse(committed.get(partitions[0], _NOTHING).metadata)
        self._judged_at = self._remembered.judged_at

    async def run(self) -> None:
        """Assign partitions instead of subscribing, so that a start after a crash waits for no session timeout."""
        self._consumer.assign(self._partitions)
        await self._consumer.seek_to_beginning(*self._partitions)
        known, first, earlier = await self._delivered()
        log.info("following the alerts", receiver=self._receiver.receiver.name)
        unsent = await self._catch_up({**known, **first}, earlier)
        late = self._late(earlier)
        self._done = {**known, **first}
        if first:
            self._judged_at = self._clock.now()
        self._states.lose(self._judged_at)
        for received in self._states.of(self._remembered.parked):
            self._receiver.receiver.park(received)
        if self.known_alerts is None:  # otherwise it withholds what it delivered, committed or not
            self._receiver.withhold(self._remembered.withheld, more=self._remembered.more)
        news = [received for received in self._states.firing() if received.alert.fingerprint in unsent] + late
        if news or self._receiver.resend_seconds is not None:
            await self._receiver.deliver(news, self._states)
        self.known_alerts = self._states
        await self._commit({**first, **(known if late else {})})
        await self._go_on()

    async def _delivered(self) -> tuple[_Offsets, _Offsets, Mapping[TopicPartition, RereadPartition]]:
        """Return the offsets up to which everything was delivered and, for a new group, those up to which only firing
        alerts are sent. That end is stored before anything is sent, so that the process after a killed one sends the
        same again.
        """
        ends = await self._consumer.end_offsets(self._partitions)
        known, first, begun, earlier = {}, {}, {}, {}
        for partition, end in ends.items():
            offset, metadata = self._committed.get(partition, _NOTHING)
            # a recreated topic starts at 0 again, so a group's offsets of the old one mean nothing here
            if metadata.startswith(_FIRST):
                first[partition] = min(int(metadata.removeprefix(_FIRST)), end)
            elif offset >= 0:
                known[partition] = min(offset, end)
                earlier[partition] = RereadPartition(offset, end, self._marks[partition], self.known_alerts)
            else:
                first[partition] = end
                begun[partition] = OffsetAndMetadata(0, f"{_FIRST}{end}")
        if begun:
            await self._consumer.commit(begun)
        return known, first, earlier

    async def _catch_up(
        self, until: Mapping[TopicPartition, int], earlier: Mapping[TopicPartition, RereadPartition]
    ) -> set[str]:
        """Read messages that were delivered before.

        Return fingerprints in partitions from which nothing was ever delivered.
        """
        unsent: set[str] = set()
        while behind := await self._behind(until):
            for partition, messages in (await self._read(*behind)).items():
                for message in messages:
                    if message.offset >= until[partition]:
                        self._consumer.seek(partition, message.offset)
                        break
                    received = self._received(message)
                    is_news = received is not None and self._states.read(received)
                    if partition in earlier:
                        earlier[partition].take(message.offset, _stored_ms(message), received if is_news else None)
                    elif received is not None:
                        unsent.add(received.alert.fingerprint)
                    self._marks[partition] = self._marks[partition].after(_stored_ms(message))
        return unsent

    def _late(self, earlier: Mapping[TopicPartition, RereadPartition]) -> list[Received]:
        """Return undelivered news, and restore states that this process knows and the topic lost."""
        late = [each for of_one in earlier.values() for each in of_one.undelivered()]
        late = [each for each in late if each.alert.fingerprint in self._states]
        if self.known_alerts is not None:
            self._states.keep(self.known_alerts)
        if late:
            log.warning("the topic of alerts was truncated or recreated, and has news", alerts=len(late))
        return late

    async def _read(self, *partitions: TopicPartition, at_once: int | None = None) -> Mapping[TopicPartition, Any]:
        """Return the received messages. Raises _AnotherLeader."""
        found = await self._consumer.getmany(*partitions, timeout_ms=POLL_MS, max_records=at_once)
        for partition in found:
            connection = aiokafka_fixes.leader_connection(self._consumer, partition)
            if self._connections.setdefault(partition, connection) is not connection:
                raise _AnotherLeader
        return found

    async def _behind(self, until: Mapping[TopicPartition, int]) -> list[TopicPartition]:
        return [partition for partition, offset in until.items() if await self._consumer.position(partition) < offset]

    async def _go_on(self) -> None:
        loop = asyncio.get_running_loop()
        sent_at = loop.time()
        while True:
            self._live = {each for each in self._partitions if await self._is_read(each)}
            found = await self._read(at_once=AT_ONCE)
            messages = [message for of_one in found.values() for message in of_one]
            judged_at = await self._due()  # first, because they would be lost if Kafka failed after `read`
            received = (self._received(message) for message in messages)
            news = [each for each in received if each is not None and self._states.read(each)]
            ends = {partition: of_one[-1].offset + 1 for partition, of_one in found.items() if of_one}
            if judged_at is not None:
                self._judged_at = judged_at
                news += self._states.lose(judged_at)
            resend = self._receiver.resend_seconds
            if news or (resend is not None and loop.time() - sent_at >= resend):
                await self._receiver.deliver(news, self._states)
                sent_at = loop.time()
            for partition, of_one in found.items():
                for message in of_one:
                    self._marks[partition] = self._marks[partition].after(_stored_ms(message))
            await self._commit(ends)

    async def _is_read(self, partition: TopicPartition) -> bool:
        return bool(self._consumer.highwater(partition) == await self._consumer.position(partition))

    def _received(self, message: Any) -> Received | None:
        """Decode a message; None for a withdrawn alert, which is forgotten, and for other messages."""
        if message.value is None:
            self._states.withdraw((message.key or b"").decode(errors="replace"))
            return None
        return _received(message, self._clock_of(message))

    def _clock_of(self, message: Any) -> timedelta:
        """Return how far the clock that stored a message is behind ours, if it was read as soon as it was stored."""
        partition = TopicPartition(message.topic, message.partition)
        if partition in self._live:
            behind = self._clock.now() - datetime.fromtimestamp(message.timestamp / 1000, UTC)
            seconds = round(behind.total_seconds()) if abs(behind) >= SKEW else 0
            self._marks[partition] = replace(self._marks[partition], behind_seconds=seconds)
        return timedelta(seconds=self._marks[partition].behind_seconds)

    async def _due(self) -> datetime | None:
        """Return once a minute the time by which missing news is judged; None while messages wait to be read."""
        now = self._clock.now()
        if now - self._judged_at < JUDGE_EVERY or await self._behind(
            await self._consumer.end_offsets(self._partitions)
        ):
            return None
        return now

    async def _commit(self, ends: Mapping[TopicPartition, int]) -> None:
        """Commit the offsets, with the data that the next process needs, in one request."""
        first = self._partitions[0]
        remembered = self._receiver.remembered(self._judged_at, self._marks[first])
        if not ends and remembered == self._remembered:
            return
        self._done |= ends
        offsets = {each: OffsetAndMetadata(end, self._marks[each].metadata()) for each, end in ends.items()}
        await self._consumer.commit({**offsets, first: OffsetAndMetadata(self._done[first], remembered.metadata())})
        self._remembered = remembered


def _stored_ms(message: Any) -> int:
    """Return the time at which Kafka stored a message; 0 if the message has a publisher's time instead."""
    return int(message.timestamp) if message.timestamp_type == BY_BROKER else 0


def _received(message: Any, clock_behind: timedelta) -> Received | None:
    """Decode an alert; log and skip other messages, and return None."""
    try:
        alert = decode_alert(message.value or b"")
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError) as error:
        where = f"{message.topic}:{message.partition}@{message.offset}"
        log.warning("a message is not an alert", at=where, reason=plain(error))
        return None
    identity = dict(message.headers or ()).get("ce_id", b"").decode(errors="replace")
    identity = plain(identity or f"{alert.fingerprint}@{message.partition}@{message.offset}")
    return Received(alert, identity, datetime.fromtimestamp(message.timestamp / 1000, UTC) + clock_behind)
