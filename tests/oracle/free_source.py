"""Programs as people write them, whose batches, lengths and images are free: what they make, cut and reshape by sizes of tensors."""
import math

import torch
import torch.nn as nn
import torch.nn.functional as F


class InitialStates(nn.Module):
    def __init__(self):
        super().__init__()
        self.lstm, self.head = nn.LSTM(5, 8, 2, batch_first=True), nn.Linear(8, 3)

    def forward(self, x):
        h0 = torch.zeros(2, x.size(0), 8).to(x.device)
        c0 = torch.zeros(2, x.size(0), 8, device=x.device)
        steps, _ = self.lstm(x, (h0, c0))
        return self.head(steps[:, -1, :])


class MadeElsewhere(nn.Module):
    def __init__(self):
        super().__init__()
        self.gru = nn.GRU(5, 6, batch_first=True, bidirectional=True)

    def first(self, batch):
        return torch.ones((2, batch, 6)) * 0.5

    def forward(self, x):
        _, last = self.gru(x, self.first(x.shape[0]))
        return torch.cat([last[0], last[1]], 1)


class OfAnothersType(nn.Module):
    def __init__(self):
        super().__init__()
        self.cell = nn.GRUCell(4, 5)

    def forward(self, x):
        h = x.new_zeros(x.size(0), 5)
        for step in range(3):
            h = self.cell(x[:, step], h)
        return h + x.new_full((x.size(0), 1), 2.0)


class Written(nn.Module):
    """Zeros that are written to are no view of one zero."""

    def forward(self, x):
        out = torch.zeros(x.size(0), 4)
        out[:, 1] = x[:, 0]
        out[:, 2:] += x[:, 1:3]
        again = torch.zeros(x.size(0), 4)
        return out, again + 1


class Tokens(nn.Module):
    def __init__(self):
        super().__init__()
        self.words, self.places, self.head = nn.Embedding(20, 8), nn.Embedding(64, 8), nn.Linear(8, 3)

    def forward(self, ids):
        batch, length = ids.shape
        places = torch.arange(length, device=ids.device).unsqueeze(0).expand(batch, length)
        return self.head(self.words(ids) + self.places(places))


class Sines(nn.Module):
    def __init__(self):
        super().__init__()
        self.words, self.layer = nn.Embedding(20, 8), nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)
        table, at = torch.zeros(64, 8), torch.arange(64).unsqueeze(1).float()
        rate = torch.exp(torch.arange(0, 8, 2).float() * (-math.log(10000.0) / 8))
        table[:, 0::2], table[:, 1::2] = torch.sin(at * rate), torch.cos(at * rate)
        self.register_buffer("table", table.unsqueeze(0))

    def forward(self, ids):
        x = self.words(ids) * math.sqrt(8)
        return self.layer(x + self.table[:, : x.size(1)])


class Causal(nn.Module):
    def __init__(self):
        super().__init__()
        self.words, self.places = nn.Embedding(20, 8), nn.Parameter(torch.randn(1, 64, 8))
        self.qkv, self.out = nn.Linear(8, 24), nn.Linear(8, 8)
        self.register_buffer("seen", torch.tril(torch.ones(64, 64)).view(1, 1, 64, 64))

    def forward(self, ids):
        B, T = ids.size()
        x = self.words(ids) + self.places[:, :T, :]
        q, k, v = self.qkv(x).split(8, dim=2)
        q, k, v = (part.view(B, T, 2, 4).transpose(1, 2) for part in (q, k, v))
        weights = (q @ k.transpose(-2, -1)) * (1.0 / math.sqrt(k.size(-1)))
        weights = weights.masked_fill(self.seen[:, :, :T, :T] == 0, float("-inf"))
        return self.out((torch.softmax(weights, -1) @ v).transpose(1, 2).contiguous().view(B, T, 8))


class MaskedByTriangle(nn.Module):
    def forward(self, x):
        length = x.size(1)
        weights = x @ x.transpose(1, 2) / math.sqrt(6)
        weights = weights + torch.triu(torch.full((length, length), -1e4), diagonal=1)
        kept = torch.tril(torch.ones(length, length), diagonal=-1)
        return torch.softmax(weights, -1) @ x, kept * weights


class Lengths(nn.Module):
    def forward(self, x, lengths):
        counts = (torch.arange(x.size(1))[None, :] < lengths[:, None]).unsqueeze(-1).float()
        return (x * counts).sum(1) / counts.sum(1)


class Swapped(nn.Module):
    """Sizes that stand elsewhere than in the input, and one that is another input's."""

    def forward(self, x, y):
        b, t, f = x.shape
        turned = x.transpose(0, 1).reshape(t, b, 2, f // 2)
        return turned.sum(-1), y.reshape(y.size(0), y.size(1) * 6).view(b, -1, 3)


class Crossed(nn.Module):
    def __init__(self):
        super().__init__()
        self.wide, self.deep = nn.Conv2d(3, 4, 3, padding=1), nn.Conv2d(4, 4, 3, stride=2, padding=1)

    def forward(self, x):
        wide = self.wide(x)
        up = F.interpolate(F.relu(self.deep(wide)), size=wide.shape[2:], mode="bilinear", align_corners=False)
        return torch.cat([wide, up], 1)


class Nearest(nn.Module):
    def forward(self, x):
        return x - F.interpolate(F.max_pool2d(x, 2, ceil_mode=True), (x.size(2), x.size(3)), mode="nearest")


class OneCell(nn.Module):
    def __init__(self):
        super().__init__()
        self.mix = nn.Conv2d(3, 2, 1)

    def forward(self, x):
        whole = self.mix(F.adaptive_avg_pool2d(x, 1))
        return torch.cat([x, F.interpolate(whole, size=x.shape[-2:], mode="bilinear", align_corners=True)], 1)


class AlongOneAxis(nn.Module):
    def forward(self, x, y):
        return F.interpolate(x, size=y.shape[-1], mode="linear") + y


class Powers(nn.Module):
    def forward(self, x):
        return x * torch.exp(-0.1 * torch.arange(0, x.size(1)).float()) + torch.full((x.size(0), 1), 2.0)


class CausalInOneCall(nn.Module):
    """Attention that looks back, over heads; and over another's steps, as many as there are."""

    def __init__(self):
        super().__init__()
        self.parts, self.last = nn.Linear(8, 24), nn.Linear(8, 8)

    def forward(self, x, y):
        n, t, width = x.shape
        q, k, v = (part.view(n, t, 2, width // 2).transpose(1, 2) for part in self.parts(x).split(width, dim=2))
        seen = F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).reshape(n, t, width)
        return self.last(seen), F.scaled_dot_product_attention(x, y, y, is_causal=True)


class ByCounts(nn.Module):
    """Arithmetic with how many there are, and with what grows with it."""

    def forward(self, x):
        n, t, _ = x.shape
        places = torch.arange(t)
        late = x.masked_fill(places[None, :, None] >= t - 1, -1.0)
        return late * t, x / (t + 2), x.std(1), x.var((0, 1), unbiased=False), x[:, t - 1], x[torch.arange(n), t - 1], 2 * t - x


class Deviations(nn.Module):
    def forward(self, x):
        return torch.cat([x.mean(2), x.std(2)], 1), x.var((0, 2), keepdim=True), torch.std(x, dim=-1, correction=2)


class Grids(nn.Module):
    """The places of every cell, as detectors want them."""

    def forward(self, x):
        h, w = x.shape[2:]
        y, across = torch.meshgrid(torch.arange(h), torch.arange(w), indexing="ij")
        turned, _ = torch.meshgrid(torch.arange(w), torch.arange(h), indexing="xy")
        return x + torch.stack([across, y], 0).float() - turned


class Repeated(nn.Module):
    def forward(self, x):
        return x.repeat_interleave(2, dim=1), x.repeat_interleave(3, 0)


class PadToMultiple(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 4, 3, padding=1)

    def forward(self, x):
        h, w = x.shape[-2:]
        x = F.pad(x, (0, (8 - w % 8) % 8, 0, (8 - h % 8) % 8))
        edges = F.pad(x, (0, x.shape[3] // 4, 1, 0), mode="replicate")
        return self.conv(x)[..., :h, :w], edges


class SkipPads(nn.Module):
    """The skip connection of a U-Net, padded or cropped to the other side of it."""

    def __init__(self):
        super().__init__()
        self.down, self.up, self.wide = nn.Conv2d(3, 4, 3, 2, 1), nn.ConvTranspose2d(4, 3, 2, 2), nn.Conv2d(3, 2, 3)

    def forward(self, x):
        y = self.up(self.down(x)[:, :, 1:, 1:])
        dy, dx = x.size()[2] - y.size()[2], x.size()[3] - y.size()[3]
        padded = F.pad(y, [dx // 2, dx - dx // 2, dy // 2, dy - dy // 2])
        b = self.wide(x)
        top, left = (x.shape[2] - b.shape[2]) // 2, (x.shape[3] - b.shape[3]) // 2
        cropped = x[:, :, top:top + b.shape[2], left:left + b.shape[3]]
        return torch.cat([x, padded], 1), torch.cat([cropped, b], 1)


class Deep(nn.Module):
    """A U-Net of four steps down and up, each of which pads to the size that it meets."""

    def __init__(self):
        super().__init__()
        self.first = nn.Conv2d(3, 2, 3, padding=1)
        self.down = nn.ModuleList(nn.Conv2d(2 << i, 4 << i, 3, padding=1) for i in range(4))
        self.up = nn.ModuleList(nn.ConvTranspose2d(4 << i, 2 << i, 2, stride=2) for i in range(4))
        self.join = nn.ModuleList(nn.Conv2d(4 << i, 2 << i, 1) for i in range(4))

    def forward(self, x):
        seen = [self.first(x)]
        for conv in self.down:
            seen.append(torch.tanh(conv(F.max_pool2d(seen[-1], 2))))
        y = seen.pop()
        for up, join in zip(reversed(self.up), reversed(self.join)):
            other, y = seen.pop(), up(y)
            dy, dx = other.size()[2] - y.size()[2], other.size()[3] - y.size()[3]
            y = F.pad(y, [dx // 2, dx - dx // 2, dy // 2, dy - dy // 2])
            y = join(torch.cat([other, y], 1))
        return y


class Windows(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(3, 5)

    def forward(self, x):
        b, c, h, w = x.shape
        y = x.permute(0, 2, 3, 1).view(b, h // 4, 4, w // 4, 4, c).permute(0, 1, 3, 2, 4, 5).reshape(-1, 16, c)
        y = self.linear(y).view(b, h // 4, w // 4, 4, 4, 5).permute(0, 1, 3, 2, 4, 5)
        return y.reshape(b, h, w, 5)


class Resized(nn.Module):
    def forward(self, x):
        h, w = x.shape[2:]
        return (F.interpolate(x, size=(h * 2, w * 2), mode="bilinear", align_corners=False),
                F.interpolate(x, size=(h // 2, w // 2), mode="bilinear", align_corners=False),
                F.interpolate(x, size=(h + 3, w), mode="nearest"))


class LeftOver(nn.Module):
    """What is left over stands beside sizes that are free."""

    def forward(self, x):
        n, c, h, w = x.shape
        y = x.permute(0, 2, 3, 1)[:, 0::2, 1:]
        padded = F.pad(x, (0, 0, 0, -h % 5))
        return (x.reshape(n * c, -1).cumsum(1), x.view(-1, h * w).softmax(1), y.reshape(n, -1, c).sum(1),
                padded.permute(0, 2, 1, 3).reshape(n, -1, 5, c, w).mean(2),
                F.pad(x, (0, 0, h // 3, 0), mode="reflect"))


class Numbers(nn.Module):
    def forward(self, x):
        b, t, c = x.shape
        scores = (x @ x.mT) / t ** 0.5
        flat = x.flatten(1)
        return scores, flat @ flat.mT / (t * c), x.sum() / x.numel(), x * (t // 2) - (t % 3)


class Halves(nn.Module):
    def forward(self, x):
        t = x.shape[1]
        first, second = x.chunk(2, 1)
        return x[:, :t // 2].sum(1), x[:, t // 2:].amax(1), first.sum(1), second.sum(1), x[:, (t + 2) // 3:]


class MadeOfLengths(nn.Module):
    def forward(self, x):
        t = x.shape[1]
        wide = torch.ones(t, t + 2).tril(1).sum(0)
        return ((x @ x.mT) * (1 - torch.eye(t)), wide, torch.arange(t // 2 + 1) * 1.0,
                torch.zeros(x.shape[0], 2 * t) + x.mean(), x.unfold(1, 3, 2).sum(-1), torch.arange(t).repeat(2, 1))


class Coordinates(nn.Module):
    def forward(self, x):
        b, c, h, w = x.shape
        across = torch.arange(w).repeat(1, h, 1).float() / (w - 1)
        down = torch.linspace(-1, 1, h)
        share = x.flatten(2).softmax(-1).view(b, c, h, w)
        return torch.cat([x, across.repeat(b, 1, 1, 1) * 2 - 1], 1), (share.sum(3) * down).sum(-1)


class Pyramid(nn.Module):
    """Adaptive pools whose windows follow the size."""

    def forward(self, x):
        pooled = [F.adaptive_avg_pool2d(x, n) for n in (1, 2, (3, 1))]
        back = [F.interpolate(y, size=x.shape[2:], mode="bilinear", align_corners=True) for y in pooled]
        return torch.cat([x, *back], 1), F.adaptive_max_pool2d(x, (4, 3)), F.adaptive_avg_pool1d(x.flatten(2), 5)


class CutByNumbers(nn.Module):
    """As many cells are left out at every size, which several layers say in words of their own."""

    def __init__(self):
        super().__init__()
        self.wide, self.narrow = nn.Conv2d(3, 5, 3, padding=1), nn.Conv2d(3, 5, (5, 7))
        self.last, self.out = nn.Conv2d(5, 4, (3, 2)), 2

    def forward(self, x):
        a, b = self.wide(x), self.narrow(x)
        down, right = (a.size(2) - b.size(2)) // 2, (a.size(3) - b.size(3)) // 2
        cropped = a[:, :, down:down + b.size(2), right:right + b.size(3)]
        inner = a[:, :, self.out:x.shape[2] - self.out, 1:a.size(3) - 3]
        return self.last(cropped + b), self.last(inner), x[:, :, 2:x.shape[2] - 2].sum(2), a[:, :, x.shape[2] - 3:]


class Chomped(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv, self.last = nn.Conv1d(3, 6, 3, padding=4, dilation=2), nn.Conv1d(3, 2, 1)

    def forward(self, x):
        first, second = self.conv(x)[:, :, :x.size(2)].chunk(2, 1)
        return self.last(first.tanh() * second.sigmoid())


# The shapes of the inputs; "?" is free, and whole numbers are said.
CASES = {
    "InitialStates": ["?,7,5"], "MadeElsewhere": ["?,?,5"], "OfAnothersType": ["?,3,4"], "Written": ["?,3"], "Tokens": ["?,?:int64"],
    "Sines": ["?,?:int64"], "Causal": ["?,?:int64"], "MaskedByTriangle": ["?,?,6"], "Lengths": ["x=?,?,4", "lengths=?:int64"],
    "Crossed": ["1,3,?,?"], "Nearest": ["?,3,?,?"], "OneCell": ["?,3,?,?"], "AlongOneAxis": ["x=1,4,?", "y=1,4,?"], "Powers": ["?,?"],
    "CausalInOneCall": ["x=?,?,8", "y=?,?,8"],
    "ByCounts": ["?,?,3"], "Deviations": ["?,4,?"], "Grids": ["1,2,?,?"], "Repeated": ["?,?,3"],
    "PadToMultiple": ["?,3,?,?"], "SkipPads": ["?,3,?,?"], "Windows": ["?,3,?,8"], "Resized": ["?,3,?,?"], "Numbers": ["?,?,4"],
    "Halves": ["?,?,4"], "MadeOfLengths": ["?,?,4"], "Coordinates": ["?,3,?,?"], "Pyramid": ["?,3,?,?"],
    "LeftOver": ["?,3,?,7"], "Deep": ["?,3,?,?"], "CutByNumbers": ["?,3,?,?"], "Chomped": ["?,3,?"],
}  # fmt: skip
# (batch, length) where others than the usual ones are asked.
SIZES = {"Windows": [(1, 8), (2, 4), (3, 12)], "PadToMultiple": [(1, 7), (2, 8), (3, 17)], "SkipPads": [(1, 9), (2, 10), (3, 13)],
         "Coordinates": [(2, 5), (1, 8)], "Pyramid": [(1, 4), (2, 9), (3, 13)], "Halves": [(1, 4), (2, 5), (3, 9)],
         "MadeOfLengths": [(1, 4), (2, 5), (3, 9)], "Resized": [(1, 4), (2, 5), (3, 9)],
         "LeftOver": [(1, 4), (2, 5), (3, 9)], "Deep": [(1, 16), (2, 33), (3, 46)],
         "CutByNumbers": [(1, 7), (2, 9), (3, 14)]}  # fmt: skip
