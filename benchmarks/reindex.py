"""Indexing a folder from nothing, with nothing changed, after 1 % of its files changed, and with nothing changed since.

    python -m benchmarks.reindex --files 5000 [--embedder words|model] [--folder /tmp/reindex]

The folder is made of documentation pages copied under several names with small edits, so that most chunks differ. Each
run is the whole Dagster job in a process of its own: seconds by stage are its steps', the rest is starting Python and
Dagster; wall and processor time are the process's. `words` embeds by hashing words (the tests' embedder, no
HNSW), which costs little and leaves the rest to be seen; `model` is the packaged model with the default settings.
The folder has no labels, so a release is judged by probes made from the one in service: the run after a new release
makes them anew.
"""

import argparse
import contextlib
import functools
import json
import os
import random
import shutil
import subprocess
import sys
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

DATA = Path(os.environ.get("RAG_PIPELINE_SHARED", "../shared/data"))
PAGES = ("kubernetes-qa/corpus", "docs-fastapi", "docs-kubeflow", "docs-mkdocs-material")
SHARE = 0.01
LONG_LINE = 60
COLLECTION = "bench"
STAGES = {
    "read": ("documents",),
    "chunk": ("chunks",),
    "embed": ("chunk_embeddings",),
    "index": ("candidate_index",),
    "measure": ("candidate_release", "retrieval_quality", "latency"),
    "publish": ("gate_verdict", "published_release"),
    "log": ("experiment_log",),
}
"""Assets by stage; an asset's checks belong to it."""


@dataclass(frozen=True, slots=True)
class Measured:
    release: str
    changed: bool
    documents: int
    chunks: int
    embedded: int
    stages: dict[str, float]
    wall: float = 0.0
    cpu: float = 0.0
    peak_mb: float = 0.0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--files", type=int, default=500)
    parser.add_argument("--embedder", choices=("words", "model"), default="words")
    parser.add_argument("--folder", type=Path, default=Path("/tmp/rag_pipeline_reindex"))
    parser.add_argument("--run", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    source, home = arguments.folder / "pages", arguments.folder / "home"
    if arguments.run:
        print(json.dumps(asdict(reindex(source, home, arguments.embedder))))
        return
    for folder in (source, home / COLLECTION, home / "embeddings"):
        shutil.rmtree(folder, ignore_errors=True)
    write_pages(source, arguments.files)
    runs = {"from nothing": measured(arguments)}
    runs["nothing changed, first"] = measured(arguments)
    runs["nothing changed"] = measured(arguments)
    edited = edit_pages(source, SHARE)
    runs[f"{edited} files changed"] = measured(arguments)
    runs["nothing changed since"] = measured(arguments)
    print(f"{arguments.files} files, embedder: {arguments.embedder}, {os.cpu_count()} cores\n")
    print_table(runs)


def write_pages(folder: Path, count: int) -> None:
    """`count` pages; those of edition n differ from the original in every third long line."""
    pages = [page for name in PAGES for page in sorted((DATA / name).rglob("*.md"))]
    if not pages:
        raise SystemExit(f"no pages below {DATA}; set RAG_PIPELINE_SHARED")
    for number in range(count):
        edition, page = number // len(pages), pages[number % len(pages)]
        target = folder / f"edition-{edition:02}" / page.relative_to(DATA)
        target.parent.mkdir(parents=True, exist_ok=True)
        lines = page.read_text("utf-8", "replace").split("\n")
        target.write_text("\n".join(_edited(lines, edition)) if edition else "\n".join(lines), "utf-8")


def _edited(lines: list[str], edition: int) -> list[str]:
    long = 0
    out = []
    for line in lines:
        long += len(line) > LONG_LINE and line[0].isalpha()
        out.append(f"{line} Edition {edition}." if long % 3 == 1 and line[:1].isalpha() else line)
    return out


def edit_pages(folder: Path, share: float) -> int:
    pages = sorted(folder.rglob("*.md"))
    chosen = random.Random(0).sample(pages, max(1, round(share * len(pages))))
    for page in chosen:
        with page.open("a", encoding="utf-8") as file:
            file.write("\n\nThis page was looked through again, and this sentence was added to it at its end.\n")
    return len(chosen)


def measured(arguments: argparse.Namespace) -> Measured:
    """One run in a process of its own."""
    command = [sys.executable, "-m", "benchmarks.reindex", "--run", "--embedder", arguments.embedder]
    started = time.perf_counter()
    process = subprocess.Popen([*command, "--folder", str(arguments.folder)], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    out = process.stdout.read()
    _, status, usage = os.wait4(process.pid, 0)
    wall = time.perf_counter() - started
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"the run exited with {process.returncode}: {out}")
    values: dict[str, Any] = json.loads(out.splitlines()[-1])
    values |= {"wall": wall, "cpu": usage.ru_utime + usage.ru_stime, "peak_mb": usage.ru_maxrss / 1000}
    return Measured(**values)


def reindex(source: Path, home: Path, embedder: str) -> Measured:
    """The job in this process."""
    import dagster as dg  # noqa: TID251 - the steps are timed as Dagster runs them

    from rag_pipeline.defs import launch
    from rag_pipeline.settings.build import IndexSettings, SourceSettings
    from rag_pipeline.settings.collection import CollectionSettings
    from rag_pipeline.settings.load import load_settings

    if embedder == "words":
        embed_by_words()
    # Vectors of hashed words lie so badly for HNSW that its recall check refuses the build; lists pass.
    index = IndexSettings(hnsw=False) if embedder == "words" else IndexSettings()
    own = CollectionSettings(sources=(SourceSettings(path=str(source)),), index=index)
    settings = load_settings(environ={}).model_copy(update={"home": home, "collections": {COLLECTION: own}})
    seconds: dict[str, float] = {}
    execute = dg.JobDefinition.execute_in_process

    @functools.wraps(execute)
    def timed(*args: Any, **kwargs: Any) -> dg.ExecuteInProcessResult:
        result = execute(*args, **kwargs)
        for event in result.all_events:
            if event.event_type_value == "STEP_SUCCESS" and event.step_key is not None:
                name = event.step_key.removeprefix(f"{COLLECTION}__")
                seconds[name] = event.step_success_data.duration_ms / 1000
        return result

    dg.JobDefinition.execute_in_process = timed  # type: ignore[method-assign]
    with contextlib.redirect_stdout(sys.stderr):
        report = launch.reindex(settings, COLLECTION)
    stages = dict.fromkeys(STAGES, 0.0)
    for name, spent in seconds.items():
        stages[next(stage for stage, assets in STAGES.items() if name.startswith(assets))] += spent
    return Measured(report.release, report.changed, report.documents, report.chunks, report.embedded, stages)


def embed_by_words() -> None:
    """Documents and questions alike by the tests' embedder, each word hashed once."""
    from rag_pipeline.defs import run_embedder
    from rag_pipeline.embedding import registry
    from rag_pipeline_tests.fakes import WordEmbedder

    embedder = WordEmbedder(dimension=384)
    embedder.slot = functools.cache(embedder.slot)  # type: ignore[method-assign]
    run_embedder.load_embedder = lambda settings, models: embedder  # type: ignore[assignment]
    registry.open_embedder = lambda models, fingerprint: embedder  # type: ignore[assignment]


def print_table(runs: dict[str, Measured]) -> None:
    print(f"| run | chunks | embedded | {' | '.join(STAGES)} | start | wall s | of the first | cpu s | peak MB |")
    print("|---" * (len(STAGES) + 8) + "|")
    first = next(iter(runs.values()))
    for name, run in runs.items():
        start = run.wall - sum(run.stages.values())
        stages = " | ".join(f"{seconds:.1f}" for seconds in run.stages.values())
        print(
            f"| {name} | {run.chunks} | {run.embedded} | {stages} | {start:.1f} | {run.wall:.1f} |"
            f" {run.wall / first.wall:.0%} | {run.cpu:.1f} | {run.peak_mb:.0f} |"
        )


if __name__ == "__main__":
    main()
