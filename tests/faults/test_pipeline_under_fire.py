"""Nothing is lost and nothing is doubled, whatever breaks (delivery.md: the faults that the promise is tested with).

The short form is in `make test`; `make faults` is the long one, with the times of the table, and writes the report.
"""

import random
import time
from collections.abc import Iterator

import pytest

from faults.fire import LONG, Attacked, Ground

pytestmark = pytest.mark.xdist_group("kafka")

OUTAGE_SECONDS = 60.0 if LONG else 5.0
CLICKHOUSE_OUTAGE_SECONDS = 600.0 if LONG else 5.0
KILLS = 100 if LONG else 4
RESETS = 20 if LONG else 2
STORM = 20 if LONG else 2


@pytest.fixture(scope="module")
def ground(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ground]:
    with Ground(tmp_path_factory.mktemp("fire")) as prepared:
        yield prepared


def test_kill_9_of_every_part_at_any_moment(ground: Ground) -> None:
    moments = random.Random(7)  # noqa: S311  # only moments

    def attack(on: Attacked) -> tuple[int, float]:
        for _ in range(KILLS):
            time.sleep(moments.uniform(0.2, 4.0))
            on.again(moments.choice(on.parts))
        return KILLS, 0.0

    ground.attacked("kills", "kill -9 of a worker or a lander", attack)


def test_the_broker_restarts(ground: Ground) -> None:
    def attack(on: Attacked) -> tuple[int, float]:
        begin = time.monotonic()
        on.kafka.restart()
        return 1, time.monotonic() - begin

    ground.attacked("restart", "broker restarted in order", attack)


def test_the_broker_is_killed_and_away(ground: Ground) -> None:
    def attack(on: Attacked) -> tuple[int, float]:
        begin = time.monotonic()
        on.kafka.kill()
        time.sleep(OUTAGE_SECONDS)
        on.kafka.start()
        return 1, time.monotonic() - begin

    ground.attacked("outage", "broker killed and away", attack)


def test_the_network_to_kafka_is_slow_resets_and_hangs(ground: Ground) -> None:
    def attack(on: Attacked) -> tuple[int, float]:
        begin = time.monotonic()
        on.to_kafka.slow(200)
        time.sleep(OUTAGE_SECONDS)
        on.to_kafka.heal()
        for _ in range(RESETS):
            on.to_kafka.reset()
            time.sleep(1)
            on.to_kafka.heal()
            time.sleep(2)
        on.to_kafka.hang()
        time.sleep(OUTAGE_SECONDS)
        on.to_kafka.heal()
        return RESETS + 2, time.monotonic() - begin

    ground.attacked("network", "connections to Kafka slow, reset, silent", attack)


def test_clickhouse_is_away(ground: Ground) -> None:
    def attack(on: Attacked) -> tuple[int, float]:
        on.to_clickhouse.cut()
        time.sleep(CLICKHOUSE_OUTAGE_SECONDS)
        on.to_clickhouse.heal()
        return 1, CLICKHOUSE_OUTAGE_SECONDS

    ground.attacked("away", "ClickHouse refuses connections", attack)


def test_clickhouse_hangs_resets_and_answers_too_late(ground: Ground) -> None:
    def attack(on: Attacked) -> tuple[int, float]:
        begin = time.monotonic()
        on.to_clickhouse.hang()
        time.sleep(OUTAGE_SECONDS)
        on.to_clickhouse.heal()
        for _ in range(RESETS):
            on.to_clickhouse.reset()
            time.sleep(1)
            on.to_clickhouse.heal()
            on.clickhouse.inject("drop_after")
            time.sleep(2)
        return 1 + 2 * RESETS, time.monotonic() - begin

    ground.attacked("late", "ClickHouse hangs, resets, answers lost after the insert", attack)


def test_workers_and_landers_come_and_go(ground: Ground) -> None:
    def attack(on: Attacked) -> tuple[int, float]:
        others = [on.pipeline.part("work", "1"), on.pipeline.part("land", "1")]
        for _ in range(STORM):
            for other in others:
                other.start()
            time.sleep(4)
            for other in others:
                other.stop()
        return STORM, 0.0

    ground.attacked("storm", "a second worker and lander come and go", attack)
