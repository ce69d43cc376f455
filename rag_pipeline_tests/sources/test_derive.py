"""Titles, languages and categories from headings and paths."""

import time

import pytest

from rag_pipeline.sources.derive import category_from_path, first_heading, language_from_path, plain, title_from_path


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("# A\nx", "A"),
        ("intro\n\n## Two\n\n# One #\n", "One"),
        ("Pump manual\n===========\n\nBody", "Pump manual"),
        ("```sh\n# no\n```\n# Yes", "Yes"),
        ("~~~~\n~~~\n# no\n~~~~\n# Yes", "Yes"),
        ("````\n```\n# no\n````\n# Yes", "Yes"),
        ("<!--\n# old\n-->\n# New", "New"),
        ("<!-- # old -->\n# New", "New"),
        ("    # code\n\n# Yes", "Yes"),
        ("#hashtag\n\n####### seven\n", None),
        ("- item\n===\n", None),
        ("```\n# unclosed", None),
        ("#\n\n# Second", "Second"),
        ("## only two", None),
        ("", None),
    ],
)
def test_first_heading(text: str, title: str | None) -> None:
    assert first_heading(text) == title


def test_first_heading_looks_behind_front_matter() -> None:
    text = "---\n# note\n---\n# A"
    assert first_heading(text, start=text.index("# A")) == "A"


@pytest.mark.parametrize(
    ("heading", "words"),
    [
        ("Install ##", "Install"),
        ("Install { #install }", "Install"),
        ("C# and F#", "C# and F#"),
        ("Use `create_agent` **now**", "Use create_agent now"),
        ("[Pump](x.md) ![i](i.png) guide", "Pump i guide"),
        ("snake_case_name * 2", "snake_case_name * 2"),
        ("A <br> B <!-- c -->", "A B"),
        (r"Not \*bold\*", "Not *bold*"),
        ("x" * 1000, "x" * 200),
    ],
)
def test_plain(heading: str, words: str) -> None:
    assert plain(heading) == words


@pytest.mark.parametrize("heading", ["*" * 20_000, "[" * 20_000, "`" * 20_000, "<a" * 20_000, "# " * 20_000])
def test_hostile_headings_take_no_time(heading: str) -> None:
    started = time.monotonic()
    first_heading(f"# {heading}")
    plain(heading)
    assert time.monotonic() - started < 1


@pytest.mark.parametrize(
    ("path", "title"),
    [
        ("getting-started.md", "Getting started"),
        ("guides/first_steps.md", "First steps"),
        ("guides/index.md", "Guides"),
        ("README.md", "README"),
        ("a/_index.md", "A"),
        ("v1.2-notes.md", "V1.2 notes"),
        ("-.md", "-.md"),
    ],
)
def test_title_from_path(path: str, title: str) -> None:
    assert title_from_path(path) == title


def test_code_keeps_its_name() -> None:
    assert title_from_path("src/agent_factory.py", keep_name=True) == "agent_factory.py"


@pytest.mark.parametrize(
    ("path", "language", "category"),
    [
        ("en/guide.md", "en", None),
        ("docs/ja/a/x.md", "ja", "docs"),
        ("pt-BR/x.md", "pt-br", None),
        ("zh_Hans/x.md", "zh-hans", None),
        ("it/printers.md", None, "it"),
        ("hr/holidays.md", None, "hr"),
        ("it-IT/x.md", "it-it", None),
        ("guides/x.md", None, "guides"),
        ("en.md", None, None),
        ("x.md", None, None),
    ],
)
def test_language_and_category(path: str, language: str | None, category: str | None) -> None:
    assert (language_from_path(path), category_from_path(path)) == (language, category)
