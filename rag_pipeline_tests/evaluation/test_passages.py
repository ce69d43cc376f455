import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from rag_pipeline.evaluation.passages import passage_label
from rag_pipeline.evaluation.resolve import Corpus, locate
from rag_pipeline_tests.evaluation.builders import section


def test_a_passage_that_occurs_once_is_a_quote() -> None:
    label = passage_label("q", document="a.md", text="one two\n\nthree ", start=7, end=15, grade=2)
    assert (label.quote, label.start, label.end, label.grade) == ("three", None, None, 2)


def test_one_that_occurs_twice_has_its_offsets() -> None:
    """White space doesn't tell two passages apart, so a line break is not enough."""
    label = passage_label("q", document="a.md", text="a b | a\nb", start=6, end=9, grade=1)
    assert (label.quote, label.start, label.end) == ("a\nb", None, None)
    label = passage_label("q", document="a.md", text="a b | a b", start=5, end=9, grade=1)
    assert (label.quote, label.start, label.end) == ("a b", 6, 9)


def test_a_blank_passage_is_none() -> None:
    with pytest.raises(ValueError, match="blank"):
        passage_label("q", document="a.md", text="a \n b", start=1, end=4, grade=1)


@given(st.text(alphabet="ab \n\té", max_size=30), st.data())
def test_every_label_resolves_to_its_passage(text: str, data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, len(text)))
    assume(text[start:end].strip())
    label = passage_label("q", document="a.md", text=text, start=start, end=end, grade=3)
    found = locate(label, Corpus.of({"a.md": text}, [section("a.md", 0, len(text))]))
    assert not isinstance(found, str)
    ((left, right),) = found[1]
    assert start <= left < right <= end and text[left:right] == text[start:end].strip()
