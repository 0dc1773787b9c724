"""Runbooks as HTML: every question that one names is a link that the page answers, and markup is text."""

import pytest

from leadsman.web.attention.item import Step
from leadsman.web.reading.scope import RequestedRange
from leadsman.web.rendering.links import Links, ReportLinks
from leadsman.web.rendering.markdown import runbook_html, step_html
from sql.questions.queries import saved_queries
from streams.alerting.runbook import Runbook, runbooks


def html(text: str, links: Links | None = None, deeper: int = 0) -> str:
    return str(runbook_html(Runbook("X", "x", text), links or Links(), deeper))


def test_a_question_is_a_link_with_what_it_answers_and_its_parameters() -> None:
    text = html("```console\nleadsman query next_eviction --param depth=3   # who <goes>\n```")
    (query,) = [each for each in saved_queries() if each.name == "next_eviction"]
    assert f'<a href="/ask?name=next_eviction&amp;p.depth=3">{query.description}</a>' in text
    assert "who &lt;goes&gt;" in text


def test_of_a_node_a_question_is_about_that_node() -> None:
    text = html("```console\nleadsman query next_eviction\n```", Links(node="a&b"))
    assert 'href="/ask?name=next_eviction&amp;p.node=a%26b"' in text


@pytest.mark.parametrize("path", ["/runbooks/PodsEvicted", "/node", "/"])
def test_a_question_is_about_the_cluster_of_the_page_and_the_node_that_it_came_from(path: str) -> None:
    """Open a runbook from an alert of node `n` of cluster `a&b`; `zones` is asked of no node."""
    links = Links(RequestedRange(cluster="a&b"), node="n", path=path)
    text = html("```console\nleadsman query evicted_pods\nleadsman query zones\n```", links)
    assert 'href="/ask?cluster=a%26b&amp;name=evicted_pods&amp;p.cluster=a%26b&amp;p.node=n"' in text
    assert 'href="/ask?cluster=a%26b&amp;name=zones&amp;p.cluster=a%26b"' in text


def test_commands_are_typed_about_the_cluster_and_the_node_of_the_page_and_quoted_for_a_shell() -> None:
    links = Links(RequestedRange(cluster="prod eu"), node="n;1", path="/runbooks/NodeNotReady")
    text = html(
        "```console\nkubectl describe node NODE   # why\n"
        "leadsman query next_eviction --depth 0\nleadsman query zones\n"
        "leadsman query pod_ends --param node=m\n```\nThen `kubectl cordon NODE`, with `leadsman query nodes`.",
        links,
    )
    for command in (
        "kubectl describe node &#39;n;1&#39;",
        "leadsman query next_eviction --depth 0 --cluster &#39;prod eu&#39; --node &#39;n;1&#39;",
        "leadsman query zones --cluster &#39;prod eu&#39;",
        "leadsman query pod_ends --param node=m --cluster &#39;prod eu&#39;",
        "kubectl cordon &#39;n;1&#39;",
        "leadsman query nodes --cluster &#39;prod eu&#39; --node &#39;n;1&#39;",
    ):
        assert f"<code>{command}</code>" in text, command
    assert "p.depth=0" in text
    assert "<code>kubectl describe node NODE</code>" in html("`kubectl describe node NODE`")
    assert "kubectl delete node &#39; --all&#39;" in html("`kubectl delete node NODE`", Links(node="--all"))
    assert "leadsman fit --cpu 8 --cluster &#39;a b&#39;" in html(
        "`leadsman fit --cpu 8 --cluster CLUSTER`", Links(RequestedRange(cluster="a b"))
    )
    assert "kubectl delete node &#39;n\\u202e&#39;" in html("`kubectl delete node NODE`", Links(node="n\u202e"))


def test_the_next_step_of_a_card_is_about_its_node_where_it_has_a_single_one() -> None:
    links, step = Links(RequestedRange(cluster="c")), Step("See them", "evicted_pods")
    assert '&amp;p.node=n">See them</a>' in str(step_html(step, links, ["n"]))
    assert "p.node" not in str(step_html(step, links, ["n", "m"]))
    assert "p.node" not in str(step_html(step, links))


def test_a_command_that_is_no_question_is_text() -> None:
    text = html("```console\nkubectl get nodes <b>  # all\nleadsman query no_such_question\n```")
    assert "<code>kubectl get nodes &lt;b&gt;</code>" in text
    assert "href" not in text


def test_backticks_in_a_comment_mark_code() -> None:
    """A comment stands beside the command as text, and no parser of Markdown reads it."""
    text = html("```console\nleadsman query nodes   # for `<b>`: all\nkubectl get nodes   # for `limit`\n```")
    assert "for <code>&lt;b&gt;</code>: all" in text
    assert "<span>for <code>limit</code></span>" in text


def test_a_question_within_a_sentence_and_another_alert_s_name_are_links() -> None:
    text = html("See `leadsman query nodes` and PodsEvicted, not PodsEvictedToo.")
    assert '<a href="/ask?name=nodes"><code>leadsman query nodes</code></a>' in text
    assert text.count('<a href="/runbooks/PodsEvicted">') == 1


def test_the_question_of_a_next_step_is_a_link_and_in_a_report_to_the_part_that_answers_it() -> None:
    step = Step("Scale <b>leaky</b> down", "pod_ends")
    assert str(step_html(step, Links())) == '<a href="/ask?name=pod_ends">Scale &lt;b&gt;leaky&lt;/b&gt; down</a>.'
    assert str(step_html(step, ReportLinks())) == '<a href="#attention">Scale &lt;b&gt;leaky&lt;/b&gt; down</a>.'
    unknown = Step("Run it", "no_such_question")
    assert str(step_html(unknown, Links())) == "Run it: leadsman query no_such_question"
    assert not Step()


def test_questions_in_the_words_of_an_alert_are_links() -> None:
    step = Step("Scale <b>leaky</b> down. The pods: leadsman query pod_ends --param cause=admission")
    asked = '<a href="/ask?name=pod_ends&amp;p.cause=admission">leadsman query pod_ends --param cause=admission</a>'
    assert str(step_html(step, Links())) == f"Scale &lt;b&gt;leaky&lt;/b&gt; down. The pods: {asked}"
    hostile = Step("leadsman query pod_ends --param cause=<script>")
    assert "<script>" not in str(step_html(hostile, Links()))


@pytest.mark.parametrize(
    ("words", "shown"),
    [
        ("Save it: kubectl get --raw /stats > m.json", "Save it: <code>kubectl get --raw /stats &gt; m.json</code>"),
        (
            "See kubectl get pod -n 'a b' '$(id)' and more",
            "See <code>kubectl get pod -n &#39;a b&#39; &#39;$(id)&#39;</code> and more.",
        ),
        ("Run kubectl uncordon n; then wait", "Run <code>kubectl uncordon n</code>; then wait."),
    ],
)
def test_a_command_in_a_sentence_is_whole(words: str, shown: str) -> None:
    assert str(step_html(Step(words), Links())) == shown


def test_in_a_report_a_question_is_a_command_and_a_runbook_a_place() -> None:
    links = ReportLinks(alerts=["PodsEvicted", "<not one>"])
    text = html("See `leadsman query nodes`, PodsEvicted, DeadLetters.\n```console\nleadsman query nodes\n```", links)
    assert '<a href="#runbook-PodsEvicted">' in text
    assert "#runbook-DeadLetters" not in text
    assert "/ask" not in text
    assert text.count("leadsman query nodes") == 2


@pytest.mark.parametrize("attack", ["<script>alert(1)</script>", "<img src=x onerror=a>", "[x](javascript:alert(1))"])
def test_markup_in_a_runbook_is_text(attack: str) -> None:
    text = html(f"{attack}\n\n## {attack}\n\n- {attack}")
    assert "<script" not in text
    assert "<img" not in text
    assert "href" not in text


def test_headings_go_below_that_of_the_page() -> None:
    assert "<h4>Do</h4>" in html("## Do", deeper=2)


@pytest.mark.parametrize("name", runbooks())
def test_what_to_do_comes_before_how_to_look(name: str) -> None:
    text = str(runbook_html(runbooks()[name], Links()))
    assert text.index("<h2>Do</h2>") < text.index("<h2>Look</h2>")


@pytest.mark.parametrize("name", runbooks())
def test_every_question_of_a_runbook_can_be_asked_on_the_page(name: str) -> None:
    text = str(runbook_html(runbooks()[name], Links()))
    assert text.count("/ask?name=") == runbooks()[name].text.count("leadsman query ")
