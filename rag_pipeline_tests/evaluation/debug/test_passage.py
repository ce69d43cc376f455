import pytest

from rag_pipeline.evaluation.debug.passage import Expected, expected_of, find_passage, parse_expected
from rag_pipeline.evaluation.eval_set import Judgement
from rag_pipeline.retrieval.reader import open_current
from rag_pipeline_tests.served import Served
from rag_pipeline_tests.stages import document


@pytest.mark.parametrize(
    ("given", "document", "part"),
    [
        ("a.md", "a.md", ""),
        ("a.md#Setup > Linux", "a.md", "Setup > Linux"),
        ("a#b.md", "a#b.md", ""),
        ("a#b.md#x#y", "a#b.md", "x#y"),
        ("a.md#", "a.md", ""),
        ("gone.md#C# and F#", "gone.md", "C# and F#"),
    ],
)
def test_a_document_and_a_part(given: str, document: str, part: str) -> None:
    assert parse_expected(given, frozenset({"a.md", "a#b.md"})) == Expected(document, part)


def test_labels_of_every_form() -> None:
    assert expected_of(Judgement("q", "a.md", quote="x")) == Expected("a.md", "x")
    assert expected_of(Judgement("q", "a.md", section="S")) == Expected("a.md", "S")
    assert expected_of(Judgement("q", "a.md", quote="x", start=3, end=4)) == Expected("a.md", span=(3, 4))
    assert str(expected_of(Judgement("q", "a.md"))) == "a.md"
    assert str(Expected("a.md", span=(3, 4))) == "a.md#3:4"


def test_where_a_part_stands(served: Served) -> None:
    served.publish([document("a.md", "one two", "two three", title="A")])
    index, text = open_current(served.paths).index, "# A\n\none two\n\ntwo three"

    def found(expected: Expected) -> tuple[tuple[tuple[int, int], ...], bool]:
        passage = find_passage(index, expected, document="a.md", text=text)
        return passage.spans, passage.verbatim

    assert found(Expected("a.md")) == (((0, 23),), False)
    assert found(Expected("a.md", "Part 1")) == (((14, 23),), False)
    assert found(Expected("a.md", "A > Part 0")) == (((5, 12),), False)
    assert found(Expected("a.md", "two")) == (((9, 12), (14, 17)), True)
    assert found(Expected("a.md", "four")) == ((), True)
    assert found(Expected("a.md", span=(20, 24))) == ((), True)
