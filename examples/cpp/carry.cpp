// Reads a trained Keras model, runs it, carries it to ONNX with a proof, and says why a careless port of its first layer
// differs. No framework is installed.
#include <convoy/model.h>

#include <cstdio>
#include <filesystem>
#include <fstream>

namespace fs = std::filesystem;

namespace {

// A failure is a value: one sentence with the thing, the value and the place.
int failed(const convoy::Error& error) {
  std::fprintf(stderr, "%s\n", message(error).c_str());
  return 1;
}

// A network of one layer, as its author would write it.
convoy::Result<convoy::Model> written(const fs::path& file, const char* layer) {
  std::ofstream(file) << "from torch import nn\nmodel = nn.Sequential(nn.ZeroPad2d((0, 1, 0, 1)), " << layer << ")\n";
  convoy::ReadOptions options;
  options.shapes[""] = {1, 3, 8, 10};  // PyTorch's source says no shape
  return convoy::load(file, options);
}

}  // namespace

int main() {
  const auto model = convoy::load("examples/digits.keras", convoy::ReadOptions{});
  if (!model) return failed(model.error());
  std::printf("%s, %d layers, %d parameters\n", model->name().c_str(), static_cast<int>(model->layers().size()),
              static_cast<int>(model->parameters()));

  convoy::Sizes shape{1};  // a batch of one; the other sizes are the model's own
  const convoy::ModelShape wanted = model->inputs()[0].shape;
  for (std::size_t i = 1; i < wanted.size(); ++i) shape.push_back(wanted[i].value_or(28));
  const auto blank =
      convoy::Tensor::of(shape, std::vector<float>(static_cast<std::size_t>(*convoy::checked_count(shape))));
  const auto y = model->run({blank});
  if (!y) return failed(y.error());
  std::printf("answers with %d numbers\n", static_cast<int>((*y)[0].count()));

  const fs::path folder = fs::temp_directory_path() / "convoy-example";
  fs::create_directories(folder);
  convoy::PortSettings settings;
  settings.overwrites = true;
  const auto ported = model->port(folder / "digits.onnx", settings);
  if (!ported) return failed(ported.error());
  std::printf("ONNX: %s\n", ported->holds ? "proved equal" : "not equal");
  std::ofstream(folder / "digits.html") << ported->html;  // the report as a page; also ported->text and ported->json

  for (const convoy::ModelLayer& layer : model->layers())
    if (const auto stride = layer.attributes.find("stride"); stride != layer.attributes.end())
      std::printf("%s reads %d axes, stride %d\n", layer.name.c_str(), static_cast<int>(layer.inputs[0].size()),
                  static_cast<int>(std::get<convoy::Sizes>(stride->second)[0]));

  // Keras pads "same" at stride 2 with (0, 1); padding=1 begins one cell earlier.
  const auto right = written(folder / "right.py", "nn.Conv2d(3, 4, 3, stride=2)");
  const auto wrong = written(folder / "wrong.py", "nn.Conv2d(3, 4, 3, stride=2, padding=1)");
  if (!right || !wrong) return failed((right ? wrong : right).error());
  const auto found = convoy::diff(*right, *wrong);
  if (!found) return failed(found.error());
  for (const convoy::DiffFinding& finding : found->findings)
    std::printf("layer %s: %s\n  write  %s\n", finding.b.c_str(), finding.cause.c_str(), finding.torch.c_str());
  fs::remove_all(folder);
  return 0;
}
