"""Items of a source, identified and decoded."""

import msgspec

from components.rows import T0
from ingest.model.observation import Observation, Observed, Position
from ingest.normalize.decode import decode


def test_an_implied_object_that_cannot_be_decoded_is_still_implied() -> None:
    """It does not count as read, because the object that it was derived from does."""
    observation = Observation(
        ts=T0, cluster="c", source="list", resource="pods", type="SNAPSHOT", object=msgspec.Raw(b"[]")
    )
    decoded = decode(Observed(observation, Position("dump.json", "1"), b"[]", is_implied=True))
    assert decoded.bad is not None
    assert decoded.is_implied
