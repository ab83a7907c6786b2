// Functions and layers of PyTorch that are others put together, in the words that programs use themselves.
#include "formats/torch/source/written_out.h"

namespace convoy::torch {

using python::Interpreter;
using python::Value;

namespace {

// Sources: the formulas of the documentation of torch, torch.nn and torch.nn.functional.
constexpr const char* text = R"(
import math
import torch
from torch import nn

def pairwise_distance(x1, x2, p=2.0, eps=1e-6, keepdim=False):
    return torch.norm(x1 - x2 + eps, p, -1, keepdim)

def cosine_similarity(x1, x2, dim=1, eps=1e-8):
    a = x1 / torch.clamp(torch.norm(x1, 2, dim, True), min=eps)
    b = x2 / torch.clamp(torch.norm(x2, 2, dim, True), min=eps)
    return (a * b).sum(dim)

def cdist(x1, x2, p=2.0):
    return torch.norm(x1.unsqueeze(-2) - x2.unsqueeze(-3), p, -1)

def bilinear(input1, input2, weight, bias=None):
    made = ((input1 @ weight.permute(1, 0, 2).flatten(1)).unflatten(-1, (weight.shape[0], weight.shape[2]))
            * input2.unsqueeze(-2)).sum(-1)
    return made if bias is None else made + bias

def upsample_bilinear(input, size=None, scale_factor=None):
    return nn.functional.interpolate(input, size, scale_factor, mode="bilinear", align_corners=True)

def numbers(dims):
    return list(dims[0]) if len(dims) == 1 and isinstance(dims[0], (tuple, list)) else list(dims)

def tile(input, *dims):
    dims = numbers(dims)
    return input.repeat(*([1] * (input.dim() - len(dims)) + dims))

def view_as(input, other):
    return input.view(other.size())

def reshape_as(input, other):
    return input.reshape(other.size())

def broadcast_to(input, size):
    return input.expand(size)

def outer(input, vec2):
    return input.unsqueeze(1) * vec2.unsqueeze(0)

def dot(input, tensor):
    return (input * tensor).sum()

def mv(input, vec):
    return torch.matmul(input, vec)

def movedim(input, source, destination):
    n = input.dim()
    come = [s % n for s in ([source] if isinstance(source, int) else source)]
    go = [d % n for d in ([destination] if isinstance(destination, int) else destination)]
    rest = [i for i in range(n) if i not in come]
    order = []
    for i in range(n):
        order.append(come[go.index(i)] if i in go else rest.pop(0))
    return input.permute(*order)

def moveaxis(input, source, destination):
    return movedim(input, source, destination)

def split_with_sizes(input, split_sizes, dim=0):
    return torch.split(input, split_sizes, dim)

def rot90(input, k=1, dims=(0, 1)):
    a, b = dims
    if k % 4 == 2:
        return torch.flip(input, [a, b])
    if k % 4 == 1:
        return torch.flip(input.transpose(a, b), [a])
    return input.clone() if k % 4 == 0 else torch.flip(input.transpose(a, b), [b])

def argsort(input, dim=-1, descending=False, stable=False):
    return torch.sort(input, dim, descending)[1]

def one_hot(tensor, num_classes=-1):
    if num_classes < 0:
        raise NotImplementedError("one_hot() without num_classes depends on the numbers")
    return (tensor.unsqueeze(-1) == torch.arange(num_classes)).long()

def greater(input, other):
    return input > other

def greater_equal(input, other):
    return input >= other

def less(input, other):
    return input < other

def less_equal(input, other):
    return input <= other

def not_equal(input, other):
    return input != other

def negative(input):
    return -input

def absolute(input):
    return torch.abs(input)

def exp2(input):
    return torch.exp(input * math.log(2.0))

def logit(input, eps=None):
    x = input if eps is None else torch.clamp(input, eps, 1 - eps)
    return torch.log(x / (1 - x))

def new_tensor(input, data, dtype=None, device=None, requires_grad=False):
    return torch.tensor(data).to(input.dtype if dtype is None else dtype)

def is_contiguous(input):
    return True

class PairwiseDistance(nn.Module):
    def __init__(self, p=2.0, eps=1e-6, keepdim=False):
        super().__init__()
        self.norm, self.eps, self.keepdim = p, eps, keepdim

    def forward(self, x1, x2):
        return pairwise_distance(x1, x2, self.norm, self.eps, self.keepdim)

class CosineSimilarity(nn.Module):
    def __init__(self, dim=1, eps=1e-8):
        super().__init__()
        self.dim, self.eps = dim, eps

    def forward(self, x1, x2):
        return cosine_similarity(x1, x2, self.dim, self.eps)

class Bilinear(nn.Module):
    def __init__(self, in1_features, in2_features, out_features, bias=True, device=None, dtype=None):
        super().__init__()
        bound = 1 / math.sqrt(in1_features)
        self.weight = nn.Parameter(torch.empty(out_features, in1_features, in2_features))
        self.bias = nn.Parameter(torch.empty(out_features)) if bias else None
        nn.init.uniform_(self.weight, -bound, bound)
        if bias:
            nn.init.uniform_(self.bias, -bound, bound)

    def forward(self, input1, input2):
        return bilinear(input1, input2, self.weight, self.bias)

class Cell(nn.Module):
    gates = 1

    def __init__(self, input_size, hidden_size, bias=True, device=None, dtype=None):
        super().__init__()
        self.input_size, self.hidden_size, bound = input_size, hidden_size, 1 / math.sqrt(hidden_size)
        self.weight_ih = nn.Parameter(torch.empty(self.gates * hidden_size, input_size))
        self.weight_hh = nn.Parameter(torch.empty(self.gates * hidden_size, hidden_size))
        self.bias_ih = nn.Parameter(torch.empty(self.gates * hidden_size)) if bias else None
        self.bias_hh = nn.Parameter(torch.empty(self.gates * hidden_size)) if bias else None
        for one in (self.weight_ih, self.weight_hh) + ((self.bias_ih, self.bias_hh) if bias else ()):
            nn.init.uniform_(one, -bound, bound)

    def both(self, input, h):
        x = nn.functional.linear(input, self.weight_ih, self.bias_ih)
        h = nn.functional.linear(h, self.weight_hh, self.bias_hh)
        return x, h

    def zeros(self, input):
        return torch.zeros(input.shape[0], self.hidden_size)

class RNNCell(Cell):
    def __init__(self, input_size, hidden_size, bias=True, nonlinearity="tanh", device=None, dtype=None):
        super().__init__(input_size, hidden_size, bias)
        self.nonlinearity = nonlinearity

    def forward(self, input, hx=None):
        x, h = self.both(input, self.zeros(input) if hx is None else hx)
        return torch.relu(x + h) if self.nonlinearity == "relu" else torch.tanh(x + h)

class LSTMCell(Cell):
    gates = 4

    def forward(self, input, hx=None):
        h, c = (self.zeros(input), self.zeros(input)) if hx is None else hx
        x, h = self.both(input, h)
        i, f, g, o = (x + h).chunk(4, 1)
        c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
        return torch.sigmoid(o) * torch.tanh(c), c

class GRUCell(Cell):
    gates = 3

    def forward(self, input, hx=None):
        before = self.zeros(input) if hx is None else hx
        x, h = self.both(input, before)
        (xr, xz, xn), (hr, hz, hn) = x.chunk(3, 1), h.chunk(3, 1)
        z = torch.sigmoid(xz + hz)
        n = torch.tanh(xn + torch.sigmoid(xr + hr) * hn)
        return (1 - z) * n + z * before

class PackedSequence:
    def __init__(self, padded, counts):
        self.padded, self.counts = padded, counts

class CellOfPackedSequence:
    pass

def pack_padded_sequence(input, lengths, batch_first=False, enforce_sorted=True):
    padded = input if batch_first else input.transpose(0, 1)
    lengths = torch.tensor(lengths) if isinstance(lengths, (list, tuple)) else lengths
    steps = torch.ones_like(padded[:, :, 0]).long().cumsum(1)
    return PackedSequence(padded, steps <= lengths.unsqueeze(1))

def pad_packed_sequence(sequence, batch_first=False, padding_value=0.0, total_length=None):
    if total_length is None or total_length != sequence.padded.shape[1]:
        raise NotImplementedError("pad_packed_sequence() gives as many steps as the longest sequence of a batch has; "
                                  "it is carried where total_length= says as many as the input has")
    padded = sequence.padded
    if padding_value != 0:
        padded = torch.where(sequence.counts.unsqueeze(2), padded, padding_value)
    return padded if batch_first else padded.transpose(0, 1), sequence.counts.long().sum(1)

class SyncBatchNorm(nn.BatchNorm2d):
    pass

class ParameterList(nn.Module):
    def __init__(self, values=None):
        super().__init__()
        self.size = 0
        self.extend(values or [])

    def append(self, value):
        setattr(self, str(self.size), value)
        self.size += 1
        return self

    def extend(self, values):
        for one in values:
            self.append(one)
        return self

    def __len__(self):
        return self.size

    def __getitem__(self, at):
        if isinstance(at, slice):
            return [getattr(self, str(i)) for i in range(self.size)[at]]
        return getattr(self, str(at % self.size))

    def __iter__(self):
        return iter([getattr(self, str(i)) for i in range(self.size)])

class finfo:
    def __init__(self, type="float32"):
        bits, mantissa, exponent, digits = {"float16": (16, 10, 15, 3), "bfloat16": (16, 7, 127, 2), "float32": (32, 23, 127, 6),
                                            "float64": (64, 52, 1023, 15)}[str(type).replace("torch.", "")]
        self.dtype, self.bits, self.eps = type, bits, 2.0 ** -mantissa
        self.max = (2.0 - self.eps) * 2.0 ** exponent
        self.min = -self.max
        self.tiny = self.smallest_normal = 2.0 ** (1 - exponent)
        self.resolution = 10.0 ** -digits

class iinfo:
    def __init__(self, type="int32"):
        name = str(type).replace("torch.", "")
        self.dtype, self.bits = type, int(name.replace("uint", "").replace("int", ""))
        self.max = 2 ** self.bits - 1 if name.startswith("uint") else 2 ** (self.bits - 1) - 1
        self.min = 0 if name.startswith("uint") else -(2 ** (self.bits - 1))

class ParameterDict(nn.Module):
    def __init__(self, parameters=None):
        super().__init__()
        self.known = []
        for name, one in (parameters.items() if isinstance(parameters, dict) else parameters or []):
            self[name] = one

    def __setitem__(self, name, value):
        if name not in self.known:
            self.known.append(name)
        setattr(self, name, value)

    def __getitem__(self, name):
        return getattr(self, name)

    def __contains__(self, name):
        return name in self.known

    def __len__(self):
        return len(self.known)

    def keys(self):
        return list(self.known)

    def values(self):
        return [getattr(self, name) for name in self.known]

    def items(self):
        return [(name, getattr(self, name)) for name in self.known]
)";

}  // namespace

Result<std::optional<Value>> written_out(Interpreter& in, const std::string& word) {
  const auto module = in.import(written_out_name);
  if (!module) return std::nullopt;  // TorchScript is followed without the modules of programs
  return module->object()->attribute(in, word);
}

Result<Value> written_out_module(Interpreter& in) {
  const auto scope = in.run({"torch", text, ""});
  if (!scope) return std::unexpected(scope.error());
  auto* made = in.make<python::Module>(written_out_name);
  for (const auto& [name, value] : (*scope)->names.all())
    if (value.as<python::Function>() || value.as<python::Class>()) made->attributes.set(name, value);
  return Value::of(made);
}

}  // namespace convoy::torch
