#include "base/atomic_output.h"

#include "base/sha256.h"

#include <gtest/gtest.h>

#include <sys/resource.h>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

namespace convoy {
namespace {

namespace fs = std::filesystem;

struct AtomicOutput : testing::Test {
  fs::path folder = fs::temp_directory_path() / ("convoy_output_test_" + std::to_string(::getpid()));
  void SetUp() override { fs::create_directories(folder); }
  void TearDown() override { fs::remove_all(folder); }
  std::string content(const fs::path& file) {
    std::ifstream in(file, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  std::size_t files() { return static_cast<std::size_t>(std::distance(fs::directory_iterator(folder), {})); }
};

TEST_F(AtomicOutput, PutsAllFilesInPlaceAtTheEnd) {
  auto set = OutputSet::begin({folder / "weights", folder / "module"}, false);
  ASSERT_TRUE(set) << message(set.error());
  ASSERT_TRUE(set->append(0, bytes_of("numbers")));
  ASSERT_TRUE(set->append(1, bytes_of("text")));
  EXPECT_FALSE(fs::exists(folder / "weights"));
  ASSERT_TRUE(set->commit());
  EXPECT_EQ(content(folder / "weights"), "numbers");
  EXPECT_EQ(content(folder / "module"), "text");
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
  EXPECT_EQ(content(folder / "weights"), all);
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
  EXPECT_EQ(content(folder / "kept"), "old");
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
  EXPECT_EQ(content(folder / "weights"), "old");
}

}  // namespace
}  // namespace convoy
