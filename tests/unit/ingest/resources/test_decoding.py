"""No kept text of an object has a credential."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from common.scrub import REDACTED, is_suspicious, scrub
from ingest.resources.decoding import kept

CREDENTIAL = "https://user:canary@h"
SAFE = f"https://{REDACTED}@h"


class Inner(msgspec.Struct, frozen=True):
    text: str = ""
    number: int = 0


class Outer(msgspec.Struct, frozen=True):
    text: str = ""
    texts: list[str] = []
    pairs: tuple[str, ...] = ()
    by_name: dict[str, str] = {}
    amount: str | int | None = None
    inner: Inner | None = None
    inners: list[Inner] = []


decode = kept(Outer)


@pytest.mark.parametrize(
    "thing",
    [
        Outer(text=CREDENTIAL),
        Outer(texts=["a", CREDENTIAL]),
        Outer(pairs=("a", CREDENTIAL)),
        Outer(by_name={"a": CREDENTIAL}),
        Outer(amount=CREDENTIAL),
        Outer(inner=Inner(CREDENTIAL, 7)),
        Outer(inners=[Inner("a"), Inner(CREDENTIAL)]),
    ],
)
def test_a_credential_is_replaced_wherever_a_text_can_stand(thing: Outer) -> None:
    encoded = msgspec.json.encode(thing)
    assert decode(encoded) == msgspec.json.decode(encoded.replace(CREDENTIAL.encode(), SAFE.encode()), type=Outer)


_words = st.sampled_from(["://", "u:p", "@", "bearer ", "Basic ", "token=", "abcdefgh", '"', "\\", "\n", " ", "/"])
_texts = st.lists(_words, max_size=8).map("".join)


@given(_texts, _texts)
def test_what_is_kept_is_as_if_each_text_had_been_scrubbed(one: str, other: str) -> None:
    thing = Outer(text=one, inner=Inner(other))
    assert decode(msgspec.json.encode(thing)) == Outer(text=scrub(one), inner=Inner(scrub(other)))


@given(_texts)
def test_a_text_in_which_something_is_found_is_suspicious(text: str) -> None:
    assert is_suspicious(text) or scrub(text) == text
