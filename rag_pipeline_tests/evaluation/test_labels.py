import json

import pytest

from rag_pipeline.errors import InvalidEvalSet
from rag_pipeline.evaluation.eval_set import EvalSet, Judgement, Query
from rag_pipeline.evaluation.labels import load_eval_set, read_eval_set
from rag_pipeline.schema import Principal
from rag_pipeline_tests.evaluation.builders import write_set

Q1 = {"id": "q1", "text": "why?"}
Q2 = {"id": "q2", "text": "who?", "tags": ["unanswerable"]}
J1 = {"query_id": "q1", "document": "a.md", "quote": "because", "grade": 3}


def errors(folder):
    return [str(p) for p in read_eval_set(folder)[1] if p.severity == "error"]


def test_everything_of_a_row_is_read(tmp_path):
    query = {
        "id": "q1",
        "text": "why?",
        "tags": ["filtered"],
        "filters": {"updated": {"gte": "2026-01-01"}},
        "principal": {"identity": "ann", "groups": ["finance"]},
        "reference_answer": "because",
        "key_facts": ["because"],
    }
    folder = write_set(tmp_path / "mine", [query, Q2], [J1, {"query_id": "q1", "document": "b.md", "grade": 1}])
    (folder / "eval_set.toml").write_text('name = "nice"\nversion = "2"\n')
    found = load_eval_set(folder)
    assert (found.name, found.version) == ("nice", "2")
    assert found.queries[0] == Query(
        "q1",
        "why?",
        ("filtered",),
        {"updated": {"gte": "2026-01-01"}},
        Principal("ann", ("finance",)),
        "because",
        ("because",),
    )
    assert found.judgements == (Judgement("q1", "a.md", quote="because", grade=3), Judgement("q1", "b.md", grade=1))
    assert [j.line for j in found.judgements] == [1, 2]
    assert [q.id for q in found.answerable] == ["q1"]


def test_name_defaults_to_the_folder(tmp_path):
    assert load_eval_set(write_set(tmp_path / "mine", [Q1], [J1])).name == "mine"


@pytest.mark.parametrize(
    ("queries", "judgements", "expected"),
    [
        (["{", Q1], [J1], "queries.jsonl:1: not valid JSON"),
        (["[1]", Q1], [J1], "queries.jsonl:1: a JSON object is expected"),
        (["", '{"id": "x", "text": NaN}', Q1], [J1], "queries.jsonl:2: not valid JSON: NaN"),
        (
            [Q1, '{"id": "x", "id": "y", "text": "t"}'],
            [J1],
            "queries.jsonl:2: not valid JSON: the key 'id'",
        ),
        (["[" * 100_000, Q1], [J1], "queries.jsonl:1: not valid JSON"),
        ([Q1, {**Q1, "text": "how?"}], [J1], "queries.jsonl:2: query id 'q1' is already used differently in line 1"),
        ([{**Q1, "tag": ["x"]}], [], "queries.jsonl:1: query: unknown key 'tag'"),
        ([Q1, {"id": "q3", "text": "  "}], [J1], "queries.jsonl:2: query: text"),
        ([Q1, {"id": 3, "text": "x"}], [J1], "queries.jsonl:2: query: id"),
        ([Q1, {"id": "q3", "text": "x"}], [J1], "queries.jsonl:2: query 'q3' has no judgement"),
        ([Q1], [J1, {**J1, "query_id": "zz"}], "judgements.jsonl:2: no usable query has the id 'zz'"),
        ([Q1, Q2], [J1, {**J1, "query_id": "q2"}], "judgements.jsonl:2: query 'q2' is tagged unanswerable"),
        ([Q1], [J1, {**J1, "grade": 2}], "judgements.jsonl:2: grade 2, but line 1 gives the passage 3"),
        ([Q1], [{**J1, "grade": 0}], "judgements.jsonl:1: judgement: grade"),
        ([Q1], [{**J1, "grade": 4}], "judgements.jsonl:1: judgement: grade"),
        ([Q1], [{**J1, "grade": "3"}], "judgements.jsonl:1: judgement: grade"),
        ([Q1], [{"query_id": "q1", "document": "a.md"}], "judgements.jsonl:1: judgement: grade"),
        ([Q1], [{**J1, "chunk": "c1"}], "judgements.jsonl:1: judgement: unknown key 'chunk'"),
        ([Q1], [{**J1, "start": 3}], "`start` and `end` go together"),
        ([Q1], [{**J1, "start": 3, "end": 3}], "`end` must be after `start`"),
        ([Q1], [{**J1, "section": "Setup"}], "`section` can't be combined"),
        ([], [], "queries.jsonl: holds no query"),
    ],
)
def test_faults_are_errors_with_file_and_line(tmp_path, queries, judgements, expected):
    folder = write_set(tmp_path, queries, judgements)
    assert any(expected in e for e in errors(folder)), errors(folder)
    with pytest.raises(InvalidEvalSet, match="correct these lines"):
        load_eval_set(folder)


def test_a_label_that_can_not_be_used_is_not_a_second_error_of_its_query(tmp_path):
    assert len(errors(write_set(tmp_path, [Q1], [{**J1, "grade": 9}]))) == 1


def test_identical_rows_are_read_once_with_a_notice(tmp_path):
    found, problems = read_eval_set(write_set(tmp_path, [Q1, Q1], [J1, J1]))
    assert len(found.queries) == len(found.judgements) == 1
    assert [(p.file, p.line, p.severity) for p in problems] == [
        ("queries.jsonl", 2, "notice"),
        ("judgements.jsonl", 2, "notice"),
    ]


def test_lone_surrogates_line_ends_and_byte_order_marks_are_repaired(tmp_path):
    folder = write_set(tmp_path, [], [])
    (folder / "queries.jsonl").write_bytes(b'\xef\xbb\xbf{"id": "q1", "text": "a \\ud800 b\\u2028c"}\r\n')
    (folder / "judgements.jsonl").write_text(json.dumps({**J1, "quote": "one\r\ntwo"}) + "\n")
    found = load_eval_set(folder)
    assert found.queries[0].text == "a \ufffd b\u2028c"
    assert found.judgements[0].quote == "one\ntwo"
    assert len(found.content_hash) == 64


def test_bytes_that_are_not_utf8_are_one_error(tmp_path):
    folder = write_set(tmp_path, [Q1], [J1])
    (folder / "queries.jsonl").write_bytes(json.dumps(Q1).encode() + b'\n{"id": "\xff"}\n')
    assert errors(folder) == ["queries.jsonl:2: not valid UTF-8 at byte 8 of the line"]


def test_a_missing_file_says_so(tmp_path):
    with pytest.raises(InvalidEvalSet, match="no such file"):
        load_eval_set(tmp_path / "nowhere")


@pytest.mark.parametrize(("toml", "expected"), [("name = ", "not readable as TOML"), ("size = 3", "size")])
def test_a_bad_description_is_an_error(tmp_path, toml, expected):
    folder = write_set(tmp_path, [Q1], [J1])
    (folder / "eval_set.toml").write_text(toml)
    assert any(expected in e for e in errors(folder))


def test_long_error_lists_are_cut_with_their_number(tmp_path):
    with pytest.raises(InvalidEvalSet, match="30 errors") as raised:
        load_eval_set(write_set(tmp_path, ["{"] * 30, []))
    assert str(raised.value).count("queries.jsonl:") == 20
    assert str(raised.value).endswith("and 10 more")


class TestContentHash:
    base = EvalSet("a", (Query("q1", "x", ("s", "t")), Query("q2", "y")), (Judgement("q1", "d"), Judgement("q2", "e")))

    def test_order_name_version_and_lines_do_not_matter(self):
        other = EvalSet(
            "b",
            (Query("q2", "y"), Query("q1", "x", ("t", "s"))),
            (Judgement("q2", "e", line=7), Judgement("q1", "d", line=9)),
            version="2",
        )
        assert other.content_hash == self.base.content_hash

    @pytest.mark.parametrize(
        "other",
        [
            EvalSet("a", (Query("q1", "x", ("s", "t")), Query("q2", "z")), base.judgements),
            EvalSet("a", (Query("q1", "x", ("s",)), Query("q2", "y")), base.judgements),
            EvalSet("a", base.queries, (Judgement("q1", "d", grade=2), Judgement("q2", "e"))),
            EvalSet("a", base.queries, base.judgements[:1]),
            EvalSet("a", (*base.queries[:1], Query("q2", "y", principal=Principal("ann"))), base.judgements),
        ],
    )
    def test_content_matters(self, other):
        assert other.content_hash != self.base.content_hash
