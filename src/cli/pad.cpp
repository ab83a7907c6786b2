// convoy pad: what a layer's padding does, and how every other framework says it.
#include "cli/pad.h"

#include "base/nearest.h"
#include "cli/output.h"
#include "explain/explanation.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <cstdio>
#include <filesystem>
#include <memory>
#include <system_error>

namespace convoy::cli {
namespace {

// A call has brackets; a model is a file. A bare name is neither, and the reader of calls says so.
bool is_file(const std::string& word) {
  std::error_code none;
  return word.find('(') == std::string::npos &&
         (std::filesystem::exists(word, none) || word.find('.') != std::string::npos);
}

Result<std::vector<explain::Explanation>> of_call(const PadOptions& words) {
  const auto question = question_of(words);
  if (!question) return std::unexpected(question.error());
  const auto spoken = explain::read_question(*question);
  if (!spoken) return std::unexpected(spoken.error());
  return explain::explain(*spoken);
}

Result<std::vector<explain::Explanation>> of_file(const PadOptions& words) {
  ModelOptions model;
  model.file = words.layer;
  model.size = words.size;
  for (const auto& [word, option] :
       {std::pair{words.kernel, "--kernel"}, {words.channels, "--channels"}, {words.layout, "--layout"}})
    if (!word.empty()) return fail(Fault::Usage, std::string(option) + ": the file says it");
  auto options = model.parsed();
  if (!options) return pass(options);
  options->structure_only = true;
  const auto graph = load(model.file, *options);
  if (!graph) return std::unexpected(graph.error());
  std::vector<explain::Explanation> all;
  std::string names;
  std::vector<std::string> known;
  const Framework framework = explain::framework_of(*graph);
  for (const explain::Found& found : explain::layers_of(*graph)) {
    names += (names.empty() ? "" : ", ") + found.name;
    known.push_back(found.name);
    if (!words.which.empty() && found.name != words.which) continue;
    auto one = within(words.layer, within("layer '" + found.name + "'", explain::explain(framework, found)));
    if (!one) return pass(one);
    all.push_back(std::move(*one));
  }
  if (names.empty()) return fail(Fault::Unsupported, words.layer + ": no layer has windows");
  if (all.empty())
    return fail(Fault::Usage, fmt::format("{}: there is no layer '{}' with windows{}", words.layer, words.which,
                                          did_you_mean(words.which, known, "those are " + names)));
  return all;
}

int print_all(const std::vector<explain::Explanation>& all, bool json) {
  if (json) {
    Json object{{"schema", 1}, {"layers", Json::array()}};
    for (const auto& one : all) object["layers"].push_back(explain::json_of(one));
    print_json(object);
    return Done;
  }
  for (std::size_t i = 0; i < all.size(); ++i) print("{}{}", i == 0 ? "" : "\n", explain::text_of(all[i]));
  return Done;
}

int pad(PadOptions words) {
  if (!words.svg.empty() && (words.solve || !words.about.empty() || !words.like.empty()))
    return report({Fault::Usage, "--svg draws the windows of a layer; give the layer alone", {}});
  if (!words.like.empty()) return pad_like(words);
  if (words.solve) return pad_solve(words);
  if (!words.about.empty()) return pad_about(words);
  if (words.layer.empty())
    return report(
        {Fault::Usage, "pad needs a layer in quotes, a model file, --solve or --about; see convoy pad --help", {}});
  if (words.layer == "-") {
    auto text = text_on_standard_input();
    if (!text) return report(text.error());
    words.layer = *std::move(text);
  }
  if (is_paste(words.layer)) return pad_paste(std::move(words));
  if (const auto code = pad_list(words)) return *code;
  std::optional<OutputSet> drawing;
  if (!words.svg.empty()) {
    auto begun = OutputSet::begin(
        {words.svg}, words.force,
        is_file(words.layer) ? std::vector<std::filesystem::path>{words.layer} : std::vector<std::filesystem::path>{});
    if (!begun) return report(begun.error());
    drawing = std::move(*begun);
  }
  const auto all = explanations_of(words);
  if (!all) return report(all.error());
  if (drawing)
    if (auto drawn = draw_layers(*all, *drawing); !drawn) return report(drawn.error());
  return print_all(*all, words.json);
}

}  // namespace

Result<explain::Question> question_of(const PadOptions& words) {
  explain::Question question{.text = words.layer, .layout = words.layout};
  if (!words.which.empty())
    return fail(Fault::Usage, "'" + words.which + "' names a layer of a file, and the first word is no file");
  if (!words.size.empty()) {
    auto sizes = sizes_of_option(words.size, "--size");
    if (!sizes) return pass(sizes);
    question.size = std::move(*sizes);
  }
  if (!words.kernel.empty()) {
    auto kernel = sizes_of_option(words.kernel, "--kernel");
    if (!kernel) return pass(kernel);
    for (const Dim k : *kernel) {
      if (!k.known()) return fail(Fault::Usage, "--kernel: a kernel has a size; write 3 or 4x1");
      question.kernel.push_back(*k);
    }
  }
  if (!words.channels.empty()) {
    auto channels = sizes_of_option(words.channels, "--channels");
    if (!channels) return pass(channels);
    if (channels->size() != 1 || !channels->front().known() || *channels->front() > (Size{1} << 24))
      return fail(Fault::Usage, "--channels: '" + words.channels + "' is no number of channels");
    question.channels = *channels->front();
  }
  return question;
}

Result<std::vector<explain::Explanation>> explanations_of(const PadOptions& words) {
  return is_file(words.layer) ? of_file(words) : of_call(words);
}

void offer_pad(CLI::App& app, int& code) {
  auto words = std::make_shared<PadOptions>();
  auto* command = app.add_subcommand(
      "pad",
      "what a layer's padding does, and the same layer in every other framework's words\n\n"
      "  convoy pad 'Conv2D(8, (4, 1), padding=\"same\")' --size 100x20\n"
      "  convoy pad 'F.conv_transpose1d(x, w, stride=2, padding=1, output_padding=1)' --kernel 3 --size 10\n"
      "  convoy pad model.keras conv1                     a layer of a model file, or all of them\n"
      "  convoy pad - < post.txt                          every call in what was pasted, text and code\n"
      "  convoy pad 'F.pad(x, (1, 2, 3, 4))'              a list of cells in every framework's order\n"
      "  convoy pad --about torch                         one framework's padding on a page\n"
      "  convoy pad --solve --kernel 5 --stride 3 --in 50 --out 17      which padding gives this size?");
  command->add_option("layer", words->layer, "the layer as it stands in a program, in quotes; or a model file");
  command->add_option("which", words->which, "one layer of the model file");
  command->add_option("--size", words->size, "spatial size of the input, such as 100x20; ? for any size (default)");
  command->add_option("--kernel", words->kernel, "kernel size, such as 3 or 4x1, where the call does not say it");
  command->add_option("--channels", words->channels, "channels of the input, where the call does not say them");
  command->add_option("--layout", words->layout, "order of the input's axes, such as NCHW or NHWC");
  command
      ->add_option("--about", words->about, "torch, keras, tensorflow, onnx, tflite or coreml: how padding works there")
      ->type_name("{torch,keras,tensorflow,onnx,tflite,coreml}");
  command->add_flag("--solve", words->solve, "every padding that makes --out of --in, and who can say it");
  command->add_option("--in", words->in, "input size to solve for, such as 50 or 30x41; ? for every size at once");
  command->add_option("--out", words->out,
                      "output size to solve for (default: ceil(in / stride), transposed in * stride)");
  command->add_option("--stride", words->stride, "stride to solve for, such as 2 or 2x3 (default 1)");
  command->add_option("--dilation", words->dilation, "dilation to solve for (default 1)");
  command->add_option("--like", words->like, "with --solve: other words for the numbers of this layer");
  command->add_option("--svg", words->svg, "draw the windows over the cells and the padding into this file");
  command->add_flag("--force", words->force, "--svg replaces a file that exists");
  command->add_flag("--transpose", words->transpose, "solve for a transposed convolution: cells to cut");
  command->add_flag("--json", words->json, "one JSON object with the same facts");
  command->callback([words, &code] { code = pad(*words); });
}

}  // namespace convoy::cli
