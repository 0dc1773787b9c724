"""Describes a file that Leadsman does not read, and names what to save instead."""

import re
from collections import Counter
from collections.abc import Container, Iterator
from pathlib import PurePath
from typing import Final, NamedTuple

from common.text import plain
from ingest.files.lines import SourceError

SAVE: Final = "save the objects: kubectl get nodes,pods,events -A -o json"
_STATISTICS: Final = "save the statistics: kubectl get --raw /api/v1/nodes/NODE/proxy/stats/summary"
_ERRORS: Final = (
    r"Error from server|[Ee]rror: |The connection to the server|Unable to connect to|No resources found"
    r"|E\d{4} \d\d:\d\d:\d\d\.\d+ +\d+ memcache\.go"
)
_RUNTIME: Final = r'(?:[^\n"]{0,200} (?:containerd|dockerd|crio)(?:\[\d+\])?: )?time="[^"\n]{0,40}" level=\w+ '
_KILLED: Final = (
    r"(?![^\n]{0,200}\bOOMKilling\b)[^\n]{0,200}"
    r"(?:oom-kill:constraint=|invoked oom-killer: |Out of memory: Kill|Killed process \d+ \()"
)
_DRAINED: Final = r"(?:node/\S+ (?:already )?cordoned|evicting pod \S+|error when evicting pods?[/ ]|pod/\S+ evicted)"
_CRICTL: Final = r"(?:CONTAINER(?: ID)? {3,}IMAGE {3,}CREATED|POD ID {3,}CREATED|IMAGE {3,}TAG {3,}IMAGE ID)"
_MACHINE: Final = r"(?:Filesystem +(?:Size|Inodes|1K-blocks) |[ \t]+total +used +\**free)"
_TOP: Final = r"(?:NAMESPACE +)?(?:POD|NAME) +(?:NAME +)?CPU\(cores\) "
_ROW: Final = r"[ \t`|]*(?:Normal|Warning)[ |]+[A-Z]\w+[ |]+(?:\d+[ydhms])+ "
_CHECKPOINT: Final = r"[^\n]{0,200}?\{\s*\"policyName\": ?\"(?:none|static|None|Static|BestEffort)\""
_OF_CPUS: Final = r"(?:[ \t]*NUMA node\d+ CPU\(s\):|available: \d+ nodes? \(\d|node \d+ cpus:)"
_SAVE_CHECKPOINT: Final = (
    "save a kubelet's checkpoint by itself, as NODE.cpu_manager_state.json or NODE.memory_manager_state.json"
)
_OF_MUST_GATHER: Final = "event-filter.html"
"""A page that shows Events in addition to its subject."""
_TEXTS: Final[tuple[tuple[str, str], ...]] = (
    (rf"(?P<line>(?:{_ERRORS})[^\n]{{0,200}})", "kubectl's error instead of objects ({line})"),
    (
        r"Name: {2,}\S[^\n]*\n[A-Z][\w /-]*:|Events:\s*\n +Type +Reason +Age ",
        f"text of kubectl describe about neither a node nor a pod; {SAVE}",
    ),
    (
        r"(?:[A-Z][A-Z0-9()%-]*(?: [A-Z][A-Z0-9()%-]*)?(?: {2,}|\t)){1,}[A-Z][A-Z0-9()% -]*\s*(?:\n|\Z)",
        f"a table of kubectl, from which only nodes, Events and failed pods are read; {SAVE}",
    ),
    (r"(?i:<!doctype html|<html)", f"a web page, perhaps an error of a proxy; {SAVE}"),
    (
        r"(?:[^\n]*\n){0,40}?[ \t]*(?:Memory|Disk|PID)Pressure[ \t]+(?:True|False|Unknown)[ \t]+\w{3}, ",
        "a part of a described node, without its name; write the command above it: kubectl describe node NAME",
    ),
    (
        r"(?:[^\n]*\n){0,40}?[ \t]+(?:Last )?State:[ \t]+(?:Terminated|Waiting|Running)\s*\n",
        "a part of a described pod, without its name; write the command above it: kubectl describe pod NAME",
    ),
    (rf"(?:[^\n]*\n){{0,40}}?{_ROW}", f"rows of Events without their object, which are not read; {SAVE}"),
    (
        r"(?:[^\n]*\n){0,9}?[^\n]*\bkubectl [^\n]{0,2000}-o[ =]?'?(?:jsonpath|go-template)",
        f"fields without names, printed by a template; {SAVE}",
    ),
    (r"(?:[^\n]{0,200} )?kubelet(?:\[\d+\])?: ", f"a kubelet's journal without lines in klog's format; {SAVE}"),
    (
        r"(?:\S+ std(?:out|err) [FP] )?[IWEF]\d{4} \d\d:\d\d:\d\d\.\d+ ",
        f"neither a kubelet's log nor a scheduler's dump of its cache; {SAVE}",
    ),
    (
        r"(?:[^\n]*\n){0,9}?[^\n]*\bkubectl [^\n]{0,2000}--no-headers",
        f"columns without their heads; leave out --no-headers, or {SAVE}",
    ),
    (
        r"[^\n]{0,2000} objectAPIversion=",
        f"Events as logfmt, which are not read; have them written as JSON, or {SAVE}",
    ),
    (
        r"(?:# (?:HELP|TYPE) )?(?:container|machine|cadvisor)_\w+[ {]",
        f"a kubelet's /metrics/cadvisor, which is not read; {_STATISTICS}",
    ),
    (
        r"(?:# (?:HELP|TYPE) )?(?:node|pod)_(?:cpu_usage_seconds_total|memory_working_set_bytes)[ {]",
        f"a kubelet's /metrics/resource, which is not read; {_STATISTICS}",
    ),
    (r"(?:# (?:HELP|TYPE) )?kube_\w+[ {]", f"metrics of kube-state-metrics, which lack the times of events; {SAVE}"),
    (
        r"(?:[A-Za-z0-9+/]{60,100}={0,2}\r?\n){3}|(?!\d+\s*\Z)[A-Za-z0-9+/]{200,}={0,2}\s*\Z",
        "text in base64; decode it first: base64 -d FILE > FILE.json (and gunzip it if it was compressed)",
    ),
    (
        r"[^\n]{0,200}&?(?:v1\.)?(?:Pod|Node|Event)(?:List)?\{(?:ObjectMeta|TypeMeta|ListMeta|Items):",
        f"objects printed as Go structs; {SAVE}",
    ),
    (
        r"[^\n]{0,2000}\b(?:PodStatus|KubeletVersion)\b[^\n]{0,2000},",
        f"pods or nodes of Log Analytics, which do not say how a pod ended; export KubeEvents, or {SAVE}",
    ),
    (
        r"(?:@?timestamp|@message|\"?[\w.@ ]{1,40}\"?),[^\n]*\n[^\n]*\"\{\"\"",
        "a CSV file whose cells are JSON; export the log as JSON",
    ),
    (
        r"(?:NAMESPACE,)?(?:NAME,READY,STATUS|NAME,STATUS,ROLES|LAST SEEN,TYPE,REASON)\b",
        f"a table of kubectl as CSV, which is not read; {SAVE}",
    ),
    (r"(?:(?:pod|node|event)/[a-z0-9][a-z0-9.-]*\s*\n)+\s*\Z", f"names of objects without the objects; {SAVE}"),
    (r"(?:status|conditions|containerStatuses):\s*\n[ -]", f"a part of an object, without its kind and name; {SAVE}"),
    (
        r"(?:[^\n]*\n){0,400}?```\w*\s*\n\s*(?:apiVersion: v1|\{\s*\"(?:apiVersion|kind|items)\")",
        "text around objects, such as a ticket; save the objects between its fences as files",
    ),
    (
        r"# (?:HELP|TYPE) |(?:[a-zA-Z_:][\w:]*\{[^}\n]*\}|[a-zA-Z]\w*_[\w:]*) [-+]?(?:\d|Inf|NaN)",
        "metrics of an exporter other than a kubelet; save kubectl get --raw /api/v1/nodes/NODE/proxy/metrics",
    ),
)
_OOM: Final = r"\[(?:[ A-Z][^\]\n]{1,30}|\d+\.\d+)\] [^\n]*(?:oom|Out of memory|Killed process)|[^\n]{0,200} kernel: "
_WITHIN: Final = tuple(
    (re.compile(rf"^(?:{pattern})".encode(), re.MULTILINE), what, instead, is_evidence)
    for pattern, what, instead, is_evidence in (
        (_TOP, "a table of kubectl top", _STATISTICS, True),
        (f"{_OOM}|{_KILLED}", "the kernel's log", SAVE, True),
        (_DRAINED, "the output of kubectl drain", SAVE, True),
        (_CHECKPOINT, "a kubelet's checkpoint within other text", _SAVE_CHECKPOINT, True),
        (_OF_CPUS, "the output of lscpu or numactl", _SAVE_CHECKPOINT, False),
        (_RUNTIME, "a container runtime's log", SAVE, False),
        (_CRICTL, "a table of crictl", SAVE, False),
        (_MACHINE, "the output of free or df", _STATISTICS, False),
    )
)
"""Unsupported forms that may appear next to others in one text."""
_BY_TEXT: Final = tuple((re.compile(pattern.encode()), what) for pattern, what in _TEXTS)
CUT_OFF: Final = "(cut off)"
"""The kind that stands for JSON of which a part is missing."""
_OF_KINDS: Final = {
    CUT_OFF: f"JSON that was cut off or shortened, of which only whole values are read; {SAVE}",
    "Table": f"an API server's Table without its objects; {SAVE}",
    "PartialObjectMetadata": f"only the metadata of objects; {SAVE}",
    "Status": "the API server's error instead of objects",
}
_OF_FIELDS: Final = {
    "terraform_version": "Terraform's state",
    "resourceLogs": "OpenTelemetry logs",
    "resourceMetrics": "OpenTelemetry metrics",
    "__REALTIME_TIMESTAMP": "systemd's journal of programs other than the kubelet",
    "caller": "a component's log in JSON",
    "protoPayload": "an audit log of Google's cloud",
    "jsonPayload": "a log of Google's cloud without Events or kubelet lines",
    "popeye": "a report of Popeye",
    "problems": "a report of k8sgpt",
    "resourceSpans": "OpenTelemetry traces",
    "kvs": "values of etcd in Kubernetes' binary format",
    "startsAt": "alerts of Alertmanager",
    "PodStatus": "pods of Log Analytics, which do not say how a pod ended; export KubeEvents",
    "KubeletVersion": "nodes of Log Analytics; export KubeEvents",
    **dict.fromkeys(
        ("node_memory_utilization", "node_cpu_utilization", "pod_memory_utilization"), "metrics of CloudWatch"
    ),
    **dict.fromkeys(("resultType", "groups"), "an answer of Prometheus"),
    **dict.fromkeys(
        ("HostConfig", "imageFilesystems", "containers", "stats", "podSandboxId", "cniconfig", "info"),
        "a container runtime's answer",
    ),
    **dict.fromkeys(
        ("phase", "lastState", "containerStatuses", "lastTransitionTime"),
        "a part of an object, without its kind and name",
    ),
}
_OF_PYTHON: Final = f"objects with the field names of Kubernetes' Python client; {SAVE}"
_MEDIA: Final = (b"\x89PNG", b"%PDF-", b"\xff\xd8\xff", b"GIF8", b"SQLite format 3")
_COMPRESSED: Final = (b"\x1f\x8b", b"\x28\xb5\x2f\xfd", b"\x04\x22\x4d\x18")
_ARCHIVES: Final = (b"PK\x03\x04", b"BZh", b"\xfd7zXZ", b"7z\xbc\xaf", b"Rar!")
_OF_OFFICE: Final = frozenset({".docx", ".xlsx", ".pptx", ".odt", ".jar", ".ods"})
_OF_CONTAINERS: Final = frozenset({"logs", "podlogs", "pod-logs"})


class Unread(NamedTuple):
    what: str
    is_evidence: bool
    """True if the file was saved as evidence, so that skipping it is reported as a failure."""


def unread(path: PurePath, head: bytes) -> Unread:
    """Describe a file that contains no objects or observations, by its first bytes."""
    text = head.lstrip()
    if not text or path.name == _OF_MUST_GATHER:
        return Unread("web page" if text else "the file is empty", is_evidence=False)
    for pattern, what in _BY_TEXT:
        if found := pattern.match(text):
            line = found.groupdict().get("line") or b""
            return Unread(what.format(line=line.decode(errors="replace").strip()), is_evidence=True)
    if b"\0" not in text and (parts := [what for _, what, _ in _parts_of(text)]):
        return Unread(parts[0], is_evidence=True)
    if is_archive(head) and path.suffix not in _OF_OFFICE:
        return Unread("an archive inside a folder; unpack it first", is_evidence=True)
    if head.startswith(_COMPRESSED):
        return Unread("compressed data that are compressed again, or damaged; unpack them first", is_evidence=True)
    is_text = b"\0" not in head[:1024] and not head.startswith(_MEDIA)
    return Unread("other text" if is_text else "binary", is_evidence=False)


def is_archive(head: bytes) -> bool:
    """Tell whether a file is a tar or a zip, by its first bytes; an uncompressed one contains readable text."""
    return b"\0" in head[:512] and (head[257:262] == b"ustar" or head.startswith(_ARCHIVES))


def left_out(text: bytes) -> Iterator[tuple[int, Unread]]:
    """Yield the first line of each unsupported form in a text of which the rest is read, and a description of the
    form.
    """
    for line, in_full, each in _parts_of(text):
        yield line, each._replace(what=in_full) if each.is_evidence else each


def _parts_of(text: bytes) -> Iterator[tuple[int, str, Unread]]:
    """Yield each unsupported form with its line, its description with what to save instead, and the short one."""
    for pattern, what, instead, is_evidence in _WITHIN:
        if (found := pattern.search(text)) is not None:
            line = text.count(b"\n", 0, found.start()) + 1
            yield line, f"{what}, which is not read; {instead}", Unread(what, is_evidence)


def of_kind(kind: str, api_version: str, fields: Container[str]) -> str:
    """Describe an object that was saved in place of another; empty if it is merely of another kind."""
    if "api_version" in fields and "apiVersion" not in fields:
        return _OF_PYTHON
    if "objectAPIversion" in fields:
        return f"Events as Grafana's agent logs them, without their times; have them exported with times, or {SAVE}"
    if kind and not api_version and "reason" in fields and "metadata" not in fields and "spec" not in fields:
        return f"Events in their exporter's own layout; export them whole, or {SAVE}"
    if kind in {"Event", "EventList"} and api_version.startswith("audit.k8s.io/"):
        return "the API server's audit log, whose Events are requests"
    return _OF_KINDS.get(kind, "")


def without_kind(fields: Container[str]) -> str:
    """Describe JSON without a kind, by its fields."""
    if "status" in fields and "data" in fields:
        return "an answer of Prometheus"
    return next((what for name, what in _OF_FIELDS.items() if name in fields), "JSON without a kind")


def is_log_of_container(path: PurePath) -> bool:
    """Tell whether a file of a folder is a container's log; a dump can have many gigabytes of them."""
    return (not _OF_CONTAINERS.isdisjoint(path.parts[:-1]) and "kubelet" not in path.name) or path.name == "logs.txt"


def only_skipped(source: str, skipped: Counter[str]) -> SourceError:
    """Return the error for a source that contains only kinds that Leadsman does not use."""
    kinds = ", ".join(f"{plain(kind, 80)} ({count})" for kind, count in skipped.most_common(5))
    return SourceError(f"{plain(source)}: holds nothing that Leadsman reads, only {kinds}; {SAVE}")
