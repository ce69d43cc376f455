"""The main job on real documentation: what was indexed, how long it took and how much memory it needed.

    python -m benchmarks.build_corpora [--home /tmp/bench]

Each corpus is indexed twice by `rag-pipeline reindex` in a process of its own: from nothing, and again with nothing
changed. Memory is the peak resident size of the first. `unaccounted` counts inputs that the ledger does not explain.
"""

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path

from benchmarks.corpora import DATA

CORPORA = {
    "kubernetes-qa": "kubernetes-qa/corpus",
    "docs-fastapi": "docs-fastapi",
    "docs-mkdocs-material": "docs-mkdocs-material",
    "docs-kubeflow": "docs-kubeflow",
    "chunking-eval": "chunking-eval",
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--corpus", action="append", choices=sorted(CORPORA))
    parser.add_argument("--home", type=Path, default=Path("/tmp/rag_pipeline_bench"))
    arguments = parser.parse_args()
    print("| corpus | files | indexed | filtered | skipped | failed | unaccounted | chunks | s | peak MB | again, s |")
    print("|---|---|---|---|---|---|---|---|---|---|---|")
    for name in arguments.corpus or CORPORA:
        source = DATA / CORPORA[name]
        first, megabytes = reindex(name, source, arguments.home)
        again, _ = reindex(name, source, arguments.home)
        files = sum(1 for path in source.rglob("*") if path.is_file())
        ledger = first["ledger"]
        outcomes = [ledger.get(outcome, 0) for outcome in ("indexed", "filtered", "skipped", "failed")]
        cells = [name, files, *outcomes, files - sum(outcomes), first["chunks"]]
        times = [f"{first['seconds']:.0f}", f"{megabytes:.0f}", f"{again['seconds']:.1f}"]
        print("| " + " | ".join(str(c) for c in (*cells, *times)) + " |", flush=True)


def reindex(name: str, source: Path, home: Path) -> tuple[dict[str, object], float]:
    """The command's own report, and the peak resident megabytes of its process."""
    collection = name.replace("-", "_")
    command = [sys.executable, "-m", "rag_pipeline", "reindex", "--source", str(source)]
    process = subprocess.Popen(
        [*command, "--collection", collection, "--home", str(home), "--json"], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    out = process.stdout.read()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"{name}: reindex exited with {process.returncode}: {out}")
    return json.loads(out), usage.ru_maxrss / 1000


if __name__ == "__main__":
    main()
