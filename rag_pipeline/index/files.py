"""Names of the files in a build's folder."""

DATABASE = "index.duckdb"
WRITE_AHEAD_LOG = "index.duckdb.wal"
VECTORS = "vectors.npy"
LAYOUT = "layout.npy"
LAYOUT_COLUMNS = ("document", "section", "start", "end", "section_start", "section_end")
POSTINGS = "postings"
RECORDS = "records"
LISTS = "lists"
MANIFEST = "manifest.json"
