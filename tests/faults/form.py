"""The form of the fault tests: the short one of `make test`, or the long one of `make faults`."""

import os
from typing import Final

LONG: Final = os.environ.get("LEADSMAN_FAULTS") == "long"
