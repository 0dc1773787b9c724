"""Tables with custom columns, and Events that are described in words (rules: pasted-text)."""

from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingest.files.texts.ages import PrintTime
from ingest.files.texts.columns import parse_columns
from ingest.files.texts.described_events import event_of
from ingest.files.texts.fragments import Fragment, command_of

PRINTED = PrintTime(datetime(2026, 7, 1, 12, tzinfo=UTC), "latest")


def objects(args: str, table: str) -> list[dict[str, Any]]:
    return list(parse_columns(Fragment(command_of(args), table.splitlines(), 0), PRINTED))


@pytest.mark.parametrize(
    ("taints", "ready"),
    [
        ("<none>", ""),
        ("[map[effect:NoSchedule key:node.kubernetes.io/not-ready]]", "False"),
        ("[map[effect:NoExecute key:node.kubernetes.io/unreachable timeAdded:2024-05-06T09:58:00Z]]", "Unknown"),
    ],
)
def test_taints_show_that_a_node_is_not_ready_and_none_shows_nothing(taints: str, ready: str) -> None:
    (node,) = objects("get nodes", f"NAME   TAINTS\nn1     {taints}\n")
    assert node["status"]["conditions"] == ([{"type": "Ready", "status": ready}] if ready else [])
    assert len(node["spec"]["taints"]) == (taints != "<none>")


def test_heads_in_lower_case_are_read_as_those_in_upper_case() -> None:
    """kubectl prints heads as a person typed them."""
    (node,) = objects("get nodes", "name   taints\nn1     <none>\n")
    assert node["metadata"]["name"] == "n1"


def test_nodes_are_read_without_a_column_that_shows_whether_they_are_ready() -> None:
    args = "get nodes -o custom-columns=NAME:.metadata.name,CORDONED:.spec.unschedulable"
    (node,) = objects(args, "NAME   CORDONED\nn1     true\n")
    assert (node["spec"]["unschedulable"], node["status"]["conditions"]) == (True, [])


def test_the_command_names_columns_that_their_heads_do_not() -> None:
    args = "get po -n shop -o custom-columns=a:.metadata.name,why:.status.reason,where:.spec.nodeName"
    (pod,) = objects(args, "a      why       where\nweb-0  Evicted   n1\nweb-1  <none>    n1\n")
    assert (pod["metadata"]["uid"], pod["spec"]["nodeName"]) == ("shop/web-0", "n1")
    assert objects("get po -n shop", "a      why       where\nweb-0  Evicted   n1\n") == []


def test_short_heads_are_those_of_the_same_columns() -> None:
    (event,) = objects("get ev", "NS     KIND   NAME    REASON    MSG\nshop   Pod    web-0   Evicted   x\n")
    assert (event["message"], event["involvedObject"]["namespace"]) == ("x", "shop")


def test_a_time_in_a_column_is_that_of_the_event() -> None:
    table = "LAST                   KIND   NAME    REASON    MESSAGE\n{}   Pod    web-0   Evicted   x\n"
    (known,), (unknown,) = (objects("get ev", table.format(at)) for at in ("2024-05-06T09:58:09Z", "<none>"))
    assert (known["lastTimestamp"], "latest" in known) == ("2024-05-06T09:58:09Z", False)
    assert (unknown["lastTimestamp"], unknown["latest"]) == ("2026-07-01T12:00:00Z",) * 2


DESCRIBED = """Name:             web-0.17
Namespace:        shop
API Version:      v1
Count:            <none>
Event Time:       2024-05-06T09:58:09.000000Z
Involved Object:
  API Version:  v1
  Kind:         Pod
  Name:         web-0
  Namespace:    shop
Kind:             Event
Message:          a: b
Reason:           Evicted
Reporting Component:  kubelet
Type:             Warning
"""


def test_an_event_that_is_described_in_words_is_one() -> None:
    event = event_of(DESCRIBED.splitlines())
    assert event is not None
    assert event["involvedObject"] | {"apiVersion": ""} == {
        "kind": "Pod",
        "namespace": "shop",
        "name": "web-0",
        "uid": "shop/web-0",
        "apiVersion": "",
    }
    assert (event["reason"], event["message"], event["count"]) == ("Evicted", "a: b", 1)
    assert (event["lastTimestamp"], event["source"]["component"]) == ("2024-05-06T09:58:09.000000Z", "kubelet")


@given(st.permutations(DESCRIBED.splitlines()), st.integers(0, 16))
def test_cut_and_shuffled_words_never_raise(lines: list[str], end: int) -> None:
    event = event_of(lines[:end])
    assert event is None or event["involvedObject"]["name"]


@pytest.mark.parametrize(
    "row",
    [
        "mysql   node-1   Evicted   {}",
        "worker-1   shop   web-7c9d8f6b54-x2k9p   Evicted   {}",
        "web-7c9d8f6b54-x2k9p   10.1.2.3   worker-2   Evicted   {}",
        "2024-05-06T09:58:04Z   Evicted   {}   Pod   web-0   worker-1",
        "2024-05-06T09:58:04Z   Warning   Evicted   Pod   shop   web-0   {}",
        "NAME   TOLERATIONS\nweb-7c9d8f6b54-x2k9p   [map[effect:NoExecute key:a]]",
        "web-7c9d8f6b54-x2k9p   [map[effect:NoExecute key:a operator:Exists]]",
        "web   map[app:web tier:front]",
    ],
)
def test_cells_that_may_be_several_things_are_not_read_without_a_head(row: str) -> None:
    assert objects("", row.format("The node was low on resource: memory. ")) == []


def test_a_name_without_any_that_competes_is_that_of_the_pod() -> None:
    (pod,) = objects("", "web-7c9d8f6b54-x2k9p   Evicted   The node was low on resource: memory. ")
    assert (pod["metadata"]["name"], pod["spec"]["nodeName"]) == ("web-7c9d8f6b54-x2k9p", "")


@pytest.mark.parametrize("cell", ["dedicated", "<none>"])
def test_keys_of_taints_do_not_tell_all_taints(cell: str) -> None:
    args = "get nodes -o custom-columns=NAME:.metadata.name,TAINTS:.spec.taints[*].key"
    (node,) = objects(args, f"NAME   TAINTS\nn1     {cell}\n")
    assert node["spec"] == {}


def test_a_reason_of_one_of_two_containers_is_of_neither_for_certain() -> None:
    of = ".status.containerStatuses[*]"
    args = f"get pods -o custom-columns=NAME:.metadata.name,C:{of}.name,LAST:{of}.lastState.terminated.reason"
    assert objects(args, "NAME   C     LAST\nweb-0  a,b   OOMKilled\n") == []


def test_rows_end_at_a_prompt_and_those_of_node_pools_are_no_nodes() -> None:
    columns = "-o custom-columns=NAME:.metadata.name,TAINTS:.spec.taints"
    table = "NAME   TAINTS\nn1     <none>\n$ df -h\ntmpfs  1.6G\n"
    assert [each["metadata"]["name"] for each in objects(f"get nodes {columns}", table)] == ["n1"]
    assert objects(f"get nodepools {columns}", table) == []


@pytest.mark.parametrize(
    ("columns", "head"),
    [
        (":metadata.namespace,:metadata.name,:spec.nodeName,:status.reason", ""),
        (
            ":.metadata.namespace,NAME:.metadata.name,:.spec.nodeName,REASON:.status.reason",
            "       NAME             REASON",
        ),
    ],
    ids=["no head", "some heads"],
)
def test_columns_without_a_head_are_those_of_the_command(columns: str, head: str) -> None:
    rows = f"{head}\nshop   web-1   node-1   Evicted\nshop   web-2   node-1   <none>\n"
    (pod,) = objects(f"get pods -A -o custom-columns={columns}", rows)
    assert (pod["metadata"]["namespace"], pod["metadata"]["name"]) == ("shop", "web-1")
    assert (pod["spec"]["nodeName"], pod["status"]["reason"]) == ("node-1", "Evicted")
