"""From the hits of a search to what a preset presents: the formatted context, its citations and sources."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from rag_pipeline.context.build import build_context
from rag_pipeline.context.passage import Presented, parents_of
from rag_pipeline.errors import InvalidSettings
from rag_pipeline.index.open import Index
from rag_pipeline.retrieval.parents import section_texts
from rag_pipeline.retrieval.scope import Mask
from rag_pipeline.schema import Citation, Hit, Passage, SourceDocument
from rag_pipeline.settings.strategy import ContextSettings
from rag_pipeline.text.tokenizer import ModelTokenizer, Tokenizer


@dataclass(frozen=True, slots=True)
class Presentation:
    text: str
    tokens: int
    citations: tuple[Citation, ...]
    sources: tuple[SourceDocument, ...]
    markers: tuple[str, ...]
    passages: tuple[Presented, ...]
    """By number, from 1: what of each section is shown."""

    @property
    def shown(self) -> tuple[Passage, ...]:
        """The same as source text, as a result carries it."""
        return tuple(_passage(presented) for presented in self.passages)


def present(
    query: str,
    hits: tuple[Hit, ...],
    *,
    index: Index,
    mask: Mask,
    settings: ContextSettings,
    own_tokenizer: Callable[[], Tokenizer],
) -> Presentation:
    """Sections are read under the mask that the hits were found under. `own_tokenizer` opens the embedding model's,
    where the settings name no other. Raises InvalidSettings for a tokenizer file that can't be read."""
    tokenizer = named_tokenizer(settings.tokenizer) if settings.tokenizer else own_tokenizer()
    texts = section_texts(index, [hit.section_id for hit in hits], mask=mask) if settings.parents else None
    parents = parents_of(hits, section_texts=texts)
    made = build_context(query, parents, budget=settings.max_tokens, tokenizer=tokenizer, form=settings.form)
    citations = tuple(Citation(p.number, p.parent.section_id, p.parent.doc_id) for p in made.passages)
    return Presentation(made.text, made.tokens, citations, sources_of(hits, citations), made.markers, made.passages)


def _passage(presented: Presented) -> Passage:
    parent = presented.parent
    pieces = tuple(parent.text[start:end] for start, end in presented.spans)
    return Passage(presented.number, parent.section_id, parent.doc_id, parent.title, parent.headers, pieces)


def sources_of(hits: tuple[Hit, ...], citations: tuple[Citation, ...]) -> tuple[SourceDocument, ...]:
    """Each document of the hits once, in rank order."""
    first: dict[str, Hit] = {}
    for hit in hits:
        first.setdefault(hit.doc_id, hit)
    return tuple(
        SourceDocument(doc_id, hit.source, hit.title, tuple(c.number for c in citations if c.doc_id == doc_id))
        for doc_id, hit in first.items()
    )


@lru_cache(maxsize=8)
def named_tokenizer(path: str) -> Tokenizer:
    """Raises InvalidSettings."""
    try:
        return ModelTokenizer(Path(path))
    except Exception as error:  # the tokenizers library raises plain Exception for a file it can't read
        raise InvalidSettings(f"tokenizer {path!r} can't be read ({error}); name a tokenizer.json") from error
