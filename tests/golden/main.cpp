// golden FILE.jsonl...: what the frameworks answer, against what we answer. Ends with "N passed, N refused, N failed".
#include "golden/judge.h"

#include <algorithm>
#include <fstream>
#include <iostream>
#include <span>

namespace convoy::golden {
namespace {

struct Options {
  std::vector<Way> ways{Way::Plain, Way::Torch, Way::Free};
  bool every = false;  // print every refusal and failure
  std::vector<std::string> files;
};

struct Tally {
  int passed = 0, refused = 0, failed = 0, only_fixed = 0;
  std::map<std::string, int> reasons;

  void add(const Case& c, const Judgement& judgement, bool every) {
    int& count = judgement.verdict == Verdict::Passed    ? passed
                 : judgement.verdict == Verdict::Refused ? refused
                                                         : failed;
    ++count;
    if (judgement.verdict == Verdict::Refused) ++reasons[judgement.reason];
    const bool fails = judgement.verdict == Verdict::Failed;
    if ((fails && (every || failed <= 20)) || (every && judgement.verdict == Verdict::Refused))
      std::cout << (fails ? "failed  " : "refused ") << c.id << ": " << judgement.reason << "\n        " << c.call
                << "\n";
  }
};

constexpr int usage_fault = 2;

int complain(const std::string& sentence) {
  std::cerr << "golden: " << sentence << "\n";
  return usage_fault;
}

Result<std::vector<Case>> read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return fail(Fault::Io, path + " cannot be read");
  std::vector<Case> cases;
  std::string line;
  for (int number = 1; std::getline(file, line); ++number) {
    if (line.find_first_not_of(" \t\r") == std::string::npos) continue;
    const std::string where = path + ":" + std::to_string(number);
    try {
      auto c = within(where, parse_case(line));
      if (!c) return pass(c);
      cases.push_back(std::move(*c));
    } catch (const std::exception& error) {  // a field of another type than any golden file has
      return fail(Fault::Format, where + ": " + error.what());
    }
  }
  if (file.bad()) return fail(Fault::Io, path + " cannot be read");
  if (cases.empty()) return fail(Fault::Format, path + " holds no case");
  return cases;
}

// The worst of all ways; the first way in which it is that bad gives the reason. `first` keeps the plain answer.
// A call that is carried at its size but not at free ones is no refusal of the call: `only_fixed` counts those.
Judgement judge_ways(const Case& c, const std::vector<Way>& ways, std::optional<Array>& first, int& only_fixed) {
  Judgement worst;
  bool once = false;
  for (const Way way : ways) {
    if (way != Way::Plain && !c.framework.starts_with("keras") && once) continue;
    const auto ours = answer(c, way);
    once = true;
    if (ours && !first) first = ours->array;
    Judgement judgement = judge(c, ours);
    if (judgement.verdict <= worst.verdict) continue;
    if (way == Way::Free && judgement.verdict == Verdict::Refused && ways.size() > 1) {
      ++only_fixed;
      continue;
    }
    worst = std::move(judgement);
    if (way != Way::Plain) worst.reason = std::string(name_of(way)) + ": " + worst.reason;
  }
  return worst;
}

Result<Tally> run_file(const std::string& path, const Options& options) {
  auto cases = read_file(path);
  if (!cases) return pass(cases);
  std::vector<Judgement> judgements;
  std::map<std::string, Array> ours;
  Tally tally;
  for (const Case& c : *cases) {
    std::optional<Array> first;
    judgements.push_back(judge_ways(c, options.ways, first, tally.only_fixed));
    if (first) ours.emplace(c.id, *first);
  }
  for (std::size_t i = 0; i < cases->size(); ++i) {
    const Case& c = (*cases)[i];
    const Judgement related = judge_relations(c, ours);
    tally.add(c, related.verdict > judgements[i].verdict ? related : judgements[i], options.every);
  }
  return tally;
}

std::string closing(const Tally& t) {
  return std::to_string(t.passed) + " passed, " + std::to_string(t.refused) + " refused, " + std::to_string(t.failed) +
         " failed";
}

Result<Options> parse(std::span<char*> arguments) {
  Options options;
  for (std::size_t i = 1; i < arguments.size(); ++i) {
    const std::string word = arguments[i];
    if (word == "--every") {
      options.every = true;
    } else if (word == "--through") {
      options.ways.clear();
      const std::string name = i + 1 < arguments.size() ? arguments[++i] : "";
      for (const Way way : {Way::Plain, Way::Torch, Way::Free, Way::Keras})
        if (name_of(way) == name) options.ways = {way};
      if (options.ways.empty()) return fail(Fault::Usage, "--through wants plain, torch, free or keras");
    } else if (word.starts_with("-")) {
      return fail(Fault::Usage, "unknown option " + word);
    } else {
      options.files.push_back(word);
    }
  }
  if (options.files.empty())
    return fail(Fault::Usage, "usage: golden [--every] [--through plain|torch|free|keras] FILE.jsonl...");
  return options;
}

int run_all(std::span<char*> arguments) {
  const auto options = parse(arguments);
  if (!options) return complain(options.error().what);
  Tally whole;
  for (const std::string& path : options->files) {
    const auto tally = run_file(path, *options);
    if (!tally) return complain(message(tally.error()));
    std::cout << path << ": " << closing(*tally) << "\n";
    if (tally->only_fixed > 0)
      std::cout << "        " << tally->only_fixed << " of them reach PyTorch only with a size given\n";
    whole.passed += tally->passed;
    whole.refused += tally->refused;
    whole.failed += tally->failed;
    for (const auto& [reason, count] : tally->reasons) whole.reasons[reason] += count;
  }
  std::vector<std::pair<int, std::string>> reasons;
  for (const auto& [reason, count] : whole.reasons) reasons.emplace_back(count, reason);
  std::ranges::sort(reasons, std::greater{});
  for (const auto& [count, reason] : reasons) std::cout << "refused " << count << " times: " << reason << "\n";
  std::cout << closing(whole) << "\n";
  return whole.failed == 0 ? 0 : 1;
}

}  // namespace
}  // namespace convoy::golden

int main(int count, char** arguments) { return convoy::golden::run_all({arguments, static_cast<std::size_t>(count)}); }
