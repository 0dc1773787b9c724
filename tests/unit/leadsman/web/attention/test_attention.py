"""Attention rules, each on the least input that meets it."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from leadsman.cli.present.story import words_of
from leadsman.web.attention.attention import attention, named
from leadsman.web.attention.badges import Severity, badges, by_urgency
from leadsman.web.attention.unknown import uncertain
from leadsman.web.reading.alerts import Alert
from leadsman.web.reading.ask import RowDict
from leadsman.web.reading.evidence import Evidence
from leadsman.web.reading.margins import Margin
from leadsman.web.reading.nodes import Evicted, Fit, NodeLine
from leadsman.web.reading.overview import Overview, Since, Unknown
from leadsman.web.reading.scope import Scope
from leadsman.web.rendering.report import in_detail
from streams.rules.events.admission import parse_refusal

T0 = datetime(2026, 7, 1, 12, tzinfo=UTC)
NOTHING = Unknown(0, (), 0, (), 1, (), ())
GIB = 1 << 30


def node(name: str = "n", **values: Any) -> NodeLine:
    quiet = NodeLine(
        name, True, True, False, "v1.36.3", "", T0, False, "0 s ago", (), None, {}, Evicted(), (), 0, "", None
    )
    return quiet._replace(**values)


def margin(**values: Any) -> Margin:
    far = Margin("memory.available", 10 * GIB, 16 * GIB, GIB, None, False, False, None, None, False, False)
    return far._replace(**values)


def view(*nodes: NodeLine, **values: Any) -> Overview:
    scope = Scope("c", T0, T0 + timedelta(hours=1))
    seen = Evidence(scope, len(nodes), len(nodes), 1, 1, scope.until, scope.until)
    return Overview(scope, (), nodes, (), (), None, None, (), (), (), (), NOTHING, seen)._replace(**values)


def titles(seen: Overview) -> list[tuple[str, str]]:
    return [(item.severity.word, item.title) for item in attention(seen)]


def lasts(**values: Any) -> dict[str, Any]:
    of = {"node": "n", "namespace": "d", "pod": "db-0", "since": T0, "message": "no room", "owner": ""}
    return of | {"is_over": False, **values}


@pytest.mark.parametrize("stale", [False, True])
def test_what_old_samples_show_does_not_last_for_an_alert_that_rests_on_them(stale: bool) -> None:
    fires = Alert("EvictionThresholdNear", "critical", "n", True, T0, None, "", "", "", resource="memory")
    fires = fires._replace(labels={"resource": "memory"})
    low = node(margins=(margin(hard_met=True),), stale=stale, last_sample_at=T0)
    (card,) = [item for item in attention(view(low, alerts=(fires,))) if item.signals]
    assert (card.now, card.alerts) == (not stale, ("EvictionThresholdNear",))


def test_resizes_that_are_not_done_have_a_card_with_the_kubelets_words() -> None:
    seen = view(node(), resizes=(lasts(state="deferred"), lasts(state="infeasible", pod="db-1")))
    assert [item.title for item in attention(seen)] == ["1 resize deferred", "1 resize infeasible"]
    assert all("The kubelet reported: No room." in item.text for item in attention(seen))


@pytest.mark.parametrize(
    ("ready", "step"),
    [
        (None, "kubectl taint node n node.kubernetes.io/out-of-service"),
        (0, "kubectl describe pod -n d db-0"),
        (1, "kubectl describe pod -n d db-0"),
    ],
)
def test_pods_that_stay_have_the_step_that_fits_their_node(ready: int | None, step: str) -> None:
    """Nobody hears that a pod ended if its kubelet does not report."""
    lease = {"lease_seen": 0, "lease_age_seconds": None}
    state: dict[str, Any] = {
        "node": "n",
        "ready": ready,
        "since": T0,
        "message": "silent",
        "cordoned": 0,
        "taints": [],
    }
    seen = view(node(), terminating=(lasts(),), not_ready=() if ready else (state | lease,))
    (card,) = [item for item in attention(seen) if item.title == "1 pod still Terminating"]
    assert step in str(card.step)


def test_a_pod_that_is_over_and_stays_has_the_step_to_see_what_holds_it() -> None:
    """Nothing of it runs: neither its grace period nor its processes keep it."""
    (card,) = attention(view(node(), terminating=(lasts(is_over=True),)))
    assert (
        card.text
        == "d/db-0. Its containers have ended: a finalizer holds the object, or the kubelet has not cleaned up."
    )
    assert str(card.step) == "See its finalizers: kubectl get pod -n d db-0 -o jsonpath={.metadata.finalizers}"
    (card,) = attention(view(node(), terminating=(lasts(is_over=True), lasts(pod="db-1"))))
    assert "A long grace period has not ended" in card.text


def test_a_quiet_cluster_needs_none() -> None:
    assert attention(view(node(margins=(margin(),)))) == []
    assert badges(node(margins=(margin(),))) == []


@pytest.mark.parametrize(
    ("changed", "severity", "title"),
    [
        (node(stale=True, sample_age="31 h ago"), "unknown", "No recent statistics of 1 of 1 node"),
        (node(margins=(margin(hard_met=True),)), "critical", "Memory is below its hard threshold"),
        (
            node(margins=(margin(soft=2 * GIB, soft_met=True),)),
            "warning",
            "Memory is below its soft threshold",
        ),
        (node(margins=(margin(seconds_to_hard=600.0),)), "warning", "A threshold is near"),
        (node(margins=(margin(seconds_to_hard=600.0, gc_first=True),)), "note", "Image GC will act"),
        (node(pressure=("DiskPressure",)), "warning", "DiskPressure"),
        (node(times_under_pressure=3), "warning", "In and out of pressure"),
        (node(fit={"cpu": Fit(4000, 4000, 4001, None, 3)}), "warning", "More requested than allocatable"),
        (
            node(numa={"skew_ratio": 0.5, "stranded_cpus": 4, "free_cpus": 10, "largest_fit_cpus": 6}),
            "warning",
            "Uneven NUMA nodes",
        ),
    ],
)
def test_a_finding_of_a_node_has_a_card_with_a_next_step(changed: NodeLine, severity: str, title: str) -> None:
    assert (severity, title) in titles(view(changed))
    assert all(item.step for item in attention(view(changed)))


@pytest.mark.parametrize(
    ("errors", "step"),
    [
        ((), "kubectl get --raw /api/v1/nodes/n/proxy/stats/summary > n.summary.json"),
        (({"resource": "stats/summary", "kind": "unreadable"},), "leadsman query source_errors"),
        (({"resource": "events", "kind": "unreadable"},), "> n.summary.json"),
    ],
    ids=("a dump", "asked in vain", "others were asked"),
)
def test_without_kubelet_statistics_the_card_shows_how_to_save_them(errors: tuple[RowDict, ...], step: str) -> None:
    """Only of a kubelet that was asked there is an error to see."""
    seen = view(node(stale=True), unknown=NOTHING._replace(source_errors=errors))
    (card,) = [item for item in attention(seen) if item.title.startswith("No recent statistics")]
    assert str(card.step).endswith(step)


def test_a_live_cluster_of_which_no_kubelet_was_asked_is_no_dump() -> None:
    live = Scope("c", T0, T0 + timedelta(hours=1), now=T0 + timedelta(hours=1))
    steps = [
        next(item for item in attention(view(*nodes, scope=live)) if "No recent statistics" in item.title).step.words
        for nodes in ((node(stale=True),), (node(stale=True), node("m", last_sample_at=T0)))
    ]
    assert ["--kubelet=direct" in words for words in steps] == [True, False]


def test_of_a_kubelet_that_does_not_report_one_card_says_all() -> None:
    """Its statistics are missing because of it. Where nobody was sampled, they are missing for another reason."""
    silent, up = unready(ready=None, message="silent"), node("up", stale=True)
    down = node(stale=True, ready=None, sample_age="9 min ago")
    stalled = fires("StreamStalled", labels={"resource": "stats/summary"})
    (card,) = attention(view(down, node("well"), not_ready=(silent,), alerts=(stalled,)))
    assert (card.title, card.alerts) == ("1 of 2 nodes with Ready unknown", ("StreamStalled",))
    assert card.text == "Its kubelet does not report. Last sample: 9 min ago. It is unknown whether its pods run."
    cards = [
        [(item.nodes, item.step.words) for item in attention(view(*nodes, not_ready=(silent,)))]
        for nodes in ((down,), (down, up), (down, up, node("well")))
    ]
    assert [[nodes for nodes, _ in each] for each in cards] == [[("n",)], [("n",), ("n", "up")], [("n",), ("up",)]]
    assert all("/nodes/up/proxy/stats/summary" in words for _, *rest in cards for _, words in rest)


@pytest.mark.parametrize(
    ("taints", "title"),
    [
        ((), "1 of 3 nodes cordoned"),
        (("karpenter.sh/disrupted=:NoSchedule",), "1 of 3 nodes being removed by karpenter"),
    ],
)
def test_of_a_silent_kubelet_whose_node_leaves_one_card_says_all(taints: tuple[str, ...], title: str) -> None:
    """It takes no alert and no silence of another node that leaves, whose kubelet reports."""
    rows = [
        unready(name, ready=ready, message="silent", cordoned=1, taints=[*taints])
        for name, ready in (("n", None), ("m", 1))
    ]
    down = node(stale=True, ready=None, sample_age="9 min ago")
    stalled = fires("StreamStalled", labels={"resource": "stats/summary"})
    cards = attention(view(down, node("m"), node("well"), not_ready=tuple(rows), alerts=(stalled,)))
    assert [(card.title, card.nodes, card.alerts) for card in cards] == [
        (f"{title}, Ready unknown", ("n",), ("StreamStalled",)),
        (title, ("m",), ()),
    ]
    assert cards[0].text.endswith("It is silent, so whether it is Ready is unknown. Last sample: 9 min ago.")


@pytest.mark.parametrize(
    "quiet",
    [
        node(margins=(margin(seconds_to_hard=3601.0),)),
        node(times_under_pressure=2),
        node(fit={"cpu": Fit(4000, 4000, 4000, None, 3)}),
        node(numa={"skew_ratio": 1.0, "stranded_cpus": 0, "free_cpus": 6, "largest_fit_cpus": 6}),
        node(numa={"skew_ratio": None, "stranded_cpus": None, "free_cpus": None, "largest_fit_cpus": None}),
        node(known=False, ready=None),
        node(margins=(margin(seconds_to_hard=600.0),), stale=True, known=False),
        node(image_gc="benign_startup"),
        node(image_gc="recovered"),
    ],
)
def test_a_harmless_node_has_no_card(quiet: NodeLine) -> None:
    assert titles(view(quiet)) == []


def test_signals_of_the_disks_are_one_card() -> None:
    """Two disks' signals of one node, both hard; another node soft; inodes, for DiskPressure is about them too."""
    disk = [margin(signal=signal, hard_met=True) for signal in ("nodefs.available", "imagefs.available")]
    inodes = margin(signal="nodefs.inodesFree", hard_met=True)
    seen = view(
        node("a", margins=(*disk, inodes, margin(signal="containerfs.available", soft=2 * GIB, soft_met=True))),
        node("b", margins=(margin(signal="imagefs.available", soft=2 * GIB, soft_met=True),)),
    )
    below = "below the hard threshold on 1 node"
    title = f"Disk: {below}, inodes {below}, below the soft threshold on 1 node"
    assert [(item.title, item.nodes) for item in attention(seen)] == [(title, ("a", "b"))]


def test_image_gc_that_fails_is_reported_in_its_own_words() -> None:
    text = "What fills the disk is not unused images."
    row = {"node": "n", "verdict": "insufficient_freed", "reason": "", "explanation": text, "ts": T0}
    (item,) = attention(view(node(image_gc="insufficient_freed"), image_gc=(row,)))
    assert (item.title, item.text) == ("Image GC frees too little", row["explanation"])


def test_an_inconclusive_verdict_about_the_scheduler_is_no_finding() -> None:
    row = {"verdict": "inconclusive", "evidence": "?", "node": "", "ts": T0}
    assert attention(view(blind_spots=(row,))) == []
    (item,) = attention(view(blind_spots=({**row, "verdict": "lost_node", "node": "n"},)))
    assert (item.title, item.nodes) == ("The scheduler does not see a node", ("n",))


def test_alerts_of_one_name_are_one_item_with_the_worst_severity() -> None:
    alerts = tuple(
        Alert("PodsEvicted", severity, name, True, T0, None, f"{name} evicts", "", "")
        for severity, name in (("warning", "a"), ("critical", "b"))
    )
    (item,) = attention(view(alerts=alerts))
    assert (item.severity, item.nodes) == (Severity.CRITICAL, ("a", "b"))
    resolved = tuple(alert._replace(firing=False, ends_at=T0) for alert in alerts)
    assert attention(view(alerts=resolved)) == []


def test_the_worst_comes_first() -> None:
    seen = view(node("a", pressure=("MemoryPressure",)), node("b", ready=False), not_ready=(unready("b"),))
    assert [word for word, _ in titles(seen)] == ["critical", "warning"]
    assert [each.name for each in by_urgency(seen.nodes)] == ["b", "a"]


def test_of_two_quiet_nodes_the_nearer_one_comes_first() -> None:
    nodes = [node("a", lowest_room=0.5), node("b", lowest_room=0.1), node("c")]
    assert [each.name for each in by_urgency(nodes)] == ["b", "a", "c"]


OVER = "Node n: cpu, 4.001 CPUs requested of 4 CPUs allocatable"


def fires(name: str, **values: Any) -> Alert:
    return Alert(name, "warning", "n", True, T0, None, "", "", "")._replace(**values)


def test_a_problem_and_its_alert_are_one_card_with_the_worse_severity() -> None:
    full = node(fit={"cpu": Fit(4000, 4000, 4001, None, 3)})
    (item,) = attention(view(full, alerts=(fires("NodeOvercommitted", severity="critical", summary=OVER),)))
    assert (item.severity, item.nodes, item.alerts) == (Severity.CRITICAL, ("n",), ("NodeOvercommitted",))
    assert (item.now, item.since) == (True, T0)


def test_an_alert_about_another_node_is_a_card_of_its_own() -> None:
    full = node(fit={"cpu": Fit(4000, 4000, 4001, None, 3)})
    items = attention(view(full, alerts=(fires("NodeOvercommitted", node="other", summary=OVER),)))
    assert [item.nodes for item in items] == [("n",), ("other",)]


def test_finished_problems_are_listed_apart_from_lasting_ones() -> None:
    seen = view(node(ready=False), not_ready=(unready(),), evicted=(eviction(2, minutes=3),))
    now, over = sorted(attention(seen), key=lambda item: not item.now)
    assert (now.title, now.now) == ("1 of 1 node not Ready", True)
    assert (over.now, over.since, over.until) == (False, T0, T0 + timedelta(minutes=3))


def test_pods_that_wait_are_reported_with_their_owner_and_reason() -> None:
    row = {"namespace": "shop", "owner": "ReplicaSet/web", "node": "", "why": "3 Insufficient cpu", "event": "",
           "pods": 25, "autoscaler": "", "first_since": T0, "or_earlier": 0, "pod": "w", "uids": ["u"]}  # fmt: skip
    (item,) = attention(view(node(), waiting=(row,)))
    assert (item.title, item.since, item.now) == ("25 pods Pending", T0, True)
    assert item.text == "25 of ReplicaSet web in shop: 3 Insufficient cpu."


def warning(reason: str, times: int) -> dict[str, Any]:
    return {"reason": reason, "times": times, "most": times, "uids": ["x"],
            "lower_bound": 1, "objects": 2, "nodes": ["n"], "first_at": T0,
            "last_at": T0, "last_kind": "Pod", "last_namespace": "shop", "last_name": "api",
            "last_message": "m"}  # fmt: skip


def test_out_of_memory_is_critical_and_of_other_warnings_the_rare_reasons_share_a_card() -> None:
    rows = tuple(warning(reason, 9) for reason in ("SystemOOM", *"abcdefg"))
    items = attention(view(node(), warnings=rows))
    assert [item.title for item in items] == [
        "The node ran out of memory (SystemOOM), at least 9 times",
        *(f"{reason}, at least 9 times" for reason in "abcde"),
        "Warnings for 2 more reasons",
    ]
    assert items[0].severity is Severity.CRITICAL
    assert items[0].text == "2 objects. The last, Pod shop/api: M."


def test_a_cluster_that_fell_silent_is_reported_once_and_not_node_by_node() -> None:
    scope = Scope("c", T0, T0 + timedelta(hours=1), now=T0 + timedelta(hours=32))
    seen = Evidence(scope, 1, 1, 1, 1, scope.until, scope.until)
    (item,) = attention(view(node(stale=True, sample_age="31 h ago"), scope=scope, evidence=seen))
    assert (item.severity, item.title) == (Severity.UNKNOWN, "No current data")
    assert item.text.startswith("Last sample 2026-07-01 13:00:00 UTC, 1 d 7 h ago.")


UNEVEN = {"skew_ratio": 0.5, "stranded_cpus": 4, "free_cpus": 10, "largest_fit_cpus": 6}


def test_a_node_that_pins_nothing_has_no_numa_room_to_be_uneven() -> None:
    assert [item.title for item in attention(view(node(numa=UNEVEN)))] == ["Uneven NUMA nodes"]
    assert attention(view(node(numa={**UNEVEN, "cpu_manager_policy": "none"}))) == []


def test_a_node_that_a_card_names_is_not_ok() -> None:
    items = attention(view(node(), node("m"), killed=(rejection("TopologyAffinityError", 1),)))
    assert [badge.text for badge in named(node(), items)] == ["1 pod rejected at admission"]
    assert named(node("m"), items) == []


def unready(name: str = "n", **values: Any) -> dict[str, Any]:
    lease = {"lease_seen": 0, "lease_age_seconds": None}
    return {"node": name, "ready": 0, "since": T0, "message": "", "cordoned": 0, "taints": [], **lease, **values}


def test_not_ready_and_silent_nodes_are_two_cards_with_since_when() -> None:
    rows = unready(message="cni plugin not initialized"), unready("m", ready=None)
    refused, silent = attention(view(node(ready=False), node("m", ready=None), not_ready=rows))
    assert (refused.severity, refused.title, refused.since) == (Severity.CRITICAL, "1 of 2 nodes not Ready", T0)
    assert refused.text.startswith("Its kubelet reports: Cni plugin not initialized.")
    assert (silent.severity, silent.title, silent.nodes) == (
        Severity.CRITICAL,
        "1 of 2 nodes with Ready unknown",
        ("m",),
    )


@pytest.mark.parametrize("ready", [0, None])
@pytest.mark.parametrize(
    ("leases", "reported"),
    [
        ([(1, 51.6)], "Its Lease had last been renewed 52 s before that was seen."),
        ([(1, None)], "The last renewal of its Lease is unknown."),
        ([(0, None)], ""),
        (
            [(1, 90.0), (1, 41.2), (0, None)],
            "2 Leases had last been renewed 41 s to 1 min 30 s before that was seen.",
        ),
        ([(1, 50.0), (1, None)], "1 Lease had last been renewed 50 s before that was seen."),
        ([(1, None), (1, None)], "The last renewal of their Leases is unknown."),
    ],
)
def test_how_old_a_lease_was_is_reported_where_somebody_asked_for_it(
    ready: int | None, leases: list[tuple[int, float | None]], reported: str
) -> None:
    rows = tuple(
        unready(str(number), ready=ready, lease_seen=seen, lease_age_seconds=age)
        for number, (seen, age) in enumerate(leases)
    )
    (item,) = attention(view(*(node(row["node"], ready=ready) for row in rows), not_ready=rows))
    assert reported in item.text
    assert ("Lease" in item.text) == bool(reported)


def test_a_cordoned_node_is_a_note_ready_or_not() -> None:
    rows = unready(cordoned=1), unready("m", cordoned=1, ready=1)
    (item,) = attention(view(node(), node("m"), not_ready=rows))
    assert (item.severity, item.title) == (Severity.NOTE, "2 of 2 nodes cordoned")
    assert item.text == "No new pods are placed there. 1 of them is not Ready."
    assert str(item.step) == "When the maintenance is over: kubectl uncordon m"


@pytest.mark.parametrize("taints", [[], ["karpenter.sh/disrupted=:NoSchedule"]])
def test_a_node_that_does_not_report_is_not_said_to_be_not_ready(taints: list[str]) -> None:
    """Ready Unknown is what the node controller writes of a silent kubelet."""
    silent = unready(ready=None, message="Kubelet stopped posting node status.", cordoned=1, taints=taints)
    (item,) = attention(view(node(), not_ready=(silent,)))
    assert "silent, so whether it is Ready is unknown." in item.text
    assert "not Ready" not in f"{item.text} {item.step}"


def test_a_command_takes_a_name_for_nothing_but_a_name() -> None:
    """Names of a capture are anybody's: no option, no second command."""
    (item,) = attention(view(node("--all"), not_ready=(unready("--all", cordoned=1, ready=1),)))
    assert str(item.step) == "When the maintenance is over: kubectl uncordon ' --all'"
    (item,) = attention(view(node(), terminating=(lasts(pod="$(id)", namespace="a b", is_over=True),)))
    assert "kubectl get pod -n 'a b' '$(id)' -o" in str(item.step)


def test_uncordoning_is_not_advised_for_a_node_that_is_not_ready() -> None:
    (item,) = attention(view(node(), not_ready=(unready(cordoned=1),)))
    assert not str(item.step).startswith("When the maintenance is over")


@pytest.mark.parametrize(
    ("taint", "by"),
    [
        ("karpenter.sh/disrupted=:NoSchedule", "karpenter"),
        ("ToBeDeletedByClusterAutoscaler=1680600000:NoSchedule", "cluster-autoscaler"),
    ],
)
@pytest.mark.parametrize("cordoned", [0, 1])
def test_uncordoning_is_not_advised_for_a_node_that_an_autoscaler_removes(taint: str, by: str, cordoned: int) -> None:
    rows = unready(taints=[taint], ready=None, cordoned=cordoned), unready("m", taints=[taint], cordoned=cordoned)
    (item,) = attention(view(node(), node("m"), not_ready=rows))
    assert (item.severity, item.title) == (Severity.NOTE, f"2 of 2 nodes being removed by {by}")
    assert "uncordon" not in str(item.step)


def test_a_taint_of_the_autoscaler_on_a_ready_node_has_its_age() -> None:
    at = int((T0 - timedelta(hours=21)).timestamp())
    rows = (unready(taints=[f"ToBeDeletedByClusterAutoscaler={at}:NoSchedule"], ready=1),)
    (item,) = attention(view(node(), not_ready=rows))
    assert "22 h before" in item.text
    assert str(item.step).endswith("kubectl taint node n ToBeDeletedByClusterAutoscaler-")


def test_a_forecast_alert_does_not_move_the_time_a_threshold_was_met() -> None:
    """10:01 the forecast, 10:06 the threshold."""
    met = node(margins=(margin(soft=2 * GIB, soft_met=True),))
    alert = fires("EvictionThresholdNear", labels={"resource": "memory"}, starts_at=T0)
    begun = {("soft", "memory.available"): {"n": Since(T0 + timedelta(minutes=5))}}
    (item,) = attention(view(met, alerts=(alert,), begun=begun))
    assert (item.since, item.alerts) == (T0 + timedelta(minutes=5), ("EvictionThresholdNear",))


@pytest.mark.parametrize("signal", ["pid.available", "nodefs.inodesFree", "memory.available"])
def test_a_signal_that_runs_out_without_a_threshold_is_critical(signal: str) -> None:
    left = margin(signal=signal, available=5, capacity=1000, hard=None)
    (item,) = attention(view(node(margins=(left,))))
    assert (item.severity, item.signals) == (Severity.CRITICAL, (signal,))
    assert "without a threshold" in item.title
    assert attention(view(node(margins=(left._replace(available=500),)))) == []


UNEXPECTED = "UnexpectedAdmissionError"


def refusal(reason: str, **values: Any) -> dict[str, Any]:
    usual = {"reason": reason, "node": "n", "namespace": "shop", "refused_by": "resources", "explanation": "",
             "resource": "",
             "message": "", "contradiction": ("", 0, 0), "is_contradicted": 0, "last_at": T0}  # fmt: skip
    return {**usual, **values}


def test_where_the_api_shows_room_that_the_kubelet_denies_the_kubelet_is_to_be_restarted() -> None:
    said = refusal(
        "UnexpectedAdmissionError",
        refused_by="device_manager",
        explanation="The pod requests 1 nvidia.com/gpu; the kubelet's device manager has 0 free.",
        resource="nvidia.com/gpu",
        message="Allocate failed due to requested number of devices unavailable for nvidia.com/gpu. "
        "Requested: 1, Available: 0, which is unexpected",
        contradiction=("nvidia.com/gpu", 3, 8),
        is_contradicted=1,
    )
    of_gpus = "device_manager", "nvidia.com/gpu"
    row = rejection("UnexpectedAdmissionError", 4, owner=("Job", "tune-0"), kind=of_gpus)
    (item,) = attention(view(node(), killed=(row,), refused=(said,)))
    assert "The API shows 3 of 8 nvidia.com/gpu free: the kubelet still counts pods that are gone." in item.text
    assert said["message"] in item.text
    assert "CPU" not in item.text
    assert str(item.step).startswith("Restart the kubelet of n")


@pytest.mark.parametrize(
    ("owner", "step"),
    [
        (("ReplicaSet", "web-98cbc7457"), "Scale the Deployment of ReplicaSet web-98cbc7457 down"),
        (("StatefulSet", "db"), "Scale StatefulSet db down"),
        (("Job", "tune-0"), "Suspend Job tune-0"),
        (("DaemonSet", "agent"), "Keep DaemonSet agent off these nodes"),
        (("Pod", "lonely"), "Delete Pod lonely"),
        (("Workflow", "w"), "Have Workflow w make fewer pods"),
    ],
)
def test_advice_fits_the_owner(owner: tuple[str, str], step: str) -> None:
    (item,) = attention(view(node(), killed=(rejection("TopologyAffinityError", 1, owner=owner),)))
    assert str(item.step).startswith(step)


def test_a_nodes_badge_has_no_number_of_the_cluster() -> None:
    rows = [rejection("TopologyAffinityError", 76, node=name) for name in ("n", "m")]
    nodes = node(), node("m")
    items = attention(view(*nodes, killed=tuple(rows)))
    assert items[0].title == "152 pods rejected at admission"
    assert [badge.text for each in nodes for badge in named(each, items)] == ["pods rejected", "pods rejected"]


LEAKY = "ReplicaSet", "leaky-98cbc7457"


def eviction(pods: int, owner: tuple[str, str] = LEAKY, *, minutes: int = 0, **values: Any) -> dict[str, Any]:
    given = {"cause": "pressure", "resource": "memory", "node": "n", "namespace": "shop", "owner": owner}
    times = {"first_at": T0, "last_at": T0 + timedelta(minutes=minutes), "timed": pods, "or_earlier": 0}
    return {**given, **times, "pods": pods, "unexplained": 0, **values}


def test_evictions_of_one_resource_are_one_card_with_owners() -> None:
    rows = eviction(5), eviction(1, ("Pod", "best"), minutes=3), eviction(2, resource="ephemeral-storage")
    item, disk = attention(view(node(), evicted=rows))
    assert (item.severity, item.title) == (Severity.CRITICAL, "6 pods evicted for memory")
    assert item.who == "ReplicaSet leaky-98cbc7457 in shop, 5 times; Pod best in shop, once"
    assert (item.since, item.until, item.now) == (T0, T0 + timedelta(minutes=3), False)
    assert disk.title == "2 pods evicted for ephemeral storage"
    assert str(disk.step) == "Find what fills the disk: leadsman query disk_growth"


@pytest.mark.parametrize(
    ("timed", "or_earlier", "said"),
    [
        (1, 0, "12:00:00 to 12:05:00"),
        (1, 1, "12:00:00 or earlier to 12:05:00"),
        (0, 0, "between 12:00:00 and 12:05:00"),
        (0, 1, "12:05:00 or earlier"),
    ],
)
def test_a_time_that_is_only_a_bound_is_called_that(timed: int, or_earlier: int, said: str) -> None:
    seen = view(node(), evicted=(eviction(2, minutes=5, timed=timed, or_earlier=or_earlier),))
    assert words_of(attention(seen)[0], seen).startswith(f"2 pods evicted for memory, {said}. ")


def test_evictions_that_no_pod_explains_lead_outside_of_pods() -> None:
    (item,) = attention(view(node(), evicted=(eviction(2, resource="ephemeral-storage", unexplained=2),)))
    assert item.title == "2 pods evicted for ephemeral storage"
    assert str(item.step).startswith("Check system logs")


def test_an_eviction_for_a_limit_of_its_own_is_apart() -> None:
    rows = eviction(1), eviction(1, cause="limit", resource="ephemeral-storage")
    assert titles(view(node(), evicted=rows)) == [
        ("critical", "1 pod evicted for memory"),
        ("warning", "1 pod evicted for its own limit"),
    ]


def test_of_many_owners_the_first_are_named() -> None:
    (item,) = attention(view(node(), evicted=tuple(eviction(9 - n, ("Job", f"j{n}")) for n in range(5))))
    assert item.who.endswith("Job j2 in shop, 7 times; 2 more owners")


def rejection(reason: str, pods: int, **values: Any) -> dict[str, Any]:
    given = {"cause": "admission", "reason": reason, "kind": ("", ""), "node": "n", "namespace": "shop"}
    owner = {"owner": ("ReplicaSet", "web-98cbc7457"), "container": "", "times": pods, "pods": pods}
    return {**given, **owner, "first_at": T0, "last_at": T0, "timed": pods, "or_earlier": 0, **values}


@pytest.mark.parametrize(
    ("reason", "resource", "message", "step"),
    [
        (
            "VolumeAttachmentLimitExceeded",
            "",
            "Volume attachment limit exceeded",
            "See what the driver can attach: kubectl get csinode n -o yaml",
        ),
        (
            "OutOfhugepages-2Mi",
            "hugepages-2Mi",
            "Node didn't have enough resource: hugepages-2Mi, requested: 2097152, used: 0, capacity: 0",
            "Give n hugepages-2Mi, drain it and restart its kubelet, or keep such pods off it.",
        ),
        (
            "OutOfhugepages-2Mi",
            "hugepages-2Mi",
            "Node didn't have enough resource: hugepages-2Mi, requested: 2097152, used: 2097152, capacity: 2097152",
            "Compare what the pods on n request with what it has: leadsman query fit",
        ),
        (
            "OutOfephemeral-storage",
            "ephemeral-storage",
            "Node didn't have enough resource: ephemeral-storage, requested: 10000000, used: 0, capacity: 9555167",
            "Compare what the pods on n request with what it has: leadsman query fit",
        ),
        (
            "OutOfephemeral-storage",
            "ephemeral-storage",
            "Node didn't have enough resource: ephemeral-storage, requested: 1, used: 0, capacity: 0",
            "Delete the failed pods; if new ones are refused too, drain n and restart its kubelet.",
        ),
    ],
    ids=["volumes", "no huge pages", "huge pages in use", "more than the node has", "nothing counted yet"],
)
def test_the_step_against_a_refusal_fits_what_the_node_lacks(
    reason: str, resource: str, message: str, step: str
) -> None:
    """A kubelet counts huge pages when it starts, and no request uses up the volumes that a node can attach."""
    said = refusal(reason, resource=resource, message=message)
    (item,) = attention(view(node(), killed=(rejection(reason, 1),), refused=(said,)))
    assert str(item.step) == step


@pytest.mark.parametrize(
    ("reason", "refused_by", "said", "step"),
    [
        ("SysctlForbidden", "security", 'forbidden sysctl: "net.core.somaxconn" not allowlisted', "security context"),
        ("AppArmor", "security", "Cannot enforce AppArmor: profile is not loaded", "security context"),
        (
            "PodOSNotSupported",
            "system",
            "Failed to admit pod as the OS field doesn't match node OS",
            "kubernetes.io/os",
        ),
        ("NodeName", "node_name", "Predicate NodeName failed", "spec.nodeName"),
        ("PodFeatureUnsupported", "feature", "Pod requires node features that are not available: X", "feature gate"),
        ("VolumeAttachmentLimitExceeded", "resources", "Node has reached its volume attachment limit", "csinode n"),
    ],
)
def test_nobody_cordons_a_node_for_what_a_pod_asks_and_the_reason_is_said_once(
    reason: str, refused_by: str, said: str, step: str
) -> None:
    """Every node refuses such a pod for the same reason, and its owner makes another one."""
    why = parse_refusal(reason, said).words
    last = refusal(reason, refused_by=refused_by, explanation=why, message=said)
    (item,) = attention(view(node(), killed=(rejection(reason, 1),), refused=(last,)))
    assert step in str(item.step)
    assert "cordon" not in str(item.step)
    assert item.text.count(". ") == 1  # why, and the kubelet's words


def test_words_of_an_earlier_refusal_are_not_called_those_of_the_last() -> None:
    silent = refusal(UNEXPECTED, refused_by="device_manager", message="Allocate failed due to what nobody knows")
    before = refusal(UNEXPECTED, refused_by="device_manager", explanation="A device plugin failed.")
    row = rejection(UNEXPECTED, 2, kind=("device_manager", ""))
    (unknown_last,) = attention(view(node(), killed=(row,), refused=(silent, before)))
    (known_last,) = attention(view(node(), killed=(row,), refused=(before, silent)))
    assert "One of them: A device plugin failed." in unknown_last.text
    assert "The last: A device plugin failed." in known_last.text


def test_errors_that_a_kubelet_did_not_expect_are_a_card_for_each_manager() -> None:
    gpus = {"refused_by": "device_manager", "resource": "nvidia.com/gpu"}
    memory = {"refused_by": "memory_manager", "resource": "memory"}
    rows = [
        rejection(UNEXPECTED, 1, owner=("Job", "tune"), kind=("device_manager", "nvidia.com/gpu")),
        rejection(UNEXPECTED, 3, owner=("StatefulSet", "db"), kind=("memory_manager", "memory")),
    ]
    said = [
        refusal(UNEXPECTED, explanation="The kubelet has no healthy nvidia.com/gpu.", **gpus),
        refusal(UNEXPECTED, explanation="The memory manager could not allocate the memory.", **memory),
    ]
    of_gpus, of_memory = attention(view(node(), killed=tuple(rows), refused=tuple(said)))
    assert ("nvidia.com/gpu" in of_gpus.text, "memory" in of_gpus.text) == (True, False)
    assert "device plugin of nvidia.com/gpu" in str(of_gpus.step)
    assert ("memory" in of_memory.text, "nvidia.com/gpu" in of_memory.text) == (True, False)
    assert str(of_memory.step).startswith("Scale StatefulSet db down")


def test_the_only_refusal_is_not_called_the_last() -> None:
    only = refusal(UNEXPECTED, refused_by="device_manager", explanation="A device plugin failed.")
    row = rejection(UNEXPECTED, 1, kind=("device_manager", ""))
    (item,) = attention(view(node(), killed=(row,), refused=(only,)))
    assert "A device plugin failed." in item.text
    assert "last" not in item.text


def test_a_reason_that_says_nothing_by_itself_is_explained_by_the_text_alone() -> None:
    said = refusal(
        "PodFeatureUnsupported",
        refused_by="feature",
        explanation="The node lacks a feature that the pod uses.",
        message="Pod requires node features that are not available: GuaranteedQoSPodCPUResize",
    )
    (item,) = attention(view(node(), killed=(rejection("PodFeatureUnsupported", 1),), refused=(said,)))
    assert item.text == (
        "The node lacks a feature that the pod uses. "
        "The kubelet reported: Pod requires node features that are not available: GuaranteedQoSPodCPUResize."
    )


def test_a_refusal_with_amounts_is_not_repeated_under_others() -> None:
    why = "The kubelet's Topology Manager found no placement on NUMA nodes that its policy allows."
    of = {"ts": T0, "node": "n", "reason": "TopologyAffinityError"}
    numa = (of | {"explanation": f"{why} The pod requests 26 exclusive CPUs, and 34 CPUs were free."},)
    said = (refusal("TopologyAffinityError", refused_by="topology_manager", explanation=why),)
    (item,) = attention(
        view(node(), killed=(rejection("TopologyAffinityError", 1),), numa_failures=numa, refused=said)
    )
    assert item.text.count(why.rstrip(".")) == 1
    assert "Others" not in item.text


def test_a_hundred_rejections_are_one_card_with_their_alert() -> None:
    refused = {"ts": T0, "node": "n", "reason": "TopologyAffinityError", "explanation": "it asked for 8 CPUs"}
    alert = fires("TopologyAdmissionRunaway", severity="critical")
    seen = view(node(), killed=(rejection("TopologyAffinityError", 100),), numa_failures=(refused,), alerts=(alert,))
    (item,) = attention(seen)
    assert (item.severity, item.title) == (Severity.CRITICAL, "100 pods rejected at admission")
    assert item.who == "ReplicaSet web-98cbc7457 in shop, 100 times"
    assert item.text == "Their resources could not be aligned on NUMA nodes. The last: It asked for 8 CPUs."
    assert str(item.step).startswith("Scale the Deployment of ReplicaSet web-98cbc7457 down")
    assert (item.alerts, item.now) == (("TopologyAdmissionRunaway",), True)


def test_an_alert_goes_with_the_rejections_of_its_own_reason() -> None:
    rows = rejection("DiskPressure", 69), rejection("OutOfcpu", 2)
    alert = fires("PodsRejected", labels={"node": "n", "reason": "OutOfcpu"})
    cards = {item.text: item.alerts for item in attention(view(node(), killed=rows, alerts=(alert,)))}
    assert cards == {
        "The node was under disk pressure.": (),
        "The kubelet counted too little free CPU.": ("PodsRejected",),
    }


def test_oom_kills_are_one_card_with_owners_and_counts() -> None:
    kill = rejection("", 1, cause="oom_kill", container="a")
    rows = {**kill, "times": 7}, {**kill, "container": "b"}
    (item,) = attention(view(node(), killed=rows))
    assert (item.severity, item.title) == (Severity.WARNING, "8 OOM kills of 2 containers")
    assert item.who == "ReplicaSet web-98cbc7457 in shop, 8 times"


def test_the_warnings_of_pods_that_wait_are_reported_with_them() -> None:
    waits = {"namespace": "shop", "owner": "", "node": "n", "why": "Failed: x", "event": "Failed",
             "pods": 1, "autoscaler": "", "first_since": T0, "or_earlier": 0, "pod": "a", "uids": ["u"]}  # fmt: skip
    failed, other = warning("Failed", 121) | {"uids": ["u"]}, warning("Failed", 2) | {"uids": ["u", "v"]}
    assert titles(view(node(), waiting=(waits,), warnings=(failed,))) == [("warning", "1 pod Pending")]
    assert len(attention(view(node(), waiting=(waits,), warnings=(other,)))) == 2


def test_pressure_has_since_when_and_its_alert() -> None:
    lasting = node(pressure=("DiskPressure",), pressure_since={"DiskPressure": T0 - timedelta(hours=1)})
    alert = fires("NodePressureLasting", labels={"node": "n", "condition": "DiskPressure"})
    (item,) = attention(view(lasting, alerts=(alert,)))
    assert (item.title, item.since, item.alerts) == (
        "DiskPressure",
        T0 - timedelta(hours=1),
        ("NodePressureLasting",),
    )


def test_pressure_without_its_time_may_have_begun_earlier() -> None:
    tainted = node(
        pressure=("DiskPressure",), pressure_since={"DiskPressure": T0}, pressure_or_earlier=("DiskPressure",)
    )
    (item,) = attention(view(tainted))
    assert (item.since, item.or_earlier) == (T0, True)


def test_every_card_has_since_when() -> None:
    """The time comes from the database, or from the rows themselves; the state may be older than its first sight."""
    begun = {
        (kind, what): {name: Since(T0, or_earlier=kind == "over") for name in ("n", "")}
        for kind, what in (("hard", "memory.available"), ("near", "nodefs.available"), ("over", "cpu"), ("late", ""),
                           ("uneven", ""), ("cordoned", ""))
    }  # fmt: skip
    troubled = node(
        margins=(margin(hard_met=True), margin(signal="nodefs.available", seconds_to_hard=600.0)),
        fit={"cpu": Fit(4000, 4000, 4001, None, 3)},
        numa=UNEVEN,
        times_under_pressure=3,
        under_pressure=(T0, T0 + timedelta(minutes=9)),
    )
    late = {"verdict": "late_joiners_emptier", "youngest_nodes": ["n"], "oldest_nodes": [], "explanation": "x"}
    rest = tuple(warning(reason, 9) for reason in "abcdefg")
    silent = node("m", stale=True, last_sample_at=T0)
    seen = view(troubled, silent, late_joiners=late, warnings=rest, not_ready=(unready(cordoned=1),), begun=begun)
    items = attention(seen)
    assert len(items) == 14
    assert [item.title for item in items if item.since is None] == []
    assert [item.title for item in items if item.or_earlier] == ["More requested than allocatable"]
    assert [item.title for item in items if not item.now and item.until is None] == []


def test_a_node_that_was_never_sampled_is_without_statistics_since_it_is_looked_at() -> None:
    (item,) = attention(view(node(), node("m", stale=True)))
    assert (item.since, item.or_earlier) == (T0, True)


def test_alerts_without_data_have_a_next_step() -> None:
    lost = fires("NodeNotReady", firing=False, unknown=True)
    (card,) = [item for item in attention(view(node(stale=True), alerts=(lost,))) if "without data" in item.title]
    assert (card.title, card.since, bool(card.step)) == ("1 alert without data", T0, True)


def test_every_card_has_a_next_step() -> None:
    rows = tuple(warning(reason, 9) for reason in "abcdefg")
    seen = view(node(stale=True), warnings=rows, alerts=(fires("Whatever"),))
    assert all(item.step for item in attention(seen))


def test_a_card_about_a_signal_has_its_exact_name_beside_the_words() -> None:
    inodes = margin(signal="nodefs.inodesFree", available=9, hard=10, soft=None, hard_met=True)
    (item,) = attention(view(node(margins=(inodes,))))
    left = "9 inodes available, below the hard threshold of 10 inodes."
    assert item.text == f"n, inodes of the node's file system: {left}"
    assert item.signals == ("nodefs.inodesFree",)


def test_of_one_node_no_card_counts_nodes_or_names_it_again() -> None:
    troubled = node(margins=(margin(hard_met=True),), ready=False, stale=True, last_sample_at=T0)
    seen = view(troubled, not_ready=(unready(),), node="n")
    assert [item.title for item in attention(seen)] == [
        "Not Ready",
        "Memory is below its hard threshold",
        "No recent statistics",
    ]
    assert [item.text for item in attention(seen) if item.text.startswith("n")] == []


def test_a_taint_that_is_there_is_not_advised() -> None:
    """The pod garbage collector ends pods of a node that is out of service."""
    gone = {"node": "n", "ready": None, "since": T0, "message": "silent", "cordoned": 0, "lease_seen": 0}
    advised = {}
    for taints in ([], ["node.kubernetes.io/out-of-service=nodeshutdown:NoExecute"]):
        seen = view(node(), terminating=(lasts(),), not_ready=(gone | {"taints": taints},))
        (card,) = (item for item in attention(seen) if "Terminating" in item.title)
        advised[len(taints)] = card.step.words
    assert "kubectl taint node n node.kubernetes.io/out-of-service" in advised[0]
    assert "kubectl taint" not in advised[1]


def test_image_gc_without_new_data_is_over_and_may_go_on() -> None:
    row = {
        "node": "n",
        "verdict": "persistent",
        "reason": "invalid_capacity",
        "explanation": "It fails.",
        "ts": T0,
        "last_at": T0,
        "goes_on": False,
        "is_gone": False,
    }
    (card,) = attention(view(node(image_gc="persistent", image_gc_goes_on=False), image_gc=(row,)))
    assert (card.title, card.now, card.until) == ("Image GC kept failing", False, T0)
    assert card.text == "As last reported: It fails. It is unknown whether it still does: there is no data since."


def test_a_card_of_several_nodes_names_the_one_of_its_words_and_when_these_were_true() -> None:
    gone = {"verdict": "persistent", "reason": "invalid_capacity", "explanation": "It fails.", "ts": T0}
    rows = tuple(gone | {"node": name, "last_at": T0, "is_gone": True} for name in "ab")
    nodes = [node(name, image_gc="persistent", image_gc_goes_on=False) for name in "ab"]
    (card,) = attention(view(*nodes, image_gc=rows))
    assert card.text == "On a, as last reported: It fails. Those nodes are gone."
    (card,) = attention(view(*(each._replace(image_gc_goes_on=True) for each in nodes), image_gc=rows))
    assert card.text == "On a: It fails."
    (card,) = attention(view(nodes[0]._replace(image_gc_goes_on=True), image_gc=rows))
    assert card.text == "It fails."


@pytest.mark.parametrize(
    ("policy", "exclusive_cpus", "reported"),
    [
        ("static", 0, "Exact CPU IDs of exclusive pods are unknown (counts only) on:"),
        ("none", 0, ""),
        ("", 16, "It is unknown whether pods hold CPUs exclusively, because no CPU Manager policy was seen:"),
        ("", 0, ""),
    ],
)
def test_exclusive_cpus_are_spoken_of_only_with_a_policy_that_was_seen(
    policy: str, exclusive_cpus: int, reported: str
) -> None:
    numa = {"fidelity": "none", "cpu_manager_policy": policy, "exclusive_cpus": exclusive_cpus}
    found = [(text, nodes) for text, nodes in uncertain(view(node(numa=numa))) if "CPU" in text]
    assert found == ([(reported, ("n",))] if reported else [])


def test_a_report_has_a_node_of_each_shortage_in_detail_before_a_second_of_one() -> None:
    low, disk = margin(hard_met=True), margin(signal="nodefs.available", seconds_to_hard=600.0)
    nodes = node("m1", margins=(low,)), node("m2", margins=(low,)), node("d", margins=(disk,))
    assert [each.name for each in by_urgency(nodes)] == ["m1", "m2", "d"]
    assert [each.name for each in in_detail(view(*nodes))] == ["m1", "d", "m2"]
