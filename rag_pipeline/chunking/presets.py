"""Named sizes, child/section: the default, and others to compare it with."""

from collections.abc import Mapping

from rag_pipeline.settings.build import ChunkingSettings

PRESETS: Mapping[str, ChunkingSettings] = {
    # Children as long as a 256-token model reads with title and header path in front.
    "default": ChunkingSettings(),
    # Small children under the same parents: finer hits, half as many words in each vector.
    "128/512 tokens": ChunkingSettings(child_tokens=128, section_tokens=512),
    # Sizes in words, for comparing with pipelines that count them.
    "30/100 words": ChunkingSettings(child_tokens=30, section_tokens=100, unit="words"),
    "50/200 words": ChunkingSettings(child_tokens=50, section_tokens=200, unit="words"),
    # No structure at all: what the others have to beat.
    "fixed 50 words": ChunkingSettings(chunker="fixed_window", child_tokens=50, section_tokens=50, unit="words"),
}
