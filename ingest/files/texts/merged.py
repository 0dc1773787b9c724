"""Merges the texts about one thing: those that state times are its versions, and complete each other.

The order of texts in a dump says nothing. Only times do: that of a heartbeat, or the age of a row in a table.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, Final, NamedTuple

import msgspec

from common.text import plain
from ingest.files.history import Fact
from ingest.files.lines import SourceError
from ingest.files.texts.ages import span, time_of, utc
from ingest.files.texts.columns import OF_CONTAINERS
from ingest.messages.reasons import OUT_OF, REFUSALS, is_by_kubelet
from ingest.model.objects.base import UNKNOWN_NAME
from ingest.model.observation import EARLIEST, LATEST
from ingest.resources.events import EVENTS
from ingest.resources.nodes import NODES

Made = dict[str, Any]
_ANY: Final = msgspec.json.Decoder(dict[str, Any])
_READY: Final = "Ready"
_BEAT: Final = "lastHeartbeatTime"
_SECOND: Final = timedelta(seconds=1)


def merged(facts: Sequence[Fact], refused: list[SourceError]) -> Iterator[Fact]:
    """Yield the versions of a thing that its texts state, oldest first, the last one completed from the others.

    `refused` receives a sentence if texts contradict each other, and no time decides between them.
    """
    if len(facts) == 1:
        yield facts[0]
        return
    resource = facts[0].thing.resource
    if resource == EVENTS.name:
        yield max(facts, key=_occurrences_and_time)
        return
    read = [(fact, _ANY.decode(fact.thing.raw)) for fact in facts]
    if resource != NODES.name:
        fact, made = max(read, key=_rank)
        yield _with(fact, _with_kills(made, [each for _, each in read]))
        return
    yield from _versions([*_one_of_each_text(read)], refused)


class _Shown(NamedTuple):
    """A Node as a text shows it, and the times between which it was so."""

    since: datetime
    until: datetime
    fact: Fact
    made: Made


def _versions(read: Sequence[tuple[Fact, Made]], refused: list[SourceError]) -> Iterator[Fact]:
    """Yield a Node as each description shows it, then as tables that were printed later show it."""
    newest = max(_beat(made) for _, made in read)
    yield from (fact for fact, made in read if EARLIEST < _beat(made) < newest)
    fact, made = max((each for each in read if _beat(each[1]) == newest), key=_rank)
    made = _with_more(made, [each for _, each in sorted(read, key=_by_time)])
    state = _ready(made)
    is_described = time_of(state.get(_BEAT)) is not None
    created = max(time_of(each["metadata"].get("creationTimestamp")) or EARLIEST for _, each in read)
    is_dated = created > EARLIEST or not is_described
    shown = [_of_row(*each, created if is_dated else None) for each in read if _is_row(each[1])]
    if is_described:
        since = time_of(state.get("lastTransitionTime")) or newest
        shown = [_Shown(since, newest + _SECOND, fact, made), *(each for each in shown if each.until > since)]
    shown.sort(key=lambda each: (each.since, each.fact.thing.raw))
    if _contradict(shown):
        what = f"node {plain(made['metadata']['name'])} is Ready in one text and not in another"
        refused.append(SourceError(f"{plain(fact.position.source)}: {what}, and no time shows which is later"))
        yield _with(fact, made if is_described else _without_ready(made))
        return
    for each in shown:
        if not is_described:
            made = _replaced(made, each.made)
        elif _is_ready(each.made) != _is_ready(made):
            yield _with(fact, made)
            fact, made = each.fact._replace(newest=each.since), _replaced(made, _dated(each))
    yield _with(fact, made)


def _is_row(made: Made) -> bool:
    return bool(_ready(made)) and _beat(made) == EARLIEST


def _of_row(fact: Fact, made: Made, created: datetime | None) -> _Shown:
    """Return a row of a table with the times between which it was printed, by its age; without one, any time."""
    length = span(made["metadata"].get("age", ""))
    if created is None or length is None:
        return _Shown(EARLIEST, LATEST, fact, made)
    return _Shown(created + length[0], created + length[1], fact, made)


def _contradict(shown: Iterable[_Shown]) -> bool:
    """Tell whether a Node was Ready and not Ready at times that overlap."""
    until = {True: EARLIEST, False: EARLIEST}
    for each in shown:
        is_ready = _is_ready(each.made)
        if until[not is_ready] > each.since:
            return True
        until[is_ready] = max(until[is_ready], each.until)
    return False


def _dated(row: _Shown) -> Made:
    """Return a row whose state has the earliest time at which it was printed."""
    at = {"lastUpdateTime": utc(row.since.isoformat())}
    return row.made | {"status": row.made["status"] | {"conditions": [{**_ready(row.made), **at}]}}


def _with(fact: Fact, made: Made) -> Fact:
    return fact._replace(thing=fact.thing._replace(raw=msgspec.json.encode(made)))


def _ready(made: Mapping[str, Any]) -> Mapping[str, str]:
    return next((each for each in made["status"].get("conditions", ()) if each["type"] == _READY), {})


def _beat(made: Mapping[str, Any]) -> datetime:
    """Return the newest heartbeat in the conditions; EARLIEST for an object without one."""
    beats = (time_of(each.get(_BEAT)) for each in made["status"].get("conditions", ()))
    return max(filter(None, beats), default=EARLIEST)


def _is_ready(made: Made) -> bool:
    """Tell whether a Node is Ready; a table shows Unknown as NotReady."""
    return _ready(made).get("status") == "True"


def _by_time(read: tuple[Fact, Made]) -> tuple[datetime, tuple[timedelta, timedelta], bytes]:
    fact, made = read
    return _beat(made), span(made["metadata"].get("age", "")) or (timedelta(), timedelta()), fact.thing.raw


def _without_ready(node: Made) -> Made:
    conditions = [each for each in node["status"].get("conditions", ()) if each["type"] != _READY]
    return node | {"status": node["status"] | {"conditions": conditions}}


def _one_of_each_text(read: Iterable[tuple[Fact, Made]]) -> Iterator[tuple[Fact, Made]]:
    """Yield Nodes in which the rows of the tables of one text are one: each table shows one moment.

    A later row replaces only what it states.
    """
    tables = dict[str, tuple[Fact, Made]]()
    for fact, made in read:
        if _is_row(made):
            source = fact.position.source
            tables[source] = fact, (_replaced(tables[source][1], made) if source in tables else made)
        else:
            yield fact, made
    yield from tables.values()


def _replaced(earlier: Mapping[str, Any], later: Mapping[str, Any]) -> dict[str, Any]:
    """Return the later of two rows with what only the earlier one states: an empty text states nothing."""
    made = {**earlier, **{key: value for key, value in later.items() if value != "" or key not in earlier}}
    for key in earlier.keys() & later.keys():
        before, value = earlier[key], later[key]
        if isinstance(before, dict) and isinstance(value, dict):
            made[key] = _replaced(before, value)
        elif key == "conditions":
            made[key] = list({each["type"]: each for each in (*before, *value)}.values())
    return made


def _rank(read: tuple[Fact, Made]) -> tuple[bool, bool, int, int, bytes]:
    """Sort key: whether it has the readiness of a Node or the end of a pod, then containers, restarts and length."""
    fact, made = read
    status, raw = made["status"], fact.thing.raw
    restarts = (each.get("restartCount", 0) for kind in OF_CONTAINERS for each in status.get(kind, ()))
    is_told = is_by_kubelet(status.get("reason", "")) or (made["kind"] == "Node" and bool(_ready(made)))
    return is_told, bool(made["spec"].get("containers")), max(restarts, default=0), len(raw), raw


def _with_more(node: dict[str, Any], others: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """Complete a Node from other texts, oldest first: taints, amounts and conditions."""
    others, status = list(others), node["status"]
    taints = next((each["spec"]["taints"] for each in reversed(others) if each["spec"].get("taints")), None)
    of_others = {each["type"]: each for other in others for each in other["status"].get("conditions", ())}
    known = {each["type"]: each for each in status.get("conditions", ())}
    more = {
        name: found
        for name in ("capacity", "allocatable")
        if (
            found := status.get(name)
            or next(filter(None, (each["status"].get(name) for each in reversed(others))), None)
        )
    }
    more |= {"conditions": list((of_others | known).values())}
    return node | {"status": status | more, "spec": ({} if taints is None else {"taints": taints}) | node["spec"]}


def _with_kills(pod: dict[str, Any], others: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """Give a pod of a table the OOM kills of all tables; its status can show two adjacent attempts.

    A refused pod never ran, so the kills belong to another pod with its name.
    """
    status, shown = pod["status"], dict[str, Any]()
    reason = status.get("reason", "")
    for kind in OF_CONTAINERS:
        rows = [row for each in others for row in each["status"].get(kind, ()) if row["name"] == UNKNOWN_NAME]
        if rows:
            last = max(rows, key=lambda row: row["restartCount"])
            before = (row.get("state") for row in rows if row["restartCount"] == last["restartCount"] - 1)
            shown[kind] = [last | {"lastState": next(before, last.get("lastState"))}]
    is_described = any(row["name"] != UNKNOWN_NAME for kind in OF_CONTAINERS for row in status.get(kind, ()))
    if is_described or reason in REFUSALS or OUT_OF.fullmatch(reason):
        return pod
    return pod | {"status": status | shown}


def _occurrences_and_time(fact: Fact) -> tuple[int, bool, str]:
    """Sort key: the number of occurrences of an Event and the time of the last; an Event bounded only by its file
    comes last.
    """
    event = _ANY.decode(fact.thing.raw)
    return event["count"], "earliest" in event, event["lastTimestamp"]
