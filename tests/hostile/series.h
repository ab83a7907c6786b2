// Series of hostile files: a number of inputs, each made from its index alone, so that any finding can be made again.
#pragma once
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace convoy::hostile {

enum class Door : std::uint8_t {
  Reader,     // load: a model file
  Container,  // every part of a file, whatever it means
  Weights,    // load_weights: the index of a checkpoint, whose numbers `weights` holds
};

struct Series {
  std::string name;
  std::string extension;                         // of the file that is loaded
  std::size_t count = 0;
  std::function<std::string(std::size_t)> make;  // the whole file
  bool must_fail = false;                        // no reading of it can be right
  std::optional<std::filesystem::path> weights;
  Door door = Door::Reader;
};

// Cuts, flips and overwritten fields of one model file. `most` bounds each series.
std::vector<Series> series_of(const std::filesystem::path& file, Door door,
                              const std::optional<std::filesystem::path>& weights, std::size_t most);
// Files made by hand: nesting, duplicate and path-like members, sizes without end.
std::vector<Series> crafted(const std::filesystem::path& folder);
// Messages that lie about lengths, sizes and places, graphs without end, side files elsewhere.
std::vector<Series> crafted_onnx();

std::string contents(const std::filesystem::path& file);  // empty where it cannot be read

}  // namespace convoy::hostile
