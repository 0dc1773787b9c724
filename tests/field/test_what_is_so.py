"""Sentences need evidence, and evidence is not withheld: look, page, report and query agree.

Each row has nodes, pods and Events of its own. Most share a cluster, for a page takes a second however little it has.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from io import StringIO
from typing import Any, Final, NamedTuple

import pytest
from rich.console import Console

from components.alone import each_alone
from components.database import EmptyDatabase
from components.reading import Text, page
from ingest.files.sources import read_sources
from ingest.normalize.decode import decode
from leadsman.cli.present.story import EVERY_LINE, print_story
from leadsman.run.replay import replay
from leadsman.run.settings import Settings
from leadsman.web.reading.scope import ALL, RequestedRange
from leadsman.web.rendering.report import write_report
from leadsman.web.site.pages import Request, node_of
from sql.database.open import Database
from sql.questions.missing import why_empty
from sql.questions.queries import run, saved_query

pytestmark = pytest.mark.engine

GIB: Final = 1 << 30
T0: Final = datetime(2026, 7, 1, 10, tzinfo=UTC)
END: Final = 8
"""Minutes after T0 of the last sample."""
Object = dict[str, Any]
Line = tuple[float, str, str, str, str, Object]
"""Minutes after T0, source, resource, type, node that was asked, object."""


def at(minutes: float) -> str:
    return (T0 + timedelta(minutes=minutes)).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def condition(kind: str, status: str, minutes: float, **words: str) -> Object:
    return {"type": kind, "status": status, "lastTransitionTime": at(minutes), **words}


WELL: Final = [
    condition("Ready", "True", -90),
    *(condition(f"{each}Pressure", "False", -90) for each in ("Memory", "Disk", "PID")),
]


def node(
    name: str,
    minutes: float = END,
    conditions: Sequence[Object] = WELL,
    taints: Sequence[Object] = (),
    created: float = -90,
    room: Object = {},  # noqa: B006 - never changed
) -> Line:
    room = {"cpu": "4", "memory": "16Gi", "pods": "110", "ephemeral-storage": "100Gi", **room}
    meta = {"name": name, "uid": name, "creationTimestamp": at(created)}
    status = {"capacity": room, "allocatable": room, "conditions": [*conditions]}
    spec = {"taints": [*taints], **({"unschedulable": True} if taints else {})}
    made = {"metadata": meta, "spec": spec, "status": status | {"nodeInfo": {"kubeletVersion": "v1.33.2"}}}
    return minutes, "watch", "nodes", "MODIFIED", "", made


def pod(name: str, on: str, status: Object, minutes: float = END, owner: str = "", **more: Any) -> Line:
    requests = more.pop("requests", {"cpu": "100m", "memory": "64Mi"})
    kind, _, owned_by = owner.partition("/")
    owners = [{"kind": kind, "name": owned_by, "controller": True}] if owner else []
    meta = {"name": name, "namespace": "shop", "uid": name, "creationTimestamp": at(-60), "ownerReferences": owners}
    limits = {each: amount for each, amount in requests.items() if "/" in each}
    container = {"name": "app", "resources": {"requests": requests, "limits": limits}}
    spec = {"containers": [container], **({"nodeName": on} if on else {})}
    return minutes, "watch", "pods", "MODIFIED", "", {"metadata": meta | more, "spec": spec, "status": status}


def event(reason: str, kind: str, name: str, minutes: float, message: str, **more: Any) -> Line:
    about = {"kind": kind, "name": name, "uid": name, **({"namespace": "shop"} if kind == "Pod" else {})}
    said = {"reason": reason, "message": message, "type": "Warning", "count": 1}
    source = {"component": "kubelet", **({"host": name} if kind == "Node" else {})}
    times = {"firstTimestamp": at(minutes), "lastTimestamp": at(minutes)}
    meta = {"name": f"{name}.{reason}", "namespace": "shop" if kind == "Pod" else "default"}
    made = {"metadata": meta, "involvedObject": about, "source": source, **said, **times, **more}
    return minutes, "watch", "events", "ADDED", "", made


def sample(name: str, minutes: float, memory: int = 8 * GIB, pods: Sequence[Object] = (), **of_node: Any) -> Line:
    left = {"time": at(minutes), "availableBytes": memory, "workingSetBytes": 16 * GIB - memory}
    disk = {"time": at(minutes), "availableBytes": 80 * GIB, "capacityBytes": 100 * GIB, "usedBytes": 20 * GIB}
    disk |= of_node.pop("disk", {})
    seen = {"node": {"nodeName": name, "memory": left, "fs": disk, "runtime": {"imageFs": disk}, **of_node}}
    return minutes, "kubelet", "stats/summary", "SNAPSHOT", name, seen | {"pods": [*pods]}


def configured(name: str, **config: Any) -> Line:
    hard = {"memory.available": "100Mi", "nodefs.available": "10%", "imagefs.available": "15%"}
    return -60, "kubelet", "configz", "SNAPSHOT", name, {"kubeletconfig": {"evictionHard": hard, **config}}


def refused(name: str, on: str, reason: str, message: str, **more: Any) -> Line:
    status = {"phase": "Failed", "reason": reason, "message": message, "startTime": at(5)}
    return pod(name, on, status, **more)


def cpu(minutes: float, cores: float) -> Object:
    return {"time": at(minutes), "usageCoreNanoSeconds": int((90 + minutes) * 60 * cores * 10**9)}


class Row(NamedTuple):
    """A row of the table: what is seen, and words of the answers. Its title is that of the test."""

    title: str
    seen: Sequence[Line]
    says: Sequence[str] = ()
    """Words of look, page and report."""
    answers: Mapping[str, str] = {}  # never changed
    """A pattern of a row, as JSON, of the answer of a saved question."""
    never: Sequence[str] = ()
    """Words of no surface."""
    cluster: str = "c"


GPU: Final = (
    "Pod was rejected: Allocate failed due to requested number of devices unavailable for nvidia.com/gpu. "
    "Requested: 8, Available: 0, which is unexpected"
)
MEMORY: Final = (
    "Pod was rejected: Allocate failed due to [memorymanager] failed to get the default NUMA affinity, no NUMA nodes "
    "with enough memory is available, which is unexpected"
)
OUT_OF_CPU: Final = (
    "Pod was rejected: Node didn't have enough resource: cpu, requested: 8000, used: 1000, capacity: 4000"
)
NOTHING_FREED: Final = (
    "Failed to garbage collect required amount of images. Attempted to free 900 bytes, but only found 0 bytes "
    "eligible to free."
)
BUSY: Final = "unable to delete image: device or resource busy"
UNDELETED: Final = f"wanted to free 900 bytes, but freed 0 bytes space with errors in image deletion: {BUSY}"
LOCK: Final = "task docker:20744 blocked for more than 120 seconds."
VOLUME: Final = (
    'AttachVolume.Attach failed for volume "pvc-2f5e0c1a" : volume vol-0a1b2c3d4e5f60718 is attached to i-0fedc'
)
DRAIN: Final = "Failed to drain node, 8 pods are waiting to be evicted"
DRAINED: Final = {
    "phase": "Failed",
    "startTime": at(-59),
    "conditions": [condition("DisruptionTarget", "True", 4, reason="EvictionByEvictionAPI")],
    "containerStatuses": [
        {"name": "app", "state": {"terminated": {"reason": "OOMKilled", "exitCode": 143, "finishedAt": at(4.5)}}}
    ],
}
OUTLIVED: Final = {
    "phase": "Succeeded",
    "startTime": at(-59),
    "containerStatuses": [
        {"name": "app", "state": {"terminated": {"reason": "OOMKilled", "exitCode": 0, "finishedAt": at(4.5)}}}
    ],
}
UNALIGNED: Final = "Pod was rejected: Resources cannot be allocated with Topology locality"
CAME: Final = {"phase": "Running", "startTime": at(5)}
RUNNING: Final = {"phase": "Running", "startTime": at(-59)}
LIMIT: Final = {"gpu": {"cpu": "1", "nvidia.com/gpu": "8"}, "four": {"cpu": "4"}, "two": {"cpu": "2"}}


def _busy(minutes: float) -> Line:
    used = {"podRef": {"name": "slow", "namespace": "shop", "uid": "slow"}, "cpu": cpu(minutes, 0.6)}
    return sample("busy", minutes, cpu=cpu(minutes, 4), pods=[used])


def _filling(minutes: float) -> Line:
    used = {"usedBytes": int(20 * GIB + minutes * 1000), "availableBytes": int(80 * GIB - minutes * 1000)}
    return sample("filling", minutes, disk=used)


def _falling(minutes: float) -> Line:
    """Below 2 GiB first at 10:06:10."""
    return sample("soft", minutes, memory=int((4 - minutes * 2 / 6.1) * GIB))


TEN_SECONDS: Final = [each / 6 for each in range(1, END * 6 + 1)]
ROWS: Final = (
    Row(
        "a device is no exclusive CPU",
        [
            node("gpu", room={"nvidia.com/gpu": "8"}),
            refused("tune", "gpu", "UnexpectedAdmissionError", GPU, owner="Job/tune-0", requests=LIMIT["gpu"]),
        ],
        ["nvidia.com/gpu", "Requested: 8, Available: 0"],
        {"refused_pods": '"resource": "nvidia.com/gpu", "requested": 8, "available": 0'},
        ["8 exclusive CPUs", "Scale Job tune-0 down"],
    ),
    Row(
        "the memory manager counts no CPUs",
        [
            node("numa"),
            refused("big", "numa", "UnexpectedAdmissionError", MEMORY, owner="ReplicaSet/big", requests=LIMIT["two"]),
        ],
        ["[memorymanager]"],
        {"refused_pods": '"refused_by": "memory_manager"'},
        ["asked for 2 CPUs", "on one NUMA node"],
    ),
    Row(
        "image GC that recovered works",
        [
            node("again", END),
            event("FreeDiskSpaceFailed", "Node", "again", -50, NOTHING_FREED),
            *(sample("again", minutes) for minutes in (-52, -44, 7, END)),
        ],
        ["Image GC works again: 20 % of the image file system is used, and it starts at 85 %. It had failed once"],
        answers={"image_gc": '"verdict": "recovered"'},
        never=["critical Image GC", "criticalImage GC", "The image file system is full", "was not heard to fail"],
        cluster="grown",
    ),
    Row(
        "below a threshold since it was met, not since it was near",
        [
            node("soft"),
            configured(
                "soft", evictionSoft={"memory.available": "2Gi"}, evictionSoftGracePeriod={"memory.available": "5m"}
            ),
            *map(_falling, TEN_SECONDS),
        ],
        ["10:06:10"],
        {"next_eviction": '"soft_met_since": "2026-07-01T10:06:10'},
    ),
    Row(
        "a pod may starve where no PSI is seen",
        [node("busy"), pod("slow", "busy", RUNNING, requests=LIMIT["two"]), *map(_busy, range(END + 1))],
        answers={"cpu_waits": '"pod": "slow", "verdict": "node_full"'},
        never=["its inputs were seen"],
    ),
    Row(
        "a node that comes is not a node that was lost",
        [
            *(node(name, 0, cluster_node) for name, cluster_node in (("a", WELL), ("b", WELL), ("d", WELL))),
            node("new", 0, [condition("Ready", "False", 0, reason="KubeletNotReady", message="starts")], created=0),
            node("new", 1, [condition("Ready", "True", 1)], created=0),
            *(pod(f"a-{nth}", "a", CAME, 5, requests={"cpu": "900m"}, creationTimestamp=at(4)) for nth in range(4)),
        ],
        answers={"node_imbalance": '"node": "a", "resource": "cpu"'},
        never=["another node was lost"],
        cluster="grown",
    ),
    Row(
        "a pod that SIGTERM ended was not killed by the kernel",
        [node("drained"), pod("worker", "drained", DRAINED, deletionTimestamp=at(5))],
        answers={"pod_ends": '"pod": "worker"'},
        never=["OOM kill", "oom_kill", "killed by the kernel"],
    ),
    Row(
        "a container that completed was not killed by the kernel",
        [node("outlived"), pod("parent", "outlived", OUTLIVED)],
        never=["OOM kill", "oom_kill", "killed by the kernel"],
    ),
    Row(
        "no CPU is spoken of where the Topology Manager names none",
        [
            node("aligned"),
            configured("aligned", cpuManagerPolicy="none", memoryManagerPolicy="Static"),
            refused("wide", "aligned", "TopologyAffinityError", UNALIGNED, owner="StatefulSet/wide"),
        ],
        [
            "Their resources could not be aligned on NUMA nodes",
            "Resources cannot be allocated with Topology locality",
        ],
        {"refused_pods": '"refused_by": "topology_manager"'},
        ["CPUs and devices"],
    ),
    Row(
        "a minimum reclaim of nothing asks for nothing",
        [
            node("swings"),
            configured("swings", evictionMinimumReclaim={"memory.available": "0Mi"}),
            *(
                node(
                    "swings",
                    1 + nth / 2,
                    [
                        *WELL[:1],
                        condition("MemoryPressure", "FT"[nth % 2 == 0] + ("alse", "rue")[nth % 2 == 0], 1 + nth / 2),
                        *WELL[2:],
                    ],
                )
                for nth in range(10)
            ),
        ],
        ["evictionMinimumReclaim is 0 for its signals"],
        {"settings_warnings": "evictionMinimumReclaim is 0 for its signals"},
        ["what evictionMinimumReclaim asks for"],
    ),
    Row(
        "ten minutes support no forecast of years",
        [node("filling"), *map(_filling, range(END + 1))],
        answers={"disk_growth": '"node": "filling", "kind": "images".*"seconds_to_threshold": null'},
    ),
    Row(
        "a file system with room is not full",
        [
            node("fuller"),
            event("FreeDiskSpaceFailed", "Node", "fuller", 3, NOTHING_FREED),
            *(
                sample("fuller", each, disk={"availableBytes": 13 * GIB, "usedBytes": 87 * GIB})
                for each in (2, 7, END)
            ),
        ],
        ["Image GC frees too little"],
        {"image_gc": '"node": "fuller", "verdict": "insufficient_freed"'},
        ["file system is full", "disk is full"],
    ),
    Row(
        "image GC that cannot delete runs",
        [node("undeleted"), event("ImageGCFailed", "Node", "undeleted", 6, UNDELETED)],
        ["Image GC fails to delete images", "wanted to free 900 B and freed 0 B", BUSY],
        {
            "image_gc": BUSY,
            "alerts": "image GC fails to delete images",
            "story": f"Image GC fails to delete images.*{BUSY}",
        },
        ["does not run", "so unused images stay"],
    ),
    Row(
        "nobody uncordons what Karpenter takes away",
        [
            node(
                "leaving",
                conditions=[condition("Ready", "Unknown", 6, reason="NodeStatusUnknown", message="Kubelet stopped")],
                taints=[{"key": "karpenter.sh/disrupted", "effect": "NoSchedule"}],
            ),
            event("FailedDraining", "Node", "leaving", 5, DRAIN, source={"component": "karpenter"}),
        ],
        ["being removed by karpenter", DRAIN],
        {"nodes": '"node": "leaving"'},
        ["kubectl uncordon", "[withheld"],
    ),
    Row(
        "an Event of a node that is not Ready is one",
        [
            event(
                "NodeNotReady",
                "Node",
                "lost",
                3,
                "Node lost status is now: NodeNotReady",
                source={"component": "node-controller"},
                type="Normal",
            ),
            event("FailedMount", "Pod", "web", 4, 'secret "s" not found'),
        ],
        ["The node is not Ready, according to an Event.", "FailedMount"],
        {"not_ready": "NodeNotReady"},
        ["nodes that are not Ready, Warning Events", "No Warning Event", "The database is empty"],
        cluster="events",
    ),
    Row(
        "an eviction in unknown words is one",
        [node("nightly"), refused("cleared", "nightly", "Evicted", "The pod was removed by our nightly job")],
        ["1 pod was evicted with a message that names no known cause: leadsman query dead_letters."],
        {"pod_ends": "1 record could not be understood: leadsman query dead_letters"},
        ["No evictions"],
        cluster="odd",
    ),
    Row(
        "a pod that waits in other words waits",
        [
            pod(
                "gated",
                "",
                {
                    "phase": "Pending",
                    "conditions": [
                        condition(
                            "PodScheduled",
                            "False",
                            1,
                            reason="SchedulingGated",
                            message="Scheduling is blocked due to non-empty scheduling gates",
                        )
                    ],
                },
            )
        ],
        ["shop/gated", "Scheduling is blocked due to non-empty scheduling gates"],
        {"pending_pods": "Scheduling is blocked due to non-empty scheduling gates"},
        ["no reason was seen"],
    ),
    Row(
        "a pod of which no scheduler says anything waits",
        [pod("ignored", "", {"phase": "Pending"}, creationTimestamp=at(END))],
        ["1 pod Pending", "shop/ignored: no scheduler message was seen"],
        {"pending_pods": '"pod": "ignored".*"said": ""'},
        ["No evictions, pending pods"],
        cluster="unscheduled",
    ),
    Row(
        "a page of a node has that node's number",
        [
            *(node(each) for each in ("small", "tiny")),
            *(
                refused(f"{on}-{nth}", on, "OutOfcpu", OUT_OF_CPU, requests=LIMIT["four"])
                for on in ("small", "tiny")
                for nth in range(3)
            ),
        ],
        ["6 pods rejected at admission"],
        {"refused_pods": '"reason": "OutOfcpu"'},
    ),
    Row(
        "what was not seen for minutes is not green",
        [
            node("quiet", 0),
            pod("web-0", "quiet", RUNNING, 0),
            configured("quiet"),
            *(sample("quiet", each / 6) for each in range(1, 13)),
        ],
        never=["all clear"],
        cluster="stale",
    ),
    Row(
        "words of a cluster's own components are not withheld",
        [
            node(
                "locked",
                conditions=[*WELL, condition("KernelDeadlock", "True", 2, reason="DockerHung", message=LOCK)],
            ),
            pod("mounts", "locked", {"phase": "Pending", "startTime": at(1)}),
            event("FailedAttachVolume", "Pod", "mounts", 3, VOLUME),
        ],
        [LOCK, "vol-0a1b2c3d4e5f60718"],
        {"events": "vol-0a1b2c3d4e5f60718", "nodes": LOCK},
        ["[withheld"],
    ),
    Row(
        "process IDs without a threshold run out",
        [
            node("forks"),
            configured("forks"),
            *(sample("forks", each, rlimit={"maxpid": 4096, "curproc": 4091}) for each in (7, END)),
        ],
        ["Process IDs ran low without a threshold: 5 of 4,096 left.", "PIDs are nearly used up, without a threshold"],
        {
            "unguarded_signals": '"signal": "pid.available"',
            "alerts": "EvictionThresholdNear",
            "story": "Process IDs ran low",
        },
    ),
)
NODES: Final = ("small", "tiny")
"""Nodes whose pages are read too."""


class Reported(NamedTuple):
    look: str
    page: str
    report: str
    """Empty of the stale cluster: a report is judged at the end of what was seen."""
    pages: tuple[str, ...]
    """Pages of NODES, in the cluster that has them."""
    answers: dict[str, str]


@pytest.fixture(scope="module")
def reported(
    empty_database: EmptyDatabase, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[dict[str, Reported]]:
    """Yield the output about each cluster; the stale one's page is asked for 6 min 45 s after its last sample."""
    capture = tmp_path_factory.mktemp("so") / "capture.jsonl"
    capture.write_text("".join(sorted(each for row in ROWS for each in _lines(row))))
    with empty_database() as database:
        replay(database, map(decode, read_sources([capture])), Settings())
        asked = {name for row in ROWS for name in row.answers}
        found = {name: answers(database, name) for name in asked}
        alone = each_alone(database)
        yield {cluster: _reported(alone(cluster), cluster, found) for cluster in {row.cluster for row in ROWS}}


def _lines(row: Row) -> Iterator[str]:
    for minutes, source, resource, change, name, thing in row.seen:
        of = {"ts": at(minutes), "cluster": row.cluster, "source": source, "resource": resource, "type": change}
        yield json.dumps(of | ({"node": name} if name else {}) | {"object": thing}) + "\n"


def answers(database: Database, name: str) -> dict[str, str]:
    """The rows by cluster; where it has none, why."""
    query = saved_query(name)
    found = run(database, query, {})
    clusters = {row.cluster for row in ROWS}
    rows: dict[str, list[str]] = {each: [] for each in clusters}
    for values in found.rows:
        of = dict(zip(found.column_names, values, strict=True))
        rows[of["cluster"]].append(json.dumps(of, default=datetime.isoformat))
    empty = {each: why_empty(database, query, {"cluster": each}) for each in clusters if not rows[each]}
    return {each: "\n".join(of) for each, of in rows.items()} | empty


def _reported(database: Database, cluster: str, found: Mapping[str, Mapping[str, str]]) -> Reported:
    out, asked = StringIO(), RequestedRange(cluster=cluster, last=ALL)
    print_story(database, [cluster], Console(file=out, width=10_000), None, EVERY_LINE)
    end = T0 + (timedelta(minutes=2 + 6, seconds=45) if cluster == "stale" else timedelta(minutes=END, seconds=20))
    of = asked.address()
    names = NODES if cluster == "c" else ()
    pages = [Text(node_of(database, Request.of(of | {"node": name}), lambda: end) or "").text for name in names]
    report = "" if cluster == "stale" else Text(write_report(database, asked, T0 + timedelta(days=1))).text
    words = {name: by_cluster[cluster] for name, by_cluster in found.items()}
    shown = page(database, end, **of).text
    return Reported(" ".join(out.getvalue().split()), shown, report, tuple(pages), words)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.title.replace(" ", "-"))
def test_reports_equal_observations(reported: dict[str, Reported], row: Row) -> None:
    look, shown, report, _, found = reported[row.cluster]
    for words in row.says:
        assert words in look
        assert words in shown
        assert words in report
    for name, pattern in row.answers.items():
        assert re.search(pattern, found[name]), found[name]
    for words in row.never:
        for text in (look, shown, report, *(found[name] for name in row.answers)):
            assert words not in text


def test_a_page_of_a_node_has_the_number_of_that_node(reported: dict[str, Reported]) -> None:
    for text in reported["c"].pages:
        assert "3 pods rejected at admission" in text
        assert "6 pods" not in text
