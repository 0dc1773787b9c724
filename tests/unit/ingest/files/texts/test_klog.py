"""Lines of klog in every form in which people save them, and hostile ones (rules: kubelet-log)."""

import json
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingest.files.history import Fact
from ingest.files.recognize import Thing
from ingest.files.texts.klog import LEAP_YEAR, parse
from ingest.files.texts.kubelet_log import DumpEvent, grouped, is_kubelets_log, placed, read_log, without_lines
from ingest.files.texts.logs import Logs
from ingest.model.observation import Position
from ingest.resources.events import EVENTS
from ingest.resources.kubelet_log import OWN_LIMIT, SAID, event_of
from ingest.resources.kubelet_log import Line as Kept
from ingest.resources.nodes import NODES
from ingest.resources.pods import PODS

KLOG = (
    'I0106 12:44:17.658612   26615 eviction_manager.go:366] "Eviction manager: attempting to reclaim"'
    ' resourceName="memory"'
)
JSON = {
    "ts": 1736167457658.612,
    "caller": "eviction/eviction_manager.go:366",
    "msg": "Eviction manager: attempting to reclaim",
    "v": 0,
    "resourceName": "memory",
}
AT = datetime(2025, 1, 6, 12, 44, 17, 658612, tzinfo=UTC)
NEWEST = datetime(2025, 1, 6, 13, tzinfo=UTC)
LOCAL = AT.replace(tzinfo=None, year=LEAP_YEAR)


def journal(message: str, program: str = "kubelet") -> str:
    fields = {"_HOSTNAME": "n1", "SYSLOG_IDENTIFIER": program, "MESSAGE": message}
    return json.dumps(fields | {"__REALTIME_TIMESTAMP": "1736167457659000"})


@pytest.mark.parametrize(
    ("line", "at", "host"),
    [
        (KLOG, None, ""),
        (f"janv. 06 12:44:17 n1 kubelet[26615]: {KLOG}", None, "n1"),
        (f"2025-01-06T13:44:17+01:00 n1 kubelet[26615]: {KLOG}", AT, "n1"),
        (f"Mon 2025-01-06 12:44:17 UTC n1 kubelet[1]: {KLOG}", AT, "n1"),
        (f"Mon 2025-01-06 12:44:17 CET n1 kubelet[1]: {KLOG}", None, "n1"),
        (f"2025-01-06T12:44:17.658612000Z stderr F {KLOG}", AT, ""),
        (f"1736167457.658612 n1 k3s[1]: {KLOG}", AT, "n1"),
        (f"Jan 06 12:44:17 n1 kubenswrapper[1]: {KLOG}", None, "n1"),
        (f"2025-01-06T12:44:17.658612000Z {KLOG}", AT, ""),
        (f"17:{KLOG}", None, ""),
        (f"var/log/kubelet.log:{KLOG}", None, ""),
        (f"    MESSAGE={KLOG}", None, ""),
        (json.dumps(JSON), AT, ""),
        (f"Jan 06 12:44:17 n1 kubelet[1]: {json.dumps(JSON)}", AT, "n1"),
        (journal(KLOG), AT.replace(microsecond=659000), "n1"),
    ],
)
def test_a_line_has_its_time_as_far_as_its_form_has_it(line: str, at: datetime | None, host: str) -> None:
    found = parse(line.encode())
    assert found is not None
    assert (found.said, found.values) == ("Eviction manager: attempting to reclaim", {"resourceName": "memory"})
    assert (found.at, found.host) == (at, host)


@pytest.mark.parametrize(
    "line",
    [
        f"Jan 06 12:44:17 n1 kube-proxy[1]: {KLOG}",
        journal(KLOG, "containerd"),
        "I0231 12:44:17.658612 1 a.go:1] x",
        "I1306 25:44:17.658612 1 a.go:1] x",
        '{"ts": 1e300, "caller": "a", "msg": "x"}',
        '{"ts": 1, "msg"',
        "",
    ],
)
def test_lines_of_other_programs_and_of_no_time_are_none(line: str) -> None:
    assert parse(line.encode()) is None


@pytest.mark.parametrize(
    ("body", "reason", "message"),
    [
        (
            '"Failed to admit pod to node" pod="a/b" nodeCondition=["DiskPressure","PIDPressure"]',
            "Evicted",
            "The node had condition: [DiskPressure PIDPressure]. ",
        ),
        (
            '"Predicate failed on Pod" pod="a/b" err="Node didn\'t have enough resource: cpu, requested: 2"',
            "OutOfcpu",
            "Node didn't have enough resource: cpu, requested: 2",
        ),
        (
            '"Pod admission denied" podUID="u" pod="a/b" reason="TopologyAffinityError" message="Resources"',
            "TopologyAffinityError",
            "Resources",
        ),
        (
            '"Event occurred" object="a/b" kind="Pod" type="Warning" reason="NodeAffinity" message="m"',
            "NodeAffinity",
            "m",
        ),
    ],
)
def test_a_refusal_is_read_from_the_line_of_each_version(body: str, reason: str, message: str) -> None:
    (found,) = placed(
        read_log(f"I0106 12:44:17.658612 1 a.go:1] {body}".encode()), "n1", NEWEST, grouped(()), {}, is_dated=True
    )
    event = event_of(found.line, "n1", found.at)
    assert event is not None
    assert event.involved_object is not None
    assert (event.reason, event.message) == (reason, message)
    assert (event.involved_object.namespace, event.involved_object.name) == ("a", "b")


POD = "web-0_shop(5d1c9f6e-0000-4000-8000-000000000001)"
OF_POD = {"pod": "shop/web-0", "podUID": "5d1c9f6e-0000-4000-8000-000000000001"}
OVER = "[imageGCManager]: Disk usage on {} is at {}% which is over the high threshold ({}%). Trying to free {} bytes"
OVER_SINCE = (
    "Disk usage on image filesystem is over the high threshold, trying to free bytes down to the low threshold"
)
ABOUT = (
    'v1.ObjectReference{Kind:"Pod", Namespace:"shop", Name:"web-0", UID:"u1", APIVersion:"v1", ResourceVersion:"7",'
    ' FieldPath:""}'
)
GC = "failed to garbage collect required amount of images. Wanted to free 5487241625 bytes, but freed 0 bytes"


@pytest.mark.parametrize(
    ("sentence", "said", "values"),
    [
        (
            "eviction manager: attempting to reclaim ephemeral-storage",
            "Eviction manager: attempting to reclaim",
            {"resourceName": "ephemeral-storage"},
        ),
        (
            "eviction manager: able to reduce nodefsInodes pressure without evicting pods.",
            "Eviction manager: able to reduce resource pressure without evicting pods.",
            {"resourceName": "nodefsInodes"},
        ),
        (
            "eviction manager: must evict pod(s) to reclaim memory",
            "Eviction manager: must evict pod(s) to reclaim",
            {"resourceName": "memory"},
        ),
        (
            f"eviction manager: pods ranked for eviction: {POD}, kube-proxy-x_kube-system(0f64da7d8c2cf3bb)",
            "Eviction manager: pods ranked for eviction",
            {"pods": ["shop/web-0", "kube-system/kube-proxy-x"]},
        ),
        (
            f"eviction manager: pod {POD} is evicted successfully",
            "Eviction manager: pod is evicted successfully",
            OF_POD,
        ),
        (
            f"eviction manager: pod {POD} evicted successfully",
            "Eviction manager: pod is evicted successfully",
            OF_POD,
        ),
        (
            f"eviction manager: cannot evict a critical static pod {POD}",
            "Eviction manager: cannot evict a critical pod",
            OF_POD,
        ),
        (
            f"eviction manager: timed out waiting for pods {POD} to be cleaned up",
            "Eviction manager: timed out waiting for pods to be cleaned up",
            {"pods": ["shop/web-0"]},
        ),
        (
            OVER.format("image filesystem", 85, 85, 5487241625) + " down to the low threshold (80%).",
            OVER_SINCE,
            {"usage": "85", "highThreshold": "85", "amountToFree": "5487241625", "lowThreshold": "80"},
        ),
        (
            OVER.format('"/dev/sda1" (/)', 91, 90, 1),
            OVER_SINCE,
            {"usage": "91", "highThreshold": "90", "amountToFree": "1"},
        ),
        (
            '[imageGCManager]: Removing image "sha256:ab" to free 716 bytes',
            "Removing image to free bytes",
            {"imageID": "sha256:ab", "size": "716"},
        ),
        (
            f"Image garbage collection failed multiple times in a row: {GC}",
            "Image garbage collection failed multiple times in a row",
            {"err": GC},
        ),
        (
            f"Failed to admit pod {POD} - node has conditions: [DiskPressure MemoryPressure]",
            "Failed to admit pod to node",
            {**OF_POD, "nodeCondition": ["DiskPressure", "MemoryPressure"]},
        ),
        (
            f"Predicate failed on Pod: {POD}, for reason: Node didn't have enough resource: cpu, requested: 200",
            "Predicate failed on Pod",
            {**OF_POD, "err": "Node didn't have enough resource: cpu, requested: 200"},
        ),
        (
            f"Event({ABOUT}): type: 'Warning' reason: 'Evicted' The node was low.",
            "Event occurred",
            {
                "kind": "Pod",
                "object": "shop/web-0",
                "podUID": "u1",
                "type": "Warning",
                "reason": "Evicted",
                "message": "The node was low.",
            },
        ),
    ],
)
def test_a_sentence_of_a_kubelet_before_1_21_is_read_as_the_later_line(
    sentence: str, said: str, values: dict[str, str | list[str]]
) -> None:
    found = parse(f"W0106 12:44:17.658612   26615 eviction_manager.go:333] {sentence}".encode())
    assert found is not None
    assert (found.said, found.values) == (said, values)
    assert found.said in SAID


@pytest.mark.parametrize(
    "sentence",
    [
        "eviction manager: pod /_x(u) is evicted successfully",
        "eviction manager: pods ranked for eviction",
        '"eviction manager: attempting to reclaim memory"',
        "Event(v1.ObjectReference{Kind:}): type: 'Warning' reason: 'Evicted' x",
    ],
)
def test_a_forged_sentence_is_none_of_them(sentence: str) -> None:
    found = parse(f"W0106 12:44:17.658612   26615 eviction_manager.go:333] {sentence}".encode())
    assert found is None or found.said not in SAID


def test_lines_of_k3s_itself_have_the_year_and_the_zone_of_its_kubelet() -> None:
    of_k3s = 'server_1 | time="2019-10-10T23:50:02.11+02:00" level=info msg="Running kubelet --hostname-override=n7"'
    line = (
        "server_1 | W1011 00:12:17.658612   1 eviction_manager.go:3] eviction manager: attempting to reclaim memory"
    )
    log = read_log(f"{of_k3s}\n{line}".encode())
    assert log.node == "n7"
    (found,) = placed(log, "n7", NEWEST, grouped(()), {}, is_dated=False)
    assert found.at == datetime(2019, 10, 10, 22, 12, 17, 658612, tzinfo=UTC)
    assert found.line.earliest is found.line.latest is None


def test_pods_are_read_of_text_and_of_json_alike() -> None:
    text = 'I0106 12:44:17.658612 1 a.go:1] "Eviction manager: pods ranked for eviction" pods=["a/b" "c/d"]'
    pods = [{"namespace": "a", "name": "b"}, {"namespace": "c", "name": "d"}]
    as_json = json.dumps(
        {"ts": 1.0, "caller": "a", "msg": "Eviction manager: pods ranked for eviction", "pods": pods}
    )
    found = [parse(each.encode()) for each in (text, as_json)]
    assert [each and each.values["pods"] for each in found] == [["a/b", "c/d"]] * 2


@pytest.mark.parametrize("part", [" a=[", " a={", ' a=["', ' a=[" "', ' a="'])
def test_a_line_of_open_brackets_and_quotes_takes_time_in_proportion(part: str) -> None:
    line = (f'I0106 12:44:17.658612 1 a.go:1] "Eviction manager: must evict" n="1"{part * 4000}').encode()
    began = time.process_time()
    found = [parse(line) for _ in range(100)]
    assert found[0] is not None
    assert found[0].values["n"] == "1"
    assert time.process_time() - began < 3


def test_values_behind_a_list_that_was_cut_are_read() -> None:
    found = parse(b'I0106 12:44:17.658612 1 a.go:1] "Said" pods=["a/b" "c/d node="n1" signal=memory.available')
    assert found is not None
    assert found.values["signal"] == "memory.available"


@given(
    st.binary(max_size=300) | st.text(max_size=300).map(str.encode),
    st.sampled_from(["", KLOG, json.dumps(JSON), journal(KLOG)]),
)
def test_no_line_raises(noise: bytes, around: str) -> None:
    for line in (noise, around.encode()[: len(noise)] + noise, noise + around.encode()):
        parse(line)
        reported = list(placed(read_log(line), "n1", NEWEST, grouped(()), {}, is_dated=True))
        assert all(each.line.said in SAID for each in reported)


def test_a_log_is_a_kubelets_by_its_source_files_or_its_journal() -> None:
    assert is_kubelets_log(KLOG.encode())
    assert is_kubelets_log(json.dumps(JSON, separators=(",", ":")).encode())
    assert is_kubelets_log(journal(KLOG).encode())
    assert not is_kubelets_log(b'I0106 12:44:17.658612       1 schedule_one.go:1] "Unable to schedule pod" pod="a/b"')
    assert not is_kubelets_log(b"eviction_manager.go:1] is a file")


def bounds(text: str, *events: DumpEvent, is_dated: bool = True) -> tuple[datetime, datetime | None, datetime | None]:
    (found,) = placed(read_log(text.encode()), "n1", NEWEST, grouped(events), {}, is_dated=is_dated)
    return found.at, found.line.earliest, found.line.latest


def test_year_and_zone_come_from_a_time_that_the_process_itself_took() -> None:
    other = (
        'I0106 12:44:10.100000 1 pod_startup_latency_tracker.go:104] "Observed" '
        'watchObservedRunningTime="2025-01-06 12:44:10.09 +0200 EET m=+1.5"'
    )
    assert bounds(f"{other}\n{KLOG}") == (AT.replace(hour=10), None, None)


def test_the_zone_comes_from_an_event_about_the_same() -> None:
    at = datetime(2025, 1, 6, 20, 44, 17, tzinfo=UTC)
    assert bounds(KLOG, DumpEvent("EvictionThresholdMet", "Node//n1", at, at, 1)) == (
        at.replace(microsecond=658612),
        None,
        None,
    )


def test_an_unknown_zone_gives_bounds_and_an_unknown_year_no_lower_one() -> None:
    assert bounds(KLOG) == (
        AT,
        datetime(2025, 1, 5, 22, 44, 17, 658612, UTC),
        datetime(2025, 1, 7, 0, 44, 17, 658612, UTC),
    )
    assert bounds(KLOG, is_dated=False)[1] is None


def test_a_line_after_new_year_s_eve_is_of_the_year_before() -> None:
    assert bounds(KLOG.replace("I0106", "I1231"))[0].year == 2024


def test_log_lines_counted_by_an_event_are_marked_and_dropped_ones_are_not() -> None:
    lines = "\n".join(KLOG.replace("12:44:17", f"12:44:{second}") for second in (10, 20, 30, 40))
    event = DumpEvent("EvictionThresholdMet", "Node//n1", AT.replace(second=10), AT.replace(second=40), 2)
    found = placed(read_log(lines.encode()), "n1", NEWEST, grouped([event]), {}, is_dated=True)
    assert [each.line.is_reported for each in found] == [True, False, False, True]


def fact(resource: str, value: object, identity: tuple[str, ...] = ()) -> Fact:
    thing = Thing("list", resource, "ADDED", json.dumps(value).encode(), identity=identity)
    return Fact(thing, "", None, Position("dump", "1"))


def kept(tmp_path: Path, text: str, *known: Fact, newest: datetime = NEWEST, node: str = "n1") -> list[Kept]:
    path = tmp_path / "a.log"
    path.write_text(text)
    logs = Logs()
    logs.add(path, text.encode())
    found = logs.facts(known, newest, lambda _, host: host or node, is_dated=True)
    return [msgspec.json.decode(each.thing.raw, type=Kept) for each in found]


@pytest.mark.parametrize(
    ("first", "last"),
    [("0001-01-01T00:00:00Z", "2025-01-06T12:44:17Z"), ("2025-01-06T12:44:17", "2025-01-06T12:44:17")],
)
def test_an_event_without_a_first_time_or_a_zone_still_reports_its_line(
    tmp_path: Path, first: str, last: str
) -> None:
    event = {
        "metadata": {"name": "n1.a"},
        "involvedObject": {"kind": "Node", "name": "n1"},
        "reason": "EvictionThresholdMet",
        "firstTimestamp": first,
        "lastTimestamp": last,
    }
    assert [each.is_reported for each in kept(tmp_path, KLOG, fact(EVENTS.name, event))] == [True]


@pytest.mark.parametrize(
    "before",
    [
        'I0101 00:00:10.100000 1 a.go:1] "x" t="0001-01-01 00:00:00.0 +1200 X m=+1"',
        "Log file created at: 0001/01/01 00:00:00",
        "Log file created at: 9999/12/31 00:00:00",
    ],
)
def test_a_year_of_no_log_is_not_its_year(before: str) -> None:
    assert bounds(f"{before}\n{KLOG}")[0] == AT


def nodes_of(path: Path, text: str, given: str = "") -> set[str]:
    logs = Logs()
    logs.add(path, text.encode())
    known = [fact(NODES.name, {}, ("", "", "n1", "u"))]
    return {each.node for each in logs.facts(known, NEWEST, lambda _, host: host, is_dated=True, given=given)}


def test_the_machine_that_a_line_names_goes_before_the_nodes_of_the_dump() -> None:
    of_n1, of_n7 = (f"2025-01-06T12:44:17+0000 {host} kubelet[1]: {KLOG}" for host in ("n1", "n7"))
    assert nodes_of(Path("dump/other.log"), of_n7) == {"n7"}
    assert nodes_of(Path("kubelet-n1.log"), f"{of_n1}\n{of_n7}") == {"n1", "n7"}
    assert nodes_of(Path("nodes/n2/kubelet.log"), of_n1) == {"n1"}
    assert nodes_of(Path("other.log"), of_n7, given="n1") == {"n1"}


def test_a_file_can_name_the_node_of_its_log() -> None:
    assert nodes_of(Path("n5.kubelet.log"), KLOG) == {"n5"}


def taken(line: str, at: str) -> str:
    return f'{line} 10:00:10.100000 1 a.go:1] "x" t="{at} +0000 UTC m=+1000.5"'


@pytest.mark.parametrize(
    ("lines", "day"),
    [
        ([KLOG.replace("I0106", "I1231"), taken("I0102", "2025-01-02 10:00:10.09")], "2024-12-31"),
        ([taken("I1231", "2024-12-31 10:00:10.09"), KLOG], "2025-01-06"),
        ([taken("I0101", "2024-12-31 23:59:59.09"), KLOG], "2025-01-06"),
        (["Log file created at: 2024/12/30 10:00:00", KLOG], "2025-01-06"),
        (["Log file created at: 2024/12/30 10:00:00", 'I1231 10:00:10.1 1 a.go:1] "x"', KLOG], "2025-01-06"),
    ],
)
def test_a_known_year_is_of_its_own_line_and_others_count_from_it(lines: list[str], day: str) -> None:
    at, _, latest = bounds("\n".join(lines))
    assert at.date().isoformat() == day
    assert latest is None or "created" in lines[0]


def test_a_log_can_be_saved_weeks_after_its_dump_but_not_dated_by_a_later_copy() -> None:
    may, june = (datetime(2025, 5, 20, tzinfo=UTC), datetime(2025, 6, 11, 14, tzinfo=UTC))
    log = read_log(KLOG.replace("I0106", "I0611").encode())
    (found,) = placed(log, "n1", may, grouped(()), {}, is_dated=True, saved_at=june)
    assert (found.at.date().isoformat(), found.line.earliest) == ("2025-06-11", None)
    (found,) = placed(log, "n1", june, grouped(()), {}, is_dated=True, saved_at=june.replace(year=2027))
    assert found.at.year == 2025
    assert found.line.earliest is not None


EVICTED = 'I0106 12:44:18.7 1 a.go:1] "Eviction manager: pod is evicted successfully" pod="prod/web-0"'.replace(
    "18.7", "18.700000"
)
OLD, NEW = ("11111111-1111-1111-1111-111111111111", "22222222-2222-2222-2222-222222222222")


def named(text: str, uid: str) -> str:
    return f'I0106 12:44:00.000000 1 a.go:1] {text} pod="prod/web-0" podUID="{uid}"'


@pytest.mark.parametrize(
    ("lines", "uid"),
    [
        ([EVICTED, named('"Topology Admit Handler"', NEW)], ""),
        ([EVICTED, named('"No sandbox for pod can be found. Need to start a new one"', NEW)], ""),
        ([EVICTED, named('"Killing container"', OLD), named('"Topology Admit Handler"', NEW)], OLD),
        ([named('"Topology Admit Handler"', OLD), EVICTED, named('"Topology Admit Handler"', NEW)], OLD),
        ([named('"Topology Admit Handler"', NEW), EVICTED], NEW),
    ],
)
def test_a_line_is_not_of_the_pod_that_starts_after_it(lines: list[str], uid: str) -> None:
    assert [each.uid for each in read_log("\n".join(lines).encode()).lines] == [uid]


def test_a_line_is_not_of_a_pod_of_the_dump_that_was_created_later(tmp_path: Path) -> None:
    pod = fact(PODS.name, {"metadata": {"creationTimestamp": "2025-01-06T12:45:00Z"}}, ("", "prod", "web-0", NEW))
    lines = "\n".join(
        f"2025-01-06T12:{at}+0000 n1 kubelet[1]: {EVICTED.replace('44:18', at)}" for at in ("44:18", "44:59", "47:18")
    )
    assert [each.uid for each in kept(tmp_path, lines, pod)] == ["prod/web-0", NEW, NEW]


@pytest.mark.parametrize("is_first", [True, False])
def test_a_line_has_the_text_of_an_eviction_also_if_an_older_version_of_the_pod_is_read_after(
    tmp_path: Path, is_first: bool
) -> None:
    text = "The node was low on resource: memory. "
    evicted, running = (
        fact(PODS.name, {"status": status}, ("", "prod", "web-0", NEW))
        for status in ({"phase": "Failed", "reason": "Evicted", "message": text}, {"phase": "Running"})
    )
    pods = (evicted, running) if is_first else (running, evicted)
    line = f"2025-01-06T12:44:18+0000 n1 kubelet[1]: {EVICTED}"
    (found,) = (event_of(each, "n1", AT) for each in kept(tmp_path, line, *pods))
    assert found is not None
    assert found.message == text


def test_a_line_is_the_same_text_in_a_part_of_its_log() -> None:
    whole, part = Logs(), Logs()
    lines = [f"I0106 12:44:17.{number}00000   1 {line}" for number, line in enumerate((LOW, MUST, BARE, WAITING))]
    whole.add(Path("a"), "\n".join(lines).encode())
    for number, line in enumerate(lines):
        part.add(Path("b"), line.encode())
        assert len(part.texts) == number + 1
    assert part.texts == whole.texts


def test_a_log_of_an_unknown_form_is_not_said_to_be_without_evictions() -> None:
    strange = KLOG.replace("I0106 12:44:17.658612", "info 12h44")
    assert without_lines(strange.encode()) == "a kubelet's log in an unknown form"
    assert without_lines(KLOG.replace("attempting", "trying").encode()).endswith("image GC and refusals")


@pytest.mark.parametrize(
    ("about", "reason", "is_own"),
    [
        ('object="n1" kind="Node"', "EvictionThresholdMet", True),
        ('object="n2" kind="Node"', "EvictionThresholdMet", False),
        ('object="n2" kind="Node"', "Rebooted", False),
        ('object="n1" kind="Node"', "RegisteredNode", False),
        ('object="a/b" kind="Pod"', "TaintManagerEviction", False),
        ('object="a/b" kind="Pod"', "Evicted", True),
    ],
)
def test_an_event_of_another_part_of_k3s_is_not_the_kubelet_s(about: str, reason: str, is_own: bool) -> None:
    text = f'I0106 12:44:17.658612 1 event.go:307] "Event occurred" {about} reason="{reason}" message="m"'
    (found,) = placed(read_log(text.encode()), "n1", NEWEST, grouped(()), {}, is_dated=True)
    assert (event_of(found.line, "n1", found.at) is not None) == is_own


BARE = 'eviction_manager.go:612] "Eviction manager: pod is evicted successfully" pod="a/b"'
RANKED = 'eviction_manager.go:398] "Eviction manager: pods ranked for eviction" pods=["a/b" "c/d"]'
LOW = 'eviction_manager.go:369] "Eviction manager: attempting to reclaim" resourceName="memory"'
REFUSED = 'eviction_manager.go:214] "Failed to admit pod to node" pod="e/f" nodeCondition=["DiskPressure"]'
MUST = 'eviction_manager.go:380] "Eviction manager: must evict pod(s) to reclaim" resourceName="memory"'
WAITING = 'eviction_manager.go:205] "Eviction manager: pods evicted, waiting for pod to be cleaned up" pods=["a/b"]'
WAITING_OF_1_20 = WAITING.replace('["a/b"]', '"b_a(b9b6ee45-1f42-4d8b-9ea8-cf0cf2a4ff79), x_y(u)"')
WAITING_FOR_TWO = WAITING.replace('"a/b"', '"a/b","c/d"')
TIMED_OUT = 'eviction_manager.go:411] "Eviction manager: timed out waiting for pods to be cleaned up" pods=["a/b"]'
SOMETHING = "The node was low on compute resources."


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ((BARE,), ""),
        ((RANKED, BARE), SOMETHING),
        ((RANKED.replace("a/b", "x/y"), BARE), ""),
        ((REFUSED, BARE), ""),
        ((LOW, BARE), "The node was low on resource: memory. "),
        ((REFUSED, BARE, MUST), ""),
        ((MUST, BARE.replace("a/b", "c/d"), BARE), ""),
        ((MUST, BARE.replace("a/b", "c/d"), "", BARE), OWN_LIMIT),
        ((WAITING,), ""),
        ((LOW, WAITING), "The node was low on resource: memory. "),
        ((TIMED_OUT,), ""),
        ((LOW, BARE, WAITING, TIMED_OUT), "The node was low on resource: memory. "),
        (("", BARE, WAITING_OF_1_20), OWN_LIMIT),
        ((WAITING_FOR_TWO,), OWN_LIMIT),
        ((BARE, WAITING_FOR_TWO), OWN_LIMIT),
        ((BARE, TIMED_OUT.replace('"a/b"', '"a/b","c/d"')), OWN_LIMIT),
    ],
    ids=[
        "alone",
        "ranked",
        "another is ranked",
        "refused",
        "threshold met",
        "a whole log",
        "its round is cut off",
        "its own limit",
        "waiting",
        "waiting after a threshold",
        "timed out",
        "all three lines",
        "waiting as Go prints it",
        "waiting for two",
        "waiting for two that were told",
        "timed out with two",
    ],
)
def test_an_eviction_in_a_filtered_log_is_for_pressure_if_another_line_shows_that(
    lines: Sequence[str], message: str
) -> None:
    """An empty line stands for two minutes."""
    log = read_log(
        "".join(
            f"I0106 12:{44 + 2 * lines[:n].count('')}:17.{n}00000   1 {line}\n" for n, line in enumerate(lines)
        ).encode()
    )
    (found,) = (each for each in log.lines if each.line.values.get("pod") == "a/b")
    event = event_of(Kept(found.line.said, found.line.values), "n1", AT)
    assert event is not None
    assert (event.reason, event.message) == ("Evicted", message)


ROUND = ("1231 23:59:50.100000", LOW), ("1231 23:59:50.200000", MUST), ("0101 00:00:01.300000", BARE)


@pytest.mark.parametrize(
    "start", ["", "2025-01-06T12:44:17.{n}Z n1 kubelet[1]: ", "2025-01-06T12:44:17Z n1 kubelet[1]: "]
)
@pytest.mark.parametrize("step", [1, -1], ids=["oldest first", "newest first"])
def test_a_log_in_reverse_order_reads_the_same(start: str, step: int) -> None:
    """Over New Year, and with times of the store in whole seconds."""
    rounds = (*ROUND, ("0101 00:00:01.400000", WAITING))
    lines = [f"{start.format(n=n)}I{at}    1 {line}\n" for n, (at, line) in enumerate(rounds)]
    read = read_log("".join(lines[::step]).encode()).lines
    assert [(each.line.said, each.line.values.get("resourceName")) for each in read] == [
        ("Eviction manager: attempting to reclaim", "memory"),
        ("Eviction manager: must evict pod(s) to reclaim", "memory"),
        ("Eviction manager: pod is evicted successfully", "memory"),
    ]


def test_logcli_writes_its_labels_before_lines_as_json_too() -> None:
    text = (
        f'2025-01-06T12:44:18Z {{nodename="n1", unit="kubelet.service"}} {json.dumps(JSON, separators=(",", ":"))}\n'
    )
    assert is_kubelets_log(text.encode())
    assert [(each.line.at, each.line.host) for each in read_log(text.encode()).lines] == [(AT, "n1")]


def test_streams_of_a_store_that_lie_behind_each_other_are_one_log() -> None:
    reported = [
        f"2025-01-06T12:44:{second}Z n1 kubelet[1]: I0106 12:44:{second}.000000    1 {line}\n"
        for second, line in (("18", BARE), ("16", LOW), ("17", MUST))
    ]
    read = read_log("".join(reported).encode()).lines
    assert [each.line.values.get("resourceName") for each in read] == ["memory"] * 3


@pytest.mark.parametrize(
    ("start", "host"),
    [
        ("11月 06 12:44:17 n1", "n1"),
        ("Jan 06 12:44:17.658 n1", "n1"),
        ("n1.example Jan 06 12:44:17.658 n1", "n1.example"),
    ],
)
def test_a_journal_names_its_host_in_any_language_and_behind_the_name_of_its_node(start: str, host: str) -> None:
    line = parse(f"{start} kubelet[1]: {KLOG}".encode())
    assert line is not None
    assert (line.host, line.said) == (host, "Eviction manager: attempting to reclaim")


@pytest.mark.parametrize(
    ("before", "host"), [("172.20.0.2", "172.20.0.2"), ("cp-1", "cp-1"), ("kubelet", ""), ("k3s", ""), ("stderr", "")]
)
def test_the_name_of_a_program_before_a_line_is_no_node(before: str, host: str) -> None:
    """A node stands there by talosctl, and a program where logs are joined."""
    line = parse(f"{before}: {KLOG}".encode())
    assert line is not None
    assert line.host == host
