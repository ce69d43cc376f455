"""One document of the release in service, as far as a principal may read it."""

from rag_pipeline.paths import CollectionPaths
from rag_pipeline.retrieval.reader import open_current
from rag_pipeline.retrieval.scope import scope
from rag_pipeline.schema import Principal
from rag_pipeline.serving.models import DocumentReply
from rag_pipeline.serving.problems import Problem
from rag_pipeline.serving.reply import public_source

_SELECT = """
SELECT doc_id, source, title, format, category, author, language, version, created, updated, tags,
       substring(text, ?, ?)
FROM documents WHERE row = ?
"""


def read_document(
    paths: CollectionPaths, doc_id: str, *, principal: Principal | None, release: str | None, around: int, most: int
) -> DocumentReply:
    """At most `most` characters of the text, centred on code point `around`.

    A document of which no part may be read is as unknown as one that does not exist (404). Offsets belong to one
    release; where `release` is no longer the one in service, that is said (409).
    """
    opened = open_current(paths)
    if release is not None and release != opened.release.release_id:
        raise Problem(409, "ReleaseMoved", "another release is in service now; search again")
    index = opened.index
    mask = scope(index, filters={"source": doc_id}, principal=principal)
    rows = [] if mask is None else mask.nonzero()[0].tolist()  # a filter always makes a mask
    if not rows:
        raise Problem(404, "UnknownDocument", "no such document")
    row = int(index.layout.document[rows[0]])
    with index.cursor() as cursor:
        length = cursor.execute("SELECT length(text) FROM documents WHERE row = ?", [row]).fetchall()[0][0]
        offset = max(0, min(around - most // 2, length - most))
        found = cursor.execute(_SELECT, [offset + 1, most, row]).fetchall()[0]
    (found_id, source, title, kind, category, author, language, version, created, updated, tags, text) = found
    return DocumentReply(
        document=found_id,
        source=public_source(source, found_id),
        title=title,
        format=kind,
        category=category,
        author=author,
        language=language,
        version=version,
        created=None if created is None else f"{created.isoformat()}Z",
        updated=None if updated is None else f"{updated.isoformat()}Z",
        tags=list(tags),
        release=opened.release.release_id,
        text=text,
        offset=offset,
        length=length,
    )
