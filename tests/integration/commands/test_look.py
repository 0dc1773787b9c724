"""`leadsman look` of files: the story at once, and nothing left behind."""

import gzip
import json
import subprocess
import sys
from pathlib import Path

import pytest

from components.captures import jsonl, observation, pod
from components.command import COMMAND, ENVIRONMENT, PROGRESS, leadsman, succeeds
from leadsman.cli.look import _blind
from paths import EXAMPLES
from sql.database.open import connect

CAPTURE = EXAMPLES / "node-pressure-k8s-1.36.jsonl.gz"


@pytest.fixture
def evicted(tmp_path: Path) -> Path:
    """A capture of one pod."""
    status = {"phase": "Failed", "reason": "Evicted", "message": "The node was low on resource: memory. "}
    file = tmp_path / "evicted.jsonl"
    file.write_text(jsonl([pod("12:00:01", "web", "n", status=status)]))
    return file


@pytest.fixture(scope="module")
def story() -> str:
    """Return the story of the capture."""
    return succeeds("look", CAPTURE)


def _look(stdin: bytes, folder: Path, *arguments: str) -> "subprocess.CompletedProcess[str]":
    """Run it with `folder` for temporary files."""
    environment = ENVIRONMENT | {"TMPDIR": str(folder)}
    done = subprocess.run(
        [COMMAND, "look", *arguments], input=stdin, capture_output=True, check=False, env=environment
    )
    errors = PROGRESS.sub("", done.stderr.decode())
    return subprocess.CompletedProcess(done.args, done.returncode, done.stdout.decode(), errors)


def test_a_capture_from_standard_input_gives_the_story_of_the_file(tmp_path: Path, story: str) -> None:
    done = _look(gzip.decompress(CAPTURE.read_bytes()), tmp_path, "-")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.replace("leadsman replay FILE", f"leadsman replay {CAPTURE}") == story
    assert "evicted" in done.stdout
    assert not any(tmp_path.iterdir())


@pytest.mark.parametrize("columns", [80, 200])
def test_a_command_that_ends_a_card_can_be_pasted(columns: int) -> None:
    """In two lines, a shell would take it for two commands."""
    environment = ENVIRONMENT | {"COLUMNS": str(columns)}
    done = subprocess.run(
        [COMMAND, "look", EXAMPLES / "troubled-cluster.json"], capture_output=True, check=True, env=environment
    )
    lines = [line.strip() for line in done.stdout.decode().splitlines()]
    for command in (
        "kubectl get --raw /api/v1/nodes/control-1/proxy/stats/summary > control-1.summary.json",
        "kubectl uncordon worker-4",
        "kubectl logs --previous -n batch report-6f8c5d9b7-m5k2w",
        "leadsman query disk_growth",
        f"leadsman replay {EXAMPLES / 'troubled-cluster.json'}",
    ):
        assert [line for line in lines if line.endswith(command)]


def test_the_output_of_kubectl_from_standard_input(tmp_path: Path) -> None:
    condition = {
        "type": "Ready",
        "status": "Unknown",
        "reason": "NodeStatusUnknown",
        "message": "",
        "lastTransitionTime": "2026-11-21T00:00:00Z",
    }
    node = {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": "n1", "uid": "u", "resourceVersion": "1", "creationTimestamp": "2026-11-20T00:00:00Z"},
        "status": {"conditions": [condition], "allocatable": {"cpu": "4"}, "capacity": {"cpu": "4"}},
    }
    listed = json.dumps({"apiVersion": "v1", "kind": "List", "items": [node]}, indent=4)
    done = _look(listed.encode(), tmp_path, "-", "-o", "json")
    assert (done.returncode, done.stderr) == (0, "")
    found = {each["kind"]: each for each in json.loads(done.stdout)}["NodeNotReady"]
    assert (found["severity"], found["nodes"], found["since"], found["now"]) == (
        "critical",
        ["n1"],
        "2026-11-21T00:00:00Z",
        True,
    )
    assert "n1" in found["next"]


def test_ci_can_ask_that_nothing_is_worse(tmp_path: Path) -> None:
    """A node that is Ready is nothing wrong, and that is said with how much was seen; one that is not is critical."""
    for ready, severity, status in (("True", "warning", 0), ("False", "critical", 1), ("False", "warning", 1)):
        node = {
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {"name": "n1", "uid": "u", "creationTimestamp": "2026-11-20T00:00:00Z"},
            "status": {
                "conditions": [
                    {"type": "Ready", "status": ready, "reason": "r", "lastTransitionTime": "2026-11-21T00:00:00Z"}
                ]
            },
        }
        pod = {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": "p", "namespace": "shop", "uid": "v", "creationTimestamp": "2026-11-20T00:00:00Z"},
            "spec": {"nodeName": "n1", "containers": [{"name": "c"}]},
            "status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]},
        }
        file = tmp_path / "nodes.json"
        file.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": [node, pod]}))
        done = leadsman("look", file, "--fail-on", severity)
        assert (done.returncode, "1 critical" in done.stderr) == (status, bool(status)), done.stderr
        assert ("problems in 1 node" in " ".join(done.stdout.split())) is (not status), done.stdout


def test_nothing_is_named_as_such(tmp_path: Path) -> None:
    done = _look(b'{"kind": "List", "apiVersion": "v1", "items": []}', tmp_path, "-", "-o", "csv")
    assert done.returncode == 0
    assert done.stderr == "nothing was observed: no node, pod, Event or sample\n"


def test_the_report_is_written_where_it_is_wanted(evicted: Path, tmp_path: Path) -> None:
    done = leadsman("look", evicted, f"--report={tmp_path / 'r.html'}")
    assert done.returncode == 0
    assert (tmp_path / "r.html").read_text().startswith("<!doctype html>")


def test_what_cannot_be_read_is_named_and_the_rest_is_shown(evicted: Path, tmp_path: Path) -> None:
    bad = tmp_path / "bad.jsonl"
    bad.write_text("nothing\n")
    done = leadsman("look", evicted, bad)
    assert (done.returncode, "evicted" in done.stdout, str(bad) in done.stderr) == (3, True, True)
    assert leadsman("look", bad).returncode == 4


def test_kubectl_runs_it_as_its_plugin(evicted: Path, tmp_path: Path) -> None:
    """kubectl finds `kubectl-leadsman` on the path, and hands over what follows."""
    program = Path(COMMAND).with_name("kubectl-leadsman")
    shown = subprocess.run([program, evicted], capture_output=True, text=True, check=True, env=ENVIRONMENT)
    assert shown.stdout == succeeds("look", evicted)
    asked = subprocess.run([program, "query", "--help"], capture_output=True, text=True, check=True, env=ENVIRONMENT)
    assert "kubectl leadsman query" in asked.stdout
    missing = ["--kubeconfig", str(tmp_path / "missing"), "--context", "none"]
    refused = subprocess.run([program, *missing], capture_output=True, text=True, check=False, env=ENVIRONMENT)
    assert (refused.returncode, "does not exist" in refused.stderr) == (10, True)


def _completed(*words: str) -> list[str]:
    """Return the words that kubectl takes from its helper for a line that ends with the last word."""
    program = [sys.executable, "-c", "from leadsman.__main__ import kubectl_complete; kubectl_complete()"]
    done = subprocess.run([*program, *words], capture_output=True, text=True, check=True, env=ENVIRONMENT)
    return done.stdout.splitlines()


def test_kubectl_completes_its_commands_questions_and_flags() -> None:
    """The last line is cobra's directive: 0 offers files, 4 does not."""
    *commands, directive = _completed("")
    assert ({"look", "query", "up"} <= {each.split("\t")[0] for each in commands}, directive) == (True, ":4")
    assert _completed("query", "evicted_")[0].startswith("evicted_pods\t")
    assert _completed("query", "evicted_pods", "--by", "")[0].startswith("cause\t")
    assert "verdict=" in {each.split("\t")[0] for each in _completed("query", "requests", "--param", "")}
    assert {"--namespace", "--no-color"} <= {each.split("\t")[0] for each in _completed("--n")}
    assert _completed("-n", "shop", "--kubec")[0].startswith("--kubeconfig\t")
    assert _completed("./dump") == [":0"]
    assert _completed("replay", "./dump") == [":0"]


def test_contexts_of_the_kubeconfig_are_completed(tmp_path: Path) -> None:
    """Contexts of the file that is already named are completed; a name that a shell would split is left out."""
    file = tmp_path / "kubeconfig"
    names = ["prod", "prod-2", "test", "prod; rm"]
    file.write_text(json.dumps({"contexts": [{"name": name, "context": {}} for name in names]}))
    for words in (("--kubeconfig", str(file)), ("up", "--kubeconfig", str(file))):
        assert _completed(*words, "--context", "pro") == ["prod", "prod-2", ":4"]
    assert _completed("--kubeconfig", str(tmp_path / "none"), "--context", "") == [":0"]


def test_a_cluster_without_kubelet_access_is_shown_and_named_as_such(tmp_path: Path) -> None:
    """Return the output of `look` for a live cluster whose kubelets refused: the status is one of its own."""
    refused = {"error": "403 Forbidden: nobody cannot get nodes/proxy"}
    (tmp_path / "c.jsonl").write_text(
        jsonl([observation("12:00:00", "stats/summary", refused, type_="ERROR", source="kubelet", node="n")])
    )
    succeeds("replay", "-q", tmp_path / "c.jsonl", db=tmp_path / "db")
    with connect(f"chdb://{tmp_path / 'db'}", read_only=True) as database:
        assert _blind(database, "proxy").startswith("no kubelet could be read: 403 Forbidden")
        assert "`get` of nodes/proxy" in _blind(database, "proxy")
        assert "--kubelet proxy" in _blind(database, "direct")
        assert _blind(database, "off") == ""
