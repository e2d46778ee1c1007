"""The estimators pass scikit-learn's own checks; where one cannot, the reason stands beside it.

The checks are about fitting and answering, not about smells: a small baseline, trained for two epochs, takes the
place of UnMixNet, the compiler does not optimise, and models of one shape are drawn once.
"""

import pickle

import jax
import numpy as np
import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from unmixnet import OdorClassifier, UnmixRegressor
from unmixnet.training import run

QUICK = {"model": "mlp", "epochs": 2}
NO_SHARES = "the targets of this check are no shares, which the regressor refuses; `Shares` below passes it"
FAILS = (
    "check_dict_unchanged",
    "check_dont_overwrite_parameters",
    "check_dtype_object",
    "check_estimators_dtypes",
    "check_estimators_fit_returns_self",
    "check_estimators_nan_inf",
    "check_estimators_overwrite_params",
    "check_estimators_pickle",
    "check_f_contiguous_array_estimator",
    "check_fit2d_1feature",
    "check_fit2d_predict1d",
    "check_fit_check_is_fitted",
    "check_fit_idempotent",
    "check_fit_score_takes_y",
    "check_methods_sample_order_invariance",
    "check_methods_subset_invariance",
    "check_n_features_in",
    "check_n_features_in_after_fitting",
    "check_pipeline_consistency",
    "check_positive_only_tag_during_fit",
    "check_readonly_memmap_input",
    "check_regressor_data_not_an_array",
    "check_regressor_multioutput",
    "check_regressors_int",
    "check_regressors_no_decision_function",
    "check_regressors_train",
)


@pytest.fixture(autouse=True, scope="module")
def _compile_little():
    build, drawn = run.build_model, {}

    def build_once(spec, *, seed):
        key = (spec.network, spec.settings, spec.window, len(spec.components), len(spec.channels), seed)
        if spec.network == "unmixnet" or key not in drawn:
            drawn[key] = build(spec, seed=seed)
        return drawn[key]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(run, "build_model", build_once)
        jax.config.update("jax_disable_most_optimizations", True)
        yield
        jax.config.update("jax_disable_most_optimizations", False)


class Shares(UnmixRegressor):
    """Any targets, as shares: row y becomes softmax(y, 0), and log-ratios of shares to the last become row y."""

    def fit(self, X, y, groups=None):
        if y is None or not np.all(np.isfinite(np.asarray(y, float))):
            return super().fit(X, y, groups)
        y = np.asarray(y, float)
        self.flat_ = y.ndim == 1
        logits = np.concatenate([y.reshape(len(y), -1), np.zeros((len(y), 1))], axis=1)
        parts = np.exp(logits - logits.max(axis=1, keepdims=True))
        return super().fit(X, parts / parts.sum(axis=1, keepdims=True), groups)

    def predict(self, X):
        shares = np.maximum(super().predict(X), 1e-12)
        y = np.log(shares[:, :-1] / shares[:, -1:])
        return y[:, 0] if self.flat_ else y

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.single_output = True
        return tags


def expected(estimator) -> dict[str, str]:
    return dict.fromkeys(FAILS, NO_SHARES) if type(estimator) is UnmixRegressor else {}


@parametrize_with_checks(
    [OdorClassifier(**QUICK), Shares(**QUICK), UnmixRegressor(**QUICK)], expected_failed_checks=expected
)
def test_the_estimator_passes_the_check(estimator, check):
    check(estimator)


@pytest.mark.soak
def test_the_closed_loop_is_an_estimator_like_the_others():
    """With the solver, too: same data, same answers; pickled, the same."""
    rng = np.random.default_rng(0)
    y = rng.dirichlet(np.ones(2), 6)
    X = (y @ rng.uniform(0.5, 2, (2, 2)))[:, None] * (1 - np.exp(-np.arange(9) / 4))[None, :, None]
    model = UnmixRegressor(epochs=1).fit(X, y)
    answer = model.predict(X)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).predict(X), answer)
    np.testing.assert_array_equal(model.predict(X[::-1])[::-1], answer)
    np.testing.assert_array_equal(model.fit(X, y).predict(X), answer)
