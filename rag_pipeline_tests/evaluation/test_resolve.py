import pytest

from rag_pipeline.evaluation.eval_set import EvalSet, Judgement, Query
from rag_pipeline.evaluation.resolve import Corpus, resolve
from rag_pipeline_tests.evaluation.builders import section

#       0         10        20        30        40
TEXT = "alpha one beta two gamma three delta four end"
TEXTS = {"a.md": TEXT, "b.md": "# Setup\nrun it\n## Linux\napt\n## Setup ##\nagain"}


def one(*judgements: Judgement) -> EvalSet:
    return EvalSet("s", (Query("q", "?"),), judgements)


def corpus(*sections, **more):
    return Corpus.of(TEXTS, sections, **more)


WHOLE = (section("a.md", 0, 45),)
HALVES = (section("a.md", 0, 19), section("a.md", 19, 45))


def test_labels_survive_rechunking():
    """Labels bound to chunk ids break when the size of the pieces changes: quotes find the pieces of each build."""
    labels = one(
        Judgement("q", "a.md", quote="beta two", grade=2),
        Judgement("q", "a.md", quote="two gamma three", grade=3),
    )
    coarse = resolve(labels, corpus(*WHOLE))
    fine = resolve(labels, corpus(*HALVES))
    finest = resolve(labels, corpus(section("a.md", 0, 10), section("a.md", 10, 19), section("a.md", 19, 45)))
    assert coarse.relevance["q"].sections == {"a.md#0": 3}
    assert fine.relevance["q"].sections == {"a.md#0": 3, "a.md#19": 3}
    assert finest.relevance["q"].sections == {"a.md#10": 3, "a.md#19": 3}
    assert {r.coverage for r in (coarse, fine, finest)} == {1.0}
    assert coarse.relevance["q"].documents == fine.relevance["q"].documents == {"a.md": 3}
    assert coarse.relevance["q"].spans == fine.relevance["q"].spans == (("a.md", 10, 18), ("a.md", 15, 30))


def test_a_span_ending_where_a_section_begins_is_not_in_it():
    found = resolve(one(Judgement("q", "a.md", start=10, end=19)), corpus(*HALVES))
    assert found.relevance["q"].sections == {"a.md#0": 1}


def test_a_whole_document_is_all_its_sections():
    found = resolve(one(Judgement("q", "a.md", grade=2)), corpus(*HALVES))
    assert found.relevance["q"].sections == {"a.md#0": 2, "a.md#19": 2}


@pytest.mark.parametrize(
    ("judgement", "reason"),
    [
        (Judgement("q", "ghost.md", line=4), "unknown document 'ghost.md'"),
        (Judgement("q", "a.md", quote="omega", line=4), "a.md does not hold the quote 'omega'"),
        (Judgement("q", "a.md", quote="e", line=4), "a.md holds the quote 'e' 6 times; it must occur once"),
        (Judgement("q", "a.md", start=40, end=46, line=4), "a.md has 45 characters, the span ends at 46"),
        (Judgement("q", "a.md", quote="e", start=0, end=1, line=4), "the quote is not at 0:1 of a.md"),
        (Judgement("q", "b.md", section="Windows", line=4), "b.md does not hold the heading 'Windows'"),
        (Judgement("q", "b.md", section="Setup", line=4), "b.md holds the heading 'Setup' 2 times; it must occur once"),
    ],
)
def test_what_does_not_resolve_is_reported_with_its_line_and_takes_its_question_out(judgement, reason):
    """A label for a document that isn't there must be an error, not a question that scores 0 for ever."""
    found = resolve(one(Judgement("q", "a.md", quote="beta"), judgement), corpus(*WHOLE))
    assert [(u.query_id, u.line, u.reason) for u in found.unresolved] == [("q", 4, reason)]
    assert found.relevance == {}
    assert found.coverage == 0.0


def test_a_repeated_quote_may_say_which():
    found = resolve(one(Judgement("q", "a.md", quote="e", start=11, end=12)), corpus(*HALVES))
    assert found.relevance["q"].sections == {"a.md#0": 1}


def test_coverage_counts_answerable_questions_only():
    queries = (Query("q", "?"), Query("r", "?"), Query("u", "?", ("unanswerable",)))
    labels = (Judgement("q", "a.md"), Judgement("r", "ghost.md"))
    found = resolve(EvalSet("s", queries, labels), corpus(*WHOLE))
    assert (found.answerable, found.coverage, list(found.relevance)) == (2, 0.5, ["q"])
    assert resolve(EvalSet("s", queries[2:], ()), corpus(*WHOLE)).coverage == 1.0


def test_a_passage_that_no_section_holds_is_missed_not_left_out():
    """A build whose chunker loses a page must score worse, so the page stays relevant under an id nobody can return."""
    found = resolve(one(Judgement("q", "a.md", quote="delta", grade=3)), corpus(section("a.md", 0, 19)))
    assert found.relevance["q"].sections == {"a.md@31:36 (in no section)": 3}
    assert found.relevance["q"].documents == {"a.md": 3}
    assert [u.query_id for u in found.not_indexed] == ["q"]
    assert found.unresolved == ()


def test_a_duplicate_counts_as_the_document_that_stands_for_it():
    texts = {"a.md": TEXT, "copy.md": TEXT}
    place = Corpus.of(texts, WHOLE, canonical={"copy.md": "a.md"})
    found = resolve(one(Judgement("q", "copy.md", quote="beta"), Judgement("q", "a.md", quote="beta", grade=2)), place)
    assert found.relevance["q"].sections == {"a.md#0": 2}
    assert found.relevance["q"].documents == {"a.md": 2}


@pytest.mark.parametrize(
    ("judgement", "reason"),
    [
        (Judgement("q", "copy.md", quote="omega"), "a.md does not hold the quote 'omega'"),
        (Judgement("q", "copy.md", start=40, end=46), "a.md has 45 characters, the span ends at 46"),
        (Judgement("q", "copy.md", quote="e", start=0, end=1), "the quote is not at 0:1 of a.md"),
        (Judgement("q", "copy.md", section="Windows"), "a.md does not hold the heading 'Windows'"),
    ],
)
def test_a_label_on_a_duplicate_says_why_another_document_was_looked_at(judgement, reason):
    place = Corpus.of({"a.md": TEXT, "copy.md": TEXT}, WHOLE, canonical={"copy.md": "a.md"})
    (found,) = resolve(one(judgement), place).unresolved
    taken = "copy.md was taken as a duplicate of a.md, which has the same text and is found in its place"
    assert (found.document, found.reason) == ("copy.md", f"{taken}: {reason}")


class TestSections:
    sections = (
        section("b.md", 0, 15, "Guide", "Setup"),
        section("b.md", 15, 28, "Guide", "Setup", "Linux"),
        section("b.md", 28, 46, "Guide", "Use", "Linux"),
    )

    @pytest.mark.parametrize(
        ("label", "expected"), [("Setup", {"b.md#0"}), ("Setup > Linux", {"b.md#15"}), ("Use > Linux", {"b.md#28"})]
    )
    def test_a_heading_or_the_end_of_a_path(self, label, expected):
        found = resolve(one(Judgement("q", "b.md", section=label)), corpus(*self.sections))
        assert set(found.relevance["q"].sections) == expected

    def test_an_ambiguous_heading_is_unresolved(self):
        found = resolve(one(Judgement("q", "b.md", section="Linux")), corpus(*self.sections))
        assert "2 headings of b.md end with 'Linux'; write more of the path" in found.unresolved[0].reason

    def test_all_pieces_of_a_long_section(self):
        pieces = (section("b.md", 0, 15, "Setup"), section("b.md", 15, 28, "Setup"))
        found = resolve(one(Judgement("q", "b.md", section="Setup")), corpus(*pieces))
        assert set(found.relevance["q"].sections) == {"b.md#0", "b.md#15"}

    def test_a_heading_that_was_merged_away_is_found_by_its_line(self):
        found = resolve(one(Judgement("q", "b.md", section="Linux")), corpus(section("b.md", 0, 46, "Guide")))
        assert found.relevance["q"].sections == {"b.md#0": 1}
        assert found.relevance["q"].spans == (("b.md", 15, 23),)
