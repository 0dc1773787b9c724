"""A card and an alert about the same rows begin with the same words."""

import pytest

from components.alert_log import AlertLog
from components.rows import row
from leadsman.web.attention.attention import attention
from streams.fold.findings import Eviction, PodEnd
from unit.leadsman.web.attention.test_attention import eviction, node, rejection, view


@pytest.mark.parametrize("pods", [1, 2])
def test_cards_and_alerts_of_evictions_and_rejections_share_their_heads(pods: int) -> None:
    log = AlertLog()
    names = [f"p{number}" for number in range(pods)]
    limit = {"node": "n", "namespace": "shop", "cause": "limit", "message": "Too much."}
    log(0, *(row(Eviction, pod=name, uid=name, **limit) for name in names))
    refused = {"node": "n", "namespace": "shop", "cause": "admission", "reason": "OutOfcpu"}
    log(0, *(row(PodEnd, pod=name, uid=name, **refused) for name in names))
    log(20)
    seen = view(node(), evicted=(eviction(pods, cause="limit"),), killed=(rejection("OutOfcpu", pods),))
    titles = [item.title for item in attention(seen)]
    assert len(titles) == len(log.summaries) == 2
    within = " within 0 s" if pods > 1 else ""
    said = [each.removeprefix("Node n: ").partition(" because ")[0].replace(within, "") for each in log.summaries]
    assert sorted(said) == sorted(titles)
