"""Merges the texts about one thing: those that state times are its versions, and complete each other.

The order of texts in a dump says nothing. Only times do: that of a heartbeat, or the age of a row in a table.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, Final

import msgspec

from common.text import plain
from ingest.files.history import Fact
from ingest.files.lines import SourceError
from ingest.files.texts.ages import span, with_zone
from ingest.messages.reasons import OUT_OF, REFUSALS, is_by_kubelet
from ingest.model.objects.base import UNKNOWN_NAME
from ingest.resources.events import EVENTS
from ingest.resources.nodes import NODES

Made = dict[str, Any]
_ANY: Final = msgspec.json.Decoder(dict[str, Any])
OF_CONTAINERS: Final = ("containerStatuses", "initContainerStatuses")
_READY: Final = "Ready"
_BEAT: Final = "lastHeartbeatTime"


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
    read = [*_one_of_each_text(read)]
    newest = max(_beat(made) for _, made in read)
    older = [each for each in read if "" < _beat(each[1]) < newest]
    yield from (fact for fact, _ in older)
    fact, made = max((each for each in read if _beat(each[1]) == newest), key=_rank)
    made = _with_more(made, [each for _, each in read])
    others = {_order(each, made) for _, each in read if not _beat(each) and _differs(each, made)}
    if others - {"older"}:
        is_newer, name = others == {"newer"}, plain(made["metadata"]["name"])
        when = "a table, which was printed later" if is_newer else "another, and no time shows which is later"
        what = f"node {name} is Ready in one text and not in {when}"
        refused.append(SourceError(f"{plain(fact.position.source)}: {what}"))
        made = made if _BEAT in _ready(made) else _without_ready(made)
    yield _with(fact, made)


def _with(fact: Fact, made: Made) -> Fact:
    return fact._replace(thing=fact.thing._replace(raw=msgspec.json.encode(made)))


def _ready(made: Mapping[str, Any]) -> Mapping[str, str]:
    return next((each for each in made["status"].get("conditions", ()) if each["type"] == _READY), {})


def _beat(made: Mapping[str, Any]) -> str:
    """Return the newest heartbeat in the conditions; empty for an object without one."""
    return max((each.get(_BEAT, "") for each in made["status"].get("conditions", ())), default="")


def _differs(row: Made, node: Made) -> bool:
    """Tell whether two texts contradict each other about readiness; a table shows Unknown as NotReady."""
    return bool(_ready(row)) and (_ready(row)["status"] == "True") != (_ready(node).get("status") == "True")


def _order(row: Made, node: Made) -> str:
    """Return whether a table's row is older than a described Node's readiness or newer than the description.

    Its age and the Node's creation show when it was printed; empty if they do not decide.
    """
    created, state, length = (
        node["metadata"].get("creationTimestamp"),
        _ready(node),
        span(row["metadata"].get("age", "")),
    )
    if not created or length is None or _BEAT not in state:
        return ""
    printed = [_time(created) + each for each in length]
    if printed[1] <= _time(state.get("lastTransitionTime", state[_BEAT])):
        return "older"
    return "newer" if printed[0] > _time(_beat(node)) else ""


def _time(text: str) -> datetime:
    return with_zone(datetime.fromisoformat(text))


def _without_ready(node: Made) -> Made:
    conditions = [each for each in node["status"].get("conditions", ()) if each["type"] != _READY]
    return node | {"status": node["status"] | {"conditions": conditions}}


def _one_of_each_text(read: Iterable[tuple[Fact, Made]]) -> Iterator[tuple[Fact, Made]]:
    """Yield Nodes in which the rows of the tables of one text are one: each table shows one moment.

    A later row replaces only what it states.
    """
    tables = dict[str, tuple[Fact, Made]]()
    for fact, made in read:
        if _ready(made) and not _beat(made):
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
    """Complete a Node of a table from other texts: taints, amounts and conditions."""
    others, status = list(others), node["status"]
    taints = next((each["spec"]["taints"] for each in others if each["spec"].get("taints")), None)
    of_others = {each["type"]: each for other in others for each in other["status"].get("conditions", ())}
    known = {each["type"]: each for each in status.get("conditions", ())}
    more = {
        name: found
        for name in ("capacity", "allocatable")
        if (found := status.get(name) or next(filter(None, (each["status"].get(name) for each in others)), None))
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
