"""The plots of a report as inline SVG: text stays text, ink takes the page's colour, nothing refers to another host.

matplotlib is used through its figures alone: no window, no global state, and the same values give the same bytes.
"""

import io
import re
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from html import escape
from typing import TYPE_CHECKING, Any

from rag_pipeline.errors import MissingExtra
from rag_pipeline.evaluation.arms import Arm
from rag_pipeline.evaluation.report.tables import interval_of, mean_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#8a6d00", "#56b4e9", "#7f4fc9", "#6b7280")
"""Told apart also by those who see fewer colours, on white and on black."""
MARKERS = "osD^vPX*"
DASHES = ("-", "--", ":", "-.")
INK, GRID = "#010203", "#040506"
"""Stand for the page's text and line colours, which the style sheet knows."""


def recall_curves(arms: Sequence[Arm]) -> str:
    """Mean recall of sections at 1 to 10, one line an arm."""

    def draw(axis: "Axes") -> None:
        for i, arm in enumerate(arms):
            curve = recall_curve(arm)
            axis.plot(
                range(1, len(curve) + 1), curve, label=_label(arm.label), **_style(i), markersize=4, linewidth=1.4
            )
        axis.set(xlabel="k", ylabel="recall at k", ylim=(0, 1.02))
        axis.set_xticks(range(1, 11))

    return _svg("recall", "Recall at k", draw, legend=True)


def recall_curve(arm: Arm) -> list[float]:
    """Means at 1, 2, ... over the scored questions; empty where there is none."""
    curves = [q.recall_curve for q in arm.run if q.recall_curve]
    return [sum(values) / len(values) for values in zip(*curves, strict=True)]


def latency_boxes(arms: Sequence[Arm]) -> str:
    """Quartiles, 5th and 95th percentile of each arm's answers, on a logarithmic scale."""
    timed = [arm for arm in arms if milliseconds(arm)]

    def draw(axis: "Axes") -> None:
        boxes: Any = axis.boxplot(
            [milliseconds(arm) for arm in reversed(timed)],
            orientation="horizontal",
            whis=(5, 95),
            showfliers=False,
            patch_artist=True,
            widths=0.6,
        )
        for line in (part for kind in ("whiskers", "caps", "medians") for part in boxes[kind]):
            line.set_color(INK)
        for i, box in enumerate(boxes["boxes"]):
            box.set(facecolor=COLOURS[(len(timed) - 1 - i) % len(COLOURS)], edgecolor=INK, alpha=0.8)
        axis.set_yticks(range(1, len(timed) + 1), [_label(arm.label) for arm in reversed(timed)])
        axis.set(xlabel="milliseconds of one answer")
        _logarithmic(axis)

    return _svg("latency", "Milliseconds of an answer", draw, height=1.2 + 0.34 * len(timed))


def milliseconds(arm: Arm) -> list[float]:
    return [q.milliseconds for q in arm.run if q.milliseconds]


def quality_against_latency(arms: Sequence[Arm], *, metric: str, resamples: int, seed: int) -> str:
    """Each arm's mean with its 95 % interval over the median of its answers' times."""

    def draw(axis: "Axes") -> None:
        for i, arm in enumerate(arms):
            mean, times = mean_of(arm.run, metric), sorted(milliseconds(arm))
            if mean is None or not times:
                continue
            low, high = interval_of(arm.run, metric, resamples=resamples, seed=seed)
            style = {**_style(i), "linestyle": "none"}
            axis.errorbar(
                [times[len(times) // 2]],
                [mean],
                yerr=[[max(0.0, mean - low)], [max(0.0, high - mean)]],  # rounding can put an end past the mean
                label=_label(arm.label),
                capsize=3,
                markersize=6,
                **style,
            )
        axis.set(xlabel="median milliseconds of one answer", ylabel=metric)
        _logarithmic(axis)

    return _svg("tradeoff", "Quality against latency", draw, legend=True)


def _logarithmic(axis: "Axes") -> None:
    """Labelled at 1, 2 and 5 of every decade, in plain digits."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

    axis.set_xscale("log")
    axis.xaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    axis.xaxis.set_minor_locator(NullLocator())
    axis.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))


def _style(i: int) -> dict[str, Any]:
    return {
        "color": COLOURS[i % len(COLOURS)],
        "marker": MARKERS[i % len(MARKERS)],
        "linestyle": DASHES[(i // len(COLOURS)) % len(DASHES)],
    }


def _label(text: str) -> str:
    """Names are anybody's: a leading underscore would hide one from the legend, a line break would tear it."""
    flat = " ".join("".join(c if c.isprintable() else " " for c in text).split())
    return f"\u200b{flat}" if flat.startswith("_") or not flat else flat


def _svg(name: str, title: str, draw: "Callable[[Axes], None]", *, legend: bool = False, height: float = 3.8) -> str:
    """Raises MissingExtra without matplotlib."""
    try:
        import matplotlib
        from matplotlib.figure import Figure
    except ImportError as error:
        raise MissingExtra("matplotlib", "eval") from error
    settings: Any = {
        "svg.fonttype": "none",
        "svg.hashsalt": name,
        "text.parse_math": False,  # a dollar sign in a name is a dollar sign
        "font.size": 10,
        "text.color": INK,
        "axes.labelcolor": INK,
        "axes.edgecolor": INK,
        "xtick.color": INK,
        "ytick.color": INK,
    }
    with matplotlib.rc_context(settings), _any_script():
        figure = Figure(figsize=(7.2, height), layout="constrained")
        axis = figure.subplots()
        draw(axis)
        axis.grid(visible=True, color=GRID, linewidth=0.6)
        axis.set_axisbelow(True)
        for side in ("top", "right"):
            axis.spines[side].set_visible(False)
        if legend and axis.get_legend_handles_labels()[0]:
            figure.legend(loc="outside lower center", ncols=2, frameon=False, fontsize=9)
        out = io.StringIO()
        nothing = dict.fromkeys(("Creator", "Date", "Format", "Type"))
        figure.savefig(out, format="svg", transparent=True, metadata=nothing)
    return _inline(out.getvalue(), name, title)


@contextmanager
def _any_script() -> Iterator[None]:
    """Names in scripts that matplotlib's own font lacks are drawn by the browser's; only their width is guessed."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph .* missing from font", category=UserWarning)
        warnings.filterwarnings("ignore", message=".*constrained_layout not applied.*", category=UserWarning)
        yield


def _inline(svg: str, name: str, title: str) -> str:
    """The element alone, ids of its own, sizes left to the page."""
    body = svg[svg.index("<svg") :].strip()
    body = re.sub(r"<style type=\"text/css\">.*?</style>", "", body, flags=re.DOTALL)
    body = body.replace(INK, "currentColor").replace(GRID, "var(--line)")
    body = re.sub(r"font: ([0-9.]+)px [^;\"]*", r"font-size: \1px", body)
    body = re.sub(r'(\bid=")', rf"\1{name}-", body)
    body = re.sub(r'((?:xlink:)?href="#|url\(#)', rf"\1{name}-", body)
    found = re.search(r'viewBox="[^"]*"', body)
    assert found is not None
    opening = f'<svg role="img" aria-labelledby="{name}-title" {found[0]} class="plot">'
    return f'{opening}<title id="{name}-title">{escape(title)}</title>{body[body.index(">") + 1 :]}'
