"""PDF and office files, with files made by hand."""

import io
import sys

import pytest

from rag_pipeline.sources import office
from rag_pipeline.sources.office import OfficeReader
from rag_pipeline.sources.reader import Reading, Refusal
from rag_pipeline_tests.sources import files


@pytest.fixture
def converter() -> None:
    pytest.importorskip("markitdown", reason="needs the [formats] extra")


def read(format: str, data: bytes) -> Reading:
    found = OfficeReader(format).read(data)
    assert isinstance(found, Reading), found
    return found


@pytest.mark.usefixtures("converter")
def test_pdf_pages_are_locators() -> None:
    found = read("pdf", files.pdf(["Alpha page", "", "Gamma page"]))
    assert found.text == "Alpha page\n\nGamma page"
    assert found.locators == ((0, "page 1"), (12, "page 3"))


@pytest.mark.usefixtures("converter")
def test_docx() -> None:
    found = read("docx", files.docx("Pump guide", "Call create_agent with *args."))
    assert found.text == "# Pump guide\n\nCall create_agent with *args."
    assert found.title == "Pump guide"


@pytest.mark.usefixtures("converter")
def test_pptx_slides_are_locators() -> None:
    pptx = pytest.importorskip("pptx")
    deck = pptx.Presentation()
    for title in ("First", "Second"):
        slide = deck.slides.add_slide(deck.slide_layouts[1])
        slide.shapes.title.text = title
        slide.placeholders[1].text = f"body of {title}"
    out = io.BytesIO()
    deck.save(out)
    found = read("pptx", out.getvalue())
    assert [(found.text[at:].split("\n")[1], label) for at, label in found.locators] == [
        ("# First", "slide 1"),
        ("# Second", "slide 2"),
    ]


@pytest.mark.usefixtures("converter")
def test_xlsx_sheets_are_locators() -> None:
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    book.active.title = "Torque"
    book.active.append(["part", "nm_max"])
    book.active.append(["bolt", 5])
    book.create_sheet("Notes").append(["x"])
    out = io.BytesIO()
    book.save(out)
    found = read("xlsx", out.getvalue())
    assert found.text.startswith("## Torque\n| part | nm_max |\n| --- | --- |\n| bolt | 5 |")
    assert [label for _, label in found.locators] == ["sheet Torque", "sheet Notes"]


@pytest.mark.usefixtures("converter")
@pytest.mark.parametrize("format", ["pdf", "docx", "pptx", "xlsx"])
def test_a_broken_file_is_reported(format: str) -> None:
    for data in (b"nonsense", files.archive({"x": "y"})):
        found = OfficeReader(format).read(data)
        assert isinstance(found, Refusal)
        assert (found.outcome, found.rule) == ("failed", "unreadable")


def test_an_archive_that_unpacks_too_far_is_not_opened(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(office, "MAX_UNPACKED", 1_000_000)
    found = OfficeReader("docx").read(files.archive({"word/document.xml": "0" * 1_000_001}))
    assert isinstance(found, Refusal)
    assert found.rule == "too_large"


def test_without_the_extra_it_is_skipped_with_the_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "markitdown", None)
    found = OfficeReader("pdf").read(files.pdf(["x"]))
    assert isinstance(found, Refusal)
    assert (found.outcome, found.rule) == ("skipped", "missing_extra")
    assert "rag-pipeline[formats]" in found.detail
