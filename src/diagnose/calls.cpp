#include "diagnose/calls.h"

#include "diagnose/pads_cause.h"
#include "explain/validity.h"
#include "graph/text_fields.h"
#include "ops/agreement.h"
#include "ops/mistaken_padding.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

namespace convoy::diagnose {
namespace {

using explain::Does;
using explain::Explanation;
using AskedLayer = explain::Layer;

// A call, as it was asked and as it was understood.
struct Call {
  Explanation told;
  bool says_bias = false;
  std::string activation;
  bool is_separable = false;  // a 1x1 convolution to these filters follows
  explain::Channels separable_filters;
  const AskedLayer& layer() const { return told.layer; }
};

Result<Call> understood(const explain::Question& question) {
  auto spoken = explain::read_question(question);
  if (!spoken) return pass(spoken);
  auto all = explain::explain(*spoken);
  if (!all) return pass(all);
  const bool is_separable = explain::layers_of(spoken->graph).size() > all->size();
  return Call{std::move(all->front()), spoken->says_bias, spoken->activation, is_separable, spoken->filters};
}

// A call that does not say its kernel, or how many channels it reads, takes the other's.
Result<Call> understood_beside(explain::Question question, const Result<Call>& other) {
  auto alone = understood(question);
  if (!other || (alone && (alone->layer().channels.number || !other->layer().channels.number))) return alone;
  if (!question.channels) question.channels = other->layer().channels.number;
  if (auto told = understood(question)) return told;
  question.kernel = explain::kernels(other->layer());
  if (auto told = understood(question)) return told;
  question.channels.reset();
  if (auto told = understood(question)) return told;
  return alone;
}

std::string_view verb_of(Does does) {
  switch (does) {
    case Does::Convolve: return "convolves";
    case Does::Transpose: return "is a transposed convolution";
    case Does::Maximum: return "takes the maximum";
    case Does::Average: return "takes the average";
    case Does::PowerNorm: return "takes a power norm";
  }
  return {};
}

std::string_view words_of_mode(PadMode mode) { return text::words(mode)[static_cast<std::size_t>(mode)]; }

// Zeros in front of an average are padding that counts.
AskedLayer folded(AskedLayer layer) {
  if (layer.does != Does::Average || !layer.front || layer.counts_padding || layer.divisor ||
      layer.front->mode != PadMode::Constant || layer.front->value != 0)
    return layer;
  for (const Padding& p : layer.paddings)
    if (p.spelling != Spelling::Valid && (p.before != 0 || p.after != 0 || p.leftover != Leftover::Drop)) return layer;
  for (std::size_t i = 0; i < layer.space(); ++i)
    layer.paddings[i] = {Spelling::Explicit, layer.front->before[i], layer.front->after[i]};
  layer.counts_padding = true;
  layer.front.reset();
  return layer;
}

// Whether an average divides by another number where padding counts than where it does not, at some size.
bool does_counting_show(Padding p, Window w, std::optional<Size> in) {
  const auto shows = [&](Size n) {
    const auto at = place(p, w, n);
    if (!at) return false;
    for (const Size o : {Size{0}, at->out - 1})
      if (divisor(*at, w, n, o, Counting::Inside) != divisor(*at, w, n, o, Counting::WithPadding)) return true;
    return false;
  };
  if (in) return shows(*in);
  for (Size r = 0; r < std::min<Size>(w.stride, 64); ++r)
    if (shows(settled_size(r, w))) return true;
  return false;
}

// What is said of each axis; once, where it is the same of all.
class Said {
 public:
  void add(const std::string& axis, std::string text) {
    all_ += (all_.empty() ? "" : "; ") + axis + ": " + text;
    is_one_ = is_one_ && (first_.empty() || first_ == text);
    ++count_;
    first_ = std::move(text);
  }
  std::string text(std::size_t axes) const {
    return is_one_ && axes > 1 && count_ == axes ? "on every axis: " + first_ : all_;
  }

 private:
  std::string all_, first_;
  std::size_t count_ = 0;
  bool is_one_ = true;
};

class Comparing {
 public:
  Comparing(Call a, Call b)
      : a_(std::move(a)),
        b_(std::move(b)),
        one_(folded(a_.layer())),
        other_(folded(b_.layer())) {}

  CallsComparison run() {
    if (one_.does != other_.does) {
      const bool pools = one_.pools() && other_.pools();
      find(pools ? "pool_kind" : "unknown", fmt::format("a {}, b {}", verb_of(one_.does), verb_of(other_.does)));
    } else {
      windows();
      channels();
      if (one_.does == Does::Transpose) crops();
      else pads();
      if (one_.does == Does::Average) divisors();
      if (one_.does == Does::PowerNorm && one_.power != other_.power)
        find("number", fmt::format("the power is {} in a, {} in b", one_.power, other_.power));
      bias();
      separables();
    }
    activations();
    lines();
    for (const auto* call : {&a_, &b_})
      for (const std::string& note : call->told.notes)
        if (std::ranges::find(found_.notes, note) == found_.notes.end()) found_.notes.push_back(note);
    if (one_.axes.order != other_.axes.order && !a_.told.kernel.empty()) found_.kernel = a_.told.kernel;
    found_.a = std::move(a_.told);
    found_.b = std::move(b_.told);
    return std::move(found_);
  }

 private:
  void find(std::string_view cause, std::string says) {
    found_.findings.push_back({std::string(cause), std::move(says)});
  }

  void numbers(std::string_view cause, std::string_view what, const Sizes& one, const Sizes& other) {
    if (one == other) return;
    found_.findings.push_back(
        {std::string(cause),
         fmt::format("{} is {} in a, {} in b", what, explain::tuple_or_one(one), explain::tuple_or_one(other))});
  }
  static bool is_exchanged(const Sizes& one, const Sizes& other) {
    return one.size() == 2 && one[0] != one[1] && other == Sizes{one[1], one[0]};
  }

  void windows() {
    const Sizes k = kernels(one_), l = kernels(other_), s = strides(one_), t = strides(other_);
    numbers(is_exchanged(k, l) ? "kernel_hw_swapped" : "kernel_size", "the kernel", k, l);
    numbers(is_exchanged(s, t) ? "strides_swapped" : "stride", "the stride", s, t);
    numbers("dilation", "the dilation", dilations(one_), dilations(other_));
  }

  void channels() {
    if (one_.depthwise != other_.depthwise || (!one_.depthwise && one_.groups != other_.groups)) {
      const auto words = [](const AskedLayer& layer) {
        return layer.depthwise ? "one group per channel" : fmt::format("{} groups", layer.groups);
      };
      find("groups", fmt::format("a has {}, b {}", words(one_), words(other_)));
    }
    const auto differ = [](const explain::Channels& one, const explain::Channels& other) {
      return one.number && other.number && *one.number != *other.number;
    };
    if (differ(one_.channels, other_.channels))
      find("channels", fmt::format("a reads {} channels, b {}", *one_.channels.number, *other_.channels.number));
    if (one_.pools()) return;
    if (one_.depthwise && other_.depthwise) {
      if (one_.multiplier != other_.multiplier)
        find("channels", fmt::format("a makes {} of each channel, b {}", one_.multiplier, other_.multiplier));
    } else if (differ(one_.filters, other_.filters)) {
      find("channels", fmt::format("a gives {} channels, b {}", *one_.filters.number, *other_.filters.number));
    }
  }

  std::optional<Size> size(std::size_t axis) const {
    const auto in = one_.in[axis].size(), other = other_.in[axis].size();
    return in && other && *in != *other ? std::nullopt : in ? in : other;
  }

  // Where both lie, as the explanation of each says it.
  CallAxis axis(std::size_t i) const {
    const auto words = [&](const Explanation& told) {
      const explain::AxisFacts& facts = told.axes[i];
      if (facts.placed.empty()) return std::string("by size");
      std::vector<std::string> parts;
      for (const explain::Placed& p : facts.placed)
        parts.push_back(fmt::format("{}{}, {}", p.when.empty() ? "" : p.when + ": ", p.before, p.after));
      return fmt::format("{}", fmt::join(parts, "; "));
    };
    return {a_.told.axes[i].name, words(a_.told), words(b_.told), "every size", true};
  }

  // A border of other cells than zeros, or in front of a maximum.
  bool fronts() {
    const auto& one = one_.front;
    const auto& other = other_.front;
    if (!one && !other) return true;
    if (one && other && one->mode == other->mode && (one->mode != PadMode::Constant || one->value == other->value)) {
      if (one->before == other->before && one->after == other->after) return true;
      find("pad_amount", fmt::format("the border has {} and {} cells in a, {} and {} in b",
                                     explain::tuple_or_one(one->before), explain::tuple_or_one(one->after),
                                     explain::tuple_or_one(other->before), explain::tuple_or_one(other->after)));
      return false;
    }
    const auto words = [](const AskedLayer& layer) -> std::string {
      if (!layer.front) return layer.does == Does::Maximum ? "none, or minus infinity" : "zeros";
      if (layer.front->mode != PadMode::Constant) return std::string(words_of_mode(layer.front->mode));
      return fmt::format("{}", layer.front->value);
    };
    const bool constants = (!one || one->mode == PadMode::Constant) && (!other || other->mode == PadMode::Constant);
    find(constants && one_.does == Does::Maximum ? "pool_pad_value" : "pad_mode",
         fmt::format("the border holds {} in a, {} in b", words(one_), words(other_)));
    return false;
  }

  // Compared with a's windows: where those of b are others, that is a finding of its own.
  void pads() {
    if (!fronts()) return;
    const Counting counting = one_.counts_padding && other_.counts_padding ? Counting::WithPadding : Counting::Inside;
    PadsChange change{{}, {}, {}, {}, one_.pools()};
    bool differs = false, fits = true;
    Said said;
    for (std::size_t i = 0; i < one_.space(); ++i) {
      CallAxis at = axis(i);
      const Window w = one_.windows[i];
      const Padding was = one_.paddings[i], now = other_.paddings[i];
      const auto in = size(i);
      constexpr Size longest_period = 4096;
      Size shown = in.value_or(settled_size(0, w));
      if (in || w.stride > longest_period) {
        at.is_same = averages_alike_at(was, now, w, shown, counting);
        at.holds = at.is_same ? "this size" : "not this size";
      } else {
        const Agreement found = agreement(was, now, w, counting);
        at.is_same = found.always();
        at.holds = explain::words_of(found);
        // A size that is long enough to show which mistake it is.
        if (!at.is_same)
          for (Size r = 0; r < w.stride; ++r)
            if (!averages_alike_at(was, now, w, settled_size(r, w), counting)) shown = settled_size(r, w);
      }
      if (!at.is_same) said.add(at.name, text_at(was, now, w, shown, in));
      differs = differs || !at.is_same;
      const auto a = in_numbers(was, w, shown), b = in_numbers(now, w, shown);
      fits = fits && a && b;
      if (a && b) change.was.push_back(*a), change.now.push_back(*b);
      change.windows.push_back(w);
      change.in.push_back(shown);
      found_.axes.push_back(std::move(at));
    }
    if (!differs) return;
    const bool is_halved = fits && is_same_as_symmetric(change);
    find(is_halved ? "same_as_symmetric" : fits ? cause_of_pads(change) : "pad_amount", said.text(one_.space()));
  }

  static std::string text_at(Padding was, Padding now, Window w, Size in, std::optional<Size> asked) {
    const auto words = [&](Padding p) -> std::string {
      const auto at = place(p, w, in);
      if (!at) return "no window";
      const auto always = pads_at_every_size(p, w);
      const Size after = asked ? at->after : always ? always->after : std::max<Size>(0, read_past(*at, w, in));
      return fmt::format("{} in front and {} behind", at->before, after);
    };
    const bool always = asked || (pads_at_every_size(was, w) && pads_at_every_size(now, w));
    return fmt::format("{} in a, {} in b{}", words(was), words(now), always ? "" : fmt::format(", of {} cells", in));
  }

  void crops() {
    bool shifted = true, differs = false;
    Said said;
    for (std::size_t i = 0; i < one_.space(); ++i) {
      CallAxis at = axis(i);
      const Window w = one_.windows[i];
      const Size in = size(i).value_or(ample_size(w));
      const auto was = place(one_.crops[i], w, in), now = place(other_.crops[i], w, in);
      at.is_same = was == now;
      at.holds = at.is_same ? "every size" : "no size";
      if (!at.is_same) {
        differs = true;
        shifted = shifted && was && now && was->out == now->out;
        const auto words = [](const std::optional<Crop>& crop) {
          return crop ? fmt::format("cuts {} in front and {} behind", crop->before, crop->after)
                      : std::string("leaves nothing");
        };
        said.add(at.name, fmt::format("a {}, b {}", words(was), words(now)));
      }
      found_.axes.push_back(std::move(at));
    }
    if (differs) find(shifted ? "transposed_shifted" : "transposed_output_size", said.text(one_.space()));
  }

  void divisors() {
    if (one_.divisor != other_.divisor) {
      const auto words = [](const AskedLayer& layer) {
        return layer.divisor ? fmt::format("by {}", *layer.divisor) : std::string("by its cells");
      };
      return find("pool_divisor", fmt::format("a divides {}, b {}", words(one_), words(other_)));
    }
    if (one_.divisor || one_.counts_padding == other_.counts_padding) return;
    const AskedLayer& counting = one_.counts_padding ? one_ : other_;
    for (std::size_t i = 0; i < counting.space(); ++i)
      if (does_counting_show(counting.paddings[i], counting.windows[i], size(i)))
        return find("pool_divisor", fmt::format("{} counts its padding when it divides, {} does not",
                                                one_.counts_padding ? "a" : "b", one_.counts_padding ? "b" : "a"));
  }

  void bias() {
    if (one_.pools() || a_.is_separable || b_.is_separable || !a_.says_bias || !b_.says_bias ||
        one_.biased == other_.biased)
      return;
    find(one_.biased ? "bias_missing" : "bias_extra",
         one_.biased ? "a has a bias, b says that it has none" : "b has a bias, a says that it has none");
  }

  void separables() {
    const auto &one = a_.separable_filters.number, &other = b_.separable_filters.number;
    if (a_.is_separable != b_.is_separable)
      find(a_.is_separable ? "layer_missing" : "layer_extra",
           fmt::format("{} goes on with a 1x1 convolution to its filters", a_.is_separable ? "a" : "b"));
    else if (a_.is_separable && one && other && *one != *other)
      find("channels", fmt::format("a gives {} channels, b {}", *one, *other));
  }

  void activations() {
    const std::string &one = a_.activation, &other = b_.activation;
    if (one == other) return;
    const std::string_view cause = other.empty() ? "activation_missing"
                                   : one.empty() ? "activation_extra"
                                                 : "activation_kind";
    find(cause, fmt::format("a has {}, b {}", one.empty() ? "no activation" : one, other.empty() ? "none" : other));
  }

  // As many channels as either call says.
  static std::vector<explain::Line> lines_of(Framework framework, AskedLayer layer, const AskedLayer& other) {
    if (!layer.channels.number) layer.channels = other.channels;
    if (!layer.filters.number) layer.filters = layer.pools() ? layer.channels : other.filters;
    auto all = lines_in(framework, layer);
    std::erase_if(all, [](const explain::Line& line) { return !line.equal; });
    return all;
  }
  void lines() {
    if (found_.same()) return;
    found_.b_like_a = lines_of(b_.told.framework, a_.layer(), b_.layer());
    found_.a_like_b = lines_of(a_.told.framework, b_.layer(), a_.layer());
    if (a_.activation != b_.activation) found_.notes.emplace_back("the lines hold the layer alone, no activation");
  }

  Call a_, b_;
  AskedLayer one_, other_;
  CallsComparison found_;
};

}  // namespace

Result<CallsComparison> compare_calls(const explain::Question& a, const explain::Question& b) {
  const auto first = understood(a);
  auto second = within("b", understood_beside(b, first));
  auto whole = within("a", understood_beside(a, second));
  if (!whole) return pass(whole);
  if (!second) return pass(second);
  if (whole->layer().space() != second->layer().space())
    return fail(Fault::Usage, fmt::format("a's windows have {} axes, b's {}; compare two layers of one kind",
                                          whole->layer().space(), second->layer().space()));
  return Comparing(*std::move(whole), *std::move(second)).run();
}

bool is_known_call(const std::string& text) { return explain::is_known(text); }

}  // namespace convoy::diagnose
