"""Front matter: the YAML between `---` lines or the TOML between `+++` lines at the top of a document.

Lives here: finding the block and parsing it safely. What its keys mean is decided in metadata.py.
"""

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import yaml

MAX_CHARS = 64 * 1024
MAX_ALIASES = 10
"""Each alias can double what a block expands to; ten leave it harmless."""
_OPENING = re.compile(r"[ \t\n]*(---|\+\+\+)[ \t]*\n")
_CLOSING = {"---": re.compile(r"^(?:---|\.\.\.)[ \t]*$", re.M), "+++": re.compile(r"^\+\+\+[ \t]*$", re.M)}
# libyaml's loaders are ten times as fast as PyYAML's own, and limit nesting.
_SAFE = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_STRINGS = getattr(yaml, "CBaseLoader", yaml.BaseLoader)
_ACCESS_KEY = re.compile(r"""^[ \t]*["']?access["']?[ \t]*[:=]""", re.M | re.I)
# PyYAML raises more than YAMLError on odd scalars: ValueError for 2024-13-45, KeyError for `!!bool x`,
# AttributeError for `!!timestamp x`, IndexError for `!!int ""`, OverflowError for far dates.
_ERRORS = (yaml.YAMLError, ValueError, TypeError, LookupError, AttributeError, ArithmeticError, RecursionError)


@dataclass(frozen=True, slots=True)
class FrontMatter:
    values: Mapping[str, Any] = field(default_factory=dict)
    written: Mapping[str, Any] = field(default_factory=dict)
    """The same keys with scalars as they were typed: `version: 1.10` is "1.10" here, `language: no` is "no"."""
    body_start: int = 0
    notice: str = ""
    """Why the block stays in the text."""
    hides_access: bool = False
    """The unreadable block seems to hold an access list, so the document must not be taken for a public one."""


def split_front_matter(text: str) -> FrontMatter:
    """Parse the block at the top of repaired text; a block that is no mapping stays text and says so."""
    opening = _OPENING.match(text)
    if opening is None:
        return FrontMatter()
    mark = opening[1]
    closing = _CLOSING[mark].search(text, opening.end(), opening.end() + MAX_CHARS)
    if closing is None:
        # A lone `---` is a rule, and no fault; a block that is never closed and names readers is one.
        head = text[opening.end() : opening.end() + MAX_CHARS]
        hides = bool(_ACCESS_KEY.search(head))
        return FrontMatter(notice="front matter is not closed or too long" if hides else "", hides_access=hides)
    block = text[opening.end() : closing.start()]
    try:
        values, written = _yaml(block) if mark == "---" else _toml(block)
    except _ERRORS as error:
        return _kept_as_text(block, f"front matter is not readable: {' '.join(str(error).split())[:200]}")
    if values is None:
        values, written = {}, {}
    if not isinstance(values, dict):
        # `---`, a paragraph, `---`: two rules, or a heading underlined by the second.
        return _kept_as_text(block, "front matter is not a mapping" if _ACCESS_KEY.search(block) else "")
    return FrontMatter(_by_name(values), _by_name(written), min(closing.end() + 1, len(text)))


def _kept_as_text(block: str, notice: str) -> FrontMatter:
    return FrontMatter(notice=notice, hides_access=bool(_ACCESS_KEY.search(block)))


def _by_name(table: Any) -> dict[str, Any]:
    return {str(key): value for key, value in table.items()} if isinstance(table, dict) else {}


def _toml(block: str) -> tuple[Any, Any]:
    return tomllib.loads(block), tomllib.loads(block, parse_float=str)


def _yaml(block: str) -> tuple[Any, Any]:
    if block.count("*") > MAX_ALIASES:
        aliases = sum(1 for token in yaml.scan(block, Loader=_SAFE) if isinstance(token, yaml.AliasToken))
        if aliases > MAX_ALIASES:
            raise ValueError(f"{aliases} aliases, {MAX_ALIASES} are allowed")
    # Both are safe loaders: BaseLoader builds strings, lists and mappings only.
    return yaml.load(block, Loader=_SAFE), yaml.load(block, Loader=_STRINGS)
