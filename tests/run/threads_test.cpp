// Work shared among threads that stay: every item once, whoever calls, whatever fails.
#include "run/threads.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <stdexcept>
#include <thread>
#include <vector>

namespace convoy::threads_test {
namespace {

std::vector<int> visits(int threads, Size count) {
  std::vector<std::atomic<int>> seen(static_cast<std::size_t>(count));
  for_each_item(threads, count, [&](Size item) { ++seen[static_cast<std::size_t>(item)]; });
  return {seen.begin(), seen.end()};
}

TEST(Threads, EveryItemIsWorkedOnOnce) {
  for (int round = 0; round < 200; ++round)
    for (const int threads : {1, 2, 7, 64})
      for (const Size count : {0, 1, 3, 500})
        EXPECT_EQ(visits(threads, count), std::vector<int>(static_cast<std::size_t>(count), 1));
}

TEST(Threads, ManyCallersShareThem) {
  std::atomic<int> wrong = 0;
  std::vector<std::jthread> callers;
  for (int caller = 0; caller < 8; ++caller)
    callers.emplace_back([&] {
      for (int round = 0; round < 300; ++round)
        if (visits(3, 40) != std::vector<int>(40, 1)) ++wrong;
    });
  callers.clear();
  EXPECT_EQ(wrong, 0);
}

TEST(Threads, AnItemMayShareItsOwnWork) {
  std::atomic<int> all = 0;
  for_each_item(4, 20, [&](Size) { for_each_item(4, 30, [&](Size) { ++all; }); });
  EXPECT_EQ(all, 600);
}

TEST(Threads, AFailureIsToldToTheCallerAndEndsNothingElse) {
  for (int round = 0; round < 50; ++round)
    EXPECT_THROW(for_each_item(4, 100,
                               [](Size item) {
                                 if (item == 37) throw std::runtime_error("item 37");
                               }),
                 std::runtime_error);
  EXPECT_EQ(visits(4, 100), std::vector<int>(100, 1));
}

// A child process has no thread but its own.
TEST(Threads, AChildProcessStartsItsOwn) {
  EXPECT_EQ(visits(4, 100), std::vector<int>(100, 1));
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) ::_exit(visits(4, 100) == std::vector<int>(100, 1) ? 0 : 1);
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

}  // namespace
}  // namespace convoy::threads_test
