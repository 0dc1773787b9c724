"""The numbers of a sample's pods, eight bytes each."""

from datetime import UTC, datetime
from typing import Any

from hypothesis import example, given, settings
from hypothesis import strategies as st

from ingest.model.samples import TYPE_CODES, PodColumns, pack, pack_column, unpack
from profiles import EXAMPLES
from sql.landing.batches import POD_SAMPLES, SCHEMAS, pod_samples
from streams.fold.batch import SampleKey

INT64 = (-(1 << 63), (1 << 63) - 1)
VALUES = {"q": st.integers(), "d": st.floats(allow_nan=False)}


@st.composite
def samples(draw: st.DrawFn) -> PodColumns:
    """Draw columns of up to four pods; a whole column may be None, as of a kubelet that does not know it."""
    pods = draw(st.integers(0, 4))
    texts = [f"p{place}" for place in range(pods)]
    columns: dict[str, Any] = {}
    for name, code in TYPE_CODES.items():
        full = st.lists(VALUES[code], min_size=pods, max_size=pods)
        gaps = st.lists(st.none() | VALUES[code], min_size=pods, max_size=pods)
        nullable = SCHEMAS[POD_SAMPLES].field(name).nullable
        columns[name] = draw(full | gaps | st.just([None] * pods) if nullable else full)
    return PodColumns(namespace=texts, pod=texts, uid=texts, volumes=texts, **columns)


def stored(column: list[Any]) -> list[Any]:
    """A column with its integers brought within 64 bits."""
    return [min(max(value, INT64[0]), INT64[1]) if isinstance(value, int) else value for value in column]


@settings(max_examples=EXAMPLES // 3)
@given(samples())
@example(PodColumns(namespace=["a"], pod=["a"], uid=["a"], **{name: [1] for name in TYPE_CODES}))  # type: ignore[arg-type]
def test_packed_columns_unpack_unchanged(pods: PodColumns) -> None:
    assert unpack(pack(pods)) == {name: stored(getattr(pods, name)) for name in TYPE_CODES}


@settings(max_examples=EXAMPLES // 5)
@given(st.lists(samples(), min_size=1, max_size=3))
def test_samples_of_different_sizes_become_the_rows_of_one_table(reported: list[PodColumns]) -> None:
    keys = [
        SampleKey("c", datetime(2026, 7, 1, tzinfo=UTC), f"n{i}", len(pods.uid)) for i, pods in enumerate(reported)
    ]
    names = ("namespace", "pod", "uid", "volumes")
    texts = {name: [text for pods in reported for text in getattr(pods, name)] for name in names}
    table = pod_samples(keys, texts, [pack(pods) for pods in reported])
    table.validate(full=True)
    assert table["node"].to_pylist() == [key.node for key in keys for _ in range(key.pods)]
    for name in TYPE_CODES:
        assert table[name].to_pylist() == [value for pods in reported for value in stored(getattr(pods, name))]


def test_a_column_alone_is_packed_as_among_others() -> None:
    assert pack_column("q", [1, None, 1 << 70]) == b"".join(n.to_bytes(8, "little") for n in (1, 0, (1 << 63) - 1))
