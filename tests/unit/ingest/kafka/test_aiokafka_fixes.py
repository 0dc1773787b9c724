"""What is done instead of what aiokafka does."""

from aiokafka.partitioner import DefaultPartitioner
from hypothesis import given
from hypothesis import strategies as st

from ingest.kafka.aiokafka_fixes import partition


@given(st.binary(max_size=40), st.integers(1, 50))
def test_a_key_goes_where_any_client_of_kafka_sends_it(key: bytes, partitions: int) -> None:
    ids = list(range(partitions))
    assert partition(key, ids, ids) == DefaultPartitioner()(key, ids, ids)
