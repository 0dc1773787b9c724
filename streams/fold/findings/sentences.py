"""The sentences about several rows, which no table stores: a view has them of its columns.

Amounts are in bytes, inodes or processes, times in whole seconds.
"""

from typing import Final

from streams.rules.eviction.signals import RESOURCES, SIGNALS, measured
from streams.rules.eviction.unguarded import CONSEQUENCES
from streams.rules.values.expressions import Amount, choose
from streams.rules.values.wording import among, grouped, said, sized

_NAMES: Final = {each: f"{measured(each)[0].upper()}{measured(each)[1:]}" for each in SIGNALS}
_CONSEQUENCES: Final = {each: CONSEQUENCES[RESOURCES[each]] for each in SIGNALS}


def ran_low(signal: Amount, resource: Amount, lowest: Amount, capacity: Amount) -> Amount:
    """The least that was left of a signal that nothing guards."""
    of_bytes = (resource == "memory") | (resource == "ephemeral-storage")
    left, whole = (choose(of_bytes, sized(each), grouped(each)) for each in (lowest, capacity))
    ran = said(among(_NAMES, signal), " ran low without a threshold: ", left, " of ", whole, " left. ")
    return said(ran, among(_CONSEQUENCES, signal))
