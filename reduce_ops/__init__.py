"""Reductions for PyTorch: near the memory limit, deterministic, batch-invariant and accurate.

``reduce_ops.sum`` and ``reduce_ops.mean`` are drop-ins for torch's; ``torch.ops.reduce_ops`` has
the same ops in the dispatcher. ``reduce_ops.explain`` shows how a call will be computed.
"""

from ._load import load

_C = load()

from . import _fake as _fake  # noqa: E402  (registers fake kernels and vmap rules)
from ._build_info import VERSION as __version__  # noqa: E402
from .explain import Explanation, explain  # noqa: E402
from .functions import mean, sum  # noqa: E402

__all__ = ["Explanation", "__version__", "explain", "mean", "sum"]
