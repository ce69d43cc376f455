"""What an install costs: disk, packages, and how long its imports take, of the light one and of the extras.

    python -m benchmarks.install_size [--extras base,serve,all] [--keep FOLDER]

Makes one fresh virtual environment an install and installs this project into it as pip is configured here: a few
minutes and some GB of disk for `all`. `torch` is pinned; where pip would fetch its CUDA build, point PIP_FIND_LINKS at
a CPU one. An import's time is the median of fresh interpreters beyond the median of ones that import nothing, taking
turns, after a round that is not counted: by the clock, and processor time, which other programs disturb less.
"""

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from statistics import median

PROJECT = Path(__file__).parent.parent
ROUNDS = 5
NOTHING = "sys"
MODULES = ("rag_pipeline", "rag_pipeline.retrieval.retrieve", "rag_pipeline.serving.app", "rag_pipeline.definitions")
NEEDS = {"rag_pipeline.serving.app": "fastapi", "rag_pipeline.definitions": "dagster"}
"""Modules of extras, and the package without which they can't be imported."""
OWN = frozenset({"pip", "setuptools", "wheel"})


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--extras", default="base,serve,all")
    parser.add_argument("--keep", type=Path, help="Where to make the environments; they stay there.")
    arguments = parser.parse_args()
    heads = [f"`import {module}`, ms" for module in MODULES]
    print(f"| install | MB | packages | {' | '.join(heads)} | seconds to install |")
    print("|---|---|---|" + "---|" * (len(MODULES) + 1), flush=True)
    with tempfile.TemporaryDirectory(prefix="install-size-") as temporary:
        root = arguments.keep or Path(temporary)
        for extra in arguments.extras.split(","):
            print(row(extra, root / extra), flush=True)


def row(extra: str, folder: Path) -> str:
    """One line of the table. `base` is the install without extras."""
    subprocess.run([sys.executable, "-m", "venv", "--clear", str(folder)], check=True)
    empty = size(folder)
    wanted = str(PROJECT) if extra == "base" else f"{PROJECT}[{extra}]"
    began = time.perf_counter()
    subprocess.run([python(folder), "-m", "pip", "install", "--quiet", wanted], check=True)
    seconds = time.perf_counter() - began
    packages = installed(folder)
    there = [module for module in MODULES if NEEDS.get(module, "duckdb") in packages]
    taken = imports(folder, there)
    cells = [taken.get(module, "-") for module in MODULES]
    name = "`rag-pipeline`" if extra == "base" else f"`rag-pipeline[{extra}]`"
    return f"| {name} | {(size(folder) - empty) / 1e6:,.0f} | {len(packages)} | {' | '.join(cells)} | {seconds:.0f} |"


def installed(folder: Path) -> frozenset[str]:
    """Names of the installed packages, this project among them and pip's own not."""
    listed = subprocess.run(
        [python(folder), "-m", "pip", "list", "--format", "json"], check=True, capture_output=True, text=True
    )
    return frozenset(package["name"] for package in json.loads(listed.stdout)) - OWN


def imports(folder: Path, modules: Sequence[str]) -> dict[str, str]:
    """Milliseconds beyond an interpreter that imports nothing, and of processor time."""
    clock: dict[str, list[float]] = {module: [] for module in (NOTHING, *modules)}
    used: dict[str, list[float]] = {module: [] for module in (NOTHING, *modules)}
    for number in range(ROUNDS + 1):
        for module in clock:
            before, began = processor(), time.perf_counter()
            # Outside the project's folder, or its sources would be imported and not what was installed.
            subprocess.run([python(folder), "-c", f"import {module}"], check=True, cwd=folder)
            if number:
                clock[module].append((time.perf_counter() - began) * 1000)
                used[module].append((processor() - before) * 1000)
    bare, bare_used = median(clock[NOTHING]), median(used[NOTHING])
    return {m: f"{median(clock[m]) - bare:,.0f} ({median(used[m]) - bare_used:,.0f})" for m in modules}


def processor() -> float:
    """Seconds of processor time of all processes that were started here and have ended."""
    found = resource.getrusage(resource.RUSAGE_CHILDREN)
    return found.ru_utime + found.ru_stime


def size(folder: Path) -> int:
    return sum(file.lstat().st_size for file in folder.rglob("*") if not file.is_dir())


def python(folder: Path) -> str:
    return str(folder / "bin" / "python")


if __name__ == "__main__":
    main()
