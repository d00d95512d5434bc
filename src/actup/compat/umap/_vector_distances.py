"""Distances between two vectors of numbers, and the same with their gradients.

All functions of this file keep to what numba compiles: ``_compiled.py`` offers them to it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

WithGradient = tuple[float, np.ndarray]

_EPSILON = 1e-6  # keeps the gradient of equal vectors finite
_TWO_BINS = np.eye(2)
_LOG_2_PI = float(np.log(2 * np.pi))


def sign(a: float) -> int:
    """-1 for numbers below 0, else 1."""
    return -1 if a < 0 else 1


def euclidean(x: Any, y: Any) -> float:
    """The root of the sum of squared differences."""
    return float(np.sqrt((_difference(x, y) ** 2).sum()))


def euclidean_grad(x: Any, y: Any) -> WithGradient:
    """The Euclidean distance and its gradient."""
    return _norm_of(_difference(x, y))


def standardised_euclidean(x: Any, y: Any, sigma: Any = 1.0) -> float:
    """The Euclidean distance with each squared difference divided by its variance ``sigma``."""
    return float(np.sqrt((_difference(x, y) ** 2 / sigma).sum()))


def standardised_euclidean_grad(x: Any, y: Any, sigma: Any = 1.0) -> WithGradient:
    """The standardised Euclidean distance and its gradient."""
    distance = standardised_euclidean(x, y, sigma)
    return distance, _difference(x, y) / (_EPSILON + distance * np.asarray(sigma))


def manhattan(x: Any, y: Any) -> float:
    """The sum of absolute differences."""
    return float(np.abs(_difference(x, y)).sum())


def manhattan_grad(x: Any, y: Any) -> WithGradient:
    """The sum of absolute differences and its gradient."""
    return manhattan(x, y), np.sign(_difference(x, y))


def chebyshev(x: Any, y: Any) -> float:
    """The largest absolute difference."""
    difference = _difference(x, y)
    return float(np.abs(difference).max()) if difference.size else 0.0


def chebyshev_grad(x: Any, y: Any) -> WithGradient:
    """The largest absolute difference and its gradient."""
    difference = _difference(x, y)
    gradient = np.zeros(difference.shape)
    largest = np.abs(difference).argmax()
    gradient[largest] = np.sign(difference[largest])
    return chebyshev(x, y), gradient


def minkowski(x: Any, y: Any, p: float = 2) -> float:
    """The p-th root of the sum of absolute differences to the power of p."""
    return weighted_minkowski(x, y, 1.0, p)


def minkowski_grad(x: Any, y: Any, p: float = 2.0) -> WithGradient:
    """The Minkowski distance and its gradient."""
    return weighted_minkowski_grad(x, y, 1.0, p)


def weighted_minkowski(x: Any, y: Any, w: Any = 1.0, p: float = 2) -> float:
    """The Minkowski distance with a weight ``w`` for each column."""
    return float((np.asarray(w) * np.abs(_difference(x, y)) ** p).sum() ** (1 / p))


def weighted_minkowski_grad(x: Any, y: Any, w: Any = 1.0, p: float = 2.0) -> WithGradient:
    """The weighted Minkowski distance and its gradient."""
    difference = _difference(x, y)
    distance = weighted_minkowski(x, y, w, p)
    if distance == 0:
        return 0.0, np.zeros(difference.shape)
    return distance, np.asarray(w) * np.sign(difference) * (np.abs(difference) / distance) ** (p - 1)


def mahalanobis(x: Any, y: Any, vinv: Any = None) -> float:
    """The Euclidean distance after a linear map; ``vinv`` is the inverse of the covariance matrix."""
    return mahalanobis_grad(x, y, vinv)[0]


def mahalanobis_grad(x: Any, y: Any, vinv: Any = None) -> WithGradient:
    """The Mahalanobis distance and its gradient."""
    difference = _difference(x, y)
    image = difference if vinv is None else np.asarray(vinv) @ difference
    distance = float(np.sqrt(difference @ image))
    return distance, image / (_EPSILON + distance)


mahalanobis_f64 = mahalanobis


def canberra(x: Any, y: Any) -> float:
    """The sum of absolute differences, each divided by the sum of both absolute values."""
    size = np.abs(_vector(x)) + np.abs(_vector(y))
    return float(_divide(np.abs(_difference(x, y)), size).sum())


def canberra_grad(x: Any, y: Any) -> WithGradient:
    """The Canberra distance and its gradient."""
    difference, size = _difference(x, y), np.abs(_vector(x)) + np.abs(_vector(y))
    shares = _divide(np.abs(difference), size)
    return float(shares.sum()), _divide(np.sign(difference) - shares * np.sign(_vector(x)), size)


def bray_curtis(x: Any, y: Any) -> float:
    """The sum of absolute differences over the sum of absolute sums."""
    total = np.abs(_vector(x) + _vector(y)).sum()
    return float(np.abs(_difference(x, y)).sum() / total) if total > 0 else 0.0


def bray_curtis_grad(x: Any, y: Any) -> WithGradient:
    """The Bray-Curtis distance and its gradient."""
    sums, distance = _vector(x) + _vector(y), bray_curtis(x, y)
    total = np.abs(sums).sum()
    if total == 0:
        return 0.0, np.zeros(sums.shape)
    return distance, (np.sign(_difference(x, y)) - distance * np.sign(sums)) / total


def cosine(x: Any, y: Any) -> float:
    """1 minus the cosine of the angle; 1 if one vector is 0, and 0 if both are."""
    return cosine_grad(x, y)[0]


def cosine_grad(x: Any, y: Any) -> WithGradient:
    """The cosine distance and its gradient."""
    a, b = _vector(x), _vector(y)
    length, other = float(np.sqrt(a @ a)), float(np.sqrt(b @ b))
    if length == 0 or other == 0:
        return 0.0 if length == other else 1.0, np.zeros(a.shape)
    similarity = float(a @ b / (length * other))
    return 1 - similarity, similarity * a / length**2 - b / (length * other)


def correlation(x: Any, y: Any) -> float:
    """The cosine distance of the vectors minus their means."""
    return correlation_grad(x, y)[0]


def correlation_grad(x: Any, y: Any) -> WithGradient:
    """The correlation distance and its gradient."""
    a, b = _vector(x), _vector(y)
    distance, gradient = cosine_grad(a - a.mean(), b - b.mean())
    return distance, gradient - gradient.mean()


def hellinger(x: Any, y: Any) -> float:
    """The distance of two distributions, by the overlap of their square roots."""
    return hellinger_grad(x, y)[0]


def hellinger_grad(x: Any, y: Any) -> WithGradient:
    """The Hellinger distance and its gradient."""
    a, b = _vector(x), _vector(y)
    total, other = a.sum(), b.sum()
    if total == 0 or other == 0:
        return 0.0 if total == other else 1.0, np.zeros(a.shape)
    roots, scale = np.sqrt(a * b), np.sqrt(total * other)
    overlap = roots.sum() / scale
    distance = float(np.sqrt(max(0.0, 1 - overlap)))
    if distance == 0:
        return 0.0, np.zeros(a.shape)
    by_overlap = _divide(b, 2 * roots * scale) - overlap / (2 * total)
    return distance, -by_overlap / (2 * distance)


def softmax(z: Any) -> np.ndarray:
    """The distribution whose logarithms are a vector's values, up to a constant."""
    values = _vector(z)
    powers = np.exp(values - values.max())
    return np.asarray(powers / powers.sum())


def softmax_hellinger(x: Any, y: Any) -> float:
    """The Hellinger distance of the softmax of two vectors."""
    return hellinger(softmax(x), softmax(y))


def softmax_hellinger_grad(x: Any, y: Any) -> WithGradient:
    """The softmax Hellinger distance and its gradient."""
    p = softmax(x)
    distance, gradient = hellinger_grad(p, softmax(y))
    return distance, p * (gradient - gradient @ p)


def haversine(x: Any, y: Any) -> float:
    """The distance on the unit sphere; vectors are latitude and longitude in radians."""
    (latitude, longitude), (other_latitude, other_longitude) = _pair(x), _pair(y)
    across = np.cos(latitude) * np.cos(other_latitude) * np.sin((longitude - other_longitude) / 2) ** 2
    return float(2 * np.arcsin(np.sqrt(min(1.0, np.sin((latitude - other_latitude) / 2) ** 2 + across))))


def haversine_grad(x: Any, y: Any) -> WithGradient:
    """The distance on the unit sphere and its gradient; here the first value is the angle from the pole."""
    (polar, longitude), (other_polar, other_longitude) = _pair(x), _pair(y)
    turn, tilt = (longitude - other_longitude) / 2, (polar - other_polar) / 2
    inner = np.sin(tilt) ** 2 + np.sin(polar) * np.sin(other_polar) * np.sin(turn) ** 2
    inner = min(max(float(inner), 0.0), 1.0)
    by_polar = np.sin(tilt) * np.cos(tilt) + np.cos(polar) * np.sin(other_polar) * np.sin(turn) ** 2
    by_longitude = np.sin(polar) * np.sin(other_polar) * np.sin(turn) * np.cos(turn)
    slope = np.array([by_polar, by_longitude]) / (_EPSILON + np.sqrt(inner * (1 - inner)))
    return float(2 * np.arcsin(np.sqrt(inner))), slope


def poincare(u: Any, v: Any) -> float:
    """The hyperbolic distance inside the unit ball."""
    a, b = _vector(u), _vector(v)
    inside, other = 1 - a @ a, 1 - b @ b
    if inside <= 0 or other <= 0:
        raise ValueError("poincare needs vectors of length below 1: divide them")
    excess = 2 * ((a - b) ** 2).sum() / (inside * other)
    return float(np.log1p(excess + np.sqrt(excess * (excess + 2))))  # arccosh(1 + excess)


def hyperboloid_grad(x: Any, y: Any) -> WithGradient:
    """The hyperbolic distance on the hyperboloid over two vectors, and its gradient."""
    a, b = _vector(x), _vector(y)
    height, other = np.sqrt(1 + a @ a), np.sqrt(1 + b @ b)
    product = max(1 + 1e-8, float(height * other - a @ b))
    return float(np.arccosh(product)), (a * other / height - b) / np.sqrt(product**2 - 1)


def symmetric_kl(x: Any, y: Any, z: float = 1e-11) -> float:
    """The mean of both Kullback-Leibler divergences of two distributions."""
    return symmetric_kl_grad(x, y, z)[0]


def symmetric_kl_grad(x: Any, y: Any, z: float = 1e-11) -> WithGradient:
    """The symmetric divergence and its gradient by the probabilities."""
    p, q = _vector(x) + z, _vector(y) + z
    p, q = p / p.sum(), q / q.sum()
    ratios = np.log(p / q)
    return float(((p - q) * ratios).sum() / 2), (ratios + 1 - q / p) / 2


def sinkhorn_distance(
    x: Any, y: Any, M: Any = _TWO_BINS, cost: Any = 1 - _TWO_BINS, maxiter: int = 64
) -> float:
    """The cost of moving one histogram to another, by Sinkhorn's scaling of the kernel ``M``."""
    kernel = _vector(M)
    p, q = _vector(x) / _vector(x).sum(), _vector(y) / _vector(y).sum()
    left, right = np.ones(p.shape), np.ones(q.shape)
    for _ in range(maxiter):
        left = _divide(p, kernel @ right)
        right = _divide(q, left @ kernel)
    plan = left.reshape(-1, 1) * kernel * right
    return float((plan * _vector(cost)).sum())


def spherical_gaussian_energy_grad(x: Any, y: Any) -> WithGradient:
    """Energy of two round Gaussians (centre, variance) and its gradient."""
    a, b = _vector(x), _vector(y)
    center, variance = a[:2] - b[:2], abs(a[2]) + abs(b[2])
    squared = center @ center
    by_variance = np.sign(a[2]) * (1 / variance - squared / (2 * variance**2))
    return float(squared / (2 * variance) + np.log(variance) + _LOG_2_PI), np.append(
        center / variance, by_variance
    )


def spherical_gaussian_grad(x: Any, y: Any) -> WithGradient:
    """Twice the energy of two round Gaussians whose variances may have any sign, and its gradient."""
    a, b = _vector(x), _vector(y)
    center, sum_of_variances = a[:2] - b[:2], a[2] + b[2]
    if sum_of_variances == 0:
        return 10.0, np.array([0.0, 0.0, -1.0])
    variance, squared = abs(sum_of_variances), center @ center
    by_variance = np.sign(sum_of_variances) * (2 / variance - squared / variance**2)
    energy = squared / variance + 2 * np.log(variance) + _LOG_2_PI
    return float(energy), np.append(2 * center / variance, by_variance)


def diagonal_gaussian_energy_grad(x: Any, y: Any) -> WithGradient:
    """Energy of two Gaussians along the axes (centre, two variances) and its gradient."""
    a, b = _vector(x), _vector(y)
    center, variances = a[:2] - b[:2], np.abs(a[2:4]) + np.abs(b[2:4])
    if variances.min() == 0:
        return float(center @ center), np.array([0.0, 0.0, 1.0, 1.0])
    energy = ((center**2 / variances).sum() + np.log(variances).sum()) / 2 + _LOG_2_PI
    by_variances = np.sign(a[2:4]) * (1 / variances - (center / variances) ** 2) / 2
    return float(energy), np.concatenate((center / variances, by_variances))


def gaussian_energy_grad(x: Any, y: Any) -> WithGradient:
    """Energy of two Gaussians (centre, width, height, angle) and its gradient."""
    a, b = _vector(x), _vector(y)
    center = a[:2] - b[:2]
    covariance, by_parameter = _covariance(a)
    covariance = covariance + _covariance(b)[0]
    determinant = covariance[0, 0] * covariance[1, 1] - covariance[0, 1] ** 2
    if abs(determinant) < 1e-32:
        return float(center @ center), np.array([0.0, 0.0, 1.0, 1.0, 0.0])
    inverse = np.linalg.inv(covariance)
    image = inverse @ center
    energy = center @ image + np.log(abs(determinant)) + _LOG_2_PI
    slope = inverse - np.outer(image, image)  # of the energy by the covariance
    by_shape = np.array([(slope * part).sum() for part in by_parameter])
    return float(energy), np.concatenate((2 * image, by_shape))


def _covariance(gaussian: np.ndarray) -> tuple[np.ndarray, list[np.ndarray]]:
    """The covariance matrix of (x, y, width, height, angle), and its derivatives by the last three."""
    width, height = abs(gaussian[2]), abs(gaussian[3])
    along = np.array([np.cos(gaussian[4]), np.sin(gaussian[4])])
    across = np.array([-along[1], along[0]])
    wide, high = np.outer(along, along), np.outer(across, across)
    turned = (width - height) * (np.outer(along, across) + np.outer(across, along))
    return width * wide + height * high, [np.sign(gaussian[2]) * wide, np.sign(gaussian[3]) * high, turned]


def _vector(x: Any) -> np.ndarray:
    return np.asarray(x, np.float64)


def _difference(x: Any, y: Any) -> np.ndarray:
    return np.asarray(_vector(x) - _vector(y))


def _norm_of(difference: np.ndarray) -> WithGradient:
    distance = float(np.sqrt((difference**2).sum()))
    return distance, difference / (_EPSILON + distance)


def _divide(values: np.ndarray, divisors: np.ndarray) -> np.ndarray:
    """Quotients, 0 where the divisor is 0."""
    return np.asarray(np.where(divisors == 0, 0.0, values / np.where(divisors == 0, 1.0, divisors)))


def _pair(x: Any) -> np.ndarray:
    pair = _vector(x)
    if pair.shape != (2,):
        raise ValueError(f"haversine is only defined for 2 dimensional data, this has shape {pair.shape}")
    return pair
