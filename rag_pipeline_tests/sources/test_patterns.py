"""Include and exclude patterns."""

import pytest

from rag_pipeline.sources.patterns import path_filter


@pytest.mark.parametrize(
    ("pattern", "path", "matches"),
    [
        ("**/*", "a.md", True),
        ("**/*", "a/b/c.md", True),
        ("*.md", "a.md", True),
        ("*.md", "a/b.md", True),
        ("*.md", "a.mdx", False),
        ("a/*.md", "a/b.md", True),
        ("a/*.md", "a/b/c.md", False),
        ("a/*.md", "x/a/b.md", False),
        ("a/**/*.md", "a/b.md", True),
        ("a/**/*.md", "a/b/c/d.md", True),
        ("**/a/**", "x/a/y/z", True),
        ("a/", "a/b/c.md", True),
        ("./a/b.md", "a/b.md", True),
        ("[ab].md", "a.md", True),
        ("[!ab].md", "a.md", False),
        ("?.md", "ab.md", False),
        ("a.md", "aXmd", False),
        ("(x)+.md", "(x)+.md", True),
        ("[", "[", True),
        ("*.MD", "a.md", False),
    ],
)
def test_patterns(pattern: str, path: str, matches: bool) -> None:
    assert path_filter([pattern], [])(path) == ("" if matches else "not_included")


def test_exclude_wins_and_folders_are_not_entered() -> None:
    reason = path_filter(["**/*.md"], ["drafts/**", "node_modules", "*.tmp.md"])
    assert reason("a.md") == ""
    assert reason("a.txt") == "not_included"
    assert reason("x.tmp.md") == "excluded"
    assert reason("drafts/a.md") == "excluded"
    assert reason("drafts/") == "excluded"
    assert reason("a/node_modules/") == "excluded"
    assert reason("guides/") == ""
