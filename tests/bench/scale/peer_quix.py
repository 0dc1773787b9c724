"""The same analytics as Quix Streams' documentation would have them: a stateful step, its state in RocksDB."""

import os
from collections.abc import Iterator
from typing import Any

from quixstreams import Application, State  # type: ignore[import-not-found]  # it is in the peers' environment
from quixstreams.models.serializers import Serializer  # type: ignore[import-not-found]  # as above

from bench.scale.peer_fold import Folding, Output
from streams.analytics.registry import REDUCERS
from streams.fold.checkpoints import StateCodec
from streams.fold.fold import LogState


class _Value(Serializer):  # type: ignore[misc]  # as above
    def __call__(self, value: Output, ctx: Any) -> bytes:
        del ctx
        return value.value


def main() -> None:
    """Run until it is killed."""
    folding, codec = Folding(), StateCodec(REDUCERS)
    kafka = folding.settings.kafka
    app = Application(
        broker_address=kafka.bootstrap_servers,
        consumer_group=f"{kafka.topic_prefix}-work",
        auto_offset_reset="earliest",
        state_dir=os.environ["LEADSMAN_SCALE_STATE"],
        auto_create_topics=True,
    )

    def fold(value: bytes, key: bytes, timestamp: int, headers: Any, state: State) -> Iterator[Output]:
        del timestamp, headers
        stored = state.get_bytes("folded")
        log = LogState() if stored is None else codec.decode(stored)
        outputs = list(folding(log, key, value))
        state.set_bytes("folded", codec.encode(log))
        return iter(outputs)

    names = (folding.topics.nodes.name, folding.topics.cluster.name, folding.topics.findings.name)
    topics = {
        name: app.topic(name, value_deserializer="bytes", value_serializer=_Value(), key_serializer="bytes")
        for name in names
    }
    for name in names[:2]:
        outputs = app.dataframe(topics[name]).apply(fold, stateful=True, metadata=True, expand=True)
        outputs.to_topic(lambda output, *_: topics[output.topic], key=lambda output: output.key)
    app.run()


if __name__ == "__main__":
    main()
