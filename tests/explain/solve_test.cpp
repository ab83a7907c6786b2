// The solver against a search over every padding, and against places that frameworks gave.
#include "explain/solve.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <set>

namespace convoy::explain::solve_test {
namespace {

SolveQuestion one_axis(Window w, std::optional<Size> in, std::optional<Size> out = {}) { return {{w}, {in}, {out}}; }

std::string text_of_answer(const SolveQuestion& q) {
  const auto answer = solve(q);
  return answer ? text_of(*answer) : message(answer.error());
}

const Solution* meaning(const SolveAnswer& answer, std::string_view words) {
  for (const auto& s : answer.solutions)
    if (s.meaning.contains(words)) return &s;
  return nullptr;
}

std::string code(const Solution& s, std::string_view framework) {
  for (const auto& line : s.lines)
    if (line.framework == framework) return line.code;
  return "";
}

// Every cell that the windows read, the definition.
std::vector<Size> cells_read(Size before, Size out, Window w, Size in) {
  std::vector<Size> cells;
  for (Size o = 0; o < out; ++o)
    for (Size j = 0; j < w.kernel; ++j) {
      const Size cell = o * w.stride - before + j * w.dilation;
      cells.push_back(cell >= 0 && cell < in ? cell : -1);
    }
  return cells;
}

TEST(Solve, FindsEveryTotalThatASearchFinds) {
  for (Size kernel = 1; kernel <= 5; ++kernel)
    for (Size stride = 1; stride <= 4; ++stride)
      for (Size dilation = 1; dilation <= 3; ++dilation)
        for (Size in = 1; in <= 14; ++in)
          for (Size out = 1; out <= 9; ++out) {
            const Window w{kernel, stride, dilation};
            std::set<Size> totals;
            for (Size total = 0; total <= 60; ++total) {
              // Windows fit while the last cell of the next one still lies in the padded input.
              Size fit = 0;
              while (fit * stride + (kernel - 1) * dilation < in + total) ++fit;
              if (fit == out) totals.insert(total);
            }
            const auto answer = solve(one_axis(w, in, out));
            ASSERT_EQ(answer.has_value(), !totals.empty()) << kernel << stride << dilation << " " << in << " " << out;
            if (!answer) continue;
            const SolveRange& range = answer->axes.front().ranges.front();
            EXPECT_EQ(std::max<Size>(range.least, 0), *totals.begin());
            EXPECT_EQ(range.most, *totals.rbegin());
            for (const Solution& s : answer->solutions)
              EXPECT_TRUE(totals.contains(s.cells.front().before + s.cells.front().after)) << s.meaning;
            // A symmetric one is told of exactly where there is one.
            const bool symmetric = std::ranges::any_of(totals, [](Size t) { return t % 2 == 0; });
            const bool listed = std::ranges::any_of(
                answer->solutions, [](const Solution& s) { return s.cells.front().before == s.cells.front().after; });
            EXPECT_EQ(listed, symmetric) << kernel << stride << dilation << " " << in << " " << out;
          }
}

TEST(Solve, SaysReadsTheSameCellsOnlyWhereItIsTrue) {
  Size claims = 0;
  for (Size kernel = 1; kernel <= 6; ++kernel)
    for (Size stride = 1; stride <= 4; ++stride)
      for (Size in = 4; in <= 17; ++in) {
        const Window w{kernel, stride, 1 + in % 2};
        const auto answer = solve(one_axis(w, in));
        ASSERT_TRUE(answer);
        const Size out = *answer->axes.front().out;
        EXPECT_EQ(out, (in + stride - 1) / stride);
        for (const Solution& a : answer->solutions)
          for (const Solution& b : answer->solutions) {
            const bool alike = cells_read(a.cells[0].before, out, w, in) == cells_read(b.cells[0].before, out, w, in);
            const auto words =
                "reads the same cells as " + std::to_string(b.cells[0].before) + "," + std::to_string(b.cells[0].after);
            const bool says = a.meaning.contains(words);
            if (says) { EXPECT_TRUE(alike) << a.meaning; }
            if (alike && &a < &b) { EXPECT_TRUE(says) << a.meaning << " kernel " << kernel << " stride " << stride; }
            claims += says;
          }
      }
  EXPECT_GT(claims, 5);
}

// The rules of TensorFlow 2.21 and PyTorch 2.13: kernel 5, dilation 2, stride 3 on 50 cells.
TEST(Solve, NamesWhoCanSayIt) {
  const auto answer = solve(one_axis({5, 3, 2}, 50, 17));
  ASSERT_TRUE(answer);
  const auto& s = answer->solutions;
  ASSERT_EQ(s.size(), 4u);
  EXPECT_EQ(s[0].cells.front().before, 3);
  EXPECT_EQ(s[0].cells.front().after, 4);
  EXPECT_EQ(s[0].meaning, "same by TensorFlow's rule");
  EXPECT_EQ(code(s[0], "PyTorch"), "x = F.pad(x, (3, 4)), then nn.Conv1d(c, f, 5, stride=3, dilation=2)");
  EXPECT_EQ(code(s[0], "Keras"),
            "layers.ZeroPadding1D((3, 4)), then layers.Conv1D(f, 5, dilation_rate=2), then x = x[:, ::3]");
  EXPECT_EQ(code(s[0], "TensorFlow"), "x = tf.nn.conv1d(x, w, 3, \"SAME\", dilations=2)");
  EXPECT_EQ(s[1].cells.front().before, 4);
  EXPECT_EQ(s[1].cells.front().after, 3);
  EXPECT_TRUE(s[1].meaning.contains("SAME_LOWER"));
  const Solution* symmetric = meaning(*answer, "symmetric:");
  ASSERT_TRUE(symmetric);
  EXPECT_TRUE(s[1].meaning.contains("reads the same cells as 4,4")) << s[1].meaning;
  EXPECT_TRUE(symmetric->meaning.contains("starts one cell earlier than same"));
  EXPECT_EQ(code(*symmetric, "PyTorch"), "nn.Conv1d(c, f, 5, stride=3, padding=4, dilation=2)");
  const Solution* causal = meaning(*answer, "causal");
  ASSERT_TRUE(causal);
  EXPECT_EQ(causal->cells.front().before, 8);
}

TEST(Solve, SaysWhatToWriteWhereNoSymmetricPaddingCan) {
  const auto answer = solve({{{4, 1, 1}, {3, 2, 1}}, {100, 21}, {100, 11}});
  ASSERT_TRUE(answer);
  EXPECT_FALSE(meaning(*answer, "symmetric:"));
  const auto text = text_of(*answer);
  EXPECT_TRUE(
      text.contains("no symmetric padding can, where it takes an odd number: three cells in rows; write  x = "
                    "F.pad(x, (1, 1, 1, 2)), then nn.Conv2d(c, f, (4, 3), stride=(1, 2))"))
      << text;
}

TEST(Solve, TellsForWhichSizesAFixedPaddingHolds) {
  const auto text = text_of_answer(one_axis({3, 2, 1}, {}));
  EXPECT_TRUE(text.contains("symmetric: the right size for every size; the cells of same for odd sizes")) << text;
  EXPECT_TRUE(text.contains("t0 = max((-(-n // 2) - 1) * 2 + 3 - n, 0)")) << text;
  const auto three = text_of_answer(one_axis({5, 3, 1}, {}));
  // n = 7: out 3, need 4: (2, 2). n = 6: 2 windows need 2: (1, 1). n = 8: need 3: (1, 2).
  EXPECT_TRUE(three.contains("the cells of same for sizes n with n mod 3 = 1")) << three;
}

TEST(Solve, HoldsAtEverySizeWhatItSaysOfAFreeOne) {
  for (Size kernel = 1; kernel <= 7; ++kernel)
    for (Size stride = 2; stride <= 4; ++stride)
      for (Size dilation = 1; dilation <= 2; ++dilation) {
        const Window w{kernel, stride, dilation};
        const auto answer = solve(one_axis(w, {}));
        ASSERT_TRUE(answer);
        for (Size in = w.reach(); in <= 40; ++in) {
          const auto at = place(Padding{Spelling::SameUpper}, w, in);
          const SolveRange& range = answer->axes[0].ranges[static_cast<std::size_t>(in % stride)];
          EXPECT_EQ(range.remainder, in % stride);
          EXPECT_EQ(range.same.before, at->before) << kernel << " " << stride << " " << in;
          for (Size total = std::max<Size>(0, range.least - 1); total <= range.most + 1; ++total) {
            const auto with = place(Padding{Spelling::Explicit, 0, total}, w, in);
            EXPECT_EQ(with && with->out == at->out, total >= range.least && total <= range.most);
          }
        }
      }
}

// PyTorch 2.13: conv_transpose1d(kernel 3, stride 2, padding 1, output_padding 1) on 10 cells; SAME in TensorFlow 2.21.
TEST(Solve, TurnsAroundForTransposed) {
  SolveQuestion q = one_axis({3, 2, 1}, 10, 20);
  q.transposed = true;
  const auto answer = solve(q);
  ASSERT_TRUE(answer);
  ASSERT_EQ(answer->solutions.size(), 2u);
  const auto& [same, torch] = std::pair{answer->solutions[0], answer->solutions[1]};
  EXPECT_EQ(same.cells.front().before, 0);
  EXPECT_EQ(same.cells.front().after, 1);
  EXPECT_EQ(code(same, "Keras"), "layers.Conv1DTranspose(f, 3, strides=2, padding=\"same\")");
  EXPECT_EQ(torch.cells.front().before, 1);
  EXPECT_EQ(code(torch, "PyTorch"), "nn.ConvTranspose1d(c, f, 3, stride=2, padding=1, output_padding=1)");
  EXPECT_EQ(code(torch, "TensorFlow"), "x = tf.nn.conv1d_transpose(x, w, [n, 21, f], 2, \"VALID\")[:, 1:]");
  EXPECT_EQ(code(torch, "Keras"), "layers.Conv1DTranspose(f, 3, strides=2), then layers.Cropping1D((1, 0))");
}

TEST(Solve, FindsTransposedSolutionsThatGiveTheLength) {
  for (Size kernel = 1; kernel <= 6; ++kernel)
    for (Size stride = 1; stride <= 4; ++stride)
      for (Size in = 2; in <= 6; ++in)
        for (Size out = 1; out <= in * stride + 3; ++out) {
          SolveQuestion q = one_axis({kernel, stride, 1}, in, out);
          q.transposed = true;
          const auto answer = solve(q);
          ASSERT_TRUE(answer);
          EXPECT_FALSE(answer->solutions.empty());
          for (const auto& s : answer->solutions)
            EXPECT_EQ((in - 1) * stride + kernel - s.cells[0].before - s.cells[0].after, out) << s.meaning;
        }
}

TEST(Solve, AnswersNonsenseWithOneSentence) {
  EXPECT_EQ(text_of_answer(one_axis({3, 0, 1}, 10)), "--stride is 0; a window moves on by at least one cell");
  EXPECT_EQ(text_of_answer(one_axis({0, 1, 1}, 10)), "--kernel is 0; a kernel has at least one cell");
  EXPECT_EQ(text_of_answer(one_axis({3, 1, -2}, 10)), "--dilation is -2; 1 means that no cell is left out");
  EXPECT_EQ(text_of_answer(one_axis({3, 1, 1}, 0)), "--in is 0; sizes begin at 1");
  EXPECT_EQ(text_of_answer({{{3, 1, 1}, {5, 1, 1}}, {9, 11}, {9, -1}}), "cols: --out is -1; sizes begin at 1");
  EXPECT_EQ(
      text_of_answer(one_axis({3, 1, 1}, 50, 10)),
      "no padding makes 10 of 50: without any, kernel 3 and stride 1 already make 48; stride 5 makes it with SAME, "
      "or cut at least 38 cells away");
  EXPECT_TRUE(text_of_answer(one_axis({Size{1} << 40, 1, 1}, 50)).contains("beyond the limit"));
  EXPECT_TRUE(text_of_answer(one_axis({3, 2, 1}, {}, 7)).contains("--out 7 needs --in as well"));
  EXPECT_TRUE(text_of_answer({{}, {}, {}}).contains("0 axes"));
}

TEST(Solve, SaysTheSameInJson) {
  const auto answer = solve({{{3, 2, 1}, {5, 3, 1}}, {30, 41}, {15, 14}});
  ASSERT_TRUE(answer);
  const Json json = json_of(*answer);
  EXPECT_EQ(json["schema"], 1);
  EXPECT_EQ(json["axes"][1]["axis"], "cols");
  EXPECT_EQ(json["axes"][1]["totals"][0]["least"], 3);
  EXPECT_EQ(json["axes"][1]["totals"][0]["most"], 5);
  EXPECT_EQ(json["solutions"][0]["pads"].dump(), "[[0,1],[1,2]]");
  EXPECT_EQ(json["solutions"][0]["lines"][0]["framework"], "PyTorch");
}

}  // namespace
}  // namespace convoy::explain::solve_test
