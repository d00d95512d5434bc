"""Upsampling of images."""

import numpy as np

from actup._experiments.paper.runtimes import upsampled


def test_upsampled_rows_are_shifted_copies_with_noise():
    X = np.random.default_rng(0).integers(0, 256, (50, 64)).astype(np.uint8)
    larger = upsampled(X, 130, 0)
    assert larger.shape == (130, 64) and larger.dtype == np.uint8
    assert (larger[:50] == X).all()
    moves = [(down, right) for down in range(-2, 3) for right in range(-2, 3)]
    images = X.reshape(50, 8, 8).astype(int)
    moved = np.concatenate([np.roll(images, move, (1, 2)).reshape(50, 64) for move in moves])
    nearest = np.abs(larger[50:, None].astype(int) - moved).max(axis=2).argmin(axis=1)
    assert np.abs(larger[50:].astype(int) - moved[nearest]).max() < 40  # noise of 2 %
    assert len(set(nearest // 50)) > 10 and len(set(nearest % 50)) > 25  # many moves, many images
    assert len(np.unique(upsampled(X, 20, 0), axis=0)) == 20
