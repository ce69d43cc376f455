"""Splits documents into chunks for indexing.

Prose is cut at sentence ends near 480 tokens with an overlap of 64 tokens. Tables stay
whole up to 1,200 tokens; longer ones are cut by rows and every part repeats the header.
Source code is cut at function and class borders.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

TARGET_TOKENS = 480
OVERLAP_TOKENS = 64
TABLE_LIMIT = 1_200
HARD_LIMIT = 2_000          # E-6031 above this, even for code


@dataclass(frozen=True)
class Chunk:
    text: str
    kind: str               # prose | table | code
    heading_path: tuple[str, ...]
    start: int
    end: int


def estimate_tokens(text: str) -> int:
    """Four characters a token for Latin script, 1.6 for Japanese and Chinese."""
    cjk = len(re.findall(r"[\u3040-\u30ff\u4e00-\u9fff]", text))
    return int(cjk / 1.6 + (len(text) - cjk) / 4)


def split_table(rows: list[str], header: list[str], limit: int = TABLE_LIMIT) -> list[str]:
    """Cut a long table by rows; header and ruler line are repeated in each part."""
    parts: list[str] = []
    current = list(header)
    for row in rows:
        if estimate_tokens("\n".join(current + [row])) > limit and len(current) > len(header):
            parts.append("\n".join(current))
            current = list(header)
        current.append(row)
    parts.append("\n".join(current))
    return parts


def split_prose(text: str, target: int = TARGET_TOKENS, overlap: int = OVERLAP_TOKENS) -> list[str]:
    """Greedy sentence packing with overlap. A heading never ends a chunk."""
    sentences = re.split(r"(?<=[.!?。])\s+", text)
    chunks: list[str] = []
    window: list[str] = []
    for sentence in sentences:
        window.append(sentence)
        if estimate_tokens(" ".join(window)) >= target:
            chunks.append(" ".join(window))
            tail: list[str] = []
            while window and estimate_tokens(" ".join(tail)) < overlap:
                tail.insert(0, window.pop())
            window = tail
    if window:
        chunks.append(" ".join(window))
    return chunks
