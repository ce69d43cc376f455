"""What to do about an input or a passage that is not in the build, by the rule that the ledger names."""

from collections.abc import Mapping

from rag_pipeline.evaluation.debug.ledger import LostPiece

AGAIN = "re-index"

INPUTS: Mapping[str, str] = {
    "duplicate": "it is found under the document it duplicates; duplicates = 'keep' indexes both",
    "empty": "it has no visible text; mend the file",
    "excluded": "narrow the source's `exclude` patterns",
    "not_included": "widen the source's `include` patterns",
    "hidden": "names that begin with a dot are never read; rename it",
    "own_data": "it lies in the data directory, which is never read; move it into a source",
    "too_large": "raise max_file_bytes, or split the file",
    "unsupported": "no reader knows this format; convert it to text, Markdown or HTML",
    "missing_extra": "install the [formats] extra",
    "binary": "it is no text in any encoding; convert it",
    "not_corpus": "the folder is read as a BEIR data set, so only its corpus file is; move this file to another source",
    "defaults": "a _defaults.toml describes the documents of its folder and is none itself",
    "unreadable": "mend its permissions, or the file",
    "malformed": "mend the file; its reader could not parse it",
    "reader_error": "mend the file; its reader failed on it",
    "same_id": "two inputs have this id; rename one of them, or name the sources differently",
    "duplicate_id": "two lines have this _id; correct one of them",
    "outside": "links that lead out of the source are not followed; copy the file into it",
    "linked_folder": "its files are read under the folder that the link leads to",
}

PIECES: Mapping[str, str] = {
    "too_short": "lower chunking.min_chars",
    "header_only": "write a sentence below the heading",
    "html_comment": "set chunking.html_comments = 'keep'",
    "boilerplate": "raise chunking.boilerplate_share: the block stands in too many documents",
    "base64": "encoded data is not indexed; describe it in words",
    "minified": "minified code is not indexed; index its source",
    "truncated": "the chunker cut it off at the model's limit; use the chunker 'sections'",
    "not_located": "this chunker changes the text; use the chunker 'sections'",
}


def input_advice(rule: str) -> str:
    return f"{INPUTS.get(rule, 'mend the input')}, then {AGAIN}"


def piece_advice(piece: LostPiece) -> str:
    if piece.stage == "embed":
        return f"the model gives no sound vector for it; check the model or the text, then {AGAIN}"
    return f"{PIECES.get(piece.rule, 'mend the text')}, then {AGAIN}"
