"""Runs an exported model with onnxruntime, and nothing else: the runtime of the base install.

In int8 an activation's scale is taken over the whole run (`DynamicQuantizeLinear`), so a run holds one text only.
"""

import threading
from pathlib import Path

import numpy as np
import onnxruntime

from rag_pipeline.embedding.encoder import RUN_TOKENS, STATES, EncoderEmbedder, States, TokenIds, named
from rag_pipeline.embedding.exported import MODEL, ExportedModel
from rag_pipeline.errors import ModelUnavailable
from rag_pipeline.processor import cores


class OnnxEncoder:
    """`threads` 0 means one a core. Raises ModelUnavailable for a file that onnxruntime can't open."""

    def __init__(self, path: Path, *, threads: int = 0, precision: str = "fp32") -> None:
        self._path = path
        self.rows_apart = precision == "int8"
        self._alone = _session(path, threads=threads or cores())
        if STATES not in {output.name for output in self._alone.get_outputs()}:
            raise ModelUnavailable(f"{path} has no output {STATES!r}; export the embedding model again, with it")
        self._inputs = frozenset(i.name for i in self._alone.get_inputs())
        self._beside: onnxruntime.InferenceSession | None = None
        self._lock = threading.Lock()

    def alone(self, ids: TokenIds) -> States:
        return np.asarray(self._alone.run([STATES], named(ids, self._inputs))[0])

    def beside(self, ids: TokenIds) -> States:
        return np.asarray(self._bulk().run([STATES], named(ids, self._inputs))[0])

    def _bulk(self) -> onnxruntime.InferenceSession:
        """Opened on first need: a process that only answers queries holds the weights once."""
        with self._lock:
            if self._beside is None:
                self._beside = _session(self._path, threads=1)
            return self._beside


class OnnxEmbedder(EncoderEmbedder):
    """Raises ModelUnavailable for files that onnxruntime can't open."""

    def __init__(self, exported: ExportedModel, *, threads: int = 0, batch_tokens: int = RUN_TOKENS) -> None:
        encoder = OnnxEncoder(exported.folder / MODEL, threads=threads, precision=exported.identity.precision)
        super().__init__(exported, encoder, threads=threads, batch_tokens=batch_tokens)


def _session(path: Path, *, threads: int) -> onnxruntime.InferenceSession:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    # Every length is another shape: remembered plans and a growing arena would only hold memory (1 % of the speed).
    options.enable_mem_pattern = False
    options.enable_cpu_mem_arena = False
    options.log_severity_level = 3
    # Waiting threads must not burn the cores that other requests need.
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    try:
        return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    except Exception as error:  # onnxruntime's exceptions share no base class of their own
        raise ModelUnavailable(
            f"{path} can't be opened ({str(error)[:200]}); delete its folder and run a reindex, which makes it again"
        ) from error
