"""Weights of an OpenVINO graph in int8: symmetric, one scale an output channel. Changes a graph in memory, no file.

OpenVINO recognises `Constant(i8) -> Convert -> Multiply(scale) -> MatMul` and multiplies in int8 where its dynamic
quantisation is on.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

SMALLEST = 10_000
"""Numbers; smaller matrices cost nothing as they are."""


def quantise_weights(model: Any) -> int:
    """Replace every large constant right-hand side of a MatMul; how many there were."""
    from openvino import Type
    from openvino import opset13 as ops

    changed = 0
    for node in model.get_ordered_ops():
        weights = _weights(node)
        if weights is None or weights.size < SMALLEST:
            continue
        numbers, scale = quantised(weights)
        whole = ops.multiply(ops.convert(ops.constant(numbers, dtype=Type.i8), "f32"), ops.constant(scale))
        transposed = bool(node.get_attributes()["transpose_a"])
        product = ops.matmul(node.input(0).get_source_output(), whole, transposed, True)
        for target in list(node.output(0).get_target_inputs()):
            target.replace_source_output(product.output(0))
        changed += 1
    model.validate_nodes_and_infer_types()
    return changed


def quantised(weights: NDArray[np.float32]) -> tuple[NDArray[np.int8], NDArray[np.float32]]:
    """`weights` (outputs, inputs) as int8 in -127..127 and a scale (outputs, 1); a row of zeros, or of numbers too
    small to have a scale, has scale 1."""
    scale = (np.abs(weights).max(axis=1, keepdims=True) / 127).astype(np.float32)
    scale[scale < np.finfo(np.float32).tiny] = 1  # below it a number keeps too few bits to divide by
    return np.clip(np.rint(weights / scale), -127, 127).astype(np.int8), scale


def _weights(node: Any) -> NDArray[np.float32] | None:
    """(outputs, inputs) of a MatMul with a constant matrix, else None."""
    if node.get_type_name() != "MatMul":
        return None
    right = node.input(1).get_source_output().get_node()
    if right.get_type_name() != "Constant" or len(right.get_output_shape(0)) != 2:
        return None
    found: NDArray[np.float32] = right.data
    return np.ascontiguousarray(found if node.get_attributes()["transpose_b"] else found.T)
