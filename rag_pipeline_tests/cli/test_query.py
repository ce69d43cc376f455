import pytest

from rag_pipeline.cli.output import console, print_table, verbatim
from rag_pipeline.cli.query import parse_filters
from rag_pipeline.errors import InvalidQuery, UnknownName

pytestmark = pytest.mark.model


def ask(run, home, *arguments):
    return run("query", *arguments, "--collection", "site", "--home", str(home))


def test_the_documented_object(run, published):
    answer = ask(run, published, "rotate signing keys", "--json")
    assert answer.code == 0
    found = answer.json
    assert set(found) >= {"query", "strategy", "release", "build_key", "chunks", "timings_ms", "markers"}
    first = found["chunks"][0]
    assert set(first) >= {"content", "source", "headers", "scores", "offsets", "document", "section", "rank"}
    assert [c["rank"] for c in found["chunks"]] == list(range(1, len(found["chunks"]) + 1))
    text = (published.parent / "site" / first["document"]).read_text("utf-8")
    assert text[first["offsets"]["start"] : first["offsets"]["end"]] == first["content"]
    assert first["content"] in first["section"]["content"]


def test_text_names_the_source_and_its_span(run, published):
    answer = ask(run, published, "where are private keys held", "-k", "1")
    assert answer.code == 0
    assert "keys/storage.md" in answer.out
    assert "Private keys are kept" in answer.out


def test_a_preset_prints_its_context(run, published):
    answer = ask(run, published, "rotate signing keys", "--context", "agent")
    assert answer.code == 0
    assert answer.out.startswith("# Retrieved Knowledge")
    assert "tokens for agent" in answer.out
    found = ask(run, published, "rotate signing keys", "--context", "agent", "--json").json
    assert found["context"] == "agent" and found["total_tokens"] <= 1500
    assert found["citations"][0] == {
        "number": 1,
        "document": found["chunks"][0]["document"],
        "section": found["chunks"][0]["section"]["id"],
    }
    assert found["sources"][0]["citations"]


def test_an_explanation_names_the_place_in_every_stage(run, published):
    found = ask(run, published, "rotate signing keys", "--explain", "--json").json
    assert found["chunks"][0]["ranks"].keys() == {"vector", "bm25", "fused", "evidence"}
    told = ask(run, published, "rotate signing keys", "--explain").out
    assert "How every stage ranked it" in told
    assert "candidates: vector " in told and "union" in told and "milliseconds: query " in told


def test_the_reranked_strategy_runs_and_one_without_its_model_says_so(run, published):
    found = ask(run, published, "rotate signing keys", "-s", "hybrid_rerank", "--json").json
    assert "rerank" in found["chunks"][0]["scores"]
    assert not [marker for marker in found["markers"] if marker.startswith("rerank=")]
    found = ask(run, published, "rotate signing keys", "-s", "prd_v2", "--json").json
    assert found["chunks"] and [marker for marker in found["markers"] if marker.startswith("rerank=skipped:")]


def test_filters_and_principal(run, published):
    only = ask(run, published, "keys", "-f", "category=security", "--json").json
    assert {c["document"] for c in only["chunks"]} == {"keys/rotation.md"}
    hidden = ask(run, published, "salary bands", "-k", "50", "--json").json
    assert "people/salaries.md" not in {c["document"] for c in hidden["chunks"]}
    shown = ask(run, published, "salary bands", "--as", "maria", "--group", "people-ops", "--json").json
    assert shown["chunks"][0]["document"] == "people/salaries.md"


@pytest.mark.parametrize(
    ("arguments", "kind"),
    [
        (["keys", "-f", "colour=red"], UnknownName),
        (["keys", "-s", "telepathy"], UnknownName),
        (["keys", "-f", "category"], InvalidQuery),
        (["  \u200b "], InvalidQuery),
    ],
)
def test_what_cannot_be_asked(run, published, arguments, kind):
    answer = ask(run, published, *arguments)
    assert answer.code == kind.exit_code
    assert answer.err.startswith("error: ")


def test_filters_on_the_command_line():
    assert parse_filters(("category=a", "tags=x", "tags=y")) == {"category": "a", "tags": ["x", "y"]}
    assert parse_filters(('updated={"gte": "2026-01-01"}',)) == {"updated": {"gte": "2026-01-01"}}
    with pytest.raises(InvalidQuery, match="KEY=VALUE"):
        parse_filters(("category",))
    with pytest.raises(InvalidQuery, match="not JSON"):
        parse_filters(("updated={gte}",))


def test_an_answer_quotes_its_passages(run, published):
    shown = ask(run, published, "how often are signing keys rotated?", "--answer")
    assert shown.code == 0
    assert "Signing keys are rotated every 90 days. [1]" in shown.out
    assert "[1] keys/rotation.md  Key rotation" in shown.out
    found = ask(run, published, "how often are signing keys rotated?", "--answer", "--json").json
    assert found["context"] == "agent" and found["chunks"]
    answer = found["answer"]
    assert (answer["answerer"], answer["abstained"], answer["invalid_citations"]) == ("extractive", False, [])
    assert answer["citations"][0]["document"] == "keys/rotation.md"
    assert answer["text"].startswith("Signing keys are rotated every 90 days. [1]")


def test_no_answer_says_why(run, published):
    shown = ask(run, published, "what does E-9999 mean", "--answer")
    assert shown.code == 0 and shown.out.startswith("no answer (unknown_identifier)")
    hidden = ask(run, published, "where does band four begin", "--answer", "-f", "source=people/salaries.md")
    assert hidden.out.startswith("no answer (filter_empty)")
    seen = ask(
        run, published, "where does salary band four begin", "--answer", "--as", "maria", "--group", "people-ops"
    )
    assert "81,500" in seen.out and "81,500" not in hidden.out


def test_an_answer_by_a_model_that_is_not_there(run, published, monkeypatch):
    monkeypatch.delenv("RAG_PIPELINE_LLM_URL", raising=False)
    answer = ask(run, published, "rotate keys", "--answer", "--answerer", "llm")
    assert answer.code == 3 and "RAG_PIPELINE_LLM_URL" in answer.err
    assert ask(run, published, "rotate keys", "--answerer", "llm").code == 2


def test_filters_said_in_words(run, published):
    found = ask(run, published, "security pages on keys", "--read-filters", "rules", "--json").json
    assert found["read_filters"] == {"category": "security"}
    assert {c["document"] for c in found["chunks"]} == {"keys/rotation.md"}
    shown = ask(run, published, "security pages on keys", "--read-filters", "rules")
    assert 'filters read from the words: {"category": "security"}' in shown.out


def test_text_of_documents_is_printed_as_it_stands(capsys: pytest.CaptureFixture[str]) -> None:
    """Rich took the escape off a document's own citation mark, and made pictures of its emoji names."""
    console().print(verbatim(r"see \[1] and array[0], :key: [bold]not bold[/bold]"))
    print_table("", [{"name": r"\[1] :key: [red]"}])
    shown = capsys.readouterr().out
    assert r"see \[1] and array[0], :key: [bold]not bold[/bold]" in shown
    assert r"\[1] :key: [red]" in shown
