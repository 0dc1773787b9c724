"""Text of `kubectl describe` and tables of `kubectl get`: hostile, cut and moved (rules: pasted-text)."""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingest.files.sources import read_sources
from ingest.files.texts.ages import PrintTime, when
from ingest.files.texts.mixed import split_mixed
from ingest.files.texts.pasted import pasted_parts
from ingest.files.texts.tables import LACKING
from ingest.model.objects.base import UNKNOWN_NAME
from ingest.model.observation import Observed
from paths import TESTS

DESCRIBED = (TESTS / "field/cases/62-described/described.txt").read_text()
TABLES = (TESTS / "field/cases/63-tables/nodes.txt").read_text() + (
    TESTS / "field/cases/63-tables/events.txt"
).read_text()
AT = datetime(2026, 7, 1, 12, tzinfo=UTC)


def objects(text: str, at: datetime | None = None) -> list[dict[str, Any]]:
    return [msgspec.json.decode(each.raw) for each in pasted_parts(text.encode(), at, AT)]


@pytest.mark.parametrize(
    ("age", "seconds", "unit"),
    [
        ("8m52s", 532, 1),
        ("119s", 119, 1),
        ("5m", 300, 1),
        ("26m", 1560, 60),
        ("3h5m", 11100, 60),
        ("9h", 32400, 3600),
        ("20d", 1728000, 86400),
    ],
)
def test_an_age_is_cut_to_its_unit_so_the_time_is_within_one_of_it(age: str, seconds: int, unit: int) -> None:
    """The units are those of apimachinery's util/duration."""
    at = AT - timedelta(seconds=seconds)
    wanted = {"lastTimestamp": at, "earliest": at - timedelta(seconds=unit), "latest": at}
    found = when(age, PrintTime(AT, ""))
    assert {name: datetime.fromisoformat(each) for name, each in found.items()} == wanted


def test_an_age_counts_from_the_given_time_else_from_the_newest_in_the_text() -> None:
    name = "FreeDiskSpaceFailed"
    given_at, newest = ([e for e in objects(DESCRIBED, at) if e.get("reason") == name] for at in (AT, None))
    assert (given_at[0]["lastTimestamp"], given_at[0]["latest"]) == ("2026-07-01T11:53:58Z",) * 2
    assert newest[0]["lastTimestamp"] == "2022-04-14T17:45:58Z"
    assert "latest" not in newest[0]


@pytest.mark.parametrize(("changed", "is_its"), [("17:43:08", True), ("17:40:00", True), ("15:00:00", False)])
def test_an_event_about_a_change_that_a_condition_dates_has_that_time(
    changed: str, is_its: bool, tmp_path: Path
) -> None:
    """The Event is 8m52s old at 17:52 or later. A condition that changed hours before is about another change."""
    file = tmp_path / "node.txt"
    file.write_text(DESCRIBED.replace("14 Apr 2022 17:43:08", f"14 Apr 2022 {changed}"))
    seen = [each.observation for each in read_sources([file]) if isinstance(each, Observed)]
    events = [msgspec.json.decode(each.object) for each in seen if each.resource == "events"]
    (about,) = [each for each in events if each["reason"] == "NodeHasDiskPressure"]
    assert about["lastTimestamp"] == f"2022-04-14T{changed if is_its else '17:43:08'}Z"
    assert ("earliest" in about) is not is_its


def test_a_condition_without_a_zone_dates_an_event_as_utc(tmp_path: Path) -> None:
    status = {"conditions": [{"reason": "KubeletHasDiskPressure", "lastTransitionTime": "2022-04-14T17:43:10"}]}
    node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "winpool000001"}, "status": status}
    (tmp_path / "node.json").write_bytes(msgspec.json.encode(node))
    (tmp_path / "node.txt").write_text(DESCRIBED)
    seen = [each.observation for each in read_sources([tmp_path]) if isinstance(each, Observed)]
    events = [msgspec.json.decode(each.object) for each in seen if each.resource == "events"]
    (about,) = [each for each in events if each["reason"] == "NodeHasDiskPressure"]
    assert about["lastTimestamp"] == "2022-04-14T17:43:10Z"


def seen_in(folder: Path, **files: str) -> list[dict[str, Any]]:
    for name, text in files.items():
        (folder / f"{name}.txt").write_text(text)
    return [
        msgspec.json.decode(each.observation.object) for each in read_sources([folder]) if isinstance(each, Observed)
    ]


def test_an_event_is_one_in_both_texts_and_two_where_the_messages_differ(tmp_path: Path) -> None:
    other = DESCRIBED.replace(
        "  Warning  FreeDiskSpaceFailed",
        "  Warning  FreeDiskSpaceFailed  6m2s  kubelet  another\n  Warning  FreeDiskSpaceFailed",
    )
    table = (
        "LAST SEEN   TYPE      REASON                 OBJECT               MESSAGE\n"
        "6m9s        Warning   FreeDiskSpaceFailed    node/winpool000001   another\n"
    )
    events = [
        each for each in seen_in(tmp_path, node=other, table=table) if each.get("reason") == "FreeDiskSpaceFailed"
    ]
    assert len(events) == 2
    (about,) = [each for each in events if each["message"] == "another"]
    assert about["lastTimestamp"] == "2022-04-14T17:45:58Z"


@pytest.mark.parametrize(("age", "is_its"), [("5m20s", True), ("3h5m", False)])
def test_the_end_of_its_container_dates_the_event_of_an_eviction(age: str, is_its: bool, tmp_path: Path) -> None:
    """It ended at 17:46:42; the newest time in the text is 17:52:00."""
    seen = seen_in(tmp_path, node=DESCRIBED.replace("Evicted  5m20s", f"Evicted  {age}"))
    (event,) = [each for each in seen if each.get("reason") == "Evicted"]
    assert (event["lastTimestamp"] == "2022-04-14T17:46:42Z") is is_its
    assert ("earliest" in event) is not is_its


POD_TABLE = "NAME    READY   STATUS    RESTARTS   AGE\nhog-0   0/1     Evicted   0          2h\n"


@pytest.mark.parametrize(
    ("others", "namespaces"),
    [
        ([], ["(unknown)"]),
        (["lab"], ["lab"]),
        (["lab", "shop"], ["lab", "shop"]),
    ],
)
def test_a_pod_of_a_table_without_namespaces_is_the_only_one_of_its_name(
    others: list[str], namespaces: list[str], tmp_path: Path
) -> None:
    pod = DESCRIBED[DESCRIBED.index("Name:             hog-0") :]
    texts = {each: pod.replace("Namespace:        lab", f"Namespace:        {each}") for each in others}
    pods = [each for each in seen_in(tmp_path, table=POD_TABLE, **texts) if each["kind"] == "Pod"]
    assert sorted(each["metadata"]["namespace"] for each in pods) == namespaces


FORGED = [
    "Error: could not reach the database",
    "Status: Running",
    "Conditions:",
    "Events:",
    "Name:   other-0\nNamespace:   prod\nNode:   n1/10.0.0.1\nStatus:   Failed",
    "\nName:   other-0\nNamespace:   prod\nNode:   n1/10.0.0.1\nStatus:   Failed",
]


@pytest.mark.parametrize("text", FORGED)
def test_the_lines_of_a_containers_message_are_no_fields_of_a_pod(text: str) -> None:
    whole = DESCRIBED.replace("QoS Class: ", "Conditions:\n  Type   Status\n  Ready  False\nQoS Class: ")
    forged = whole.replace("Reason:       Error\n", f"Reason:       Error\n      Message:  a\n{text}\n")
    assert forged != whole
    (pod,) = [each for each in objects(forged) if each["kind"] == "Pod" and each["status"].get("phase")]
    assert (pod["metadata"]["name"], pod["status"]["phase"]) == ("hog-0", "Failed")
    (container,) = pod["status"]["containerStatuses"]
    assert container["state"]["terminated"]["finishedAt"] == "2022-04-14T17:46:42Z"
    assert "Evicted" in {each.get("reason") for each in objects(forged)}


def test_an_age_too_large_for_a_time_gives_none() -> None:
    assert not when("999999y", PrintTime(AT, ""))


def texts(value: Any) -> set[str]:
    """The leaves of an object that are texts, but for times and what the parser composes."""
    if isinstance(value, dict):
        inner = [texts(each) for name, each in value.items() if not name.endswith(("Time", "Timestamp", "At", "est"))]
        return set().union(*inner)
    if isinstance(value, list):
        return set().union(*map(texts, value))
    return {value} if isinstance(value, str) else set()


COMPOSED = {"v1", "Node", "Pod", "Event", "True", "False", "Ready", "default", "Failed", "Unknown", ""}
COMPOSED |= {"DiskPressure", "Evicted"}  # by its taint, by the words of a message


@given(st.sampled_from([DESCRIBED, TABLES]), st.data())
def test_cut_and_shuffled_text_never_raises_and_never_gives_a_word_that_it_lacks(
    text: str, data: st.DataObject
) -> None:
    lines = text.splitlines()
    kept = data.draw(st.lists(st.sampled_from(lines) | st.text(max_size=40), max_size=30))
    start = data.draw(st.integers(0, len(text)))
    for pasted in (text[start:], text[:start], "\n".join(kept)):
        for each in (some for some in objects(pasted) if some["kind"] != LACKING):
            own = {each["metadata"]["name"]} if each["kind"] == "Event" else set()
            for reported in texts(each) - COMPOSED - own:
                if reported.startswith(UNKNOWN_NAME):
                    continue  # it stands for a name that the text lacks
                words = reported.replace("/", " ").split()
                assert all(word in pasted or word in pasted.replace("\n", "") for word in words), reported


def test_rows_of_equal_length_are_not_put_together_with_prose_below_them() -> None:
    """Three tables of one Event each: their rows are as long as lines of a terminal that broke them would be."""
    head = f"{'LAST SEEN':12}{'TYPE':10}{'REASON':10}{'OBJECT':12}MESSAGE"
    rows = [
        f"{'3m':12}{'Warning':10}{'Evicted':10}{f'pod/web-{n}':12}The node was low on resource: memory. "
        for n in range(3)
    ]
    text = "\n".join(f"$ kubectl get events\n{head}\n{row}\nAnd in the other cluster:" for row in rows)
    assert len({len(row) for row in rows}) == 1
    assert len(rows[0]) > 70
    found = objects(text)
    assert {each["message"].strip() for each in found} == {"The node was low on resource: memory."}
    assert len(found) == 3


def test_a_cut_line_costs_what_it_is_about() -> None:
    cut = DESCRIBED.replace("Thu, 14 Apr 2022 17:43:08 +0000", "Thu, 14 Apr 20")
    (node,) = [each for each in objects(cut) if each["kind"] == "Node"]
    assert [each["type"] for each in node["status"]["conditions"]] == ["MemoryPressure", "Ready"]
    assert node["status"]["capacity"]["pods"] == "110"


ROW = "lab   hog-9   0/1   Evicted   0   2h\n"


def test_rows_of_pods_are_read_without_a_head(tmp_path: Path) -> None:
    shown = "lab   hog-8   1/1   Running   3 (2h ago)   9h\n"
    (pod,) = seen_in(tmp_path, table=f"$ kubectl get pods -A | grep hog\n{shown}{ROW}")
    assert (pod["metadata"]["name"], pod["metadata"]["namespace"]) == ("hog-9", "lab")
    assert (pod["status"]["reason"], pod["spec"]["nodeName"]) == ("Evicted", "(unknown)")


def test_a_container_cannot_write_a_row_into_its_pod(tmp_path: Path) -> None:
    forged = DESCRIBED.replace("Reason:       Error\n", f"Reason:       Error\n      Message:  a\n{ROW}")
    assert forged != DESCRIBED
    pods = [each["metadata"]["name"] for each in seen_in(tmp_path, node=forged) if each.get("kind") == "Pod"]
    assert "hog-9" not in pods


def test_a_pod_of_a_table_has_the_node_that_another_text_names(tmp_path: Path) -> None:
    wide = "NAME    READY   STATUS    RESTARTS   AGE   IP       NODE   NOMINATED NODE   READINESS GATES\n"
    wide += "hog-9   0/1     Evicted   0          2h    <none>   n7     <none>           <none>\n"
    pods = [each for each in seen_in(tmp_path, narrow=ROW, wide=wide) if each["kind"] == "Pod"]
    assert {each["spec"]["nodeName"] for each in pods} == {"n7"}


def test_the_host_of_a_scheduler_is_not_the_node_of_its_pod(tmp_path: Path) -> None:
    event = {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": "e", "namespace": "lab"},
        "involvedObject": {"kind": "Pod", "namespace": "lab", "name": "hog-9", "uid": "u"},
        "type": "Warning",
        "reason": "FailedScheduling",
        "message": "0/1 nodes are available: 1 Insufficient cpu.",
        "source": {"component": "default-scheduler", "host": "master-0"},
        "lastTimestamp": "2026-11-21T04:00:00Z",
    }
    seen = seen_in(tmp_path, event=msgspec.json.encode(event).decode(), table=ROW)
    assert [each["spec"]["nodeName"] for each in seen if each.get("kind") == "Pod"] == ["(unknown)"]


KILLED = "NAME    READY   STATUS      RESTARTS   AGE\nhog-0   0/1     OOMKilled   {}          5m\n"


@pytest.mark.parametrize("order", [1, -1])
def test_an_eviction_and_the_kills_before_it_are_of_one_pod(order: int, tmp_path: Path) -> None:
    """The table of kills is the longer one. Of attempt 1 and 2 a status has the last state and the state."""
    tables = [KILLED.format(1), KILLED.format(2), POD_TABLE][::order]
    (pod,) = seen_in(tmp_path, **{f"t{number}": table for number, table in enumerate(tables)})
    assert (pod["status"]["phase"], pod["status"]["reason"]) == ("Failed", "Evicted")
    (container,) = pod["status"]["containerStatuses"]
    assert container["restartCount"] == 2
    killed = {"terminated": {"reason": "OOMKilled", "exitCode": None}}
    assert (container["state"], container["lastState"]) == (killed, killed)


def test_a_pod_that_was_refused_was_not_killed_before(tmp_path: Path) -> None:
    (pod,) = seen_in(tmp_path, a=KILLED.format(2), b=POD_TABLE.replace("Evicted", "OutOfcpu"))
    assert (pod["status"]["reason"], pod["status"].get("containerStatuses")) == ("OutOfcpu", None)


@pytest.mark.parametrize("order", [1, -1])
def test_a_table_with_readiness_takes_precedence_over_a_longer_one(order: int, tmp_path: Path) -> None:
    nodes = "NAME   STATUS     ROLES    AGE   VERSION\nn1     NotReady   <none>   5d    v1.20.0\n"
    taints = (
        "NAME   TAINTS\nn1     [map[effect:NoSchedule key:dedicated value:databases-of-the-payments-team]]" + " " * 9
    )
    taints += "\nn1     [map[effect:NoSchedule key:a value:" + "b" * 300 + "]]\n"
    tables = [nodes, taints][::order]
    (node,) = seen_in(tmp_path, **{f"t{number}": table for number, table in enumerate(tables)})
    assert node["status"]["conditions"] == [{"type": "Ready", "status": "False"}]
    assert node["spec"]["taints"]


KINDS = "LAST SEEN   TYPE      REASON    KIND   MESSAGE\n" + "".join(
    f"{age}          Warning   Evicted   Pod    The node was low on resource: memory.\n" for age in ("5m", "5m", "4m")
)


def test_equal_ends_in_one_table_are_of_as_many_pods_and_the_same_in_another_file(tmp_path: Path) -> None:
    """Equal Events about one pod are one Event with a count."""
    events = seen_in(tmp_path, a=KINDS, b=KINDS)
    assert len({each["involvedObject"]["uid"] for each in events}) == 3
    assert len(events) == 3
    (tmp_path / "b.txt").write_text(KINDS.replace("5m ", "9m ").replace("4m ", "8m "))
    assert len({each["involvedObject"]["uid"] for each in seen_in(tmp_path)}) == 3


@pytest.mark.parametrize("head", ["ObjectKind,KubeEventType,The Reason", "The ObjectKind,KubeEventType,Reason"])
def test_a_table_with_commas_that_lacks_a_column_of_kube_events_has_no_events(head: str) -> None:
    assert objects(f"{head},Name,LastSeen\nPod,Warning,Evicted,web-0,2026-07-31T14:40:00Z\n") == []


def test_a_status_below_a_field_that_comes_before_the_node_is_read_without_one() -> None:
    (pod,) = objects("Priority:  0\nReason:    Evicted\nMessage:   The node was low on resource: memory. \n")
    assert (pod["status"]["reason"], pod["spec"]["nodeName"]) == ("Evicted", "")


CHECKPOINT = '{"policyName":"static","defaultCpuSet":"0-2","entries":{},"checksum":2299645682}'


@pytest.mark.parametrize(
    ("typed", "node"),
    [
        ("docker exec -it kind-worker cat /x", "kind-worker"),
        ("docker exec -u root kind-worker cat /x", UNKNOWN_NAME),
        ("ssh worker-1\n$ sudo cat /x", "worker-1"),
        ("minikube ssh\n$ cat /x", UNKNOWN_NAME),
        ("kubectl exec -n a agent-x -- cat /x", UNKNOWN_NAME),
        ("kubectl debug node/worker-3 -it --image=busybox -- cat /x", "worker-3"),
        ("cat /x", "laptop"),
    ],
)
def test_a_checkpoint_is_of_the_machine_that_its_command_went_to(typed: str, node: str) -> None:
    assert split_mixed(f"me@laptop:~$ {typed}\n{CHECKPOINT}\n".encode()).nodes == [node]
