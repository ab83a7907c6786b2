// What goes wrong with the windows of convolutions and pools alike: pads, strides, dilation.
#pragma once
#include "diagnose/hypothesis.h"
#include "diagnose/pads_cause.h"
#include "ops/mistaken_padding.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace convoy::diagnose {

// The bias and the weights of a layer beside those of b's.
void guess_bias(Guesses& guesses, std::size_t node, const std::vector<const Node*>& others);
void guess_weights(Guesses& guesses, std::size_t node, const std::vector<const Node*>& others);

template <class O>
class WindowGuesses {
 public:
  WindowGuesses(Guesses& guesses, std::size_t node, const O& op)
      : guesses_(guesses),
        scene_(guesses.scene),
        node_(node),
        about_(scene_.a.nodes[node]),
        op_(op) {
    const Sizes& shape = scene_.shape(about_.inputs[0]);
    for (std::size_t i = 0; i < op.windows.size(); ++i)
      in_.push_back(shape[static_cast<std::size_t>(op.axes.spatial(static_cast<Size>(i)))]);
  }

  void run(const std::vector<const Node*>& others) {
    pads();
    others_pads(others);
    strides(others);
    dilations(others);
    if constexpr (pools) kernels(others);
  }

 private:
  static constexpr bool pools = !std::is_same_v<O, Conv>;

  void add(std::string_view cause, const O& op, int doubts = 0) {
    if (op == op_) return;
    std::string says = "pads " + text_of(op.paddings) + " in place of " + text_of(op_.paddings);
    if (op.windows != op_.windows) says = words(op) + " in place of " + words(op_);
    guesses_.add(cause, about_, std::move(says), with_op(scene_.a, node_, op), doubts);
  }
  static std::string words(const O& op) {
    std::string text = "stride";
    for (const Window& w : op.windows) text += fmt::format(" {}", w.stride);
    text += " dilation";
    for (const Window& w : op.windows) text += fmt::format(" {}", w.dilation);
    return text + " pads " + text_of(op.paddings);
  }

  // The same change on all axes where it applies, and on each alone.
  template <class Change>
  void on_axes(std::string_view cause, Change&& change, int doubts = 0) {
    O all = op_;
    std::size_t changed = 0;
    for (std::size_t i = 0; i < in_.size(); ++i) {
      const std::optional<Padding> now = change(i);
      if (!now || *now == op_.paddings[i]) continue;
      all.paddings[i] = *now;
      ++changed;
    }
    if (changed == 0) return;
    add(cause, all, doubts);
    for (std::size_t i = 0; changed > 1 && i < in_.size(); ++i) {
      O one = op_;
      one.paddings[i] = all.paddings[i];
      add(cause, one, doubts);
    }
  }

  Padding padding(std::size_t i) const { return op_.paddings[i]; }
  bool none(std::size_t i) const { return padding(i).before == 0 && padding(i).after == 0; }
  // Nothing: no axis is padded, or one is not in equal numbers.
  std::optional<O> written_as_same() const {
    O all = op_;
    bool any = false;
    for (std::size_t i = 0; i < in_.size(); ++i) {
      const auto cells = same(i, op_.windows[i]);
      if (!cells || !reads_as_symmetric(i)) return std::nullopt;
      all.paddings[i] = *cells;
      any = any || !none(i);
    }
    return any ? std::optional(all) : std::nullopt;
  }
  // A cell behind that no window reads may be gone.
  bool reads_as_symmetric(std::size_t i) const {
    const Size before = padding(i).before;
    return same_at(padding(i), {Spelling::Explicit, before, before}, op_.windows[i], in_[i]);
  }
  bool is_like_same(std::size_t i) const { return is_same(padding(i), op_.windows[i], in_[i]); }
  bool causal(std::size_t i) const { return in_.size() == 1 && is_causal(padding(i), op_.windows[i]); }
  std::optional<Padding> same(std::size_t i, Window w) const { return in_numbers({Spelling::SameUpper}, w, in_[i]); }

  // B pads nowhere: then its pads were not exchanged, they are gone.
  bool other_is_bare() const {
    const auto others = twins<O>(scene_);
    return !others.empty() && std::ranges::all_of(others, [](const Node* other) {
      return std::ranges::all_of(get<O>(other->op).paddings, [](Padding p) { return p.before == 0 && p.after == 0; });
    });
  }

  void pads() {
    using Changed = std::optional<Padding>;
    on_axes("same_as_symmetric", [&](std::size_t i) -> Changed {
      if (causal(i) || !is_like_same(i)) return {};
      return half_kernel_both_sides(op_.windows[i]);
    });
    on_axes("same_as_symmetric", [&](std::size_t i) -> Changed {
      if (causal(i) || !is_like_same(i)) return {};
      return half_reach_both_sides(op_.windows[i]);
    });
    // The other way round: equal numbers written as SAME, which pads axes that had none as well.
    on_axes("same_as_symmetric", [&](std::size_t i) -> Changed {
      if (none(i) || !reads_as_symmetric(i)) return {};
      return same(i, op_.windows[i]);
    });
    if (const auto written = written_as_same()) add("same_as_symmetric", *written);
    on_axes("odd_cell_on_the_other_side", [&](std::size_t i) -> Changed {
      if (causal(i) && padding(i).before > 1) return {};
      return Padding{Spelling::Explicit, padding(i).after, padding(i).before, padding(i).leftover};
    });
    // Of a pool, cells behind alone are rather a leftover window: ceil_mode.
    const bool starts_outside = std::ranges::any_of(op_.paddings, [](Padding p) { return p.before > 0; });
    on_axes(
        "pad_missing",
        [&](std::size_t i) -> Changed {
          if (pools && padding(i).before == 0 && padding(i).leftover != Leftover::Drop) return {};
          return Padding{Spelling::Explicit, 0, 0, padding(i).leftover};
        },
        pools && !starts_outside ? 1 : 0);
    if constexpr (pools)
      on_axes("pad_missing", [&](std::size_t i) -> Changed {
        if (padding(i).before == 0) return {};
        return Padding{Spelling::Explicit, 0, 0};
      });
    on_axes("pad_where_none", [&](std::size_t i) -> Changed {
      if (!none(i)) return {};
      return half_kernel_both_sides(op_.windows[i]);
    });
    // Cells behind a pool alone are rather a window more.
    const auto starts_inside = [&](std::size_t i) {
      const auto cells = same(i, op_.windows[i]);
      return !cells || cells->before == 0;
    };
    bool all_inside = pools;
    for (std::size_t i = 0; i < in_.size(); ++i) all_inside = all_inside && starts_inside(i);
    on_axes(
        "pad_where_none", [&](std::size_t i) -> Changed { return none(i) ? same(i, op_.windows[i]) : Changed{}; },
        all_inside ? 1 : 0);
    if (in_.size() == 2) {
      O turned = op_;
      std::swap(turned.paddings[0], turned.paddings[1]);
      add("pads_hw_swapped", turned, other_is_bare() ? 1 : 0);
    }
    on_axes("pad_ignores_dilation", [&](std::size_t i) -> Changed {
      if (op_.windows[i].dilation == 1) return {};
      return same_without_dilation(op_.windows[i], in_[i]);
    });
    on_axes("pad_ignores_dilation", [&](std::size_t i) -> Changed {
      if (op_.windows[i].dilation == 1 || none(i)) return {};
      return half_kernel_without_dilation(op_.windows[i]);
    });
    on_axes("causal_as_symmetric", [&](std::size_t i) -> Changed {
      return causal(i) ? Changed{causal_both_sides(op_.windows[i])} : Changed{};
    });
    on_axes("causal_other_side", [&](std::size_t i) -> Changed {
      if (!causal(i)) return {};
      return Padding{Spelling::Explicit, 0, padding(i).before};
    });
    if constexpr (pools) {
      on_axes("ceil_mode", [&](std::size_t i) -> Changed {
        if (padding(i).before != 0) return {};
        return Padding{Spelling::Explicit, 0, 0};
      });
      on_axes("ceil_mode", [&](std::size_t i) -> Changed {
        Padding now = padding(i);
        now.leftover = now.leftover == Leftover::Drop ? Leftover::CeilInside : Leftover::Drop;
        return now;
      });
    } else {
      modes();
    }
  }

  void others_pads(const std::vector<const Node*>& others) {
    for (const Node* other : others) {
      const auto* theirs = get_if<O>(&other->op);
      if (!theirs || theirs->paddings.size() != in_.size() || theirs->windows != op_.windows) continue;
      O now = op_;
      now.paddings = theirs->paddings;
      const bool only_leftover = std::ranges::equal(now.paddings, op_.paddings, [](const Padding& p, const Padding& q) {
        return p.before == q.before && p.after == q.after;
      });
      if (only_leftover) add("ceil_mode", now);
      const PadsChange change{op_.paddings, theirs->paddings, op_.windows, in_, pools};
      const bool says_even = std::ranges::all_of(now.paddings, [](Padding p) { return p.before == p.after; });
      add(says_even && is_same_as_symmetric(change) ? "same_as_symmetric" : cause_of_pads(change), now,
          only_leftover ? 1 : 0);
      if (!only_leftover) add("pad_amount", now, 1);
    }
  }

  // The border filled otherwise: the pads as an operator in front.
  void modes() {
    Pad pad;
    pad.before.assign(in_.size() + 2, 0);
    pad.after = pad.before;
    bool any = false;
    O bare = op_;
    for (std::size_t i = 0; i < in_.size(); ++i) {
      const auto axis = static_cast<std::size_t>(op_.axes.spatial(static_cast<Size>(i)));
      pad.before[axis] = padding(i).before;
      pad.after[axis] = padding(i).after;
      any = any || pad.before[axis] > 0 || pad.after[axis] > 0;
      bare.paddings[i] = {Spelling::Explicit, 0, 0};
    }
    if (!any) return;
    for (const PadMode mode : {PadMode::Reflect, PadMode::Edge, PadMode::Symmetric, PadMode::Wrap}) {
      pad.mode = mode;
      guesses_.add("pad_mode", about_, "a border that is not zero",
                   with_node_in_front(with_op(scene_.a, node_, bare), node_, 0, pad));
    }
  }

  // Changed windows, with each padding that may have come with them.
  void with_windows(std::string_view cause, const std::vector<Window>& windows, const O* theirs) {
    if (windows == op_.windows) return;
    O now = op_;
    now.windows = windows;
    add(cause, now);
    if (in_.size() == 2) {
      std::swap(now.paddings[0], now.paddings[1]);
      add(cause, now);
    }
    bool fits = true, was_same = true;
    for (std::size_t i = 0; i < in_.size(); ++i) {
      const auto numbers = same(i, windows[i]);
      fits = fits && numbers;
      was_same = was_same && is_like_same(i);
      if (numbers) now.paddings[i] = *numbers;
    }
    if (fits && was_same) add(cause, now);
    for (std::size_t i = 0; i < in_.size(); ++i) now.paddings[i] = half_kernel_both_sides(windows[i]);
    if (was_same) add(cause, now);
    if (theirs && theirs->paddings.size() == in_.size() && theirs->windows == windows) {
      now.paddings = theirs->paddings;
      add(cause, now);
    }
  }

  void strides(const std::vector<const Node*>& others) {
    const auto changed = [&](std::string_view cause, const std::vector<Size>& strides) {
      auto windows = op_.windows;
      for (std::size_t i = 0; i < windows.size(); ++i) windows[i].stride = strides[i];
      const O* theirs = nullptr;
      for (const Node* other : others) {
        const auto* one = get_if<O>(&other->op);
        if (one && one->windows == windows) theirs = one;
      }
      with_windows(cause, windows, theirs);
    };
    if (op_.windows.size() == 2 && op_.windows[0].stride != op_.windows[1].stride)
      changed("strides_swapped", {op_.windows[1].stride, op_.windows[0].stride});
    for (const Node* other : others) {
      const auto* theirs = get_if<O>(&other->op);
      if (!theirs || theirs->windows.size() != op_.windows.size()) continue;
      std::vector<Size> strides;
      for (const Window& w : theirs->windows) strides.push_back(w.stride);
      changed("stride", strides);
    }
    for (const Size stride : {1, 2}) changed("stride", std::vector<Size>(op_.windows.size(), stride));
  }

  void dilations(const std::vector<const Node*>& others) {
    const auto changed = [&](const std::vector<Size>& dilations, const O* theirs) {
      auto windows = op_.windows;
      for (std::size_t i = 0; i < windows.size(); ++i) windows[i].dilation = dilations[i];
      with_windows("dilation", windows, theirs);
    };
    for (const Node* other : others) {
      const auto* theirs = get_if<O>(&other->op);
      if (!theirs || theirs->windows.size() != op_.windows.size()) continue;
      std::vector<Size> dilations;
      for (const Window& w : theirs->windows) dilations.push_back(w.dilation);
      changed(dilations, theirs);
    }
    changed(std::vector<Size>(op_.windows.size(), 1), nullptr);
    if (op_.windows.size() == 2) changed({op_.windows[1].dilation, op_.windows[0].dilation}, nullptr);
  }

  // A window of another size, as b has it.
  void kernels(const std::vector<const Node*>& others) {
    for (const Node* other : others) {
      const auto* theirs = get_if<O>(&other->op);
      if (!theirs || theirs->windows.size() != op_.windows.size()) continue;
      bool are_sizes = false, all_but_sizes = true;
      O now = op_;
      for (std::size_t i = 0; i < in_.size(); ++i) {
        are_sizes = are_sizes || theirs->windows[i].kernel != op_.windows[i].kernel;
        all_but_sizes = all_but_sizes && theirs->windows[i].stride == op_.windows[i].stride;
        now.windows[i].kernel = theirs->windows[i].kernel;
      }
      if (!are_sizes) continue;
      now.paddings = theirs->paddings;
      if (all_but_sizes) add("kernel_size", now);
      now.windows = theirs->windows;
      O turned = op_;
      if (in_.size() == 2) std::swap(turned.windows[0], turned.windows[1]);
      add(turned.windows == now.windows ? "kernel_hw_swapped" : "kernel_size", now, all_but_sizes ? 1 : 0);
    }
  }

  Guesses& guesses_;
  const Scene& scene_;
  std::size_t node_;
  const Node& about_;
  const O& op_;
  std::vector<Size> in_;
};

template <class O>
void guess_windows(Guesses& guesses, std::size_t node, const O& op, const std::vector<const Node*>& others) {
  WindowGuesses<O>(guesses, node, op).run(others);
}

}  // namespace convoy::diagnose
