"""What the benchmark measures: one `Case` a point, all of them listed here."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from benchmarks.records import LAYOUTS, Dims, case_text

if TYPE_CHECKING:
    import torch

# M x N: from one row to very many at 2^25 … 2^27 elements, then launch-bound ones.
LARGE = (
    (1, 134_217_728),
    (16, 4_194_304),
    (512, 262_144),
    (2048, 65_536),
    (4096, 16_384),
    (8192, 8192),
    (16_384, 4096),
    (32_768, 1024),
    (65_536, 256),
)
SMALL = ((1, 1024), (32, 1024), (128, 4096), (1024, 4096))
CPU_SHAPES = ((256, 64), (1024, 1024), (8192, 2048), (65_536, 256), (16_384, 16_384))
MAIN_DTYPES = ("bfloat16", "float32")
# Ops that other libraries' times are known of come first.
OPS = ("sum", "mean", "amax", "max", "argmax", "var", "logsumexp")
OPS += ("amin", "aminmax", "min", "argmin", "std", "var_mean", "prod", "vector_norm", "nansum")
OPS += ("any", "all", "count_nonzero")
OTHER_DTYPES = ("float16", "float64", "int64", "int32", "bool", "complex64")


@dataclass(frozen=True)
class Case:
    """`op` of a tensor of `shape` over `dim` (None: all).

    `layout` says how it lies in memory: "offset" starts one element past an aligned address,
    "transposed" is the `.t()` of a contiguous tensor.
    """

    shape: tuple[int, ...]
    dim: Dims
    dtype: str
    layout: str = "contiguous"
    op: str = "sum"

    @property
    def name(self) -> str:
        return f"{self.op} {case_text(self.shape, self.dim, self.layout)} {self.dtype}"

    @property
    def numel(self) -> int:
        return math.prod(self.shape)

    def take(self, pool: torch.Tensor) -> torch.Tensor:
        """This case's input as a view of a flat buffer of random numbers."""
        start = 1 if self.layout == "offset" else 0
        flat = pool[start : start + self.numel]
        if self.layout == "transposed":
            return flat.view(*reversed(self.shape)).t()
        if self.layout == "channels_last":
            n, c, h, w = self.shape
            return flat.view(n, h, w, c).permute(0, 3, 1, 2)
        return flat.view(self.shape)


_NAME = re.compile(
    rf"(?:(?P<op>{'|'.join(OPS)}) )?(?P<over>rows|columns|all|dim [\d,]+ of) (?P<size>\d+(?:x\d+)*)"
    rf"(?: (?P<layout>{'|'.join(LAYOUTS)}))? (?P<dtype>\w+)"
)


def parse_case(text: str) -> Case:
    """The case a name stands for, of any shape: `parse_case(case.name) == case`."""
    match = _NAME.fullmatch(text.strip())
    if not match:
        raise ValueError(f'{text!r} is no case; one looks like "rows 8192x8192 bfloat16"')
    shape = tuple(map(int, match["size"].split("x")))
    named: dict[str, Dims] = {"rows": 1, "columns": 0, "all": None}
    if match["over"] in named:
        dim = named[match["over"]]
    else:
        dims = tuple(map(int, match["over"].split()[1].split(",")))
        dim = dims if len(dims) > 1 else dims[0]
    layout = match["layout"] or "contiguous"
    dims = (dim,) if isinstance(dim, int) else dim or ()
    ranks = {"transposed": 2, "channels_last": 4}
    if max(dims, default=0) >= len(shape) or ranks.get(layout, len(shape)) != len(shape):
        raise ValueError(f"{text!r}: a shape of {len(shape)} dims does not fit the rest")
    if match["dtype"] not in MAIN_DTYPES + OTHER_DTYPES:
        raise ValueError(f"{text!r}: the dtype is none of {', '.join(MAIN_DTYPES + OTHER_DTYPES)}")
    return Case(shape, dim, match["dtype"], layout, match["op"] or "sum")


def _grid(shapes: tuple[tuple[int, ...], ...], dtypes: tuple[str, ...]) -> Iterator[Case]:
    for dim in (1, 0, None):
        for dtype in dtypes:
            for shape in shapes:
                yield Case(shape, dim, dtype)


def cuda_cases() -> list[Case]:
    """Every case of a full run on a GPU."""
    cases = [*_grid(LARGE, MAIN_DTYPES), *_grid(SMALL, MAIN_DTYPES)]
    for dtype in MAIN_DTYPES:
        cases.append(Case((64, 512, 4096), 1, dtype))
        # odd lengths: no row but the first starts at a 16-byte boundary
        cases += [
            Case((m, n), 1, dtype) for m, n in ((131_072, 257), (65_536, 1023), (1024, 50_257))
        ]
        cases.append(Case((1024, 50_257), 0, dtype))
        cases += [Case((8192, 8192), dim, dtype, "offset") for dim in (1, 0, None)]
        cases += [Case((8192, 8192), dim, dtype, "transposed") for dim in (1, 0, None)]
        image = (32, 64, 56, 56)
        cases += [Case(image, dim, dtype, "channels_last") for dim in ((2, 3), (0, 2, 3))]
        # narrow rows of 2^25 elements in all, narrow columns
        for n in (1, 2, 3, 4, 8, 16, 32, 64):
            cases.append(Case((2**25 // n, n), 1, dtype))
        cases += [Case((2**22, 3), 0, dtype), Case((2**20, 16), 0, dtype)]
    for dtype in OTHER_DTYPES:
        cases += [Case((8192, 8192), dim, dtype) for dim in (1, 0, None)]
    for dtype in MAIN_DTYPES:
        for op in OPS[1:7]:
            cases += [Case(shape, 1, dtype, op=op) for shape in LARGE + SMALL]
            cases += [Case(shape, 0, dtype, op=op) for shape in LARGE[2:] + SMALL[1:]]
            cases += [Case(shape, None, dtype, op=op) for shape in (*LARGE[::3], *SMALL[::2])]
            cases += [Case((131_072, 257), 1, dtype, op=op), Case((1024, 50_257), 1, dtype, op=op)]
        for op in OPS[7:]:
            dims = (1, 0) if op in ("aminmax", "min") else (1, 0, None)
            for shape in ((8192, 8192), (65_536, 256), (1024, 4096)):
                cases += [Case(shape, dim, dtype, op=op) for dim in dims]
    for op in ("any", "all", "count_nonzero"):
        cases += [Case((8192, 8192), dim, "bool", op=op) for dim in (1, 0, None)]
    return cases


def cpu_cases() -> list[Case]:
    """Every case of a full run on a CPU, up to 1 GiB."""
    cases = list(_grid(CPU_SHAPES, ("float32",)))
    cases += _grid(((1024, 1024), (8192, 2048)), ("bfloat16", "float64", "int64"))
    cases += [Case((4096, 4096), dim, "float32", "transposed") for dim in (1, 0)]
    cases += [Case((2**22, 3), 0, "float32"), Case((2**22, 3), 1, "float32")]
    cases.append(Case((32, 64, 56, 56), (0, 2, 3), "float32", "channels_last"))
    for op in OPS[1:]:
        dims = (1, 0) if op in ("aminmax", "min") else (1, 0, None)
        cases += [Case((8192, 2048), dim, "float32", op=op) for dim in dims]
        if op in OPS[2:7]:
            cases += [Case((8192, 2048), dim, "bfloat16", op=op) for dim in dims]
    return cases


def quick(cases: list[Case]) -> list[Case]:
    """A few cases of each kind, for a look that takes seconds."""
    return [c for c in cases if c.numel <= 2**22][::3] + [
        c for c in cases if c.shape == (8192, 8192) and c.dtype in MAIN_DTYPES
    ]
