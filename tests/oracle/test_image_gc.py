"""Our decision of image GC against the kubelet's image GC manager (rules: image-gc-loop, image-gc-messages)."""

from hypothesis import given, settings
from hypothesis import strategies as st

from oracle.programs import Oracles
from streams.rules.image_gc.messages import parse_image_gc
from streams.rules.image_gc.thresholds import decide, gc_threshold_available_bytes

sizes = st.one_of(st.sampled_from([0, 1, 99, 100, 101]), st.integers(0, 10**4), st.integers(0, 2**53))
percents = st.tuples(st.integers(0, 100), st.integers(0, 100)).map(sorted)


@settings(settings.get_profile("oracle"))
@given(st.none() | sizes, st.none() | sizes, percents, st.lists(sizes, max_size=5))
def test_image_gc_decides_as_the_kubelets(
    kubernetes: Oracles, capacity: int | None, available: int | None, low_and_high: list[int], images: list[int]
) -> None:
    low, high = low_and_high
    question = {"capacity": capacity, "available": available, "low": low, "high": high, "images": images}
    answer = kubernetes.ask("image_gc", question)
    # The kubelet does not start a manager with a high threshold of 100, unless images can be too old for it.
    decision = decide(available, capacity, high, low, maximum_age_seconds=1)
    event = parse_image_gc(*answer["event"].split(" ", 2)[1:]) if answer["event"] else None
    if decision.verdict == "invalid_capacity":
        assert event is not None
        assert event.reason == "invalid_capacity"
        return
    assert capacity
    assert (min(available or 0, capacity) < gc_threshold_available_bytes(capacity, high)) == (
        decision.verdict == "free"
    )
    if decision.verdict == "below_high":
        assert (answer["usage"], answer["freed"], event) == (None, 0, None)
        return
    assert (decision.verdict, decision.usage_percent) == ("free", answer["usage"])
    assert decision.wanted_bytes == max(0, answer["wanted"])
    assert (event is not None) == (answer["freed"] < decision.wanted_bytes)
    if event is not None:
        assert answer["freed"] == sum(images)
        assert (event.reason, event.usage_percent, event.freed_bytes) == (
            "insufficient_freed",
            decision.usage_percent,
            answer["freed"],
        )
