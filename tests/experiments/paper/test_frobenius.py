"""Stray points."""

import numpy as np
import pytest

from actup._experiments.paper.frobenius import stray_share


def test_stray_share():
    sheet = np.stack(np.meshgrid(np.arange(150.0), np.arange(150.0)), axis=-1).reshape(-1, 2)
    alone = [[300.0, 300.0], [-100.0, 0.0], [0.0, 160.0]]
    assert stray_share(sheet) == 0
    assert stray_share(np.concatenate([sheet, alone])) == pytest.approx(3 / (len(sheet) + 3))
