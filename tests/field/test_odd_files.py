"""Files as people hand them over: the same objects in whatever form, and what is not read named for what it is."""

import bz2
import gzip
import io
import json
import lzma
import tarfile
import textwrap
import zipfile
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import yaml

from ingest.files.documents import Bad, Found, json_parts
from ingest.files.lines import SourceError
from ingest.files.sources import read_sources
from ingest.files.texts.tables import LACKING
from ingest.model.observation import Observed, Unreadable
from leadsman.cli.piped import on_disk
from paths import TESTS

WHOLE = TESTS / "field/cases/13-oke-nodes-named-by-ip/b/dump.json"
ITEMS: list[dict[str, Any]] = json.loads(WHOLE.read_text())["items"]
TEXT = json.dumps({"apiVersion": "v1", "kind": "List", "items": ITEMS}, indent=4) + "\n"
ALL = Counter({"nodes": 4, "pods": 13, "events": 10})
LOG = (
    "==== START logs for container hive of pod hive/hive-0 ====\n"
    '{"level":"info"}\n{ no json\n{"kind": "Pod", "apiVersion": "v1", "metadata": {"name": "fake"}}\n'
    "==== END logs for container hive of pod hive/hive-0 ====\n"
)


def listed(kind: str) -> str:
    items = [each for each in ITEMS if each["kind"] == kind]
    return json.dumps({"apiVersion": "v1", "kind": f"{kind}List", "items": items}, indent=4) + "\n"


def tar(mode: str) -> bytes:
    held = io.BytesIO()
    with tarfile.open(fileobj=held, mode=mode) as archive:  # type: ignore[call-overload]
        for name, text in (("i/nodes", listed("Node")), ("i/pods", listed("Pod")), ("i/e", listed("Event"))):
            info = tarfile.TarInfo(name)
            info.size = len(text)
            archive.addfile(info, io.BytesIO(text.encode()))
    return held.getvalue()


def zipped() -> bytes:
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w") as archive:
        for kind in ("Node", "Pod", "Event"):
            archive.writestr(f"incident/{kind}", listed(kind))
        archive.writestr("../outside.json", TEXT)
    return held.getvalue()


def read(path: Path) -> tuple[Counter[str], list[Unreadable], str, Counter[str]]:
    found: list[Observed | Unreadable] = []
    skipped: Counter[str] = Counter()
    refused = ""
    with on_disk([path]) as paths:
        try:
            for each in read_sources(paths, skipped=skipped):
                found.append(each)  # noqa: PERF402 - what came before the error counts
        except SourceError as error:
            refused = str(error)
    seen = Counter(each.observation.resource for each in found if isinstance(each, Observed) and not each.is_implied)
    return seen, [each for each in found if isinstance(each, Unreadable)], refused, skipped


FORMS: dict[str, bytes] = {
    "dump.json": TEXT.encode(),
    "without-extension": TEXT.encode(),
    "utf-16.json": TEXT.encode("utf-16-le"),
    "utf-16-be.json": TEXT.encode("utf-16-be"),
    "commas.json": TEXT.replace("}\n    ]\n}", "},\n    ],\n}").encode(),
    "dump.txt": TEXT.encode(),
    "array.json": json.dumps(ITEMS).encode(),
    "lines.ndjson": "\n".join(map(json.dumps, ITEMS)).encode(),
    "stream.json": "\n".join(json.dumps(each, indent=2) for each in ITEMS).encode(),
    "crlf-bom.json": b"\xef\xbb\xbf" + TEXT.replace("\n", "\r\n").encode(),
    "powershell.json": TEXT.replace("\n", "\r\n").encode("utf-16"),
    "warned.json": b"Warning: v1 ComponentStatus is deprecated in v1.19+\n" + TEXT.encode(),
    "noted.json": b'E0126 10:00:00.000001  123 memcache.go:265] "Unhandled Error" err="no metrics"\n' + TEXT.encode(),
    "terminal.txt": f"me@host:~$ kubectl get nodes,pods,events -A -o json\n{TEXT}me@host:~$ exit\n".encode(),
    "ticket.markdown": f"```json\n{TEXT}```\n".encode(),
    "ticket-of-prose.markdown": f"It is down.\n\n```json\n{TEXT}```\n\nWhat happened?\n".encode(),
    "session.txt": "".join(
        f"$ oc get {kind} -A -o yaml\n{yaml.safe_dump(json.loads(listed(kind)))}$ oc get svc\nNAME   TYPE\n"
        for kind in ("Node", "Pod", "Event")
    ).encode(),
    "ticket-of-yaml.markdown": b"".join(
        b"```yaml\n" + yaml.safe_dump(each).encode() + b"```\n\nand\n" for each in ITEMS
    ),
    "terminal-of-yaml.txt": f"me@host:~$ oc get events -A -o yaml\n{yaml.safe_dump(json.loads(TEXT))}".encode(),
    "coloured.json": "".join(f"\x1b[1;34m{line}\x1b[0m\n" for line in TEXT.splitlines()).encode(),
    "separated.json": "\n---\n".join(map(json.dumps, ITEMS)).encode(),
    "quoted-in-a-letter.txt": ("Hello,\n\n> " + TEXT.replace("\n", "\n> ") + "\nBye\n").encode(),
    "of-a-patch.txt": ("--- /dev/null\n+++ b/dump.json\n+" + TEXT.replace("\n", "\n+")).encode(),
    "numbered.txt": "".join(f"{n:6}\t{each}\n" for n, each in enumerate(TEXT.splitlines(), 1)).encode(),
    "encoded-twice.json": json.dumps(TEXT).encode(),
    "one-line.json": "".join(map(json.dumps, ITEMS)).encode(),
    "lists.json": f"[{listed('Node')},{listed('Pod')},{listed('Event')}]".encode(),
    "list-of-lists.json": json.dumps(
        {"kind": "List", "apiVersion": "v1", "items": [json.loads(listed(kind)) for kind in ("Node", "Pod", "Event")]}
    ).encode(),
    "by-name.json": json.dumps({f"{kind}s": json.loads(listed(kind)) for kind in ("Node", "Pod", "Event")}).encode(),
    "search.jsonl": "\n".join(json.dumps({"_index": "k8s", "_source": each}) for each in ITEMS).encode(),
    "container.log": "\n".join(
        json.dumps({"log": f"{json.dumps(each)}\n", "stream": "stdout"}) for each in ITEMS
    ).encode(),
    "list.yaml": yaml.safe_dump({"apiVersion": "v1", "kind": "List", "items": ITEMS}).encode(),
    "items.yaml": yaml.safe_dump(ITEMS).encode(),
    "indented-items.yaml": textwrap.indent(yaml.safe_dump(ITEMS), "  ").encode(),
    "crlf.yaml": yaml.safe_dump({"apiVersion": "v1", "kind": "List", "items": ITEMS}).replace("\n", "\r\n").encode(),
    "documents.yaml": b"# saved from prod\n" + yaml.safe_dump_all(ITEMS, explicit_start=True).encode(),
    "cluster-info-dump.txt": (listed("Node") + listed("Event") + LOG + listed("Pod") + LOG).encode(),
    "dump.json.gz": gzip.compress(TEXT.encode()),
    "dump.tar": tar("w"),
    "dump.tgz": tar("w:gz"),
    "dump.tar.bz2": bz2.compress(tar("w")),
    "dump.tar.xz": lzma.compress(tar("w")),
    "dump.zip": zipped(),
}


@pytest.mark.parametrize("name", FORMS)
def test_the_same_objects_are_read_in_whatever_form(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_bytes(FORMS[name])
    assert read(tmp_path / name) == (ALL, [], "", Counter())


def test_what_kubectl_could_not_get_is_reported_beside_what_it_got(tmp_path: Path) -> None:
    file = tmp_path / "mixed.json"
    file.write_text(f"{TEXT}Error from server (Forbidden): events is forbidden\n")
    found, [bad], refused, _ = read(file)
    assert (found, refused) == (ALL, "")
    assert "Error from server (Forbidden): events is forbidden" in bad.reason


EVENT = {
    "reason": "Evicted",
    "involvedObject": {"kind": "Pod", "name": "a", "namespace": "n", "uid": "u"},
    "source": {"component": "kubelet", "host": "n1"},
    "firstTimestamp": "2026-07-31T14:40:00Z",
    "lastTimestamp": "2026-07-31T14:40:00Z",
    "count": 1,
}


LINE = json.dumps(EVENT | {"metadata": {"name": "e", "namespace": "n"}, "message": "m"})


def any_value(value: Any) -> dict[str, Any]:
    """A value as OpenTelemetry writes it in JSON, whole numbers as digits."""
    match value:
        case dict():
            return {"kvlistValue": {"values": [{"key": k, "value": any_value(v)} for k, v in value.items()]}}
        case list():
            return {"arrayValue": {"values": [any_value(each) for each in value]}}
        case int():
            return {"intValue": str(value)}
        case None:
            return {}
        case _:
            return {"stringValue": value}


def otlp(body: Any, of_record: dict[str, Any] | None = None, of_resource: dict[str, Any] | None = None) -> str:
    """A line of a collector's file exporter."""
    attributes, resource = (any_value(each or {})["kvlistValue"]["values"] for each in (of_record, of_resource))
    record = {
        "timeUnixNano": "1785508800123456789",
        "severityText": "Warning",
        "body": any_value(body),
        "attributes": attributes,
    }
    scopes = [{"scope": {}, "logRecords": [record]}]
    return json.dumps({"resourceLogs": [{"resource": {"attributes": resource}, "scopeLogs": scopes}]}) + "\n"


TAKEN_APART = otlp(
    "The node was low on resource: memory. ",
    {
        "k8s.event.reason": "Evicted",
        "k8s.event.start_time": "2026-07-31 14:39:00 +0000 UTC",
        "k8s.event.name": "a.1",
        "k8s.event.uid": "e1",
        "k8s.namespace.name": "n",
        "k8s.event.count": 2,
    },
    {"k8s.node.name": "n1", "k8s.object.kind": "Pod", "k8s.object.name": "a", "k8s.object.uid": "u"},
)
LOGGED = json.loads(LINE) | {"kind": "Event", "apiVersion": "v1", "eventTime": None}
STORES: dict[str, str] = {
    "opentelemetry-k8sobjects-watch": otlp({"type": "ADDED", "object": LOGGED}),
    "opentelemetry-k8sobjects-pull": otlp(LOGGED),
    "opentelemetry-k8s-events": TAKEN_APART,
    "opentelemetry-beside-others": otlp("a line of a container") + otlp(3) + otlp(LOGGED),
    "elasticsearch": json.dumps(
        {"took": 3, "hits": {"total": 1, "hits": [{"_id": "1", "_source": json.loads(LINE)}]}}
    ),
    "cloudwatch": json.dumps({"events": [{"timestamp": 1, "message": LINE}], "searchedLogStreams": []}),
    "cloudwatch-insights": json.dumps([{"@message": json.dumps({"log": LINE, "stream": "stdout"})}]),
    "loki": json.dumps({"data": {"resultType": "streams", "result": [{"stream": {}, "values": [["1", LINE]]}]}}),
    "google": json.dumps([{"insertId": "a", "jsonPayload": json.loads(LINE), "logName": "projects/p/logs/events"}]),
    "splunk": json.dumps({"preview": False, "result": {"_raw": LINE}}),
    "runtime": f"2026-07-31T14:40:00.1Z stdout F {LINE}\n2026-07-31T14:40:00.2Z stderr F ready\n",
    "text": f"starting the exporter\n{LINE}\n",
    "prefix": f"[pod/monitoring/event-exporter-1/exporter] {LINE}\n",
    "timestamps": f"2026-07-31T14:40:00.123456789Z {LINE}\n",
}


@pytest.mark.parametrize("store", STORES)
def test_events_are_found_in_what_stores_of_logs_answer(tmp_path: Path, store: str) -> None:
    (tmp_path / "answer").write_text(STORES[store])
    found, _, refused, _ = read(tmp_path / "answer")
    assert (found, refused) == (Counter(events=1), "")


def test_an_event_that_a_collector_took_apart_is_whole_again(tmp_path: Path) -> None:
    """1785508800 is 2026-07-31T14:40:00Z."""
    (tmp_path / "otel.json").write_text(TAKEN_APART)
    (observed,) = (each.observation for each in read_sources([tmp_path]) if isinstance(each, Observed))
    assert observed.ts == datetime(2026, 7, 31, 14, 40, tzinfo=UTC)
    assert json.loads(bytes(observed.object)) == {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": "a.1", "namespace": "n", "uid": "e1", "creationTimestamp": "2026-07-31T14:39:00Z"},
        "involvedObject": {"kind": "Pod", "namespace": "n", "name": "a", "uid": "u"},
        "reason": "Evicted",
        "message": "The node was low on resource: memory. ",
        "type": "Warning",
        "source": {"component": "", "host": "n1"},
        "lastTimestamp": "2026-07-31T14:40:00Z",
        "count": 2,
    }


DEEP: dict[str, Any] = {}
for _ in range(100):
    DEEP = {"kvlistValue": {"values": [{"key": "a", "value": DEEP}]}}


@pytest.mark.parametrize(
    "logs",
    [
        3,
        [3],
        [{"scopeLogs": [{"logRecords": [{"body": {"kvlistValue": {"values": [3, {"key": 4}]}}}]}]}],
        [{"scopeLogs": [{"logRecords": [{"body": {"kvlistValue": 3}, "timeUnixNano": "9" * 40}]}]}],
        [{"scopeLogs": [{"logRecords": [{"body": DEEP}]}]}],
        [{"resource": {"attributes": [{"key": "k8s.object.kind", "value": {"stringValue": {}}}]}}],
    ],
)
def test_logs_of_opentelemetry_without_an_object_are_named(tmp_path: Path, logs: Any) -> None:
    (tmp_path / "otel.json").write_text(json.dumps({"resourceLogs": logs}))
    found, _, refused, _ = read(tmp_path / "otel.json")
    assert not found
    assert "holds nothing that Leadsman reads" in refused


def test_an_item_that_a_person_shortened_costs_itself_alone(tmp_path: Path) -> None:
    (tmp_path / "dump.json").write_text(TEXT.replace('"kind": "Pod"', '"kind": "Pod",\n ...', 1))
    found, [bad], _, _ = read(tmp_path / "dump.json")
    assert (found, bad.error_type) == (ALL - Counter(pods=1), "not_json")


def test_objects_deep_in_json_of_something_else_are_not_taken_for_those_of_a_cluster(tmp_path: Path) -> None:
    """A kind alone makes no object: dashboards and charts have kinds too."""
    (tmp_path / "x.json").write_text(json.dumps({"a": {"b": [{"kind": "Pod", "name": "x"}]}}))
    found, _, refused, _ = read(tmp_path / "x.json")
    assert not found
    assert "JSON without a kind" in refused


@pytest.mark.parametrize(
    "event",
    [
        EVENT | {"metadata": {"name": "e", "namespace": "n"}, "message": "m", "clusterName": "prod"},
        EVENT | {"eventMessage": "m", "eventNamespace": "n"},
    ],
    ids=["event-exporter", "loki"],
)
def test_events_of_exporters_are_events(tmp_path: Path, event: dict[str, Any]) -> None:
    (tmp_path / "events.jsonl").write_text(json.dumps(event) + "\n")
    assert read(tmp_path / "events.jsonl")[:3] == (Counter(events=1), [], "")


UNREAD: dict[str, tuple[str, str]] = {
    "agent.log": (
        'name=a kind=Pod action= objectAPIversion=v1 objectRV=1 reason=Evicted msg="m"\n',
        "Events as logfmt",
    ),
    "describe.txt": ("Name:         web\nReplicas:     1 desired | 1 updated\n", "text of kubectl describe"),
    "events.txt": (
        "NAMESPACE       LAST SEEN   TYPE      REASON\na   3m43s   Warning   Evicted\n",
        "a table of kubectl",
    ),
    "kubelet.log": ('I0106 12:43:37.138045   26615 util.go:30] "No sandbox"\n', "neither a kubelet's log nor"),
    "journal.txt": (
        "janv. 06 12:43:37 n1 kubelet[26615]: I0106 12:43:37.1 26615 util.go:30] x\n",
        "a kubelet's journal",
    ),
    "node-exporter.prom": (
        "# HELP node_load1 x\n# TYPE node_load1 gauge\nnode_load1 1\n",
        "metrics of an exporter other than",
    ),
    "top.txt": (
        "NAME   CPU(cores)   CPU%   MEMORY(bytes)   MEMORY%\nn1   100m   5%   9Mi   4%\n",
        "a table of kubectl top",
    ),
    "events-of-pod.txt": (
        "Events:\n  Type     Reason   Age   From     Message\n  ----     ------   ---   ----     -------\n",
        "text of kubectl describe",
    ),
    "cadvisor.txt": (
        "# HELP cadvisor_version_info A metric\n# TYPE cadvisor_version_info gauge\ncadvisor_version_info 1\n",
        "a kubelet's /metrics/cadvisor",
    ),
    "resource.txt": (
        "# HELP node_cpu_usage_seconds_total [STABLE] x\nnode_cpu_usage_seconds_total 1 1\n",
        "a kubelet's /metrics/resource",
    ),
    "ksm.txt": ('kube_pod_status_reason{pod="a"} 1\n', "metrics of kube-state-metrics"),
    "unreachable.txt": (
        'E0501 10:00:00.000000   12345 memcache.go:265] couldn\'t get current server API group list: Get "x"\n',
        "kubectl's error instead of objects",
    ),
    "red.log": (
        '\x1b[31mI0106 12:43:37.138045   26615 util.go:30] "No sandbox"\x1b[0m\n',
        "neither a kubelet's log nor",
    ),
    "status.yaml": ("status:\n  phase: Failed\n  reason: Evicted\n", "a part of an object"),
    "base64-in-one-line.txt": ("QUJD" * 100 + "\n", "text in base64"),
    "k9s-events.txt": (
        "NAMESPACE   LAST SEEN   TYPE      REASON    OBJECT      COUNT\nn   3m   Warning   Evicted   pod/a   1\n",
        "a table of kubectl, from which",
    ),
    "alloy.jsonl": (
        '{"name": "web-0", "kind": "Pod", "objectAPIversion": "v1", "reason": "Evicted", "msg": "m"}\n',
        "Events as Grafana's agent logs them, without their times",
    ),
    "layout.jsonl": (
        '{"kind": "Pod", "name": "web-0", "reason": "Evicted", "message": "m", "host": "n1"}\n',
        "Events in their exporter's own layout; export them whole",
    ),
    "base64.txt": ("QUJD" * 19 + "\n" + "QUJD" * 19 + "\n" + "QUJD" * 19 + "\n", "text in base64"),
    "insights.csv": ('@timestamp,@message\n2024,"{""kind"": 1}"\n', "a CSV file whose cells are JSON"),
    "python.json": (
        '{"api_version": "v1", "kind": "Pod", "metadata": {"name": "a"}}',
        "objects with the field names of Kubernetes' Python",
    ),
    "dmesg-behind-a-prompt.txt": (
        "[root@n1 ~]# dmesg -T | grep -i oom\n[Tue Mar  4 10:00:00 2025] java invoked oom-killer: order=0\n",
        "the kernel's log",
    ),
    "top-behind-a-prompt.txt": (
        "Nothing is scheduled there:\n\n$ kubectl top node\nNAME   CPU(cores)   CPU%\nn1     250m         6%\n",
        "a table of kubectl top, which is not read; save the statistics: kubectl get --raw",
    ),
    "dmesg-with-dates.txt": ("[Mon May  6 10:00:00 2024] Out of memory: Killed process 42\n", "the kernel's log"),
    "messages.txt": ("Jan  5 02:12:02 n1 kernel: Memory cgroup out of memory: Kill process 1\n", "the kernel's log"),
    "containerd-journal.txt": (
        'May 06 15:58:31 n1 containerd[812]: time="2024-05-06T15:58:31Z" level=info msg="TaskOOM event"\n',
        "a container runtime's log",
    ),
    "drain.txt": ("$ kubectl drain n1\nnode/n1 cordoned\nevicting pod shop/web-0\n", "the output of kubectl drain"),
    "pods.csv": ("NAME,READY,STATUS,RESTARTS,AGE\nweb-0,0/1,Evicted,0,1h\n", "a table of kubectl as CSV"),
    "names.txt": ("pod/web-0\npod/web-1\n", "names of objects without the objects"),
    "crictl.txt": ("$ crictl ps -a\nCONTAINER           IMAGE               CREATED\n", "a table of crictl"),
    "free.txt": ("$ free -m\n       total        used        free\n", "the output of free or df"),
    "checkpoint.txt": (
        'It has:\n\n```\n$ cat cpu_manager_state\nPassword:\n{"policyName":"static","entries":{"a":{\n...\n```\n',
        "a kubelet's checkpoint within other text, which is not read; save a kubelet's checkpoint by itself",
    ),
    "lscpu.txt": ("NUMA:\n  NUMA node0 CPU(s):     0-15,32-47\n", "the output of lscpu or numactl"),
    "numactl.txt": ("$ numactl -H\navailable: 2 nodes (0-1)\nnode 0 cpus: 0 1 2\n", "the output of lscpu or numactl"),
    "no-heads.txt": (
        "$ kubectl get pods --no-headers -o custom-columns=A:.metadata.name\nweb-0\n",
        "columns without their heads; leave out --no-headers",
    ),
    "row.markdown": (
        'It waits:\n\n```\nNormal  Pulled  3s (x3 over 3s)  kubelet  Container image "a"\n```\n',
        "rows of Events without their object",
    ),
    "structures.txt": (
        "&Pod{ObjectMeta:{web-0  shop  1 12 0 2026-03-01 08:00:00 +0000 UTC},Status:PodStatus{Reason:Evicted,}}",
        "objects printed as Go structs",
    ),
    "conditions.txt": (
        "  MemoryPressure   True    Tue, 01 Feb 2022 09:44:34 +0100   Thu, 20 Jan 2022 04:54:21 +0100   A   b\n",
        "a part of a described node, without its name; write the command above it",
    ),
    "jsonpath.txt": (
        "$ kubectl get pods -o jsonpath='{.items[*].status.reason}'\nEvicted Evicted\n",
        "fields without names",
    ),
    "dmesg.txt": ("[12345.678901] Out of memory: Killed process 42 (java)\n", "the kernel's log"),
    "containerd.log": (
        'time="2026-07-31T14:40:00Z" level=info msg="ImageDelete event"\n',
        "a container runtime's log",
    ),
    "page.html": ("<!DOCTYPE html><html><body>502 Bad Gateway</body></html>", "a web page"),
    "forbidden.txt": ("Error from server (Forbidden): nodes is forbidden\n", "kubectl's error instead of objects"),
    "status.json": (
        '{"kind": "Status", "apiVersion": "v1", "message": "no"}',
        "the API server's error instead of objects",
    ),
    "table.json": (
        '{"kind": "Table", "apiVersion": "meta.k8s.io/v1", "rows": [{"cells": ["n1"]}]}',
        "an API server's Table",
    ),
    "audit.log": (
        '{"kind": "Event", "apiVersion": "audit.k8s.io/v1", "level": "Request"}\n',
        "the API server's audit log",
    ),
}


OTHERS: dict[str, tuple[Any, str]] = {
    "popeye.json": ({"popeye": {"score": 80, "sections": []}}, "a report of Popeye"),
    "k8sgpt.json": ({"status": "ProblemDetected", "problems": 1, "results": []}, "a report of k8sgpt"),
    "crictl-ps.json": ({"containers": [{"state": "CONTAINER_EXITED"}]}, "a container runtime's answer"),
    "crictl-stats.json": ({"stats": [{"memory": {}}]}, "a container runtime's answer"),
    "performance.json": ({"Type": "Node", "node_memory_utilization": 97.1}, "metrics of CloudWatch"),
    "audit-of-google.json": ([{"protoPayload": {"methodName": "m"}}], "an audit log of Google's cloud"),
    "autoscaler-of-google.json": (
        [{"jsonPayload": {"decision": {}}}],
        "a log of Google's cloud without Events or",
    ),
    "pods-of-azure.json": ([{"PodStatus": "Failed", "Name": "web-0"}], "pods of Log Analytics, which do not say how"),
    "alerts.json": ([{"labels": {}, "startsAt": "2026-07-31T14:40:05Z"}], "alerts of Alertmanager"),
    "etcd.json": ({"kvs": [{"key": "a2V5", "value": "azhzAA=="}]}, "values of etcd in Kubernetes' binary format"),
    "traces.json": ({"resourceSpans": []}, "OpenTelemetry traces"),
    "picked.json": ({"name": "web-0", "why": "Evicted"}, "JSON without a kind"),
    "manifest.json": (
        {"kind": "Pod", "apiVersion": "v1", "metadata": {"name": "a"}, "spec": {"containers": [{"name": "c"}]}},
        "Pod of a manifest, not of a cluster",
    ),
}


@pytest.mark.parametrize("name", OTHERS)
def test_json_of_others_is_named_with_what_to_save_instead(tmp_path: Path, name: str) -> None:
    found, what = OTHERS[name]
    (tmp_path / name).write_text(json.dumps(found))
    seen, _, refused, _ = read(tmp_path / name)
    assert not seen
    assert f"{tmp_path / name}: holds nothing that Leadsman reads, only {what}" in refused
    assert refused.endswith("save the objects: kubectl get nodes,pods,events -A -o json")


def test_a_pod_without_a_status_counts_if_a_scheduler_placed_it(tmp_path: Path) -> None:
    """A tool that tidies YAML leaves the status out; nothing but a cluster gives a node."""
    pod, name = OTHERS["manifest.json"][0], tmp_path / "pod.json"
    name.write_text(json.dumps(pod | {"spec": pod["spec"] | {"nodeName": "n1"}}))
    assert read(name)[0] == Counter(pods=1)


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("NAME   CPU(cores)   CPU%   MEMORY(bytes)   MEMORY%\nn1     1m   1%   1Mi   1%\n", "a table of kubectl top"),
        ("[ 7063.2] Memory cgroup out of memory: Killed process 63214 (uwsgi)\n", "the kernel's log"),
        ("evicting pod shop/web-0\n", "the output of kubectl drain"),
    ],
)
def test_what_is_not_read_beside_a_table_is_named_with_its_line(tmp_path: Path, text: str, what: str) -> None:
    table = "NAME   STATUS   ROLES    AGE   VERSION\nn1     Ready    worker   9d    v1.30.1\n"
    (tmp_path / "paste.txt").write_text(f"{table}\n{text}")
    found, _, refused, _ = read(tmp_path)
    assert found == Counter(nodes=1)
    assert f"paste.txt: line 4: {what}" in refused


@pytest.mark.parametrize("form", ["{}", '{{"kind": "NamespaceList", "apiVersion": "v1", "items": [{}]}}'])
def test_dumps_of_two_clusters_in_one_folder_are_named(tmp_path: Path, form: str) -> None:
    """Every cluster has one namespace kube-system, and OpenShift one ClusterVersion with an ID."""
    for cluster in "ab":
        system = {"kind": "Namespace", "apiVersion": "v1", "metadata": {"name": "kube-system", "uid": cluster}}
        (tmp_path / cluster).mkdir()
        (tmp_path / cluster / "dump.json").write_text(TEXT)
        (tmp_path / cluster / "namespaces.json").write_text(form.format(json.dumps(system)))
        assert read(tmp_path / cluster)[2] == ""
    assert "2 clusters (kube-system namespaces of different IDs), which were read as one" in read(tmp_path)[2]
    version = {"kind": "ClusterVersion", "apiVersion": "config.openshift.io/v1", "metadata": {"name": "version"}}
    for cluster in "ab":
        (tmp_path / cluster / "namespaces.json").unlink()
        (tmp_path / cluster / "version.yaml").write_text(yaml.safe_dump(version | {"spec": {"clusterID": cluster}}))
    assert "2 clusters (ClusterVersions of different IDs)" in read(tmp_path)[2]


ROWS = """NAMESPACE   NAME    READY   STATUS             RESTARTS   AGE   IP         NODE
shop        web-0   0/1     Evicted            0          1h    <none>     n1
shop        web-1   1/1     Running            0          1h    10.0.0.1   n1
shop        web-2   0/1     Pending            0          1h    <none>     <none>
shop        web-3   0/1     CrashLoopBackOff   7          1h    10.0.0.2   n1
"""


def test_pods_of_a_table_that_did_not_fail_are_counted_as_left_out(tmp_path: Path) -> None:
    (tmp_path / "mixed.txt").write_text(ROWS)
    assert read(tmp_path / "mixed.txt")[::3] == (Counter(pods=1), Counter({LACKING: 3}))
    (tmp_path / "none.txt").write_text("".join(each for each in ROWS.splitlines(True) if "Evicted" not in each))
    found, _, refused, _ = read(tmp_path / "none.txt")
    assert not found
    assert f"only {LACKING} (3); save the objects: kubectl get" in refused


@pytest.mark.parametrize("dots", ["...", "  ...", "[...]", "<snip>"])
def test_dots_of_a_person_within_yaml_cost_nothing_else(tmp_path: Path, dots: str) -> None:
    pod = "apiVersion: v1\nkind: Pod\nmetadata: {name: a, namespace: n, uid: u}\nspec: {nodeName: n1}\n"
    (tmp_path / "pod.yaml").write_text(f"{pod}{dots}\nstatus: {{phase: Failed, reason: Evicted}}\n")
    (observed,) = (each.observation for each in read_sources([tmp_path]) if isinstance(each, Observed))
    assert json.loads(bytes(observed.object))["status"]["reason"] == "Evicted"


@pytest.mark.parametrize("name", UNREAD)
def test_what_is_not_read_is_named_for_what_it_is(tmp_path: Path, name: str) -> None:
    text, what = UNREAD[name]
    (tmp_path / name).write_text(text)
    found, _, refused, _ = read(tmp_path / name)
    assert not found
    assert f"{tmp_path / name}: {what}" in refused


def test_in_a_folder_the_others_are_read_and_what_looked_like_evidence_is_named(tmp_path: Path) -> None:
    for name, (text, _) in UNREAD.items():
        (tmp_path / name).write_text(text)
    (tmp_path / "dump").write_text(TEXT)
    (tmp_path / "nodes.yaml").write_text(yaml.safe_dump({"kind": "List", "apiVersion": "v1", "items": ITEMS[:1]}))
    (tmp_path / "README.md").write_text("# Incident\n")
    (tmp_path / "kubelet-config.yaml").write_text(
        "kind: KubeletConfiguration\napiVersion: kubelet.config.k8s.io/v1beta1\n"
    )
    found, unreadable, refused, skipped = read(tmp_path)
    assert (found, unreadable) == (ALL, [])
    assert refused.endswith(f"and {len(UNREAD) + 1 - 5} more files")
    assert skipped == {"other text": 1}


def test_a_folder_of_a_machine_has_much_that_is_no_evidence(tmp_path: Path) -> None:
    """Files of /proc, and those that sos and must-gather add, look like samples of metrics or an error page."""
    others = {
        "version.txt": "sos 4.7\n",
        "proc/meminfo": "MemTotal: 16393236 kB\nMemFree: 200 kB\n",
        "host_service_logs/kubelet_service.log": "May 02 09:00:00 worker-1 systemd[1]: Starting\n",
        "event-filter.html": "<!DOCTYPE html><html></html>",
    }
    for name, text in others.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    (tmp_path / "dump.json").write_text(TEXT)
    assert read(tmp_path) == (ALL, [], "", Counter({"other text": 3, "web page": 1}))


def test_a_setting_that_a_file_leaves_out_has_its_default(tmp_path: Path) -> None:
    """A kubelet answers with all of its settings, so that one without a value is none there."""
    (tmp_path / "config.yaml").write_text("kind: KubeletConfiguration\napiVersion: kubelet.config.k8s.io/v1beta1\n")
    (tmp_path / "node.json").write_text(json.dumps(next(each for each in ITEMS if each["kind"] == "Node")))
    (observed,) = (
        each.observation
        for each in read_sources([tmp_path])
        if isinstance(each, Observed) and each.observation.resource == "configz"
    )
    assert json.loads(bytes(observed.object))["kubeletconfig"]["enforceNodeAllocatable"] == ["pods"]


def test_a_folder_of_nothing_but_other_kinds_is_refused_as_such_a_file_is(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / f"{name}.json").write_text(json.dumps({"status": "success", "data": {"resultType": "vector"}}))
    found, _, refused, skipped = read(tmp_path)
    assert (found, skipped) == ({}, {"an answer of Prometheus": 2})
    assert refused.startswith(f"{tmp_path}: holds nothing that Leadsman reads, only an answer of Prometheus (2)")


@pytest.mark.parametrize("field", ["terraform_version", "__REALTIME_TIMESTAMP", "resourceLogs"])
def test_json_of_other_programs_is_named_by_its_fields(tmp_path: Path, field: str) -> None:
    (tmp_path / "x.json").write_text(json.dumps({field: "1"}))
    found, _, refused, _ = read(tmp_path / "x.json")
    assert not found
    assert "holds nothing that Leadsman reads" in refused
    assert "JSON without a kind" not in refused


def test_data_that_are_compressed_twice_are_named(tmp_path: Path) -> None:
    (tmp_path / "dump.json.gz").write_bytes(gzip.compress(gzip.compress(TEXT.encode())))
    assert "compressed again" in read(tmp_path / "dump.json.gz")[2]


def test_what_kubeadm_intends_needs_the_nodes_that_it_is_for(tmp_path: Path) -> None:
    (tmp_path / "config.yaml").write_text(
        "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: kubelet-config-1.23\n  namespace: kube-system\n"
        "data:\n  kubelet: |\n    apiVersion: kubelet.config.k8s.io/v1beta1\n    kind: KubeletConfiguration\n"
    )
    assert "save the nodes too" in read(tmp_path / "config.yaml")[2]
    (tmp_path / "nodes.json").write_text(listed("Node"))
    assert read(tmp_path) == (Counter(nodes=4, configz=4), [], "", Counter())


def test_settings_in_a_file_are_those_of_the_only_node(tmp_path: Path) -> None:
    (tmp_path / "config.yaml").write_text(
        "---\nkind: KubeletConfiguration\napiVersion: kubelet.config.k8s.io/v1beta1\n"
        "evictionHard:\n  memory.available: 5%\n"
    )
    (tmp_path / "node.json").write_text(json.dumps(next(each for each in ITEMS if each["kind"] == "Node")))
    assert read(tmp_path) == (Counter(nodes=1, configz=1), [], "", Counter())


SETTINGS = {"syncFrequency": "1m0s", "fileCheckFrequency": "20s", "evictionHard": {"memory.available": "5%"}}
SUMMARY = {"node": {"nodeName": "n1", "memory": {"time": "2026-07-31T14:40:00Z", "availableBytes": 1}}, "pods": []}


@pytest.mark.parametrize("nodes", [["n1"], ["n1", "n2"]])
@pytest.mark.parametrize("settings", [SETTINGS, {"kubeletconfig": SETTINGS}])
def test_settings_beside_a_summary_are_those_of_its_node_if_it_is_the_only_one(
    tmp_path: Path, nodes: list[str], settings: dict[str, Any]
) -> None:
    """`jq .kubeletconfig` leaves the settings alone."""
    for name in nodes:
        (tmp_path / f"{name}.json").write_text(json.dumps(SUMMARY | {"node": {"nodeName": name}}))
    (tmp_path / "settings.json").write_text(json.dumps(settings))
    found, _, refused, _ = read(tmp_path)
    is_alone = len(nodes) == 1
    assert found == Counter({"stats/summary": len(nodes), "configz": int(is_alone)}) - Counter()
    assert ("the node of this configz is unknown" in refused) is not is_alone


def test_a_summary_and_settings_in_one_file_are_of_one_node(tmp_path: Path) -> None:
    (tmp_path / "n1.json").write_text(f"{json.dumps(SUMMARY)}\n{json.dumps({'kubeletconfig': SETTINGS})}\n")
    assert read(tmp_path)[0] == Counter({"stats/summary": 1, "configz": 1})


def zipped_after_windows() -> bytes:
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w") as archive:
        archive.writestr("pods.json", b"\xef\xbb\xbf" + listed("Pod").replace("\n", "\r\n").encode())
        archive.writestr("event.yaml", yaml.safe_dump(next(each for each in ITEMS if each["kind"] == "Event")))
    return held.getvalue()


@pytest.mark.parametrize("archive", [zipped(), zipped_after_windows(), tar("w"), tar("w:gz")])
def test_an_archive_inside_a_folder_is_named_and_never_read_as_text(tmp_path: Path, archive: bytes) -> None:
    """One that is not compressed has its objects in plain sight, and a few of them would be read."""
    (tmp_path / "all.bin").write_bytes(archive)
    (tmp_path / "dump.json").write_text(TEXT)
    found, unreadable, refused, skipped = read(tmp_path)
    assert (found, unreadable, skipped) == (ALL, [], Counter())
    assert refused == f"{tmp_path / 'all.bin'}: an archive inside a folder; unpack it first"


def test_objects_as_python_prints_them_are_named(tmp_path: Path) -> None:
    (tmp_path / "printed.txt").write_text(repr(ITEMS[0]))
    assert "objects as Python prints them; save the objects: kubectl get" in read(tmp_path / "printed.txt")[2]


def test_half_of_a_surrogate_pair_costs_its_object_alone() -> None:
    """Python takes it for JSON and msgspec does not: reading it again and again never ended."""
    given = b'{"kind": "Pod", "chec\\ud800m": 1} {"kind": "Node"}'
    assert [type(part) for part in json_parts(given)] == [Bad, Found]
