"""Small hostile files are refused in a time that grows with their size."""

import json
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from ingest.files.history import Fact
from ingest.files.lines import SourceError
from ingest.files.recognize import Thing
from ingest.files.sniff import kind_of
from ingest.files.sources import read_sources
from ingest.files.texts.ages import PrintTime
from ingest.files.texts.contexts import selected_lines
from ingest.files.texts.exported import IS_EXPORTED
from ingest.files.texts.fragments import Command, Fragment, split_prompts
from ingest.files.texts.logs import Logs
from ingest.files.texts.mixed import split_mixed
from ingest.files.texts.pasted import pasted_parts
from ingest.files.texts.tables import parse_tables
from ingest.files.unread import left_out
from ingest.files.yaml_documents import yaml_parts
from ingest.model.observation import Position
from ingest.resources.events import EVENTS
from ingest.resources.nodes import NODES

pytestmark = pytest.mark.costly

AT = datetime(2026, 11, 26, 10, tzinfo=UTC)


@pytest.mark.parametrize("line", ["\n", " \n", "\r\n", "\t\n \n", "# \n", "Warning: x\n", "---\n"])
def test_blank_lines_before_nothing_known_do_not_make_a_search_endless(line: str) -> None:
    """Each blank line once doubled the time, so that thirty took minutes."""
    head = (line * 5000 + "x").encode()
    began = time.process_time()
    assert kind_of(head) is None
    assert time.process_time() - began < 5


@pytest.mark.parametrize("line", ["\n", "x\n", "$ kubectl get po -n a\n", "```\n", "NAME NODE STATUS\n\n"])
def test_what_is_beside_a_table_is_looked_for_in_a_time_that_grows_with_the_text(line: str) -> None:
    data = ("NAME   READY   STATUS   RESTARTS\n" + line * 25_000).encode()
    began = time.process_time()
    assert list(left_out(data)) == []
    assert list(pasted_parts(data, None, AT)) == []
    assert time.process_time() - began < 5


@pytest.mark.parametrize(
    "text", ["\n" * 60_000 + "a\n" * 60_000, f"{'x' * 20_000}\n" * 20 + "a\n" * 60_000, " " * 60_000 + "x"]
)
def test_objects_in_a_text_are_looked_for_in_a_time_that_grows_with_it(text: str) -> None:
    began = time.process_time()
    assert split_mixed(text.encode()).objects == []
    assert time.process_time() - began < 5


def test_a_head_with_commas_is_looked_at_in_a_time_that_grows_with_its_length() -> None:
    head = b"ObjectKind,KubeEventType" + b"," * 200_000
    began = time.process_time()
    assert IS_EXPORTED.search(head) is None
    assert time.process_time() - began < 5


@pytest.mark.parametrize(
    "text",
    [
        "".join(f"u{number}@h:~$ kubectl\n" for number in range(5_000)),
        "kubectl get no\n" + "a" * 100_000,
        "kubectl get no\n" + "a@" * 50_000,
        "kubectl get no\n." + "a@b:~" * 20_000,
        "kubectl get no\n" + "}$ cat " * 15_000,
        "oc " + "x@y:~$ oc get " * 7_000,
    ],
    ids=["many hosts", "a word", "at signs", "names", "prompts", "commands"],
)
def test_prompts_behind_output_are_looked_for_in_a_time_that_grows_with_the_text(text: str) -> None:
    began = time.process_time()
    split_prompts(text)
    assert time.process_time() - began < 5


@pytest.mark.parametrize(
    "line",
    [
        "$ oc login " + "https://a " * 10_000,
        "$ " * 50 + "aws eks " + "update-kubeconfig " * 5_000,
        "$ for " + "do " * 30_000,
        "a" * 100_000 + " --context ",
        "(|" * 50_000,
        "$ kubectl " + "--context " * 10_000,
        "$ az aks get-credentials " + "-n " * 30_000,
    ],
)
def test_contexts_are_looked_for_in_a_time_that_grows_with_the_text(line: str) -> None:
    began = time.process_time()
    selected_lines(f"$ kubectl --context a get no\n{line}\n".encode())
    assert time.process_time() - began < 5


def test_a_text_that_names_very_many_clusters_is_refused_at_once(tmp_path: Path) -> None:
    """To read it once for each cluster takes a time that grows with the square of its length."""
    text = "".join(
        f"$ kubectl --context c{number} get no\nn1  Ready  <none>  3d  v1.29.3\n" for number in range(2_000)
    )
    (tmp_path / "paste.txt").write_text(text)
    began = time.process_time()
    with pytest.raises(SourceError, match="commands for more than 32 clusters; save each"):
        list(read_sources([tmp_path / "paste.txt"]))
    assert time.process_time() - began < 5


def test_a_number_of_base_60_is_text_as_in_kubernetes() -> None:
    """To compute it would take a time that grows with the square of its length."""
    digits = ":".join(["59"] * 20_000)
    began = time.process_time()
    (part,) = yaml_parts(f"apiVersion: v1\nkind: Node\nmetadata: {{name: n, generation: {digits}}}\n".encode())
    assert f'"{digits}"'.encode() in part.raw
    assert time.process_time() - began < 5


def test_a_table_of_many_columns_does_not_make_each_line_long() -> None:
    """A file of 300 KB once took minutes."""
    head = "NAME   READY   STATUS   RESTARTS   " + "A  " * 10_000
    table = "NAME   READY   STATUS   RESTARTS\np   0/1   Evicted   0\n"
    began = time.process_time()
    lines = [head, "x" * 9, *["x"] * 10_000, *table.splitlines()]
    found = list(parse_tables(Fragment(Command(), lines, 0), PrintTime(AT, "")))
    assert [each["metadata"]["name"] for each in found] == ["p"]
    assert time.process_time() - began < 5


def _fact(resource: str, value: object, identity: tuple[str, ...] = ()) -> Fact:
    return Fact(
        Thing("list", resource, "ADDED", json.dumps(value).encode(), identity=identity), "", None, Position("d", "1")
    )


def _met(number: int) -> Fact:
    stamp = (AT - timedelta(seconds=number)).isoformat()
    event = {"metadata": {"name": f"e{number}"}, "reason": "EvictionThresholdMet", "lastTimestamp": stamp, "count": 1}
    return _fact(EVENTS.name, event | {"involvedObject": {"kind": "Node", "name": "h1"}})


def _log(tmp_path: Path, hosts: list[str], known: list[Fact]) -> list[Fact]:
    said = '"Eviction manager: attempting to reclaim" resourceName="memory"'
    clock = "I1126 10:00:00.000000 1 eviction_manager.go:1]"
    logs = Logs()
    logs.add(
        tmp_path / "log",
        "".join(f"Nov 26 10:00:00 {host} kubelet[1]: {clock} {said}\n" for host in hosts).encode(),
    )
    return list(logs.facts(known, AT, lambda _, host: host, is_dated=True))


def test_lines_and_events_that_are_all_about_the_same_are_not_compared_each_with_each(tmp_path: Path) -> None:
    began = time.process_time()
    found = _log(tmp_path, ["h1"] * 4_000, [_met(number) for number in range(4_000)])
    assert [json.loads(fact.thing.raw)["told"] for fact in found] == [True] * 4_000
    assert time.process_time() - began < 5


def test_a_log_of_many_machines_is_not_compared_with_each_node_and_event(tmp_path: Path) -> None:
    nodes = [_fact(NODES.name, {}, (NODES.name, "", f"n{number}.example", "")) for number in range(8_000)]
    began = time.process_time()
    found = _log(tmp_path, [f"n{number}" for number in range(8_000)], [*nodes, *map(_met, range(8_000))])
    assert {fact.node for fact in found} == {f"n{number}.example" for number in range(8_000)}
    assert time.process_time() - began < 10


@pytest.mark.parametrize(
    "text",
    [
        "".join(f"u{number}@h:~$ kubectl get no --context c{number}\n" for number in range(20_000)),
        "kubectl " + "x.ops@bastion:~$ kubectl get no --context c " * 20_000,
        "kubectl\n" + '"x.ops@bastion:~$ kubectl get no' * 20_000,
        "kubectl " + "a" * 500_000 + "@h:~$ x",
        "for x in kubectl --context a\n" * 20_000,
        "$ kubectl --context a \\\n" * 20_000,
        "kind: x\n" + "#\n\n" * 100_000 + " x\n$ kubectl --context a get no\n",
        "$ kubectl --context a get no;" * 20_000,
    ],
)
def test_prompts_and_contexts_are_looked_for_in_a_time_that_grows_with_the_text(text: str) -> None:
    """A pass for each name of a prompt once made this quadratic."""
    began = time.process_time()
    split_prompts(text)
    selected_lines(text.encode())
    assert time.process_time() - began < 10
