"""Text of terminals and tickets: what commands, fences and marks around it tell (rules: pasted-text)."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingest.files.sources import read_sources
from ingest.files.texts.fragments import Command, command_of, fragments, is_typed, split_prompts, strip_marks
from ingest.files.texts.mixed import split_mixed
from ingest.files.texts.pasted import pasted_parts
from ingest.model.observation import Observed

BOXED = (
    "\u250c\u2500 Pods \u2500\u2510\n\u2502 NAME\u2191    PF READY STATUS  RESTARTS AGE \u2502\n"
    "\u2502 cache-0  \u25cf  0/1   Evicted 0        8m  \u2502\n"
)
AT = datetime(2026, 7, 1, 12, tzinfo=UTC)
EVICTED = "cache-0   0/1   Evicted   0   8m\n"
HEAD = "NAME      READY   STATUS    RESTARTS   AGE\n"


def objects(text: str) -> list[dict[str, Any]]:
    return [msgspec.json.decode(each.raw) for each in pasted_parts(text.encode(), None, AT)]


@pytest.mark.parametrize(
    ("args", "command"),
    [
        ("get pods -nshop", Command("get", "pods", "", "shop")),
        ("get po --namespace=shop web-0", Command("get", "pods", "web-0", "shop")),
        ("-n shop describe pod/web-0 | head", Command("describe", "pods", "web-0", "shop")),
        ("describe no n1 n2", Command("describe", "nodes")),
        ("describe node 10.0.10.132` shows:", Command("describe", "nodes", "10.0.10.132")),
        ("events -n $ns --for pod/web-0", Command("events", "events")),
        ("get ev -w -n test --sort-by='{.lastTimestamp}'", Command("get", "events", "", "test")),
        ("get no -o custom-columns=A:.metadata.name", Command("get", "nodes", "", "", (("A", "metadata.name"),))),
        ('get pods "unclosed', Command("get", "pods")),
    ],
)
def test_a_command_has_what_the_text_below_it_lacks(args: str, command: Command) -> None:
    assert command_of(args) == command


@pytest.mark.parametrize(
    "prompt",
    ["$ ", "[root@n ~]# ", "me@host:~/x$ ", "PS C:\\> ", "\u279c  ~ ", "**#", "kubeadmin> sudo ", "microk8s ", ""],
)
def test_a_table_is_in_the_namespace_of_its_command(prompt: str) -> None:
    (pod,) = objects(f"{prompt}kubectl get pods -n shop\n{HEAD}{EVICTED}")
    assert pod["metadata"]["namespace"] == "shop"


@pytest.mark.parametrize(
    ("line", "is_one"),
    [
        ("[root@xen16-23 ~]# kk get nodes", True),
        ("me@host:~$ kb describe po/web-0", True),
        ("me@host>kc get ev", True),
        ("bob@example.com> please describe node worker-1", False),
        ("bob@example.com> kindly describe node worker-1", False),
        ("root@m:~# please describe node worker-1", False),
        ("root@m:~# helm get values web -n prod", False),
        ("root@m:~# velero describe backup b", False),
        ("root@m:~# calicoctl get nodes", False),
        ("root@m:~# kk get values", False),
    ],
)
def test_a_name_of_ones_own_for_kubectl_stands_after_a_prompt_and_before_a_resource(line: str, is_one: bool) -> None:
    assert is_typed(line) is is_one


def test_a_row_of_markdown_is_as_wide_as_its_own_table_has_it() -> None:
    wide = f"| {'x' * 250} | 0/1 | a | b |\n"
    small = "| cache-0 | 0/1 | Evicted | 0 | 8m |\n| db-0 | 0/1 | Evicted | 0 | 8m |\n"
    assert strip_marks(f"{wide}\n{small}").splitlines()[2:] == [
        "cache-0  0/1  Evicted  0  8m",
        "db-0     0/1  Evicted  0  8m",
    ]


def test_cells_between_tabs_are_aligned_below_a_head() -> None:
    """A cell may be empty. Lines above the head are no rows, and tabs of other text stay."""
    table = "NAME\tREADY\tSTATUS\tNODE\nweb-0\t0/1\tEvicted\tn1\ncache-0\t\tOOMKilled\tn2\n"
    assert strip_marks(f"a\tb\tc\n{table}").splitlines() == [
        "a\tb\tc",
        "NAME     READY  STATUS     NODE",
        "web-0    0/1    Evicted    n1",
        "cache-0         OOMKilled  n2",
    ]
    assert strip_marks("Name:\t\tweb-0\nNode:\t\tn1\n") == "Name:\t\tweb-0\nNode:\t\tn1\n"


@pytest.mark.parametrize(
    "head", ["|" + f"{'x' * 300}|" * 60, "| " + "x" * 300 + " |" + "a|" * 5], ids=["wide", "far longer"]
)
def test_aligning_a_table_does_not_multiply_its_text(head: str) -> None:
    text = f"{head}\n" + "|" + "a|" * 10 + "\n" + ("|a|b|c|d|\n" * 3000)
    assert len(strip_marks(text)) < 4 * len(text)
    assert strip_marks(text).splitlines()[-1].split() == ["a", "b", "c", "d"]


def test_a_message_that_names_a_command_does_not_part_its_table() -> None:
    head = "LAST SEEN   TYPE      REASON    OBJECT        MESSAGE\n"
    rows = "5m          Normal    Note      node/n1       see `kubectl describe pod web-0`  for more\n"
    rows += "5m          Normal    Starting  node/n1       Starting kubelet.\n"
    assert [each["reason"] for each in objects(head + rows)] == ["Note", "Starting"]


@pytest.mark.parametrize(
    "marked",
    [
        "".join(f"> {line}\n" for line in (HEAD + EVICTED).splitlines()),
        (HEAD + EVICTED).replace(" ", "\u00a0"),
        (HEAD + EVICTED).replace("\n", "\r\n"),
        "`cache-0             0/1   Evicted   0   8m` (kubectl get pods)\n",
        " | cache-0 | 0/1 | Evicted | 0 | 8m |\n",
        BOXED,
    ],
    ids=["quoted", "blanks", "Windows", "code", "Markdown", "k9s"],
)
def test_marks_around_lines_do_no_harm(marked: str, tmp_path: Path) -> None:
    (tmp_path / "paste.txt").write_text(marked)
    seen = [msgspec.json.decode(e.observation.object) for e in read_sources([tmp_path]) if isinstance(e, Observed)]
    assert [each["metadata"]["name"] for each in seen] == ["cache-0"]


def test_rows_of_a_described_pod_belong_to_the_command_when_its_head_is_cut_off() -> None:
    rows = "  Type     Reason            Age   From               Message\n"
    rows += "  Warning  FailedScheduling  2m    default-scheduler  0/5 nodes are available: 5 Insufficient cpu.\n"
    (event,) = objects(f"$ kubectl describe pod gpu-0 -n ml | tail\n{rows}")
    assert event["involvedObject"] == {"kind": "Pod", "namespace": "ml", "name": "gpu-0", "uid": "ml/gpu-0"}
    (event,) = objects(f"$ kubectl describe pod gpu-0 gpu-1 -n ml\n{rows}")
    assert event["involvedObject"]["name"] == "(unknown)"


@given(st.lists(st.sampled_from(["```", "$ kubectl get no -o yaml", "apiVersion: v1", '{"kind": 1}', "a", ""])))
def test_text_that_is_taken_apart_keeps_every_line(lines: list[str]) -> None:
    parts = split_mixed("\n".join(lines).encode())
    assert parts.rest.count(b"\n") == max(len(lines) - 1, 0)
    kept = [*parts.rest.decode().split("\n"), *(line for each in parts.objects for line in each.decode().split("\n"))]
    assert sorted(filter(None, kept)) == sorted(filter(None, lines))


@given(st.text(max_size=300))
def test_any_text_is_tidied_and_parted_without_an_error(text: str) -> None:
    assert strip_marks(text).count("\n") == text.replace("\r\n", "\n").count("\n")
    assert all(each.start >= 0 for each in fragments(text.splitlines()))


def test_a_log_and_a_table_of_one_eviction_name_one_pod_on_one_node(tmp_path: Path) -> None:
    """The log has neither a node nor, in the line of the eviction, the UID; the table has no UID."""
    log = "".join(
        f"I0506 09:58:{second}.000001    2269 {line}\n"
        for second, line in (
            ("09", 'eviction_manager.go:380] "Eviction manager: must evict pod(s) to reclaim" resourceName="memory"'),
            (
                "10",
                'kubelet.go:1] "SyncLoop UPDATE" pod="shop/cache-0" podUID="7e1f1c9e-0f0a-4a51-8c55-0d2b0a6a1b11"',
            ),
            ("11", 'eviction_manager.go:612] "Eviction manager: pod is evicted successfully" pod="shop/cache-0"'),
        )
    )
    wide = "NAME      READY   STATUS    RESTARTS   AGE   IP       NODE       NOMINATED NODE   READINESS GATES\n"
    wide += "cache-0   0/1     Evicted   0          8m    <none>   worker-3   <none>           <none>\n"
    (tmp_path / "paste.txt").write_text(f"{log}\n$ kubectl get pods -n shop -o wide\n{wide}")
    seen = [each.observation for each in read_sources([tmp_path]) if isinstance(each, Observed)]
    reported = [msgspec.json.decode(each.object) for each in seen]
    uids = {each.get("uid") or each.get("metadata", {}).get("uid", "") for each in reported} - {""}
    assert uids == {"7e1f1c9e-0f0a-4a51-8c55-0d2b0a6a1b11"}
    assert {each.node for each in seen if each.resource == "kubelet_log"} == {"worker-3"}


def test_what_a_kubelet_says_of_a_pod_comes_after_its_start() -> None:
    pod = (
        "Name:          web-0\nNamespace:     shop\nNode:          n1/10.0.0.1\n"
        "Start Time:    Mon, 06 May 2024 08:00:02 +0000\nStatus:        Failed\nReason:        Evicted\nEvents:\n"
        "  Type     Reason   Age    From     Message\n"
        "  Warning  Evicted  8m51s  kubelet  The node was low on resource: memory.\n"
    )
    (event,) = (each for each in objects(pod) if each["kind"] == "Event")
    assert (event["lastTimestamp"], event["earliest"]) == ("2024-05-06T08:00:02Z", "2024-05-06T08:00:01Z")


MESSAGE = "The node was low on resource: memory. Threshold quantity: 100Mi, available: 60Mi."


@pytest.mark.parametrize(
    ("before", "prompt"),
    [
        (f"{MESSAGE} ", "ops@bastion:~$ kubectl get pods"),
        (MESSAGE, "ops@bastion:~$ kubectl get pods"),
        (MESSAGE, "[ops@bastion ~]$ oc get pods"),
        (MESSAGE, "$ kubectl get pods"),
        ('{"a": {"b": 1}}', "root@node-1:/# cat /var/lib/kubelet/cpu_manager_state"),
    ],
)
def test_a_prompt_behind_output_without_a_newline_begins_a_line(before: str, prompt: str) -> None:
    assert [each.strip() for each in split_prompts(f"{before}{prompt}").split("\n")] == [before.strip(), prompt]


def test_a_prompt_glued_to_a_word_is_cut_off_only_if_another_prompt_has_its_name() -> None:
    """`60Miops@bastion` alone could be the value 60M and a user whose name begins with an i."""
    glued = "available: 60Miops@bastion:~$ kubectl get pods"
    assert split_prompts(glued) == glued
    before = "ops@bastion:~$ kubectl get pod web-1 -o jsonpath='{.status.message}'"
    assert split_prompts(f"{before}\n{glued}").split("\n") == [
        before,
        "available: 60Mi",
        "ops@bastion:~$ kubectl get pods",
    ]


@pytest.mark.parametrize(
    "text",
    [
        "ops@bastion:~$ kubectl get pods",
        "[ops@bastion ~]$ kubectl get pods",
        "I ran `ops@bastion:~$ kubectl get pods`",
        "(base) $ kubectl get pods",
        '"note": "ops@bastion:~$ kubectl get pods"',
        '{"note": "First: ops@bastion:~$ kubectl get pods"}',
        "ops@bastion:~$ id\n    note: first ops@bastion:~$ kubectl get pods",
    ],
)
def test_a_prompt_that_begins_a_line_or_is_quoted_stays(text: str) -> None:
    assert split_prompts(text) == text


def test_the_message_before_a_glued_prompt_and_the_table_behind_it_are_of_one_pod() -> None:
    asked = "ops@bastion:~$ kubectl get pod cache-0 -n shop -o jsonpath='{.status.message}'\n"
    table = HEAD + EVICTED
    (pod, *_) = objects(f"{asked}{MESSAGE}ops@bastion:~$ kubectl get pods -n shop\n{table}")
    assert (pod["metadata"]["name"], pod["status"]["message"]) == ("cache-0", MESSAGE)


def test_a_prompt_behind_the_last_output_is_no_part_of_it() -> None:
    asked = "$ kubectl get pod cache-0 -n shop -o jsonpath='{.status.message}'\n"
    (pod,) = objects(f"{asked}{MESSAGE} ops@bastion:~$ \n")
    assert pod["status"]["message"] == MESSAGE


def test_an_object_ends_at_a_command_of_any_program() -> None:
    node = "apiVersion: v1\nkind: Node\nmetadata:\n  name: n1\n"
    text = f"$ kubectl get node n1 -o yaml\n{node}$ ssh n1 numactl -H\navailable: 2 nodes (0-1)\n"
    found = split_mixed(text.encode())
    assert [each.decode() for each in found.objects] == [node.strip()]
    assert b"numactl" in found.rest


def test_messages_that_a_terminal_broke_are_put_together_again() -> None:
    head = "LAST SEEN   TYPE      REASON    OBJECT      MESSAGE\n"
    rows = [f"{each}m          Warning   Evicted   pod/web-{each}   {MESSAGE}" for each in (5, 7, 9)]
    broken = "".join(f"{row[start : start + 80]}\n" for row in rows for start in range(0, len(row), 80))
    events = [each for each in objects(head + broken) if each["kind"] == "Event"]
    assert {each["message"] for each in events} == {MESSAGE}
