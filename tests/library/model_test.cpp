#include "convoy/model.h"
#include "convoy/cancellation.h"
#include "convoy/granting.h"
#include "convoy/progress.h"

#include <gtest/gtest.h>

#include <unistd.h>
#include <algorithm>
#include <fstream>
#include <iterator>
#include <limits>

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

TEST(Library, ALayerSaysWhatItTakesAndWhatItWasTold) {
  const fs::path folder = folder_for("attributes");
  std::ofstream(folder / "net.py")
      << "from torch import nn\n"
         "model = nn.Sequential(nn.Conv2d(4, 6, (3, 1), stride=(2, 1), dilation=(1, 3), groups=2, padding=1), "
         "nn.LeakyReLU(0.25), nn.Softmax(1))\n";
  ReadOptions options;
  options.shapes[""] = {std::nullopt, 4, 9, 7};
  const auto model = load(folder / "net.py", options);
  ASSERT_TRUE(model) << message(model.error());
  const auto layers = model->layers();
  ASSERT_EQ(layers.size(), 3U);
  EXPECT_EQ(layers[0].inputs, (std::vector<ModelShape>{{std::nullopt, 4, 9, 7}}));
  const auto told = layers[0].attributes;
  EXPECT_EQ(told.at("kernel"), ModelAttribute(Sizes{3, 1}));
  EXPECT_EQ(told.at("stride"), ModelAttribute(Sizes{2, 1}));
  EXPECT_EQ(told.at("dilation"), ModelAttribute(Sizes{1, 3}));
  EXPECT_EQ(told.at("groups"), ModelAttribute(Size{2}));
  EXPECT_EQ(told.at("data_format"), ModelAttribute(std::string("channels_first")));
  EXPECT_EQ(layers[1].attributes.at("negative_slope"), ModelAttribute(0.25));
  EXPECT_FALSE(layers[1].attributes.contains("max_value"));  // which is not told
  EXPECT_EQ(layers[2].attributes.at("axes"), ModelAttribute(Sizes{1}));
  EXPECT_EQ(layers[2].attributes.at("logarithm"), ModelAttribute(false));
  fs::remove_all(folder);
}

TEST(Library, AModelPortsItselfAndHandsItsWeightsOver) {
  const fs::path folder = folder_for("itself");
  const auto model = load(digits, ReadOptions{});
  ASSERT_TRUE(model);
  Size held = 0;
  for (const ModelWeight& one : model->weights()) held += one.tensor.count();
  EXPECT_EQ(held, model->parameters());
  const auto ported = model->port(folder / "digits.onnx");
  ASSERT_TRUE(ported) << message(ported.error());
  EXPECT_TRUE(ported->holds);
  EXPECT_TRUE(ported->html.starts_with("<!doctype html>"));
  EXPECT_NE(ported->html.find("proof "), std::string::npos);
  const auto other = load(folder / "digits.onnx", ReadOptions{});
  ASSERT_TRUE(other) << message(other.error());
  const auto found = model->diff(*other, {});
  ASSERT_TRUE(found) << message(found.error());
  EXPECT_TRUE(found->same);
  const auto copied = model->copy_weights(*other, folder / "copied.onnx", {});
  ASSERT_TRUE(copied) << message(copied.error());
  EXPECT_TRUE(copied->holds && fs::exists(folder / "copied.onnx"));
  EXPECT_NE(copied->html.find("copied.onnx"), std::string::npos);

  // A part of it is ported as the part.
  const auto part = model->outputs_at({model->layers()[1].name});
  ASSERT_TRUE(part && part->port(folder / "part.onnx"));
  EXPECT_EQ(load(folder / "part.onnx", ReadOptions{})->outputs().front().shape.size(), 4U);
  fs::remove_all(folder);
}

TEST(Library, WhatHasChangedOrWasNeverAFileIsNotReadOnceMore) {
  const fs::path folder = folder_for("changed");
  fs::copy_file(digits, folder / "net.keras");
  const auto model = load(folder / "net.keras", ReadOptions{});
  ASSERT_TRUE(model && model->port(folder / "other.keras"));
  fs::copy_file(folder / "other.keras", folder / "net.keras", fs::copy_options::overwrite_existing);
  const auto again = model->port(folder / "net.onnx");
  ASSERT_FALSE(again);
  EXPECT_EQ(message(again.error()), "net.keras: has changed since the model was read from it: load it again");
  std::ifstream file(digits, std::ios::binary);
  const std::vector<char> held{std::istreambuf_iterator<char>(file), {}};
  const auto bytes = load(std::as_bytes(std::span(held)), "held.keras", ReadOptions{});
  ASSERT_TRUE(bytes);
  const auto refused = bytes->port(folder / "held.onnx");
  ASSERT_FALSE(refused);
  EXPECT_EQ(message(refused.error()),
            "held.keras: was read from memory, and this reads a file: write the bytes to one, and load that");
  fs::remove_all(folder);
}

TEST(Library, ReportsArePagesWhoseTextIsNoMarkup) {
  const auto told = pad("nn.Conv2d(3, 4, 3, padding=1)", {.size = {8, 10}, .kernel = {}, .channels = {}, .layout = {}});
  ASSERT_TRUE(told) << message(told.error());
  EXPECT_NE(told->front().html.find("<svg"), std::string::npos);
  const auto calls = diff_calls("nn.Conv2d(3, 8, 3, 2, 1)", "Conv2D(8, 3, 2, 'same')");
  ASSERT_TRUE(calls) << message(calls.error());
  EXPECT_EQ(calls->html.find("'same')<"), std::string::npos);
  EXPECT_NE(calls->html.find("<pre>"), std::string::npos);
  const auto model = load(digits, ReadOptions{});
  ASSERT_TRUE(model);
  const std::string page = model->summary_html();
  EXPECT_NE(page.find("layer"), std::string::npos);
  EXPECT_EQ(page.find("->"), std::string::npos);
}

TEST(Library, AModelIsToldFromAnotherAndHasInputsToTryItWith) {
  const auto model = load(digits, ReadOptions{}), again = load(digits, ReadOptions{});
  ASSERT_TRUE(model && again);
  EXPECT_EQ(model->fingerprint(), again->fingerprint());
  EXPECT_EQ(model->fingerprint().size(), 64U);
  EXPECT_NE(model->fingerprint(), model->outputs_at({model->layers()[1].name})->fingerprint());
  const auto inputs = model->probing_inputs();
  ASSERT_TRUE(inputs) << message(inputs.error());
  EXPECT_TRUE(model->run(*inputs));
  EXPECT_FALSE(same_bytes(inputs->front(), model->probing_inputs(1)->front()));
}

TEST(Library, BytesThatTheCallerHoldsAreAModel) {
  std::ifstream file(digits, std::ios::binary);
  std::vector<char> held{std::istreambuf_iterator<char>(file), {}};
  const Tensor x = Tensor::of({1, 8, 8, 1}, std::vector<float>(64, 0.5F));
  const auto model = load(std::as_bytes(std::span(held)), "held.keras");
  ASSERT_TRUE(model) << message(model.error());
  std::ranges::fill(held, 'x');  // nothing of them is needed any more
  EXPECT_TRUE(
      same_bytes(model->run(std::vector{x})->front(), load(digits, ReadOptions{})->run(std::vector{x})->front()));
  const auto broken = load(std::as_bytes(std::span(held)), "held.keras");
  ASSERT_FALSE(broken);
  EXPECT_EQ(broken.error().fault, Fault::Format);
  EXPECT_TRUE(message(broken.error()).starts_with("held.keras")) << message(broken.error());
  EXPECT_EQ(load(std::span<const std::byte>(), "empty.onnx").error().fault, Fault::Truncated);
  ReadOptions wrong;
  wrong.shapes["no_such"] = {1, 8, 8, 1, 1};
  std::ifstream again(digits, std::ios::binary);
  const std::vector<char> whole{std::istreambuf_iterator<char>(again), {}};
  EXPECT_EQ(load(std::as_bytes(std::span(whole)), "held.keras", wrong).error().fault, Fault::Usage);

  const fs::path folder = folder_for("beside"), apart = folder / "apart.onnx";
  ASSERT_TRUE(port(digits, apart, {.external_data = true}));
  std::ifstream two(apart, std::ios::binary);
  const std::vector<char> one{std::istreambuf_iterator<char>(two), {}};
  EXPECT_FALSE(load(std::as_bytes(std::span(one)), apart.string()));  // what lies beside it is another file's
  fs::remove_all(folder);
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

  // Results that share a name: none of them is lost.
  const std::string layer = model->outputs().front().name;
  const auto twice = model->outputs_at({layer, layer});
  ASSERT_TRUE(twice) << message(twice.error());
  const auto both = twice->run(std::map<std::string, Tensor>{{input.name, x}});
  ASSERT_TRUE(both);
  ASSERT_EQ(both->size(), 2);
  EXPECT_TRUE(same_bytes(both->at(layer), both->at(layer + "_1")));

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

TEST(Library, APortIsWrittenAsItWasAskedFor) {
  const fs::path folder = folder_for("settings");
  PortSettings halves;
  halves.reals = DType::F16;
  ASSERT_TRUE(port(digits, folder / "halves.onnx", halves));
  const auto narrowed = load(folder / "halves.onnx", ReadOptions{});
  ASSERT_TRUE(narrowed) << message(narrowed.error());
  EXPECT_EQ(narrowed->outputs().front().dtype, DType::F16);

  PortSettings lean;
  lean.optimizes = true;
  ASSERT_TRUE(port(digits, folder / "usual.onnx"));
  ASSERT_TRUE(port(digits, folder / "lean.onnx", lean));
  const auto usual = load(folder / "usual.onnx", ReadOptions{}), fewer = load(folder / "lean.onnx", ReadOptions{});
  ASSERT_TRUE(usual && fewer);
  EXPECT_LT(fewer->layers().size(), usual->layers().size());

  PortSettings apart;
  apart.external_data = true;
  const auto two = port(digits, folder / "apart.onnx", apart);
  ASSERT_TRUE(two) << message(two.error());
  EXPECT_EQ(two->files.size(), 2U);

  PortSettings pickled;
  pickled.weights_format = "pt";
  ASSERT_TRUE(port(digits, folder / "net.py", pickled));
  EXPECT_TRUE(fs::exists(folder / "net.pt"));

  PortSettings stored;
  stored.rounds_to_halves = true;
  ASSERT_TRUE(port(digits, folder / "usual.tflite"));
  ASSERT_TRUE(port(digits, folder / "halves.tflite", stored));
  EXPECT_LT(fs::file_size(folder / "halves.tflite"), fs::file_size(folder / "usual.tflite"));

  PortSettings wrong = stored;
  const auto refused = port(digits, folder / "wrong.onnx", wrong);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().fault, Fault::Usage);
  wrong = {.weights_format = "zip"};
  EXPECT_EQ(port(digits, folder / "wrong.py", wrong).error().fault, Fault::Usage);
  wrong = {.reals = DType::I8};
  EXPECT_EQ(port(digits, folder / "wrong.onnx", wrong).error().fault, Fault::Usage);
  fs::remove_all(folder);
}

TEST(Library, QuantisedModelsAreRunAndPortedAsAsked) {
  const char* quantised = "tests/data/corpus/tflite/mobile_int8/model.tflite";
  const fs::path folder = folder_for("quantised");
  const auto model = load(quantised, ReadOptions{});
  ASSERT_TRUE(model) << message(model.error());
  const Tensor x = Tensor::of({1, 8, 14, 3}, std::vector<float>(336, 0.25F));
  const auto y = model->run(std::vector{x});
  ASSERT_TRUE(y) << message(y.error());
  for (const auto& [word, holds_whole] : {std::pair{"keep", true}, {"float", false}}) {
    PortSettings settings;
    settings.quantized = quantized_named(word);
    const fs::path output = folder / (std::string(word) + ".onnx");
    const auto done = port(quantised, output, settings);
    ASSERT_TRUE(done) << message(done.error());
    const auto types = load(output, ReadOptions{})->dtypes();
    EXPECT_EQ(std::ranges::find(types, DType::I8) != types.end(), holds_whole) << word;
  }
  PortSettings keep;
  keep.quantized = Quantized::Keep;
  EXPECT_EQ(port(quantised, folder / "keep.py", keep).error().fault, Fault::Unsupported);
  EXPECT_FALSE(quantized_named("all"));

  EXPECT_TRUE(diff(*model, *model)->same);  // in steps
  ReadOptions real;
  real.dequantizes = true;
  const auto widened = load(quantised, real);
  ASSERT_TRUE(widened);
  EXPECT_TRUE(diff(*widened, *widened)->same);
  fs::remove_all(folder);
}

TEST(Library, NamesThatSourceLeavesOpenAreLent) {
  const fs::path folder = folder_for("names");
  std::ofstream(folder / "net.py") << "import torch.nn as nn\nmodel = nn.Conv2d(3, width, 3)\n";
  ReadOptions options;
  options.shapes[""] = {1, 3, 8, 10};
  EXPECT_FALSE(load(folder / "net.py", options));
  options.names = {"width=5"};
  const auto model = load(folder / "net.py", options);
  ASSERT_TRUE(model) << message(model.error());
  EXPECT_EQ(model->outputs().front().shape, (ModelShape{1, 5, 6, 8}));
  EXPECT_TRUE(model->draws_weights());
  ASSERT_TRUE(port(folder / "net.py", folder / "net.onnx", {}, options));
  EXPECT_FALSE(load(folder / "net.onnx", ReadOptions{})->draws_weights());
  fs::remove_all(folder);
}

TEST(Library, ASignatureIsChosenByItsName) {
  const char* saved = "tests/data/corpus/tensorflow/resizes/saved_model";
  ReadOptions options;
  options.signature = "serving_default";
  EXPECT_TRUE(load(saved, options));
  options.signature = "no_such";
  const auto refused = load(saved, options);
  ASSERT_FALSE(refused);
  EXPECT_NE(message(refused.error()).find("no_such"), std::string::npos) << message(refused.error());
}

TEST(Library, AModelEndsAtLayersOfTheCallers) {
  const auto model = load(digits, ReadOptions{});
  ASSERT_TRUE(model);
  std::vector<std::string> names;
  for (const ModelLayer& layer : model->layers())
    if (!layer.name.empty() && names.size() < 3) names.push_back(layer.name);
  const auto cut = model->outputs_at({names[2], names[1]});
  ASSERT_TRUE(cut) << message(cut.error());
  ASSERT_EQ(cut->outputs().size(), 2U);
  const std::vector<Tensor> x{Tensor::of({2, 8, 8, 1}, std::vector<float>(128, 0.5F))};
  const auto both = cut->run(x);
  ASSERT_TRUE(both) << message(both.error());
  ReadOptions at_one;
  at_one.outputs = {names[1]};
  const auto one = load(digits, at_one);
  ASSERT_TRUE(one);
  EXPECT_TRUE(same_bytes((*both)[1], one->run(x)->front()));
  EXPECT_EQ(model->outputs_at({"no such"}).error().fault, Fault::Usage);
}

TEST(Library, KernelsAreChosen) {
  const auto model = load(digits, ReadOptions{});
  ASSERT_TRUE(model);
  std::vector<float> numbers(3 * 64);
  for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<float>(i * 37 % 101) / 101;
  const std::vector<Tensor> x{Tensor::of({3, 8, 8, 1}, numbers)};
  const auto exact = model->run(x, {.doubles = true});
  ASSERT_TRUE(exact);
  for (const RunSettings& settings : {RunSettings{}, RunSettings{.plain = true}, RunSettings{.direct = true}}) {
    const auto y = model->run(x, settings);
    ASSERT_TRUE(y) << message(y.error());
    const auto near = y->front().doubles(), wanted = exact->front().doubles();
    for (std::size_t i = 0; i < wanted.size(); ++i) EXPECT_NEAR(near[i], wanted[i], 1e-5);
  }
}

TEST(Library, TheWeightsOfAFileAreValues) {
  const auto all = weights(digits);
  ASSERT_TRUE(all) << message(all.error());
  Size count = 0;
  for (const ModelWeight& one : *all) {
    EXPECT_FALSE(one.name.empty());
    count += one.tensor.count();
  }
  EXPECT_EQ(count, load(digits, ReadOptions{})->parameters());
  EXPECT_EQ(weights("no/such.npz").error().fault, Fault::Io);
}

TEST(Library, TwoCallsAreCompared) {
  const auto apart = diff_calls("nn.Conv2d(3, 8, 3, 2, 1)", "Conv2D(8, 3, 2, 'same')", {.size = {8, 10}});
  ASSERT_TRUE(apart) << message(apart.error());
  EXPECT_FALSE(apart->same);
  EXPECT_FALSE(apart->findings.empty());
  const auto same = diff_calls("nn.Conv2d(3, 8, 3, 2, 1)", "Conv2D(8, 3, 2, 'same')", {.size = {7, 9}});
  ASSERT_TRUE(same);
  EXPECT_TRUE(same->same) << same->text;
  EXPECT_EQ(diff_calls("nn.Conv2d(3, 8, 3)", "what").error().fault, Fault::Usage);
}

TEST(Library, WhatDiffersIsPutRight) {
  const fs::path folder = folder_for("mend");
  std::ofstream(folder / "a.py")
      << "import torch.nn as nn\nmodel = nn.Sequential(nn.Conv2d(3, 4, 3, stride=2, padding=1))\n";
  std::ofstream(folder / "b.py")
      << "import torch.nn as nn\nmodel = nn.Sequential(nn.Conv2d(3, 4, 3, stride=2, padding=(1, 0)))\n";
  ReadOptions options;
  options.shapes[""] = {1, 3, 8, 10};
  const auto pair = load_pair(folder / "a.py", folder / "b.py", options, options);
  ASSERT_TRUE(pair) << message(pair.error());
  const auto mended = mend(pair->a, pair->b, folder / "mended");
  ASSERT_TRUE(mended) << message(mended.error());
  EXPECT_TRUE(mended->holds);
  const auto again = load_pair(folder / "a.py", folder / "mended" / "b.py", options, options);
  ASSERT_TRUE(again) << message(again.error());
  EXPECT_TRUE(diff(again->a, again->b)->same);
  EXPECT_EQ(mend(pair->a, pair->b, folder / "mended").error().fault, Fault::Io);
  EXPECT_EQ(mend(pair->a, pair->a, folder / "same").error().fault, Fault::Usage);
  fs::remove_all(folder);
}

TEST(Library, SourceWithoutWeightsIsComparedAsIfItHeldTheOthers) {
  const fs::path folder = folder_for("shares");
  std::ofstream(folder / "net.py")
      << "import torch.nn as nn\nmodel = nn.Sequential(nn.Conv2d(3, 4, (3, 2)), nn.ReLU())\n";
  ReadOptions options;
  options.shapes[""] = {1, 3, 8, 10};
  options.seed = 7;
  ASSERT_TRUE(port(folder / "net.py", folder / "net.onnx", {}, options));
  const auto pair = load_pair(folder / "net.onnx", folder / "net.py", {}, {});  // other weights, and the other's shape
  ASSERT_TRUE(pair) << message(pair.error());
  const auto found = diff(pair->a, pair->b);
  ASSERT_TRUE(found) << message(found.error());
  EXPECT_TRUE(found->same) << found->text;
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

std::vector<char> held_of(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

TEST(Library, PiecesThatBelongTogetherAreAModel) {
  const fs::path folder = folder_for("pieces"), apart = folder / "apart.onnx";
  ASSERT_TRUE(port(digits, apart, {.external_data = true}));
  std::vector<std::vector<char>> held;
  std::vector<ModelPiece> pieces;
  for (const auto& entry : fs::directory_iterator(folder)) {
    held.push_back(held_of(entry.path()));
    const ModelPiece piece{entry.path().filename().string(), std::as_bytes(std::span(held.back()))};
    pieces.insert(entry.path() == apart ? pieces.begin() : pieces.end(), piece);
  }
  ASSERT_GT(pieces.size(), 1U);
  const Tensor x = Tensor::of({1, 1, 8, 8}, std::vector<float>(64, 0.5F));
  const auto wanted = load(apart, ReadOptions{})->run(std::vector{x});
  fs::remove_all(folder);
  const auto model = load(pieces);
  ASSERT_TRUE(model) << message(model.error());
  EXPECT_EQ(model->file(), "apart.onnx");
  for (auto& bytes : held) std::ranges::fill(bytes, 'x');  // nothing of them is needed any more
  const auto got = model->run(std::vector{x});
  ASSERT_TRUE(got && wanted);
  EXPECT_TRUE(same_bytes(got->front(), wanted->front()));

  EXPECT_EQ(load(std::vector<ModelPiece>{}).error().fault, Fault::Usage);
  for (const char* name : {"", "../a.onnx", "/a.onnx", "a/", "a//b", "net.py"})
    EXPECT_EQ(load(std::vector<ModelPiece>{{name, pieces[0].bytes}}).error().fault, Fault::Usage) << name;
  EXPECT_EQ(load(std::vector<ModelPiece>{pieces[0], pieces[0]}).error().fault, Fault::Usage);
  EXPECT_FALSE(load(fs::path("/dev/null/apart.onnx"), ReadOptions{}));  // they are gone with the call
}

TEST(Library, AMissingPieceIsNamedAndJsonTakesTheSecondForItsWeights) {
  const fs::path folder = folder_for("json");
  ASSERT_TRUE(port(digits, folder / "apart.onnx", {.external_data = true}));
  const auto graph = held_of(folder / "apart.onnx");
  const auto lacks = load(std::vector<ModelPiece>{{"apart.onnx", std::as_bytes(std::span(graph))}});
  ASSERT_FALSE(lacks);
  EXPECT_NE(message(lacks.error()).find("is none of the files that were given"), std::string::npos)
      << message(lacks.error());
  fs::remove_all(folder);

  const std::string corpus = "tests/data/corpus/keras/conv2d_same_k3_s2_even/";
  const auto json = held_of(corpus + "model.json"), weights = held_of(corpus + "model.weights.h5"),
             other = held_of(digits);
  const ModelPiece first{"model.json", std::as_bytes(std::span(json))},
      second{"w.h5", std::as_bytes(std::span(weights))};
  const auto model = load(std::vector{first, second});
  ASSERT_TRUE(model) << message(model.error());
  EXPECT_EQ(model->parameters(), load(fs::path(corpus + "model.keras"), ReadOptions{})->parameters());
  ReadOptions said;
  said.weights = "w.h5";
  EXPECT_TRUE(load(std::vector{first, ModelPiece{"more.keras", std::as_bytes(std::span(other))}, second}, said));
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

// What fails inside a comparison is a finding; that it was cancelled is none, and no causes are looked for.
TEST(Library, AComparisonThatIsNotWantedAnyMoreEndsAtOnce) {
  const auto model = load(digits, ReadOptions{});
  ASSERT_TRUE(model);
  Cancellation stop;
  const Listening listening(stop);
  std::vector<std::string> behind;
  const Watching watching([&](const Progress& at) {
    if (stop.is_cancelled()) behind.emplace_back(at.step);
    if (at.step == "comparing" && at.done >= 2) stop.cancel();
  });
  const auto found = diff(*model, *model, {});
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().fault, Fault::Cancelled) << found.error().what;
  EXPECT_EQ(behind, std::vector<std::string>{});
}

// Whenever it is cancelled: either the port stands and the call says so, or there is none.
TEST(Library, APortThatIsCancelledLeavesNothing) {
  const auto folder = folder_for("cancelled");
  std::size_t events = 0, ended = 0;
  for (std::size_t at = 1; events + 1 >= at; ++at) {
    Cancellation stop;
    const Listening listening(stop);
    events = 0;
    const Watching watching([&](const Progress&) {
      if (++events == at) stop.cancel();
    });
    const auto made = port(digits, folder / "digits.py", {});
    const auto files = std::distance(std::filesystem::directory_iterator(folder), {});
    if (made) {
      EXPECT_EQ(files, 3) << at;
    } else {
      EXPECT_EQ(made.error().fault, Fault::Cancelled);
      EXPECT_EQ(files, 0) << at;
      ++ended;
    }
    for (const auto& file : std::filesystem::directory_iterator(folder)) std::filesystem::remove(file);
  }
  EXPECT_GT(ended, 0U);
}

TEST(Library, WhatIsMovedFromStaysAModel) {
  auto model = load(digits, ReadOptions{});
  ASSERT_TRUE(model);
  const Model other = std::move(*model);
  EXPECT_EQ(model->name(), other.name());
  EXPECT_TRUE(model->run(std::vector<Tensor>{Tensor::of({1, 8, 8, 1}, std::vector<float>(64))}));
}

TEST(Library, AGrantIsNoOverflow) {
  const Granting all(std::numeric_limits<Size>::max());
  EXPECT_TRUE(load(digits, ReadOptions{}));
}

TEST(Library, AnArrayOfOtherAxesIsRefused) {
  const auto model = load(digits, ReadOptions{});
  ASSERT_TRUE(model);
  DiffSettings settings;
  settings.inputs = {Tensor::of({3}, std::vector<float>(3))};
  const auto found = diff(*model, *model, settings);
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().fault, Fault::Usage);
  EXPECT_NE(found.error().what.find("has 1 axes"), std::string::npos) << found.error().what;
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
