"""The form of the fault tests: the short one of `make test`, or the long one of `make faults`, which takes half an
hour. How long each outage lasts, and how often something happens, is here.
"""

import os
from typing import Final

LONG: Final = os.environ.get("LEADSMAN_FAULTS") == "long"

OBSERVATIONS_A_SECOND: Final = 150 if LONG else 25
REQUEST_PAUSE_SECONDS: Final = 0.0 if LONG else 0.05
"""Between two requests that make, change or delete objects."""
OUTAGE_SECONDS: Final = 20.0 if LONG else 5.0
CLICKHOUSE_OUTAGE_SECONDS: Final = 180.0 if LONG else 5.0
DISORDER_SECONDS: Final = 20.0 if LONG else 5.0
KILLS: Final = 25 if LONG else 4
DEATHS: Final = 6 if LONG else 3
"""Kills of a worker and a lander, each at a named moment."""
PAUSES: Final = 5 if LONG else 2
"""The same."""
RESETS: Final = 5 if LONG else 2
COMINGS: Final = 4 if LONG else 2
"""Arrivals of a second worker and lander."""
STORM_SECONDS: Final = 150.0 if LONG else 6.0
"""Longer than the 2 minutes within which silence is reported (delivery.md#watching)."""
RESTARTS: Final = 3 if LONG else 1
"""Restarts of the API server."""
OBJECTS: Final = 1000 if LONG else 100
"""Objects that come and go at least while watchers do."""
ROLLS: Final = 2 if LONG else 1
"""Forward and back between two versions."""
BROKERS: Final = (0, 1, 2, 0, 1, 2) if LONG else (1,)
"""Brokers of three that are killed, one after the other."""
SOAK_SECONDS: Final = float(os.environ.get("LEADSMAN_SOAK", "180"))
"""An hour in `make soak`."""
