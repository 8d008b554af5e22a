"""What a call will do: the planner's decision, the bytes it must move, its time at the limit."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from dataclasses import dataclass

import torch

from . import _C


@dataclass(frozen=True)
class Explanation:
    """How one call is computed; ``str()`` of it is a short text.

    ``bytes`` is the least that must move: each distinct input element read once, each output
    written once. ``limit_us`` is the time in microseconds that takes at the device's theoretical
    memory bandwidth, ``None`` where that is not known (the CPU).
    """

    op: str
    shape: tuple[int, ...]
    dim: tuple[int, ...] | None
    dtype: str
    device: str
    layout: str
    outputs: int
    length: int
    plan: str
    bytes: int
    limit_us: float | None

    def __str__(self) -> str:
        dim = "all dims" if self.dim is None else f"dim {', '.join(map(str, self.dim))}"
        limit = "not known for this device"
        if self.limit_us is not None:
            limit = f"{self.limit_us:.2f} us at the device's memory bandwidth"
        return "\n".join(
            (
                f"{self.op} of {list(self.shape)} {self.dtype} over {dim} on {self.device}",
                f"  results: {self.outputs:,}, each from {self.length:,} elements ({self.layout})",
                f"  plan:    {self.plan}",
                f"  bytes:   {self.bytes:,}",
                f"  limit:   {limit}",
            )
        )


def _bandwidth(device: torch.device) -> float | None:
    """Theoretical memory bandwidth in bytes per second, from clock and bus width."""
    if device.type != "cuda":
        return None
    properties = torch.cuda.get_device_properties(device)
    clock_khz = getattr(properties, "memory_clock_rate", 0)
    bus_bits = getattr(properties, "memory_bus_width", 0)
    return 2 * clock_khz * 1e3 * bus_bits / 8 or None  # two transfers a clock


def _dims(dim) -> tuple[int, ...] | None:
    """`dim` as the ops take it: None, whole numbers of any kind, but no bool."""
    if dim is None:
        return None
    dims = tuple(dim) if isinstance(dim, Sequence) else (dim,)
    try:
        if any(isinstance(d, bool) for d in dims):
            raise TypeError
        return tuple(map(operator.index, dims))
    except TypeError:
        raise TypeError(
            f"reduce_ops.explain: dim is {dim!r}, expected an int or a sequence of ints"
        ) from None


def explain(
    op: str,
    input: torch.Tensor,
    dim: int | Sequence[int] | None = None,
    keepdim: bool = False,
    *,
    dtype: torch.dtype | None = None,
    number: float | None = None,
    other: torch.Tensor | None = None,
) -> Explanation:
    """Explain how ``reduce_ops.<op>(input, dim, keepdim, dtype=dtype)`` would be computed.

    ``number`` is the correction of a variance or the order of a norm, ``other`` the second tensor
    of dot and vecdot.

    Nothing is computed; an input with more axes than a kernel takes is copied, as the op would do.
    Raises ``ValueError`` for an unknown op and for a call that takes several kernels, else what the
    op itself raises, and ``NotImplementedError`` for tensors without memory (meta tensors).
    """
    if op not in _C.OPS:
        raise ValueError(f"reduce_ops.explain: op is {op!r}, expected one of {sorted(_C.OPS)}")
    dims = _dims(dim)
    facts = _C.explain(op, input, dims, keepdim, dtype, number, other)
    bandwidth = _bandwidth(input.device)
    return Explanation(
        op=op,
        shape=tuple(input.shape),
        dim=dims,
        dtype=str(input.dtype).removeprefix("torch."),
        device=str(input.device),
        limit_us=facts["bytes"] / bandwidth * 1e6 if bandwidth else None,
        **facts,
    )
