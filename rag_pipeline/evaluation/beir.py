"""Reading an eval set in the layout of the BEIR benchmark: `queries.jsonl` with `_id` and `text`, `qrels/<split>.tsv`.

Judgements name whole documents. A score of 0 or less means judged and not relevant, as in trec_eval: no label.
"""

from pathlib import Path

from rag_pipeline.evaluation.eval_set import EvalSet, Judgement, LabelProblem, Query
from rag_pipeline.evaluation.rows import read_lines, read_rows
from rag_pipeline.text.repair import repair

HEADER = ("query-id", "corpus-id", "score")


def read_beir(folder: Path, *, split: str = "test") -> tuple[EvalSet, tuple[LabelProblem, ...]]:
    """The queries that `split` judges, and every problem. Raises InvalidEvalSet where a file is missing."""
    problems: list[LabelProblem] = []
    texts = _read_texts(folder / "queries.jsonl", problems)
    judgements = _read_qrels(folder / "qrels" / f"{split}.tsv", texts, problems)
    judged = {j.query_id for j in judgements}
    if left_out := sum(1 for query_id in texts if query_id not in judged):
        problems.append(
            LabelProblem("queries.jsonl", 0, f"{left_out} queries have no judgement in {split}.tsv: left out", "notice")
        )
    queries = tuple(Query(id=query_id, text=text) for query_id, (text, _) in texts.items() if query_id in judged)
    if not queries:
        problems.append(LabelProblem(f"{split}.tsv", 0, "judges no query; name another split"))
    return EvalSet(name=f"{folder.resolve().name}-{split}", queries=queries, judgements=judgements), tuple(problems)


def _read_texts(file: Path, problems: list[LabelProblem]) -> dict[str, tuple[str, int]]:
    found: dict[str, tuple[str, int]] = {}
    for line, row in read_rows(file, problems):
        query_id, text = row.get("_id"), row.get("text")
        if not isinstance(query_id, str) or not isinstance(text, str) or not text.strip():
            problems.append(LabelProblem(file.name, line, "`_id` and `text` must be strings that are not empty"))
        elif query_id not in found:
            found[query_id] = (text, line)
        elif found[query_id][0] == text:
            problems.append(
                LabelProblem(file.name, line, f"the same as line {found[query_id][1]}; read once", "notice")
            )
        else:
            problems.append(
                LabelProblem(file.name, line, f"query id {query_id!r} has another text in line {found[query_id][1]}")
            )
    return found


def _read_qrels(file: Path, texts: dict[str, tuple[str, int]], problems: list[LabelProblem]) -> tuple[Judgement, ...]:
    found: dict[tuple[str, str], tuple[int, int]] = {}
    for line, text in read_lines(file, problems):
        cells = tuple(repair(text).text.strip().split("\t"))
        if line == 1:
            if cells != HEADER:
                problems.append(LabelProblem(file.name, 1, f"the header must be {' '.join(HEADER)}, with tabs"))
            continue
        if len(cells) != 3 or not cells[2].lstrip("-").isdecimal():
            problems.append(LabelProblem(file.name, line, "expected: query id, document id, whole number"))
            continue
        query_id, document, score = cells[0], cells[1], int(cells[2])
        if query_id not in texts:
            problems.append(LabelProblem(file.name, line, f"no query has the id {query_id!r}"))
            continue
        first_score, first_line = found.setdefault((query_id, document), (score, line))
        if first_line != line and first_score == score:
            problems.append(LabelProblem(file.name, line, f"the same as line {first_line}; read once", "notice"))
        elif first_line != line:
            problems.append(LabelProblem(file.name, line, f"score {score}, but line {first_line} says {first_score}"))
    return tuple(
        Judgement(query_id=query_id, document=document, grade=score, line=line)
        for (query_id, document), (score, line) in found.items()
        if score > 0
    )
