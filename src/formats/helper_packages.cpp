// Sources: what the documentation of einops, timm, keras_applications, argparse, packaging and distutils says that each
// function gives.
#include "formats/helper_packages.h"

#include <algorithm>
#include <array>

namespace convoy {

namespace {

struct HelperPackage {
  std::string_view module, text;
};

// einops: axes by their names. What is joined is written as the axes themselves, so that free sizes stay free.
constexpr std::string_view einops = R"py(
import torch
from torch import nn

class EinopsError(Exception):
    pass

def sides(pattern):
    if pattern.count("->") != 1:
        raise EinopsError("the pattern '" + pattern + "' has not one arrow")
    left, right = pattern.split("->")
    return axes_in(left), axes_in(right)

def axes_in(words):
    found, inside = [], None
    for word in words.replace("(", " ( ").replace(")", " ) ").split():
        if word == "(":
            inside = []
        elif word == ")":
            found.append(inside)
            inside = None
        elif inside is None:
            found.append(word if word == "..." else [word] if word != "1" else [])
        elif word != "1":
            inside.append(word)
    return found

def without_dots(groups, names):
    all = []
    for group in groups:
        if group == "...":
            all += [[name] for name in names]
        elif "..." in group:
            all.append([one for name in group for one in (names if name == "..." else [name])])
        else:
            all.append(group)
    return all

def dotted(x, left, right):
    n = x.dim() - sum(1 for group in left if group != "...")
    if any(group != "..." and "..." in group for group in left):
        raise EinopsError("axes that are not named are not joined with others on the left")
    if n < 0 or ("..." not in left and n != 0):
        raise EinopsError("the pattern has " + str(len(left)) + " axes, and the tensor has " + str(x.dim()))
    names = ["..." + str(i) for i in range(n)]
    return without_dots(left, names), without_dots(right, names)

def split(x, left, sizes):
    at = 0
    for group in left:
        if len(group) == 0:
            if x.shape[at] != 1:
                raise EinopsError("axis " + str(at) + " is not 1")
            x = x.squeeze(at)
            continue
        if len(group) == 1:
            if group[0] in sizes and x.shape[at] != sizes[group[0]]:
                raise EinopsError("axis '" + group[0] + "' has another size")
        else:
            free = [name for name in group if name not in sizes]
            if len(free) > 1:
                raise EinopsError("the sizes of " + str(free) + " are not known")
            x = x.unflatten(at, [sizes[name] if name in sizes else -1 for name in group])
        at += len(group)
    return x, [name for group in left for name in group]

def join(x, right):
    at = 0
    for group in right:
        if len(group) == 0:
            x = x.unsqueeze(at)
        elif len(group) > 1:
            x = x.flatten(at, at + len(group) - 1)
        at += 1
    return x

def as_tensor(x):
    return torch.stack(list(x)) if isinstance(x, (list, tuple)) else x

def ordered(x, there, wanted):
    order = [there.index(name) for name in wanted]
    return x if order == list(range(len(order))) else x.permute(order)

def rearrange(tensor, pattern, **sizes):
    x = as_tensor(tensor)
    left, right = dotted(x, *sides(pattern))
    x, there = split(x, left, sizes)
    wanted = [name for group in right for name in group]
    if sorted(there) != sorted(wanted):
        raise EinopsError("the axes of '" + pattern + "' are not the same on both sides")
    return join(ordered(x, there, wanted), right)

def repeat(tensor, pattern, **sizes):
    x = as_tensor(tensor)
    left, right = dotted(x, *sides(pattern))
    right = [["_" + name if name.isdigit() else name for name in group] for group in right]
    x, there = split(x, left, {name: sizes[name] for name in sizes if any(name in group for group in left)})
    wanted = [name for group in right for name in group]
    x = ordered(x, there, [name for name in wanted if name in there])
    spread = []
    for at, name in enumerate(wanted):
        if name in there:
            spread.append(-1)
        else:
            x = x.unsqueeze(at)
            spread.append(int(name[1:]) if name[0] == "_" else sizes[name])
    return join(x.expand(spread), right)

def reduce(tensor, pattern, reduction, **sizes):
    x = as_tensor(tensor)
    left, right = dotted(x, *sides(pattern))
    x, there = split(x, left, sizes)
    wanted = [name for group in right for name in group]
    gone = [at for at, name in enumerate(there) if name not in wanted]
    if len(gone) > 0:
        if reduction in ("max", "min"):
            x = getattr(torch, "a" + reduction)(x, gone)
        elif reduction in ("mean", "sum", "prod") and (reduction != "prod" or len(gone) == 1):
            x = getattr(torch, reduction)(x, gone if reduction != "prod" else gone[0])
        else:
            raise EinopsError("reduction '" + str(reduction) + "' is not read")
    return join(ordered(x, [name for name in there if name in wanted], wanted), right)

def einsum(*given):
    *tensors, pattern = given
    left, right = pattern.split("->")
    letters, names = "abcdefghijklmnopqrstuvwxyz", []
    def spelled(words):
        short = ""
        for word in words.split():
            if word == "...":
                short += word
                continue
            if word not in names:
                names.append(word)
            short += letters[names.index(word)]
        return short
    return torch.einsum(",".join([spelled(one) for one in left.split(",")]) + "->" + spelled(right), *tensors)

def parse_shape(x, pattern):
    return {name: x.shape[at] for at, name in enumerate(pattern.split()) if name != "_"}

class Rearrange(nn.Module):
    def __init__(self, pattern, **sizes):
        super().__init__()
        self.pattern, self.sizes = pattern, sizes

    def forward(self, input):
        return rearrange(input, self.pattern, **self.sizes)

class Reduce(nn.Module):
    def __init__(self, pattern, reduction, **sizes):
        super().__init__()
        self.pattern, self.reduction, self.sizes = pattern, reduction, sizes

    def forward(self, input):
        return reduce(input, self.pattern, self.reduction, **self.sizes)
)py";

constexpr std::string_view einops_torch = "from einops import Rearrange, Reduce\n";

// timm's parts that models are put together of; at rest its paths are never dropped.
constexpr std::string_view timm_layers = R"py(
import torch
from torch import nn
from torch.nn.init import trunc_normal_

def to_ntuple(n):
    return lambda x: tuple(x) if isinstance(x, (list, tuple)) else (x,) * n

to_1tuple, to_2tuple, to_3tuple, to_4tuple = to_ntuple(1), to_ntuple(2), to_ntuple(3), to_ntuple(4)

def make_divisible(v, divisor=8, min_value=None, round_limit=0.9):
    least = min_value or divisor
    made = max(least, int(v + divisor / 2) // divisor * divisor)
    return made + divisor if made < round_limit * v else made

def drop_path(x, drop_prob=0.0, training=False, scale_by_keep=True):
    return x

class DropPath(nn.Module):
    def __init__(self, drop_prob=None, scale_by_keep=True):
        super().__init__()
        self.drop_prob = drop_prob

    def forward(self, x):
        return x

class Mlp(nn.Module):
    def __init__(self, in_features, hidden_features=None, out_features=None, act_layer=nn.GELU, norm_layer=None,
                 bias=True, drop=0.0, use_conv=False):
        super().__init__()
        inner = hidden_features or in_features
        def layer(a, b, biased):
            return nn.Conv2d(a, b, 1, bias=biased) if use_conv else nn.Linear(a, b, bias=biased)
        biases, drops = to_2tuple(bias), to_2tuple(drop)
        self.fc1 = layer(in_features, inner, biases[0])
        self.act = act_layer()
        self.drop1 = nn.Dropout(drops[0])
        self.norm = norm_layer(inner) if norm_layer is not None else nn.Identity()
        self.fc2 = layer(inner, out_features or in_features, biases[1])
        self.drop2 = nn.Dropout(drops[1])

    def forward(self, x):
        return self.drop2(self.fc2(self.norm(self.drop1(self.act(self.fc1(x))))))

class PatchEmbed(nn.Module):
    def __init__(self, img_size=224, patch_size=16, in_chans=3, embed_dim=768, norm_layer=None, flatten=True,
                 bias=True):
        super().__init__()
        self.img_size, self.patch_size, self.flatten = to_2tuple(img_size), to_2tuple(patch_size), flatten
        self.grid_size = (self.img_size[0] // self.patch_size[0], self.img_size[1] // self.patch_size[1])
        self.num_patches = self.grid_size[0] * self.grid_size[1]
        self.proj = nn.Conv2d(in_chans, embed_dim, kernel_size=self.patch_size, stride=self.patch_size, bias=bias)
        self.norm = norm_layer(embed_dim) if norm_layer else nn.Identity()

    def forward(self, x):
        if tuple(x.shape[-2:]) != self.img_size:
            raise ValueError("an image of another size than img_size")
        x = self.proj(x)
        return self.norm(x.flatten(2).transpose(1, 2) if self.flatten else x)

class LayerNorm2d(nn.LayerNorm):
    def __init__(self, num_channels, eps=1e-6, affine=True):
        super().__init__(num_channels, eps=eps, elementwise_affine=affine)

    def forward(self, x):
        return super().forward(x.permute(0, 2, 3, 1)).permute(0, 3, 1, 2)
)py";

constexpr std::string_view timm_vision_transformer = R"py(
from torch import nn
from timm.layers import DropPath, Mlp, PatchEmbed, trunc_normal_

class Attention(nn.Module):
    def __init__(self, dim, num_heads=8, qkv_bias=False, attn_drop=0.0, proj_drop=0.0):
        super().__init__()
        self.num_heads, self.head_dim, self.scale = num_heads, dim // num_heads, (dim // num_heads) ** -0.5
        self.qkv = nn.Linear(dim, dim * 3, bias=qkv_bias)
        self.attn_drop, self.proj, self.proj_drop = nn.Dropout(attn_drop), nn.Linear(dim, dim), nn.Dropout(proj_drop)

    def forward(self, x):
        q, k, v = self.qkv(x).unflatten(2, (3, self.num_heads, self.head_dim)).permute(2, 0, 3, 1, 4).unbind(0)
        weights = self.attn_drop(((q * self.scale) @ k.transpose(-2, -1)).softmax(dim=-1))
        return self.proj_drop(self.proj((weights @ v).transpose(1, 2).flatten(2)))

class Block(nn.Module):
    def __init__(self, dim, num_heads, mlp_ratio=4.0, qkv_bias=False, qk_scale=None, drop=0.0, attn_drop=0.0,
                 drop_path=0.0, act_layer=nn.GELU, norm_layer=nn.LayerNorm):
        super().__init__()
        if qk_scale is not None:
            raise NotImplementedError("a scale of its own")
        self.norm1 = norm_layer(dim)
        self.attn = Attention(dim, num_heads, qkv_bias, attn_drop, drop)
        self.norm2 = norm_layer(dim)
        self.mlp = Mlp(dim, int(dim * mlp_ratio), act_layer=act_layer, drop=drop)

    def forward(self, x):
        x = x + self.attn(self.norm1(x))
        return x + self.mlp(self.norm2(x))

def _cfg(url="", **words):
    return dict(url=url, **words)
)py";

constexpr std::string_view timm_registry = R"py(
def register_model(maker):
    return maker
)py";

constexpr std::string_view timm_data = R"py(
IMAGENET_DEFAULT_MEAN, IMAGENET_DEFAULT_STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
IMAGENET_INCEPTION_MEAN, IMAGENET_INCEPTION_STD = (0.5, 0.5, 0.5), (0.5, 0.5, 0.5)
)py";

// The shape of a network's images, as the networks that came with Keras asked for it.
constexpr std::string_view keras_image_shapes = R"py(
from keras import backend

def _obtain_input_shape(input_shape, default_size, min_size, data_format=None, require_flatten=True, weights=None,
                        include_top=None, dim_ordering=None):
    if include_top is not None:
        require_flatten = include_top
    if dim_ordering is not None:
        data_format = {"th": "channels_first", "tf": "channels_last"}.get(dim_ordering)
    first = (data_format or backend.image_data_format()) == "channels_first"
    channels = 3
    if weights != "imagenet" and input_shape and len(input_shape) == 3:
        channels = input_shape[0] if first else input_shape[-1]
    def shaped(n):
        return (channels, n, n) if first else (n, n, channels)
    if weights == "imagenet" and require_flatten:
        if input_shape is not None and tuple(input_shape) != shaped(default_size):
            raise ValueError("with include_top and these weights input_shape is " + str(shaped(default_size)))
        return shaped(default_size)
    if input_shape:
        if len(input_shape) != 3:
            raise ValueError("input_shape holds three sizes")
        if weights == "imagenet" and (input_shape[0] if first else input_shape[-1]) != 3:
            raise ValueError("these weights are of images of three channels")
        for n in (input_shape[1:] if first else input_shape[:2]):
            if n is not None and n < min_size:
                raise ValueError("images are at least " + str(min_size) + " high and wide")
    else:
        input_shape = shaped(default_size if require_flatten else None)
    if require_flatten and None in input_shape:
        raise ValueError("with include_top the sizes of input_shape are said")
    return input_shape

obtain_input_shape = _obtain_input_shape

def preprocess_input(x, *given, **named):
    raise NotImplementedError("images are prepared outside of the model")

decode_predictions = preprocess_input
)py";

constexpr std::string_view keras_applications = R"py(
import keras

def get_submodules_from_kwargs(kwargs):
    return tuple(kwargs.get(word) or whole for word, whole in (
        ("backend", keras.backend), ("layers", keras.layers), ("models", keras.models), ("utils", keras.utils)))
)py";

constexpr std::string_view versions = R"py(
class Version:
    def __init__(self, words):
        self.words = str(words)
        self.numbers = []
        for word in self.words.split("+")[0].split("."):
            if not word.isdigit():
                break
            self.numbers.append(int(word))

    def apart(self, other):
        mine, theirs = list(self.numbers), list((other if isinstance(other, Version) else Version(other)).numbers)
        while len(mine) < len(theirs):
            mine.append(0)
        while len(theirs) < len(mine):
            theirs.append(0)
        for a, b in zip(mine, theirs):
            if a != b:
                return a - b
        return 0

    def __lt__(self, other):
        return self.apart(other) < 0

    def __le__(self, other):
        return self.apart(other) <= 0

    def __gt__(self, other):
        return self.apart(other) > 0

    def __ge__(self, other):
        return self.apart(other) >= 0

    def __eq__(self, other):
        return self.apart(other) == 0

    def __str__(self):
        return self.words

def parse(words):
    return Version(words)

LooseVersion = StrictVersion = Version
)py";

// The defaults that a program gives its own arguments; what has none is known to nobody.
constexpr std::string_view arguments = R"py(
import sys

class Namespace:
    def __init__(self, **named):
        for name, value in named.items():
            setattr(self, name, value)

    def __contains__(self, name):
        return hasattr(self, name)

class ArgumentParser:
    def __init__(self, *given, **named):
        self.values = {}

    def add_argument(self, *names, action=None, default=None, dest=None, type=None, const=None, required=False,
                     nargs=None, choices=None, help=None, metavar=None, version=None):
        long = [name for name in names if name.startswith("--")] or list(names)
        name = dest or long[0].lstrip("-").replace("-", "_")
        if action in ("store_true", "store_false") and default is None:
            default = action == "store_false"
        if (required or not names[0].startswith("-")) and default is None and nargs not in ("?", "*"):
            default = sys.argv
        elif isinstance(default, str) and type is not None:
            default = type(default)
        self.values.setdefault(name, default)

    def set_defaults(self, **named):
        self.values.update(named)

    def add_argument_group(self, *given, **named):
        return self

    def add_mutually_exclusive_group(self, **named):
        return self

    def parse_args(self, *given, **named):
        if len(given) + len(named) > 0 and (list(given) + list(named.values()))[0] not in ([], ()):
            return sys.argv
        return Namespace(**self.values)

    def parse_known_args(self, *given, **named):
        return self.parse_args(*given, **named), []

def HelpFormatter(*given, **named):
    return None

ArgumentDefaultsHelpFormatter = RawTextHelpFormatter = RawDescriptionHelpFormatter = HelpFormatter
)py";

constexpr std::string_view lightning = R"py(
from torch import nn

class LightningModule(nn.Module):
    def save_hyperparameters(self, *given, **named):
        pass

    def log(self, *given, **named):
        pass

class LightningDataModule:
    pass

class Callback:
    pass
)py";

// What is registered is what it was.
constexpr std::string_view registries = R"py(
class Registry:
    def __init__(self, name="", **named):
        self.known = {}

    def register(self, one=None, **named):
        if one is None:
            return self.register
        self.known[one.__name__] = one
        return one

    def get(self, name):
        return self.known[name]
)py";

constexpr std::array packages{HelperPackage{"einops", einops},
                              HelperPackage{"einops.layers", "from einops.layers import torch\n"},
                              HelperPackage{"einops.layers.torch", einops_torch},
                              HelperPackage{"timm", "from timm import layers, models, data\n"},
                              HelperPackage{"timm.layers", timm_layers},
                              HelperPackage{"timm.models",
                                            "from timm.models import layers, registry\n"
                                            "from timm.models.registry import register_model\n"},
                              HelperPackage{"timm.models.layers", timm_layers},
                              HelperPackage{"timm.models.registry", timm_registry},
                              HelperPackage{"timm.models.vision_transformer", timm_vision_transformer},
                              HelperPackage{"timm.data", timm_data},
                              HelperPackage{"timm.data.constants", timm_data},
                              HelperPackage{"keras_applications", keras_applications},
                              HelperPackage{"keras_applications.imagenet_utils", keras_image_shapes},
                              HelperPackage{"keras.applications.imagenet_utils", keras_image_shapes},
                              HelperPackage{"distutils", "from distutils import version\n"},
                              HelperPackage{"distutils.version", versions},
                              HelperPackage{"packaging", "from packaging import version\n"},
                              HelperPackage{"packaging.version", versions},
                              HelperPackage{"fvcore.common.registry", registries},
                              HelperPackage{"argparse", arguments},
                              HelperPackage{"pytorch_lightning", lightning},
                              HelperPackage{"lightning",
                                            "import pytorch_lightning as pytorch\n"
                                            "from pytorch_lightning import LightningModule\n"},
                              HelperPackage{"lightning.pytorch", lightning}};

}  // namespace

std::string_view helper_package(const std::string& module) {
  const auto found = std::ranges::find(packages, module, &HelperPackage::module);
  return found == packages.end() ? std::string_view{} : found->text;
}

}  // namespace convoy
