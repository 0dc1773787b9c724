"""Numbers of pods as columns: those of several samples, side by side."""

from components.rows import T0, add_sample, summary
from sql.landing.batches import pod_samples
from streams.fold.batch import Batch

_COLUMNS = ["node", "uid", "memory_rss_bytes", "cpu_psi_some_avg10_percent"]


def _given(*pods: tuple[str, int | None, float | None]) -> list[dict[str, object]]:
    return [dict(zip(_COLUMNS[1:], pod, strict=True)) for pod in pods]


def test_each_number_stays_with_its_pod_and_a_missing_one_is_null() -> None:
    batch = Batch()
    add_sample(batch, summary(T0, "m", _given(("a", 1, 0.5), ("b", 2, 0.25))))
    add_sample(batch, summary(T0, "n"))
    add_sample(batch, summary(T0, "o", _given(("c", None, 0.75), ("d", 2**62, None), ("e", 3, 0.0))))
    columns = pod_samples(batch.keys, batch.texts, batch.numbers).select(_COLUMNS)
    assert [tuple(pod.values()) for pod in columns.to_pylist()] == [
        ("m", "a", 1, 0.5),
        ("m", "b", 2, 0.25),
        ("o", "c", None, 0.75),
        ("o", "d", 2**62, None),
        ("o", "e", 3, 0.0),
    ]
