"""Pictures are drawn."""

import numpy as np

from actup._experiments.page.pictures import Chart, Curve, Legend, Panel, draw_charts, draw_maps


def test_legends_and_rows_of_charts_are_drawn(tmp_path):
    from matplotlib.image import imread

    panel = Panel(np.random.default_rng(0).normal(size=(30, 2)), np.arange(30) % 3, "1; 2")
    legends = [
        Legend("Only words"),
        Legend("Classes", ["a", "b", "c"]),
        Legend("Values", ends=("low", "high")),
    ]
    draw_maps(tmp_path / "plain.png", [[panel]], ["row"], ["column"])
    draw_maps(tmp_path / "legends.png", [[panel]], ["row"], ["column"], legends)
    plain, taller = (imread(tmp_path / name).shape for name in ("plain.png", "legends.png"))
    assert plain[1] == taller[1] and taller[0] > plain[0] + 60
    chart = Chart("", [Curve("line", [1, 2], [3, 4], marker="s")], "x", "y")
    draw_charts(tmp_path / "charts.png", [chart] * 4, height=5.0, rows=2)
    assert (tmp_path / "charts.png").stat().st_size > 3_000
