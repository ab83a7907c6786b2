#include "library/load_options.h"

#include "formats/source.h"

#include <string>
#include <utility>

namespace convoy {

Result<Shape> shape_of(const ModelShape& sizes, const std::string& input) {
  Shape shape;
  for (const auto& size : sizes) {
    if (size && *size < 1)
      return fail(Fault::Usage, "the shape of input '" + input + "' holds " + std::to_string(*size) +
                                    ": give whole numbers from 1, or nothing for a free size");
    shape.push_back(size ? Dim(*size) : Dim::unknown());
  }
  return shape;
}

Result<LoadOptions> load_options(const std::filesystem::path& file, const ReadOptions& options) {
  LoadOptions to;
  if (!options.weights.empty()) to.weights = options.weights;
  else if (is_source(file)) {
    auto beside = weights_beside(file);
    if (!beside) return pass(beside);
    to.weights = std::move(*beside);
  }
  to.size = options.size;
  for (const auto& [input, sizes] : options.shapes) {
    auto shape = shape_of(sizes, input);
    if (!shape) return pass(shape);
    to.shapes.emplace(input, *std::move(shape));
  }
  to.types = options.types;
  to.outputs = options.outputs;
  to.dequantizes = options.dequantizes;
  to.import_roots = options.import_roots;
  to.seed = options.seed;
  to.names = options.names;
  if (!options.signature.empty()) to.signature = options.signature;
  return to;
}

}  // namespace convoy
