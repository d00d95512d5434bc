"""Points of maps that several tests draw."""

import numpy as np

CENTERS = np.array([[0, 0], [10, 0], [0, 10], [10, 10], [5, 5]])  # of the unequal blobs
N = 2000  # points of the page that most tests of the browser open


def blobs(count=5, size=60, spread=0.4):
    """Round clusters on a circle: ``size`` points of each, and the cluster of every point."""
    generator = np.random.default_rng(0)
    codes = np.repeat(np.arange(count), size)
    angle = 2 * np.pi * codes / count
    centers = 6 * np.column_stack([np.cos(angle), np.sin(angle)])
    return centers + spread * generator.normal(size=(len(codes), 2)), codes


def unequal_blobs(n=N):
    """Points of five round clusters of decreasing size, and the cluster of each."""
    generator = np.random.default_rng(0)
    codes = np.sort(generator.choice(5, n, p=[0.35, 0.25, 0.2, 0.15, 0.05]))
    return CENTERS[codes] + generator.normal(size=(n, 2)) * 0.6, codes
