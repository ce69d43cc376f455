import pytest

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
