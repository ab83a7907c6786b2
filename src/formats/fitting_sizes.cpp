#include "formats/fitting_sizes.h"

#include "base/budget.h"

#include <algorithm>

namespace convoy {
namespace {

using SpaceSizes = std::vector<std::optional<Size>>;

std::string space_text(const SpaceSizes& sizes) {
  std::string text;
  for (const auto& n : sizes) text += (text.empty() ? "" : "x") + (n ? std::to_string(*n) : std::string("?"));
  return text;
}

// Spatial sizes as --size says them, or those of the one --shape of an image: what is tried in their place.
class Trials {
 public:
  Trials(const LoadOptions& options, const LoadWith& load) : options_(options), load_(load) {
    options_.listing = nullptr;
    options_.remarks = nullptr;
    if (!options_.size.empty()) space_ = options_.size.size();
    for (const auto& [name, shape] : options_.shapes)
      if (options_.size.empty() && shape.size() > 2) shaped_ = name, space_ = shape.size() - 2;
    declared_ = as_declared();
    if (declared_ && shaped_) find_space();
  }

  bool can_vary() const { return space_ > 0; }
  std::size_t space() const { return space_; }

  bool fits(const SpaceSizes& sizes) {
    LoadOptions one = options_;
    if (shaped_) {
      Shape& shape = one.shapes[*shaped_];
      for (std::size_t i = 0; i < sizes.size(); ++i) shape[i + first_] = sizes[i] ? Dim(*sizes[i]) : Dim::unknown();
    } else {
      one.size = sizes;
    }
    return load_(one).has_value();
  }

  // Whether a program that says no sizes itself takes others than were asked for.
  bool fits_freely() const {
    LoadOptions one = options_;
    for (auto& [name, shape] : one.shapes) std::ranges::fill(shape, Dim::unknown());
    std::ranges::fill(one.size, std::nullopt);
    return load_(one).has_value();
  }

  // As the file says them; a program says none, and is asked nothing.
  const Result<Graph>& declared() const { return declared_; }

 private:
  // Behind the batch or behind the channels, whichever the file says and is asked for; other channels fit at no size.
  void find_space() {
    const Shape& asked = options_.shapes.at(*shaped_);
    for (const ValueId v : declared_->inputs) {
      const Shape& own = (*declared_)[v].type.shape;
      if ((!shaped_->empty() && (*declared_)[v].name != *shaped_) || own.size() != asked.size()) continue;
      const auto is_channels = [&](std::size_t axis) { return own[axis].known() && own[axis] == asked[axis]; };
      const bool told = own[1].known() || own.back().known();
      if (is_channels(own.size() - 1) && !is_channels(1)) first_ = 1;
      else if (told && !is_channels(1)) space_ = 0;
    }
  }

  Result<Graph> as_declared() const {
    LoadOptions plain = options_;
    plain.size.clear();
    plain.shapes.clear();
    return load_(plain);
  }

  LoadOptions options_;
  const LoadWith& load_;
  Result<Graph> declared_ = fail(Fault::Usage, "");
  std::size_t space_ = 0, first_ = 2;  // spatial axes, and the first of them
  std::optional<std::string> shaped_;
};

std::string asked_for(const LoadOptions& options) {
  if (!options.size.empty()) return "--size " + space_text(options.size);
  std::string text;
  for (const auto& [name, shape] : options.shapes) {
    text += (text.empty() ? "--shape " : " --shape ") + (name.empty() ? "" : name + "=");
    for (std::size_t i = 0; i < shape.size(); ++i)
      text += (i ? "," : "") + (shape[i].known() ? std::to_string(*shape[i]) : std::string("?"));
  }
  return text;
}

// Equal sizes along every axis, from 1 on as far as the work that is granted goes: "6x6, 28x28 to 31x31".
std::string fitting(Trials& trials, const budget::Asking& asking, bool& all_tried) {
  constexpr Size most = 300;
  std::string text;
  Size first = 0;
  int runs = 0;
  all_tried = true;
  const auto square = [&](Size n) { return SpaceSizes(trials.space(), std::optional(n)); };
  for (Size n = 1; n <= most + 1; ++n) {
    const bool fits = n <= most && trials.fits(square(n));
    all_tried = !asking.is_over();
    if (!all_tried) break;
    if (fits && !first) first = n;
    if (!fits && first) {
      if (runs++ < 3) {
        text += (text.empty() ? "" : ", ") + space_text(square(first));
        if (n > most) text += " and larger";
        else if (n - 1 > first) text += " to " + space_text(square(n - 1));
      }
      first = 0;
    }
  }
  if (first) text += (text.empty() ? "" : ", ") + space_text(square(first));
  return runs > 3 ? text + ", ..." : text;
}

std::string shapes_of(const Graph& graph) {
  std::string text;
  for (const ValueId v : graph.inputs)
    text += (text.empty() ? "" : ", ") + graph[v].name + " " + text_of(graph[v].type.shape);
  return text;
}

}  // namespace

Error told_by_size(const Error& error, const LoadOptions& options, const LoadWith& load) {
  if (error.fault != Fault::Format || (options.size.empty() && options.shapes.empty())) return error;
  const budget::Asking asking;
  Trials trials(options, load);
  const auto& declared = trials.declared();
  bool all_tried = true;
  const std::string sizes = trials.can_vary() ? fitting(trials, asking, all_tried) : "";
  if (!declared && sizes.empty() && !trials.fits_freely()) return error;
  std::string what = error.what + "; " + asked_for(options) + " does not fit";
  if (!sizes.empty()) what += "; sizes that fit" + std::string(all_tried ? ": " : ", among others: ") + sizes;
  if (declared) what += "; the file itself says " + shapes_of(*declared);
  return {Fault::Usage, std::move(what), error.where};
}

}  // namespace convoy
