"""QualityReport: the measures of one map, as a mapping that prints as a table."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from html import escape


@dataclass(frozen=True)
class Measurement:
    """One measured figure.

    Attributes
    ----------
    value : float
    better : str
        ``"higher"`` or ``"lower"``.
    note : str
        What was measured, in a few words.
    seconds : float
        Time it took; work that several figures share counts for the first of them.
    """

    value: float
    better: str
    note: str
    seconds: float


@dataclass(frozen=True, eq=False, repr=False)
class QualityReport(Mapping):
    """The measures of one map: ``report["trustworthiness"]`` is a number, ``print(report)`` a table.

    Attributes
    ----------
    title : str
    measurements : dict of str to Measurement
    left_out : dict of str to str
        The measures that could not be computed, each with the reason.
    """

    title: str
    measurements: dict[str, Measurement]
    left_out: dict[str, str]

    def __getitem__(self, name: str) -> float:
        if name in self.left_out:
            raise KeyError(f"{name} was left out: {self.left_out[name]}")
        return self.measurements[name].value

    def __iter__(self) -> Iterator[str]:
        return iter(self.measurements)

    def __len__(self) -> int:
        return len(self.measurements)

    def __repr__(self) -> str:
        return f"QualityReport({', '.join(f'{name}={_figure(value)}' for name, value in self.items())})"

    @property
    def seconds(self) -> float:
        """Time all measures took together."""
        return sum(measurement.seconds for measurement in self.measurements.values())

    def __str__(self) -> str:
        names = max(map(len, self.measurements), default=0)
        figures = max((len(_figure(m.value)) for m in self.measurements.values()), default=0)
        lines = [self.title]
        for name, measured in self.measurements.items():
            arrow = _ARROWS[measured.better]
            lines.append(f"  {name:<{names}}  {_figure(measured.value):>{figures}} {arrow}  {measured.note}")
        for reason, left in self._reasons().items():
            lines.append(f"  left out: {', '.join(left)} ({reason})")
        lines.append(f"  ↑ higher is better, ↓ lower is better; measured in {self.seconds:.1f} s")
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr><td>{escape(name)}</td><td style='text-align:right'>{_figure(measured.value)} "
            f"{_ARROWS[measured.better]}</td><td style='text-align:left'>{escape(measured.note)}</td></tr>"
            for name, measured in self.measurements.items()
        )
        reasons = "".join(
            f"<li>left out: {escape(', '.join(left))} ({escape(reason)})</li>"
            for reason, left in self._reasons().items()
        )
        return (
            f"<table><caption>{escape(self.title)}</caption><thead><tr><th>measure</th><th>value</th>"
            f"<th>what it says</th></tr></thead><tbody>{rows}</tbody></table>"
            + (f"<ul>{reasons}</ul>" if reasons else "")
        )

    def _reasons(self) -> dict[str, list[str]]:
        """The measures left out, grouped by the reason."""
        groups: dict[str, list[str]] = {}
        for name, reason in self.left_out.items():
            groups.setdefault(reason, []).append(name)
        return groups


_ARROWS = {"higher": "↑", "lower": "↓"}


def _figure(value: float) -> str:
    return f"{value:.4f}" if abs(value) < 1000 else f"{value:.4e}"
