"""Measures the lower bound: the typed decoding of a sample and nothing else, now and on this machine."""

import time
from datetime import UTC, datetime
from functools import cache
from statistics import median
from typing import Final

import msgspec

from ingest.model.observation import Observation
from ingest.model.summary import Summary

from .answers import Answers

ROUNDS: Final = 20
OF_A_ROUND: Final = 20


def decode_seconds(pods: int) -> float:
    """CPU time of decoding a line of a capture with a summary of so many pods, the median of some rounds."""
    line = _line(pods)
    envelope, summary = msgspec.json.Decoder(Observation).decode, msgspec.json.Decoder(Summary).decode
    rounds = []
    for _ in range(ROUNDS):
        began = time.thread_time()
        for _ in range(OF_A_ROUND):
            summary(envelope(line).object)
        rounds.append((time.thread_time() - began) / OF_A_ROUND)
    return median(rounds)


@cache
def _line(pods: int) -> bytes:
    ts = datetime(2026, 11, 21, 4, tzinfo=UTC)
    body = msgspec.json.format(Answers(pods).body(b"/stats/summary", 0, ts), indent=-1)
    observed = Observation(
        ts=ts,
        cluster="large",
        source="kubelet",
        resource="stats/summary",
        type="SNAPSHOT",
        node="node-00000",
        object=msgspec.Raw(body),
    )
    return msgspec.json.encode(observed)
