// How much memory this process may hold, and how much work it may do, for the files that it was given: granted by their
// size, asked for before anything is made by a number from a file. Nothing is refused until begin().
#pragma once
#include "convoy/result.h"
#include "convoy/size.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace convoy::budget {

// What is granted before anything is read. Each byte that is read grants 64 bytes more; work grows with what is read beyond
// the first MiB.
constexpr Size for_reading = Size{160} << 20, for_computing = Size{2} << 30, per_byte = 64;
constexpr double seconds_for_reading = 0.7, seconds_for_computing = 120;

// From here on this process has a budget. `bytes`: what the user grants in place of both sums above; work in proportion.
void begin(std::optional<Size> bytes = {});
// The same grant once more, as if nothing had been read or done: for a process that another one left to carry a model.
void begin_again();
void end();

// A file was opened; each file counts once.
void grant_file(Size device, Size node, Size bytes);
// Numbers that the model declares and no file holds, initial weights: up to 1 GiB of them in all they bring their own
// memory and work with them. Fails: Budget.
Status grant_declared(Size bytes, std::string_view what);

// Fails (Budget), naming `what`, unless so many bytes may be held beside those that are.
Status afford(std::optional<Size> bytes, std::string_view what);
bool can_afford(Size bytes);
// The same before one more item is put into a vector, where that makes it grow.
template <class Item>
Status afford_one_more(const std::vector<Item>& items, std::string_view what) {
  if (items.size() < items.capacity()) return {};
  return afford(static_cast<Size>((2 * items.size() + 1) * sizeof(Item)), what);
}
// Counts work, in steps of about a nanosecond, before it is done. Fails: Budget where it is more than was granted; Cancelled
// where the caller wants it to end.
Status spend(double steps, std::string_view what);
// Bytes that may still be held: what a proof chooses its sizes by.
Size room();

// While one lives, networks are computed: more is granted, and the work is not the reader's.
class Computing {
 public:
  Computing();
  Computing(const Computing&) = delete;
  Computing& operator=(const Computing&) = delete;
  ~Computing();
};

// While one lives, a question about a refusal is answered, such as which sizes a model takes: that has a
// quarter of a second's work of its own. Where it is over, spend() fails and nothing is refused.
class Asking {
 public:
  Asking();
  Asking(const Asking&) = delete;
  Asking& operator=(const Asking&) = delete;
  ~Asking();
  bool is_over() const;
};

// What this thread is making, for the sentence of a refusal that no place asked for.
class Making {
 public:
  explicit Making(const char* what);
  Making(const Making&) = delete;
  Making& operator=(const Making&) = delete;
  ~Making();

 private:
  const char* before_;
};

// ---- for the one who counts the memory that is held (cli/held_memory.cpp); they allocate nothing
void count(Size bytes) noexcept;
// Whether so many bytes may be made now; false once for each time that something is over the budget. `allocations`: how
// many were made since the last question, each a little work that nobody else counts.
bool allows(Size bytes, Size allocations) noexcept;

// What was refused first, if anything was: as an error, and as it lies in memory.
std::optional<Error> refusal();
const char* refused() noexcept;

// "12 MiB"
std::string text_of_bytes(Size bytes);

}  // namespace convoy::budget
