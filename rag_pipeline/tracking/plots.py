"""Recall at every depth, one line a strategy, as an SVG that is the same for the same evaluation."""

import io
import math
import warnings
from collections.abc import Mapping, Sequence

from rag_pipeline.errors import MissingExtra
from rag_pipeline.evaluation.experiment import Experiment

FILE = "recall_at_k.svg"


def recall_curves(experiment: Experiment) -> dict[str, tuple[float, ...]]:
    """Strategy -> mean recall@1, recall@2, ... over its scored questions; a strategy that scored none is left out."""
    curves = {}
    for strategy, run in experiment.runs.items():
        found = [q.recall_curve for q in run if q.recall_curve]
        if found:
            curves[strategy] = tuple(math.fsum(values) / len(found) for values in zip(*found, strict=True))
    return curves


def recall_plot(curves: Mapping[str, Sequence[float]], *, title: str) -> str:
    """A whole SVG file. Raises MissingExtra without matplotlib."""
    try:
        import matplotlib
        from matplotlib.backends.backend_svg import FigureCanvasSVG
        from matplotlib.figure import Figure
    except ImportError as error:
        raise MissingExtra("matplotlib", "eval") from error
    # A fixed salt and no date, or the same evaluation would be another file each time.
    with matplotlib.rc_context({"svg.hashsalt": "rag_pipeline", "svg.fonttype": "none"}), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph .* missing from font", category=UserWarning)
        figure = Figure(figsize=(7, 4.5), layout="constrained")
        axes = figure.subplots()
        for strategy, values in curves.items():
            axes.plot(range(1, len(values) + 1), values, marker="o", markersize=3, label=strategy)
        axes.set(xlabel="k", ylabel="recall at k", ylim=(0, 1.02))
        axes.set_xticks(range(1, 1 + max((len(values) for values in curves.values()), default=0)))
        axes.set_title(title, parse_math=False)
        axes.grid(alpha=0.3)
        if curves:
            axes.legend(loc="lower right", fontsize="small")
        buffer = io.StringIO()
        FigureCanvasSVG(figure).print_svg(buffer, metadata={"Date": None})  # type: ignore[no-untyped-call]
    return buffer.getvalue()
