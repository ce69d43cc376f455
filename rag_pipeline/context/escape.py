"""Text of documents made harmless inside a context: it can neither close its passage nor pose as one, nor cite.

    [3]  [1, 2]  [4-6]                 \\[3]  \\[1, 2]  \\[4-6]        citation marks
    <passage id="9">  </passage>       &lt;passage id="9">  &lt;/passage>
    # Retrieved Knowledge              \\# Retrieved Knowledge        at the start of a line; so does "## Source:"

Everything else stays as it is; the source text itself is never changed. `citations.py` reads a mark by the same
pattern, so what is escaped here is no citation there.
"""

import regex

# Bounded repeats: no input is searched twice.
MARK = regex.compile(r"(?<!\\)\[(?=[ \t\u00a0]{0,3}\d[\d \t\u00a0,;–-]{0,60}\])")
MARK_BODY = r"(?<!\\)\[[ \t\u00a0]{0,3}(\d[\d \t\u00a0,;–-]{0,60})\]"

_TAG = regex.compile(r"<(?=\s{0,9}+/?+\s{0,9}+passages?\b)", regex.IGNORECASE)
_LINE_ENDS = "\n\r\u000b\u000c\u001c\u001d\u001e\u0085\u2028\u2029"
_HEADING = regex.compile(
    rf"(?:(?<=[{_LINE_ENDS}])|\A)([ \t\u00a0>]{{0,20}})(#{{1,6}}[ \t\u00a0]{{0,9}}(?:retrieved\s+knowledge|source\b))",
    regex.IGNORECASE,
)


def escape(text: str) -> str:
    text = MARK.sub(r"\\[", text)
    text = _TAG.sub("&lt;", text)
    return str(_HEADING.sub(r"\1\\\2", text))


def one_line(text: str, *, most: int = 200) -> str:
    """A title, path or query as a single line, escaped, at most `most` characters before escaping."""
    flat = " ".join(text.split())
    flat = "".join(" " if character in _LINE_ENDS else character for character in flat if character.isprintable())
    return escape(flat if len(flat) <= most else flat[: most - 1].rstrip() + "…")
