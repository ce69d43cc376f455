"""Notebooks to Markdown."""

import json

import pytest

from rag_pipeline.sources.notebook import MAX_OUTPUT, NotebookReader, fenced
from rag_pipeline.sources.reader import Reading, Refusal
from rag_pipeline_tests.sources.files import notebook


def read(data: bytes) -> Reading:
    found = NotebookReader().read(data)
    assert isinstance(found, Reading)
    return found


def test_cells_become_markdown_with_locators() -> None:
    found = read(
        notebook(
            [
                {"cell_type": "markdown", "source": ["# Plan\n", "words"]},
                {"cell_type": "markdown", "source": " "},
                {"cell_type": "code", "source": "1 + 1", "outputs": [{"data": {"text/plain": ["2"]}}]},
            ]
        )
    )
    assert found.text == "# Plan\nwords\n\n```python\n1 + 1\n```\n\n```text\n2\n```"
    assert found.locators == ((0, "cell 1"), (14, "cell 3"))
    assert found.text[14:].startswith("```python")
    assert found.title == "Plan"


def test_a_fence_is_longer_than_any_inside_it() -> None:
    assert fenced("x") == "```\nx\n```"
    assert fenced("a\n````\nb\n", "md") == "`````md\na\n````\nb\n`````"


def test_outputs_are_text_and_cut() -> None:
    found = read(
        notebook(
            [
                {
                    "cell_type": "code",
                    "source": "f()",
                    "outputs": [
                        {"output_type": "stream", "text": "y" * (MAX_OUTPUT + 1)},
                        {"output_type": "error", "ename": "KeyError", "evalue": "'x'"},
                        {"output_type": "display_data", "data": {"image/png": "iVBOR"}},
                        "odd",
                    ],
                }
            ],
            language="r",
        )
    )
    assert found.text.startswith("```r\nf()\n```\n\n```text\n" + "y" * MAX_OUTPUT + "\n[output cut]\n```")
    assert found.text.endswith("```text\nKeyError: 'x'\n```")
    assert "iVBOR" not in found.text


def test_front_matter_in_a_raw_first_cell() -> None:
    cells = [
        {"cell_type": "raw", "source": "---\ntitle: T\naccess: [group:ops]\n---"},
        {"cell_type": "markdown", "source": "# H"},
    ]
    found = read(notebook(cells))
    assert (found.metadata.title, found.metadata.access, found.title) == ("T", ("group:ops",), "H")
    assert found.text[found.body_start :].strip() == "# H"
    as_text = read(notebook([{"cell_type": "markdown", "source": "---\ntitle: T\n---"}]))
    assert (as_text.metadata.title, as_text.body_start) == (None, 0)


def test_an_old_notebook_has_worksheets() -> None:
    cells = [{"cell_type": "heading", "level": 2, "source": "Old"}, {"cell_type": "code", "input": "x = 1"}]
    found = read(json.dumps({"worksheets": [{"cells": cells}]}).encode())
    assert found.text == "## Old\n\n```python\nx = 1\n```"


def test_lone_surrogates_are_repaired() -> None:
    found = read(b'{"cells": [{"cell_type": "markdown", "source": "ok \\ud800 ok"}]}')
    assert found.text == "ok \ufffd ok"


@pytest.mark.parametrize("data", [b"{", b"[]", b"{}", b'{"cells": 3}', b"[" * 100_000])
def test_malformed(data: bytes) -> None:
    found = NotebookReader().read(data)
    assert isinstance(found, Refusal)
    assert (found.outcome, found.rule) == ("failed", "malformed")


@pytest.mark.parametrize("level", [None, "x", 99, [1]])
def test_odd_heading_levels(level: object) -> None:
    found = read(json.dumps({"cells": [{"cell_type": "heading", "level": level, "source": "H"}]}).encode())
    assert found.text.endswith(" H")


@pytest.mark.parametrize("outputs", [3, "x", {"a": 1}, [3], [{"data": 3}], [{"text": 3}]])
def test_odd_outputs(outputs: object) -> None:
    cell = {"cell_type": "code", "source": "x", "outputs": outputs}
    assert read(json.dumps({"cells": [cell]}).encode()).text == "```python\nx\n```"
