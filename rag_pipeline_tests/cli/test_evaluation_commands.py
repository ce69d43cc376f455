import json
from pathlib import Path

import pytest

from rag_pipeline.cli.main import main
from rag_pipeline.cli.reindex import with_sources
from rag_pipeline.settings.load import load_settings
from rag_pipeline.settings.strategy import StrategySettings
from rag_pipeline_tests.evaluation.builders import write_set
from rag_pipeline_tests.served import STRATEGIES, Served
from rag_pipeline_tests.stages import document, pumps

QUERIES = [{"id": "oil", "text": "pump oil valve", "tags": ["a"]}, {"id": "agent", "text": "create_agent"}]
LABELS = [
    {"query_id": "oil", "document": "pump.md", "quote": "The pump moves oil through the valve.", "grade": 3},
    {"query_id": "agent", "document": "agents.md", "quote": "Call create_agent to make an agent.", "grade": 3},
]


@pytest.fixture
def served(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Served:
    return Served(tmp_path / "home", monkeypatch)


@pytest.fixture
def run(served: Served, capsys: pytest.CaptureFixture[str]):
    """Exit code and output of a command over the served collection."""

    def command(*arguments: object) -> tuple[int, str]:
        with pytest.raises(SystemExit) as ended:
            main([str(a) for a in arguments] + ["--home", str(served.home.root)])
        return int(str(ended.value.code)), capsys.readouterr().out

    return command


def test_a_sound_eval_set_is_checked_against_the_release_in_service(served, run, tmp_path):
    served.publish(pumps())
    folder = write_set(tmp_path / "set", QUERIES, LABELS)
    code, out = run("evalset", "check", folder, "--collection", "test")
    assert code == 0 and "0 errors" in out and "checked against collection test" in out


def test_every_error_has_its_line_and_the_exit_code_says_so(served, run, tmp_path):
    served.publish(pumps())
    stale = {"query_id": "oil", "document": "pump.md", "quote": "nobody wrote this", "grade": 1}
    ghost = {"query_id": "oil", "document": "ghost.md", "grade": 1}
    folder = write_set(tmp_path / "set", [*QUERIES, {"id": "bare", "text": "?"}], [*LABELS, stale, ghost])
    code, out = run("evalset", "check", folder, "--collection", "test")
    assert code == 15
    assert "error: queries.jsonl:3: query 'bare' has no judgement" in out
    assert "error: judgements.jsonl:3: query 'oil': pump.md does not hold the quote 'nobody wrote this'" in out
    assert "error: judgements.jsonl:4: query 'oil': unknown document 'ghost.md'" in out
    code, out = run("evalset", "check", folder, "--collection", "test", "--json")
    found = json.loads(out)
    assert (code, found["errors"], found["collection"]) == (15, 3, "test")
    assert {p["line"] for p in found["problems"] if p["severity"] == "error"} == {3, 4}


def test_questions_that_could_not_be_scored_are_told_and_none_at_all_is_an_error(served, run, tmp_path):
    first, second = served.publish(pumps()), served.publish([*pumps(), document("new.md", "One more.")], name="2")
    stale = [{**LABELS[0], "quote": "nobody wrote this"}, LABELS[1]]
    folder = write_set(tmp_path / "set", QUERIES, stale)
    told = "1 of 2 answerable questions are left out: their labels no longer resolve"
    pair = ("diff", first.release_id, second.release_id, "--collection", "test")
    page = tmp_path / "report.html"
    compared = ("compare", "--collection", "test", "--strategies", "bm25", "--half", "both")
    code, out = run(*compared, "--eval-set", folder, "--html", page)
    assert code == 0 and told in out and told in page.read_text("utf-8")
    code, out = run(*pair, "--eval-set", folder)
    assert code == 0 and told in out
    assert "left out" not in run(*compared, "--eval-set", write_set(tmp_path / "good", QUERIES, LABELS))[1]
    nothing = write_set(tmp_path / "none", QUERIES, [{**label, "quote": "nobody wrote this"} for label in LABELS])
    assert run(*compared, "--eval-set", nothing)[0] == 15
    assert run(*pair, "--eval-set", nothing)[0] == 15


def test_strategies_are_compared_against_the_first_one(served, run, tmp_path):
    release = served.publish(pumps())
    folder = write_set(tmp_path / "set", QUERIES, LABELS)
    arguments = ("compare", "--collection", "test", "--strategies", "bm25,vector", "--eval-set", folder)
    code, out = run(*arguments, "--half", "both", "--json")
    found = json.loads(out)
    assert (code, found["release"], found["half"], found["reference"]) == (0, release.release_id, "both", "bm25")
    assert {row["strategy"]: row["verdict"] for row in found["leaderboard"]} == {
        "bm25": "reference",
        "vector": "insufficient evidence",
    }
    assert all(row["n"] == 2 and row["ndcg@10"] == 1.0 for row in found["leaderboard"])
    assert "against bm25" in run(*arguments)[1]
    assert run("compare", "--collection", "test", "--strategies", "bm52")[0] == 5


def test_without_labels_the_corpus_asks_itself(served, run):
    served.publish([document("a.md", "The turbine of the northern station is lubricated before every start.")])
    code, out = run("compare", "--collection", "test", "--strategies", "hybrid", "--json")
    assert code == 0 and json.loads(out)["eval_set"] == "known-item-0"
    code, out = run("compare", "--collection", "test", "--strategies", "hybrid")
    assert code == 0 and "known-item-0, release" in out
    assert run("compare", "--collection", "test", "--strategies", "hybrid", "--half", "held_out")[0] == 2


def test_two_releases_are_compared_question_by_question(served, run, tmp_path):
    folder = write_set(tmp_path / "set", QUERIES, LABELS)
    good = served.publish(pumps())
    flood = [document(f"flood-{n:02}.md", "pump oil valve pump oil valve", title="Pump oil valve") for n in range(12)]
    bad = served.publish([*pumps(), *flood], name="2")
    arguments = ("diff", good.release_id, bad.release_id, "--collection", "test", "--eval-set", folder)
    found = json.loads(run(*arguments, "--json")[1])
    assert (found["before"], found["after"]) == (good.release_id, bad.release_id)
    assert found["comparison"]["overall"]["difference"] < 0 and found["won"] == []
    (lost,) = found["lost"]
    assert lost["query_id"] == "oil" and lost["ranking_before"][0].startswith("pump.md:")
    assert lost["ranking_after"][0].startswith("flood-")
    back = json.loads(run("diff", bad.release_id, good.release_id, *arguments[3:], "--json")[1])
    assert back["lost"] == [] and back["won"][0]["after"] > back["won"][0]["before"]
    assert "greatest losses (1)" in run(*arguments)[1]
    assert run("diff", good.release_id, "0" * 20, "--collection", "test")[0] == 5
    assert run("diff", good.release_id, good.release_id, "--collection", "test")[0] == 2


def test_releases_that_find_the_same_are_told_so(served, run, tmp_path):
    folder = write_set(tmp_path / "set", QUERIES, LABELS)
    first = served.publish(pumps())
    second = served.publish([*pumps(), document("z.md", "Something else altogether, of no use.")], name="2")
    code, out = run("diff", first.release_id, second.release_id, "--collection", "test", "--eval-set", folder)
    assert code == 0 and "the same for every question: 2 questions find a loss of" in out
    assert "insufficient evidence:" not in out


@pytest.mark.parametrize("option", ["--collection", "--strategies"])
def test_an_empty_name_is_told_not_taken_for_the_default(served, run, option):
    served.publish(pumps())
    assert run("compare", option, "")[0] == 2


def test_the_bundled_questions_are_not_asked_of_another_corpus():
    settings = load_settings(environ={})
    own = with_sources(settings, "agent_platform", ("elsewhere",), allow_empty=False).collection("agent_platform")
    assert settings.collection("agent_platform").eval_set is not None and own.eval_set is None
    kept = with_sources(settings, "agent_platform", (), allow_empty=True).collection("agent_platform")
    assert kept.eval_set is not None


def test_releases_and_eval_sets_are_compared_in_one_table_and_one_page(served, run, tmp_path):
    old = served.publish(pumps())
    flood = [document(f"flood-{n:02}.md", "pump oil valve pump oil valve", title="Pump oil valve") for n in range(12)]
    new = served.publish([*pumps(), *flood], name="2")
    one = write_set(tmp_path / "one", QUERIES, LABELS)
    two = write_set(tmp_path / "two", QUERIES[1:], LABELS[1:])
    page = tmp_path / "report.html"
    arguments = ("compare", "--collection", "test", "--strategies", "bm25,vector", "--half", "both")
    asked = ("--release", old.release_id, "--release", new.release_id, "--eval-set", one, "--eval-set", two)
    code, out = run(*arguments, *asked, "--html", page, "--json")
    found = json.loads(out)
    assert code == 0 and len(found["compared"]) == 4 and len(found["leaderboard"]) == 8
    places = {(row["eval set"], row["release"], row["strategy"]) for row in found["leaderboard"]}
    assert len(places) == 8 and {row["eval set"] for row in found["leaderboard"]} == {"one", "two"}
    references = [row for row in found["leaderboard"] if row["verdict"] == "reference"]
    assert {(row["eval set"], row["release"], row["strategy"]) for row in references} == {
        ("one", old.release_id, "bm25"),
        ("two", old.release_id, "bm25"),
    }
    text = page.read_text("utf-8")
    assert old.release_id in text and new.release_id in text and "<svg" in text
    code, out = run(*arguments, *asked)
    assert code == 0 and "eval set" in out and old.release_id in out
    assert "insufficient evidence: a loss smaller than" in out


def test_the_difference_of_two_releases_is_a_page_too(served, run, tmp_path):
    folder = write_set(tmp_path / "set", QUERIES, LABELS)
    good = served.publish(pumps())
    bad = served.publish([*pumps(), document("more.md", "pump oil valve", title="Pump oil valve")], name="2")
    page = tmp_path / "diff.html"
    arguments = ("diff", good.release_id, bad.release_id, "--collection", "test", "--eval-set", folder, "--html", page)
    code, out = run(*arguments)
    assert code == 0 and "the report is in" in out and "four times in five" in out
    assert f"Release {bad.release_id} against {good.release_id}" in page.read_text("utf-8")


def test_a_page_that_cannot_be_written_is_told_before_anything_is_measured(served, run, tmp_path):
    served.publish(pumps())
    code, _ = run("compare", "--collection", "test", "--html", tmp_path / "nowhere" / "report.html")
    assert code == 2


def test_strategies_that_cannot_run_here_say_why(served, run, tmp_path, monkeypatch):
    monkeypatch.delenv("RAG_PIPELINE_LLM_URL", raising=False)
    hyde = StrategySettings(transform="hyde").model_dump(mode="json")
    served.content = {"strategies": {**STRATEGIES, "hyde": hyde}}
    served.publish(pumps())
    folder = write_set(tmp_path / "set", QUERIES, LABELS)
    arguments = ("compare", "--collection", "test", "--strategies", "hybrid,hyde", "--eval-set", folder)
    found = json.loads(run(*arguments, "--half", "both", "--json")[1])
    (row,) = [row for row in found["leaderboard"] if row["strategy"] == "hyde"]
    assert row["verdict"].startswith("could not run: transform could not run (unconfigured)") and row["failed"] == 2
    out = run(*arguments, "--half", "both")[1]
    assert "could not run" in out and "left out" not in out
