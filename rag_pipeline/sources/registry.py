"""Which reader reads a file: one entry an extension, in lower case. A new format is a reader, named here."""

from pathlib import PurePosixPath

from rag_pipeline.sources.html import HtmlReader
from rag_pipeline.sources.notebook import NotebookReader
from rag_pipeline.sources.office import OfficeReader
from rag_pipeline.sources.plain import PlainReader, ProseReader
from rag_pipeline.sources.reader import Reader

READERS: dict[str, Reader] = {
    **dict.fromkeys(("md", "markdown", "mdx"), ProseReader("markdown")),
    **dict.fromkeys(("txt", "text", "log"), ProseReader("text")),
    "rst": ProseReader("rst"),
    **dict.fromkeys(("html", "htm", "xhtml"), HtmlReader()),
    "ipynb": NotebookReader(),
    "py": PlainReader("python"),
    "sql": PlainReader("sql"),
    **dict.fromkeys(("js", "jsx", "mjs", "cjs"), PlainReader("javascript")),
    "ts": PlainReader("typescript"),
    "tsx": PlainReader("tsx"),
    **dict.fromkeys(("sh", "bash"), PlainReader("bash")),
    **dict.fromkeys(("yaml", "yml"), PlainReader("yaml")),
    "toml": PlainReader("toml"),
    "json": PlainReader("json"),
    **{name: OfficeReader(name) for name in ("pdf", "docx", "pptx", "xlsx")},
}

MARKDOWN_FORMATS = frozenset({"markdown", "html", "notebook", "pdf", "docx", "pptx", "xlsx"})
"""Formats whose stored text is Markdown."""
CODE_FORMATS = frozenset({"python", "sql", "javascript", "typescript", "tsx", "bash", "yaml", "toml", "json"})
"""Formats whose stored text is source code or configuration."""


def reader_for(path: str) -> Reader | None:
    """The reader of a file with this name, or None where no format is known by its extension."""
    return READERS.get(PurePosixPath(path).suffix[1:].lower())
