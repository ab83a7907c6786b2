// One layer written twice, the second time wrongly: is the layer found, and the mistake called by its name?
#include "diagnose/diagnose.h"
#include "diagnose/hypothesis.h"
#include "graph/text.h"

#include <gtest/gtest.h>

#include <algorithm>

#include <string>
#include <vector>

namespace convoy::diagnose::cause_test {
namespace {

Graph parsed(const std::string& text) {
  auto graph = parse_graph(text);
  EXPECT_TRUE(graph.has_value()) << text << message(graph.error());
  return graph ? *graph : Graph{};
}

struct Row {
  std::string name;
  std::string before;  // input and constants
  std::string a, b;    // nodes; the last value is y
  std::string cause;
};

constexpr const char* image = "input x float32[2,3,8,11]\n";
constexpr const char* kernel = "const k float32[4,3,3,3] = seed 1\nconst c float32[4] = seed 2\n";

std::vector<Row> rows() {
  const std::string conv = std::string(image) + kernel;
  const auto pads = [](const std::string& p) { return "y = conv(x, k, c) windows=3/2,3/2 paddings=" + p + "\n"; };
  const std::string norm = std::string(image) +
                           "const g float32[3] = seed 3\nconst o float32[3] = seed 4\nconst m float32[3] = seed 5\n"
                           "const v float32[3] = seed 6 positive\n";
  return {
      {"same as padding=1", conv, pads("same,same"), pads("1:1,1:1"), "same_as_symmetric"},
      {"half of what an even kernel reaches over", std::string(image) + "const k float32[4,3,2,3] = seed 1\n",
       "y = conv(x, k, _) windows=2@3,3@2 paddings=1:2,2:2\n", "y = conv(x, k, _) windows=2@3,3@2 paddings=2:2,2:2\n",
       "same_as_symmetric"},
      {"SAME in place of equal numbers, on an axis that had none as well", image,
       "y = average_pool(x) windows=3/2,2/2 paddings=1:1,0:0\n",
       "y = average_pool(x) windows=3/2,2/2 paddings=0:1,0:1\n", "same_as_symmetric"},
      {"odd cell in front", conv, pads("0:1,0:1"), pads("0:1,1:0"), "odd_cell_on_the_other_side"},
      {"no padding", conv, "y = conv(x, k, c) windows=3,3 paddings=1:1,1:1\n",
       "y = conv(x, k, c) windows=3,3 paddings=0:0,0:0\n", "pad_missing"},
      {"padding where none is", conv, pads("0:0,0:0"), pads("1:1,1:1"), "pad_where_none"},
      {"pads of the axes exchanged", conv, "y = conv(x, k, c) windows=3,3 paddings=2:1,0:1\n",
       "y = conv(x, k, c) windows=3,3 paddings=0:1,2:1\n", "pads_hw_swapped"},
      {"dilation forgotten in the pads", conv, "y = conv(x, k, c) windows=3@2,3@2 paddings=2:2,2:2\n",
       "y = conv(x, k, c) windows=3@2,3@2 paddings=1:1,1:1\n", "pad_ignores_dilation"},
      {"strides of the axes exchanged", conv, "y = conv(x, k, c) windows=3/2,3 paddings=1:1,1:1\n",
       "y = conv(x, k, c) windows=3,3/2 paddings=1:1,1:1\n", "strides_swapped"},
      {"another dilation", conv, "y = conv(x, k, c) windows=3@2,3@2 paddings=0:0,0:0\n",
       "y = conv(x, k, c) windows=3,3 paddings=0:0,0:0\n", "dilation"},
      {"a bias lost", conv, "y = conv(x, k, c) windows=3,3 paddings=1:1,1:1\n",
       "y = conv(x, k) windows=3,3 paddings=1:1,1:1\n", "bias_missing"},
      {"groups forgotten",
       "input x float32[2,4,8,11]\nconst k float32[6,2,3,3] = seed 1\nconst l float32[6,4,3,3] = seed 2\nconst c "
       "float32[6] = seed 3\n",
       "y = conv(x, k, c) windows=3,3 paddings=0:0,0:0 groups=2\n", "y = conv(x, l, c) windows=3,3 paddings=0:0,0:0\n",
       "groups"},
      {"a smaller kernel",
       std::string(image) + "const k float32[4,3,5,3] = seed 1\nconst l float32[4,3,3,3] = seed 2\n",
       "y = conv(x, k, _) windows=5,3 paddings=0:0,0:0\n", "y = conv(x, l, _) windows=3,3 paddings=0:0,0:0\n",
       "kernel_size"},
      {"fewer channels",
       std::string(image) +
           "const k float32[4,3,3,3] = seed 1\nconst l float32[2,3,3,3] = seed 2\nconst c float32[4] = "
           "seed 3\nconst d float32[2] = seed 4\n",
       "y = conv(x, k, c) windows=3,3 paddings=0:0,0:0\n", "y = conv(x, l, d) windows=3,3 paddings=0:0,0:0\n",
       "channels"},
      {"a norm lost", norm + kernel, "z = batch_norm(x, g, o, m, v)\ny = conv(z, k, c) windows=3,3 paddings=0:0,0:0\n",
       "y = conv(x, k, c) windows=3,3 paddings=0:0,0:0\n", "layer_missing"},
      {"a pool lost", conv,
       "z = conv(x, k, c) windows=3,3 paddings=0:0,0:0\ny = max_pool(z) windows=2,3 paddings=0:0,0:0\n",
       "y = conv(x, k, c) windows=3,3 paddings=0:0,0:0\n", "layer_missing"},
      {"a product for a sum", conv + "const e float32[4,3,3,3] = seed 5\n",
       "z = conv(x, k, c) windows=3,3 paddings=0:0,0:0\nw = conv(x, e, _) windows=3,3 paddings=0:0,0:0\ny = binary(z, "
       "w)\n",
       "z = conv(x, k, c) windows=3,3 paddings=0:0,0:0\nw = conv(x, e, _) windows=3,3 paddings=0:0,0:0\ny = binary(z, "
       "w) "
       "function=multiply\n",
       "merge_kind"},
      {"a border that is mirrored", conv, "y = conv(x, k, c) windows=3,3 paddings=1:1,1:1\n",
       "p = pad(x) before=0,0,1,1 after=0,0,1,1 mode=reflect\ny = conv(p, k, c) windows=3,3 paddings=0:0,0:0\n",
       "pad_mode"},
      {"epsilon", norm, "y = batch_norm(x, g, o, m, v) epsilon=0.001\n",
       "y = batch_norm(x, g, o, m, v) epsilon=1e-05\n", "bn_eps"},
      {"scale and offset exchanged", norm, "y = batch_norm(x, g, o, m, v)\n", "y = batch_norm(x, o, g, m, v)\n",
       "bn_gamma_beta_swapped"},
      {"mean and variance exchanged", norm + "const w float32[3] = seed 7 positive\n",
       "y = batch_norm(x, g, o, w, v)\n", "y = batch_norm(x, g, o, v, w)\n", "bn_mean_var_swapped"},
      {"a maximum for a mean", image, "y = average_pool(x) windows=2/2,2/2 paddings=valid,valid\n",
       "y = max_pool(x) windows=2/2,2/2 paddings=valid,valid\n", "pool_kind"},
      {"padding counted", image, "y = average_pool(x) windows=3/2,3/2 paddings=1:1,1:1\n",
       "y = average_pool(x) windows=3/2,3/2 paddings=1:1,1:1 counts_padding=true\n", "pool_divisor"},
      {"a ceil window lost", image, "y = max_pool(x) windows=3/2,3/2 paddings=0:0:ceil,0:0:ceil\n",
       "y = max_pool(x) windows=3/2,3/2 paddings=0:0,0:0\n", "ceil_mode"},
      {"a slope", image, "y = relu(x) negative_slope=0.3\n", "y = relu(x) negative_slope=0.01\n", "activation_slope"},
      {"a limit", image, "y = relu(x) max_value=6\n", "y = relu(x)\n", "activation_limit"},
      {"a formula", image, "y = unary(x) function=gelu\n", "y = unary(x) function=gelu_tanh\n", "activation_variant"},
      {"another function", image, "y = relu(x)\n", "y = unary(x) function=silu\n", "activation_kind"},
      {"a limit written as a minimum, on one of two branches", std::string(image) + "const n float32[] = 1.5\n",
       "p = unary(x) function=silu\nq = unary(x) function=tanh\ny = binary(p, q)\n",
       "p = unary(x) function=silu\nr = binary(p, n) function=minimum\nq = unary(x) function=tanh\ny = binary(r, q)\n",
       "activation_extra"},
      {"a limit behind a ReLU, on one of two branches", std::string(image) + "const n float32[1] = 1.5\n",
       "p = relu(x)\nq = unary(x) function=tanh\ny = binary(p, q)\n",
       "p = relu(x)\nr = binary(p, n) function=minimum\nq = unary(x) function=tanh\ny = binary(r, q)\n",
       "activation_limit"},
      {"a mean as a sum with another divisor", conv,
       "z = conv(x, k, c) windows=3,3 paddings=1:1,1:1\nm = reduce(z) axes=2,3\ny = relu(m)\n",
       "z = conv(x, k, c) windows=3,3 paddings=1:1,1:1\nm = reduce(z) axes=2,3 reduction=sum\n"
       "d = affine(m) scale=0.0125\ny = relu(d)\n",
       "number"},
      {"a sum with another divisor as a mean", conv + "const n float32[1] = 80\n",
       "z = conv(x, k, c) windows=3,3 paddings=1:1,1:1\nm = reduce(z) axes=2,3 reduction=sum\n"
       "d = binary(m, n) function=divide\ny = relu(d)\n",
       "z = conv(x, k, c) windows=3,3 paddings=1:1,1:1\nm = reduce(z) axes=2,3\ny = relu(m)\n", "number"},
      {"an offset in a norm that has none", norm, "y = layer_norm(x) axes=1\n", "y = layer_norm(x, _, o) axes=1\n",
       "bias_extra"},
      {"scale and offset in a norm that has none", norm, "y = group_norm(x) groups=3\n",
       "y = group_norm(x, g, o) groups=3\n", "weights_differ"},
      {"a written hard swish without its limits", image,
       "p = affine(x) offset=3\nq = relu(p) max_value=6\nr = binary(x, q) function=multiply\ny = affine(r) "
       "scale=0.16666667\n",
       "p = affine(x) offset=3\nr = binary(x, p) function=multiply\ny = affine(r) scale=0.16666667\n",
       "activation_missing"},
      {"a written hard swish without its upper limit", image,
       "p = affine(x) offset=3\nq = relu(p) max_value=6\ns = affine(q) scale=0.16666667\ny = binary(x, s) "
       "function=multiply\n",
       "p = affine(x) offset=3\nq = relu(p)\ns = affine(q) scale=0.16666667\ny = binary(x, s) function=multiply\n",
       "activation_limit"},
      {"no activation", conv, "z = conv(x, k, c) windows=3,3 paddings=1:1,1:1\ny = relu(z)\n",
       "y = conv(x, k, c) windows=3,3 paddings=1:1,1:1\n", "activation_missing"},
      {"one activation too many", conv, "y = conv(x, k, c) windows=3,3 paddings=1:1,1:1\n",
       "z = conv(x, k, c) windows=3,3 paddings=1:1,1:1\ny = relu(z)\n", "activation_extra"},
      {"the axis of a softmax", image, "y = softmax(x) axes=1\n", "y = softmax(x) axes=2\n", "softmax_axis"},
      {"the order of a pixel shuffle", "input x float32[2,8,3,5]\n", "y = depth_to_space(x)\n",
       "y = depth_to_space(x) depth_first=false\n", "depth_to_space_order"},
      {"the order of a pixel shuffle, written as channels in another order", "input x float32[2,8,3,5]\n",
       "t = take(x) axis=1 indices=0,4,1,5,2,6,3,7\ny = depth_to_space(t)\n", "y = depth_to_space(x)\n",
       "depth_to_space_order"},
      {"halves exchanged", conv + "const l float32[4,3,3,3] = seed 9\n",
       "p = conv(x, k, c) windows=3,3 paddings=1:1,1:1\nq = conv(x, l, c) windows=3,3 paddings=1:1,1:1\ny = concat(p, "
       "q)\n",
       "p = conv(x, k, c) windows=3,3 paddings=1:1,1:1\nq = conv(x, l, c) windows=3,3 paddings=1:1,1:1\ny = concat(q, "
       "p)\n",
       "concat_order"},
      {"a layer norm written out, with another epsilon", image,
       "m = reduce(x) axes=3 keeps_axes=true\nd = binary(x, m) function=subtract\nq = binary(d, d) function=multiply\n"
       "v = reduce(q) axes=3 keeps_axes=true\ne = affine(v) offset=0.001\ns = unary(e) function=sqrt\n"
       "y = binary(d, s) function=divide\n",
       "y = layer_norm(x) axes=3 epsilon=1e-05\n", "norm_eps"},
      {"a group norm written out, with another epsilon", "input x float32[2,6,4,5]\n",
       "y = group_norm(x) groups=3 epsilon=0.0001\n",
       "m = reduce(x) axes=2,3 keeps_axes=true\nn = reshape(m) to=0,3,2\no = reduce(n) axes=2 keeps_axes=true\n"
       "p = tile(o) axis=2 times=2\nr = reshape(p) to=0,6,1,1\nd = binary(x, r) function=subtract\n"
       "q = binary(d, d) function=multiply\nt = reduce(q) axes=2,3 keeps_axes=true\nu = reshape(t) to=0,3,2\n"
       "v = reduce(u) axes=2 keeps_axes=true\nw = tile(v) axis=2 times=2\nz = reshape(w) to=0,6,1,1\n"
       "e = affine(z) offset=0.001\ns = unary(e) function=sqrt\ny = binary(d, s) function=divide\n",
       "norm_eps"},
      {"side by side along another axis, all numbers in one order", image,
       "p = reduce(x) axes=2 keeps_axes=true\nq = reduce(x) axes=2 reduction=maximum keeps_axes=true\n"
       "y = concat(p, q) axis=2\n",
       "p = reduce(x) axes=2 keeps_axes=true\nq = reduce(x) axes=2 reduction=maximum keeps_axes=true\n"
       "y = concat(p, q) axis=3\n",
       "concat_axis"},
      {"the input scaled and shifted in two steps", conv + "const f float32[1] = seed 5\nconst h float32[1] = seed 6\n",
       "y = conv(x, k, c) windows=3,3 paddings=0:0,0:0\n",
       "p = binary(x, f) function=multiply\nq = binary(p, h)\ny = conv(q, k, c) windows=3,3 paddings=0:0,0:0\n",
       "preprocessing"},
      {"a maximum with its own pads and pads of its own", image, "y = max_pool(x) windows=3/2,3/2 paddings=1:1,1:1\n",
       "p = pad(x) before=0,0,1,1 after=0,0,1,1\ny = max_pool(p) windows=3/2,3/2 paddings=0:0,0:0\n", "pool_pad_value"},
      {"five inputs, two of them exchanged", "input x float32[2,3,8,11]\n",
       "p = relu(x)\nq = unary(x) function=tanh\nr = unary(x) function=sigmoid\ns = unary(x) function=exp\n"
       "y = concat(x, p, q, r, s)\n",
       "p = relu(x)\nq = unary(x) function=tanh\nr = unary(x) function=sigmoid\ns = unary(x) function=exp\n"
       "y = concat(x, p, s, r, q)\n",
       "concat_order"},
      {"pads of the axes exchanged, one of them of a leftover window", "input x float32[2,3,9,12]\n",
       "y = max_pool(x) windows=3/2,3/2 paddings=1:1:ceil_inside,1:1:ceil_inside\n",
       "y = max_pool(x) windows=3/2,3/2 paddings=1:2,1:1\n", "pads_hw_swapped"},
      {"the odd cell in front, where behind no window read it",
       "const k float32[4,3,3,3] = seed 1\ninput x float32[2,3,8,11]\n",
       "y = conv(x, k) windows=3/2,3/2 paddings=0:1,0:0\n", "y = conv(x, k) windows=3/2,3/2 paddings=1:0,1:0\n",
       "odd_cell_on_the_other_side"},
      {"the odd cell that SAME has at other sizes, in front at all of them",
       std::string(image) + "const k float32[4,3,4,3] = seed 1\n", "y = conv(x, k) windows=4/2,3 paddings=same,same\n",
       "y = conv(x, k) windows=4/2,3 paddings=2:1,1:1\n", "odd_cell_on_the_other_side"},
      {"a state in front of the first step",
       "input x float32[2,6,4]\nconst w float32[15,4] = seed 1\nconst r float32[15,5] = seed 2\nconst b float32[15] = "
       "seed 3\n"
       "const c float32[15] = seed 4\nconst h float32[2,5] = seed 5\n",
       "y = gru(x, w, r, b, c) gates=torch returns_sequence=true\n",
       "y = gru(x, w, r, b, c, h) gates=torch returns_sequence=true\n", "initial_state"},
      {"without the state in front of the first step",
       "input x float32[2,6,4]\nconst w float32[20,4] = seed 1\nconst r float32[20,5] = seed 2\nconst b float32[20] = "
       "seed 3\n"
       "const c float32[20] = seed 4\nconst h float32[2,5] = seed 5\nconst m float32[2,5] = seed 6\n",
       "y = lstm(x, w, r, b, c, h, m) gates=torch returns_sequence=true\n",
       "y = lstm(x, w, r, b, c) gates=torch returns_sequence=true\n", "initial_state"},
      {"the bias of a cell in both of PyTorch's",
       "input x float32[2,6,4]\nconst w float32[20,4] = seed 1\nconst r float32[20,5] = seed 2\nconst b float32[20] = "
       "seed 3\n",
       "y = lstm(x, w, r, b) gates=torch returns_sequence=true\n",
       "y = lstm(x, w, r, b, b) gates=torch returns_sequence=true\n", "bias_doubled"},
      {"without peepholes",
       "input x float32[2,6,4]\nconst w float32[20,4] = seed 1\nconst r float32[20,5] = seed 2\nconst b float32[20] = "
       "seed 3\n"
       "const c float32[20] = seed 4\nconst h float32[2,5] = seed 5\nconst m float32[2,5] = seed 6\n"
       "const p float32[15] = seed 7\n",
       "y = lstm(x, w, r, b, c, h, m, p) gates=torch returns_sequence=true\n",
       "y = lstm(x, w, r, b, c, h, m) gates=torch returns_sequence=true\n", "peepholes"},
      {"a resize that widens its kernel, and one that does not", image,
       "y = resize(x) sizes=5,6 interpolation=linear antialias=true\n",
       "y = resize(x) sizes=5,6 interpolation=linear\n", "resize_mode"},
      {"a slope for every channel lost", std::string(image) + "const s float32[3,1,1] = seed 3 positive\n",
       "y = prelu(x, s)\n", "y = relu(x)\n", "activation_kind"},
      {"a hard sigmoid written out, with another slope", image,
       "s = affine(x) scale=0.5 offset=0.5\ny = clip(s) least=0 most=1\n", "y = hard_sigmoid(x) alpha=0.2 beta=0.5\n",
       "activation_variant"},
      {"x times itself for x times its sigmoid", image, "y = unary(x) function=silu\n",
       "y = binary(x, x) function=multiply\n", "activation_missing"},
      {"nearest for linear, at the corners", image, "y = resize(x) sizes=16,22 interpolation=nearest\n",
       "y = resize(x) sizes=16,22 interpolation=linear coordinates=align_corners\n", "resize_mode"},
      {"a number under a root", image,
       "m = reduce(x) axes=2,3 keeps_axes=true\nn = tile(m) axis=2 times=8\nt = tile(n) axis=3 times=11\nd = binary(x, "
       "t) function=subtract\n"
       "q = binary(d, d) function=multiply\nv = reduce(q) axes=2,3 keeps_axes=true\ne = affine(v) offset=0.001\n"
       "s = unary(e) function=sqrt\ny = binary(d, s) function=divide\n",
       "m = reduce(x) axes=2,3 keeps_axes=true\nn = tile(m) axis=2 times=8\nt = tile(n) axis=3 times=11\nd = binary(x, "
       "t) function=subtract\n"
       "q = binary(d, d) function=multiply\nv = reduce(q) axes=2,3 keeps_axes=true\ne = affine(v) offset=1e-05\n"
       "s = unary(e) function=sqrt\ny = binary(d, s) function=divide\n",
       "norm_eps"},
      {"rows and columns exchanged", conv, "y = conv(x, k, c) windows=3,3 paddings=0:0,0:0\n",
       "t = transpose(x) permutation=0,1,3,2\ny = conv(t, k, c) windows=3,3 paddings=0:0,0:0\n", "input_hw_swapped"},
      {"a slope inside a maximum", image, "s = affine(x) scale=0.1\ny = binary(x, s) function=maximum\n",
       "s = affine(x) scale=0.1001\ny = binary(x, s) function=maximum\n", "activation_slope"},
      {"a slope inside a difference of two activations", image, "y = relu(x) negative_slope=0.1\n",
       "p = relu(x)\nn = unary(x) function=negate\nq = relu(n)\ns = affine(q) scale=0.3\n"
       "y = binary(p, s) function=subtract\n",
       "activation_slope"},
      {"the upper half of a function cut off, written out", image, "y = unary(x) function=sparse_plus\n",
       "p = clip(x) least=-1 most=1\nq = affine(p) offset=1\nr = binary(q, q) function=multiply\n"
       "s = affine(r) scale=0.25\nt = affine(x) offset=-1\nu = relu(t) max_value=0.5\ny = binary(s, u)\n",
       "activation_limit"},
      {"the limits of a clip", image, "y = clip(x) least=-1 most=0.5\n", "y = clip(x) least=-1 most=0.75\n",
       "activation_limit"},
      {"operands of a difference exchanged", conv + "const l float32[4,3,3,3] = seed 9\n",
       "p = conv(x, k, c) windows=3,3 paddings=1:1,1:1\nq = conv(x, l) windows=3,3 paddings=1:1,1:1\n"
       "y = binary(p, q) function=subtract\n",
       "p = conv(x, k, c) windows=3,3 paddings=1:1,1:1\nq = conv(x, l) windows=3,3 paddings=1:1,1:1\n"
       "y = binary(q, p) function=subtract\n",
       "branches_exchanged"},
      {"the activation on the other branch", conv + "const l float32[4,3,3,3] = seed 9\n",
       "p = conv(x, k, c) windows=3,3 paddings=1:1,1:1\nq = conv(x, l) windows=3,3 paddings=1:1,1:1\n"
       "r = relu(p)\ny = binary(r, q)\n",
       "p = conv(x, k, c) windows=3,3 paddings=1:1,1:1\nq = conv(x, l) windows=3,3 paddings=1:1,1:1\n"
       "r = relu(q)\ny = binary(r, p)\n",
       "branches_exchanged"},
      {"a gate on the other branch, several layers before", conv + "const l float32[4,3,3,3] = seed 9\n",
       "p = conv(x, k, c) windows=3,3 paddings=1:1,1:1\nq = conv(x, l) windows=3,3 paddings=1:1,1:1\n"
       "r = unary(p) function=sigmoid\ns = unary(q) function=tanh\ny = binary(r, s) function=multiply\n",
       "p = conv(x, k, c) windows=3,3 paddings=1:1,1:1\nq = conv(x, l) windows=3,3 paddings=1:1,1:1\n"
       "r = unary(q) function=sigmoid\ns = unary(p) function=tanh\ny = binary(r, s) function=multiply\n",
       "branches_exchanged"},
      {"channels taken in another order", conv, "y = conv(x, k, c) windows=3,3 paddings=1:1,1:1\n",
       "z = conv(x, k, c) windows=3,3 paddings=1:1,1:1\ny = take(z) axis=1 indices=0,3,2,1\n", "channel_order"},
      {"rows taken in another order", image, "y = adaptive_pool(x) kind=average out=3,2\n",
       "z = adaptive_pool(x) kind=average out=3,2\ny = take(z) axis=2 indices=2,1,0\n", "axis_order"},
      {"parts put side by side in another order", image, "y = adaptive_pool(x) kind=average out=3,2\n",
       "z = adaptive_pool(x) kind=average out=3,2\np, q, r = split(z) axis=2 sizes=1,1,1\ny = concat(q, p, r) axis=2\n",
       "concat_order"},
      {"equal pads, of which a fixed size reads one side", conv, "y = conv(x, k, c) windows=3/2,3 paddings=1:0,1:1\n",
       "y = conv(x, k, c) windows=3/2,3 paddings=same,same\n", "same_as_symmetric"},
      {"the vectors of a norm one place on", norm, "y = batch_norm(x, g, o, m, v)\n", "y = batch_norm(x, o, m, g, v)\n",
       "bn_vector_order"},
      {"another number", image, "y = affine(x) scale=0.5\n", "y = affine(x) scale=0.25\n", "preprocessing"},
      {"corners", image, "y = resize(x) sizes=16,22 interpolation=linear\n",
       "y = resize(x) sizes=16,22 interpolation=linear coordinates=align_corners\n", "align_corners"},
  };
}

TEST(Cause, EveryKnownMistakeIsCalledByItsName) {
  for (const Row& row : rows()) {
    SCOPED_TRACE(row.name);
    const Graph a = parsed(row.before + row.a + "output y\n"), b = parsed(row.before + row.b + "output y\n");
    const auto found = diagnose(a, b);
    ASSERT_TRUE(found.has_value()) << message(found.error());
    EXPECT_FALSE(found->same);
    ASSERT_EQ(found->findings.size(), 1U);
    EXPECT_EQ(found->findings[0].cause, row.cause);
    EXPECT_LE(found->findings[0].ratio_after_fix, found->findings[0].limit);
    EXPECT_GT(found->findings[0].ratio, found->findings[0].limit);
  }
}

// `changed` of the constant's own numbers, in a's kernel and bias.
Finding finding_of(const std::string& text, const std::string& constant, Tensor (*changed)(const Tensor&)) {
  const Graph a = parsed(text);
  Graph b = a;
  for (Value& value : b.values)
    if (value.name == constant) value.constant = changed(*value.constant);
  const auto found = diagnose(a, b);
  EXPECT_TRUE(found.has_value());
  EXPECT_EQ(found ? found->findings.size() : 0, 1U);
  return found && !found->findings.empty() ? found->findings[0] : Finding{};
}

// Channels between two layers in another order, in both of them and in what stands between: the same model. In one of them
// alone it is not.
TEST(Cause, ChannelsThatOnlyHiddenLayersKnowMayLieInAnotherOrder) {
  const std::string text =
      "input x float32[2,3,6,5]\nconst k float32[4,3,3,3] = seed 1\nconst c float32[4] = seed 2\n"
      "const g float32[4] = seed 3\nconst o float32[4] = seed 4\nconst m float32[4] = seed 5\nconst v float32[4] = "
      "seed 6 positive\n"
      "const d float32[4,1,3,3] = seed 7\nconst w float32[5,120] = seed 8\n"
      "p = conv(x, k, c) windows=3,3 paddings=1:1,1:1\nq = batch_norm(p, g, o, m, v)\nr = relu(q)\n"
      "s = conv(r, d) groups=4 windows=3,3 paddings=1:1,1:1\nt = flatten(s)\ny = linear(t, w)\noutput y\n";
  const auto ordered = [](const Tensor& tensor, std::size_t axis, Size run) {
    Sizes cells;
    for (const Size channel : {2, 0, 3, 1})
      for (Size i = 0; i < run; ++i) cells.push_back(channel * run + i);
    return taken(tensor, axis, cells);
  };
  const auto changed = [&](const std::vector<std::string>& names) {
    Graph b = parsed(text);
    for (Value& value : b.values)
      if (value.constant && std::ranges::find(names, value.name) != names.end())
        value.constant = value.name == "w" ? ordered(*value.constant, 1, 30) : ordered(*value.constant, 0, 1);
    return b;
  };
  const Graph a = parsed(text);
  const auto same = diagnose(a, changed({"k", "c", "g", "o", "m", "v", "d", "w"}));
  ASSERT_TRUE(same.has_value()) << message(same.error());
  EXPECT_TRUE(same->same);
  EXPECT_EQ(same->hidden_orders, std::vector<std::string>{"p"});
  const auto maker = diagnose(a, changed({"k", "c"}));
  ASSERT_TRUE(maker.has_value()) << message(maker.error());
  ASSERT_EQ(maker->findings.size(), 1U);
  EXPECT_EQ(maker->findings[0].a, "p");
  EXPECT_EQ(maker->findings[0].cause, "channel_order");
  EXPECT_TRUE(maker->hidden_orders.empty());
  const auto reader = diagnose(a, changed({"k", "c", "g", "o", "m", "v", "w"}));
  ASSERT_TRUE(reader.has_value()) << message(reader.error());
  ASSERT_EQ(reader->findings.size(), 1U);
  EXPECT_EQ(reader->findings[0].a, "s");
}

// As exporters write a group norm: groups as channels, each normalised by itself, then a scale and an offset per channel.
TEST(Cause, AGroupNormIsTheSameAsItIsWrittenOut) {
  const std::string before =
      "input x float32[2,12,5,7]\nconst g float32[12] = seed 3\nconst o float32[12] = seed 4\n"
      "const h float32[12] = seed 5\nconst w float32[4,12,1,1] = seed 6\n";
  const auto written = [&](const std::string& groups, const std::string& scale) {
    return parsed(before + "l = reshape(x) to=0," + groups + ",-1\nn = group_norm(l) groups=" + groups +
                  " epsilon=0.001\nm = reshape(n) to=-1,12,5,7\ns = reshape(" + scale +
                  ") to=12,1,1\nt = reshape(o) to=12,1,1\np = binary(m, s) function=multiply\nq = binary(p, t)\n"
                  "y = conv(q, w) windows=1,1 paddings=valid,valid\noutput y\n");
  };
  const Graph a = parsed(before +
                         "n = group_norm(x, g, o) groups=3 epsilon=0.001\n"
                         "y = conv(n, w) windows=1,1 paddings=valid,valid\noutput y\n");
  const auto same = diagnose(a, written("3", "g"));
  ASSERT_TRUE(same.has_value()) << message(same.error());
  EXPECT_TRUE(same->same);
  for (const auto& [groups, scale, cause] : {std::tuple{"3", "h", "weights_differ"}, {"4", "g", "norm_groups"}})
    for (const bool turned : {false, true}) {
      const Graph b = written(groups, scale);
      const auto found = turned ? diagnose(b, a) : diagnose(a, b);
      ASSERT_TRUE(found.has_value()) << message(found.error());
      ASSERT_EQ(found->findings.size(), 1U) << cause;
      EXPECT_EQ(found->findings[0].cause, cause);
      if (!turned && std::string(cause) == "norm_groups") {
        EXPECT_EQ(found->findings[0].fix.torch, "nn.GroupNorm(3, 12, eps=0.001)");
      }
    }
}

// Two models that both have numbers per group in the norm and numbers per channel behind it, and one that has them in one place.
TEST(Cause, ANormWithNumbersPerGroupTakesInThoseThatFollowPerChannel) {
  const std::string before =
      "input x float32[2,6,5,7]\nconst h float32[3] = 2 -1 3\nconst w float32[4,6,1,1] = seed 6\n"
      "const p float32[3] = 0.5 1 -2\n";
  const auto written = [&](const std::string& scale, const std::string& offset) {
    return parsed(before + "const g float32[6,1,1] = " + scale + "\nconst o float32[6,1,1] = " + offset +
                  "\nl = reshape(x) to=0,3,-1\nn = group_norm(l, h, p) groups=3 epsilon=0.001\n"
                  "m = reshape(n) to=-1,6,5,7\ns = binary(m, g) function=multiply\nq = binary(s, o)\n"
                  "y = conv(q, w) windows=1,1 paddings=valid,valid\noutput y\n");
  };
  const Graph a = parsed(before +
                         "const g float32[6] = 2 4 -3 1 1.5 3\nconst o float32[6] = 1.5 2 4 -1 0 -2\n"
                         "n = group_norm(x, g, o) groups=3 epsilon=0.001\n"
                         "y = conv(n, w) windows=1,1 paddings=valid,valid\noutput y\n");
  const std::string scale = "1 2 3 -1 0.5 1", offset = "1 1 1 0 1 0";
  EXPECT_TRUE(diagnose(a, written(scale, offset)).value().same);
  EXPECT_TRUE(diagnose(written(scale, offset), a).value().same);
  const auto found = diagnose(a, written("1 2 3 2 0.5 1", "1 1 4 0 1 0")).value();
  ASSERT_EQ(found.findings.size(), 1U);
  EXPECT_EQ(found.findings[0].cause, "weights_differ");
  EXPECT_EQ(found.findings[0].a, "n");
}

// The lines for kernels have as many axes as the kernel, and a transposed kernel's own order.
TEST(Cause, TheLinesForAKernelFollowItsRank) {
  struct Row {
    const char *sizes, *op, *flip_torch, *flip_keras, *turn_torch, *turn_keras;
  };
  const Row rows[] = {
      {"3", "conv(x, k) axes=channels_first/1 windows=3 paddings=1:1", "weight = weight.flip(2)",
       "kernel = kernel[::-1]", "weight = kernel.permute(2, 1, 0)", "kernel = weight.permute(2, 1, 0)"},
      {"3,5", "conv(x, k) windows=3,5 paddings=1:1,2:2", "weight = weight.flip(2, 3)", "kernel = kernel[::-1, ::-1]",
       "weight = kernel.permute(3, 2, 0, 1)", "kernel = weight.permute(2, 3, 1, 0)"},
      {"3,5,2", "conv(x, k) axes=channels_first/3 windows=3,5,2 paddings=1:1,2:2,0:0", "weight = weight.flip(2, 3, 4)",
       "kernel = kernel[::-1, ::-1, ::-1]", "weight = kernel.permute(4, 3, 0, 1, 2)",
       "kernel = weight.permute(2, 3, 4, 1, 0)"},
  };
  const char* const images[] = {"9", "9,8", "9,8,7"};
  for (std::size_t i = 0; i < 3; ++i) {
    const Row& row = rows[i];
    const std::string text = std::string("input x float32[2,4,") + images[i] + "]\nconst k float32[4,4," + row.sizes +
                             "] = seed 1\ny = " + row.op + "\noutput y\n";
    const Finding flipped = finding_of(text, "k", [](const Tensor& kernel) {
      Tensor now = kernel;
      for (Size axis = 2; axis < kernel.rank(); ++axis) {
        Sizes order;
        for (Size at = kernel.shape()[static_cast<std::size_t>(axis)]; at-- > 0;) order.push_back(at);
        now = taken(now, static_cast<std::size_t>(axis), order);
      }
      return now;
    });
    EXPECT_EQ(flipped.cause, "kernel_flipped");
    EXPECT_EQ(flipped.fix.torch, row.flip_torch);
    EXPECT_EQ(flipped.fix.keras, row.flip_keras);
    const Finding turned = finding_of(text, "k", [](const Tensor& kernel) {
      Sizes order{1, 0};
      for (Size axis = 2; axis < kernel.rank(); ++axis) order.push_back(axis);
      return kernel.permuted(order);
    });
    EXPECT_EQ(turned.cause, "channels_swapped");
    EXPECT_EQ(turned.fix.torch.substr(0, turned.fix.torch.find("  #")), row.turn_torch);
    EXPECT_EQ(turned.fix.keras.substr(0, turned.fix.keras.find("  #")), row.turn_keras);
  }
}

// Channels lie last in Keras, wherever the comparable form has them; PyTorch moves them there and back.
TEST(Cause, TheLineOfALayerNormNamesTheAxisOfItsChannels) {
  for (const auto& [sizes, window, last, back, axis, moved, moved_back] :
       {std::tuple{"9,8", "windows=1,1 paddings=0:0,0:0", "0,2,3,1", "0,3,1,2", "3", "permute(0, 2, 3, 1)",
                   "permute(0, 3, 1, 2)"},
        {"9", "axes=channels_first/1 windows=1 paddings=0:0", "0,2,1", "0,2,1", "2", "transpose(1, 2)",
         "transpose(1, 2)"}}) {
    const auto text = [&](const char* epsilon) {
      const std::string ones = std::string(axis) == "3" ? "1,1" : "1";
      return std::string("input x float32[2,3,") + sizes + "]\nconst k float32[5,3," + ones +
             "] = seed 1\nc = conv(x, k) " + window + "\nl = transpose(c) permutation=" + last +
             "\nn = layer_norm(l) axes=" + axis + " epsilon=" + epsilon + "\ny = transpose(n) permutation=" + back +
             "\noutput y\n";
    };
    Graph a = parsed(text("0.001"));
    a.source_format = "Keras 3.15.1";
    const auto found = diagnose(a, parsed(text("0.1")));
    ASSERT_TRUE(found.has_value()) << message(found.error());
    ASSERT_EQ(found->findings.size(), 1U);
    EXPECT_EQ(found->findings[0].cause, "norm_eps");
    EXPECT_EQ(found->findings[0].fix.torch,
              std::string("nn.LayerNorm(5, eps=0.001, elementwise_affine=False)(x.") + moved + ")." + moved_back);
    EXPECT_EQ(found->findings[0].fix.keras,
              "layers.LayerNormalization(axis=-1, epsilon=0.001, center=False, scale=False)");
  }
}

TEST(Cause, TheLineOfAPoolOverWholeImagesSaysWhichItIs) {
  const auto text = [](const char* reduction) {
    return std::string(
               "input x float32[2,3,9,8]\nconst k float32[5,3,3,2] = seed 1\nconst w float32[4,5] = seed 2\n"
               "c = conv(x, k) windows=3,2 paddings=valid,valid\np = reduce(c) reduction=") +
           reduction + " axes=2,3\ny = linear(p, w)\noutput y\n";
  };
  for (const auto& [a, b, in_torch, in_keras] :
       {std::tuple{"mean", "maximum", "x.mean(dim=(2, 3))", "layers.GlobalAveragePooling2D()"},
        {"maximum", "mean", "x.amax(dim=(2, 3))", "layers.GlobalMaxPooling2D()"}}) {
    const auto found = diagnose(parsed(text(a)), parsed(text(b)));
    ASSERT_TRUE(found.has_value()) << message(found.error());
    ASSERT_EQ(found->findings.size(), 1U);
    EXPECT_EQ(found->findings[0].cause, "pool_kind");
    EXPECT_EQ(found->findings[0].fix.torch, in_torch);
    EXPECT_EQ(found->findings[0].fix.keras, in_keras);
  }
}

TEST(Cause, ChannelsInAnotherOrderAreReadOffTheNumbers) {
  const std::string net = std::string(image) + kernel + "z = conv(x, k, c) windows=3,3 paddings=1:1,1:1\noutput z\n";
  const Finding outputs = finding_of(net, "k", [](const Tensor& k) {
    auto values = k.floats();
    std::swap_ranges(values.begin() + 27, values.begin() + 54, values.begin() + 81);
    return Tensor::of(k.shape(), values);
  });
  EXPECT_EQ(outputs.cause, "channel_order");
  EXPECT_EQ(outputs.says, "the output channels 1 and 3 exchanged");
  EXPECT_TRUE(outputs.certain);
  const Finding inputs = finding_of(net, "k", [](const Tensor& k) {
    auto values = k.floats();
    for (std::size_t o = 0; o < 4; ++o)
      std::swap_ranges(values.begin() + static_cast<std::ptrdiff_t>(o * 27),
                       values.begin() + static_cast<std::ptrdiff_t>(o * 27 + 9),
                       values.begin() + static_cast<std::ptrdiff_t>(o * 27 + 9));
    return Tensor::of(k.shape(), values);
  });
  EXPECT_EQ(inputs.cause, "channel_order");
  EXPECT_EQ(inputs.says, "the input channels 0 and 1 exchanged");
  const Finding bias = finding_of(net, "c", [](const Tensor& c) {
    auto values = c.floats();
    std::swap(values[0], values[2]);
    return Tensor::of(c.shape(), values);
  });
  EXPECT_EQ(bias.cause, "channel_order");
}

TEST(Cause, WhatASpecificCauseExplainsIsNotCalledOtherWeights) {
  const std::string net = std::string(image) + kernel + "z = conv(x, k, c) windows=3,3 paddings=1:1,1:1\noutput z\n";
  const Finding twice = finding_of(net, "c", [](const Tensor& c) {
    auto values = c.floats();
    for (float& value : values) value *= 2;
    return Tensor::of(c.shape(), values);
  });
  EXPECT_EQ(twice.cause, "bias_doubled");
  EXPECT_TRUE(twice.certain);
}

TEST(Cause, AModelIsTheSameAsItself) {
  for (const Row& row : rows()) {
    SCOPED_TRACE(row.name);
    const Graph b = parsed(row.before + row.b + "output y\n");
    const auto found = diagnose(b, b);
    ASSERT_TRUE(found.has_value()) << message(found.error());
    EXPECT_TRUE(found->same);
    EXPECT_TRUE(found->findings.empty());
  }
}

TEST(Cause, TwoMistakesInOneLayerAreBothNamed) {
  const std::string before = std::string(image) + kernel;
  const Graph a = parsed(before + "y = conv(x, k, c) windows=3/2,3/2 paddings=same,same\noutput y\n");
  const Graph b = parsed(before + "y = conv(x, k) windows=3/2,3/2 paddings=1:1,1:1\noutput y\n");
  const auto found = diagnose(a, b);
  ASSERT_TRUE(found.has_value()) << message(found.error());
  ASSERT_EQ(found->findings.size(), 2U);
  std::vector<std::string> causes{found->findings[0].cause, found->findings[1].cause};
  std::sort(causes.begin(), causes.end());
  EXPECT_EQ(causes, (std::vector<std::string>{"bias_missing", "same_as_symmetric"}));
}

TEST(Cause, SiblingsInAnotherOrderAreTheSame) {
  const Graph a = parsed(std::string(image) + "p = relu(x)\nq = unary(x) function=tanh\ny = concat(p, q)\noutput y\n");
  const Graph b = parsed(std::string(image) + "t = unary(x) function=tanh\nr = relu(x)\ny = concat(r, t)\noutput y\n");
  const auto found = diagnose(a, b);
  ASSERT_TRUE(found.has_value()) << message(found.error());
  EXPECT_TRUE(found->same);
}

// What an earlier mistake makes longer is padded otherwise by the same rule: no second mistake.
TEST(Cause, OfTwoReshapesTheOneThatReadsAnotherOrderIsAtFault) {
  const std::string before = "input x float32[2,2,3,5,7]\nm = reshape(x) to=0,6,5,7\n";
  const Graph a = parsed(before + "y = reshape(m) to=0,2,3,35\noutput y\n");
  const Graph b = parsed(before + "t = transpose(m) permutation=0,2,3,1\ny = reshape(t) to=0,2,3,35\noutput y\n");
  const auto found = diagnose(a, b);
  ASSERT_TRUE(found.has_value()) << message(found.error());
  ASSERT_EQ(found->findings.size(), 1U);
  EXPECT_EQ(found->findings[0].cause, "reshape_layout");
  EXPECT_EQ(found->findings[0].a, "y");
}

TEST(Cause, PadsThatFollowAnotherSizeAreNoDifference) {
  const std::string before =
      std::string(image) + kernel + "const l float32[4,4,3,3] = seed 5\nconst n float32[4,4,3,3] = seed 6\n";
  const auto net = [&](const std::string& first, const std::string& later) {
    return parsed(before + "z = conv(x, k, c) windows=3/" + first + ",3/" + first + " paddings=same,same\n" +
                  "w = conv(z, l) windows=3/2,3/2 paddings=" + later + "\noutput w\n");
  };
  const auto found = diagnose(net("1", "same,same"), net("2", "same,same"));
  ASSERT_TRUE(found.has_value()) << message(found.error());
  ASSERT_EQ(found->findings.size(), 1U);
  EXPECT_EQ(found->findings[0].cause, "stride");
  // A later mistake of its own is still found.
  const auto both = diagnose(net("1", "same,same"), net("2", "1:0,1:0"));
  ASSERT_TRUE(both.has_value()) << message(both.error());
  EXPECT_EQ(both->findings.size(), 2U);
}

TEST(Cause, SiblingsWithEachOthersWeightsAreTold) {
  const std::string before =
      std::string(image) + "const k float32[4,3,3,3] = seed 1\nconst l float32[4,3,3,3] = seed 9\n";
  const auto net = [&](const std::string& first, const std::string& second) {
    return parsed(before + "p = conv(x, " + first + ") windows=3,3 paddings=1:1,1:1\nq = conv(x, " + second +
                  ") windows=3@2,3@2 paddings=2:2,2:2\ny = concat(p, q)\noutput y\n");
  };
  const auto found = diagnose(net("k", "l"), net("l", "k"));
  ASSERT_TRUE(found.has_value()) << message(found.error());
  ASSERT_EQ(found->findings.size(), 2U);
  EXPECT_EQ(found->findings[0].cause, "weights_exchanged");
  EXPECT_EQ(found->findings[1].cause, "weights_exchanged");
}

TEST(Cause, ASizeThatTellsTwoCausesApartIsNamed) {
  const std::string before = "input x float32[2,3,8,11]\n" + std::string(kernel);
  const Graph a = parsed(before + "y = conv(x, k, c) windows=3/2,3 paddings=same,same\noutput y\n");
  const Graph b = parsed(before + "y = conv(x, k, c) windows=3/2,3 paddings=1:0,1:1\noutput y\n");
  const auto found = diagnose(a, b);
  ASSERT_TRUE(found.has_value()) << message(found.error());
  ASSERT_EQ(found->findings.size(), 1U);
  const Finding& finding = found->findings[0];
  // Both give the same numbers; the one is what b says itself. A tie is not certain.
  EXPECT_EQ(finding.cause, "odd_cell_on_the_other_side");
  EXPECT_NE(std::find(finding.also.begin(), finding.also.end(), "same_as_symmetric"), finding.also.end());
  EXPECT_FALSE(finding.certain);
}

// A computes its offset from weights as it runs, and loses digits on the way; b was written with it computed.
TEST(Cause, ConstantsThatWereComputedInFloat32AreNoDifference) {
  const Graph a = parsed(
      "input x float32[2,40]\nconst p float32[40] = seed 1\nu = affine(p) scale=1000.5\nt = binary(u, p)\n"
      "s = binary(t, u) function=subtract\ny = binary(x, s)\noutput y\n");
  Graph b = parsed("input x float32[2,40]\nconst s float32[40] = seed 2\ny = binary(x, s)\noutput y\n");
  const auto constant = [](const Graph& graph) {
    return std::ranges::find_if(graph.values, [](const Value& value) { return value.constant.has_value(); });
  };
  auto numbers = constant(a)->constant->floats();
  for (float& p : numbers) {
    const float u = p * 1000.5F, t = u + p;
    p = t - u;
  }
  const auto place = b.values.begin() + (constant(b) - b.values.begin());
  place->constant = Tensor::of({40}, numbers);
  auto found = diagnose(a, b);
  ASSERT_TRUE(found.has_value()) << message(found.error());
  EXPECT_TRUE(found->same);
  numbers[7] *= 1.01F;
  place->constant = Tensor::of({40}, numbers);
  found = diagnose(a, b);
  ASSERT_TRUE(found.has_value()) << message(found.error());
  EXPECT_FALSE(found->same);
}

TEST(Cause, WhatBeginsOrEndsWithARearrangementIsAnotherModel) {
  const std::string input = "input x float32[2,3,8,8]\n";
  const std::string end = " windows=3,3 paddings=1:1,1:1\n";
  const Graph plain = parsed(input + kernel + "y = conv(x, k, c)" + end + "output y\n");
  const std::vector<std::string> others{
      input + kernel + "t = transpose(x) permutation=0,1,3,2\ny = conv(t, k, c)" + end + "output y\n",
      input + kernel + "y = conv(x, k, c)" + end + "t = transpose(y) permutation=0,1,3,2\noutput t\n",
      input + kernel + "y = conv(x, k, c)" + end + "t = unsqueeze(y) axes=1\noutput t\n",
      input + kernel + "y = conv(x, k, c)" + end + "output y\noutput x\n",
  };
  for (const std::string& other : others) {
    const auto found = diagnose(plain, parsed(other));
    ASSERT_TRUE(found.has_value()) << message(found.error());
    EXPECT_FALSE(found->same) << other;
  }
  const auto same =
      diagnose(plain, parsed(input + kernel +
                             "s = transpose(x) permutation=0,1,3,2\nt = transpose(s) permutation=0,1,3,2\n"
                             "y = conv(t, k, c)" +
                             end + "output y\n"));
  ASSERT_TRUE(same.has_value()) << message(same.error());
  EXPECT_TRUE(same->same);
}

// Both give b's numbers; b's own steps, or its own tensor, tell which it is.
TEST(Cause, AShuffleOfChannelsIsToldFromWeightsInAnotherOrder) {
  const std::string before =
      "input x float32[2,3,5,7]\nconst k float32[6,3,3,3] = seed 1\nconst w float32[4,6,1,1] = seed 2\n"
      "z = conv(x, k) windows=3,3 paddings=1:1,1:1\nr = relu(z)\n";
  const std::string end = "y = conv(";
  const std::string last = ", w) windows=1,1 paddings=0:0,0:0\noutput y\n";
  const Graph a = parsed(before + end + "r" + last);
  const Graph b = parsed(before +
                         "s = reshape(r) to=0,2,3,5,7\nt = transpose(s) permutation=0,2,1,3,4\nu = reshape(t) "
                         "to=0,6,5,7\n" +
                         end + "u" + last);
  for (const bool is_turned : {false, true}) {
    const auto found = is_turned ? diagnose(b, a) : diagnose(a, b);
    ASSERT_TRUE(found.has_value()) << message(found.error());
    ASSERT_EQ(found->findings.size(), 1U);
    EXPECT_EQ(found->findings[0].cause, "channel_order");
    EXPECT_TRUE(found->findings[0].certain);
    EXPECT_EQ(found->findings[0].says, is_turned ? "the channels not put in the order 0, 3, 1, 4, 2, 5"
                                                 : "the channels in the order 0, 3, 1, 4, 2, 5");
  }
}

TEST(Cause, TheOrderOfBlocksMayBeWrittenAsOneOfChannels) {
  const std::string before = "input x float32[2,8,6,10]\n";
  const std::vector<std::pair<std::string, std::string>> rows{
      {"y = depth_to_space(x) depth_first=false\n",
       "t = take(x) axis=1 indices=0,4,1,5,2,6,3,7\ny = depth_to_space(t)\n"},
      {"y = depth_to_space(x)\n",
       "t = take(x) axis=1 indices=0,2,4,6,1,3,5,7\ny = depth_to_space(t) depth_first=false\n"},
  };
  for (const auto& [plain, written] : rows) {
    const auto found = diagnose(parsed(before + plain + "output y\n"), parsed(before + written + "output y\n"));
    ASSERT_TRUE(found.has_value()) << message(found.error());
    EXPECT_TRUE(found->same) << plain;
    EXPECT_EQ(found->scope.identical, found->scope.stretches) << plain;
  }
}

TEST(Cause, AFunctionThatIsWrittenOutIsSaid) {
  const std::string before = std::string(image) + kernel;
  const Graph a = parsed(before + "y = conv(x, k, c) windows=3,3 paddings=1:1,1:1\noutput y\n");
  const Graph b = parsed(before +
                         "z = conv(x, k, c) windows=3,3 paddings=1:1,1:1\nw = unary(z) function=sin\n"
                         "y = binary(z, w) function=multiply\noutput y\n");
  const auto found = diagnose(a, b);
  ASSERT_TRUE(found.has_value()) << message(found.error());
  ASSERT_EQ(found->findings.size(), 1U);
  EXPECT_EQ(found->findings[0].cause, "activation_extra");
  EXPECT_EQ(found->findings[0].says, "x * sin(x) behind it");
}

TEST(Cause, WhatNoKnownMistakeExplainsIsNotGuessed) {
  const std::string before = std::string(image) + kernel;
  const Graph a = parsed(before + "y = conv(x, k, c) windows=3,3 paddings=1:1,1:1\noutput y\n");
  const Graph b = parsed(before +
                         "z = conv(x, k, c) windows=3,3 paddings=1:1,1:1\n"
                         "s = unary(z) function=sin\nt = softmax(s) axes=1\nw = reduce(t) axes=2 keeps_axes=true\n"
                         "p = binary(s, w) function=multiply\nq = binary(p, t)\ny = binary(q, w) function=multiply\n"
                         "output y\n");
  const auto found = diagnose(a, b);
  ASSERT_TRUE(found.has_value()) << message(found.error());
  ASSERT_EQ(found->findings.size(), 1U);
  EXPECT_EQ(found->findings[0].cause, "unknown");
}

}  // namespace
}  // namespace convoy::diagnose::cause_test
