#include "convoy/model.h"
#include "convoy/granting.h"
#include "convoy/progress.h"

#include <gtest/gtest.h>

#include <unistd.h>
#include <algorithm>
#include <fstream>

namespace convoy::model_test {
namespace {

namespace fs = std::filesystem;

const char* digits = "examples/digits.keras";

fs::path folder_for(const std::string& name) {
  const fs::path folder = fs::temp_directory_path() / ("convoy-library-" + name + "-" + std::to_string(getpid()));
  fs::remove_all(folder);
  fs::create_directories(folder);
  return folder;
}

TEST(Library, AModelSaysWhatItTakesDoesAndGives) {
  const auto model = load(digits, ReadOptions{});
  ASSERT_TRUE(model) << message(model.error());
  ASSERT_EQ(model->inputs().size(), 1U);
  const ModelValue input = model->inputs().front();
  EXPECT_EQ(input.dtype, DType::F32);
  ASSERT_EQ(input.shape.size(), 4U);
  EXPECT_FALSE(input.shape[0]);  // the batch
  EXPECT_EQ(input.shape[3], 1);
  EXPECT_EQ(model->outputs().front().shape, (ModelShape{std::nullopt, 10}));
  EXPECT_TRUE(model->format().starts_with("Keras"));
  Size parameters = 0;
  for (const ModelLayer& layer : model->layers()) parameters += layer.parameters;
  EXPECT_EQ(parameters, model->parameters());
  EXPECT_NE(model->summary_text().find("input"), std::string::npos);
  EXPECT_TRUE(model->summary_json().starts_with("{"));
}

TEST(Library, RunsByNameAndByOrderAlike) {
  const auto model = load(digits, ReadOptions{});
  ASSERT_TRUE(model);
  const ModelValue input = model->inputs().front();
  Sizes shape{2};
  for (std::size_t i = 1; i < input.shape.size(); ++i) shape.push_back(*input.shape[i]);
  std::vector<float> numbers(static_cast<std::size_t>(*checked_count(shape)));
  for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<float>(i % 7) / 7;
  const Tensor x = Tensor::of(shape, numbers);
  const auto ordered = model->run(std::vector{x});
  ASSERT_TRUE(ordered) << message(ordered.error());
  EXPECT_EQ(ordered->front().shape(), (Sizes{2, 10}));
  const auto named = model->run(std::map<std::string, Tensor>{{input.name, x}});
  ASSERT_TRUE(named);
  EXPECT_TRUE(same_bytes(named->begin()->second, ordered->front()));

  const auto misnamed = model->run(std::map<std::string, Tensor>{{input.name + "x", x}});
  ASSERT_FALSE(misnamed);
  EXPECT_EQ(misnamed.error().fault, Fault::Usage);
  EXPECT_NE(misnamed.error().what.find("did you mean '" + input.name), std::string::npos);
  EXPECT_FALSE(model->run(std::map<std::string, Tensor>{}));
  EXPECT_FALSE(model->run(std::vector{Tensor::of({1, 2}, std::vector<float>{1, 2})}));
}

TEST(Library, AModelKeepsItsNumbersWhateverBecomesOfTheFile) {
  const fs::path folder = folder_for("kept"), file = folder / "digits.onnx";
  ASSERT_TRUE(port(digits, file, PortSettings{}));
  const auto model = load(file, ReadOptions{});
  ASSERT_TRUE(model);
  const Tensor x = Tensor::of({1, 1, 8, 8}, std::vector<float>(64, 0.5F));
  const auto before = model->run(std::vector{x});
  ASSERT_TRUE(before) << message(before.error());
  {
    std::fstream over(file, std::ios::in | std::ios::out | std::ios::binary);
    over << std::string(static_cast<std::size_t>(fs::file_size(file)), 'x');
  }
  const auto after = model->run(std::vector{x});
  ASSERT_TRUE(after);
  EXPECT_TRUE(same_bytes(before->front(), after->front()));
  fs::resize_file(file, 10);  // reading a map of it would end the process
  EXPECT_TRUE(model->run(std::vector{x}));
  fs::remove_all(folder);
}

TEST(Library, APortIsTheSameAsItsSource) {
  const fs::path folder = folder_for("port");
  const auto ported = port(digits, folder / "digits.onnx", PortSettings{});
  ASSERT_TRUE(ported) << message(ported.error());
  EXPECT_TRUE(ported->holds);
  ASSERT_EQ(ported->files.size(), 1U);
  EXPECT_EQ(fs::file_size(ported->files[0].path), static_cast<std::uintmax_t>(ported->files[0].bytes));
  EXPECT_NE(ported->text.find("proof"), std::string::npos);
  const auto again = port(digits, folder / "digits.onnx", PortSettings{});
  ASSERT_FALSE(again);  // nothing is overwritten unasked
  PortSettings settings;
  settings.overwrites = true;
  EXPECT_TRUE(port(digits, folder / "digits.onnx", settings));

  const auto a = load(digits, ReadOptions{}), b = load(folder / "digits.onnx", ReadOptions{});
  ASSERT_TRUE(a && b);
  DiffSettings shown;
  shown.page = true;
  const auto found = diff(*a, *b, shown);
  ASSERT_TRUE(found) << message(found.error());
  EXPECT_TRUE(found->same);
  EXPECT_TRUE(found->findings.empty());
  EXPECT_TRUE(found->html.starts_with("<!"));
  fs::remove_all(folder);
}

TEST(Library, WhyTwoModelsDifferIsAValue) {
  ReadOptions source;
  source.shapes[""] = {1, 3, 8, 10};
  const fs::path folder = folder_for("diff");
  const auto written = [&](const char* name, const char* padding) {
    std::ofstream(folder / name) << "import torch.nn as nn\nmodel = nn.Sequential(nn.Conv2d(3, 4, 3, stride=2, padding="
                                 << padding << "), nn.ReLU())\n";
    return load(folder / name, source);
  };
  const auto a = written("a.py", "1"), b = written("b.py", "(1, 0)");
  ASSERT_TRUE(a && b);
  const auto found = diff(*a, *b);
  ASSERT_TRUE(found) << message(found.error());
  EXPECT_FALSE(found->same);
  ASSERT_FALSE(found->findings.empty());
  EXPECT_NE(found->findings[0].torch.find("padding=1"), std::string::npos) << found->findings[0].torch;
  fs::remove_all(folder);
}

TEST(Library, ThePaddingOfACallIsAValue) {
  PadSettings settings;
  settings.size = {100, std::nullopt};
  const auto told = pad("Conv2D(8, (4, 3), strides=(1, 2), padding='same')", settings);
  ASSERT_TRUE(told) << message(told.error());
  ASSERT_EQ(told->size(), 1U);
  const PadOutcome& one = told->front();
  EXPECT_EQ(one.framework, "Keras");
  ASSERT_EQ(one.axes.size(), 2U);
  EXPECT_EQ(one.axes[0].before, 1);
  EXPECT_EQ(one.axes[0].after, 2);
  EXPECT_EQ(one.axes[0].out, 100);
  EXPECT_FALSE(one.axes[1].before);  // with stride 2 it changes with the size
  EXPECT_FALSE(one.axes[1].out);
  EXPECT_EQ(one.axes[1].formula, "ceil(n / 2)");

  const auto cut = pad("nn.ConvTranspose1d(3, 4, 3, stride=2, padding=1, output_padding=1)", {.size = {5}});
  ASSERT_TRUE(cut);
  EXPECT_TRUE(cut->front().axes[0].cuts);
  EXPECT_EQ(cut->front().axes[0].before, 1);
  EXPECT_EQ(cut->front().axes[0].after, 0);
  EXPECT_EQ(cut->front().axes[0].out, 10);
  EXPECT_EQ(pad("Convolve(3)").error().fault, Fault::Usage);
}

TEST(Library, WorkTellsWhatItIsAt) {
  const auto model = load(digits, ReadOptions{});
  ASSERT_TRUE(model);
  const std::vector<Tensor> x{Tensor::of({2, 8, 8, 1}, std::vector<float>(128, 0.5F))};
  std::vector<std::string> told;
  std::size_t last = 0, of = 0;
  const Watching::Told tell = [&](const Progress& at) {
    if (told.empty() || told.back() != at.step) told.emplace_back(at.step);
    last = at.done;
    of = at.of;
  };
  {
    const Watching watching(tell);
    ASSERT_TRUE(model->run(x));
  }
  EXPECT_EQ(told, std::vector<std::string>{"computing"});
  EXPECT_EQ(last, model->layers().size());
  EXPECT_EQ(of, model->layers().size());
  ASSERT_TRUE(model->run(x));  // nobody watches any more
  EXPECT_EQ(told.size(), 1U);
  {
    const Watching watching(tell);
    ASSERT_TRUE(port(digits, folder_for("told") / "digits.onnx", {}));
    ASSERT_TRUE(diff(*model, *model, {}));
  }
  EXPECT_NE(std::ranges::find(told, "proving"), told.end());
  EXPECT_NE(std::ranges::find(told, "comparing"), told.end());
}

TEST(Library, ACallerGrantsABudgetOfItsOwn) {
  {
    const Granting little(*memory_of("1"));
    const auto refused = load(digits, ReadOptions{});
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().fault, Fault::Budget);
    EXPECT_NE(refused.error().what.find("--budget"), std::string::npos) << refused.error().what;
    const Granting enough(*memory_of("1GiB"));
    EXPECT_TRUE(load(digits, ReadOptions{}));
  }
  EXPECT_TRUE(load(digits, ReadOptions{}));
  EXPECT_EQ(*memory_of("3K"), 3072);
  for (const char* words : {"", "G", "0", "8X", "-1", "8 G", "9999999T"})
    EXPECT_EQ(memory_of(words).error().fault, Fault::Usage) << words;
}

TEST(Library, WhatCannotBeReadIsAnErrorWithItsPlace) {
  const auto missing = load("no/such.keras", ReadOptions{});
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().fault, Fault::Io);
  EXPECT_NE(message(missing.error()).find("no/such.keras"), std::string::npos);
  ReadOptions wrong;
  wrong.shapes[""] = {0, 3};
  EXPECT_EQ(load(digits, wrong).error().fault, Fault::Usage);
}

}  // namespace
}  // namespace convoy::model_test
