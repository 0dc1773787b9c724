"""Silences, which mute matching alerts for a time, with matchers like Alertmanager's. Pure."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import Final, Literal, NamedTuple, TypeAlias, cast

import msgspec

from common.errors import WrongUsage
from common.text import plain

Operator: TypeAlias = Literal["=", "!=", "=~", "!~"]
_MATCHER: Final = re.compile(r"\s*([A-Za-z_][A-Za-z0-9_]*)\s*(=~|!~|!=|=)\s*(.*?)\s*", re.DOTALL)
_QUOTED: Final = re.compile(r'"((?:[^"\\]|\\.)*)"', re.DOTALL)
_ATOMS: Final = re.compile(r"\\.|\[\^?\]?(?:[^\]\\]|\\.)*\]", re.DOTALL)
"""Matches escaped characters and classes, which repeat nothing."""
_REPEATED_GROUP: Final = re.compile(r"\)[*+{]")
_REPEATED: Final = re.compile(r"[*+{]|(?<![(*+}])\?")
_MOST_REPEATED: Final = 3
_MOST_FOUND: Final = 20_000
"""Number of alerts whose silence is cached."""
_ESCAPED: Final = re.compile(r"\\(.)", re.DOTALL)


class BadSilence(WrongUsage):
    """A silence cannot be created as given; the message says what is wrong and what to write."""


class Matcher(NamedTuple):
    """A condition on one label; a label that an alert lacks is empty."""

    name: str
    operator: Operator
    value: str
    """The label's value; with `=~` and `!~` a regular expression that must match the whole value."""

    def __str__(self) -> str:
        value = self.value.replace("\\", "\\\\").replace('"', '\\"')
        return f'{self.name}{self.operator}"{plain(value, 200)}"'

    @property
    def is_name(self) -> bool:
        """Tell whether it requires one certain value of the label."""
        return self.operator == "=" and self.value != ""

    def matches(self, labels: Mapping[str, str]) -> bool:
        text = labels.get(self.name, "")
        same = bool(_pattern(self.value).fullmatch(text)) if "~" in self.operator else text == self.value
        return same != self.operator.startswith("!")


class Silence(msgspec.Struct, frozen=True):
    """A silence, in force from its start until its end, by the wall clock, not by event time."""

    id: str
    matchers: tuple[Matcher, ...]
    """An alert must match all of them."""
    starts_at: datetime
    ends_at: datetime
    """The time of its end, or of its expiry if that was earlier."""
    created_by: str
    comment: str
    updated_at: datetime

    def state(self, at: datetime) -> str:
        return "pending" if at < self.starts_at else "active" if at < self.ends_at else "expired"

    def covers(self, labels: Mapping[str, str], at: datetime) -> bool:
        return self.starts_at <= at < self.ends_at and all(each.matches(labels) for each in self.matchers)

    def expired(self, at: datetime) -> "Silence":
        """Return the silence ended now; a silence that has ended stays unchanged. It is newer than what
        it replaces, although its maker's clock may be ahead of this one.
        """
        if at >= self.ends_at:
            return self
        later = max(at, self.updated_at + timedelta(microseconds=1))
        return msgspec.structs.replace(self, starts_at=min(self.starts_at, at), ends_at=at, updated_at=later)


class Silencing:
    """Finds the silences of alerts, cheaply even for thousands of both.

    A silence that requires a label's value is checked only for alerts that have it. A result for labels holds until a
    silence begins or ends.
    """

    def __init__(self) -> None:
        self._silences: Sequence[Silence] = ()
        self._from = self._until = datetime.max.replace(tzinfo=UTC)
        """Returns the times between which the same silences are in force."""
        self._by_label: dict[tuple[str, str], list[Silence]] = {}
        self._others: list[Silence] = []
        self._found: dict[tuple[tuple[str, str], ...], Silence | None] = {}

    def silence_of(self, labels: Mapping[str, str], silences: Sequence[Silence], at: datetime) -> Silence | None:
        """Return the silence that covers an alert longest, or None. A given sequence never changes."""
        if not self._from <= at < self._until or (silences is not self._silences and silences != self._silences):
            self._arrange(silences, at)
        key = (*labels.items(),)
        if key not in self._found:
            if len(self._found) >= _MOST_FOUND:
                self._found.clear()
            labelled = (each for item in key for each in self._by_label.get(item, ()))
            covering = (each for each in (*labelled, *self._others) if each.covers(labels, at))
            self._found[key] = max(covering, key=lambda each: each.ends_at, default=None)
        return self._found[key]

    def _arrange(self, silences: Sequence[Silence], at: datetime) -> None:
        """Index each silence in force by the one of its values that the fewest silences require."""
        changes = [change for each in silences for change in (each.starts_at, each.ends_at) if change > at]
        self._silences, self._from = silences, at
        self._until = min(changes, default=datetime.max.replace(tzinfo=UTC))
        in_force = [each for each in silences if each.state(at) == "active"]
        named = {each.id: [(has.name, has.value) for has in each.matchers if has.is_name] for each in in_force}
        times = Counter(label for labels in named.values() for label in labels)
        self._by_label, self._others, self._found = {}, [], {}
        for each in in_force:
            rarest = min(named[each.id], key=times.__getitem__, default=None)
            (self._others if rarest is None else self._by_label.setdefault(rarest, [])).append(each)


def matchers(texts: Sequence[str]) -> tuple[Matcher, ...]:
    """Parse matchers such as `node=n1` or `alertname=~"Node.*"`. Raises BadSilence."""
    found = tuple(_matcher(text) for text in texts)
    if not any(not each.matches({}) for each in found):
        raise BadSilence(
            "a silence needs a matcher that rules out an alert without labels, such as alertname=NodeNotReady: this "
            "one would mute every alert"
        )
    return found


def _matcher(text: str) -> Matcher:
    found = _MATCHER.fullmatch(text)
    if found is None:
        raise BadSilence(f"{plain(text, 80)!r} is not a matcher: write label=value, or with !=, =~ or !~")
    name, operator, value = found.groups()
    if value.startswith('"'):
        quoted = _QUOTED.fullmatch(value)
        if quoted is None:
            raise BadSilence(f"{plain(text, 80)!r} is not a matcher: its quotes do not match")
        value = _ESCAPED.sub(r"\1", quoted.group(1))
    if "~" in operator:
        try:
            _pattern(value)
        except re.error as error:
            raise BadSilence(f"{plain(text, 80)!r}: not a valid regular expression: {error}") from None
        if _is_slow(value):
            raise BadSilence(
                f"{plain(text, 80)!r}: a crafted label could keep this search busy forever. Repeat no "
                f"group, and write *, +, ? and {{}} at most {_MOST_REPEATED} times"
            )
    return Matcher(name, cast("Operator", operator), value)


def _is_slow(pattern: str) -> bool:
    """Tell whether Python's backtracking may take several seconds for a Kubernetes label."""
    bare = _ATOMS.sub("x", pattern)
    alternatives = [bare] if "(" in bare else bare.split("|")
    most = max(len(_REPEATED.findall(each)) for each in alternatives)
    return _REPEATED_GROUP.search(bare) is not None or most > _MOST_REPEATED


@cache
def _pattern(text: str) -> "re.Pattern[str]":
    """Compile a pattern with RE2's meaning: the dot matches line breaks too."""
    return re.compile(text, re.DOTALL)
