"""Text to search tokens, the same way for the index and for queries.

Everything that decides whether two words meet lives here: normal form, case, accents, stems, identifiers, scripts
without spaces. Nothing here knows documents, chunks or scores. No stop word is dropped: BM25 weighs them down by
itself, and `the pump` must stay findable.

An identifier gives each of its tokens once:

    create_agent        create_agent, creat, agent      identifiers whole (unstemmed) and their parts (stemmed)
    AgentFactory        agentfactory, agentfactori, agent, factori
    E-4021              e-4021, 4021                    a part of one Latin letter is no token
    /etc/hosts          /etc/hosts, etc, host
    running             run
    café                cafe
    東京大学            東京, 京大, 大学, 東, 京, 大, 学
"""

import unicodedata
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain

import regex
import snowballstemmer

from rag_pipeline.errors import InvalidSettings

ANALYZER_VERSION = 1
"""Goes into the build key; raise it with every change that gives some text other tokens."""

MAX_TOKEN = 64
"""Code points of one token; a longer one keeps its beginning, in the index and in queries alike."""

CACHED_WORDS = 1 << 17
CACHED_WORD_LENGTH = 128

# Zero-width and direction marks, the soft hyphen and the byte-order mark: invisible inside words.
_INVISIBLE = dict.fromkeys([0x00AD, 0xFEFF, 0x2060, *range(0x200B, 0x2010), *range(0x202A, 0x202F)])
_STRAIGHT = {0x2019: "'", 0x2018: "'", 0x2010: "-", 0x2011: "-"}
_BORDER = {**_INVISIBLE, **_STRAIGHT}

_UNSPACED = r"\p{Han}\p{Hiragana}\p{Katakana}\p{Hangul}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}ー々"
# Possessive quantifiers: a run is taken once and never given back, so no long input is searched twice.
_PIECE = regex.compile(rf"([{_UNSPACED}]++)|((?:(?![{_UNSPACED}])[\w.:/@\\&'~$+#-])++)")
_HAN = regex.compile(r"\p{Han}")
_ATOM = regex.compile(r"\w++(?:\+{1,2}+(?![\w+])|\#(?![\w#]))?")
_CAMEL = regex.compile(r"\p{Lu}+(?!\p{Ll})|\p{Lu}?+\p{Ll}++|\p{Lu}|[^\p{Lu}\p{Ll}]++")
_ACCENTS = regex.compile(r"[\u0300-\u036f]++")


@dataclass(frozen=True, slots=True)
class Word:
    """A run of a text that is taken as one: an identifier, a word, or a run of a script without spaces."""

    tokens: tuple[str, ...]
    identifiers: tuple[str, ...]
    """Those of its tokens that name one thing letter for letter, the whole first: `CamelCase`, `create_agent`,
    `E-4021`, `C++`, `3.14`, `/etc/hosts`. Empty for a word of a language."""


class _Known(dict[str, tuple[str, ...]]):
    """Tokens of the words met so far. A dict, because indexing asks for every word of a corpus: a look-up that finds
    its word runs no Python."""

    def __init__(self, tokens_of: Callable[[str], tuple[str, ...]]) -> None:
        super().__init__()
        self._tokens_of = tokens_of

    def __missing__(self, word: str) -> tuple[str, ...]:
        tokens = self._tokens_of(word)
        if len(word) <= CACHED_WORD_LENGTH:
            if len(self) >= CACHED_WORDS:
                self.clear()
            self[word] = tokens
        return tokens


class Analyzer:
    """Raises InvalidSettings for a language Snowball has no stemmer for; "none" stems nothing."""

    def __init__(self, language: str = "english") -> None:
        self.language = language
        self.fingerprint = f"analyzer-{ANALYZER_VERSION}-{language}"
        self._stem = lru_cache(CACHED_WORDS)(_stemmer(language))
        self._known = _Known(self._word)

    def tokens(self, text: str) -> list[str]:
        """Tokens of `text` in order; none is empty, longer than MAX_TOKEN or holds white space."""
        if not text.isascii():
            text = unicodedata.normalize("NFKC", text.translate(_BORDER))
        return list(chain.from_iterable(map(self._known.__getitem__, text.split())))

    def words(self, text: str) -> list[Word]:
        """The same tokens as `tokens` gives, word by word."""
        if not text.isascii():
            text = unicodedata.normalize("NFKC", text.translate(_BORDER))
        out: list[Word] = []
        for word in text.split():
            for piece in [word] if word.isascii() and word.isalpha() else map("".join, _PIECE.findall(word)):
                tokens = self._word(piece)
                if tokens:
                    whole = tokens[:1] if _has_humps(piece) and piece.isalpha() else ()
                    out.append(Word(tokens, (*whole, *(t for t in tokens if _is_identifier(t)))))
        return out

    def token_text(self, text: str) -> str:
        """Tokens joined by single spaces: what DuckDB's fts indexes."""
        return " ".join(self.tokens(text))

    def _word(self, word: str) -> tuple[str, ...]:
        if word.isascii() and word.isalpha():
            return tuple(dict.fromkeys(self._letters(word)))
        found: list[str] = []
        for unspaced, piece in _PIECE.findall(word):
            found += _bigrams(_fold(unspaced)) if unspaced else dict.fromkeys(self._piece(piece))
        return tuple(token for token in found if token.strip("_"))  # a mark on its own folds to nothing

    def _piece(self, piece: str) -> Iterator[str]:
        """One run of word characters and the punctuation that identifiers are made of."""
        piece = _without_ending(piece.lstrip("&:'+\\"))
        name = piece.lstrip("-./$@#~")
        if not name:
            return
        lead = piece[: len(piece) - len(name)][-2:]
        if not lead and _is_atom(name):
            yield from self._atom(name)
            return
        if "'" in name and name.replace("'", "").isalpha():
            yield from self._apostrophe(name)
            return
        yield _fold(lead + name)[:MAX_TOKEN]
        for segment in regex.split(r"[/:\\@&]++", name):
            if segment != name and not _is_atom(segment) and (segment := _without_ending(segment.strip("-.'~$"))):
                yield _fold(segment)[:MAX_TOKEN]
            for atom in _ATOM.findall(segment):
                yield from self._part(atom)

    def _atom(self, atom: str) -> Iterator[str]:
        """Letters, digits, underscores and marks, perhaps with the ending of `C++` or `C#`."""
        if atom.isalpha():
            yield from self._letters(atom)
            return
        yield _fold(atom)[:MAX_TOKEN]
        if len(atom) > MAX_TOKEN:  # a blob, not a name: its parts are noise
            return
        for part in atom.split("_") if "_" in atom else _CAMEL.findall(atom) if _has_humps(atom) else ():
            yield from self._part(part)

    def _part(self, part: str) -> Iterator[str]:
        if part and not (len(part) == 1 and part.isascii() and part.isalpha()):
            yield from self._atom(part)

    def _letters(self, word: str) -> Iterator[str]:
        folded = _fold(word)[:MAX_TOKEN]
        if len(word) > MAX_TOKEN:
            yield folded
        elif _has_humps(word):
            yield folded
            yield self._stem(folded)
            for part in _CAMEL.findall(word):
                if len(part) > 1:
                    yield self._stem(_fold(part)[:MAX_TOKEN])
        else:
            yield self._stem(folded)

    def _apostrophe(self, word: str) -> Iterator[str]:
        """`dog's` is `dog`; in `l'homme` the word behind the elision counts too."""
        yield self._stem(_fold(word)[:MAX_TOKEN])
        tail = word.rpartition("'")[2]
        if len(tail) > 2:
            yield from self._letters(tail)


def _fold(text: str) -> str:
    """Case-folded, without the accents of Latin, Greek and Cyrillic letters; other scripts keep their marks."""
    if text.isascii():
        return text.lower()
    decomposed = unicodedata.normalize("NFD", unicodedata.normalize("NFKC", text).casefold())
    return unicodedata.normalize("NFKC", _ACCENTS.sub("", decomposed))


def _bigrams(run: str) -> Iterator[str]:
    """Overlapping pairs, and every Han character, so that one alone can be asked for."""
    if len(run) == 1:
        yield run
        return
    for i in range(len(run) - 1):
        yield run[i : i + 2]
    yield from _HAN.findall(run)


def _is_atom(name: str) -> bool:
    return _ATOM.fullmatch(name) is not None


def _is_identifier(token: str) -> bool:
    """Digits or joints between letters; not `don't`, and no number of one or two digits: that is a count."""
    return not token.isalpha() and "'" not in token and not (token.isdigit() and len(token) < 3)


def _has_humps(word: str) -> bool:
    """`CamelCase`, `HTTPServer`, `base64Encoder`; not `Word`, `WORD` or `URLs`."""
    if word.islower() or word.isupper() or word[1:].islower() or (word.endswith("s") and word[:-1].isupper()):
        return False
    return any(c.isupper() for c in word[1:])


def _without_ending(piece: str) -> str:
    """Sentence punctuation off the end; the ending of `C++` and `C#` stays."""
    piece = piece.rstrip("-./:@\\&'~$")
    name = piece.rstrip("+#")
    if name and name[-1].isalnum() and piece[len(name) :] in ("+", "++", "#"):
        return piece
    return name.rstrip("-./:@\\&'~$+#")


def _stemmer(language: str) -> Callable[[str], str]:
    if language == "none":
        return lambda word: word
    known = snowballstemmer.algorithms()
    if language not in known:
        raise InvalidSettings(
            f"index.language {language!r} has no Snowball stemmer; choose one of none, {', '.join(sorted(known))}"
        )
    stem: Callable[[str], str] = snowballstemmer.stemmer(language).stemWord
    return stem
