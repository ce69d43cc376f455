"""A transformer of sentence-transformers as one ONNX file. With the sentence-transformers runtime, the only user of
torch in this package."""

from pathlib import Path
from typing import Any

from rag_pipeline.embedding.encoder import STATES
from rag_pipeline.embedding.quiet import quiet
from rag_pipeline.errors import MissingExtra

OPSET = 17


def load_model(folder: Path) -> Any:
    """The SentenceTransformer in fp32 on the CPU, ready for the exporter. Raises MissingExtra."""
    try:
        import onnx  # noqa: F401  torch's exporter needs it and fails late without
        from sentence_transformers import SentenceTransformer
    except ImportError as error:
        raise MissingExtra(error.name or "sentence-transformers", "build") from None
    with quiet():
        # Eager attention gives the graph that onnxruntime's own optimizer knows best.
        model = SentenceTransformer(str(folder), device="cpu", model_kwargs={"attn_implementation": "eager"})
        return model.float().eval()


def write_onnx(live: Any, path: Path, *, layer: int | None = None) -> None:
    """Token ids in, states of the last layer out, or of the `layer`-th: then what lies behind it is not written."""
    import torch

    names = [n for n in live.tokenizer.model_input_names if n in ("input_ids", "attention_mask", "token_type_ids")]

    class Transformer(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inner = live[0].auto_model

        def forward(self, *values: Any) -> Any:
            given = dict(zip(names, values, strict=True))
            if layer is None:
                return self.inner(**given, return_dict=False)[0]
            return self.inner(**given, output_hidden_states=True, return_dict=True).hidden_states[layer]

    ids = torch.tensor([[5, 6, 7, 8, 9, 10, 11], [12, 13, 14, 15, 0, 0, 0]])
    feed = {"input_ids": ids, "attention_mask": (ids > 0).long(), "token_type_ids": torch.zeros_like(ids)}
    axes = {0: "batch", 1: "tokens"}
    with torch.no_grad():
        torch.onnx.export(
            Transformer().eval(),
            tuple(feed[n] for n in names),
            str(path),
            input_names=names,
            output_names=[STATES],
            dynamic_axes=dict.fromkeys([*names, STATES], axes),
            opset_version=OPSET,
            dynamo=False,  # the newer exporter takes nine times as long and writes two files
        )
