from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from placetui.document.splice import Splice, apply, apply_all, difference, inverse

TEXTS = st.text("ab\n", max_size=12)


@st.composite
def spliced(draw: st.DrawFn) -> tuple[str, Splice]:
    text = draw(TEXTS)
    start = draw(st.integers(0, len(text)))
    return text, Splice(start, draw(st.integers(start, len(text))), draw(TEXTS))


@given(spliced())
def test_the_inverse_leads_back(case: tuple[str, Splice]) -> None:
    text, splice = case
    after = apply(text, splice)
    assert apply(after, inverse(text, splice)) == text
    assert len(after) - len(text) == len(splice.text) - (splice.end - splice.start)
    assert after.startswith(text[: splice.start])
    assert after.endswith(text[splice.end :])


@given(TEXTS, TEXTS)
def test_the_difference_of_two_texts_is_one_small_splice(old: str, new: str) -> None:
    splice = difference(old, new)
    if splice is None:
        assert old == new
        return
    assert apply(old, splice) == new
    removed = old[splice.start : splice.end]
    assert not (removed and splice.text) or removed[0] != splice.text[0]
    assert not (removed and splice.text) or removed[-1] != splice.text[-1]


def test_a_splice_outside_of_the_text_is_a_mistake() -> None:
    for splice in (Splice(2, 1, ""), Splice(-1, 0, ""), Splice(0, 4, "")):
        with pytest.raises(ValueError, match="a splice of"):
            apply("abc", splice)


def test_several_splices_count_in_the_text_before_each() -> None:
    assert apply_all("abc", [Splice(0, 0, "xy"), Splice(2, 3, "")]) == "xybc"
