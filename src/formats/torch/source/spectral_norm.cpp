#include "formats/torch/source/spectral_norm.h"

#include <algorithm>

namespace convoy::torch {

Made spectral(Tracer& tracer, Interpreter&, Arguments& given) {
  const auto taken = python::bound(given, "module name n_power_iterations eps dim", 1, "spectral_norm");
  if (!taken) return std::unexpected(taken.error());
  auto* module = (*taken)[0]->as<Instance>();
  if (!module || !is_module(*(*taken)[0])) return fail(Fault::Format, "spectral_norm() of what is no module");
  const auto* word = (*taken)[1] ? (*taken)[1]->as<python::Text>() : nullptr;
  const std::string name = word ? word->text : "weight";
  const Value* found = module->attributes.find(name);
  const auto* weight = found ? found->as<SourceTensor>() : nullptr;
  if (!weight || !weight->is_parameter)
    return fail(Fault::Format, "spectral_norm(): the module has no parameter '" + name + "'");
  const bool turned = std::ranges::any_of(module->type->order,
                                          [](const Class* one) { return one->native.starts_with("ConvTranspose"); });
  const bool is_said = (*taken)[4] && (*taken)[4]->is_whole();
  const Size rows = is_said ? (*taken)[4]->whole() : turned ? 1 : 0;
  const Size rank = tracer.graph[weight->value].type.rank();
  if (rows < -rank || rows >= rank) return fail(Fault::Format, "spectral_norm(): axis " + std::to_string(rows));
  if (tracer.options().seed) {  // vectors that it divides by are drawn, and made better by iteration
    using What = Tracer::Draw::What;
    tracer.draws.push_back({What::Lose, weight->value, {}, {}, 0, {}, "spectral_norm()"});
    tracer.draws.push_back({What::Lose, {}, {}, {}, 0, {}});
  }
  tracer.spectral[weight->value.index] = rows < 0 ? rows + rank : rows;
  return *(*taken)[0];
}

namespace {

struct Kept {
  std::string whole, left, right;  // names in the file
};

// u . W v, where cell (row, column) of W is taken along `rows` and along all other axes in order.
Result<double> largest(const Tensor& weight, const Tensor& left, const Tensor& right, Size rows) {
  const auto at = static_cast<std::size_t>(rows);
  Size inner = 1;
  for (std::size_t i = at + 1; i < weight.shape().size(); ++i) inner *= weight.shape()[i];
  const Size height = weight.shape()[at], width = height == 0 ? 0 : weight.count() / height;
  if (left.count() != height || right.count() != width)
    return fail(Fault::Format, "vectors of " + std::to_string(left.count()) + " and " + std::to_string(right.count()) +
                                   " numbers for a weight of " + std::to_string(height) + " rows and " +
                                   std::to_string(width) + " columns");
  const auto w = weight.doubles(), u = left.doubles(), v = right.doubles();
  double sum = 0;
  for (Size i = 0; i < weight.count(); ++i) {
    const Size outer = i / (inner * height), row = i / inner % height, column = outer * inner + i % inner;
    sum += u[static_cast<std::size_t>(row)] * w[static_cast<std::size_t>(i)] * v[static_cast<std::size_t>(column)];
  }
  return sum;
}

}  // namespace

Status divide_by_spectral_norm(std::vector<LoadedTensor>& loaded, const std::string& name, Size rows) {
  const auto dot = name.rfind('.');
  const std::string path = dot == std::string::npos ? "" : name.substr(0, dot + 1), last = name.substr(path.size());
  const std::string part = path + "parametrizations." + last + ".";
  const auto entry = [&](const std::string& wanted) { return std::ranges::find(loaded, wanted, &LoadedTensor::name); };
  for (const Kept& kept :
       {Kept{name + "_orig", name + "_u", name + "_v"}, Kept{part + "original", part + "0._u", part + "0._v"}}) {
    const auto whole = entry(kept.whole), left = entry(kept.left), right = entry(kept.right);
    if (whole == loaded.end() || left == loaded.end() || right == loaded.end()) continue;
    const auto norm = largest(whole->tensor, left->tensor, right->tensor, rows);
    if (!norm) return within("'" + kept.whole + "'", Status(std::unexpected(norm.error())));
    auto numbers = whole->tensor.doubles();
    for (double& x : numbers) x /= *norm;
    whole->tensor = Tensor::of(whole->tensor.shape(), std::move(numbers)).converted(whole->tensor.dtype());
    whole->name = name;
    std::erase_if(loaded, [&](const LoadedTensor& one) { return one.name == kept.left || one.name == kept.right; });
    return {};
  }
  return {};
}

}  // namespace convoy::torch
