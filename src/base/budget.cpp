// One process carries one model, so there is one budget, and all threads ask it.
#include "base/budget.h"

#include "base/granted.h"
#include "convoy/cancellation.h"
#include "convoy/granting.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <limits>
#include <mutex>
#include <set>
#include <string>
#include <utility>

namespace convoy::budget {
namespace {

constexpr Size none = std::numeric_limits<Size>::max() / 4;
constexpr double seconds_for_asking = 0.25;
constexpr Size most_declared = Size{1} << 30;
constexpr Size for_unwinding = Size{32} << 20;  // what cleaning up after a refusal may take
constexpr double steps_per_second = 1e9, steps_per_declared_byte = 25;
// What is done with something small from its making to its end. No clock is asked: a refusal must not depend on the
// machine, and processor time jumps where machines are shared.
constexpr double steps_per_allocation = 120;

std::atomic<bool> active = false, is_refused = false;
std::atomic<Size> base = 0, computing_base = 0;  // bytes granted before anything is read
std::atomic<Size> read = 0, declared = 0;        // bytes of files, and of weights that no file holds
std::atomic<Size> held = 0;
std::atomic<int> computing = 0, asking = 0;
std::atomic<double> scale = 1;       // of work, where the user said how much
std::atomic<double> spent = 0;       // steps
std::atomic<double> spent_computing = 0, spent_asking = 0;
thread_local const char* making = nullptr;

// The first refusal, in memory that is there already: it may be for lack of it.
std::array<char, 512> sentence;
std::atomic<bool> is_written = false;

// Networks are computed, or no file was read: the words of a command line cost what they cost.
bool is_computing() { return computing > 0 || read == 0; }

Size granted_bytes() {
  const Size first = is_computing() ? std::max(base.load(), computing_base.load()) : base.load();
  const Size for_files = read > none / per_byte ? none : read * per_byte;
  return std::min(none, first + for_files + 2 * declared);
}

double granted_seconds() {
  if (asking > 0) return scale * seconds_for_asking;
  const double seconds = is_computing() ? seconds_for_computing : seconds_for_reading;
  const double per_declared = is_computing() ? 10 * steps_per_declared_byte : steps_per_declared_byte;
  return scale * seconds * std::max(1.0, static_cast<double>(read) / 0x1p20) +
         static_cast<double>(declared) * per_declared / steps_per_second;
}

struct Amount {
  std::array<char, 32> text{};
};
Amount amount(Size bytes) {
  Amount a;
  const auto b = static_cast<double>(bytes);
  if (bytes >= none) std::snprintf(a.text.data(), a.text.size(), "too many bytes to count");
  else if (bytes >= Size{10} << 30) std::snprintf(a.text.data(), a.text.size(), "%.0f GiB", b / 0x1p30);
  else if (bytes >= Size{1} << 30) std::snprintf(a.text.data(), a.text.size(), "%.1f GiB", b / 0x1p30);
  else if (bytes >= Size{1} << 20) std::snprintf(a.text.data(), a.text.size(), "%.0f MiB", b / 0x1p20);
  else if (bytes >= Size{1} << 10) std::snprintf(a.text.data(), a.text.size(), "%.0f KiB", b / 0x1p10);
  else std::snprintf(a.text.data(), a.text.size(), "%lld bytes", static_cast<long long>(bytes));
  return a;
}

// A whole number of G or M that is enough.
Amount enough(double bytes) {
  Amount a;
  if (bytes <= 0x1p30) std::snprintf(a.text.data(), a.text.size(), "%.0fM", std::ceil(bytes / 0x1p20 / 64) * 64);
  else if (bytes < 0x1p60) std::snprintf(a.text.data(), a.text.size(), "%.0fG", std::ceil(bytes / 0x1p30));
  else std::snprintf(a.text.data(), a.text.size(), "SIZE");
  return a;
}

template <class... Values>
void note(const char* form, Values... values) {
  is_refused = true;
  if (is_written.exchange(true)) return;
  std::snprintf(sentence.data(), sentence.size(), form, values...);
}

Error first_refusal() { return {Fault::Budget, std::string(sentence.data()), {}}; }

void note_bytes(std::string_view what, Size bytes) {
  const double wanted = static_cast<double>(std::min(bytes, none)) + static_cast<double>(held.load());
  note("over the budget: %.*s takes %s beside %s in use; %s are granted for %s read; --budget %s grants more",
       static_cast<int>(std::min<std::size_t>(what.size(), 200)), what.data(), amount(bytes).text.data(),
       amount(std::max<Size>(held, 0)).text.data(), amount(granted_bytes()).text.data(), amount(read).text.data(),
       enough(1.25 * wanted).text.data());
}

void note_work(std::string_view what, double seconds) {
  const Size now = is_computing() ? computing_base.load() : base.load();
  const double times = std::max(2.0, 1.5 * seconds / std::max(1e-3, granted_seconds()));
  note("over the budget: %.*s takes about %.3g s of work; %.3g s are granted for %s read; --budget %s grants more",
       static_cast<int>(std::min<std::size_t>(what.size(), 200)), what.data(), seconds, granted_seconds(),
       amount(read).text.data(), enough(times * static_cast<double>(now)).text.data());
}

// Adds work; says in the end how much there is where that is more than was granted.
std::optional<double> seconds_beyond(double steps) {
  auto& sum = asking > 0 ? spent_asking : computing > 0 ? spent_computing : spent;
  const double seconds = (sum += steps) / steps_per_second;
  if (seconds <= granted_seconds()) return std::nullopt;
  return seconds;
}

std::string_view made_now() { return making ? making : "what the file says"; }

std::mutex files_guard;
std::set<std::pair<Size, Size>>& files() {
  static std::set<std::pair<Size, Size>> all;
  return all;
}

}  // namespace

std::string text_of_bytes(Size bytes) { return amount(bytes).text.data(); }

void begin(std::optional<Size> bytes) {
  base = bytes.value_or(for_reading);
  computing_base = bytes.value_or(for_computing);
  scale = bytes ? static_cast<double>(*bytes) / static_cast<double>(for_reading) : 1.0;
  begin_again();
}

void begin_again() {
  read = declared = 0;
  spent = spent_computing = 0;
  is_refused = is_written = false;
  {
    const std::lock_guard lock(files_guard);
    files().clear();
  }
  active = true;
}

void end() { active = false; }

namespace {

std::mutex calls_guard;
int calls = 0;

}  // namespace

Granted::Granted() {
  const auto bytes = Granting::current();
  const std::lock_guard lock(calls_guard);
  if (calls++ == 0) {
    begin(bytes);
    return;
  }
  base = std::max(base.load(), bytes.value_or(for_reading));
  computing_base = std::max(computing_base.load(), bytes.value_or(for_computing));
  scale = std::max(scale.load(), bytes ? static_cast<double>(*bytes) / static_cast<double>(for_reading) : 1.0);
}

Granted::~Granted() {
  const std::lock_guard lock(calls_guard);
  if (--calls == 0) end();
}

void grant_file(Size device, Size node, Size bytes) {
  if (!active) return;
  const std::lock_guard lock(files_guard);
  if (files().emplace(device, node).second) read += std::max<Size>(bytes, 0);
}

Status grant_declared(Size bytes, std::string_view what) {
  if (!active) return {};
  const Size sum = checked_add(declared.load(), bytes).value_or(none);
  const auto most = static_cast<Size>(static_cast<double>(most_declared) * std::max(1.0, scale.load()));
  if (sum > most) {
    note(
        "over the budget: %.*s and the initial weights before them take %s; %s are granted to weights that no file "
        "holds; --budget %s grants more",
        static_cast<int>(std::min<std::size_t>(what.size(), 200)), what.data(), amount(sum).text.data(),
        amount(most).text.data(),
        enough(1.25 * static_cast<double>(sum) / static_cast<double>(most_declared) * static_cast<double>(for_reading))
            .text.data());
    return std::unexpected(first_refusal());
  }
  declared = sum;
  return {};
}

bool can_afford(Size bytes) {
  if (!active) return true;
  const auto sum = checked_add(std::max<Size>(held, 0), bytes);
  return sum && *sum <= granted_bytes();
}

Status afford(std::optional<Size> bytes, std::string_view what) {
  if (!active || (bytes && can_afford(*bytes))) return {};
  note_bytes(what, bytes.value_or(none));
  return std::unexpected(first_refusal());
}

Size room() { return active ? std::max<Size>(0, granted_bytes() - std::max<Size>(held, 0)) : none; }

Status spend(double steps, std::string_view what) {
  if (Listening::is_cancelled()) return fail(Fault::Cancelled, std::string(what) + " was cancelled");
  if (!active) return {};
  const auto seconds = seconds_beyond(steps);
  if (!seconds) return {};
  if (asking > 0) return fail(Fault::Budget, "what is asked about takes too long");
  note_work(what, *seconds);
  return std::unexpected(first_refusal());
}

Computing::Computing() {
  if (computing++ == 0) spent_computing = 0;
}
Computing::~Computing() { --computing; }

Asking::Asking() {
  if (asking++ == 0) spent_asking = 0;
}
Asking::~Asking() { --asking; }
bool Asking::is_over() const { return spent_asking > granted_seconds() * steps_per_second; }

Making::Making(const char* what) : before_(std::exchange(making, what)) {}
Making::~Making() { making = before_; }

void count(Size bytes) noexcept { held += bytes; }

bool allows(Size bytes, Size allocations) noexcept {
  if (!active) return true;
  const Size now = std::max<Size>(held, 0);
  const Size granted = granted_bytes() + (is_refused ? for_unwinding : 0);
  if (bytes > granted - now) {
    note_bytes(made_now(), bytes);
    return false;
  }
  const auto seconds = seconds_beyond(steps_per_allocation * static_cast<double>(allocations));
  if (!seconds || is_refused || asking > 0) return true;
  note_work(made_now(), *seconds);
  return false;
}

const char* refused() noexcept { return is_refused ? sentence.data() : nullptr; }

std::optional<Error> refusal() {
  if (!is_refused) return std::nullopt;
  return first_refusal();
}

}  // namespace convoy::budget
