"""Whatever evidence there is, is missing, or contradicts earlier evidence, cards and questions say what is so.

There is a node for each state alone, and there are nodes with a random state of each kind. Which of them hold is
reasoned from the states; nothing else may be in the present tense. All are in one cluster: a replay takes as long for
one.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

import pytest
from hypothesis import strategies as st

from components.database import EmptyDatabase
from fakes.checkpoints import write_cpu_manager_state
from field.test_what_is_so import END, GIB, NOTHING_FREED, WELL, Line, Object, at, condition, event, pod, sample
from ingest.files.sources import read_sources
from ingest.normalize.decode import decode
from leadsman.run.replay import replay
from leadsman.run.settings import Settings
from leadsman.web.attention.attention import attention
from leadsman.web.attention.badges import Severity, badges
from leadsman.web.attention.findings import findings
from leadsman.web.attention.nodes import cordoned_by_event, not_ready, problems
from leadsman.web.attention.pods import resizes, terminating
from leadsman.web.reading.overview import Overview, read_overview, read_spans
from leadsman.web.reading.scope import ALL, RequestedRange, choose
from profiles import drawn
from sql.questions.queries import run, with_forms
from streams.rules.numa.cpu_checkpoint import CpuManagerState

pytestmark = pytest.mark.engine

FIRST, LATER, LAST = 1.0, 6.0, 7.0
"""Minutes at which a node is read, read again, and spoken of by Events."""
STATES: Final[Mapping[str, Sequence[str]]] = {
    "ready": ("", "false", "unknown", "by Event", "false, ended", "unknown, ended", "false, ended by Event", "back"),
    "disk": ("", "true", "by Event", "ended", "ended by Event", "came and went"),
    "cordon": ("", "true", "ended", "true, and an Event", "by Event", "by Event, ended", "by Event, ended by Node"),
    "problem": ("", "true", "ended"),
    "gc": ("", "fails", "failed long ago", "failed, then sampled"),
    "memory": ("", "low", "low, ended", "low long ago"),
    "requests": ("", "too many", "ended"),
    "pending": ("", "true", "bound", "bound by Event"),
    "numa": ("", "uneven", "ended"),
    "resize": ("", "deferred", "infeasible", "deferred, ended", "infeasible, ended", "deferred, gone"),
    "terminating": ("", "true", "finished", "gone", "finished, gone"),
    "joined": ("", "late"),
}
"""`late`: the watches, the polls and the agent began at LATER. What was over by then was never seen."""
State = dict[str, str]
NONE: Final = dict.fromkeys(STATES, "")
SOON: Final = [NONE | {kind: each} for kind, states in STATES.items() for each in states[1:]]
ALONE: Final = [*SOON, *(each | {"joined": "late"} for each in SOON if not each["joined"])]
ANY: Final = st.fixed_dictionaries({kind: st.sampled_from(states) for kind, states in STATES.items()})


def lines(name: str, state: State) -> Iterator[Line]:
    found = _all_lines(name, state)
    return _late(found) if state["joined"] else found


def _late(found: Iterable[Line]) -> Iterator[Line]:
    """Yield what lists at LATER hold, the last version of each object, and all that came after them."""
    listed: dict[str, Line] = {}
    for minutes, source, resource, change, node, thing in found:
        if minutes > LATER:
            yield minutes, source, resource, change, node, thing
        elif resource != "stats/summary":
            identity = f"{resource} {node or thing['metadata']['name']}"
            listed[identity] = (LATER, source, resource, "ADDED" if source == "watch" else change, node, thing)
            if change == "DELETED":
                del listed[identity]
    yield from listed.values()


def _all_lines(name: str, state: State) -> Iterator[Line]:
    yield from _node(name, state)
    yield from _events(name, state)
    yield from _pods(name, state)
    yield from _samples(name, state)
    yield from _numa(name, state)


def _node(name: str, state: State) -> Iterator[Line]:
    first: dict[str, Object] = {each["type"]: each for each in WELL}
    later: dict[str, Object] = {}
    ready = state["ready"]
    if ready.startswith("false"):
        first["Ready"] = condition("Ready", "False", -30, message="PLEG is not healthy")
    if ready.startswith("unknown"):
        first["Ready"] = condition("Ready", "Unknown", -30, message="Kubelet stopped posting node status.")
    if ready in {"false, ended", "unknown, ended"}:
        later["Ready"] = condition("Ready", "True", 5)
    if state["disk"] in {"true", "ended", "ended by Event"}:
        first["DiskPressure"] = condition("DiskPressure", "True", -30)
    if state["disk"] == "ended":
        later["DiskPressure"] = condition("DiskPressure", "False", 5)
    if state["problem"]:
        first["KernelDeadlock"] = condition("KernelDeadlock", "True", -30, reason="DockerHung", message="blocked")
    if state["problem"] == "ended":
        later["KernelDeadlock"] = condition("KernelDeadlock", "False", 5, reason="Well", message="no deadlock")
    is_shown = state["cordon"] in {"true", "ended", "true, and an Event"}
    yield _object(name, FIRST, first, cordoned=is_shown)
    if later or state["cordon"] in {"ended", "by Event, ended by Node"}:
        yield _object(name, LATER, first | later, cordoned=is_shown and state["cordon"] != "ended")
    if state["cordon"] == "by Event, ended by Node":
        yield _object(name, LAST, {**first, **later}, cordoned=False, labels={"read": "again"})


def _object(name: str, minutes: float, conditions: Mapping[str, Object], *, cordoned: bool, **more: Any) -> Line:
    room = {"cpu": "4", "memory": "16Gi", "pods": "110", "ephemeral-storage": "100Gi"}
    status = {"capacity": room, "allocatable": room, "conditions": [*conditions.values()]}
    meta = {"name": name, "uid": name, "creationTimestamp": at(-90), **more}
    made = {"metadata": meta, "spec": {"unschedulable": cordoned}, "status": status}
    return minutes, "watch", "nodes", "MODIFIED", "", made


def _events(name: str, state: State) -> Iterator[Line]:
    if state["ready"] in {"by Event", "back"}:
        yield _says(name, "NodeNotReady", LAST if state["ready"] == "by Event" else LAST - 0.5)
    if state["ready"] in {"false, ended by Event", "back"}:
        yield _says(name, "NodeReady", LAST)
    if state["cordon"] in {"true, and an Event", "by Event", "by Event, ended", "by Event, ended by Node"}:
        yield _says(name, "NodeNotSchedulable", 2 if state["cordon"].endswith("Node") else LAST - 0.5)
    if state["cordon"] == "by Event, ended":
        yield _says(name, "NodeSchedulable", LAST)
    if state["disk"] in {"by Event", "came and went"}:
        yield _says(name, "NodeHasDiskPressure", LAST - 0.5)
    if state["disk"] in {"ended by Event", "came and went"}:
        yield _says(name, "NodeHasNoDiskPressure", LAST)
    if state["gc"]:
        minutes = 4 if state["gc"] == "fails" else -20
        since = {"firstTimestamp": at(minutes - 40), "count": 9}
        yield event("FreeDiskSpaceFailed", "Node", name, minutes, NOTHING_FREED, **since)
    if state["pending"] == "bound by Event":
        source = {"component": "default-scheduler"}
        yield event(
            "Scheduled", "Pod", f"p-{name}", LAST, f"Successfully assigned shop/p-{name} to {name}", source=source
        )


def _says(name: str, reason: str, minutes: float) -> Line:
    return event(reason, "Node", name, minutes, f"Node {name} status is now: {reason}", type="Normal")


def _pods(name: str, state: State) -> Iterator[Line]:
    running = {"phase": "Running", "startTime": at(-59)}
    if state["requests"]:
        large = pod(f"large-{name}", name, running, FIRST, requests={"cpu": "5"})
        yield large
        if state["requests"] == "ended":
            yield _gone(large)
    if state["pending"]:
        words = {"reason": "Unschedulable", "message": "0/1 nodes are available: 1 Insufficient cpu."}
        waits = {"phase": "Pending", "conditions": [condition("PodScheduled", "False", -1, **words)]}
        yield pod(f"p-{name}", "", waits, FIRST)
    if state["pending"] == "bound":
        yield pod(f"p-{name}", name, running, LATER)
    if state["resize"]:
        words = {"reason": state["resize"].partition(",")[0].capitalize(), "message": "No room."}
        wants = {"conditions": [condition("PodResizePending", "True", -2, **words)]}
        resized = pod(f"r-{name}", name, running | wants, FIRST)
        yield resized
        if state["resize"].endswith("ended"):
            yield pod(f"r-{name}", name, running, LATER)
        if state["resize"].endswith("gone"):
            yield _gone(resized)
    if state["terminating"]:
        leaving: Any = {"deletionTimestamp": at(-30), "deletionGracePeriodSeconds": 30}
        over = {"phase": "Succeeded", "startTime": at(-59)}
        status = over if state["terminating"].startswith("finished") else running
        stays = pod(f"t-{name}", name, status, FIRST, **leaving)
        yield stays
        if state["terminating"].endswith("gone"):
            yield _gone(stays)


def _gone(line: Line) -> Line:
    _, source, resource, _, node, thing = line
    return LATER, source, resource, "DELETED", node, thing


def _samples(name: str, state: State) -> Iterator[Line]:
    low, well = 50 << 20, 8 * GIB
    for minutes, left in {
        "low": ((END, low),),
        "low, ended": ((2, low), (END, well)),
        "low long ago": ((-60, low),),
    }.get(state["memory"], ()):
        yield sample(name, minutes, memory=left)
    if state["gc"] == "failed, then sampled" and state["memory"] in {"", "low long ago"}:
        yield sample(name, END)


def _numa(name: str, state: State) -> Iterator[Line]:
    """Two of the three CPUs that NUMA node 0 has to give, one of which is left, beside four of NUMA node 1."""
    if state["numa"]:
        cpus = [{"cpu": cpu, "core": cpu, "socket": 0, "numa": cpu // 4} for cpu in range(8)]
        config = {"cpuManagerPolicy": "static", "reservedSystemCPUs": "0"}
        yield FIRST, "agent", "cpu_topology", "SNAPSHOT", name, {"cpus": cpus}
        yield FIRST, "kubelet", "configz", "SNAPSHOT", name, {"kubeletconfig": config}
        yield _checkpoint(name, FIRST, "0,3-7", {"e": {"app": "1-2"}})
        if state["numa"] == "ended":
            yield _checkpoint(name, LATER, "0-7", {})


def _checkpoint(name: str, minutes: float, shared: str, held: dict[str, dict[str, str]]) -> Line:
    written = write_cpu_manager_state(CpuManagerState("static", shared, held, {}, 2))
    return minutes, "agent", "cpu_manager_state", "SNAPSHOT", name, json.loads(written)


class Present(NamedTuple):
    """A card by its title, and the states in which it holds at the end."""

    title: str
    holds: Callable[[State], bool]


def _is_silent(state: State) -> bool:
    return state["ready"] == "unknown"


def _is_cordoned(state: State) -> bool:
    return state["cordon"] in {"true", "true, and an Event"}


PRESENT: Final = (
    # the text of a cordoned node's card says that it is not Ready
    Present("not Ready", lambda state: state["ready"] in {"false", "by Event"} and not _is_cordoned(state)),
    Present("Ready unknown", _is_silent),
    Present("DiskPressure", lambda state: state["disk"] in {"true", "by Event"} and not _is_silent(state)),
    Present("cordoned", lambda state: _is_cordoned(state) or state["cordon"] == "by Event"),
    Present("cordoned (from an Event)", lambda state: state["cordon"] == "by Event"),
    Present("KernelDeadlock", lambda state: state["problem"] == "true"),
    Present("Image GC", lambda state: state["gc"] == "fails"),
    Present("Memory is below its hard threshold", lambda state: state["memory"] == "low"),
    Present("More requested than allocatable", lambda state: state["requests"] == "too many"),
    Present("Uneven NUMA nodes", lambda state: state["numa"] == "uneven"),
    Present("deferred", lambda state: state["resize"] == "deferred"),
    Present("infeasible", lambda state: state["resize"] == "infeasible"),
    Present("still Terminating", lambda state: state["terminating"] in {"true", "finished"}),
)


def _is_there(state: State, pod_name: str) -> bool:
    """Tell whether a pod of `_pods` runs on its node at the end."""
    return {
        "large": state["requests"] == "too many",
        "p": state["pending"] == "bound",
        "r": not state["resize"].endswith("gone"),
        "t": state["terminating"] == "true",
    }[pod_name.partition("-")[0]]


QUESTIONS: Final[Mapping[str, Callable[[State, Mapping[str, Any]], bool]]] = {
    "not_ready": lambda state, row: (row["until"] is None) <= (state["ready"] in {"false", "unknown", "by Event"}),
    "pressure_history": lambda state, row: (row["ended_at"] is None) <= (state["disk"] in {"true", "by Event"}),
    "nodes": lambda state, row: (
        bool(row["ready"]) is (state["ready"] not in {"false", "unknown", "by Event"})
        and bool(row["unschedulable"]) is _is_cordoned(state)
        and bool(row["problems"]) is (state["problem"] == "true")
    ),
    "image_gc": lambda state, row: (row["verdict"] == "insufficient_freed") <= state["gc"].startswith("fail"),
    "pending_resizes": lambda state, row: row["state"] == state["resize"],
    "cgroups": lambda state, row: _is_there(state, row["pod"]),
    "requests": lambda state, row: _is_there(state, row["pod"]),
    "fit": lambda state, row: (row["requested"] > row["allocatable"]) <= (state["requests"] == "too many"),
}
"""Checks by question: they tell whether a row about a node may be in the answer."""


OF_PENDING: Final = frozenset({"pending_pods", "pending_fit"})
"""Questions about pods that wait for a node."""
AMOUNTS: Final = frozenset(
    {"alert_coverage", "disk_growth", "node_sizing", "node_volumes", "prediction_accuracy", "pull_loops"}
    | {"restart_ends", "settings_warnings", "unguarded_signals", "zones"}
)
"""Questions about amounts, settings and advice, whose rows say of nothing that it lasts."""


class Reported(NamedTuple):
    states: Mapping[str, State]
    view: Overview
    rows: Mapping[str, Sequence[Mapping[str, Any]]]
    dated: frozenset[str]
    """Questions whose rows have a time."""


@pytest.fixture(scope="module")
def reported(empty_database: EmptyDatabase, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Reported]:
    states = {f"e{number}": state for number, state in enumerate([NONE, *ALONE, *drawn(ANY, 40, night=1500)])}
    capture: Path = tmp_path_factory.mktemp("any") / "capture.jsonl"
    found = sorted((line for name, state in states.items() for line in lines(name, state)), key=lambda each: each[0])
    capture.write_text("".join(_written(*line) for line in found))
    with empty_database() as database:
        replay(database, map(decode, read_sources([capture])), Settings())
        spans = read_spans(database)
        view = read_overview(database, choose(spans, RequestedRange(last=ALL)), spans)
        rows, dated = {}, set()
        for query in with_forms():
            answer = run(database, query, {})
            rows[query.name] = [dict(zip(answer.column_names, row, strict=True)) for row in answer.rows]
            dated |= {query.name} if any("DateTime" in each for each in answer.column_types) else set()
        yield Reported(states, view, rows, frozenset(dated))


def _written(minutes: float, source: str, resource: str, change: str, node: str, thing: Object) -> str:
    of = {"ts": at(minutes), "cluster": "c", "source": source, "resource": resource, "type": change}
    return json.dumps(of | ({"node": node} if node else {}) | {"object": thing}) + "\n"


def _differences(reported: Reported, found: Mapping[str, set[str]]) -> dict[str, dict[str, State]]:
    """The nodes of which a card says what is not so, or not what is so."""
    return {
        title: {name: reported.states[name] for name in found[title] ^ expected}
        for title, holds in PRESENT
        if found[title] ^ (expected := {name for name, state in reported.states.items() if holds(state)})
    }


def test_a_card_is_in_the_present_tense_about_the_nodes_on_which_it_is_so_and_no_others(reported: Reported) -> None:
    rules = not_ready, cordoned_by_event, problems, findings, resizes, terminating
    items = [item for rule in rules for item in rule(reported.view)]
    assert (
        _differences(
            reported,
            {
                title: {name for item in items if item.now and title in item.title for name in item.nodes}
                for title, _ in PRESENT
            },
        )
        == {}
    )


def test_a_node_on_which_nothing_is_so_has_no_serious_card_of_now_and_no_such_badge(reported: Reported) -> None:
    """Alerts, which fire a while longer, are among the cards."""
    well = {name for name, state in reported.states.items() if not any(holds(state) for _, holds in PRESENT)}
    named = {
        name
        for item in attention(reported.view)
        if item.now and item.severity <= Severity.WARNING
        for name in item.nodes
    }
    assert well
    assert named & well == set()
    worst = {
        line.name: [each.text for each in badges(line) if each.severity is Severity.CRITICAL]
        for line in reported.view.nodes
    }
    assert {name: worst[name] for name in well & worst.keys() if worst[name] and not _was_low(reported, name)} == {}


def _was_low(reported: Reported, name: str) -> bool:
    """Its last sample, however old, is all that its badge has."""
    return reported.states[name]["memory"] == "low long ago"


def test_pods_that_were_bound_meanwhile_wait_nowhere(reported: Reported) -> None:
    waiting = {f"p-{name}" for name, state in reported.states.items() if state["pending"] == "true"}
    assert {uid for row in reported.view.waiting for uid in row["uids"]} == waiting
    assert {row["pod"] for row in reported.view.pending} == waiting
    for query in OF_PENDING:
        assert {row["pod"] for row in reported.rows[query]} == waiting


def test_every_question_says_when_or_is_checked(reported: Reported) -> None:
    """A question without a time in its rows speaks of now: it has a place here."""
    assert reported.rows.keys() - reported.dated == (QUESTIONS.keys() - reported.dated) | AMOUNTS | {"pending_fit"}
    assert AMOUNTS & reported.dated == set()


@pytest.mark.parametrize("query", QUESTIONS)
def test_no_row_of_a_question_holds_what_is_over_or_was_not_seen(reported: Reported, query: str) -> None:
    wrong = [row for row in reported.rows[query] if not QUESTIONS[query](reported.states[row["node"]], row)]
    assert wrong == []


@pytest.mark.parametrize(("query", "kind", "states"), [
    ("not_ready", "ready", {"false", "unknown", "by Event"}),
    ("pressure_history", "disk", {"true", "by Event"}),
    ("image_gc", "gc", {"fails"}),
    ("pending_resizes", "resize", {"deferred", "infeasible"}),
])  # fmt: skip
def test_a_question_has_a_row_of_each_node_on_which_it_is_so(
    reported: Reported, query: str, kind: str, states: set[str]
) -> None:
    shown = {row["node"] for row in reported.rows[query]}
    assert {name for name, state in reported.states.items() if state[kind] in states} <= shown


@pytest.mark.parametrize(
    ("query", "kind", "over"),
    [
        ("not_ready", "ready", {"false, ended", "unknown, ended"}),
        ("pressure_history", "disk", {"ended"}),
        ("pod_ends", "terminating", {"gone", "finished, gone"}),
    ],
)
def test_what_was_over_before_the_watches_began_is_in_no_answer(
    reported: Reported, query: str, kind: str, over: set[str]
) -> None:
    """Nobody saw it, so that nobody knows whether it was so."""
    of_it = {name: state["joined"] for name, state in reported.states.items() if state[kind] in over}
    rows = [row for row in reported.rows[query] if query != "pod_ends" or row["pod"].startswith("t-")]
    assert {of_it[row["node"]] for row in rows if row["node"] in of_it} == {""}, "others saw it, and have rows"
