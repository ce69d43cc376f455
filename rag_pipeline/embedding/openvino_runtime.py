"""Runs an exported model with OpenVINO: as onnxruntime in fp32, about twice as fast in bf16 and int8.

bf16: multiplications in 16 bits, sums in 32; needs a processor with AVX-512 or AMX.
int8: weights as `openvino_int8.py` writes them, activations quantised in groups of 64 numbers of one token each, so
that a row's numbers don't depend on its neighbours.
"""

import importlib
import sys
import threading
from pathlib import Path
from typing import Any

import numpy as np

from rag_pipeline.embedding.encoder import RUN_TOKENS, STATES, EncoderEmbedder, States, TokenIds, named
from rag_pipeline.embedding.exported import MODEL, ExportedModel
from rag_pipeline.errors import MissingExtra, ModelUnavailable
from rag_pipeline.processor import cores

GROUP = 64
"""Numbers that share a scale in int8. 32 is nearer to fp32 and slower, 128 no faster."""

_first_use = threading.Lock()


class OpenVinoEncoder:
    """`threads` 0 means one a core.

    Raises MissingExtra without openvino, ModelUnavailable for a file that it can't open and for a precision that this
    processor lacks.
    """

    rows_apart = False

    def __init__(self, path: Path, *, threads: int = 0, precision: str = "fp32") -> None:
        check_processor(precision)
        core = openvino().Core()
        try:
            model = core.read_model(str(path))
            if precision == "int8":
                from rag_pipeline.embedding.openvino_int8 import quantise_weights

                quantise_weights(model)
            self._compiled = core.compile_model(model, "CPU", _settings(precision, threads or cores()))
        except RuntimeError as error:
            reason = str(error).strip().splitlines()[-1][:200]
            raise ModelUnavailable(
                f"{path} can't be run in {precision} by OpenVINO here ({reason}); delete its folder and run a reindex,"
                ' or set another precision or runtime = "onnxruntime" in [embedding]'
            ) from error
        outputs = {name: port for port in self._compiled.outputs for name in port.get_names()}
        if STATES not in outputs:
            raise ModelUnavailable(f"{path} has no output {STATES!r}; export the embedding model again, with it")
        self._output = outputs[STATES]
        self._inputs = frozenset(name for port in self._compiled.inputs for name in port.get_names())
        self._requests = threading.local()

    def alone(self, ids: TokenIds) -> States:
        return self.beside(ids)

    def beside(self, ids: TokenIds) -> States:
        request = getattr(self._requests, "mine", None)
        if request is None:
            request = self._requests.mine = self._compiled.create_infer_request()
        request.infer(named(ids, self._inputs))
        return np.array(request.get_tensor(self._output).data)  # its memory belongs to the request


class OpenVinoEmbedder(EncoderEmbedder):
    """Raises as `OpenVinoEncoder`."""

    def __init__(self, exported: ExportedModel, *, threads: int = 0, batch_tokens: int = RUN_TOKENS) -> None:
        encoder = OpenVinoEncoder(exported.folder / MODEL, threads=threads, precision=exported.identity.precision)
        super().__init__(exported, encoder, threads=threads, batch_tokens=batch_tokens)


def check_processor(precision: str) -> None:
    """Raises ModelUnavailable where this processor lacks the precision, MissingExtra without openvino."""
    if precision == "bf16" and "BF16" not in capabilities():
        raise ModelUnavailable(
            "this processor does not compute in bf16; use one that does (AVX-512 or AMX), or set precision = "
            '"fp32" in [embedding] and run a reindex'
        )


def capabilities() -> list[str]:
    """What OpenVINO can do on this processor: "FP32", "BF16", "INT8", ..."""
    return list(openvino().Core().get_property("CPU", "OPTIMIZATION_CAPABILITIES"))


def openvino() -> Any:
    """The package, imported without a word to its vendor and ready for several threads. Raises MissingExtra.

    What `Tensor.data` needs is made at its first use, by code that runs Python: two threads that come first at once
    wait for each other for ever, the one for the interpreter, the other, which has it, for what the first one makes.
    """
    # Its import tells the vendor that it was imported, unless this package can't be had: then it has a stub of its own.
    sys.modules.setdefault("openvino_telemetry", None)  # type: ignore[arg-type]
    with _first_use:
        try:
            package = importlib.import_module("openvino")
        except ImportError as error:
            raise MissingExtra(error.name or "openvino", "openvino") from None
        _ = package.Tensor(np.zeros(1, np.int64)).data
    return package


def _settings(precision: str, threads: int) -> dict[str, Any]:
    """One stream a thread: runs go on side by side, none shares its work out."""
    return {
        "INFERENCE_PRECISION_HINT": "bf16" if precision == "bf16" else "f32",
        "DYNAMIC_QUANTIZATION_GROUP_SIZE": str(GROUP if precision == "int8" else 0),
        "NUM_STREAMS": str(threads),
        "INFERENCE_NUM_THREADS": str(threads),
        "ENABLE_CPU_PINNING": False,  # other processes have these cores too
    }
