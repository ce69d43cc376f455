"""What BM25 indexes of a chunk: its search text, and what the embedding model's limit cut off its end. Pure."""

MARK = 60
"""Code points by which the beginning of a chunk's text is found in its search text."""


def indexed_text(search_text: str, content: str) -> str:
    """`search_text` is title, header path and `content`, cut where the model stops reading; BM25 has no limit."""
    if content in search_text:
        return search_text
    begin = search_text.find(content[:MARK])
    return search_text[:begin] + content if begin >= 0 else f"{search_text}\n{content}"
