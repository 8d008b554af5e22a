"""Reductions for PyTorch: near the memory limit, deterministic, batch-invariant and accurate.

``reduce_ops.<op>`` are drop-ins for torch's; ``torch.ops.reduce_ops`` has the same ops in the
dispatcher. ``reduce_ops.explain`` shows how a call will be computed.
"""

from ._load import load

_C = load()

from . import _fake as _fake  # noqa: E402  (registers fake kernels)
from . import _transforms as _transforms  # noqa: E402  (registers vmap rules)
from ._build_info import VERSION as __version__  # noqa: E402
from .counts import all, any, count_nonzero, nanmean, nansum, prod  # noqa: E402
from .descriptions import Description, describe  # noqa: E402
from .dots import dot, vecdot  # noqa: E402
from .explain import Explanation, explain  # noqa: E402
from .extremes import amax, amin, aminmax, argmax, argmin, max, min  # noqa: E402
from .moments import std, std_mean, var, var_mean  # noqa: E402
from .norms import logsumexp, norm, vector_norm  # noqa: E402
from .sums import mean, sum  # noqa: E402

__all__ = [
    "Description",
    "Explanation",
    "__version__",
    "all",
    "amax",
    "amin",
    "aminmax",
    "any",
    "argmax",
    "argmin",
    "count_nonzero",
    "describe",
    "dot",
    "explain",
    "logsumexp",
    "max",
    "mean",
    "min",
    "nanmean",
    "nansum",
    "norm",
    "prod",
    "std",
    "std_mean",
    "sum",
    "var",
    "var_mean",
    "vecdot",
    "vector_norm",
]
