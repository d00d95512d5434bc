"""Points of maps that several tests draw."""

import numpy as np


def blobs(count=5, size=60, spread=0.4):
    """Round clusters on a circle: ``size`` points of each, and the cluster of every point."""
    generator = np.random.default_rng(0)
    codes = np.repeat(np.arange(count), size)
    angle = 2 * np.pi * codes / count
    centers = 6 * np.column_stack([np.cos(angle), np.sin(angle)])
    return centers + spread * generator.normal(size=(len(codes), 2)), codes
