"""The same analytics as Bytewax's documentation would have them: `stateful_flat_map`, its state in memory and, every
ten seconds (its default), in a recovery store.
"""

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import bytewax.operators as op  # type: ignore[import-not-found]  # it is in the peers' environment
from bytewax.connectors.kafka import KafkaSink, KafkaSinkMessage, KafkaSource  # type: ignore[import-not-found]
from bytewax.dataflow import Dataflow  # type: ignore[import-not-found]
from bytewax.recovery import RecoveryConfig, init_db_dir  # type: ignore[import-not-found]
from bytewax.run import cli_main  # type: ignore[import-not-found]

from bench.scale.peer_fold import Folding
from streams.fold.fold import LogState


def main() -> None:
    """Run until it is killed."""
    folding = Folding()
    brokers = [folding.settings.kafka.bootstrap_servers]

    def fold(state: LogState | None, message: Any) -> tuple[LogState, Iterable[Any]]:
        # what is snapshotted must not change any more
        log = LogState() if state is None else LogState(state.minute, dict(state.states), state.exists)
        outputs = folding(log, message.key, message.value)
        return log, [KafkaSinkMessage(each.key, each.value, topic=each.topic) for each in outputs]

    flow = Dataflow("fold")
    source = KafkaSource(brokers, [folding.topics.nodes.name, folding.topics.cluster.name])
    keyed = op.key_on("log", op.input("logs", flow, source), lambda each: f"{each.topic}/{each.key.decode()}")
    outputs = op.map("unkeyed", op.stateful_flat_map("fold", keyed, fold), lambda each: each[1])
    op.output("sent", outputs, KafkaSink(brokers, None))
    recovery = Path(os.environ["LEADSMAN_SCALE_STATE"])
    recovery.mkdir()
    init_db_dir(recovery, 1)
    cli_main(flow, recovery_config=RecoveryConfig(str(recovery)))


if __name__ == "__main__":
    main()
