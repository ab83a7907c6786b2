// hostile [--most N] [--keep FOLDER] CORPUS-CASE...: loads thousands of broken and hostile files. Each must end in an error
// that names a place, or in a sound graph, within one second and 256 MiB. Exit code 1 when one does not.
#include "hostile/watch.h"

#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <iostream>
#include <span>

namespace convoy::hostile {
namespace {

namespace fs = std::filesystem;

#ifdef __SANITIZE_ADDRESS__
constexpr Limits limits{15, 1L << 40};  // sanitizers need more of both
#else
constexpr Limits limits{};
#endif

struct Options {
  std::size_t most = 2000;
  std::optional<fs::path> keep;
  std::vector<fs::path> folders;
};

std::vector<Series> all_series(const Options& options) {
  std::vector<Series> all;
  const auto append = [&](std::vector<Series> more) {
    for (Series& series : more) all.push_back(std::move(series));
  };
  if (!options.folders.empty()) append(crafted(options.folders.front()));
  append(crafted_onnx());
  for (const fs::path& folder : options.folders) {
    for (const char* name : {"model.keras", "model.h5"})
      for (const Door door : {Door::Reader, Door::Container}) append(series_of(folder / name, door, {}, options.most));
    for (const char* name : {"model.onnx", "model.tflite", "frozen.pb"})
      append(series_of(folder / name, Door::Reader, {}, options.most));
    const fs::path variables = folder / "saved_model" / "variables";
    append(series_of(variables / "variables.index", Door::Weights, variables / "variables.data-00000-of-00001",
                     options.most));
    append(series_of(folder / "input_0.npy", Door::Container, {}, options.most));
    for (const char* name : {"model.weights.h5", "model_weights.h5"})
      if (fs::exists(folder / name))
        append(series_of(folder / "model.json", Door::Reader, folder / name, options.most));
  }
  return all;
}

int run_all(std::span<char*> arguments) {
  Options options;
  for (std::size_t i = 1; i < arguments.size(); ++i) {
    const std::string word = arguments[i];
    const bool more = i + 1 < arguments.size();
    if (word == "--most" && more) options.most = static_cast<std::size_t>(std::atoll(arguments[++i]));
    else if (word == "--keep" && more) options.keep = arguments[++i];
    else if (fs::is_directory(word)) options.folders.emplace_back(word);
    else options.folders.clear(), i = arguments.size();
  }
  if (options.folders.empty() || options.most == 0) {
    std::cerr << "usage: hostile [--most N] [--keep FOLDER] CORPUS-CASE...\n";
    return 2;
  }
  // In memory where there is such a place: thousands of files that live for a millisecond would wait for the disk.
  const fs::path memory = "/dev/shm";
  std::string pattern =
      ((access(memory.c_str(), W_OK) == 0 ? memory : fs::temp_directory_path()) / "hostile.XXXXXX").string();
  if (!mkdtemp(pattern.data())) {
    std::cerr << "hostile: no temporary folder\n";
    return 2;
  }
  std::size_t inputs = 0, findings = 0, number = 0;
  for (const Series& series : all_series(options)) {
    const Outcome outcome = watch(series, pattern, limits);
    inputs += outcome.errors + outcome.graphs;
    findings += outcome.findings.size();
    for (const Finding& finding : outcome.findings) {
      std::cout << "found: " << series.name << " #" << finding.index << " " << finding.what << "\n";
      if (options.keep) {
        fs::create_directories(*options.keep);
        const std::string name = std::to_string(number++) + series.extension;
        std::ofstream(*options.keep / name, std::ios::binary) << series.make(finding.index);
      }
    }
    if (series.count > 1)
      std::cout << series.name << (series.door == Door::Container ? " (every part): " : ": ") << outcome.errors
                << " refused, " << outcome.graphs << " read\n";
  }
  fs::remove_all(pattern);
  std::cout << inputs << " hostile inputs, " << findings << " findings\n";
  return findings == 0 ? 0 : 1;
}

}  // namespace
}  // namespace convoy::hostile

int main(int count, char** arguments) { return convoy::hostile::run_all({arguments, static_cast<std::size_t>(count)}); }
