"""FailedScheduling texts; expected values follow the rules (rules: scheduler-messages, recorded-behaviour)."""

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from profiles import EXAMPLES
from streams.rules.scheduling.message import CUT, TEXT_LIMIT, parse

REAL_1_36 = (
    "0/1 nodes are available: 1 Insufficient cpu. no new claims to deallocate, preemption: 0/1 nodes are available: "
    "1 Preemption is not helpful for scheduling."
)
TAINT_1_18 = "node(s) had taint {node-role.kubernetes.io/master: }, that the pod didn't tolerate"

REASONS = [
    "node(s) didn't match node selector",
    "node(s) didn't match Pod's node affinity",
    "node(s) didn't match Pod's node affinity/selector",
    "node(s) had taints that the pod didn't tolerate",
    TAINT_1_18,
    "node(s) had untolerated taint {key: value}",
    "node(s) had untolerated taint(s)",
    "node(s) had volume node affinity conflict",
    "node(s) didn't match PersistentVolume's node affinity",
    "node is filtered out by the prefilter result",
    "node(s) didn't satisfy plugin(s) [NodeAffinity]",
    "Insufficient cpu",
    "Insufficient nvidia.com/gpu",
    "Too many pods",
]
PREEMPTION_REASONS = [
    "No preemption victims found for incoming pod",
    "Preemption is not helpful for scheduling",
]


def histogram_text(histogram: dict[str, int]) -> str:
    return ", ".join(sorted(f"{count} {reason}" for reason, count in histogram.items()))


def text_of(minor: int, nodes: int, reasons: dict[str, int], preemption: dict[str, int] | str, prefilter: str) -> str:
    """A text as Kubernetes 1.`minor` writes it, by its rule (rules: scheduler-messages)."""
    text = f"0/{nodes} nodes are available:"
    if prefilter and minor >= 26:
        text += f" {prefilter}."
    if reasons and (not prefilter or minor in range(26, 29)):
        text += f" {histogram_text(reasons)}."
    if minor < 24:
        return text
    if isinstance(preemption, dict):
        suffix = f"preemption: 0/{nodes} nodes are available: {histogram_text(preemption)}."
    else:
        suffix = f"preemption: {preemption}."
    if minor in range(26, 29):
        suffix += "."
    claims = "no new claims to deallocate, " if minor >= 36 else ""
    return f"{text} {claims}{suffix}"


histograms = st.dictionaries(
    st.one_of(
        st.sampled_from(REASONS),
        st.from_regex(
            r"node\(s\) had taint \{[a-z./-]{1,9}: [a-z0-9.-]{0,9}\}, that the pod didn't tolerate", fullmatch=True
        ),
    ),
    st.integers(1, 5000),
    min_size=1,
    max_size=6,
)


@settings(max_examples=EXAMPLES * 3 // 2)
@given(
    minor=st.integers(17, 36),
    nodes=st.integers(1, 5000),
    reasons=histograms,
    preemption=st.one_of(
        st.dictionaries(st.sampled_from(PREEMPTION_REASONS), st.integers(1, 5000), min_size=1),
        st.sampled_from(
            [
                "not eligible due to preemptionPolicy=Never",
                "not eligible due to a terminating pod on the nominated node",
            ]
        ),
    ),
)
def test_a_text_of_any_version_gives_back_the_histogram_it_was_built_from(
    minor: int, nodes: int, reasons: dict[str, int], preemption: dict[str, int] | str
) -> None:
    message = parse(text_of(minor, nodes, reasons, preemption, prefilter=""))
    assert message is not None
    assert (message.kind, message.nodes_total, message.truncated) == ("no_fit", nodes, False)
    assert message.reasons == reasons
    assert message.reason_sum == sum(reasons.values())
    assert message.post_filter == ("no new claims to deallocate" if minor >= 36 else "")
    assert message.oldest_minor == (0 if minor < 24 else 24)
    if minor < 24:
        assert message.preemption is None
        return
    assert message.preemption is not None
    if isinstance(preemption, dict):
        assert message.preemption == (nodes, preemption, "")
    else:
        assert message.preemption == (None, {}, preemption)


@given(minor=st.integers(26, 36), reasons=histograms)
def test_a_prefilter_text_replaces_the_histogram_or_in_1_26_to_1_28_stands_before_it(
    minor: int, reasons: dict[str, int]
) -> None:
    why = "pod has unbound immediate PersistentVolumeClaims"
    message = parse(text_of(minor, 7, reasons, "not eligible due to preemptionPolicy=Never", prefilter=why))
    assert message is not None
    assert message.prefilter == why
    assert message.reasons == (reasons if minor < 29 else {})
    assert message.oldest_minor == 26


def test_the_real_text_of_1_36_has_its_claims_part_beside_its_histogram() -> None:
    message = parse(REAL_1_36)
    assert message is not None
    assert message.nodes_total == message.reason_sum == 1
    assert message.reasons == {"Insufficient cpu": 1}
    assert message.post_filter == "no new claims to deallocate"
    assert message.preemption == (1, {"Preemption is not helpful for scheduling": 1}, "")


def test_a_reason_keeps_the_comma_inside_it() -> None:
    message = parse(f"0/13 nodes are available: 12 node(s) didn't match node selector, 3 {TAINT_1_18}.")
    assert message is not None
    assert message.reasons == {"node(s) didn't match node selector": 12, TAINT_1_18: 3}
    assert message.reason_sum == 15


def test_a_taint_named_preemption_is_a_reason_and_not_the_preemption_part() -> None:
    reason = "node(s) had untolerated taint {example.com/preemption: now}"
    message = parse(f"0/2 nodes are available: 2 {reason}.")
    assert message is not None
    assert message.reasons == {reason: 2}
    assert message.preemption is None


@pytest.mark.parametrize("end", ["", ".", ".."])
def test_trailing_full_stops_are_not_part_of_a_reason(end: str) -> None:
    message = parse(f"0/2 nodes are available: 2 Too many pods{end}")
    assert message is not None
    assert message.reasons == {"Too many pods": 2}


def test_no_reasons_at_all_is_an_empty_histogram() -> None:
    """1.31.13 prints nothing for nodes that are no candidates (rules: scheduler-messages)."""
    message = parse("0/4 nodes are available: . preemption: 0/4 nodes are available: 4 Preemption is not helpful.")
    assert message is not None
    assert (message.reasons, message.reason_sum, message.prefilter) == ({}, 0, "")


def test_no_nodes_available_means_that_the_scheduler_has_no_nodes() -> None:
    message = parse("no nodes available to schedule pods")
    assert message is not None
    assert (message.kind, message.nodes_total, message.reasons) == ("no_nodes", 0, {})


def test_a_pod_that_is_being_deleted_is_skipped_not_failed() -> None:
    message = parse("skip schedule deleting pod: shop/cart-0")
    assert message is not None
    assert message.kind == "deleting"


@pytest.mark.parametrize(
    "text",
    [
        "",
        'binding rejected: running PreBind plugin "VolumeBinding": timed out waiting for the condition',
        'persistentvolumeclaim "data" not found',
        "0/ nodes are available: 1 Insufficient cpu.",
        "0/99999999999999999999 nodes are available: 1 Insufficient cpu.",
        "0/٣ nodes are available: ٣ Insufficient cpu.",
        "0/3 Knoten sind verfügbar: 3 zu wenig cpu.",
    ],
)
def test_other_failures_are_not_misread_as_a_failure_to_find_a_node(text: str) -> None:
    assert parse(text) is None


@pytest.mark.parametrize(
    ("cut", "reasons"),
    [
        (
            "0/9 nodes are available: 2 Insufficient cpu, 3 node(s) had ta",
            {"Insufficient cpu": 2, "node(s) had ta ...": 3},
        ),
        ("0/9 nodes are available: 2 Insufficient cpu, 3", {"Insufficient cpu ...": 2}),
        ("0/9 nodes are available: 2 Insufficient cpu,", {"Insufficient cpu ...": 2}),
        ("0/9 nodes are available: 2", {}),
    ],
)
def test_a_count_at_the_cut_of_a_truncated_note_is_ignored(cut: str, reasons: dict[str, int]) -> None:
    message = parse(cut + CUT)
    assert message is not None
    assert message.truncated
    assert message.reasons == reasons


def test_a_note_cut_in_its_preemption_part_has_all_its_reasons() -> None:
    message = parse("0/9 nodes are available: 9 Too many pods. preemption: 0/9 nodes are av" + CUT)
    assert message is not None
    assert message.truncated
    assert message.reasons == {"Too many pods": 9}


def test_the_prefix_of_combined_events_is_removed() -> None:
    message = parse("(combined from similar events): 0/2 nodes are available: 2 Too many pods.")
    assert message is not None
    assert message.nodes_total == 2


@given(st.text(max_size=300), st.sampled_from(["", "0/3 nodes are available: ", "0/3 nodes are available: 3 x, "]))
def test_hostile_text_is_either_understood_or_not_but_never_an_error(text: str, start: str) -> None:
    message = parse(start + text)
    assert message is None or message.reason_sum == sum(message.reasons.values())


@pytest.mark.parametrize("unit", ["1 a, ", "a. ", ", ", "1", ".", " preemption: ", "0/1 nodes are available: "])
def test_a_text_of_megabytes_is_cut_and_read_in_linear_time(unit: str) -> None:
    text = "0/3 nodes are available: " + unit * (4_000_000 // len(unit))
    start = time.perf_counter()
    message = parse(text)
    assert time.perf_counter() - start < 2
    assert message is not None
    assert message.truncated
    assert sum(map(len, message.reasons)) <= TEXT_LIMIT
