"""Our eviction thresholds against the kubelet's parser (rules: eviction-thresholds)."""

from typing import Any, TypeAlias

from hypothesis import assume, given, settings
from hypothesis import strategies as st

from ingest.model.objects.node import KubeletConfiguration
from oracle.programs import Oracles
from oracle.test_eviction_order import LAYOUTS
from streams.rules.eviction.signals import SIGNALS, Layout
from streams.rules.eviction.thresholds import BadThreshold, effective_thresholds, threshold_value

Row: TypeAlias = tuple[str, int, int, int | None]
"""Signal, nanoseconds of grace (0 for a hard threshold), value and minimum reclaim."""

numbers = st.one_of(
    st.integers(0, 200).map(str),
    st.integers(0, 10**12).map(str),
    st.floats(0, 120, allow_nan=False, width=32).map(repr),
    st.decimals(0, 130, places=8, allow_nan=False).map(lambda each: f"{each:f}"),
    st.integers(0, 130).map(lambda each: f"{each}."),
    st.sampled_from(["-1", "-0", "+5", ".5", "1e2", "1e-3", "1E1", "x", "1_0", "0x10", "100.000001", "99.9999999"]),
)
suffixes = st.sampled_from(["%", "%", "%", "", "Ki", "Mi", "Gi", "M", "m", "u", "k", "e3", "%%", " ", "B"])
values = st.one_of(
    st.sampled_from(["0%", "100%", "10%", "5%", "100Mi", "1Gi", "", "%"]), st.builds(str.__add__, numbers, suffixes)
)
signals = st.sampled_from([*SIGNALS, *SIGNALS, "memory.free"])
durations = st.sampled_from(["0s", "1m30s", "2m", "1.5h", "-1m", "1", "30s", "100ms", "1us", "", "90"])
settings_of_kubelets = st.fixed_dictionaries(
    {
        "hard": st.dictionaries(signals, values, max_size=4),
        "soft": st.dictionaries(signals, values, max_size=2),
        "grace": st.dictionaries(signals, durations, max_size=3),
        "reclaim": st.dictionaries(signals, values, max_size=2),
        "enforce": st.sampled_from([["pods"], [], ["none"], ["pods", "system-reserved"]]),
        "capacity": st.sampled_from([0, 1, 1000, 82533764 << 10, 10**15]) | st.integers(0, 2**53),
    }
)


def ours(question: dict[str, Any], layout: Layout) -> list[Row] | None:
    """None if no kubelet would start."""
    config = KubeletConfiguration(
        eviction_hard=question["hard"],
        eviction_soft=question["soft"],
        eviction_soft_grace_period=question["grace"],
        eviction_minimum_reclaim=question["reclaim"],
        enforce_node_allocatable=question["enforce"],
    )
    try:
        found = effective_thresholds(config, "v1.36.3", layout).by_signal
    except BadThreshold:
        return None

    def value(text: str) -> int:
        return threshold_value(text, question["capacity"])

    rows: list[Row] = []
    for signal, each in found.items():
        reclaim = None if each.minimum_reclaim is None else value(each.minimum_reclaim)
        if each.hard is not None:
            rows.append((signal, 0, value(each.hard), reclaim))
        if each.soft is not None:
            rows.append((signal, round((each.soft_grace_seconds or 0) * 10**9), value(each.soft), reclaim))
    return sorted(rows, key=repr)


def has_two_for_a_signal(question: dict[str, Any]) -> bool:
    """The kubelet then heeds both; ours keep one of a kind (accuracy.md#known-differences)."""
    allocatable = {"allocatableMemory.available"} & (question["hard"].keys() | question["soft"].keys())
    both = question["hard"].keys() & question["soft"].keys()
    return bool(allocatable and "pods" in question["enforce"]) or any(
        question["grace"].get(signal) == "0s" for signal in both
    )


@settings(settings.get_profile("oracle"))
@given(settings_of_kubelets, st.sampled_from(list(LAYOUTS)))
def test_thresholds_are_the_kubelets(kubernetes: Oracles, question: dict[str, Any], layout: Layout) -> None:
    assume(not has_two_for_a_signal(question))
    with_imagefs, is_split = LAYOUTS[layout]
    answer = kubernetes.ask("thresholds", {**question, "imageFs": with_imagefs, "split": is_split})
    theirs = None
    if not answer["error"]:
        rows = [(each["signal"], each["grace"], each["value"], each["reclaim"]) for each in answer["thresholds"]]
        theirs = sorted(rows, key=repr)
    assert ours(question, layout) == theirs, answer["error"]
