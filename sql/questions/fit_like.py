"""The facts about a new node like one that is there (`leadsman fit --like`)."""

from typing import Final

from sql.database.open import Database
from sql.questions.fit import LAST, Known
from streams.questions.fit_like import Staying, as_new
from streams.rules.scheduling.constraints import restored
from streams.rules.scheduling.neighbours import Neighbour

_STAYING: Final = f"""
SELECT namespace, labels, constraints, deletion_asked_at IS NOT NULL AS terminating, requests
FROM
(
    SELECT * FROM pod_bindings WHERE cluster = {{cluster:String}}
    ORDER BY {LAST} DESC LIMIT 1 BY cluster, namespace, pod, uid
)
WHERE node = {{node:String}} AND change IN ('bound', 'updated') AND owner_kind IN ('DaemonSet', 'Node')
"""


def one_more(database: Database, known: Known, node: str) -> Known:
    """Return the facts about one new node like `node`, beside all that are there. Raises BadParameter for an unknown
    one, and DatabaseError.
    """
    (like,) = known.of(node).candidates
    read = database.query(_STAYING, {"cluster": known.cluster, "node": node})
    staying = [
        Staying(requests, Neighbour(namespace, labels, restored(constraints), bool(terminating)))
        for namespace, labels, constraints, terminating, requests in read.rows
    ]
    name = f"new node like {node}"
    new = as_new(like, staying, name, known.devices)
    return known._replace(
        read_at={name: known.read_at[node]},
        candidates=[new],
        strategies={},
        everywhere=(*known.everywhere, new.state) if known.everywhere else (),
    )
