import json
from pathlib import Path

import pytest

from rag_pipeline.cli.main import main
from rag_pipeline_tests.evaluation.answers import row, write_answers
from rag_pipeline_tests.evaluation.builders import write_set
from rag_pipeline_tests.served import Served
from rag_pipeline_tests.stages import pumps

QUERIES = [
    {
        "id": "oil",
        "text": "what does the pump move?",
        "reference_answer": "oil",
        "key_facts": ["oil through the valve"],
    },
    {"id": "none", "text": "E-9999 meaning", "tags": ["unanswerable"]},
]
LABELS = [{"query_id": "oil", "document": "pump.md", "quote": "The pump moves oil through the valve.", "grade": 3}]


@pytest.fixture
def questions(tmp_path: Path) -> Path:
    return write_set(tmp_path / "set", QUERIES, LABELS)


@pytest.fixture
def run(tmp_path: Path, questions: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    served = Served(tmp_path / "home", monkeypatch)
    served.publish(pumps())
    for name in ("URL", "MODEL", "KEY"):
        monkeypatch.delenv(f"RAG_PIPELINE_LLM_{name}", raising=False)
    small = write_answers(tmp_path / "answers", [row(f"q{n}", True, "number") for n in range(6)])
    monkeypatch.setattr("rag_pipeline.settings.bundled.bundled_answer_set", lambda: small)

    def command(*arguments: object) -> tuple[int, str, str]:
        given = ["answers", "--collection", "test", "--home", str(served.home.root), "--eval-set", str(questions)]
        with pytest.raises(SystemExit) as ended:
            main([*given, *(str(a) for a in arguments)])
        printed = capsys.readouterr()
        return int(str(ended.value.code)), printed.out, printed.err

    return command


def test_quoted_answers_are_measured_and_it_says_why_no_judge_ran(run):
    code, out, _ = run()
    assert code == 0
    assert "key-fact recall" in out and "1.00" in out and "abstention recall" in out
    assert "faithful by construction" in out
    found = json.loads(run("--json")[1])
    assert found["answers"]["key_facts"] == {"mean": 1.0, "n": 1, "of": 1}
    assert found["judges"] is None


def test_the_judges_themselves_on_request(run):
    code, out, _ = run("--judges")
    assert code == 0
    assert "AUROC, sentences" in out and "number found" in out
    assert "not run: ragas: no language model is configured" in out


def test_recorded_answers_with_each_judge_and_its_own_accuracy(run, tmp_path):
    file = tmp_path / "recorded.jsonl"
    given = {"query_id": "oil", "answer": "Oil.", "passages": ["The pump moves oil through the valve."]}
    file.write_text(json.dumps(given) + "\n")
    code, out, _ = run("--recorded", file)
    assert code == 0
    assert "Faithfulness by judge" in out and "its AUROC" in out and "not run: llm" in out
    found = json.loads(run("--recorded", file, "--json")[1])
    assert [judged["judge"] for judged in found["answers"]["faithfulness"]] == ["lexical", "semantic"]
    assert {quality["half"] for quality in found["judges"]["qualities"]} == {"held_out"}
    assert run("--recorded", file, "--answerer", "llm")[0] == 2
    file.write_text(json.dumps({**given, "query_id": "ghost"}) + "\n")
    assert run("--recorded", file)[0] == 15


def test_a_model_that_is_not_configured_is_told(run):
    code, _, err = run("--answerer", "llm")
    assert (code, "RAG_PIPELINE_LLM_URL" in err) == (3, True)
    assert run("--answerer", "oracle")[0] == 5
