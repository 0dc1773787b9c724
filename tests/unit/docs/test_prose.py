"""The linter of texts: each rule finds what `docs/writing.md` forbids, and leaves correct English alone."""

import json
from pathlib import Path

import pytest

from paths import ROOT
from prose.__main__ import OPEN
from prose.rules import LONGEST, RULES, Kind, Rule, judge, sentences, words
from prose.texts import comments, docstrings, document

FORBIDDEN = {
    "whoever": "The token goes to whoever asks.",
    "what-of": "The rules name what of messages may leave.",
    "is-none": "A heartbeat is none.",
    "is-no": "A clean end is no error.",
    "that-is-no": "A message that is no record is skipped.",
    "anew": "The watcher lists anew.",
    "but-for": "The role writes nothing but for a Lease.",
    "for-want-of": "Pods fail for want of memory.",
    "all-else": "Then all else goes on.",
    "tells": "A receiver is told the reason.",
    "lies": "The CPUs lie on one NUMA node.",
    "suffices": "The evidence does not suffice.",
    "belongs-into": "A password belongs into the file.",
    "by-now": "The disk is slow itself by now.",
    "as-x-has-it": "It needs rights, as administrators have them.",
    "some-hundred": "One process handles some hundred nodes.",
    "is-to-be": "The alert is to be sent.",
    "away": "The publisher waits while Kafka is away.",
    "heard": "The cluster was last heard of at noon.",
    "in-vain": "The scheduler tries each pod in vain.",
    "of-ours": "Remember a message of ours.",
    "cut-back": "The topic was cut back.",
    "for-causal": "It waits, for it cannot be stopped.",
    "free-were": "It asked for 2; free were 13.",
    "declarative-what": "What could not be seen is a row.",
    "sentence-start": "Of a pod without a node nothing is known.",
    "docstring-start": "Whether a pod fits a node.",
}
FINE = (
    "There is no gap, and the stream is no longer silent.",
    "What does a row mean?",
    "Driver and handle tell two volumes apart.",
    "The kubelet evicts the pod as soon as a threshold is met.",
)


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
def test_each_rule_finds_its_example_in_each_kind_of_text_that_it_is_about(rule: Rule) -> None:
    for kind in rule.kinds:
        assert rule.name in {found.rule for found in judge(FORBIDDEN[rule.name], kind)}


@pytest.mark.parametrize("text", FINE)
def test_correct_english_breaks_no_rule(text: str) -> None:
    assert list(judge(text, Kind.PROSE)) == []


def test_a_sentence_may_have_thirty_words_and_a_cell_splits_at_semicolons() -> None:
    long = " ".join(["word"] * LONGEST)
    assert list(judge(f"{long}.", Kind.PROSE)) == []
    assert [found.rule for found in judge(f"{long} more.", Kind.PROSE)] == ["long"]
    assert [found.rule for found in judge(f"{long}; {long}", Kind.PROSE)] == ["long"]
    assert list(judge(f"{long}; {long}", Kind.CELL)) == []


def test_citations_in_parentheses_are_no_words() -> None:
    assert words("Silence is reported (§, §).") == 3
    assert sentences("It ends, e.g. at night. § begins again.") == ["It ends, e.g. at night.", "§ begins again."]


def test_a_document_gives_its_texts_with_their_lines_and_skips_what_is_exempt() -> None:
    hidden = "<!-- prose off: an example -->\n\nhidden\n\n<!-- prose on -->"
    source = f"# A `b`\n\nOne\ntwo.\n\n{hidden}\n\n| a |\n|---|\n| c |\n"
    found = [(text.place, text.kind, text.text) for text in document(source, "x.md")]
    assert found == [
        ("x.md:1", Kind.HEADING, "A §"),
        ("x.md:3", Kind.PROSE, "One two."),
        ("x.md:12", Kind.CELL, "a"),
        ("x.md:14", Kind.CELL, "c"),
    ]


def test_an_exemption_without_a_reason_exempts_nothing() -> None:
    assert [text.text for text in document("<!-- prose off: -->\n\nseen\n", "x.md")] == ["seen"]


def test_the_docstrings_of_a_module_belong_to_its_package() -> None:
    found = list(
        docstrings('"""One.\n\nTwo `x`."""\nA = 1\n"""Three."""\n', ROOT.joinpath("sql/a/b.py").relative_to(ROOT))
    )
    assert [(text.part, text.text) for text in found] == [("sql.a", "One."), ("sql.a", "Two §."), ("sql.a", "Three.")]
    assert [text.kind for text in found] == [Kind.DOCSTRING, Kind.PROSE, Kind.DOCSTRING]


@pytest.mark.parametrize(
    "start",
    [
        "After",
        "As",
        "By",
        "For",
        "From",
        "How",
        "Of",
        "That",
        "Those",
        "What",
        "Where",
        "Whether",
        "Which",
        "Who",
        "Why",
        "With",
    ],
)
def test_a_docstring_starts_with_its_subject_or_a_verb_in_product_and_tests(start: str) -> None:
    for kind in (Kind.DOCSTRING, Kind.TEST):
        assert [found.rule for found in judge(f"{start} a pod ends.", kind)][-1:] == ["docstring-start"]
        assert list(judge(f"A pod ends. {start} it was told to.", Kind.TEST)) == []


def test_documents_are_clean() -> None:
    """Only parts of the code may still have findings."""
    assert [part for part in json.loads(OPEN.read_text("utf-8")) if part.endswith(".md")] == []


def test_a_comment_is_judged_without_the_codes_of_other_tools() -> None:
    source = "x = 1  # noqa: S603  # Kafka is away\n"
    (text,) = comments(source, Path("streams/kafka/app.py"))
    assert (text.part, text.place, text.text) == ("streams.kafka", "streams/kafka/app.py:1", "Kafka is away")
    assert [found.rule for found in judge(text.text, text.kind)] == ["away"]
