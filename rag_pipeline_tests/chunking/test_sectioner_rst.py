from pathlib import Path

import pytest

from rag_pipeline.chunking import sectioner_rst
from rag_pipeline_tests.chunking.support import assert_sound, chunk, document, paths

TEXT = """=====
Title
=====

Intro.

Section ``A``
-------------

Text::

    # literal

.. unknown:: x

   body

Sub
~~~

deep

Section B
---------

end
"""


def test_titles_become_headings_with_their_levels() -> None:
    source = document(TEXT, format="rst")
    made = chunk(source)
    assert paths(made) == [("Title",), ("Title", "Section A"), ("Title", "Section A", "Sub"), ("Title", "Section B")]
    assert [source.text[s.start : s.end].splitlines()[0] for s in made.sections] == [
        "=====",
        "Section ``A``",
        "Sub",
        "Section B",
    ]
    assert_sound(source, made, limit=256)


def test_nothing_is_read_from_disk(tmp_path: Path) -> None:
    secret = tmp_path / "secret.txt"
    secret.write_text("Stolen\n======\n")
    source = document(f"A\n=\n\n.. include:: {secret}\n\n.. raw:: html\n   :file: {secret}\n", format="rst")
    made = chunk(source)
    assert paths(made) == [("A",)]
    assert "Stolen" not in made.chunks[0].search_text


def test_what_docutils_cannot_read_is_kept_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(source: str) -> list[tuple[int, int, str]]:
        raise RecursionError("too deep")

    monkeypatch.setattr(sectioner_rst, "_titles", broken)
    source = document(TEXT, format="rst")
    made = chunk(source)
    assert [(e.outcome, e.rule, e.detail) for e in made.ledger] == [
        ("notice", "unparsed_rst", "docutils: RecursionError: too deep")
    ]
    assert_sound(source, made, limit=256)


def test_form_feeds_do_not_shift_the_lines() -> None:
    source = document("A\n=\n\nx\fy\vz\n\nB\n=\n\nend\n", format="rst")
    made = chunk(source)
    assert paths(made) == [("A",), ("B",)]
    assert [source.text[s.start] for s in made.sections] == ["A", "B"]
