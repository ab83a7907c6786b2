#include "base/atomic_output.h"

#include "base/sha256.h"
#include "support/files.h"

#include <gtest/gtest.h>

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

namespace convoy::atomic_output_test {
namespace {

namespace fs = std::filesystem;

struct AtomicOutput : testing::Test {
  fs::path folder = fs::temp_directory_path() / ("convoy_output_test_" + std::to_string(::getpid()));
  void SetUp() override { fs::create_directories(folder); }
  void TearDown() override { fs::remove_all(folder); }
  std::size_t files() { return static_cast<std::size_t>(std::distance(fs::directory_iterator(folder), {})); }
};

TEST_F(AtomicOutput, PutsAllFilesInPlaceAtTheEnd) {
  auto set = OutputSet::begin({folder / "weights", folder / "module"}, false);
  ASSERT_TRUE(set) << message(set.error());
  ASSERT_TRUE(set->append(0, bytes_of("numbers")));
  ASSERT_TRUE(set->append(1, bytes_of("text")));
  EXPECT_FALSE(fs::exists(folder / "weights"));
  ASSERT_TRUE(set->commit());
  EXPECT_EQ(content_of(folder / "weights"), "numbers");
  EXPECT_EQ(content_of(folder / "module"), "text");
  EXPECT_EQ(files(), 2u);
}

TEST_F(AtomicOutput, LeavesNothingWhenItIsGivenUp) {
  {
    auto set = OutputSet::begin({folder / "weights"}, false);
    ASSERT_TRUE(set);
    ASSERT_TRUE(set->append(0, bytes_of("half")));
  }
  EXPECT_EQ(files(), 0u);
}

// Pieces on both sides of what wakes the thread that hashes, and a last one that it is not told of.
TEST_F(AtomicOutput, TellsTheChecksumOfAllThatWasAppended) {
  auto set = OutputSet::begin({folder / "weights", folder / "small", folder / "empty"}, false);
  ASSERT_TRUE(set) << message(set.error());
  std::string all;
  for (const std::size_t length : {3u, 1u << 20, 5u, (1u << 19) + 1u, 3u << 20, 7u}) {
    const std::string piece(length, static_cast<char>('a' + all.size() % 23));
    all += piece;
    ASSERT_TRUE(set->append(0, bytes_of(piece)));
  }
  ASSERT_TRUE(set->append(1, bytes_of("text")));
  for (const auto& [i, content] :
       {std::pair{0u, all}, std::pair{1u, std::string("text")}, std::pair{2u, std::string()}}) {
    const auto sha256 = set->close(i);
    ASSERT_TRUE(sha256) << message(sha256.error());
    EXPECT_EQ(*sha256, sha256_hex(bytes_of(content)));
    EXPECT_EQ(set->close(i).value(), *sha256);
  }
  ASSERT_TRUE(set->commit());
  EXPECT_EQ(content_of(folder / "weights"), all);
}

TEST_F(AtomicOutput, IsGivenUpWhileItIsHashed) {
  const std::string piece(8 << 20, 'x');
  for (int i = 0; i < 5; ++i) {
    auto set = OutputSet::begin({folder / "weights"}, false);
    ASSERT_TRUE(set);
    ASSERT_TRUE(set->append(0, bytes_of(piece)));
  }
  EXPECT_EQ(files(), 0u);
}

TEST_F(AtomicOutput, RefusesAFileThatExistsBeforeAnyWork) {
  std::ofstream(folder / "kept") << "old";
  const auto set = OutputSet::begin({folder / "new", folder / "kept"}, false);
  ASSERT_FALSE(set);
  EXPECT_EQ(set.error().fault, Fault::Io);
  EXPECT_NE(set.error().what.find("--force"), std::string::npos);
  EXPECT_EQ(content_of(folder / "kept"), "old");
  EXPECT_EQ(files(), 1u);
}

TEST_F(AtomicOutput, RefusesFoldersTheSourceItselfAndLinksThatLeave) {
  fs::create_directory(folder / "inner");
  std::ofstream(folder / "source") << "model";
  fs::create_symlink(fs::temp_directory_path() / "elsewhere", folder / "link");
  EXPECT_FALSE(OutputSet::begin({folder / "inner"}, true));
  EXPECT_FALSE(OutputSet::begin({folder / "source"}, true, {folder / "source"}));
  EXPECT_FALSE(OutputSet::begin({folder / "link"}, true));
  EXPECT_FALSE(OutputSet::begin({folder / "missing" / "file"}, true));
}

TEST_F(AtomicOutput, AFullDiskLeavesTheOldFileWhole) {
  std::ofstream(folder / "weights") << "old";
  std::signal(SIGXFSZ, SIG_IGN);
  rlimit before{};
  getrlimit(RLIMIT_FSIZE, &before);
  auto set = OutputSet::begin({folder / "weights"}, true);
  ASSERT_TRUE(set);
  const rlimit small{4096, before.rlim_max};
  setrlimit(RLIMIT_FSIZE, &small);
  const auto written = set->append(0, bytes_of(std::string(100000, 'x')));
  setrlimit(RLIMIT_FSIZE, &before);
  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().fault, Fault::Io);
  set = OutputSet::begin({folder / "weights"}, true);  // what was begun before is given up
  EXPECT_EQ(content_of(folder / "weights"), "old");
}

// Where an old file refers to old data, the new one goes through names that tell its content; nothing of them is left.
TEST_F(AtomicOutput, ReplacesAFileTogetherWithItsData) {
  std::ofstream(folder / "net.data") << "old numbers";
  std::ofstream(folder / "net.txt") << "old";
  std::ofstream(folder / "net.check") << "old answer";
  // What a process left that was killed in the middle, and a file of the user's whose name only looks like it.
  const std::string left = "killed", name = sha256_hex(bytes_of(left)).substr(0, 16);
  std::ofstream(folder / ("net." + name + ".data")) << left;
  std::ofstream(folder / ("net." + name + ".check")) << left;
  std::ofstream(folder / "net.0123456789abcdef.data") << "the user's";
  auto set = OutputSet::begin({folder / "net.data", folder / "net.txt"}, true);
  ASSERT_TRUE(set) << message(set.error());
  EXPECT_TRUE(set->replaces());
  ASSERT_TRUE(set->append(0, bytes_of("new numbers")));
  EXPECT_EQ(set->name_meanwhile(0).value(), "net." + sha256_hex(bytes_of("new numbers")).substr(0, 16) + ".data");
  ASSERT_TRUE(set->append(1, bytes_of("new")));
  ASSERT_TRUE(set->append_meanwhile(bytes_of("new, meanwhile")));
  set->drop(folder / "net.check");
  const auto done = set->commit();
  ASSERT_TRUE(done) << message(done.error());
  EXPECT_EQ(content_of(folder / "net.data"), "new numbers");
  EXPECT_EQ(content_of(folder / "net.txt"), "new");
  set = OutputSet::begin({folder / "other"}, false);  // the first one's temporary is gone with it
  EXPECT_EQ(content_of(folder / "net.0123456789abcdef.data"), "the user's");
  EXPECT_EQ(files(), 4u);
}

TEST_F(AtomicOutput, TakesBackWhatCannotBeFinished) {
  std::ofstream(folder / "net.data") << "old numbers";
  std::ofstream(folder / "report") << "old report";
  {
    auto set = OutputSet::begin({folder / "net.data", folder / "net.txt"}, true);
    auto report = OutputSet::begin({folder / "report"}, true);
    fs::create_directories(folder / "pages");
    auto page = OutputSet::begin({folder / "pages" / "page"}, true);
    ASSERT_TRUE(set && report && page);
    ASSERT_TRUE(set->append(0, bytes_of("new numbers")));
    set->join(std::move(*report));
    set->join(std::move(*page));
    fs::remove_all(folder / "pages");
    const auto done = set->commit();
    ASSERT_FALSE(done);
    EXPECT_EQ(done.error().fault, Fault::Io);
  }
  EXPECT_EQ(content_of(folder / "net.data"), "old numbers");
  EXPECT_EQ(content_of(folder / "report"), "old report");
  EXPECT_EQ(files(), 2u);
}

TEST_F(AtomicOutput, KeepsAFileThatAnotherProcessMadeMeanwhile) {
  auto set = OutputSet::begin({folder / "net.data", folder / "net.txt"}, false);
  ASSERT_TRUE(set);
  std::ofstream(folder / "net.txt") << "theirs";
  EXPECT_FALSE(set->commit());
  EXPECT_EQ(content_of(folder / "net.txt"), "theirs");
  EXPECT_FALSE(fs::exists(folder / "net.data"));
}

TEST_F(AtomicOutput, RefusesToWriteOnePlaceTwice) {
  std::ofstream(folder / "net.data") << "old";
  auto set = OutputSet::begin({folder / "net.data"}, true);
  auto report = OutputSet::begin({folder / "net.data"}, true);
  ASSERT_TRUE(set && report);
  set->join(std::move(*report));
  EXPECT_FALSE(set->commit());
  EXPECT_EQ(content_of(folder / "net.data"), "old");
}

// Begins a file and ends without a word, or waits; the parent holds the other end of the pipe.
pid_t begin_in_child(const fs::path& file, bool waits) {
  int ready[2] = {-1, -1};
  if (::pipe(ready) != 0) return -1;
  const pid_t child = ::fork();
  if (child == 0) {
    const auto set = OutputSet::begin({file}, false);
    [[maybe_unused]] const auto told = ::write(ready[1], "x", 1);
    if (waits) ::pause();
    ::_exit(set ? 0 : 1);
  }
  char one = 0;
  [[maybe_unused]] const auto heard = ::read(ready[0], &one, 1);
  ::close(ready[0]);
  ::close(ready[1]);
  return child;
}

TEST_F(AtomicOutput, ClearsAwayWhatADeadProcessLeftAndNotWhatALivingOneMakes) {
  const pid_t living = begin_in_child(folder / "living", true), dead = begin_in_child(folder / "dead", false);
  ASSERT_TRUE(dead > 0 && living > 0);
  ::waitpid(dead, nullptr, 0);
  std::ofstream(folder / ".notes.convoy-1") << "the user's";
  std::ofstream(folder / ".old.convoy-1-1-1-1") << "of another machine, and new: it may be at work";
  EXPECT_EQ(files(), 4u);
  EXPECT_TRUE(OutputSet::begin({folder / "new"}, false));
  EXPECT_EQ(files(), 3u);
  ::kill(living, SIGKILL);
  ::waitpid(living, nullptr, 0);
  fs::last_write_time(folder / ".old.convoy-1-1-1-1", fs::file_time_type::clock::now() - std::chrono::hours(25));
  EXPECT_TRUE(OutputSet::begin({folder / "new"}, false));
  EXPECT_EQ(files(), 1u);
}

}  // namespace
}  // namespace convoy::atomic_output_test
