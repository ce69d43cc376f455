import time
import unicodedata
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_pipeline.errors import InvalidSettings
from rag_pipeline.text import analyzer
from rag_pipeline.text.analyzer import MAX_TOKEN, Analyzer

ANALYZER = Analyzer()


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("create_agent", ["create_agent", "creat", "agent"]),
        ("CamelCaseName", ["camelcasename", "camelcasenam", "camel", "case", "name"]),
        ("HTTPServer", ["httpserver", "http", "server"]),
        ("E-4021", ["e-4021", "4021"]),
        ("C++ C# (C++).", ["c++", "c#", "c++"]),
        ("C/C++", ["c/c++", "c++"]),
        ("3.14", ["3.14", "3", "14"]),
        ("/etc/hosts", ["/etc/hosts", "etc", "host"]),
        ("fe80::1", ["fe80::1", "fe80", "1"]),
        ("--flag", ["--flag", "flag"]),
        ("v1.2.3", ["v1.2.3", "v1", "2", "3"]),
        ("foo.bar.baz", ["foo.bar.baz", "foo", "bar", "baz"]),
        ("factory.create_agent()", ["factory.create_agent", "factori", "create_agent", "creat", "agent"]),
        ("error:E-4021", ["error:e-4021", "error", "e-4021", "4021"]),
        ("__init__", ["__init__", "init"]),
        ("URLs k8s", ["url", "k8s"]),
        ("running Pumps, the pump.", ["run", "pump", "the", "pump"]),
        ("dog's don't l'homme", ["dog", "don't", "l'homm", "homm"]),
        ("東京大学", ["東京", "京大", "大学", "東", "京", "大", "学"]),
        ("水", ["水"]),
        ("Kubernetesクラスタ", ["kubernet", "クラ", "ラス", "スタ"]),
        ("Straße İstanbul", ["strass", "istanbul"]),
        ("ＦＵＬＬ ﬁne", ["full", "fine"]),
        ("so\u00adft zero\u200bwidth", ["soft", "zerowidth"]),
        ("?!… -- ++ ## ' _ __", []),
        ('who is "Ada"? cats OR dogs - {0} & \'x', ["who", "is", "ada", "cat", "or", "dog", "0", "x"]),
        ("", []),
        (" \t\n", []),
    ],
)
def test_tokens(text: str, tokens: list[str]) -> None:
    assert ANALYZER.tokens(text) == tokens


def test_composed_and_decomposed_accents_meet_the_bare_word() -> None:
    assert ANALYZER.tokens("café") == ANALYZER.tokens("cafe\u0301") == ANALYZER.tokens("cafe") == ["cafe"]


def test_marks_that_make_other_letters_are_kept() -> None:
    """The voiced sound mark is a combining mark too; without it か and が would be one letter."""
    assert ANALYZER.tokens("がく") != ANALYZER.tokens("かく")
    assert ANALYZER.tokens("हिन्दी") == ["हिन्दी"]


@pytest.mark.parametrize(
    "query", ["create_agent", "agent", "create", "E-4021", "4021", "CamelCaseName", "camel", "東京"]
)
def test_a_query_meets_text_that_holds_it(query: str) -> None:
    text = "Call AgentFactory.create_agent(); error E-4021 in CamelCaseName. 東京大学に行く"
    assert set(ANALYZER.tokens(query)) <= set(ANALYZER.tokens(text))


def test_languages() -> None:
    assert Analyzer("none").tokens("running") == ["running"]
    assert Analyzer("german").tokens("Häuser") == Analyzer("german").tokens("hauser")
    assert Analyzer("german").fingerprint != ANALYZER.fingerprint
    with pytest.raises(InvalidSettings, match="klingon"):
        Analyzer("klingon")


@pytest.mark.parametrize(
    "text",
    [
        "((" * 1000,
        "a" * 10_000,
        "aB" * 5000,
        "a-" * 5000,
        "A1" * 50_000,
        "#" * 100_000,
        "a." * 50_000 + "!",
        "a'" * 50_000,
        "+#" * 50_000 + "a" + "+#" * 50_000,
        "\u0301" * 100_000,
        "a\u0301" * 50_000,
        "_" * 100_000,
        "//" * 50_000 + "a",
    ],
    ids=lambda text: f"{text[:3]!a} x {len(text)}",
)
def test_hostile_text_is_linear(text: str) -> None:
    started = time.perf_counter()
    tokens = ANALYZER.tokens(text)
    assert time.perf_counter() - started < 1
    assert all(0 < len(token) <= MAX_TOKEN for token in tokens)


def test_a_long_token_is_found_by_itself() -> None:
    blob = "x9" * 5000
    assert ANALYZER.tokens(blob) == [blob[:MAX_TOKEN]]


@given(st.text())
def test_any_text(text: str) -> None:
    tokens = ANALYZER.tokens(text)
    assert all(token and len(token) <= MAX_TOKEN and not any(c.isspace() for c in token) for token in tokens)
    assert ANALYZER.token_text(text).split() == tokens
    "".join(tokens).encode("utf-8")  # no lone surrogate


@given(st.text(st.characters(categories=["L", "M", "N", "Zs"])))
def test_normal_forms_meet(text: str) -> None:
    composed, decomposed = (ANALYZER.tokens(unicodedata.normalize(form, text)) for form in ("NFC", "NFD"))
    assert composed == decomposed


def test_speed() -> None:
    """At least a megabyte a second, at a tenth of what an idle core does."""
    words = Path(__file__).read_text("utf-8").split()
    text = " ".join(f"{word}{n}" if n % 7 == 0 else word for n in range(100) for word in words)
    started = time.perf_counter()
    Analyzer().tokens(text)
    assert len(text) / (time.perf_counter() - started) > 100_000


@pytest.mark.parametrize(
    ("text", "identifiers"),
    [
        ("create_agent", ["create_agent"]),
        ("factory.create_agent()", ["factory.create_agent", "create_agent"]),
        ("E-4021", ["e-4021", "4021"]),
        ("C++", ["c++"]),
        ("3.14", ["3.14"]),
        ("CamelCaseName", ["camelcasename"]),
        ("/etc/hosts", ["/etc/hosts"]),
        ("fe80::1", ["fe80::1", "fe80"]),
        ("E-4021の意味", ["e-4021", "4021"]),
        ("5", []),
        ("running", []),
        ("don't", []),
        ("東京", []),
        ("RBAC", []),
    ],
)
def test_identifiers(text: str, identifiers: list[str]) -> None:
    assert [i for word in Analyzer().words(text) for i in word.identifiers] == identifiers


@given(st.text())
def test_words_have_the_same_tokens(text: str) -> None:
    analyzer = Analyzer()
    assert {t for word in analyzer.words(text) for t in word.tokens} == set(analyzer.tokens(text))


def test_words_that_were_forgotten_give_the_same_tokens(monkeypatch: pytest.MonkeyPatch) -> None:
    """More distinct words than are kept, and one too long to keep."""
    monkeypatch.setattr(analyzer, "CACHED_WORDS", 3)
    text = " ".join(f"Word{n} running E-{n}" for n in range(9)) + " " + "x" * 200
    assert Analyzer().tokens(f"{text} {text}") == ANALYZER.tokens(text) * 2
