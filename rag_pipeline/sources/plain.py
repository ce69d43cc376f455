"""Formats that are stored as they are: plain text, reStructuredText, Markdown and source code.

Their text is the file's own after repair, so offsets lead back into the file.
"""

import re
from dataclasses import dataclass, replace

from rag_pipeline.sources.derive import first_heading
from rag_pipeline.sources.front_matter import split_front_matter
from rag_pipeline.sources.metadata import Metadata, read_metadata
from rag_pipeline.sources.reader import Reading, Refusal
from rag_pipeline.text.decode import decode
from rag_pipeline.text.repair import repair

_LINE = r"[=\-`:.'\"~^_*+#]"
_RST_TITLE = re.compile(rf"\s*(?:({_LINE})\1{{2,}}[ \t]*\n)?[ \t]?(\S.*)\n({_LINE})\3{{2,}}[ \t]*(?:\n|$)")


@dataclass(frozen=True, slots=True)
class PlainReader:
    """Any text; front matter is left alone, because `---` begins a YAML file and means nothing in code."""

    format: str

    def read(self, data: bytes) -> Reading | Refusal:
        decoded = decode(data)
        if decoded is None:
            return Refusal("skipped", "binary", "the bytes are no text in any encoding")
        repaired = repair(decoded.text)
        return Reading(repaired.text, source_map=repaired.source_map, repairs=(*decoded.repairs, *repaired.repairs))


@dataclass(frozen=True, slots=True)
class ProseReader:
    """Text that people write, with front matter and a title in its first heading."""

    format: str

    def read(self, data: bytes) -> Reading | Refusal:
        reading = PlainReader(self.format).read(data)
        return reading if isinstance(reading, Refusal) else with_front_matter(reading, self.format)


def with_front_matter(reading: Reading, format: str) -> Reading:
    """The reading with the metadata of its front matter, and the title of its first heading."""
    front = split_front_matter(reading.text)
    metadata = read_metadata(front.values, written=front.written)
    if front.hides_access:
        notice = f"{front.notice} and seems to hold an access list: nobody is admitted"
        metadata = Metadata(access=(), notices=(notice,))
    elif front.notice:
        metadata = Metadata(notices=(front.notice,))
    return replace(
        reading,
        metadata=metadata,
        body_start=front.body_start,
        title=_heading(reading.text, format, front.body_start),
    )


def _heading(text: str, format: str, start: int) -> str | None:
    if format == "text":
        return None
    if format == "rst":
        found = _RST_TITLE.match(text, start)
        return " ".join(found[2].split())[:200] if found else None
    return first_heading(text, start=start)
