"""Keeps torch, transformers and the hub's client from writing to the terminal or calling home.

Their warnings are about their own exporters and loaders; what matters is checked by comparing vectors.
"""

import logging
import os
import warnings
from collections.abc import Iterator
from contextlib import contextmanager

_LOGGERS = ("torch", "torch.onnx", "transformers", "sentence_transformers", "huggingface_hub", "httpx", "onnxscript")


@contextmanager
def quiet() -> Iterator[None]:
    """No warnings, no progress bars and no log lines below ERROR from the model libraries inside the block."""
    os.environ.setdefault("HF_HUB_DISABLE_TELEMETRY", "1")
    os.environ.setdefault("HF_HUB_DISABLE_PROGRESS_BARS", "1")
    before = {name: logging.getLogger(name).level for name in _LOGGERS}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from transformers.utils import logging as transformers_logging

        bars = transformers_logging.is_progress_bar_enabled()
        transformers_logging.disable_progress_bar()  # type: ignore[no-untyped-call]
        for name in _LOGGERS:
            logging.getLogger(name).setLevel(logging.ERROR)
        try:
            yield
        finally:
            for name, level in before.items():
                logging.getLogger(name).setLevel(level)
            if bars:
                transformers_logging.enable_progress_bar()  # type: ignore[no-untyped-call]
