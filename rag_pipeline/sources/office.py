"""PDF and office files to Markdown with markitdown, which the [formats] extra installs.

Its converters are called one by one: the library's own front door guesses types with a model and fetches URLs.
"""

import io
import re
import warnings
import zipfile
from collections.abc import Callable
from dataclasses import dataclass

from rag_pipeline.errors import MissingExtra
from rag_pipeline.sources.derive import first_heading
from rag_pipeline.sources.reader import Reading, Refusal
from rag_pipeline.text.repair import repair_text

MAX_UNPACKED = 300_000_000
"""Bytes that an office file, which is a zip archive, may unpack to."""
Locators = tuple[tuple[int, str], ...]
_CONVERTERS = {"pdf": "PdfConverter", "docx": "DocxConverter", "pptx": "PptxConverter", "xlsx": "XlsxConverter"}
# Escaped, `create_agent` would be stored, and searched, as `create\\_agent`.
_PLAIN_WORDS = {"escape_underscores": False, "escape_asterisks": False}
_UNESCAPED: dict[str, dict[str, bool]] = {"pdf": {}, "docx": _PLAIN_WORDS, "pptx": _PLAIN_WORDS, "xlsx": _PLAIN_WORDS}
_SLIDE = re.compile(r"^<!-- Slide number: (\d+) -->", re.M)
_SHEET = re.compile(r"^## (.+)$", re.M)


@dataclass(frozen=True, slots=True)
class OfficeReader:
    format: str

    def read(self, data: bytes) -> Reading | Refusal:
        if self.format != "pdf" and (problem := _archive_problem(data)):
            return problem
        try:
            markdown = _convert(data, self.format)
        except MissingExtra as error:
            return Refusal("skipped", "missing_extra", str(error))
        except Exception as error:  # noqa: BLE001 - the converters' libraries raise anything on a broken file
            return Refusal("failed", "unreadable", f"{type(error).__name__}: {error}"[:300])
        text, locators = _LOCATE[self.format](markdown)
        return Reading(text, title=first_heading(text), locators=locators)


def _convert(data: bytes, format: str) -> str:
    try:
        import markitdown
        import markitdown.converters
    except ImportError as error:
        raise MissingExtra("markitdown", "formats") from error
    converter = getattr(markitdown.converters, _CONVERTERS[format])()
    try:
        with warnings.catch_warnings():
            # The libraries below warn about fonts and styles, which no text depends on.
            warnings.simplefilter("ignore")
            result = converter.convert(
                io.BytesIO(data), markitdown.StreamInfo(extension=f".{format}"), **_UNESCAPED[format]
            )
    except markitdown.MissingDependencyException as error:
        raise MissingExtra(f"markitdown[{format}]", "formats") from error
    return str(result.markdown)


def _archive_problem(data: bytes) -> Refusal | None:
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            unpacked = sum(item.file_size for item in archive.infolist())
    except (zipfile.BadZipFile, ValueError, NotImplementedError) as error:
        return Refusal("failed", "unreadable", f"not an office file (encrypted, or of an older kind?): {error}"[:300])
    if unpacked > MAX_UNPACKED:
        return Refusal("skipped", "too_large", f"unpacks to {unpacked} bytes, {MAX_UNPACKED} are allowed")
    return None


def _pages(markdown: str) -> tuple[str, Locators]:
    """Pages end with a form feed; a PDF whose pages look like forms comes without, and has no locators."""
    parts: list[str] = []
    locators: list[tuple[int, str]] = []
    length = 0
    pages = markdown.split("\f")
    for number, page in enumerate(pages, 1):
        text = repair_text(page).strip()
        if text:
            locators.append((length, f"page {number}"))
            parts.append(text)
            length += len(text) + 2
    return "\n\n".join(parts), tuple(locators) if len(pages) > 1 else ()


def _marked(pattern: re.Pattern[str], label: str) -> Callable[[str], tuple[str, Locators]]:
    def locate(markdown: str) -> tuple[str, Locators]:
        text = repair_text(markdown)
        return text, tuple((m.start(), f"{label} {m[1].strip()}") for m in pattern.finditer(text))

    return locate


_LOCATE: dict[str, Callable[[str], tuple[str, Locators]]] = {
    "pdf": _pages,
    "docx": lambda markdown: (repair_text(markdown), ()),
    "pptx": _marked(_SLIDE, "slide"),
    "xlsx": _marked(_SHEET, "sheet"),
}
