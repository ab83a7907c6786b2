#include "diagnose/search.h"

#include "convoy/cancellation.h"
#include "diagnose/cause.h"
#include "diagnose/comparable.h"
#include "graph/text.h"
#include "prove/drawn_numbers.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

namespace convoy::diagnose {

namespace {

constexpr double infinite = std::numeric_limits<double>::infinity();
// How much is computed for two faults at once, in multiplications; enough for any layer of a small model.
constexpr double most_work = 2e9;

// Products that a piece computes, about.
double work_of(const Graph& piece, const std::vector<Tensor>& values) {
  double work = 0;
  for (const Node& node : piece.nodes) {
    double terms = 1;
    for (std::size_t i = 1; i < node.inputs.size(); ++i) {
      const Tensor* constant = constant_of(piece, node, i);
      if (constant && constant->rank() > 1)
        terms = static_cast<double>(constant->count()) / static_cast<double>(std::max<Size>(constant->shape()[0], 1));
    }
    for (const ValueId v : node.outputs) work += terms * static_cast<double>(values[v.slot()].count());
  }
  return work + 3e4 * static_cast<double>(piece.nodes.size());
}

std::vector<Sizes> sizes_of_all(const std::vector<Tensor>& values) {
  std::vector<Sizes> shapes;
  for (const Tensor& value : values) shapes.push_back(value.shape());
  return shapes;
}

Tensor fresh(const Tensor& like, std::mt19937_64& random) {
  if (like.dtype() != DType::F32 && like.dtype() != DType::F64) return like;
  return drawn_numbers(like.shape(), random);
}

struct Tried {
  Hypothesis hypothesis;
  double r = infinite;
  int unlike = 0;  // functions and pools that the changed stretch has more or fewer of than b's
  bool late = false;  // found when an explanation was known: a rival of it, no more
  int apart = 0;  // how far its operators are from those of b, in order
};

// Of equal explanations the one that writes as many functions and pools as b does.
int unlike(const Graph& piece, const Graph& b) {
  const auto count = [](const Graph& graph) {
    return std::ranges::count_if(
        graph.nodes, [](const Node& node) { return is_function(node.op) || holds_alternative<PRelu>(node.op); });
  };
  return static_cast<int>(std::abs(count(piece) - count(b)));
}

// Operators of one that are not operators of the other, in the order in which they stand.
int apart(const Graph& piece, const Graph& b) {
  constexpr std::size_t most = 48;
  const auto words_of = [](const Graph& graph) {
    std::vector<std::string> words;
    for (const Node& node : graph.nodes) words.push_back(text_of(node.op));
    return words;
  };
  const auto x = words_of(piece), y = words_of(b);
  if (x.size() > most || y.size() > most) return 0;
  std::vector<int> common(y.size() + 1, 0);
  for (const std::string& word : x) {
    int corner = 0;
    for (std::size_t j = 0; j < y.size(); ++j) {
      const int above = common[j + 1];
      common[j + 1] = word == y[j] ? corner + 1 : std::max(above, common[j]);
      corner = above;
    }
  }
  return static_cast<int>(x.size() + y.size()) - 2 * common.back();
}

bool is_earlier(const Tried& x, const Tried& y) {
  if (x.hypothesis.edits.size() != y.hypothesis.edits.size())
    return x.hypothesis.edits.size() < y.hypothesis.edits.size();
  if (x.late != y.late) return y.late;
  if (x.unlike != y.unlike) return x.unlike < y.unlike;
  if (x.hypothesis.doubts != y.hypothesis.doubts) return x.hypothesis.doubts < y.hypothesis.doubts;
  const auto is_general = [](const Tried& one) {
    return std::ranges::any_of(one.hypothesis.edits, [](const Edit& edit) { return !is_rival(edit.cause, ""); });
  };
  if (is_general(x) != is_general(y)) return is_general(y);
  // What leaves the very operators that b has.
  if ((x.apart == 0) != (y.apart == 0)) return x.apart == 0;
  int of_x = 0, of_y = 0;
  for (const Edit& edit : x.hypothesis.edits) of_x += rank_of(edit.cause);
  for (const Edit& edit : y.hypothesis.edits) of_y += rank_of(edit.cause);
  return of_x != of_y ? of_x < of_y : x.apart < y.apart;
}

// A function exchanged as a whole, where one step of it explains the numbers: no other cause.
bool says_the_same_at_large(const Hypothesis& best, const Hypothesis& other) {
  const auto is_of_function = [](const Hypothesis& one) {
    return one.edits.size() == 1 && one.edits[0].cause.starts_with("activation_");
  };
  return other.doubts > best.doubts && is_of_function(best) && is_of_function(other);
}

class Search {
 public:
  explicit Search(const Question& question) : q_(question) {}

  Result<Explained> run() {
    auto got = evaluated(q_.inputs_b, q_.inputs_a);
    if (!got) return pass(got);
    got_ = *std::move(got);
    auto values = values_of(q_.a, q_.inputs_a, q_.threads);
    if (!values) return pass(values);
    Explained result;
    const auto output = q_.a.outputs[0].slot();
    result.before = gap_between(got_, (*values)[output], q_.permutation);
    if (!has_its_shape((*values)[output], got_.value.shape())) result.before = of_another_shape(result.before);
    limit_ = result.before.limit;
    of_a_ = arranged(got_.value, inverse(q_.permutation), (*values)[output].shape());
    work_ = work_of(q_.a, *values);
    auto singles = tried(guesses_for(scene(q_.a, *values)));
    std::vector<Tried> accepted = within_limit(singles);
    if (accepted.empty() && q_.tries_pairs) accepted = pairs(singles, result.before.r);
    accepted = told_apart(std::move(accepted));
    settle(result, std::move(accepted), singles);
    return result;
  }

 private:
  // What b computes, and what of a difference is rounding.
  Result<Rounded> evaluated(const std::vector<Tensor>& inputs_b, const std::vector<Tensor>& inputs_a) const {
    auto got = evaluate_sharply(q_.b, inputs_b, q_.sharpness, q_.threads);
    if (!got || q_.sharpness < 1) return got;
    if (auto allowed = allow_for_known(*got, q_.a, inputs_a, q_.permutation, q_.threads); !allowed)
      return pass(allowed);
    return got;
  }

  Scene scene(const Graph& piece, const std::vector<Tensor>& values) const {
    Scene scene{piece, q_.b, values, sizes_of_all(values), q_.reads_input, q_.before, q_.kernels, q_.readers};
    scene.of_model = q_.of_model;
    scene.got = of_a_.count() > 0 ? &of_a_ : nullptr;
    for (std::size_t i = q_.read_by_a; q_.read_by_a > 0 && i < piece.inputs.size(); ++i)
      scene.only_b.push_back(piece.inputs[i]);
    return scene;
  }

  double r_of(const Graph& piece, const Rounded& got, const std::vector<Tensor>& inputs) const {
    const auto value = evaluate(piece, inputs, q_.threads);
    if (!value) return infinite;
    return has_its_shape(*value, got.value.shape()) ? gap_between(got, *value, q_.permutation).r : infinite;
  }

  bool has_its_shape(const Tensor& value, const Sizes& shape) const {
    if (q_.keeps_sizes && !have_same_sizes(value.shape(), shape)) return false;
    if (!q_.exact_shape) return true;
    return value.rank() == static_cast<Size>(q_.permutation.size()) && value.permuted(q_.permutation).shape() == shape;
  }

  std::vector<Tried> tried(std::vector<Hypothesis> guesses) const {
    std::vector<Tried> all;
    for (Hypothesis& guess : guesses) {
      if (Listening::is_cancelled()) break;  // who asked says so
      Tried one{std::move(guess)};
      one.unlike = unlike(one.hypothesis.piece, q_.b);
      one.apart = apart(one.hypothesis.piece, q_.b);
      one.r = r_of(one.hypothesis.piece, got_, q_.inputs_a);
      all.push_back(std::move(one));
    }
    return all;
  }

  std::vector<Tried> within_limit(const std::vector<Tried>& all) const {
    std::vector<Tried> good;
    for (const Tried& one : all)
      if (one.r <= limit_) good.push_back(one);
    return good;
  }

  // Two faults at once: each guess, and behind it every guess about the stretch as that one makes it. Where many guesses
  // would cost too much, those that came nearest go first. Other weights explain what any change of a layer does: where
  // they are part of what is found first, the other guesses about that layer are tried in their place.
  std::vector<Tried> pairs(std::vector<Tried> singles, double r_before) const {
    std::erase_if(singles, [&](const Tried& one) { return one.r == r_before && std::isfinite(one.r); });
    std::ranges::stable_sort(singles, {}, &Tried::r);
    double left = most_work;
    std::vector<Tried> found;
    std::string other_weights;  // the layer
    bool looks_for_rivals = false;
    for (const Tried& first : singles) {
      if (left <= 0 || Listening::is_cancelled()) break;
      const Edit& edit = first.hypothesis.edits.back();
      const bool is_of_layer = edit.layer == other_weights && !is_any_weights(edit);
      if (!found.empty() && !looks_for_rivals && !is_of_layer) continue;
      const auto values = values_of(first.hypothesis.piece, q_.inputs_a, q_.threads);
      if (!values) continue;
      auto guesses = guesses_for(scene(first.hypothesis.piece, *values), first.hypothesis.edits);
      left -= work_ * static_cast<double>(guesses.size() + 1);
      for (Tried& good : within_limit(tried(std::move(guesses)))) {
        good.late = looks_for_rivals;
        found.push_back(std::move(good));
      }
      if (found.empty() || looks_for_rivals) continue;
      const auto best = std::ranges::min_element(found, is_earlier);
      const auto generic = std::ranges::find_if(best->hypothesis.edits, is_any_weights);
      if (generic != best->hypothesis.edits.end()) {
        other_weights = generic->layer;
        continue;
      }
      // Whether others explain it as well is worth as much again.
      looks_for_rivals = true;
      left = std::min(left, most_work - left);
    }
    return found;
  }
  static bool is_any_weights(const Edit& edit) { return edit.cause == "weights_differ"; }

  // Guesses of different causes that agree on the model's own numbers, on fresh ones: those that stay.
  std::vector<Tried> told_apart(std::vector<Tried> accepted) const {
    bool unlike = false;
    for (const Tried& one : accepted)
      unlike = unlike || one.hypothesis.edits.back().cause != accepted[0].hypothesis.edits.back().cause;
    if (!unlike || !q_.for_b) return accepted;
    std::mt19937_64 random(accepted.size());
    std::vector<Tensor> inputs;
    for (const Tensor& input : q_.inputs_a) inputs.push_back(fresh(input, random));
    const auto got = evaluated(q_.for_b(inputs), inputs);
    if (!got) return accepted;
    std::vector<Tried> left;
    for (const Tried& one : accepted) {
      const auto value = evaluate(one.hypothesis.piece, inputs, q_.threads);
      if (value && gap_between(*got, *value, q_.permutation).same) left.push_back(one);
    }
    return left.empty() ? accepted : left;
  }

  void settle(Explained& result, std::vector<Tried> accepted, const std::vector<Tried>& singles) const {
    std::ranges::stable_sort(accepted, is_earlier);
    if (!accepted.empty()) {
      const Tried& best = accepted.front();
      result.edits = best.hypothesis.edits;
      std::ranges::stable_sort(result.edits, {}, [&](const Edit& edit) { return position(edit); });
      result.r_after = best.r;
      for (const Tried& other : accepted) {
        if (other.hypothesis.edits.size() != result.edits.size()) continue;
        // What keeps a function that b does not have, where the first one leaves b's very operators.
        if (best.apart == 0 && best.unlike == 0 && other.unlike > 0) continue;
        if (says_the_same_at_large(best.hypothesis, other.hypothesis)) continue;
        for (const Edit& edit : other.hypothesis.edits) {
          const std::string id(edit.cause);
          const bool is_own =
              std::ranges::any_of(result.edits, [&](const Edit& own) { return own.cause == edit.cause; });
          if (!is_own && std::ranges::find(result.also, id) == result.also.end()) result.also.push_back(id);
        }
      }
    }
    result.r_next = infinite;
    for (const Tried& one : singles) {
      const Edit& edit = one.hypothesis.edits.back();
      const bool is_own = std::ranges::any_of(result.edits, [&](const Edit& own) { return own.cause == edit.cause; }) ||
                          std::ranges::find(result.also, edit.cause) != result.also.end();
      if (is_own || one.r >= result.r_next || one.r <= limit_) continue;
      result.r_next = one.r;
      result.next = std::string(edit.cause);
    }
    // Layers that are moved and then are not those of b only happen to give its numbers.
    const bool is_unlike =
        !accepted.empty() && accepted.front().unlike > 0 &&
        std::ranges::any_of(result.edits, [](const Edit& edit) { return edit.cause == "order_of_layers"; });
    result.certain = !is_unlike && result.r_next >= 100 * std::max(result.r_after, limit_);
  }

  // Where the edited layer stands in the stretch; what is in front of it comes first.
  std::pair<std::ptrdiff_t, int> position(const Edit& edit) const {
    const auto it = std::ranges::find(q_.a.nodes, edit.layer, &Node::layer);
    return {it == q_.a.nodes.end() ? -1 : it - q_.a.nodes.begin(), rank_of(edit.cause)};
  }

  const Question& q_;
  Rounded got_;
  Tensor of_a_;  // the same in a's order of axes
  double limit_ = 0;
  double work_ = 0;
};

}  // namespace

Result<Explained> explain(const Question& question) { return Search(question).run(); }

}  // namespace convoy::diagnose
