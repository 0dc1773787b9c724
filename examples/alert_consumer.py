"""Read Leadsman's alerts: those that fire now, then every change (streams/kafka/schemas/alert.json).

python examples/alert_consumer.py [HOST:PORT [TOPIC]]
"""
# ruff: noqa: ASYNC110, INP001, T201 - an example is not a package, and prints; Kafka does not announce a new topic

import asyncio
import json
import sys

from aiokafka import AIOKafkaConsumer


async def main(servers: str = "localhost:9092", topic: str = "leadsman.alerts") -> None:
    """The topic is compacted: its last message for each fingerprint says how that alert stands."""
    stands: dict[str, tuple[str, str]] = {}
    async with AIOKafkaConsumer(bootstrap_servers=servers, auto_offset_reset="earliest") as consumer:
        while topic not in await consumer.topics():  # which makes none; asking for it by name could
            await asyncio.sleep(1)
        consumer.subscribe([topic])
        async for message in consumer:
            alert = json.loads(message.value)
            change = (alert["status"], alert["startsAt"])
            if stands.get(alert["fingerprint"]) != change:  # otherwise only its words are new
                stands[alert["fingerprint"]] = change
                print(alert["status"], alert["labels"]["alertname"], alert["annotations"]["summary"], flush=True)


asyncio.run(main(*sys.argv[1:]))
