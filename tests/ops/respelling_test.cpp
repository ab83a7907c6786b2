// Every respelling into every vocabulary against lists of the cells that are read, exhaustively.
#include "ops/cells.h"
#include "ops/vocabulary.h"
#include "support/share.h"

#include <gtest/gtest.h>
#include <array>
#include <random>

namespace convoy::respelling_test {
namespace {

constexpr std::array frameworks{Framework::Torch,       Framework::Keras,  Framework::TensorFlow, Framework::Onnx,
                                Framework::OnnxRuntime, Framework::Tflite, Framework::CoreMl};
constexpr std::array operators{Windowed::Convolutions, Windowed::Depthwise, Windowed::MaxPools, Windowed::Averages,
                               Windowed::CountingAverages};

std::vector<Speaker> speakers() {
  std::vector<Speaker> all;
  for (const Framework f : frameworks)
    for (const Windowed o : operators) all.push_back({f, o, 22});
  for (const Windowed o : operators)
    for (const int opset : {1, 7, 10}) all.push_back({Framework::Onnx, o, opset});
  return all;
}

std::vector<Padding> spellings() {
  std::vector<Padding> all{{Spelling::SameUpper}, {Spelling::SameLower}, {Spelling::Causal}};
  for (const Leftover leftover : {Leftover::Drop, Leftover::CeilInside, Leftover::Ceil}) {
    all.push_back({Spelling::Valid, 0, 0, leftover});
    for (const auto& [before, after] : std::vector<std::pair<Size, Size>>{
             {0, 0}, {0, 1}, {1, 0}, {1, 1}, {1, 2}, {2, 1}, {2, 2}, {0, 3}, {3, 3}, {4, 1}, {5, 7}})
      all.push_back({Spelling::Explicit, before, after, leftover});
  }
  return all;
}

std::string text(Padding p) {
  static constexpr std::array words{"explicit", "valid", "same", "same_lower", "causal"};
  static constexpr std::array leftovers{"", " ceil", " ceil inside"};
  return std::string(words[static_cast<std::size_t>(p.spelling)]) + " " + std::to_string(p.before) + "," +
         std::to_string(p.after) + leftovers[static_cast<std::size_t>(p.leftover)];
}
std::string text(Window w) {
  return "kernel " + std::to_string(w.kernel) + " stride " + std::to_string(w.stride) + " dilation " +
         std::to_string(w.dilation);
}

// The oracle's verdict: the same cells read by the same taps, and the same divisors.
bool alike(Padding a, Padding b, Window w, Size in, Counting counting) {
  const auto rows_a = oracle::rows_of(a, w, in), rows_b = oracle::rows_of(b, w, in);
  const bool counts = counting == Counting::WithPadding;
  return oracle::cells_read(rows_a, in) == oracle::cells_read(rows_b, in) &&
         oracle::divisors(rows_a, in, counts) == oracle::divisors(rows_b, in, counts);
}

// Many speakers answer the same: each answer is looked at once.
class Judge {
 public:
  Judge(Padding p, Window w, Size in) : p_(p), w_(w), in_(in) {}
  bool right(Padding q, Counting counting) {
    for (const auto& [seen, how] : right_)
      if (seen == q && how == counting) return true;
    if (!alike(p_, q, w_, in_, counting)) return false;
    right_.emplace_back(q, counting);
    return true;
  }

 private:
  Padding p_;
  Window w_;
  Size in_;
  std::vector<std::pair<Padding, Counting>> right_;
};

template <class F>
void for_windows(Size kernels, Size strides, Size dilations, const F& check) {
  int turn = 0;
  for (Size kernel = 1; kernel <= kernels; ++kernel)
    for (Size stride = 1; stride <= strides; ++stride)
      for (Size dilation = 1; dilation <= dilations; ++dilation)
        if (turn++ % test::share == 0) check(Window{kernel, stride, dilation});
}

TEST(Respelling, ReadsTheSameCellsAtEverySizeThatIsKnown) {
  const auto all = speakers();
  const auto paddings = spellings();
  Size found = 0;
  for_windows(7, 5, 3, [&](Window w) {
    for (const Padding& p : paddings)
      for (Size in = 1; in <= 40; ++in) {
        Judge judge(p, w, in);
        const std::optional<Size> size = in;
        for (const Speaker& s : all)
          if (const auto said = respell(s, {&p, 1}, {&w, 1}, {&size, 1})) {
            ++found;
            ASSERT_TRUE(judge.right(said->paddings[0], s.counting()))
                << text(p) << " became " << text(said->paddings[0]) << ", " << text(w) << ", size " << in;
            ASSERT_EQ(form_of(s, said->paddings, {&w, 1}).has_value(), true);
          }
      }
  });
  EXPECT_GT(found, 4'000'000 / test::share);
}

TEST(Respelling, ReadsTheSameCellsAtEverySizeWhereItIsFree) {
  const auto all = speakers();
  const auto paddings = spellings();
  constexpr std::optional<Size> free;
  Size found = 0;
  for_windows(7, 5, 3, [&](Window w) {
    for (const Padding& p : paddings) {
      std::vector<std::pair<Padding, Counting>> answers;
      for (const Speaker& s : all)
        if (const auto said = respell(s, {&p, 1}, {&w, 1}, {&free, 1})) {
          ++found;
          const std::pair answer{said->paddings[0], s.counting()};
          if (std::ranges::find(answers, answer) == answers.end()) answers.push_back(answer);
        }
      for (const auto& [q, counting] : answers)
        for (Size in = 1; in <= 60; ++in)
          ASSERT_TRUE(alike(p, q, w, in, counting))
              << text(p) << " became " << text(q) << ", " << text(w) << ", size " << in;
    }
  });
  EXPECT_GT(found, 50'000 / test::share);
}

// Where nothing was found, nothing is there: every spelling that the framework has was tried.
TEST(Respelling, FindsWhatThereIs) {
  std::vector<Padding> tried{{Spelling::SameUpper}, {Spelling::SameLower}, {Spelling::Causal}};
  for (const Leftover leftover : {Leftover::Drop, Leftover::CeilInside, Leftover::Ceil}) {
    tried.push_back({Spelling::Valid, 0, 0, leftover});
    for (Size before = 0; before <= 6; ++before)
      for (Size after = 0; after <= 9; ++after) tried.push_back({Spelling::Explicit, before, after, leftover});
  }
  const auto all = speakers();
  const auto paddings = spellings();
  for_windows(4, 4, 2, [&](Window w) {
    for (const Padding& p : paddings)
      for (const std::optional<Size> size : {std::optional<Size>{}, std::optional<Size>{5}, std::optional<Size>{8}})
        for (const Speaker& s : all) {
          if (size && !place(p, w, *size)) continue;
          // A pad longer than the window, of which no framework gives up more than one window.
          if (p.leftover == Leftover::CeilInside && p.after >= w.reach()) continue;
          if (respell(s, {&p, 1}, {&w, 1}, {&size, 1})) continue;
          for (const Padding& q : tried) {
            if (!speaks(s, {&q, 1}, {&w, 1})) continue;
            ASSERT_FALSE(same_for(p, q, w, size, s.counting()))
                << text(p) << " is " << text(q) << ", " << text(w) << ", size " << size.value_or(0) << ", framework "
                << static_cast<int>(s.framework) << " operator " << static_cast<int>(s.windowed);
          }
        }
  });
}

// A pad in front and then the padding itself, against the one padding that both are.
TEST(Folding, APadInFrontReadsTheSameCells) {
  const auto paddings = spellings();
  for_windows(5, 4, 2, [&](Window w) {
    for (const Padding& p : paddings)
      for (const Added front : {Added{1, 1}, Added{0, 2}, Added{3, 1}})
        for (Size in = 1; in <= 14; ++in)
          for (const std::optional<Size> known : {std::optional<Size>{in}, std::optional<Size>{}}) {
            const auto one = folded(front, p, w, known);
            if (!one) continue;
            auto rows = oracle::rows_of(p, w, in + front.before + front.after);
            for (auto& window : rows.windows)
              for (Size& cell : window) cell -= front.before;
            ASSERT_EQ(oracle::cells_read(rows, in), oracle::cells_read(oracle::rows_of(*one, w, in), in))
                << text(p) << ", " << text(w) << ", size " << in;
          }
  });
  const Window w{7, 2, 1};
  EXPECT_EQ(folded({3, 3}, {Spelling::Valid}, w, {}), (Padding{Spelling::Explicit, 3, 3}));
  EXPECT_FALSE(folded({3, 3}, {Spelling::SameUpper}, w, {}));
  EXPECT_FALSE(folded({-1, 0}, {Spelling::Valid}, w, 9));
}

TEST(Respelling, OneWordIsSaidOfAllAxesOrOfNone) {
  const std::array windows{Window{3, 2, 1}, Window{5, 1, 1}};
  const std::array same{Padding{Spelling::SameUpper}, Padding{Spelling::SameUpper}};
  const std::array mixed{Padding{Spelling::SameUpper}, Padding{Spelling::Explicit, 1, 1}};
  const std::array<std::optional<Size>, 2> free{}, sizes{9, 12};
  const Speaker keras{Framework::Keras}, tensorflow{Framework::TensorFlow}, torch{Framework::Torch};
  EXPECT_EQ(respell(keras, same, windows, free)->form, Form::SameUpper);
  EXPECT_FALSE(respell(keras, mixed, windows, free));
  EXPECT_FALSE(respell(tensorflow, mixed, windows, free));  // the rows' pads depend on the size
  EXPECT_EQ(respell(tensorflow, mixed, windows, sizes)->form, Form::Numbers);
  EXPECT_FALSE(respell(torch, same, windows, free));
  // 9 is odd: one cell on both sides.
  EXPECT_EQ(respell(torch, same, windows, sizes)->paddings,
            (std::vector<Padding>{{Spelling::Explicit, 1, 1}, {Spelling::Explicit, 2, 2}}));
}

TEST(Respelling, TwoAxesAreEachTheSameCells) {
  std::mt19937 random(11);
  const auto pick = [&](Size low, Size high) { return std::uniform_int_distribution<Size>(low, high)(random); };
  const auto all = speakers();
  const auto paddings = spellings();
  const auto spelling = [&] { return paddings[static_cast<std::size_t>(pick(0, std::ssize(paddings) - 1))]; };
  int found = 0;
  for (int i = 0; i < 20'000 / test::share; ++i) {
    const std::array windows{Window{pick(1, 7), pick(1, 5), pick(1, 3)}, Window{pick(1, 7), pick(1, 5), pick(1, 3)}};
    const std::array before{spelling(), spelling()};
    const std::array<std::optional<Size>, 2> sizes{pick(1, 20), pick(21, 40)};
    const Speaker s = all[static_cast<std::size_t>(pick(0, std::ssize(all) - 1))];
    const auto said = respell(s, before, windows, sizes);
    if (!said) continue;
    ++found;
    ASSERT_TRUE(speaks(s, said->paddings, windows));
    for (std::size_t a = 0; a < 2; ++a)
      ASSERT_TRUE(alike(before[a], said->paddings[a], windows[a], *sizes[a], s.counting()));
  }
  EXPECT_GT(found, 3'000 / test::share);
}

TEST(Vocabulary, SaysWhatTheFrameworksDocument) {
  const auto says = [](Speaker s, Padding p, Window w) { return speaks(s, {&p, 1}, {&w, 1}); };
  const Padding same{Spelling::SameUpper}, one{Spelling::Explicit, 1, 1}, uneven{Spelling::Explicit, 0, 1};
  const Padding up{Spelling::Explicit, 1, 1, Leftover::CeilInside};
  EXPECT_TRUE(says({Framework::Torch}, same, {3, 1, 2}));
  EXPECT_FALSE(says({Framework::Torch}, same, {3, 2, 1}));
  EXPECT_FALSE(says({Framework::Torch}, uneven, {3, 1, 1}));
  EXPECT_TRUE(says({Framework::Torch, Windowed::MaxPools}, up, {3, 2, 1}));
  EXPECT_FALSE(says({Framework::Torch, Windowed::MaxPools}, {Spelling::Explicit, 2, 2}, {3, 2, 2}));  // half of 3 is 1
  EXPECT_FALSE(says({Framework::Torch, Windowed::Averages}, {Spelling::Valid}, {3, 1, 2}));  // no dilation
  EXPECT_TRUE(says({Framework::Keras}, {Spelling::Causal}, {3, 2, 1}));
  EXPECT_FALSE(says({Framework::Keras}, same, {3, 2, 2}));
  EXPECT_TRUE(says({Framework::Keras, Windowed::Depthwise}, same, {3, 2, 2}));
  EXPECT_FALSE(says({Framework::Keras}, one, {3, 1, 1}));
  EXPECT_FALSE(says({Framework::TensorFlow}, one, {3, 1, 1}));  // one axis: conv1d takes no list
  EXPECT_FALSE(says({Framework::TensorFlow, Windowed::Depthwise}, same, {3, 2, 2}));
  EXPECT_FALSE(says({Framework::TensorFlow, Windowed::MaxPools}, same, {3, 2, 2}));
  EXPECT_FALSE(says({Framework::Keras, Windowed::CountingAverages}, same, {3, 1, 1}));
  EXPECT_TRUE(says({Framework::Onnx}, same, {3, 1, 2}));
  EXPECT_FALSE(says({Framework::OnnxRuntime}, same, {3, 1, 2}));
  EXPECT_FALSE(says({Framework::Onnx, Windowed::MaxPools, 8}, up, {3, 2, 1}));
  EXPECT_TRUE(says({Framework::Onnx, Windowed::MaxPools, 10}, up, {3, 2, 1}));
  EXPECT_FALSE(says({Framework::Onnx, Windowed::Averages, 18}, {Spelling::Valid}, {3, 1, 2}));
  EXPECT_TRUE(says({Framework::Onnx, Windowed::Averages, 19}, {Spelling::Valid}, {3, 1, 2}));
  EXPECT_FALSE(says({Framework::OnnxRuntime, Windowed::MaxPools}, {Spelling::Explicit, 3, 3}, {3, 1, 2}));
  EXPECT_TRUE(says({Framework::Tflite}, same, {3, 2, 1}));
  EXPECT_FALSE(says({Framework::Tflite}, one, {3, 1, 1}));
  EXPECT_TRUE(says({Framework::CoreMl}, uneven, {3, 1, 1}));
  EXPECT_FALSE(says({Framework::CoreMl}, same, {3, 1, 1}));
  EXPECT_TRUE(says({Framework::CoreMl, Windowed::MaxPools}, {Spelling::Valid, 0, 0, Leftover::Ceil}, {2, 3, 1}));
  EXPECT_FALSE(says({Framework::CoreMl, Windowed::MaxPools}, {Spelling::Valid, 0, 0, Leftover::CeilInside}, {2, 3, 1}));
  const std::array two{Window{3, 1, 1}, Window{2, 1, 1}};
  EXPECT_TRUE(speaks({Framework::TensorFlow}, std::array{uneven, one}, two));
  EXPECT_FALSE(
      speaks({Framework::TensorFlow, Windowed::MaxPools}, std::array{one, Padding{Spelling::Explicit, 0, 2}}, two));
  EXPECT_FALSE(speaks({Framework::Keras}, std::array{Padding{Spelling::Causal}, Padding{Spelling::Causal}}, two));
}

}  // namespace
}  // namespace convoy::respelling_test
