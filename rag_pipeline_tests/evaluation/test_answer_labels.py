import pytest

from rag_pipeline.errors import InvalidEvalSet
from rag_pipeline.evaluation.answer_labels import FAULTS, load_answer_set, read_answer_set, unresolved_passages
from rag_pipeline.evaluation.check import check_eval_set
from rag_pipeline.evaluation.resolve import Corpus
from rag_pipeline.evaluation.split import Half
from rag_pipeline.settings.bundled import bundled_answer_set, bundled_corpus
from rag_pipeline_tests.evaluation.answers import row, write_answers


def told(folder):
    return [str(p) for p in read_answer_set(folder)[1]]


def test_an_answer_is_its_sentences_with_spaces_between_and_lines_where_they_begin(tmp_path):
    given = row("a", True)
    given["sentences"] = [
        {"text": "Two:", "faithful": True},
        {"text": "\n- one;", "faithful": True},
        {"text": "and more.", "faithful": False, "fault": "condition"},
    ]
    (answer,) = load_answer_set(write_answers(tmp_path, [given])).answers
    assert answer.text == "Two:\n- one; and more."
    assert [answer.text[s.start : s.end] for s in answer.sentences] == ["Two:", "- one;", "and more."]
    assert (answer.faithful, answer.sentences[2].fault, answer.query_id) == (False, "condition", None)


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        ("{", "answers.jsonl:2: not valid JSON"),
        (row("b", True, extra=1), "answers.jsonl:2: answer: unknown key 'extra'"),
        (row("b"), "answers.jsonl:2: answer: sentences"),
        (row("b", True, passages=[]), "answers.jsonl:2: answer: passages"),
        (row("b", "numbr"), "answers.jsonl:2: answer: sentences.0.fault"),
        (row("a", True, "name"), "answers.jsonl:2: answer id 'a' is already used in line 1"),
        (
            row("b", True, sentences=[{"text": "x", "faithful": False}]),
            "answers.jsonl:2: answer: sentences.0: an unfaithful sentence names its `fault`",
        ),
        (
            row("b", True, sentences=[{"text": "x", "faithful": True, "fault": "name"}]),
            "answers.jsonl:2: answer: sentences.0: an unfaithful sentence names its `fault`",
        ),
        (row("b", True, sentences=[{"text": "x", "faithful": 1}]), "answers.jsonl:2: answer: sentences.0.faithful"),
    ],
)
def test_every_fault_has_its_line(tmp_path, bad, message):
    folder = write_answers(tmp_path, [row("a", True), bad])
    (problem,) = told(folder)
    assert problem.startswith(message)
    with pytest.raises(InvalidEvalSet, match="1 errors"):
        load_answer_set(folder)


def test_an_empty_file_is_an_error_and_a_missing_one_too(tmp_path):
    assert told(write_answers(tmp_path, [])) == ["answers.jsonl: holds no answer; add at least one"]
    with pytest.raises(InvalidEvalSet, match="no such file"):
        read_answer_set(tmp_path / "elsewhere")


def test_passages_resolve_like_labels(tmp_path):
    folder = write_answers(tmp_path, [row("a", True), row("b", True), row("c", True)])
    corpus = Corpus.of({"a.md": "the passage\nof a is here", "b.md": "passage of b, passage of b"}, [])
    found = [str(p) for p in unresolved_passages(load_answer_set(folder), corpus)]
    assert found == [
        "answers.jsonl:2: answer 'b': b.md holds the quote 'passage of b' 2 times; it must occur once",
        "answers.jsonl:3: answer 'c': unknown document 'c.md'",
    ]
    assert [str(p) for p in check_eval_set(folder, corpus=corpus)] == found
    assert check_eval_set(folder) == ()


def test_the_hash_is_of_what_is_said_not_of_its_order(tmp_path):
    one = load_answer_set(write_answers(tmp_path / "1", [row("a", True), row("b", "name")]))
    other = load_answer_set(write_answers(tmp_path / "2", [row("b", "name"), row("a", True)]))
    third = load_answer_set(write_answers(tmp_path / "3", [row("b", "number"), row("a", True)]))
    assert one.content_hash == other.content_hash != third.content_hash


def test_answers_over_one_document_are_in_one_half(tmp_path):
    shared = [{"document": "same.md", "quote": "x"}]
    rows = [row(f"a{n}", True, passages=shared if n < 3 else [{"document": f"{n}.md", "quote": "x"}]) for n in range(9)]
    halves = load_answer_set(write_answers(tmp_path, rows)).half_of
    assert len({halves["a0"], halves["a1"], halves["a2"]}) == 1
    assert set(halves.values()) == {Half.TUNING, Half.HELD_OUT}


def test_the_bundled_set_is_balanced_and_fits_its_corpus():
    found = load_answer_set(bundled_answer_set())
    assert len(found.answers) == 96
    assert sum(a.faithful for a in found.answers) == 48
    kinds = [s.fault for a in found.answers for s in a.sentences if s.fault]
    assert {kind: kinds.count(kind) for kind in FAULTS} == {**dict.fromkeys(FAULTS, 8), "unsupported": 0}
    texts = {p.document: (bundled_corpus() / p.document).read_text("utf-8") for a in found.answers for p in a.passages}
    assert unresolved_passages(found, Corpus.of(texts, [])) == ()
    copied = [
        s.text for a in found.answers for s in a.sentences for p in a.passages if s.text in " ".join(p.quote.split())
    ]
    assert len(copied) < 20
