"""Run scikit-learn's own tests of TSNE, which are installed with it, on ``actup.TSNE``.

    python tests/upstream/sklearn_tsne.py           # print the outcomes
    python tests/upstream/sklearn_tsne.py --save    # also keep them for docs/compatibility.md

The tests run as they are: only the name ``TSNE`` of their module is given another meaning.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest
import sklearn
from suite import Recorder, Suite, finish, sort_outcomes

import actup

# Tests that call no TSNE, and so would test scikit-learn itself.
NOT_APPLICABLE = {
    "test_gradient_descent_stops": "tests the private function _gradient_descent",
    "test_binary_search|test_binary_perplexity": "tests the private function _binary_search_perplexity",
    "test_gradient$": "tests the private function _kl_divergence",
    "test_trustworthiness": "tests the function trustworthiness, which is no part of TSNE",
    "test_answer_gradient|test_skip_num_points": "tests the private module _barnes_hut_tsne",
    "test_barnes_hut_angle": "tests the private functions _kl_divergence and _kl_divergence_bh",
    "test_gradient_bh_multithread": "tests the private function _kl_divergence_bh",
    r"test_tsne_with_different_distance_metrics\[barnes_hut-manhattan": "scikit-learn expects it to fail",
}

# Where actup.TSNE differs from scikit-learn on purpose.
DIFFERENCES = {
    "test_init_ndarray$": "rows of init that are equal are moved apart, so that forces can separate them",
    "test_max_iter_used": "n_iter_ is the number of iterations; scikit-learn's is one less",
    "test_tsne_with_different_distance_metrics": (
        "distances that ActUp computes and those that are given agree to single precision, not to the bit"
    ),
    "test_tsne_with_mahalanobis_distance": (
        "metric='mahalanobis' without V takes the covariance of X, where scikit-learn raises an error"
    ),
}


def run() -> Suite:
    """Run the tests on ``actup.TSNE``."""
    recorder = Recorder(lambda module: setattr(module, "TSNE", actup.TSNE))
    path = Path(sklearn.__file__).parent / "manifold" / "tests" / "test_t_sne.py"
    options = ["-q", "--no-header", "--tb=no", "-p", "no:cacheprovider", "-c", os.devnull]
    pytest.main([str(path), *options], plugins=[recorder])
    return Suite(
        name="sklearn_tsne",
        title="scikit-learn, sklearn/manifold/tests/test_t_sne.py",
        version=sklearn.__version__,
        runs="actup.TSNE",
        outcomes=sort_outcomes(recorder.outcomes, NOT_APPLICABLE, DIFFERENCES),
    )


if __name__ == "__main__":
    sys.exit(finish(run(), DIFFERENCES, sys.argv[1:]))
