"""Through Kafka, Faust and landing comes what the embedded replay makes of the same, whatever is killed."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from components.kafka import Kafka
from integration.clickhouse_http import ClickHouseHttp
from integration.pipeline import ROOT, Pipeline, embedded_digest, examples

pytestmark = pytest.mark.xdist_group("kafka")

CAPTURES = sorted([*ROOT.glob("examples/*.jsonl.gz"), *ROOT.glob("tests/scenarios/*/capture.jsonl")])


@pytest.fixture(scope="module")
def http(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ClickHouseHttp]:
    with ClickHouseHttp(tmp_path_factory.mktemp("pipeline") / "db") as running:
        yield running


@pytest.fixture
def pipeline(
    kafka: Kafka, http: ClickHouseHttp, tmp_path: Path, request: pytest.FixtureRequest
) -> Iterator[Pipeline]:
    running = Pipeline(kafka, http.dsn(request.node.originalname), tmp_path)
    try:
        yield running
    finally:
        running.stop()


def test_every_example_gives_the_digest_of_the_embedded_replay(pipeline: Pipeline, http: ClickHouseHttp) -> None:
    pipeline.part("land", "one").start()
    pipeline.part("work", "one").start()
    pipeline.replay(examples(CAPTURES))
    pipeline.settle()
    assert pipeline.digest() == embedded_digest(examples(CAPTURES), http.dsn("embedded"))
