"""Which sectioner reads which format; readers that convert to Markdown (HTML, notebooks, office files) share one."""

from typing import Protocol

from rag_pipeline.chunking.blocks import Parsed
from rag_pipeline.chunking.code_grammars import GRAMMARS
from rag_pipeline.chunking.sectioner_code import code_sectioner
from rag_pipeline.chunking.sectioner_markdown import parse_markdown
from rag_pipeline.chunking.sectioner_rst import parse_rst
from rag_pipeline.chunking.sectioner_text import parse_text
from rag_pipeline.chunking.sizes import SpanSize
from rag_pipeline.schema import Document
from rag_pipeline.sources.registry import MARKDOWN_FORMATS


class Sectioner(Protocol):
    """`size(start, end)` is the size of a span in the settings' unit, `cap` the most a section may have."""

    def __call__(self, document: Document, *, size: SpanSize, cap: int) -> Parsed: ...


SECTIONERS: dict[str, Sectioner] = {
    **dict.fromkeys(MARKDOWN_FORMATS, parse_markdown),
    "rst": parse_rst,
    "text": parse_text,
    **{language: code_sectioner(language) for language in GRAMMARS},
}


def sectioner_for(format_name: str) -> Sectioner:
    """A format without a sectioner of its own is plain text."""
    return SECTIONERS.get(format_name, parse_text)
