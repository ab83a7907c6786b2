#include "cli/command.h"
#include "cli/output.h"
#include "cli/weights.h"
#include "report/copied.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <cstdio>

namespace convoy::cli {
namespace {

std::string name_of_file(const std::string& file) { return std::filesystem::path(file).filename().string(); }

int match(const WeightsOfTwo& o, CopyOptions& options) {
  const auto matched = match_models(o.a, o.b, options);
  if (!matched) return report(matched.error());
  if (o.json) print_json(matched_json(*matched));
  else print("{}", matched_text(*matched, name_of_file(o.a), name_of_file(o.b)));
  return all_equal(*matched) ? Done : Differs;
}

}  // namespace

void offer_weights_of_two(CLI::App& command, WeightsOfTwo& o) {
  command.add_option("b", o.b, "another model: show which tensor of it stands for which of the first");
  command.add_flag("--copy", o.copies,
                   "write b's weights with the first model's numbers to -o, once both are shown to compute the same");
  command.add_flag("--no-proof", o.no_proof, "--copy: write without comparing what the models compute");
  o.both.offer_for_two(command, "two models: ");
  command.add_option("--weights-a", o.weights_a, "two models: weights for a file that has none (model.json, source)");
  command.add_option("--weights-b", o.weights_b, "two models: the same for b");
  command.add_option("--seed", o.seed, "--copy: for the probing inputs");
  command.add_option("-j,--threads", o.threads, "--copy: threads to compute with")->check(CLI::Range(1, 256));
}

int weights_of_two(const WeightsOfTwo& o) {
  if (o.b.empty()) return report({Fault::Usage, "--copy needs two models: convoy weights A B --copy -o OUT", {}});
  if (o.copies && o.output.empty()) return report({Fault::Usage, "--copy needs a file to write: -o OUT", {}});
  if (!o.copies && !o.output.empty())
    return report({Fault::Usage, "two models and -o: add --copy to write b with the numbers of a", {}});
  auto of_a = options_of_one(o.a, o.weights_a, o.both), of_b = options_of_one(o.b, o.weights_b, o.both);
  if (!of_a) return report(of_a.error());
  if (!of_b) return report(of_b.error());
  CopyOptions options;
  options.load_a = std::move(*of_a);
  options.load_b = std::move(*of_b);
  options.output = o.output;
  options.overwrites = o.force;
  options.proves = !o.no_proof;
  options.seed = o.seed;
  options.threads = o.threads;
  if (!o.copies) return match(o, options);
  const auto done = copy_weights(o.a, o.b, options);
  if (!done) return report(done.error());
  if (o.json) print_json(copied_json(*done));
  else print("{}", copied_text(*done, name_of_file(o.a), name_of_file(o.b)));
  if (!done->holds())
    return report(
        {Fault::Proof, reason_of(*done) + "; nothing was written (convoy diff tells more)", name_of_file(o.b)});
  return Done;
}

}  // namespace convoy::cli
