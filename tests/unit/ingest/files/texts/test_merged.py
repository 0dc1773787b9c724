"""Texts about one Node or pod: times decide which counts, never the order of texts (rules: pasted-text)."""

from collections.abc import Sequence
from itertools import permutations
from pathlib import Path
from typing import Any

import msgspec
import pytest

from ingest.files.lines import SourceError
from ingest.files.sources import Entry, read_sources
from ingest.model.observation import Observed

NODE = """Name:               n1
Roles:              <none>
CreationTimestamp:  Tue, 04 Mar 2025 07:00:00 +0000
Taints:             <none>
Unschedulable:      false
Conditions:
  Type   Status  LastHeartbeatTime                 LastTransitionTime                Reason  Message
  ----   ------  -----------------                 ------------------                ------  -------
  Ready  {0}   Tue, 04 Mar 2025 {1}:00:00 +0000   Tue, 04 Mar 2025 {2}:30:00 +0000   Kubelet  said
Capacity:
  cpu:  4
Allocatable:
  cpu:  4
Events:  <none>
"""
DOWN, UP = NODE.format("False", "10", "09"), NODE.format("True ", "11", "10")
ROW = "NAME   STATUS   ROLES    AGE    VERSION\nn1     {0}    <none>   {1}   v1.29.3\n"

UNCLEAR = "node n1 is Ready in one text and not in another, and no time shows which is later"


def read(path: Path, texts: Sequence[str]) -> tuple[list[dict[str, Any]], str]:
    """Return the objects of texts in one file, and what was said about them."""
    (path / "paste.txt").write_text("\n\n".join(texts))
    return read_files(path / "paste.txt")


def read_files(path: Path) -> tuple[list[dict[str, Any]], str]:
    entries, said = list[Entry](), ""
    try:
        entries.extend(read_sources([path]))
    except SourceError as error:
        said = str(error)
    seen = [each.observation.object for each in entries if isinstance(each, Observed) and not each.is_implied]
    return [msgspec.json.decode(each) for each in seen], said


def readiness(nodes: Sequence[dict[str, Any]]) -> list[str]:
    conditions = (each for node in nodes for each in node["status"]["conditions"])
    return [each["status"] for each in conditions if each["type"] == "Ready"]


def test_a_node_that_is_described_twice_has_two_versions(tmp_path: Path) -> None:
    for texts in permutations((DOWN, UP)):
        assert readiness(read(tmp_path, texts)[0]) == ["False", "True"]


@pytest.mark.parametrize(
    ("row", "states", "said"),
    [
        (ROW.format("NotReady", "3h  "), ["False"], ""),
        (ROW.format("Ready", "149m"), ["False"], ""),
        (ROW.format("Ready", "3h  "), ["False"], UNCLEAR),
        (ROW.format("Ready", "3h5m"), ["False", "True"], ""),
    ],
    ids=["the same", "before it went down", "in the hour of the description", "later"],
)
def test_a_table_that_contradicts_a_description_counts_by_its_age(
    tmp_path: Path, row: str, states: list[str], said: str
) -> None:
    """The Node was made at 07:00, was Ready until 09:30, and was described at 10:00."""
    for texts in permutations((DOWN, row)):
        found, words = read(tmp_path, texts)
        assert readiness(found) == states
        assert words.partition(": ")[2] == said


def test_a_table_shows_unknown_as_not_ready(tmp_path: Path) -> None:
    found, said = read(tmp_path, [NODE.format("Unknown", "10", "09"), ROW.format("NotReady", "3h  ")])
    assert (readiness(found), said) == (["Unknown"], "")


def test_tables_of_two_files_that_contradict_each_other_leave_readiness_unknown(tmp_path: Path) -> None:
    (tmp_path / "other.txt").write_text(ROW.format("NotReady", "5d"))
    (tmp_path / "paste.txt").write_text(ROW.format("Ready", "5d"))
    found, said = read_files(tmp_path)
    assert "node n1 is Ready in one text and not in another" in said
    assert readiness(found) == []


@pytest.mark.parametrize(
    ("rows", "states", "said"),
    [
        ([("NotReady", "5d2h"), ("Ready", "5d7h")], ["True"], ""),
        ([("Ready", "45h"), ("NotReady", "9d")], ["False"], ""),
        ([("Ready", "45h"), ("NotReady", "46h"), ("Ready", "9d")], ["True"], ""),
        ([("NotReady", "5d7h"), ("Ready", "5d7h")], [], UNCLEAR),
        ([("NotReady", "8d"), ("Ready", "7d23h"), ("Ready", "8d")], [], UNCLEAR),
        ([("NotReady", "5d7h"), ("Ready", "<unknown>")], [], UNCLEAR),
    ],
)
def test_the_age_of_a_node_orders_tables(
    tmp_path: Path, rows: list[tuple[str, str]], states: list[str], said: str
) -> None:
    """An age from 3 hours to 8 days is in hours, an older one in days: 8d and 8d can be a day apart."""
    for order in permutations(rows):
        for number, row in enumerate(order):
            (tmp_path / f"{number}.txt").write_text(ROW.format(*row))
        found, words = read_files(tmp_path)
        assert (readiness(found), words.partition(": ")[2]) == (states, said)


@pytest.mark.parametrize(
    ("rows", "states", "said"),
    [
        ([("NotReady", "2h")], ["True"], ""),
        ([("NotReady", "5h")], ["True", "False"], ""),
        ([("NotReady", "2h"), ("NotReady", "5h")], ["True", "False"], ""),
        ([("NotReady", "5h"), ("Ready", "6h")], ["True", "False", "True"], ""),
        ([("NotReady", "5h"), ("Ready", "5h")], ["True"], UNCLEAR),
        ([("NotReady", "5h"), ("NotReady", "200m")], ["True"], UNCLEAR),
    ],
)
def test_tables_around_a_description_are_versions_at_their_time(
    tmp_path: Path, rows: list[tuple[str, str]], states: list[str], said: str
) -> None:
    """The Node was made at 07:00, became Ready at 09:30, and was described at 11:00."""
    texts = [NODE.format("True ", "11", "09"), *(ROW.format(*row) for row in rows)]
    for order in permutations(texts):
        for number, text in enumerate(order):
            (tmp_path / f"{number}.txt").write_text(text)
        found, words = read_files(tmp_path)
        assert (readiness(found), words.partition(": ")[2]) == (states, said)
        assert all(each["metadata"]["creationTimestamp"] for each in found)


def test_a_table_after_a_description_dates_the_dump(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text(NODE.format("True ", "11", "09"))
    (tmp_path / "b.txt").write_text(ROW.format("NotReady", "5h"))
    times = [
        each.observation.ts for each in read_sources([tmp_path]) if isinstance(each, Observed) and not each.is_implied
    ]
    assert [f"{each:%H:%M}" for each in times] == ["11:00", "12:00"]


def test_heartbeats_are_compared_as_times(tmp_path: Path) -> None:
    """They have fractions of a second or an offset if another program printed them."""
    asked = "$ kubectl get node n1 -o json | jq '.status.conditions[]'\n"
    for beat in ("2025-03-04T11:00:00.5Z", "2025-03-04T16:40:00+05:30"):
        item = f'{{"type": "Ready", "status": "False", "lastHeartbeatTime": "{beat}"}}\n'
        for texts in permutations((UP, asked + item)):
            assert readiness(read(tmp_path, texts)[0]) == ["True", "False"]


PART = """kubectl describe po api-1 -n shop | grep -A 25 "^Containers"
Containers:
  api:
    State:          Waiting
      Reason:       CrashLoopBackOff
    Last State:     Terminated
      Reason:       OOMKilled
      Exit Code:    137
      Started:      Tue, 04 Mar 2025 09:50:00 +0000
      Finished:     Tue, 04 Mar 2025 09:55:00 +0000
    Restart Count:  7
"""


DESCRIBED = """Name:         api-1
Namespace:    shop
Labels:       app=api
Status:       {0}
Containers:
  api:
    Image:  api:1
QoS Class:    Burstable
Events:       <none>
"""


@pytest.mark.parametrize(("phase", "node"), [("Running", "(unknown)"), ("Pending", "")])
def test_a_described_pod_whose_node_was_left_out_is_a_pod(tmp_path: Path, phase: str, node: str) -> None:
    ((pod,), _) = read(tmp_path, [DESCRIBED.format(phase)])
    assert (pod["metadata"]["name"], pod["spec"]["nodeName"]) == ("api-1", node)


def test_a_container_with_a_state_is_on_a_node_even_if_no_text_names_it(tmp_path: Path) -> None:
    """Without a node, the pod would count as not scheduled."""
    ((pod,), _) = read(tmp_path, [PART])
    assert pod["spec"]["nodeName"] == "(unknown)"


def test_a_pod_whose_spec_was_cut_off_is_on_an_unknown_node(tmp_path: Path) -> None:
    """Only a kubelet sets the time of its start; a pod without that waits for a node."""
    head = "apiVersion: v1\nkind: Pod\nmetadata:\n  name: a\n  namespace: shop\n  uid: u\n"
    status = "# the spec is left out\nstatus:\n  phase: Running\n"
    ((pod,), _) = read(tmp_path, [f'{head}{status}  startTime: "2025-03-04T09:00:05Z"\n'])
    assert pod["spec"]["nodeName"] == "(unknown)"
    spec = "spec:\n  containers:\n  - name: c\n    env:\n    - name: nodeName\n      value: z\n    - nodeName: y\n"
    labels = "  annotations:\n    nodeName: x\n"
    ((pod,), _) = read(tmp_path, [f'{head}{labels}{spec}{status}  startTime: "2025-03-04T09:00:05Z"\n'])
    assert pod["spec"]["nodeName"] == "(unknown)"
    ((pod,), _) = read(tmp_path, [f"{head}{status.replace('Running', 'Pending')}"])
    assert "nodeName" not in pod.get("spec", {})


STATUS = """```yaml
status:
  containerStatuses:
  - name: api
    restartCount: 3
    lastState:
      terminated:
        exitCode: 137
        finishedAt: "2025-03-04T09:58:00Z"
        reason: OOMKilled
  phase: Running
  startTime: "2025-03-04T09:00:05Z"
```
"""


def test_a_status_without_its_pod_shows_an_oom_kill(tmp_path: Path) -> None:
    ((pod,), _) = read(tmp_path, [STATUS])
    ended = pod["status"]["containerStatuses"][0]["lastState"]["terminated"]
    assert (pod["metadata"]["name"], pod["spec"]["nodeName"], ended["reason"]) == (
        "(unknown)",
        "(unknown)",
        "OOMKilled",
    )


def _ends(pods: Sequence[dict[str, Any]]) -> list[tuple[str, int, str, int | None]]:
    containers = (each for pod in pods for each in pod["status"]["containerStatuses"])
    ended = ((each, each["lastState"]["terminated"]) for each in containers)
    return [(each["name"], each["restartCount"], end["reason"], end["exitCode"]) for each, end in ended]


@pytest.mark.parametrize(
    ("was", "now"),
    [
        ('startTime: "2025-03-04T09:00:05Z"', "startTime: '<redacted>'"),
        ('startTime: "2025-03-04T09:00:05Z"', "startTime: yesterday"),
        ('startTime: "2025-03-04T09:00:05Z"', "startTime: 5"),
        ('startTime: "2025-03-04T09:00:05Z"', 'startTime: "2025-02-30T09:00:05Z"'),
        ("phase: Running", "phase: Running\n  conditions: null"),
        ("phase: Running", "phase: Running\n  conditions: 5"),
        ("phase: Running", "phase: Running\n  conditions: [x]"),
        ("phase: Running", "phase: Running\n  conditions: [{type: [a], status: {b: c}}, {lastHeartbeatTime: 5}]"),
        ("phase: Running", "phase: Running\n  initContainerStatuses: null"),
        ("phase: Running", "phase: Running\n  initContainerStatuses: 7"),
        ("phase: Running", "phase: Running\n  initContainerStatuses: [7, {state: 5}]"),
        ("phase: Running", "phase: Running\n  reason: [a]\n  message: {b: c}\n  qosClass: 7"),
        ("phase: Running", "phase: [a]"),
        ('finishedAt: "2025-03-04T09:58:00Z"', "finishedAt: '<redacted>'"),
        ("lastState:", "state: '<redacted>'\n    lastState:"),
    ],
)
def test_a_status_with_a_value_of_another_form_shows_the_rest(tmp_path: Path, was: str, now: str) -> None:
    """Values are redacted, cut off and mistyped: none hides the kill, in one text or in two."""
    other = STATUS.replace(was, now)
    for texts in ([other], [other, other], *permutations((STATUS, other))):
        pods, said = read(tmp_path, texts)
        assert (_ends(pods), said) == ([("api", 3, "OOMKilled", 137)] * len(pods), "")
        assert pods


@pytest.mark.parametrize(
    ("was", "now", "end"),
    [
        ("    restartCount: 3\n", "", ("api", 0, "OOMKilled", 137)),
        ("restartCount: 3", "restartCount: '3'", ("api", 3, "OOMKilled", 137)),
        ("restartCount: 3", "restartCount: 99999999999", ("api", 0, "OOMKilled", 137)),
        ("        exitCode: 137\n", "", ("api", 3, "OOMKilled", None)),
        ("name: api\n    ", "", ("(unknown)", 3, "OOMKilled", 137)),
    ],
)
def test_a_status_pasted_twice_without_a_field_is_one_pod(
    tmp_path: Path, was: str, now: str, end: tuple[str, int, str, int | None]
) -> None:
    text = STATUS.replace(was, now)
    assert _ends(read(tmp_path, [text, text])[0]) == [end]
    assert _ends(read(tmp_path, [text])[0]) == [end]


@pytest.mark.parametrize(
    "text",
    [
        (
            "pod a -n shop -o custom-columns=NAME:.metadata.name,NODE:.spec.nodeName,REASON:.status.reason,"
            "START:.status.startTime\nNAME   NODE   REASON    START\na      n1     Evicted   2025-13-45T99:00:00Z"
        ),
        (
            "events -o custom-columns=NAME:.involvedObject.name,KIND:.involvedObject.kind,REASON:.reason,"
            "TIME:.eventTime\nNAME   KIND   REASON    TIME\na      Pod    Evicted   yesterday"
        ),
        (
            "node n1 -o json | jq '.status.conditions[]'\n"
            '{"type": "Ready", "status": "False", "lastHeartbeatTime": "2025-02-30T10:40:00Z"}'
        ),
        ('node n1 -o json | jq \'.status.conditions[]\'\n{"type": ["Ready"], "status": {"a": 5}}'),
        ('node n1 -o json | jq \'.spec\'\n{"unschedulable": [5], "taints": [{"key": ["a"], "effect": 7}]}'),
    ],
    ids=["start", "event", "heartbeat", "condition", "taint"],
)
def test_an_impossible_value_is_left_out(tmp_path: Path, text: str) -> None:
    assert len(read(tmp_path, [f"$ kubectl get {text}\n"])[0]) == 1


def test_a_condition_that_was_cut_off_is_reported(tmp_path: Path) -> None:
    item = '{"type": "DiskPressure", "status": "True", "lastHeartbeatTime": "2025-03-04T09:40:00Z"}\n'
    asked = "$ kubectl get node n1 -o json | jq '.status.conditions[]'\n"
    ((node,), said) = read(tmp_path, [f"{asked}{item}{item[:50]}"])
    assert [each["type"] for each in node["status"]["conditions"]] == ["DiskPressure"]
    assert "JSON that was cut off or shortened, of which only whole values are read" in said
    (found, said) = read(tmp_path, [f"{asked}{item[:50]}"])
    assert (found, "JSON that was cut off" in said) == ([], True)


@pytest.mark.parametrize(("count", "read_as"), [("3", 3), ("9" * 9, 999_999_999), ("9" * 5000, 2**31 - 1)])
def test_a_count_of_any_length_is_a_number(tmp_path: Path, count: str, read_as: int) -> None:
    """Kubernetes counts in 32 bits."""
    width = len(count) + 8
    head = f"LASTSEEN   FIRSTSEEN   {'COUNT':{width}}NAME      KIND  SUBOBJECT  TYPE     REASON   SOURCE"
    row = f"5m         5m          {count:{width}}api-1.17  Pod              Warning  Evicted  kubelet, n1"
    ((event,), _) = read(tmp_path, [f"{head}       MESSAGE\n{row}  The node was low on resource: memory.\n"])
    assert (event["reason"], event["count"]) == ("Evicted", read_as)


WIDE = (
    "LAST SEEN   TYPE      REASON    OBJECT      SUBOBJECT   SOURCE   MESSAGE   FIRST SEEN   COUNT   NAME\n"
    "12m   Warning   Evicted   pod/api-1   kubelet, worker-1   The node was low on resource: memory.   12m   1   "
    "api-1.17a0b1c2d3e4f5a6\n"
)


def test_a_row_that_lost_its_alignment_and_an_empty_cell_is_read_by_its_form(tmp_path: Path) -> None:
    ((event,), _) = read(tmp_path, [WIDE])
    assert (event["reason"], event["source"]["host"]) == ("Evicted", "worker-1")


def test_pods_that_lens_copies_are_a_table(tmp_path: Path) -> None:
    head = "Name\tNamespace\t\tContainers\tRestarts\tControlled By\tNode\tQoS\tAge\tStatus"
    ((pod,), _) = read(tmp_path, [f"{head}\napi-1\tshop\t\t\t0\tReplicaSet\tn1\tBurstable\t3d\tEvicted\n"])
    assert (pod["metadata"]["namespace"], pod["spec"]["nodeName"], pod["status"]["reason"]) == (
        "shop",
        "n1",
        "Evicted",
    )


def test_conditions_that_jq_selects_are_of_the_node_in_its_command(tmp_path: Path) -> None:
    """It prints the items of a list one after the other."""
    item = '{{"type": "{0}", "status": "{1}", "lastHeartbeatTime": "2025-03-04T09:40:00Z", "reason": "x"}}\n'
    printed = item.format("DiskPressure", "True") + item.format("Ready", "Unknown")
    for selected in ("", ' | select(.status!="False")'):
        asked = f"$ kubectl get node n1 -o json | jq '.status.conditions[]{selected}'\n"
        ((node,), _) = read(tmp_path, [asked + printed])
        assert node["metadata"]["name"] == "n1"
        assert [each["status"] for each in node["status"]["conditions"]] == ["True", "Unknown"]
