#include "formats/repeated_blocks.h"

#include "formats/block_names.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <map>
#include <set>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <utility>

namespace convoy::python {
namespace {

constexpr std::size_t any_words = 1000;
constexpr std::size_t longest_block = 400;  // pieces: what is longer is looked at in parts
// Uses with many arguments are hard to read: lines for each beyond the few.
constexpr std::size_t few_arguments = 4, most_arguments = 10;
constexpr double argument_lines = 0.5;
constexpr double torn_cost = 0.6;  // of a block that leaves its sum to its user, or is a part of what has one name

// A piece, or a block in its place.
struct Symbol {
  int kind = 0;  // below zero: like no other
  double lines = 0;
  std::vector<int> reads, makes;
  int block = -1;
  bool glued = false;  // to the symbol before it: no block ends or begins between them
  bool joins = false;  // what the symbol before it gave with something older: a block had better not end between them
  std::vector<std::string> numbers;  // of all its pieces
  // Words that its name begins with, as the name before it does; and all names inside it. Many: no name says so.
  std::size_t shared = 0, shared_inside = any_words;
  std::size_t counted = any_words;  // how many words of its name there are up to one that counts: "block1"
};

// The program, or the body of a block as it stands where the block was first found.
struct Body {
  std::vector<Symbol> symbols;
  std::vector<int> results;
};

struct Window {
  std::size_t body = 0, from = 0;
};

// Stretches of one form that do not overlap.
struct Candidate {
  std::size_t length = 0;
  double lines = 0;  // of one of them
  std::size_t torn = 0;  // how many end in front of what joins them with something older, or inside of a name
  std::vector<Window> windows;
};

// A number that tells sequences apart. Source: Fowler, Noll and Vo, FNV-1a.
struct Digest {
  std::uint64_t value = 0xcbf29ce484222325;
  void add(std::int64_t n) {
    for (int byte = 0; byte < 8; ++byte) {
      value ^= static_cast<std::uint64_t>(n >> (8 * byte)) & 0xff;
      value *= 0x100000001b3;
    }
  }
};

// What a reader takes together with the line before it: a norm with its convolution, an activation with both or with a sum.
bool belongs_to(const ProgramPiece& before, const ProgramPiece& piece) {
  const Role first = role_of(before.word), second = role_of(piece.word);
  if (second == Role::Adjusts) return first == Role::Computes;
  return second == Role::Activates && (first == Role::Computes || first == Role::Adjusts || before.word == "add");
}

// How far names agree, from the first word on.
void compare_names(const std::vector<ProgramPiece>& pieces, std::vector<Symbol>& symbols) {
  std::vector<std::string> before;
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    if (pieces[i].name.empty()) {
      symbols[i].shared = any_words;
      continue;
    }
    auto words = words_of_name(pieces[i].name);
    symbols[i].shared = static_cast<std::size_t>(std::ranges::mismatch(words, before).in1 - words.begin());
    const auto counts = [](const std::string& word) { return word.find_first_of("0123456789") != std::string::npos; };
    const auto first = std::ranges::find_if(words, counts);
    if (first != words.end()) symbols[i].counted = static_cast<std::size_t>(first - words.begin()) + 1;
    before = std::move(words);
  }
}

class Search {
 public:
  Search(const std::vector<ProgramPiece>& pieces, const std::vector<int>& results, const BlockCost& cost)
      : cost_(cost) {
    std::map<std::string, int> kinds;
    Body program{.symbols = {}, .results = results};
    std::map<int, int> readers;
    for (const ProgramPiece& piece : pieces)
      for (const int value : piece.reads) ++readers[value];
    for (std::size_t i = 0; i < pieces.size(); ++i) {
      const ProgramPiece& piece = pieces[i];
      const int kind = piece.kind.empty() ? -1 : kinds.emplace(piece.kind, kinds.size()).first->second;
      const bool follows = i > 0 && pieces[i - 1].makes.size() == 1 && readers[pieces[i - 1].makes[0]] == 1 &&
                           std::ranges::find(piece.reads, pieces[i - 1].makes[0]) != piece.reads.end();
      program.symbols.push_back({.kind = kind,
                                 .lines = piece.lines,
                                 .reads = piece.reads,
                                 .makes = piece.makes,
                                 .block = -1,
                                 .glued = follows && belongs_to(pieces[i - 1], piece),
                                 .joins = follows && role_of(piece.word) == Role::Combines,
                                 .numbers = piece.numbers});
    }
    compare_names(pieces, program.symbols);
    next_kind_ = static_cast<int>(kinds.size());
    bodies_.push_back(std::move(program));
  }

  std::vector<Grouped> run() {
    while (auto best = best_candidate()) take(*best);
    std::size_t piece = 0;
    std::vector<Grouped> all;
    for (const Symbol& symbol : bodies_[0].symbols) all.push_back(expand(symbol, piece));
    return all;
  }

 private:
  using Found = std::unordered_map<std::uint64_t, Candidate>;

  // Every stretch that begins at `from` and could be a block, by its form.
  void stretches(std::size_t body, std::size_t from, const std::unordered_map<int, std::size_t>& last_use,
                 Found& found) const {
    const auto& symbols = bodies_[body].symbols;
    // The body of a block is no block again.
    const std::size_t longest = std::min(longest_block, body == 0 ? symbols.size() : symbols.size() - 1);
    if (symbols[from].glued) return;
    std::unordered_map<int, std::pair<std::size_t, std::size_t>> made;  // by value: which piece, which of its results
    std::unordered_map<int, std::size_t> outside;
    std::multiset<std::size_t> leaving;  // the last readers of what is made here and read further on
    Digest form;
    double lines = 0;
    std::size_t shared = any_words, counted = any_words;  // by all names inside
    for (std::size_t end = from; end < symbols.size() && end - from < longest; ++end) {
      const Symbol& symbol = symbols[end];
      if (symbol.kind < 0) return;
      form.add(symbol.kind);
      for (const int value : symbol.reads) {
        if (const auto inner = made.find(value); inner != made.end()) {
          form.add(static_cast<std::int64_t>(inner->second.first));
          form.add(static_cast<std::int64_t>(inner->second.second));
        } else {
          form.add(-1 - static_cast<std::int64_t>(outside.emplace(value, outside.size()).first->second));
        }
      }
      if (outside.size() > cost_.most_inputs) return;
      lines += symbol.lines;
      shared = std::min({shared, symbol.shared_inside, end == from ? any_words : symbol.shared});
      if (counted == any_words) counted = symbol.counted;
      leaving.erase(end);
      for (std::size_t i = 0; i < symbol.makes.size(); ++i) {
        made.emplace(symbol.makes[i], std::pair{end - from, i});
        if (const auto last = last_use.find(symbol.makes[i]); last != last_use.end()) leaving.insert(last->second);
      }
      if (end == from || leaving.size() != 1 || outside.empty()) continue;
      if (end + 1 < symbols.size() && symbols[end + 1].glued) continue;
      Digest whole = form;
      whole.add(static_cast<std::int64_t>(end - from + 1));
      const auto [piece, result] = leaving_value(symbols, from, end, last_use, made);
      whole.add(static_cast<std::int64_t>(piece));
      whole.add(static_cast<std::int64_t>(result));
      Candidate& one = found[whole.value];
      one.length = end - from + 1;
      one.lines = lines;
      const Symbol* next = end + 1 < symbols.size() ? &symbols[end + 1] : nullptr;
      const auto part_of = [&](std::size_t with) { return with != any_words && with >= shared && shared >= counted; };
      const bool torn = (next && (next->joins || part_of(next->shared))) || (from > 0 && part_of(symbols[from].shared));
      const bool overlaps =
          !one.windows.empty() && one.windows.back().body == body && one.windows.back().from + one.length > from;
      if (overlaps) continue;
      one.windows.push_back({body, from});
      if (torn) ++one.torn;
    }
  }

  // The value of [from, end] that is read behind it, by its place.
  static std::pair<std::size_t, std::size_t> leaving_value(
      const std::vector<Symbol>& symbols, std::size_t from, std::size_t end,
      const std::unordered_map<int, std::size_t>& last_use,
      const std::unordered_map<int, std::pair<std::size_t, std::size_t>>& made) {
    for (std::size_t i = end + 1; i-- > from;)
      for (const int value : symbols[i].makes)
        if (const auto last = last_use.find(value); last != last_use.end() && last->second > end) return made.at(value);
    return {};
  }

  static std::unordered_map<int, std::size_t> last_uses(const Body& body) {
    std::unordered_map<int, std::size_t> last;
    for (std::size_t i = 0; i < body.symbols.size(); ++i)
      for (const int value : body.symbols[i].reads) last[value] = i;
    for (const int value : body.results) last[value] = body.symbols.size();
    return last;
  }

  // How many arguments the block would take: numbers that vary alike are one.
  std::size_t arguments_of(const Candidate& one) const {
    std::set<std::vector<std::string_view>> varying;
    for (std::size_t piece = 0; piece < one.length; ++piece) {
      const auto numbers_of = [&](const Window& window) -> const auto& {
        return bodies_[window.body].symbols[window.from + piece].numbers;
      };
      for (std::size_t i = 0; i < numbers_of(one.windows[0]).size(); ++i) {
        std::vector<std::string_view> values;
        for (const Window& window : one.windows) values.emplace_back(numbers_of(window)[i]);
        if (std::ranges::any_of(values, [&](std::string_view v) { return v != values[0]; }))
          varying.insert(std::move(values));
      }
    }
    return varying.size();
  }

  // At most, whatever its arguments.
  double could_save(const Candidate& one) const {
    const auto uses = static_cast<double>(one.windows.size());
    return uses * (one.lines - cost_.use) - one.lines - cost_.definition;
  }

  double saved(const Candidate& one) const {
    const std::size_t arguments = arguments_of(one);
    if (arguments > most_arguments) return 0;
    const double many = arguments > few_arguments ? static_cast<double>(arguments - few_arguments) : 0;
    const double all = could_save(one) - many * argument_lines * static_cast<double>(one.windows.size());
    return all * (1 - torn_cost * static_cast<double>(one.torn) / static_cast<double>(one.windows.size()));
  }

  std::optional<Candidate> best_candidate() const {
    Found found;
    for (std::size_t body = 0; body < bodies_.size(); ++body) {
      const auto last_use = last_uses(bodies_[body]);
      for (std::size_t from = 0; from < bodies_[body].symbols.size(); ++from) stretches(body, from, last_use, found);
    }
    const Candidate* best = nullptr;
    double most = 0;
    const auto place = [](const Candidate& one) {
      return std::tuple(one.windows[0].body, one.windows[0].from, one.length);
    };
    for (const auto& [form, one] : found) {
      if (one.windows.size() < 2 || could_save(one) < std::max(cost_.worth, most)) continue;
      const double own = saved(one);
      if (own < cost_.worth || (best && (own < most || (own == most && place(one) > place(*best))))) continue;
      best = &one;
      most = own;
    }
    return best ? std::optional(*best) : std::nullopt;
  }

  // The stretch as a block: what it reads from outside, and the one value that is read of it.
  Symbol block_of(const Body& body, std::size_t from, std::size_t length, int kind, int block,
                  const std::unordered_map<int, std::size_t>& last_use) const {
    Symbol made{.kind = kind, .lines = cost_.use, .block = block};
    std::set<int> inside;
    made.glued = body.symbols[from].glued;
    made.joins = body.symbols[from].joins;
    made.shared = body.symbols[from].shared;
    made.counted = body.symbols[from].counted;
    for (std::size_t i = from; i < from + length; ++i) {
      std::ranges::copy(body.symbols[i].numbers, std::back_inserter(made.numbers));
      made.shared_inside =
          std::min({made.shared_inside, body.symbols[i].shared_inside, i == from ? any_words : body.symbols[i].shared});
      for (const int value : body.symbols[i].reads)
        if (!inside.contains(value) && std::ranges::find(made.reads, value) == made.reads.end())
          made.reads.push_back(value);
      for (const int value : body.symbols[i].makes) {
        inside.insert(value);
        const auto last = last_use.find(value);
        if (last != last_use.end() && last->second >= from + length) made.makes.push_back(value);
      }
    }
    return made;
  }

  void take(const Candidate& one) {
    const int kind = next_kind_++, block = static_cast<int>(bodies_.size());
    const auto at = [](const Body& body, std::size_t from) {
      return body.symbols.begin() + static_cast<std::ptrdiff_t>(from);
    };
    const Body& first = bodies_[one.windows[0].body];
    const std::size_t from = one.windows[0].from;
    Body own{.symbols = {at(first, from), at(first, from + one.length)},
             .results = block_of(first, from, one.length, kind, block, last_uses(first)).makes};
    // Windows lie in the order of bodies and places, and no two of them overlap.
    for (std::size_t i = 0; i < one.windows.size();) {
      Body& body = bodies_[one.windows[i].body];
      const auto last_use = last_uses(body);
      std::vector<Symbol> symbols;
      std::size_t next = 0;
      for (const std::size_t here = one.windows[i].body; i < one.windows.size() && one.windows[i].body == here; ++i) {
        const std::size_t begin = one.windows[i].from;
        symbols.insert(symbols.end(), at(body, next), at(body, begin));
        symbols.push_back(block_of(body, begin, one.length, kind, block, last_use));
        next = begin + one.length;
      }
      symbols.insert(symbols.end(), at(body, next), body.symbols.cend());
      body.symbols = std::move(symbols);
    }
    bodies_.push_back(std::move(own));
  }

  Grouped expand(const Symbol& symbol, std::size_t& piece) const {
    if (symbol.block < 0) return {.piece = piece++, .block = -1, .inside = {}};
    Grouped made{.piece = {}, .block = symbol.block, .inside = {}};
    for (const Symbol& inner : bodies_[static_cast<std::size_t>(symbol.block)].symbols)
      made.inside.push_back(expand(inner, piece));
    return made;
  }

  const BlockCost& cost_;
  std::vector<Body> bodies_;  // the program, then the blocks by their number
  int next_kind_ = 0;
};

// What each block reads and gives where it stands: its number tells only what is inside.
void wire(Grouped& one, const std::vector<ProgramPiece>& pieces, const std::map<int, std::size_t>& last_use,
          std::size_t& last) {
  if (one.piece) {
    one.reads = pieces[*one.piece].reads;
    one.makes = pieces[*one.piece].makes;
    last = *one.piece;
    return;
  }
  std::set<int> inside;
  std::vector<int> made;
  for (Grouped& inner : one.inside) {
    wire(inner, pieces, last_use, last);
    for (const int value : inner.reads)
      if (!inside.contains(value) && std::ranges::find(one.reads, value) == one.reads.end()) one.reads.push_back(value);
    inside.insert(inner.makes.begin(), inner.makes.end());
    made.insert(made.end(), inner.makes.begin(), inner.makes.end());
  }
  for (const int value : made)
    if (const auto used = last_use.find(value); used != last_use.end() && used->second > last)
      one.makes.push_back(value);
}

}  // namespace

std::vector<std::size_t> branch_by_branch(const std::vector<ProgramPiece>& pieces, const std::vector<int>& results) {
  std::map<int, std::size_t> maker;
  for (std::size_t i = 0; i < pieces.size(); ++i)
    for (const int value : pieces[i].makes) maker[value] = i;
  std::vector<std::size_t> order;
  std::vector<bool> placed(pieces.size());
  struct Visit {
    std::size_t piece, next_read;
  };
  std::vector<Visit> open;
  const auto visit = [&](std::size_t first) {
    if (!placed[first]) open.push_back({first, 0});
    while (!open.empty()) {
      auto& [piece, next] = open.back();
      if (placed[piece] || next == pieces[piece].reads.size()) {
        if (!placed[piece]) order.push_back(piece);
        placed[piece] = true;
        open.pop_back();
        continue;
      }
      const auto made = maker.find(pieces[piece].reads[next++]);
      if (made != maker.end() && !placed[made->second]) open.push_back({made->second, 0});
    }
  };
  for (const int value : results)
    if (const auto made = maker.find(value); made != maker.end()) visit(made->second);
  for (std::size_t i = 0; i < pieces.size(); ++i) visit(i);
  return order;
}

std::vector<Grouped> repeated_blocks(const std::vector<ProgramPiece>& pieces, const std::vector<int>& results,
                                     const BlockCost& cost) {
  auto all = Search(pieces, results, cost).run();
  std::map<int, std::size_t> last_use;
  for (std::size_t i = 0; i < pieces.size(); ++i)
    for (const int value : pieces[i].reads) last_use[value] = i;
  for (const int value : results) last_use[value] = pieces.size();
  std::size_t last = 0;
  for (Grouped& one : all) wire(one, pieces, last_use, last);
  return all;
}

}  // namespace convoy::python
