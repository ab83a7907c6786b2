// convoy pad: what a layer's padding does, and how every other framework says it.
#include "cli/pad.h"

#include <fmt/format.h>

#include <cstdio>
#include <memory>

namespace convoy::cli {
namespace {

int pad(const PadWords& words) {
  if (words.solve) return pad_solve(words);
  if (!words.about.empty()) return pad_about(words);
  if (words.layer.empty())
    return report(
        {Fault::Usage, "pad needs a layer in quotes, a model file --solve or --about; see convoy pad --help", {}});
  if (const auto code = pad_list(words)) return *code;
  return report({Fault::Unsupported, "this version reads no layers yet", words.layer});
}

}  // namespace

void offer_pad(CLI::App& app, int& code) {
  auto words = std::make_shared<PadWords>();
  auto* command = app.add_subcommand(
      "pad",
      "what a layer's padding does, and the same layer in every other framework's words\n\n"
      "  convoy pad 'Conv2D(8, (4, 1), padding=\"same\")' --size 100x20\n"
      "  convoy pad 'F.conv_transpose1d(x, w, stride=2, padding=1, output_padding=1)' --kernel 3 --size 10\n"
      "  convoy pad model.keras conv1                     a layer of a model file, or all of them\n"
      "  convoy pad 'F.pad(x, (1, 2, 3, 4))'              a list of cells in every framework's order\n"
      "  convoy pad --about torch                         one framework's padding on a page\n"
      "  convoy pad --solve --kernel 5 --stride 3 --in 50 --out 17      which padding gives this size?");
  command->add_option("layer", words->layer, "the layer as it stands in a program, in quotes; or a model file");
  command->add_option("which", words->which, "one layer of the model file");
  command->add_option("--size", words->size, "spatial size of the input, such as 100x20; ? for any size (default)");
  command->add_option("--kernel", words->kernel, "kernel size, such as 3 or 4x1, where the call does not say it");
  command->add_option("--channels", words->channels, "channels of the input, where the call does not say them");
  command->add_option("--layout", words->layout, "order of the input's axes, such as NCHW or NHWC");
  command->add_option("--about", words->about,
                      "torch, keras, tensorflow, onnx, tflite or coreml: how padding works there");
  command->add_flag("--solve", words->solve, "every padding that makes --out of --in, and who can say it");
  command->add_option("--in", words->in, "input size to solve for, such as 50 or 30x41; ? for every size at once");
  command->add_option("--out", words->out,
                      "output size to solve for (default: ceil(in / stride), transposed in * stride)");
  command->add_option("--stride", words->stride, "stride to solve for, such as 2 or 2x3 (default 1)");
  command->add_option("--dilation", words->dilation, "dilation to solve for (default 1)");
  command->add_flag("--transpose", words->transpose, "solve for a transposed convolution: cells to cut");
  command->add_flag("--json", words->json, "one JSON object with the same facts");
  command->callback([words, &code] { code = pad(*words); });
}

}  // namespace convoy::cli
