"""Questions that a corpus without labels can ask of itself: each is made from one section and must find that section.

They don't show that an index answers what people ask; they show that it lost nothing and still finds what it holds,
which is enough to notice a build that retrieves worse. Three kinds: a heading, a sentence, a rare identifier.
"""

import hashlib
import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

from rag_pipeline.evaluation.eval_set import EvalSet, Judgement, Query
from rag_pipeline.evaluation.resolve import Corpus
from rag_pipeline.schema import Principal, Section

KNOWN_ITEM = "known_item"
KINDS = ("heading", "sentence", "identifier")
_WORD = re.compile(r"\w+(?:[-./:]\w+)*")
_IDENTIFIER = re.compile(r"(?=.{4,60}$)(?:.*[a-z][A-Z].*|.*[A-Za-z].*\d.*|.*\d.*[A-Za-z].*|[A-Za-z]\w*_\w+)")
_SENTENCE = re.compile(r"[^\n.!?。]{40,200}+[.!?。](?=\s|$)")


@dataclass(frozen=True, slots=True)
class _Probe:
    kind: str
    text: str
    document: str
    quote: str


def known_item_probes(corpus: Corpus, *, count: int = 300, seed: int = 0) -> EvalSet:
    """At most `count` probes, a third of each kind as far as the corpus has them, asked as the system principal.

    Which are taken is decided by a hash of `seed` and their text, so a corpus that changed a little keeps most of them.
    """
    sections = [(corpus.texts[doc], s) for doc, found in sorted(corpus.sections.items()) for s in found]
    frequency = Counter(word for text, s in sections for word in _words(text[s.start : s.end]))
    paths = Counter(section.headers for _, section in sections)
    telling = {s.section_id: _sentence(text, s, frequency) for text, s in sections if s.kind != "outline"}
    makers: Mapping[str, Callable[[str, Section], Iterable[_Probe]]] = {
        "heading": lambda _, s: _heading(s, telling[s.section_id], unique=paths[s.headers] == 1),
        "sentence": lambda _, s: telling[s.section_id],
        "identifier": lambda text, s: _identifier(text, s, frequency),
    }
    chosen: list[_Probe] = []
    for i, kind in enumerate(KINDS):
        found = {probe.text: probe for text, s in sections if s.kind != "outline" for probe in makers[kind](text, s)}
        take = (count - len(chosen)) // (len(KINDS) - i)
        chosen += sorted(found.values(), key=lambda p: _hash(seed, p))[:take]
    queries = tuple(
        Query(f"{p.kind}-{_hash(seed, p)[:12]}", p.text, (KNOWN_ITEM, p.kind), principal=Principal.system())
        for p in chosen
    )
    judgements = tuple(
        Judgement(query.id, probe.document, quote=probe.quote, grade=3)
        for query, probe in zip(queries, chosen, strict=True)
    )
    return EvalSet(f"known-item-{seed}", queries, judgements)


def _heading(section: Section, telling: Sequence[_Probe], *, unique: bool) -> Iterator[_Probe]:
    """Its heading path, where no other section has the same; the label quotes its most telling sentence."""
    if unique and section.headers:
        path = " ".join(dict.fromkeys(title for _, title in section.headers[-2:]))
        if path.strip():
            yield from (_Probe("heading", path, section.doc_id, p.quote) for p in telling)


def _sentence(text: str, section: Section, frequency: Counter[str]) -> tuple[_Probe, ...]:
    """The sentence with the rarest words on average, of those that occur once in the document; none where none does."""
    found = (m.group().strip() for m in _SENTENCE.finditer(text, section.start, section.end))
    best_first = sorted(found, key=lambda s: (_rarity(s, frequency), s), reverse=True)
    # First and last place, not `occurrences`: a pattern made for each sentence takes a hundred times as long.
    once = (s for s in best_first if text.find(s) == text.rfind(s))
    return tuple(_Probe("sentence", best, section.doc_id, best) for best in islice(once, 1))


def _identifier(text: str, section: Section, frequency: Counter[str]) -> Iterator[_Probe]:
    for word in _WORD.findall(text, section.start, section.end):
        if frequency[word.casefold()] == 1 and _IDENTIFIER.fullmatch(word) and text.count(word) == 1:
            yield _Probe("identifier", word, section.doc_id, word)


def _words(text: str) -> set[str]:
    return set(map(str.casefold, _WORD.findall(text)))


def _rarity(sentence: str, frequency: Counter[str]) -> float:
    words = _words(sentence)
    return math.fsum(1 / max(1, frequency[word]) for word in words) / max(1, len(words))


def _hash(seed: int, probe: _Probe) -> str:
    return hashlib.sha256(f"{seed}\n{probe.kind}\n{probe.document}\n{probe.text}".encode()).hexdigest()
