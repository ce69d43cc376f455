"""A judge that remembers its verdicts on disk, by content: the same judge, answer and passages are judged once.

So that a judge's noise is not read as a difference between two runs, and no call is paid for twice. A failure is never
kept.
"""

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from rag_pipeline.evaluation.judges.base import Judge, Judgement
from rag_pipeline.llm.cache import ReplyCache

ENTRIES = 20_000
_JUDGEMENT = TypeAdapter(Judgement)


class CachedJudge:
    def __init__(self, judge: Judge, folder: Path, *, entries: int = ENTRIES) -> None:
        self.name = judge.name
        self.fingerprint = judge.fingerprint
        self.parallel = judge.parallel
        self.cache = ReplyCache(entries, folder=folder)
        self._judge = judge

    def judge(self, answer: str, passages: Sequence[str], *, question: str = "") -> Judgement:
        key = verdict_key(self.fingerprint, answer, passages, question)
        if (kept := self.cache.get(key)) is not None and (found := _read(kept)) is not None:
            return found
        judgement = self._judge.judge(answer, passages, question=question)
        if judgement.failure is None:
            self.cache.put(key, _JUDGEMENT.dump_json(judgement).decode())
        return judgement


def verdict_key(fingerprint: str, answer: str, passages: Sequence[str], question: str) -> str:
    """sha256, hex, over everything a verdict depends on."""
    asked = json.dumps([fingerprint, question, answer, list(passages)], ensure_ascii=True)
    return hashlib.sha256(asked.encode()).hexdigest()


def _read(text: str) -> Judgement | None:
    try:
        return _JUDGEMENT.validate_json(text)
    except ValidationError:
        return None
