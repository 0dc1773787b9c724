"""Addresses that people type by hand."""

import pytest

from leadsman.web.site.pages import suggested_address


@pytest.mark.parametrize(
    ("path", "query", "page"),
    [
        ("/runbooks", "", "/runbooks/"),
        ("/ASK/", "name=nodes", "/ask?name=nodes"),
        ("/node/a b/", "cluster=c", "/node?cluster=c&node=a+b"),
        ("/nodes/n?x", "", "/node?node=n%3Fx"),
        ("/pod/shop/cart-1", "", "/find?q=shop%2Fcart-1"),
        ("/runbooks/podsevicted.md", "node=n", "/runbooks/PodsEvicted?node=n"),
    ],
)
def test_a_path_leads_to_the_page_that_it_means(path: str, query: str, page: str) -> None:
    assert suggested_address(path, query) == page


@pytest.mark.parametrize(
    "path", ["//node.example/", "/runbooks//node.example", "/static/x", "/ask/nodes", "/metrics/"]
)
def test_a_path_that_means_no_page_leads_nowhere(path: str) -> None:
    assert suggested_address(path, "a=b") == ""
