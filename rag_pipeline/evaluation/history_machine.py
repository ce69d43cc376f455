"""What computes: the processor and the versions that can change a ranking or a time, as plain words."""

import platform
import socket
from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from rag_pipeline.processor import cores

PACKAGES = ("duckdb", "numpy", "onnxruntime", "openvino", "tokenizers", "snowballstemmer")
TIMING = ("host", "processor", "cores")
"""What has to be the same for two times to be comparable."""


def machine() -> Mapping[str, str]:
    """Keys "host", "processor", "cores", "python", and one for each package."""
    return {
        "host": socket.gethostname(),
        "processor": _processor(),
        "cores": str(cores()),
        "python": platform.python_version(),
        **{name: _version(name) for name in PACKAGES},
    }


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text("utf-8", "replace").split("\n")
    except OSError:
        return platform.machine()
    names = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(names, platform.machine())


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "none"
