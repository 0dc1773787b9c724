"""A receiver that is not sent what is silenced."""

from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Final

from common.clock import SYSTEM, Clock
from streams.alerting.receivers.alert_states import AlertStates, Received
from streams.alerting.receivers.choose import Receiver
from streams.alerting.silences import Silence, silence_of

LOOK_SECONDS: Final = 60.0
"""How soon after the end of a silence what still fires is sent."""


class Withholding:
    """Forwards alerts that no silence covers to a receiver.

    An alert that begins to fire while it is silenced is withheld until the silence is over. If it is resolved
    before, the receiver never learns of it. The end of an alert that the receiver was sent is always sent, so that
    nothing stays open.
    """

    def __init__(
        self, receiver: Receiver, silences: Callable[[], Sequence[Silence]] = tuple, clock: Clock = SYSTEM
    ) -> None:
        """`silences` gives those that are known now."""
        self.receiver = receiver
        self._silences = silences
        self._clock = clock
        self._withheld: set[str] = set()

    @property
    def resend_seconds(self) -> float | None:
        """Return the receiver's interval."""
        seconds = self.receiver.resend_seconds
        return LOOK_SECONDS if seconds is None and self._withheld else seconds

    @property
    def withheld(self) -> Collection[str]:
        """Fingerprints of the alerts whose present state it was not sent because it is, or was, silenced."""
        return self._withheld

    def withhold(self, fingerprints: Iterable[str]) -> None:
        """Withhold alerts that an earlier process had withheld."""
        self._withheld = set(fingerprints)

    async def deliver(self, news: Sequence[Received], states: AlertStates) -> None:
        """Deliver like a receiver. `standing` includes silenced alerts."""
        firing = {each.alert.fingerprint: each for each in states.firing()}
        silenced = {fingerprint for fingerprint, each in firing.items() if self._is_silenced(each)}
        passed = [each for each in news if self._passes(each)]
        known = {each.alert.fingerprint for each in passed}
        for fingerprint in sorted(self._withheld & firing.keys() - silenced):
            self._withheld.discard(fingerprint)
            passed += [firing[fingerprint]] if fingerprint not in known else []
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
        return silence_of(received.alert.labels, self._silences(), self._clock.now()) is not None
