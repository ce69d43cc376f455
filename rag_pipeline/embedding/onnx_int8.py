"""An exported model's multiplications in int8, rewritten by onnxruntime's own tool (Jacob et al. 2018, section 2).

Weights are quantised here, one scale an output channel; activations while it runs. Weights keep to 7 bits, because
processors without VNNI saturate on 8 and would give other vectors without a word. Needs the package onnx.
"""

from pathlib import Path

from rag_pipeline.durable import temporary_name
from rag_pipeline.errors import MissingExtra


def quantise(model: Path, *, lookup: bool = False) -> None:
    """Replace the file by its int8 form; `lookup`: the table of word vectors too. Raises MissingExtra."""
    try:
        import onnx
        from onnxruntime.quantization import QuantType, quantize_dynamic
        from onnxruntime.quantization.quant_utils import add_pre_process_metadata
    except ImportError as error:
        raise MissingExtra(error.name or "onnx", "build") from None
    graph = onnx.load(model)
    add_pre_process_metadata(graph)  # else the tool writes advice to the root logger and thereby sets logging up
    partial = temporary_name(model)
    try:
        quantize_dynamic(
            graph,
            partial,
            op_types_to_quantize=["MatMul", "Gather"] if lookup else ["MatMul"],
            per_channel=True,
            reduce_range=True,
            weight_type=QuantType.QInt8,
        )
        partial.replace(model)
    finally:
        partial.unlink(missing_ok=True)
