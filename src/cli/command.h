// What the commands share: how options become values, how failures become one line and an exit code.
#pragma once
#include "convoy/result.h"
#include "convoy/settings.h"
#include "formats/format.h"

#include <CLI/CLI.hpp>

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace convoy::cli {

enum Exit {
  Done = 0,
  Differs = 1,
  BadCommandLine = 2,
  NotProven = 3,
  InputOutput = 4,
  BrokenFile = 5,
  NotSupported = 6,
  OurFault = 70
};

// One line on standard error, "convoy: place: sentence"; returns the exit code that belongs to the kind of fault.
int report(const Error& error);

// --size, --shape, --weights, --allow-root, --set, --dequantize, --outputs, --signature as they were typed; every command that
// loads a model offers them, one that loads two those that may be for both.
struct ModelOptions {
  std::string file, size, weights, outputs, signature, arguments;
  bool dequantizes = false;
  bool is_one_of_two = false;  // sizes and shapes are for two models: neither need take them all
  std::vector<std::string> shapes, roots, names;
  std::vector<std::string> more;  // further models, where a command takes many
  void offer(CLI::App& app, bool takes_many = false);
  void offer_for_two(CLI::App& app, const std::string& when = "");  // when: "two models: " in front of each description
  // Fails (Usage): words that are not sizes or shapes.
  Result<ReadOptions> asked() const;
  Result<LoadOptions> parsed() const;
  // Loads the file; the failure carries the file's name as place.
  Result<Graph> load() const;

 private:
  void offer_reading(CLI::App& app, const std::string& when);
};

// Of one of two models that are laid side by side, with what was said for both.
Result<LoadOptions> options_of_one(const std::string& file, const std::string& weights, const ModelOptions& both);

// A seed as frameworks take them: from -2^63 to 2^64 - 1, a negative one as its two's complement. Fails (Usage).
Result<std::uint64_t> seed_of_option(const std::string& word);

// "100x20" -> {100, 20}; "?" is a free size. Fails (Usage) with the option's name.
Result<std::vector<Dim>> sizes_of_option(const std::string& words, const std::string& option);

// "a,b,c" -> {"a", "b", "c"}
std::vector<std::string> split(const std::string& words, char separator);

// --budget, for every command that reads a model.
void offer_budget(CLI::App& app);

// One per command: adds the subcommand and stores what it exits with in `code`.
void offer_port(CLI::App& app, int& code);
void offer_diff(CLI::App& app, int& code);
void offer_summary(CLI::App& app, int& code);
void offer_run(CLI::App& app, int& code);
void offer_bench(CLI::App& app, int& code);
void offer_weights(CLI::App& app, int& code);
void offer_pad(CLI::App& app, int& code);
void offer_ops(CLI::App& app, int& code);
void offer_completion(CLI::App& app, int& code);

}  // namespace convoy::cli
