"""Details of the image-GC analytic beyond its verdicts, which the scenario `image_gc` shows."""

from components.captures import (
    GIB,
    Json,
    about_pod,
    at,
    configz,
    event,
    filesystem,
    node,
    observation,
    records,
    summary,
)
from streams.analytics.image_gc import image_gc
from streams.fold.findings import ImageGc
from streams.fold.fold import Fold, LogState

TOO_LITTLE = (
    "Failed to garbage collect required amount of images. Attempted to free 1000 bytes, "
    "but only found 0 bytes eligible to free."
)


def rows(*observations: Json) -> list[ImageGc]:
    fold, log = Fold([image_gc.REDUCER]), LogState()
    folded = [record.folded() for record in records(*observations)]
    return [each for one in folded for each in fold.step(log, one) if isinstance(each, ImageGc)]


def failed(clock: str, reason: str, message: str, name: str = "e.1") -> Json:
    return event(clock, name, reason, message, node="n", kind="Warning")


def invalid(clock: str, name: str = "e.1") -> Json:
    return failed(clock, "InvalidDiskCapacity", "invalid capacity 0 on image filesystem", name)


def started(clock: str) -> Json:
    return event(clock, f"start.{clock}", "Starting", "Starting kubelet.", node="n")


def other(clock: str) -> Json:
    """A record that moves the log's time and says nothing of image GC."""
    return configz(clock, "n")


def test_a_lost_sandbox_image_is_reported_with_the_failure_that_explains_it() -> None:
    """Image GC deletes the unused sandbox image, and then no pod can start (section G)."""
    lost = 'Failed to create pod sandbox: failed to get sandbox image "pause:1": not found'
    first, second = rows(
        failed("12:00:00", "FreeDiskSpaceFailed", TOO_LITTLE),
        event("12:00:30", "p.1", "FailedCreatePodSandBox", lost, node="n", about=about_pod("p")),
        event("12:00:40", "q.1", "FailedCreatePodSandBox", lost, node="n", about=about_pod("q")),
    )
    assert (first.ts, first.verdict) == (second.ts, second.verdict)
    assert "sandbox image" not in first.explanation
    assert "Since 12:00:30 pods fail to start: the runtime cannot get the pause image" in second.explanation


def test_a_sandbox_that_fails_without_a_failed_run_is_no_matter_of_image_gc() -> None:
    lost = "failed to get sandbox image"
    assert not rows(event("12:00:30", "p.1", "FailedCreatePodSandBox", lost, node="n", about=about_pod("p")))


def test_the_explanation_says_that_the_settings_are_assumed() -> None:
    [row] = rows(failed("12:00:00", "FreeDiskSpaceFailed", TOO_LITTLE))
    assert "starts at 85 % and targets 80 % (the defaults, since no /configz was seen), but" in row.explanation


def test_a_single_failure_long_after_the_start_that_was_not_seen_again_has_passed() -> None:
    """No ImageGCFailed for eleven minutes, and nothing else either (rules: invalid-capacity)."""
    early = [started("11:00:00"), invalid("12:00:00"), other("12:10:00")]
    assert not rows(*early)
    [row] = rows(*early, other("12:11:00"))
    assert (row.verdict, row.occurrences) == ("recovered", 1)
    assert "sample" not in row.explanation


def test_an_undecided_failure_of_a_node_that_another_replaces_has_passed_too() -> None:
    made_again = node("12:05:00", "n")
    made_again["object"]["metadata"]["creationTimestamp"] = at("12:05:00")
    found = rows(started("11:00:00"), invalid("12:00:00"), made_again, invalid("12:05:30", "e.2"), other("12:20:00"))
    assert [(f"{row.ts:%H:%M:%S}", row.verdict, row.occurrences) for row in found] == [
        ("12:00:00", "recovered", 1),
        ("12:05:30", "recovered", 1),
    ]


def test_the_same_without_a_start_that_was_seen_is_taken_for_one() -> None:
    [row] = rows(invalid("12:00:00"), other("12:11:00"))
    assert row.verdict == "benign_startup"
    assert "the kubelet's start before it was not seen" in row.explanation


def test_a_benign_start_and_one_long_after_are_two_episodes() -> None:
    found = rows(started("12:00:00"), invalid("12:00:00"), started("12:20:00"), invalid("12:20:00", "e.2"))
    assert [(f"{row.ts:%H:%M}", row.verdict, row.occurrences) for row in found] == [
        ("12:00", "benign_startup", 1),
        ("12:20", "benign_startup", 1),
    ]


def test_a_benign_verdict_becomes_persistent_when_the_next_run_fails_too() -> None:
    again = invalid("12:05:00", "e.2")
    first, second = rows(started("12:00:00"), invalid("12:00:00"), again)
    assert (first.verdict, second.verdict) == ("benign_startup", "persistent")
    assert (first.ts, second.occurrences) == (second.ts, 2)


def test_one_failure_that_samples_confirm_is_not_called_many() -> None:
    unread = [summary(f"12:0{minute}:00", "n", image_fs=filesystem(0, 0)) for minute in (1, 6)]
    found = rows(started("11:00:00"), invalid("12:00:00"), *unread)[-1]
    assert (found.verdict, found.occurrences) == ("persistent", 1)
    assert "read capacity 0 of the image file system at 12:00:00, samples show none either" in found.explanation
    assert "run after run" not in found.explanation


def test_after_a_recovery_the_next_failure_is_a_new_episode() -> None:
    enough = summary("12:07:00", "n", image_fs=filesystem(50 * GIB, 100 * GIB))
    found = rows(
        failed("12:00:00", "FreeDiskSpaceFailed", TOO_LITTLE),
        enough,
        failed("13:00:00", "FreeDiskSpaceFailed", TOO_LITTLE, "e.2"),
    )
    assert [(f"{row.ts:%H:%M}", row.verdict, row.result) for row in found] == [
        ("12:00", "insufficient_freed", "noop"),
        ("12:07", "recovered", "success"),
        ("13:00", "insufficient_freed", "noop"),
    ]
    assert found[1].explanation.startswith("50 % of the image file system is used, and it starts at 85 %.")
    assert "not heard" not in found[1].explanation


def test_no_recovery_is_claimed_before_the_next_run_has_been_or_while_there_is_something_to_free() -> None:
    failure = failed("12:00:00", "FreeDiskSpaceFailed", TOO_LITTLE)
    soon = summary("12:05:00", "n", image_fs=filesystem(50 * GIB, 100 * GIB))
    full = summary("12:10:00", "n", image_fs=filesystem(10 * GIB, 100 * GIB))
    assert len(rows(failure, soon, full)) == 1


def at_minute(minute: int) -> str:
    return f"12:{minute:02}:00"


def used(minute: int, percent: int = 90) -> Json:
    return summary(at_minute(minute), "n", image_fs=filesystem((100 - percent) * GIB, 100 * GIB))


SEEN = configz("11:59:00", "n", imageGCHighThresholdPercent=85, imageGCLowThresholdPercent=80)


def metrics(minute: int, collected: int | None) -> Json:
    counted = "" if collected is None else f'kubelet_image_garbage_collected_total{{reason="space"}} {collected}\n'
    text = f"kubelet_memory_manager_pinning_requests_total 0\n{counted}"
    return observation(at_minute(minute), "metrics", {"text": text}, type_="SNAPSHOT", source="kubelet", node="n")


def test_sixteen_minutes_above_the_threshold_are_three_runs_that_failed_without_an_event() -> None:
    samples = [used(minute) for minute in range(0, 20, 4)]
    (found,) = rows(SEEN, metrics(0, 7), *samples[:4], metrics(15, 7), samples[4])
    assert (found.verdict, found.result, found.reason) == ("insufficient_freed", "noop", "insufficient_freed")
    assert (found.usage_percent, found.high_percent, found.wanted_bytes) == (90, 85, 10 * GIB)
    assert (found.occurrences, found.occurrences_lower_bound, found.freed_bytes) == (3, True, None)
    assert found.ts.strftime("%H:%M") == "12:00"
    assert "count 0 images deleted since then" in found.explanation


def test_a_kubelet_counts_images_from_the_first_that_it_deletes_on() -> None:
    samples = [used(minute) for minute in range(0, 20, 4)]
    (found,) = rows(SEEN, metrics(0, None), *samples[:4], metrics(15, 1), samples[4])
    assert found.result == "partial"
    assert "count 1 image deleted since then" in found.explanation
    (unknown,) = rows(SEEN, *samples[:2], metrics(5, 1), *samples[2:])
    assert unknown.result == "error", "how many they were when it began is not known"
    (never,) = rows(SEEN, metrics(0, None), *samples[:4], metrics(15, None), samples[4])
    assert never.result == "error", "it may be too old to count them"


def test_what_metrics_do_not_count_is_not_said() -> None:
    (found,) = rows(SEEN, *[used(minute) for minute in range(0, 20, 4)])
    assert found.result == "error"
    assert "metrics" not in found.explanation


def test_without_settings_without_samples_or_below_meanwhile_nothing_is_concluded() -> None:
    samples = [used(minute) for minute in range(0, 20, 4)]
    assert rows(*samples) == []
    assert rows(SEEN, *samples[:4]) == []
    assert rows(SEEN, samples[0], samples[1], samples[3], samples[4], used(20)) == []  # 8 min without a sample
    assert rows(SEEN, *samples[:2], used(8, percent=84), *samples[3:]) == []


def test_an_event_that_reports_it_goes_first_and_a_later_one_goes_on_with_it() -> None:
    event_first = failed("12:02:00", "FreeDiskSpaceFailed", TOO_LITTLE)
    samples = [used(minute) for minute in range(0, 24, 4)]
    assert [each.occurrences for each in rows(SEEN, samples[0], event_first, *samples[1:])] == [1]
    late = failed("12:18:00", "FreeDiskSpaceFailed", TOO_LITTLE)
    concluded, reported = rows(SEEN, *samples[:5], late)
    assert (concluded.ts, concluded.occurrences) == (reported.ts, 3)
    assert (reported.occurrences, reported.wanted_bytes, reported.freed_bytes) == (4, 1000, 0)
    assert "No Event reports it" not in reported.explanation


def test_it_recovers_once_usage_is_below_again() -> None:
    samples = [used(minute) for minute in range(0, 20, 4)]
    _, recovered = rows(SEEN, *samples, used(19, percent=70), used(22, percent=70))
    assert (recovered.verdict, recovered.usage_percent) == ("recovered", 70)


def test_a_failure_is_over_with_the_first_sample_below_the_threshold_of_settings_that_replaced_its_own() -> None:
    """A kubelet reads its settings at its start: it does not try again by those that it no longer has."""
    low = configz("11:59:00", "n", imageGCHighThresholdPercent=3, imageGCLowThresholdPercent=2)
    failure = failed("12:00:00", "FreeDiskSpaceFailed", TOO_LITTLE)
    restart = started("12:02:00"), invalid("12:02:00", "e.2")
    high = configz("12:03:00", "n", imageGCHighThresholdPercent=85, imageGCLowThresholdPercent=80)
    found = rows(low, failure, *restart, high, used(4, percent=74))
    of_it = [each for each in found if each.reason == "insufficient_freed"]
    assert [(f"{each.ts:%H:%M}", each.verdict) for each in of_it] == [
        ("12:00", "insufficient_freed"),
        ("12:04", "recovered"),
    ]
    assert (of_it[-1].usage_percent, of_it[-1].high_percent) == (74, 85)
    assert "starts at 85 %" in of_it[-1].explanation
    assert "when it started at 3 %" in of_it[-1].explanation
    assert not [
        each for each in rows(low, failure, *restart, high, used(4, percent=86)) if each.verdict == "recovered"
    ]
    assert not [
        each for each in rows(low, failure, *restart, low, used(4, percent=2)) if each.verdict == "recovered"
    ], "by the same settings the next run decides"


def test_what_image_gc_failed_counts_is_of_the_runs_that_another_event_reports_once() -> None:
    """It counts from the second failure in a row on (rules: image-gc-loop)."""
    both = (
        failed("12:00:00", "FreeDiskSpaceFailed", TOO_LITTLE),
        failed("12:00:00", "ImageGCFailed", TOO_LITTLE, "e.2"),
    )
    counted = both[1]["object"] | {"count": 7, "firstTimestamp": "2026-07-01T11:30:00Z"}
    found = rows(both[0], both[1] | {"object": counted})
    assert (found[-1].occurrences, found[-1].occurrences_lower_bound) == (8, True)


def deletion(clock: str, errors: str) -> Json:
    text = f"wanted to free 3000000000 bytes, but freed 1024 bytes space with errors in image deletion: {errors}"
    return failed(clock, "ImageGCFailed", text)


def test_image_gc_that_cannot_delete_runs_and_the_runtime_is_quoted() -> None:
    """The kubelet lists several errors in brackets, which are its own (rules: image-gc-messages)."""
    (found,) = rows(deletion("12:05:00", "[rpc error: code = Unknown desc = device or resource busy]"))
    assert found.what.startswith("Image GC fails to delete images: Image GC runs, and deleting images fails run")
    assert "it wanted to free 2.79 GiB and freed 1.00 KiB. The container runtime's error: " in found.what
    assert '"rpc error: code = Unknown desc = device or resource busy". Look at' in found.what
    assert "unused images stay" not in found.what


def test_the_error_that_aborts_image_gc_is_quoted() -> None:
    (found,) = rows(failed("12:05:00", "ImageGCFailed", "operation timeout: context deadline exceeded"))
    assert found.what.startswith("Image GC keeps failing: Image GC fails run after run")
    assert 'The error: "operation timeout: context deadline exceeded". Look at' in found.what


def test_usage_alone_does_not_show_that_unused_images_are_gone() -> None:
    """A deletion that fails leaves usage as high, and its Event may have been dropped."""
    found = rows(SEEN, *(used(minute) for minute in range(0, 20, 4)))[-1]
    assert "Unused images do not fill the disk" not in found.explanation
    assert found.explanation.endswith(" Check images, logs, volumes and host paths.")
