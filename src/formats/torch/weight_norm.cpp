#include "formats/torch/weight_norm.h"

#include <cmath>
#include <map>
#include <optional>

namespace convoy::torch {
namespace {

struct WeightNames {
  std::string weight, direction;
};

// What the magnitude's name says the other two are; nothing of any other name.
std::optional<WeightNames> weight_names_of(const std::string& magnitude) {
  if (magnitude.ends_with("_g")) {
    const std::string weight = magnitude.substr(0, magnitude.size() - 2);
    return WeightNames{weight, weight + "_v"};
  }
  constexpr std::string_view last = ".original0", step = "parametrizations.";
  const auto at = magnitude.rfind(step);
  if (!magnitude.ends_with(last) || at == std::string::npos || (at > 0 && magnitude[at - 1] != '.'))
    return std::nullopt;
  const std::string stem = magnitude.substr(0, magnitude.size() - last.size());
  return WeightNames{magnitude.substr(0, at) + stem.substr(at + step.size()), stem + ".original1"};
}

bool fits(const Sizes& magnitude, const Sizes& direction) {
  if (magnitude.empty()) return true;
  if (magnitude.size() != direction.size()) return false;
  for (std::size_t i = 0; i < magnitude.size(); ++i)
    if (magnitude[i] != 1 && magnitude[i] != direction[i]) return false;
  return true;
}

bool floats(DType dtype) {
  return dtype == DType::F16 || dtype == DType::BF16 || dtype == DType::F32 || dtype == DType::F64;
}

// For each element of `direction`, row-major, the element of `magnitude` that belongs to it.
std::vector<std::size_t> owners(const Sizes& magnitude, const Sizes& direction, std::size_t count) {
  std::vector<std::size_t> owner(count, 0);
  if (magnitude.empty()) return owner;
  std::size_t inner = 1, stride = 1;
  for (std::size_t axis = direction.size(); axis-- > 0;) {
    const auto size = static_cast<std::size_t>(direction[axis]);
    if (magnitude[axis] != 1) {
      for (std::size_t i = 0; i < count; ++i) owner[i] += i / inner % size * stride;
      stride *= size;
    }
    inner *= size;
  }
  return owner;
}

Tensor plain(const Tensor& magnitude, const Tensor& direction) {
  const std::vector<double> g = magnitude.doubles();
  std::vector<double> values = direction.doubles();
  const auto owner = owners(magnitude.shape(), direction.shape(), values.size());
  std::vector<double> squares(g.size(), 0);
  for (std::size_t i = 0; i < values.size(); ++i) squares[owner[i]] += values[i] * values[i];
  for (std::size_t i = 0; i < values.size(); ++i) values[i] *= g[owner[i]] / std::sqrt(squares[owner[i]]);
  return Tensor::of(direction.shape(), std::move(values)).converted(direction.dtype());
}

std::map<std::string, const Tensor*> by_name(const std::vector<LoadedTensor>& tensors) {
  std::map<std::string, const Tensor*> names;
  for (const auto& [name, tensor] : tensors) names.emplace(name, &tensor);
  return names;
}

}  // namespace

std::vector<NormedWeight> normed_weights(const std::vector<LoadedTensor>& tensors) {
  const auto names = by_name(tensors);
  std::vector<NormedWeight> found;
  for (const auto& [name, tensor] : tensors) {
    const auto words = weight_names_of(name);
    const auto direction = words ? names.find(words->direction) : names.end();
    if (direction != names.end() && fits(tensor.shape(), direction->second->shape()))
      found.push_back({words->weight, name, words->direction});
  }
  return found;
}

Result<std::vector<LoadedTensor>> with_plain_weights(std::vector<LoadedTensor> tensors) {
  const auto names = by_name(tensors);
  std::map<std::string, std::optional<LoadedTensor>> instead;  // of a magnitude the weight, of a direction nothing
  for (const auto& [weight, magnitude, direction] : normed_weights(tensors)) {
    const Tensor &g = *names.at(magnitude), &v = *names.at(direction);
    if (!floats(g.dtype()) || !floats(v.dtype()))
      return fail(Fault::Unsupported, "'" + direction + "' is " + std::string(name_of(v.dtype())) +
                                          ", which has no norm; list or carry it without --plain");
    if (names.contains(weight))
      return fail(Fault::Unsupported, "'" + weight + "' is there beside '" + direction + "' and '" + magnitude + "'");
    instead[magnitude] = LoadedTensor{weight, plain(g, v)};
    instead[direction] = std::nullopt;
  }
  std::vector<LoadedTensor> all;
  for (auto& one : tensors) {
    const auto other = instead.find(one.name);
    if (other == instead.end()) all.push_back(std::move(one));
    else if (other->second) all.push_back(std::move(*other->second));
  }
  return all;
}

}  // namespace convoy::torch
