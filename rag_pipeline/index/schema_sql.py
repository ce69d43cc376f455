"""The tables of `index.duckdb`: it stands on its own for anyone with a DuckDB client.

`row` counts from 0 in every table. A chunk's row is its row in vectors.npy and in the postings; chunks are ordered by
document id and position, so the row is also the stable id that breaks ties. Offsets are half-open, in code points of
`documents.text`.
"""

TABLES = """
CREATE TABLE index_info (key VARCHAR PRIMARY KEY, value VARCHAR NOT NULL);

CREATE TABLE documents (
    row INTEGER NOT NULL,
    doc_id VARCHAR NOT NULL,
    source VARCHAR NOT NULL,
    text VARCHAR NOT NULL,
    format VARCHAR NOT NULL,
    content_hash VARCHAR NOT NULL,
    metadata_hash VARCHAR NOT NULL,
    title VARCHAR NOT NULL,
    body_start INTEGER NOT NULL,
    category VARCHAR,
    author VARCHAR,
    language VARCHAR,
    version VARCHAR,
    created TIMESTAMP,              -- UTC
    updated TIMESTAMP,              -- UTC
    tags VARCHAR[] NOT NULL,
    access VARCHAR[],               -- NULL: no list of its own; []: admits nobody
    description VARCHAR,
    extra VARCHAR NOT NULL,         -- JSON object
    canonical_id VARCHAR,           -- the document this one duplicates; only that one has chunks
    source_map VARCHAR NOT NULL,    -- JSON pairs
    locators VARCHAR NOT NULL       -- JSON pairs
);

CREATE TABLE sections (
    row INTEGER NOT NULL,
    section_id VARCHAR NOT NULL,
    doc_id VARCHAR NOT NULL,
    ordinal INTEGER NOT NULL,
    start INTEGER NOT NULL,
    "end" INTEGER NOT NULL,
    headers VARCHAR NOT NULL,       -- JSON object, "h1" to "h6"
    kind VARCHAR NOT NULL
);

CREATE TABLE chunks (
    row INTEGER NOT NULL,
    chunk_id VARCHAR NOT NULL,
    section_id VARCHAR NOT NULL,
    doc_id VARCHAR NOT NULL,
    ordinal INTEGER NOT NULL,
    start INTEGER NOT NULL,
    "end" INTEGER NOT NULL,
    headers VARCHAR NOT NULL,       -- of its section
    content VARCHAR NOT NULL,
    lead VARCHAR NOT NULL,
    search_text VARCHAR NOT NULL,   -- what was embedded and indexed
    tokens INTEGER NOT NULL,
    kind VARCHAR NOT NULL,
    embedding FLOAT[{dimension}]
);

CREATE TABLE chunk_tokens (row INTEGER NOT NULL, token_text VARCHAR NOT NULL);

CREATE TABLE ledger (
    path VARCHAR NOT NULL,
    stage VARCHAR NOT NULL,
    outcome VARCHAR NOT NULL,
    rule VARCHAR NOT NULL,
    detail VARCHAR NOT NULL,
    start INTEGER,
    "end" INTEGER,
    size BIGINT
);

CREATE VIEW input_outcomes AS
SELECT path, outcome, rule, detail, size FROM ledger WHERE stage = 'read' AND outcome <> 'notice';

CREATE VIEW document_chunks AS
SELECT c.chunk_id, c.doc_id, d.source, d.title, c.ordinal, c.start, c."end", c.headers, c.content,
       substring(d.text, s.start + 1, s."end" - s.start) AS parent_content,
       c.kind AS chunk_type, d.category, d.author, d.language, d.version, d.created, d.updated, d.tags, d.access
FROM chunks c JOIN sections s USING (section_id) JOIN documents d ON d.doc_id = c.doc_id;
"""

# `[[level, title], ...]` as the Parquet files have it, to `{"h1": title}`.
LOAD_DOCUMENTS = """
INSERT INTO documents
SELECT row_number() OVER () - 1, doc_id, source, text, format, content_hash, metadata_hash, title,
       body_start, category, author, language, version, CAST(created AS TIMESTAMP), CAST(updated AS TIMESTAMP), tags,
       access, description, extra, canonical_id, source_map, locators
FROM (FROM read_parquet(?) ORDER BY doc_id)
"""

LOAD_SECTIONS = """
INSERT INTO sections
SELECT row_number() OVER () - 1, section_id, doc_id, ordinal, start, "end",
       headers_object(headers), kind
FROM (FROM read_parquet(?) ORDER BY doc_id, ordinal, section_id)
"""

# `given` says which row of chunks.parquet each given vector belongs to; a chunk without a vector is left out.
SELECT_ORDER = """
SELECT g.vector, g.position
FROM given g JOIN (SELECT * RENAME (file_row_number AS position) FROM read_parquet(?, file_row_number = true)) c
  USING (position)
ORDER BY c.doc_id, c.ordinal, c.chunk_id
"""

# `ordered` is that with the rows of the build, `embeddings` streams the vectors in their order.
LOAD_CHUNKS = """
INSERT INTO chunks
SELECT c.*, e.embedding
FROM (
    SELECT CAST(o.row AS INTEGER), c.chunk_id, c.section_id, c.doc_id, c.ordinal, c.start, c."end",
           coalesce(s.headers, '{}'), c.text, c.lead, c.search_text, c.tokens, c.kind
    FROM ordered o
    JOIN read_parquet(?, file_row_number = true) c ON c.file_row_number = o.position
    LEFT JOIN sections s USING (section_id)
    ORDER BY o.row
) c POSITIONAL JOIN embeddings e
"""

# What a query needs of every chunk without asking DuckDB; columns as `open.Layout` names them.
SELECT_LAYOUT = """
SELECT c.row, d.row AS document, s.row AS section, c.start, c."end",
       s.start AS section_start, s."end" AS section_end
FROM chunks c JOIN documents d USING (doc_id) JOIN sections s USING (section_id) ORDER BY c.row
"""

# Every document's text once, with the offsets and contents of its chunks.
SELECT_SPANS = """
SELECT d.text, c.starts, c.ends, c.contents
FROM documents d JOIN (
    SELECT doc_id, list(start) AS starts, list("end") AS ends, list(content) AS contents FROM chunks GROUP BY doc_id
) c USING (doc_id)
"""

LOAD_LEDGER = """
INSERT INTO ledger SELECT path, stage, outcome, rule, detail, start, "end", size
FROM read_parquet(?) ORDER BY path, stage, start NULLS FIRST, "end" NULLS FIRST, outcome, rule
"""

# Without them a look-up of five rows reads every chunk's text.
CREATE_ROW_INDEXES = """
CREATE UNIQUE INDEX chunks_row ON chunks (row);
CREATE UNIQUE INDEX documents_row ON documents (row);
CREATE INDEX sections_id ON sections (section_id);
"""

SELECT_INDEXED = "SELECT row, search_text, content FROM chunks ORDER BY row"

CREATE_FTS = """
PRAGMA create_fts_index('chunk_tokens', 'row', 'token_text', stemmer = 'none', stopwords = 'none',
                        ignore = '[[:space:]]+', strip_accents = 0, lower = 0)
"""
# `source` has one row an occurrence (row, termid), one a term (termid, term, df), one a chunk (row, length).
FILL_FTS_TERMS = "INSERT INTO fts_main_chunk_tokens.terms SELECT row, 0, termid FROM source"
FILL_FTS_DICT = "INSERT INTO fts_main_chunk_tokens.dict SELECT termid, term, df FROM source"
FILL_FTS_DOCS = """
INSERT INTO fts_main_chunk_tokens.docs SELECT row, row, length FROM source;
UPDATE fts_main_chunk_tokens.stats SET num_docs = (SELECT count(*) FROM fts_main_chunk_tokens.docs),
                                       avgdl = (SELECT avg(len) FROM fts_main_chunk_tokens.docs);
"""
SELECT_FTS_STATS = "SELECT num_docs, avgdl FROM fts_main_chunk_tokens.stats"
SELECT_FTS_DICT = "SELECT term, df FROM fts_main_chunk_tokens.dict"
SELECT_FTS_OF_ROWS = """
SELECT o.name, d.term, count(*) FROM fts_main_chunk_tokens.terms t
JOIN fts_main_chunk_tokens.docs o USING (docid) JOIN fts_main_chunk_tokens.dict d USING (termid)
WHERE list_contains(?, o.name) GROUP BY ALL
"""
SELECT_TOKENS_OF_ROW = "SELECT token_text, search_text, content FROM chunk_tokens JOIN chunks USING (row) WHERE row = ?"
COUNT_FTS_TERMS = """
SELECT (SELECT count(*) FROM fts_main_chunk_tokens.terms),
       (SELECT coalesce(sum(len), 0) FROM fts_main_chunk_tokens.docs)
"""
COUNT_LEXICAL = "SELECT count(*) FROM fts_main_chunk_tokens.docs"

COUNT_RESTRICTED = "SELECT count(*) FROM documents WHERE access IS NOT NULL"

CREATE_HNSW = """
CREATE INDEX chunks_hnsw ON chunks USING HNSW (embedding)
WITH (metric = 'cosine', M = {m}, ef_construction = {ef_construction})
"""
