// Says what an image is at the places of a grid by looking up the cells around each place and adding them up by their
// distance. Holds for free batches; the sizes of image and grid must be known.
#include "graph/filled_like.h"
#include "ops/grid_rounding.h"
#include "passes/node_by_node.h"
#include "passes/rewrites.h"

#include <optional>
#include <utility>
#include <vector>

namespace convoy {

namespace {

// What a place says about one axis: the cells around it, inside the image, and how much each one counts.
struct Along {
  std::vector<ValueId> cells, weights;
};

// Steps behind one another. The first failure is kept, and what follows it refers to nothing.
class LookUp {
 public:
  LookUp(const GridSample& op, const Node& node, Patch& patch) : op_(op), node_(node), patch_(patch) {}

  Result<ValueId> run(ValueId x, ValueId grid) {
    const Shape image = patch_.type(x).shape, places = patch_.type(grid).shape;
    channels_ = *image[1];
    count_ = *places[1] * *places[2];
    const Size height = *image[2], width = *image[3];
    const ValueId listed = add(Reshape{{0, count_, 2}}, {grid});
    const Along across = along(add(Slice{.axis = 2, .start = {}, .stop = 1}, {listed}), width);
    const Along down = along(add(Slice{.axis = 2, .start = 1, .stop = {}}, {listed}), height);
    std::vector<ValueId> cells, weights;
    for (std::size_t row = 0; row < down.cells.size(); ++row) {
      const ValueId first = add(Affine{static_cast<double>(width), 0}, {down.cells[row]});
      for (std::size_t column = 0; column < across.cells.size(); ++column) {
        cells.push_back(binary(BinaryFunction::Add, first, across.cells[column]));
        if (!weights_are_one()) weights.push_back(weight(down.weights[row], across.weights[column]));
      }
    }
    const ValueId image_rows = add(Transpose{{0, 2, 3, 1}}, {x});
    const ValueId all = add(Reshape{{0, height * width, channels_}}, {image_rows});
    const ValueId index = add(Cast{DType::I64}, {side_by_side(cells)});
    ValueId found = add(GatherElements{1}, {all, channels_ == 1 ? index : add(Tile{2, channels_}, {index})});
    if (!weights.empty()) found = binary(BinaryFunction::Multiply, found, side_by_side(weights));
    if (cells.size() > 1) {
      found = add(Reshape{{0, static_cast<Size>(cells.size()), count_, channels_}}, {found});
      found = add(Reduce{Reduction::Sum, {1}, false}, {found});
    }
    const ValueId laid_out = add(Reshape{{0, *places[1], *places[2], channels_}}, {found});
    const ValueId y = add(Transpose{{0, 3, 1, 2}}, {laid_out});
    if (error_) return std::unexpected(*error_);
    return y;
  }

 private:
  ValueId add(Op op, std::vector<ValueId> inputs) {
    if (error_) return {};
    auto made = patch_.one(node_, std::move(op), std::move(inputs));
    if (made) return *made;
    error_ = made.error();
    return {};
  }
  ValueId binary(BinaryFunction function, ValueId a, ValueId b) { return add(Binary{function}, {a, b}); }
  ValueId side_by_side(const std::vector<ValueId>& all) { return all.size() == 1 ? all[0] : add(Concat{1}, all); }

  bool is_linear() const { return op_.interpolation == Interpolation::Linear; }
  bool zeros_outside() const { return op_.border == PadMode::Constant; }
  bool weights_are_one() const { return !is_linear() && !zeros_outside(); }
  ValueId weight(ValueId a, ValueId b) { return binary(BinaryFunction::Multiply, a, b); }

  // Where a number of the grid lies, counted in cells. Halving is exact, so the sums are rounded as in PyTorch.
  ValueId place(ValueId g, Size n) {
    const auto length = static_cast<double>(n);
    if (op_.align_corners) return add(Affine{length - 1, 0}, {add(Affine{0.5, 0.5}, {g})});
    return add(Affine{length / 2, -0.5}, {add(Affine{1, 1}, {g})});
  }

  // Mirrored about the centres or the edges of the outer cells, however far it lies outside.
  ValueId mirrored(ValueId at, Size n) {
    const double least = op_.align_corners ? 0 : -0.5, span = static_cast<double>(op_.align_corners ? n - 1 : n);
    if (span == 0) {
      const Shape shape = patch_.type(at).shape;
      const ValueId first =
          patch_.constant(node_.layer + "/first", Tensor::of(Sizes(shape.size(), 1), std::vector<float>{0}), false);
      return filled_like(shape, first, at,
                         [&](Op op, std::vector<ValueId> in) { return add(std::move(op), std::move(in)); });
    }
    const ValueId from_edge = add(Unary{Function::Abs}, {add(Affine{1, -least}, {at})});
    const ValueId turn =
        patch_.constant(node_.layer + "/turn", Tensor::of({}, std::vector<float>{static_cast<float>(2 * span)}), false);
    const ValueId within_turn = binary(BinaryFunction::Modulo, from_edge, turn);
    const ValueId back = add(Unary{Function::Abs}, {add(Affine{1, -span}, {within_turn})});
    return add(Affine{-1, span + least}, {back});
  }

  Along along(ValueId g, Size n) {
    const Clip inside{0, static_cast<double>(n - 1)};
    ValueId at = place(g, n);
    if (op_.border == PadMode::Reflect) at = mirrored(at, n);
    if (!zeros_outside()) at = add(inside, {at});
    const ValueId first = add(Unary{is_linear() ? Function::Floor : Function::Round}, {at});
    std::vector<ValueId> cells{first}, weights;
    if (is_linear()) {
      const ValueId way = binary(BinaryFunction::Subtract, at, first);
      cells.push_back(add(Affine{1, 1}, {first}));
      weights = {add(Affine{-1, 1}, {way}), way};
    }
    Along found;
    for (std::size_t i = 0; i < cells.size(); ++i) {
      found.cells.push_back(add(inside, {cells[i]}));
      if (zeros_outside()) {
        const ValueId is_inside = binary(BinaryFunction::Equal, cells[i], found.cells[i]);
        const ValueId counts = add(Cast{DType::F32}, {is_inside});
        found.weights.push_back(weights.empty() ? counts : weight(weights[i], counts));
      } else if (!weights.empty()) {
        found.weights.push_back(weights[i]);
      }
    }
    return found;
  }

  const GridSample& op_;
  const Node& node_;
  Patch& patch_;
  Size channels_ = 1, count_ = 1;
  std::optional<Error> error_;
};

Status spell(const Graph& graph, NodeId id, const GridSample& op, Patch& patch) {
  const Node& node = graph[id];
  const TensorType &x = graph[node.inputs[0]].type, &grid = graph[node.inputs[1]].type;
  const bool says = op.interpolation == Interpolation::Linear || op.interpolation == Interpolation::Nearest;
  constexpr Size most = Size{1} << 24;  // places in a row that float32 counts
  if (!says || x.rank() != 4 || x.dtype != DType::F32 || grid.dtype != DType::F32) return {};
  const auto known = [](const TensorType& type, std::size_t first) {
    const auto sizes = sizes_of({type.shape.begin() + static_cast<std::ptrdiff_t>(first), type.shape.end()});
    return sizes ? checked_count(*sizes) : std::nullopt;
  };
  const auto cells = known(x, 1), places = known(grid, 1);
  if (!cells || !places || *cells < 1 || *places < 1 || *cells >= most || *places >= most) return {};
  auto y = LookUp(op, node, patch).run(node.inputs[0], node.inputs[1]);
  if (!y) return pass(y);
  patch.remove(id);
  patch.replace(node.outputs[0], *y);
  patch.remark(node, "the cells around each place, looked up and added up by their distance");
  return {};
}

}  // namespace

Result<Patch> lower_grid_sample(const Graph& graph, const Target& target) {
  Patch patch(graph);
  return node_by_node<GridSample>(graph, patch, [&](NodeId id, const auto& op) {
    const bool has_it = target.framework == Framework::OnnxRuntime && !hangs_on_rounding_first(op);
    return has_it ? Status() : spell(graph, id, op, patch);
  });
}

}  // namespace convoy
