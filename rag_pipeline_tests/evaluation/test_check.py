from rag_pipeline.evaluation.check import check_eval_set
from rag_pipeline.evaluation.resolve import Corpus
from rag_pipeline_tests.evaluation.builders import section, write_set

CORPUS = Corpus.of({"a.md": "because of that"}, [section("a.md", 0, 7)])
Q1 = {"id": "q1", "text": "why?"}


def judged(**more):
    return {"query_id": "q1", "document": "a.md", "grade": 3, **more}


def test_a_good_set_has_no_problem(tmp_path):
    queries = [{"id": f"q{i}", "text": f"why {i}?"} for i in range(1, 6)]
    texts = {f"{q['id']}.md": "because" for q in queries}
    labels = [{"query_id": q["id"], "document": f"{q['id']}.md", "grade": 1} for q in queries]
    sections = [section(name, 0, 7) for name in texts]
    folder = write_set(tmp_path, queries, labels)
    assert check_eval_set(folder, corpus=Corpus.of(texts, sections)) == ()


def test_problems_of_the_files_and_of_the_corpus_come_in_order_of_their_lines(tmp_path):
    labels = [judged(quote="because"), judged(quote="gone"), "{", judged(document="ghost.md"), judged(quote="of that")]
    folder = write_set(tmp_path, [Q1, {**Q1, "text": "how?"}], labels)
    found = [(p.file, p.line, p.severity) for p in check_eval_set(folder, corpus=CORPUS)]
    assert found == [
        ("judgements.jsonl", 2, "error"),
        ("judgements.jsonl", 3, "error"),
        ("judgements.jsonl", 4, "error"),
        ("judgements.jsonl", 5, "notice"),  # the passage exists, but no section holds it
        ("queries.jsonl", 2, "error"),
    ]


def test_without_a_corpus_only_the_files_are_checked(tmp_path):
    assert check_eval_set(write_set(tmp_path, [Q1], [judged(document="ghost.md")])) == ()


def test_a_set_that_hangs_together_is_noticed(tmp_path):
    queries = [{"id": f"q{i}", "text": f"why {i}?"} for i in range(4)]
    labels = [{"query_id": q["id"], "document": "a.md", "grade": 1} for q in queries]
    (notice,) = check_eval_set(
        write_set(tmp_path, queries, labels), corpus=CORPUS.of({"a.md": "x"}, [section("a.md", 0, 1)])
    )
    assert notice.severity == "notice"
    assert "4 of 4 questions hang together" in notice.message


def test_a_beir_folder_is_named_by_its_own_file(tmp_path):
    (tmp_path / "qrels").mkdir()
    (tmp_path / "queries.jsonl").write_text('{"_id": "1", "text": "x"}\n')
    (tmp_path / "qrels" / "test.tsv").write_text("query-id\tcorpus-id\tscore\n1\tghost.md\t1\n")
    (problem,) = check_eval_set(tmp_path, corpus=CORPUS)
    assert str(problem) == "test.tsv:2: query '1': unknown document 'ghost.md'"
