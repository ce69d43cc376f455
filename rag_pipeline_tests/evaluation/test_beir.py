import json
import os
from pathlib import Path

import pytest

from rag_pipeline.errors import InvalidEvalSet
from rag_pipeline.evaluation.labels import load_eval_set, read_eval_set

SHARED = Path(os.environ.get("RAG_PIPELINE_SHARED", Path(__file__).parents[3] / "shared" / "data"))


def beir(folder: Path, queries: list[dict], qrels: str, split: str = "test") -> Path:
    (folder / "qrels").mkdir(parents=True)
    (folder / "queries.jsonl").write_text("".join(json.dumps(q) + "\n" for q in queries))
    (folder / "qrels" / f"{split}.tsv").write_text(qrels)
    return folder


QUERIES = [{"_id": "1", "text": "one", "metadata": {}}, {"_id": "2", "text": "two"}]
HEADER = "query-id\tcorpus-id\tscore\n"


def test_judged_queries_and_positive_scores_are_read(tmp_path):
    found, problems = read_eval_set(beir(tmp_path / "x", QUERIES, HEADER + "1\td1\t2\n1\td2\t0\n1\td3\t-1\r\n"))
    assert [(q.id, q.text) for q in found.queries] == [("1", "one")]
    assert [(j.document, j.grade, j.quote) for j in found.judgements] == [("d1", 2, None)]
    assert [(p.severity, p.message) for p in problems] == [
        ("notice", "1 queries have no judgement in test.tsv: left out")
    ]
    assert found.name == "x-test"


@pytest.mark.parametrize(
    ("qrels", "expected"),
    [
        ("1\td1\t1\n", "test.tsv:1: the header must be"),
        (HEADER + "1\td1\n", "test.tsv:2: expected"),
        (HEADER + "1\td1\t0.5\n", "test.tsv:2: expected"),
        (HEADER + "9\td1\t1\n", "test.tsv:2: no query has the id '9'"),
        (HEADER + "1\td1\t1\n1\td1\t2\n", "test.tsv:3: score 2, but line 2 says 1"),
        (HEADER, "test.tsv: judges no query"),
    ],
)
def test_faults_are_errors_with_file_and_line(tmp_path, qrels, expected):
    _, problems = read_eval_set(beir(tmp_path, QUERIES, qrels))
    assert any(expected in str(p) and p.severity == "error" for p in problems), problems


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        ([QUERIES[0], {"_id": "1", "text": "other"}], "queries.jsonl:2: query id '1' has another text in line 1"),
        ([QUERIES[0], {"_id": 2, "text": "x"}], "queries.jsonl:2: `_id` and `text`"),
    ],
)
def test_bad_queries(tmp_path, rows, expected):
    _, problems = read_eval_set(beir(tmp_path, rows, HEADER + "1\td1\t1\n"))
    assert any(expected in str(p) for p in problems)


def test_identical_rows_are_notices(tmp_path):
    _, problems = read_eval_set(beir(tmp_path, [QUERIES[0], QUERIES[0]], HEADER + "1\td1\t1\n1\td1\t1\n"))
    assert [(p.file, p.line, p.severity) for p in problems] == [
        ("queries.jsonl", 2, "notice"),
        ("test.tsv", 3, "notice"),
    ]


def test_another_split(tmp_path):
    folder = beir(tmp_path, QUERIES, HEADER + "2\td1\t1\n", split="train")
    assert [q.id for q in read_eval_set(folder, split="train")[0].queries] == ["2"]
    with pytest.raises(InvalidEvalSet, match="no such file"):
        read_eval_set(folder)


@pytest.mark.shared_data
@pytest.mark.skipif(not SHARED.is_dir(), reason=f"no shared data at {SHARED}")
@pytest.mark.parametrize(
    ("name", "queries", "judgements"),
    [("scifact", 300, 339), ("kubernetes-qa", 297, 297), ("product-docs-qa", 100, 192), ("cranfield", 225, 1612)],
)
def test_published_sets_are_read(name, queries, judgements):
    found = load_eval_set(SHARED / name)
    assert (len(found.queries), len(found.judgements)) == (queries, judgements)
