"""What every reader of a format returns. Readers get bytes and touch no file, so each can be tested with a literal."""

from dataclasses import dataclass, field
from typing import Literal, Protocol

from rag_pipeline.sources.metadata import Metadata


@dataclass(frozen=True, slots=True)
class Reading:
    """A document's text and what the file says about itself. Offsets are code points of `text`."""

    text: str
    body_start: int = 0
    title: str | None = None
    """A title that only this format knows about, such as HTML's <title>; front matter is in `metadata`."""
    metadata: Metadata = field(default_factory=Metadata)
    source_map: tuple[tuple[int, int], ...] = ()
    locators: tuple[tuple[int, str], ...] = ()
    repairs: tuple[str, ...] = ()
    """What was repaired in the text, for the ledger."""


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a file gives no document."""

    outcome: Literal["filtered", "skipped", "failed"]
    rule: str
    detail: str = ""


class Reader(Protocol):
    @property
    def format(self) -> str:
        """Name stored with the document; the chunker chooses its sectioner by it."""
        ...

    def read(self, data: bytes) -> Reading | Refusal: ...
