"""Storing an evaluation beside the release it is about: frozen values as JSON, every float exactly as it was."""

import re
from pathlib import Path
from typing import TypeVar

from pydantic import TypeAdapter, ValidationError

from rag_pipeline.durable import write_json
from rag_pipeline.errors import CorruptBuild
from rag_pipeline.evaluation.experiment import Experiment
from rag_pipeline.evaluation.gate import GateVerdict

FORMAT = 1
T = TypeVar("T")
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,99}")
_EXPERIMENT = TypeAdapter(Experiment)
_VERDICT = TypeAdapter(GateVerdict)


def write_experiment(folder: Path, experiment: Experiment, *, name: str = "retrieval") -> Path:
    """Store it as `folder/<name>.json`, atomically, and return that path; the folder is made where it is missing."""
    return _write(folder, name, _EXPERIMENT.dump_python(experiment, mode="json"))


def read_experiment(folder: Path, *, name: str = "retrieval") -> Experiment:
    """Raises CorruptBuild for a file that is missing or is not a stored experiment."""
    return _read(folder, name, _EXPERIMENT)


def write_gate_verdict(folder: Path, verdict: GateVerdict, *, name: str = "gate") -> Path:
    """The full verdict, with its comparisons, as `folder/<name>.json`."""
    return _write(folder, name, _VERDICT.dump_python(verdict, mode="json"))


def read_gate_verdict(folder: Path, *, name: str = "gate") -> GateVerdict:
    """Raises CorruptBuild for a file that is missing or is not a stored verdict."""
    return _read(folder, name, _VERDICT)


def write_value(folder: Path, name: str, value: object) -> Path:
    """Any frozen value as `folder/<name>.json`."""
    return _write(folder, name, plain(value))


def plain(value: object) -> object:
    """A frozen value as JSON has it: lists, objects and plain values."""
    return TypeAdapter(type(value)).dump_python(value, mode="json")


def read_value(folder: Path, name: str, kind: type[T]) -> T | None:
    """The stored value, None where there is none or it is not of that kind."""
    try:
        return _read(folder, name, TypeAdapter(kind))
    except CorruptBuild:
        return None


def _write(folder: Path, name: str, value: object) -> Path:
    file = _file(folder, name)
    folder.mkdir(parents=True, exist_ok=True)
    write_json(file, {"format": FORMAT, "value": value})
    return file


def _read(folder: Path, name: str, adapter: TypeAdapter[T]) -> T:
    file = _file(folder, name)
    try:
        stored = TypeAdapter(dict[str, object]).validate_json(file.read_bytes())
        if stored.get("format") != FORMAT:
            raise CorruptBuild(f"{file} has format {stored.get('format')!r}, not {FORMAT}; evaluate again")
        return adapter.validate_python(stored.get("value"))
    except (OSError, ValidationError) as error:
        raise CorruptBuild(f"{file} is not a stored evaluation: {error}; evaluate again") from error


def _file(folder: Path, name: str) -> Path:
    if not _NAME.fullmatch(name):
        raise ValueError(f"the name {name!r} of an evaluation must match {_NAME.pattern}")
    return folder / f"{name}.json"
