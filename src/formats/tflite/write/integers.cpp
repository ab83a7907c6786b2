#include "formats/tflite/write/integers.h"

#include "base/budget.h"
#include "base/fresh_names.h"
#include "formats/numbers.h"
#include "formats/tflite/write/integer_forms.h"

#include <algorithm>
#include <cmath>
#include <set>

namespace convoy::tflite {
namespace {

using Place = std::int32_t;
using Steps = std::shared_ptr<const Quantization>;

// Whole numbers and their zero points, so much more each, in bytes of the other sign.
Quantization shifted(Quantization as, DType to) {
  if (as.dtype == to) return as;
  const std::int64_t by = to == DType::I8 ? -128 : 128;
  for (std::int64_t& zero : as.zero_points) zero += by;
  as.dtype = to;
  return as;
}

Tensor shifted(const Tensor& whole, DType to) {
  if (whole.dtype() == to) return whole;
  std::vector<std::byte> bytes(whole.bytes().begin(), whole.bytes().end());
  for (std::byte& one : bytes) one ^= std::byte{0x80};
  return *Tensor::owning(to, whole.shape(), std::move(bytes));
}

// What all ways through the document share: its tensors, and who makes and reads them.
class IntegerDocument {
 public:
  explicit IntegerDocument(Document& document) : document_(document) {}

  DocumentTensor& tensor(Place t) { return document_.tensors[static_cast<std::size_t>(t)]; }
  const Steps& steps(Place t) { return tensor(t).quantization; }
  std::vector<DocumentOperator>& operators() { return document_.operators; }
  bool is_output(Place t) const { return std::ranges::count(document_.outputs, t) > 0; }
  bool is_outside(Place t) const { return is_output(t) || std::ranges::count(document_.inputs, t) > 0; }

  // Another tensor of the same shape.
  Place add_like(Place t, std::string_view word, TensorType type, Steps steps) {
    if (!names_) {
      std::set<std::string> taken;
      for (const DocumentTensor& each : document_.tensors) taken.insert(each.name);
      names_.emplace(std::move(taken));
    }
    std::string name = names_->take(tensor(t).name + "/" + std::string(word), ".", 1);
    document_.tensors.push_back({std::move(name), std::move(type), {}, {}, std::move(steps)});
    return static_cast<Place>(document_.tensors.size()) - 1;
  }
  Place add_whole(Place t, const Steps& steps) {
    return add_like(t, "whole", {steps->dtype, tensor(t).type.shape}, steps);
  }

  struct Use {
    std::int64_t made_by = -1;  // the place of an operator
    std::vector<std::size_t> read_by;
  };
  std::vector<Use> uses() {
    std::vector<Use> all(document_.tensors.size());
    for (std::size_t i = 0; i < document_.operators.size(); ++i) {
      for (const Place t : document_.operators[i].inputs)
        if (t >= 0) all[static_cast<std::size_t>(t)].read_by.push_back(i);
      for (const Place t : document_.operators[i].outputs)
        all[static_cast<std::size_t>(t)].made_by = static_cast<std::int64_t>(i);
    }
    return all;
  }

  // Tensors that nothing needs any more go, and the others move up.
  void drop_unused(std::vector<std::string>& left) {
    std::vector<char> needed(document_.tensors.size(), 0);
    for (const auto* list : {&document_.inputs, &document_.outputs})
      for (const Place t : *list) needed[static_cast<std::size_t>(t)] = 1;
    for (const DocumentOperator& op : document_.operators)
      for (const auto* list : {&op.inputs, &op.outputs})
        for (const Place t : *list)
          if (t >= 0) needed[static_cast<std::size_t>(t)] = 1;
    std::vector<Place> now(needed.size(), -1);
    std::vector<DocumentTensor> kept;
    for (std::size_t t = 0; t < needed.size(); ++t) {
      if (needed[t] == 0) continue;
      left.push_back(document_.tensors[t].name);
      now[t] = static_cast<Place>(kept.size());
      kept.push_back(std::move(document_.tensors[t]));
    }
    document_.tensors = std::move(kept);
    const auto renumber = [&](std::vector<Place>& list) {
      for (Place& t : list)
        if (t >= 0) t = now[static_cast<std::size_t>(t)];
    };
    renumber(document_.inputs), renumber(document_.outputs);
    for (DocumentOperator& op : document_.operators) renumber(op.inputs), renumber(op.outputs);
  }

 private:
  Document& document_;
  std::optional<FreshNames> names_;
};

bool is_named(const DocumentOperator& op, std::string_view name) { return op.name == name; }

// Bytes that QUANTIZE makes and DEQUANTIZE reads alone take the sign that is wanted; of others, inputs and outputs among them,
// there is a second tensor that does.
void give_one_sign(IntegerDocument& all, DType sign) {
  const auto uses = all.uses();
  std::map<Place, Place> second;
  for (std::size_t t = 0; t < uses.size(); ++t) {
    const auto place = static_cast<Place>(t);
    if (!all.steps(place)) continue;
    const auto& made_by = uses[t].made_by;
    bool alone = !all.is_outside(place) && made_by >= 0 &&
                 is_named(all.operators()[static_cast<std::size_t>(made_by)], "QUANTIZE");
    for (const std::size_t reader : uses[t].read_by) alone = alone && is_named(all.operators()[reader], "DEQUANTIZE");
    if (!alone && all.steps(place)->dtype == sign) continue;
    const auto steps = std::make_shared<const Quantization>(shifted(*all.steps(place), sign));
    if (!alone) second[place] = all.add_whole(place, steps);
    else all.tensor(place).quantization = steps, all.tensor(place).type.dtype = sign;
  }
  std::vector<DocumentOperator> now;
  std::set<Place> turned;
  for (DocumentOperator& op : all.operators()) {
    if (is_named(op, "DEQUANTIZE"))
      if (const auto found = second.find(op.inputs[0]); found != second.end()) {
        if (turned.insert(found->second).second) now.push_back({"QUANTIZE", 1, {found->first}, {found->second}, {}});
        op.inputs[0] = found->second;
      }
    const auto found = is_named(op, "QUANTIZE") ? second.find(op.outputs[0]) : second.end();
    if (found != second.end()) op.outputs[0] = found->second, turned.insert(found->second);
    now.push_back(std::move(op));
    if (found != second.end()) now.push_back({"QUANTIZE", 1, {found->second}, {found->first}, {}});
  }
  all.operators() = std::move(now);
}

// The square of a difference that nothing else reads: its kernel does not round in between.
void join_squared_differences(IntegerDocument& all) {
  const auto uses = all.uses();
  std::set<std::size_t> joined;
  for (DocumentOperator& op : all.operators()) {
    if (!is_named(op, "SQUARE") || all.is_output(op.inputs[0])) continue;
    const auto& use = uses[static_cast<std::size_t>(op.inputs[0])];
    if (use.made_by < 0 || use.read_by.size() != 1) continue;
    const auto front = static_cast<std::size_t>(use.made_by);
    const DocumentOperator& difference = all.operators()[front];
    if (!is_named(difference, "SUB") || !difference.options.empty()) continue;
    op = {"SQUARED_DIFFERENCE", 1, difference.inputs, op.outputs, {}};
    joined.insert(front);
  }
  std::vector<DocumentOperator> now;
  for (std::size_t i = 0; i < all.operators().size(); ++i)
    if (!joined.contains(i)) now.push_back(std::move(all.operators()[i]));
  all.operators() = std::move(now);
}

// Rounding behind what only moves numbers is rounding in front of it.
bool round_in_front(IntegerDocument& all, IntegerReport& report) {
  const auto uses = all.uses();
  for (std::size_t i = 0; i < all.operators().size(); ++i) {
    const DocumentOperator rounding = all.operators()[i];
    if (!is_named(rounding, "QUANTIZE")) continue;
    const auto& use = uses[static_cast<std::size_t>(rounding.inputs[0])];
    if (use.made_by < 0 || use.read_by.size() != 1 || all.is_output(rounding.inputs[0])) continue;
    const auto front = static_cast<std::size_t>(use.made_by);
    DocumentOperator moving = all.operators()[front];
    const IntegerForm* form = integer_form_of(moving);
    if (!form || form->kind != IntegerKind::Moves || moving.outputs.size() != 1) continue;
    std::vector<std::size_t> numbers;
    for (std::size_t k = 0; k < moving.inputs.size(); ++k)
      if (holds_numbers(moving, k)) numbers.push_back(k);
    // What is padded with minus infinity has no steps: the reference kernel rounds that to the other end.
    const auto stays = [&](std::size_t k) {
      const auto& input = uses[static_cast<std::size_t>(moving.inputs[k])];
      return all.tensor(moving.inputs[k]).constant.has_value() ||
             (input.made_by >= 0 && is_named(all.operators()[static_cast<std::size_t>(input.made_by)], "PADV2"));
    };
    if (std::ranges::any_of(numbers, stays)) continue;
    std::vector<DocumentOperator> now;
    for (const std::size_t k : numbers) {
      const Place x = moving.inputs[k];
      moving.inputs[k] = all.add_whole(x, all.steps(rounding.outputs[0]));
      now.push_back({"QUANTIZE", 1, {x}, {moving.inputs[k]}, {}});
    }
    moving.outputs = rounding.outputs;
    report.names.try_emplace(all.tensor(rounding.outputs[0]).name);  // nothing is rounded to it any more
    now.push_back(std::move(moving));
    auto& operators = all.operators();
    operators.erase(operators.begin() + static_cast<std::ptrdiff_t>(i));
    operators.erase(operators.begin() + static_cast<std::ptrdiff_t>(front));
    operators.insert(operators.begin() + static_cast<std::ptrdiff_t>(front), now.begin(), now.end());
    return true;
  }
  return false;
}

class IntegerKernels {
 public:
  IntegerKernels(IntegerDocument& all, const HeldWeights& held, DType sign, IntegerReport& report)
      : all_(all),
        held_(held),
        sign_(sign),
        report_(report) {}

  void choose() {
    std::vector<DocumentOperator> given = std::move(all_.operators());
    all_.operators() = given;
    uses_ = all_.uses();
    given_ = &given;
    is_done_.assign(given.size(), 0);
    for (std::size_t i = 0; i < given.size(); ++i)
      if (is_done_[i] == 0) take(given[i]);
    for (std::size_t t = 0; t < uses_.size(); ++t)
      if (all_.is_output(static_cast<Place>(t))) widen(static_cast<Place>(t));
    all_.operators() = std::move(now_);
  }

 private:
  struct Refusal {
    std::string why;
  };

  void take(DocumentOperator op) {
    for (Place& t : op.inputs)
      if (const auto found = same_.find(t); found != same_.end()) t = found->second;
    if (is_named(op, "DEQUANTIZE") && all_.steps(op.inputs[0])) {
      whole_[op.outputs[0]] = op.inputs[0];
      const auto [first, is_first] = read_as_.emplace(op.inputs[0], op.outputs[0]);
      if (!is_first && is_only_rounded(first->second)) first->second = op.outputs[0];
      report_.names[all_.tensor(op.inputs[0]).name].widened = all_.tensor(first->second).name;
      return;
    }
    if (is_named(op, "QUANTIZE")) return take_rounding(std::move(op));
    const IntegerForm* form = integer_form_of(op);
    if (form && form->kind == IntegerKind::Moves && moves_whole(op, form->version)) return;
    if (form && form->kind == IntegerKind::Compares && compares_whole(op, form->version)) return;
    if (is_named(op, "SHAPE") && whole_.contains(op.inputs[0])) op.inputs[0] = whole_.at(op.inputs[0]);
    if (is_rounded(op)) {
      const auto refusal = computes_whole(op, form);
      if (!refusal) return;
      report_.left.emplace_back(all_.tensor(op.outputs[0]).name, std::string(op.name) + ": " + refusal->why);
    }
    for (const Place t : op.inputs) widen(t);
    now_.push_back(std::move(op));
  }

  void take_rounding(DocumentOperator op) {
    const Place x = op.inputs[0], y = op.outputs[0];
    const auto found = whole_.find(x);
    auto& names = report_.names[all_.tensor(y).name];
    if (!all_.steps(x)) names.rounded = all_.tensor(x).name;  // else whole numbers of the other sign
    if (found != whole_.end()) {
      const Place whole = found->second;
      if (*all_.steps(whole) == *all_.steps(y) && !all_.is_output(y)) {
        // Where both are read, what is rounded once more is a tensor of its own, which its name goes by; the kernel of whole
        // numbers hands it on.
        if (is_widened(y) && !is_only_rounded(x)) now_.push_back({"QUANTIZE", 1, {whole}, {y}, {}});
        else same_[y] = whole;
        return;
      }
      // Between two scales the kernel of whole numbers rounds twice, a step off at every fourth number.
      widen(x);
      report_.left.emplace_back(all_.tensor(y).name, "QUANTIZE: from steps of another scale");
    }
    now_.push_back(std::move(op));
  }

  // Behind DEQUANTIZE: the numbers are moved first, and widened then.
  bool moves_whole(DocumentOperator& op, int version) {
    Steps steps;
    for (std::size_t i = 0; i < op.inputs.size(); ++i) {
      if (!holds_numbers(op, i)) continue;
      const auto found = whole_.find(op.inputs[i]);
      if (found == whole_.end() || (steps && !(*steps == *all_.steps(found->second)))) return false;
      steps = all_.steps(found->second);
    }
    if (!steps) return false;
    for (std::size_t i = 0; i < op.inputs.size(); ++i)
      if (holds_numbers(op, i)) op.inputs[i] = whole_.at(op.inputs[i]);
    for (Place& y : op.outputs) {
      const Place whole = all_.add_whole(y, steps);
      const std::string& name = all_.tensor(y).name;
      report_.names[all_.tensor(whole).name] = {name, {}};
      whole_[y] = whole;
      y = whole;
    }
    op.version = std::max(op.version, version);
    now_.push_back(std::move(op));
    ++report_.whole;
    return true;
  }

  // Its kernel compares in steps of 1/256, and takes numbers of less for equal ones.
  bool compares_whole(const DocumentOperator& op, int version) {
    DocumentOperator whole = op;
    const auto is_apart = [&](Place t) {
      const float scale = all_.steps(t)->scales.front();
      return scale < 1 && (scale >= 0x1p-8F || all_.tensor(t).constant.has_value());
    };
    if (!is_rounded(op) || take_inputs(whole) || !std::ranges::all_of(whole.inputs, is_apart)) return false;
    whole.version = std::max(whole.version, version);
    now_.push_back(std::move(whole));
    ++report_.whole;
    return true;
  }

  // Whether it stands beside steps: else float32 is what is meant.
  bool is_rounded(const DocumentOperator& op) {
    return std::ranges::any_of(op.inputs, [&](Place t) { return whole_.contains(t); });
  }

  bool is_widened(Place whole) {
    return std::ranges::any_of(uses_[static_cast<std::size_t>(whole)].read_by,
                               [&](std::size_t reader) { return is_named((*given_)[reader], "DEQUANTIZE"); });
  }

  // Rounded to the same steps again: what is widened behind that is what the others read.
  bool is_only_rounded(Place real) {
    return !all_.is_output(real) &&
           std::ranges::all_of(uses_[static_cast<std::size_t>(real)].read_by,
                               [&](std::size_t reader) { return is_named((*given_)[reader], "QUANTIZE"); });
  }

  // The QUANTIZE that alone reads the only result. Nothing: there is none.
  std::optional<std::size_t> rounding_behind(const DocumentOperator& op) {
    if (op.outputs.size() != 1 || all_.is_output(op.outputs[0])) return std::nullopt;
    const auto& readers = uses_[static_cast<std::size_t>(op.outputs[0])].read_by;
    if (readers.size() != 1 || !is_named((*given_)[readers[0]], "QUANTIZE")) return std::nullopt;
    return readers[0];
  }

  // Nothing: it is computed in whole numbers.
  std::optional<Refusal> computes_whole(DocumentOperator& op, const IntegerForm* form) {
    if (!form) return Refusal{"no kernel of whole numbers"};
    const auto rounding = rounding_behind(op);
    if (!rounding) return Refusal{"what it gives is not rounded"};
    const Place y = (*given_)[*rounding].outputs[0];
    DocumentOperator whole = op;
    auto refusal = form->kind == IntegerKind::Weighted ? weigh(whole, *form) : take_inputs(whole);
    if (refusal) return refusal;
    if (form->kind == IntegerKind::Signed && form->weight >= 0 &&
        all_.steps(whole.inputs[static_cast<std::size_t>(form->weight)])->zero_points.front() != 0)
      return Refusal{"its second factor has a zero point, which XNNPACK's kernel leaves out"};
    const auto takes = [&](std::size_t i) {
      return takes_steps(form->kind, *all_.steps(whole.inputs[i]), *all_.steps(y));
    };
    bool fits = takes(static_cast<std::size_t>(form->x));
    for (std::size_t i = 0; form->kind == IntegerKind::Moves && i < whole.inputs.size(); ++i)
      fits = fits && (whole.inputs[i] < 0 || !holds_numbers(whole, i) || takes(i));
    if (!fits)
      return Refusal{form->kind == IntegerKind::SameSteps || form->kind == IntegerKind::Moves
                         ? "its kernel of whole numbers gives the steps that it takes, and here they are others"
                         : "its kernel of whole numbers gives steps of its own, and here they are others"};
    report_.names[all_.tensor(y).name].rounded = all_.tensor(op.outputs[0]).name;
    whole.outputs[0] = y;
    whole.version = std::max(whole.version, form->version);
    now_.push_back(std::move(whole));
    is_done_[*rounding] = 1;
    ++report_.whole;
    return std::nullopt;
  }

  std::optional<Refusal> take_inputs(DocumentOperator& op) {
    for (std::size_t i = 0; i < op.inputs.size(); ++i) {
      if (op.inputs[i] < 0 || !holds_numbers(op, i)) continue;
      if (const auto found = whole_.find(op.inputs[i]); found != whole_.end()) {
        op.inputs[i] = found->second;
        continue;
      }
      const auto held = held_here(op.inputs[i]);
      if (!held || held->second.per_axis()) return Refusal{"not all that it takes is rounded"};
      op.inputs[i] = add_constant(op.inputs[i], held->first, held->second);
    }
    return std::nullopt;
  }

  // Of bytes; the axis is that of the scales.
  std::optional<std::pair<Tensor, Quantization>> held_here(Place t) {
    const DocumentTensor& tensor = all_.tensor(t);
    const auto found = tensor.constant ? held_.find(tensor.value) : held_.end();
    if (found == held_.end() || bytes_of(found->second.as.dtype) != 1) return std::nullopt;
    auto held = held_as(*tensor.constant, found->second);
    if (!held) return std::nullopt;
    Quantization as = found->second.as;
    as.axis = held->axis.value_or(0);
    return std::pair(shifted(held->whole, sign_), shifted(std::move(as), sign_));
  }

  std::optional<Refusal> weigh(DocumentOperator& op, const IntegerForm& form) {
    const auto x = static_cast<std::size_t>(form.x), w = static_cast<std::size_t>(form.weight);
    const auto input = whole_.find(op.inputs[x]);
    if (input == whole_.end()) return Refusal{"what it takes is not rounded"};
    const auto weight = held_here(op.inputs[w]);
    if (!weight) return Refusal{"its weights are not whole numbers of 8 bits"};
    const Quantization& as = weight->second;
    const bool around_zero = std::ranges::all_of(as.zero_points, [](std::int64_t z) { return z == 0; });
    if (sign_ == DType::I8 && !around_zero) return Refusal{"its weights have a zero point, which int8 kernels ignore"};
    if (sign_ == DType::U8 && as.per_axis()) return Refusal{"its weights have a scale for each channel, beside uint8"};
    if (as.per_axis() && as.axis != form.axis)
      return Refusal{"its weights have a scale for each place along another axis"};
    const auto b = static_cast<std::size_t>(form.bias);
    std::optional<std::pair<Tensor, Quantization>> bias;
    if (b < op.inputs.size() && op.inputs[b] >= 0) {
      bias = whole_bias(op.inputs[b], *all_.steps(input->second), as);
      if (!bias) return Refusal{"its bias is not whole in steps of the input's times the weights'"};
      op.inputs[b] = add_constant(op.inputs[b], bias->first, bias->second);
    }
    op.inputs[x] = input->second;
    op.inputs[w] = add_constant(op.inputs[w], weight->first, as);
    if (is_named(op, "FULLY_CONNECTED") && as.per_axis()) op.version = std::max(op.version, 12);
    return std::nullopt;
  }

  std::optional<std::pair<Tensor, Quantization>> whole_bias(Place t, const Quantization& in,
                                                            const Quantization& weight) {
    const DocumentTensor& tensor = all_.tensor(t);
    if (!tensor.constant || tensor.constant->dtype() != DType::F32) return std::nullopt;
    HeldWeight held{*Tensor::owning(DType::I32, {0}, {}), {DType::I32, {}, {}, 0}};
    for (const float scale : weight.scales) held.as.scales.push_back(in.scales.front() * scale);
    const auto own = held_.find(tensor.value);
    if (own != held_.end() && own->second.as.dtype == DType::I32 &&
        std::ranges::equal(own->second.as.scales, held.as.scales,
                           [](float a, float b) { return std::abs(a - b) <= b * 1e-5F; }))
      held = own->second;
    held.as.zero_points.resize(held.as.scales.size(), 0);
    if (std::ranges::any_of(held.as.zero_points, [](std::int64_t z) { return z != 0; })) return std::nullopt;
    auto found = held_as(*tensor.constant, held);
    if (!found) return std::nullopt;
    held.as.axis = 0;
    return std::pair(std::move(found->whole), std::move(held.as));
  }

  // Named as the tensor of real numbers that nobody reads then.
  Place add_constant(Place real, const Tensor& whole, const Quantization& as) {
    const auto key = std::pair(real, as.dtype);
    if (const auto found = constants_.find(key); found != constants_.end() && *all_.steps(found->second) == as)
      return found->second;
    const Place made = all_.add_like(real, "whole", {as.dtype, all_.tensor(real).type.shape},
                                     std::make_shared<const Quantization>(as));
    all_.tensor(made).constant = whole;
    report_.names[all_.tensor(made).name] = {all_.tensor(real).name, {}};
    return constants_[key] = made;
  }

  // Where real numbers are read that whole ones stand for.
  void widen(Place t) {
    const auto found = whole_.find(t);
    if (found == whole_.end() || !widened_.insert(t).second) return;
    now_.push_back({"DEQUANTIZE", 2, {found->second}, {t}, {}});
  }

  IntegerDocument& all_;
  const HeldWeights& held_;
  DType sign_;
  IntegerReport& report_;
  const std::vector<DocumentOperator>* given_ = nullptr;
  std::vector<IntegerDocument::Use> uses_;
  std::vector<char> is_done_;  // by operator: another has done its work
  std::vector<DocumentOperator> now_;
  std::map<Place, Place> whole_,
      same_;  // what real numbers are widened from; whole numbers by another tensor of theirs
  std::map<Place, Place> read_as_;  // by whole numbers: the real ones that stand for them
  std::map<std::pair<Place, DType>, Place> constants_;
  std::set<Place> widened_;
};

// int8, unless more weights have a zero point of their own than a scale for each channel.
DType sign_for(IntegerDocument& all, const HeldWeights& held) {
  std::int64_t shifted_weights = 0, per_channel = 0;
  for (const DocumentOperator& op : all.operators()) {
    const IntegerForm* form = integer_form_of(op);
    if (!form || form->kind != IntegerKind::Weighted) continue;
    const auto found = held.find(all.tensor(op.inputs[static_cast<std::size_t>(form->weight)]).value);
    if (found == held.end()) continue;
    const Quantization as = found->second.as;
    const std::int64_t middle = as.dtype == DType::U8 ? 128 : 0;
    per_channel += as.per_axis() ? 1 : 0;
    shifted_weights += std::ranges::any_of(as.zero_points, [&](std::int64_t z) { return z != middle; }) ? 1 : 0;
  }
  return shifted_weights > per_channel ? DType::U8 : DType::I8;
}

}  // namespace

Status compute_in_integers(Document& document, const HeldWeights& held, IntegerReport& report) {
  IntegerDocument all(document);
  Size bytes = 0;
  for (const DocumentTensor& tensor : document.tensors) bytes += tensor.constant ? tensor.constant->count() * 4 : 0;
  if (auto s = budget::afford(bytes, "whole numbers of weights"); !s) return s;
  const DType sign = sign_for(all, held);
  give_one_sign(all, sign);
  join_squared_differences(all);
  while (round_in_front(all, report))
    if (auto s = budget::spend(static_cast<Size>(document.operators.size()) * 16, "rounding"); !s) return s;
  IntegerKernels(all, held, sign, report).choose();
  all.drop_unused(report.held);
  return {};
}

}  // namespace convoy::tflite
