// A damaged file is refused with its place, quickly; what damage leaves readable is read. Nothing else may happen.
#include "formats/format.h"
#include "support/share.h"

#include <gtest/gtest.h>

#include <unistd.h>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>

namespace convoy::damage_test {
namespace {

namespace fs = std::filesystem;

struct Damage : testing::TestWithParam<const char*> {
  // In memory where the system offers it: tens of thousands of files are written.
  fs::path folder = (fs::exists("/dev/shm") ? fs::path("/dev/shm") : fs::temp_directory_path()) /
                    ("convoy_damage_test_" + std::to_string(::getpid()));
  fs::path original = fs::path("tests/data/corpus/keras") / GetParam();
  fs::path damaged = folder / original.filename();
  std::string bytes;
  LoadOptions options;

  void SetUp() override {
    if (!fs::exists(original)) GTEST_SKIP() << "no " << original;
    fs::create_directories(folder);
    std::ifstream in(original, std::ios::binary);
    bytes.assign(std::istreambuf_iterator<char>(in), {});
    if (original.extension() == ".json") options.weights = fs::absolute(original).parent_path() / "model.weights.h5";
    ASSERT_TRUE(load(original, options)) << load(original, options).error().what;
  }
  void TearDown() override { fs::remove_all(folder); }

  void write(const std::string& text) { std::ofstream(damaged, std::ios::binary | std::ios::trunc) << text; }

  // Loads what lies at `damaged`, within a second; an error names the file and says what is wrong.
  Result<Graph> load_quickly() {
    const std::clock_t begun = std::clock();  // of the processor: what else runs there does not count
    auto graph = load(damaged, options);
    EXPECT_LT(std::clock() - begun, CLOCKS_PER_SEC);
    if (!graph) {
      EXPECT_FALSE(graph.error().what.empty());
      EXPECT_TRUE(graph.error().where.starts_with(damaged.filename().string())) << graph.error().where;
      EXPECT_NE(graph.error().fault, Fault::Internal) << graph.error().where << ": " << graph.error().what;
    }
    return graph;
  }
};

TEST_P(Damage, EveryTruncationIsRefused) {
  write(bytes);
  std::size_t end = bytes.size();
  // A text may end in white space that nobody misses.
  if (original.extension() == ".json") end = bytes.find_last_not_of(" \n") + 1;
  for (std::size_t size = end; size-- > 0;) {
    fs::resize_file(damaged, size);
    ASSERT_FALSE(load_quickly()) << "the first " << size << " of " << bytes.size() << " bytes are taken for a model";
    if (HasFailure()) FAIL() << "at " << size << " bytes";
  }
}

TEST_P(Damage, FlippedBitsAreRefusedOrReadAndNeverMore) {
  std::mt19937 random(1);
  std::uniform_int_distribution<std::size_t> place(0, bytes.size() * 8 - 1);
  for (int turn = 0; turn < 5000; ++turn) {
    const std::size_t bit = place(random);
    std::string flipped = bytes;
    flipped[bit / 8] = static_cast<char>(flipped[bit / 8] ^ (1 << bit % 8));
    write(flipped);
    static_cast<void>(load_quickly());
    if (HasFailure()) FAIL() << "with bit " << bit % 8 << " of byte " << bit / 8 << " flipped";
  }
}

// Every run of eight bytes replaced by a number that breaks sums and products.
TEST_P(Damage, HostileNumbersAreRefusedOrReadAndNeverMore) {
  for (const std::uint64_t number :
       {std::uint64_t{0}, ~std::uint64_t{0}, std::uint64_t{1} << 63, std::uint64_t{0x7fffffff}}) {
    for (std::size_t at = 0; at + 8 <= bytes.size(); at += 4 * test::share) {
      std::string hostile = bytes;
      for (std::size_t i = 0; i < 8; ++i) hostile[at + i] = static_cast<char>(number >> 8 * i);
      write(hostile);
      static_cast<void>(load_quickly());
      if (HasFailure()) FAIL() << "with " << number << " at byte " << at;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Files, Damage,
                         testing::Values("conv1d_groups/model.keras", "conv1d_groups/model.h5",
                                         "conv1d_groups/model.json", "old_shared/model.h5"));

}  // namespace
}  // namespace convoy::damage_test
