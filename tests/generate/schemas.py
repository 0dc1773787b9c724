"""JSON Schemas of what the topics carry, generated from the models by `make generate`."""

from typing import Final

import msgspec

from ingest.model.records import PublishedRecord
from paths import ROOT
from streams.kafka.messages.alerts import AlertMessage
from streams.kafka.messages.findings import Findings
from streams.kafka.messages.flat import message_types

FOLDER: Final = ROOT / "streams/kafka/schemas"
"""`*.json` are of this version; `released/` holds those that messages in topics may still have."""
MODELS: Final[dict[str, object]] = {
    "record": PublishedRecord,
    "findings": Findings,
    "alert": AlertMessage,
    "flat": message_types(),
}


def schema(name: str) -> str:
    """The JSON Schema of a model, as its file has it."""
    found = msgspec.json.schema(MODELS[name])
    found = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": f"Leadsman {name}",
        **found,
    }
    return msgspec.json.format(msgspec.json.encode(found, order="sorted"), indent=2).decode() + "\n"
