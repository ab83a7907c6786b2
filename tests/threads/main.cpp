// Many threads at once ask everything of the library: the same models, budgets and kernels, and work that is cancelled meanwhile.
// Networks with every kernel of the native runtime first give the same bits on 1 to 64 threads.
// `make tsan` runs it under the thread sanitizer. threads [TURNS]: exit code 1 where an answer is another than that of one thread.
#include "convoy/cancellation.h"
#include "convoy/granting.h"
#include "convoy/model.h"
#include "convoy/progress.h"
#include "convoy/torch.h"

#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <thread>
#include <vector>

namespace {

namespace fs = std::filesystem;
using convoy::Tensor;

const char* const digits = "examples/digits.keras";

Tensor filled(convoy::Sizes shape) {
  std::size_t count = 1;
  for (const convoy::Size size : shape) count *= static_cast<std::size_t>(size);
  std::vector<float> numbers(count);
  for (std::size_t i = 0; i < count; ++i) numbers[i] = static_cast<float>(i * 37 % 101) / 101;
  return Tensor::of(std::move(shape), numbers);
}

Tensor pictures(convoy::Size count) { return filled({count, 8, 8, 1}); }

// One class of networks.py and what it answers, by Winograd and without.
struct Network {
  std::string name;
  convoy::Model model;
  Tensor input, answer, direct_answer;

  bool answers_with(int threads, bool direct) const {
    const auto y = model.run(std::vector{input}, {.threads = threads, .direct = direct});
    return y && same_bytes(y->front(), direct ? direct_answer : answer);
  }
};

convoy::Result<std::vector<Network>> networks() {
  const std::pair<std::string, convoy::Sizes> all[] = {
      {"Image", {1, 3, 48, 40}}, {"Attention", {2, 50, 48}}, {"Volume", {1, 1, 8, 24, 20}}, {"Sound", {2, 1, 200}}};
  std::vector<Network> made;
  for (const auto& [name, shape] : all) {
    auto model = convoy::load("tests/threads/networks.py:" + name,
                              {.shapes = {{"", convoy::ModelShape(shape.begin(), shape.end())}}});
    if (!model) return std::unexpected(model.error());
    Network one{name, *model, filled(shape), {}, {}};
    for (const bool direct : {false, true}) {
      auto y = one.model.run(std::vector{one.input}, {.threads = 1, .direct = direct});
      if (!y) return std::unexpected(y.error());
      (direct ? one.direct_answer : one.answer) = y->front();
    }
    made.push_back(std::move(one));
  }
  return made;
}

// What one thread was given, for others to be held to.
struct Wanted {
  convoy::Model model;
  std::vector<Tensor> answers;  // for 1, 2, ... pictures
  std::string summary, padding, function;
  std::vector<Network> networks;
};

constexpr convoy::Size batches = 4;

std::string bytes_of_function() {
  const Tensor x = Tensor::of({1, 1, 4}, std::vector<float>{1, 10, 100, 1000}),
               w = Tensor::of({1, 1, 3}, std::vector<float>{1, 2, 3});
  const auto y = convoy::torch::conv1d(x, w, nullptr, {.stride = {2}, .padding = {1}});
  return y ? std::string(reinterpret_cast<const char*>(y->bytes().data()), y->bytes().size()) : message(y.error());
}

std::string padding_said() {
  const auto told = convoy::pad("Conv2D(8, 3, strides=2, padding='same')", {.size = {10, 11}});
  return told ? told->front().text : message(told.error());
}

convoy::Result<Wanted> wanted_of_one() {
  auto model = convoy::load(digits, convoy::ReadOptions{});
  if (!model) return std::unexpected(model.error());
  auto all = networks();
  if (!all) return std::unexpected(all.error());
  Wanted wanted{*model, {}, model->summary_text(), padding_said(), bytes_of_function(), *std::move(all)};
  for (convoy::Size n = 1; n <= batches; ++n) {
    auto y = model->run(std::vector{pictures(n)});
    if (!y) return std::unexpected(y.error());
    wanted.answers.push_back(y->front());
  }
  return wanted;
}

class Turns {
 public:
  Turns(const Wanted& wanted, int thread) : wanted_(wanted), thread_(thread) {}

  // Each thread begins with another of these, so that all are asked side by side. False: something was not as it should be.
  bool take(int turn) {
    const std::function<bool()> all[] = {[&] { return runs(turn); },     [&] { return reads(); },
                                         [&] { return ports(turn); },    [&] { return compares(); },
                                         [&] { return says(); },         [&] { return is_cancelled(); },
                                         [&] { return computes(turn); }, [&] { return is_granted_little(); },
                                         [&] { return is_watched(); }};
    return all[static_cast<std::size_t>(turn + thread_) % std::size(all)]();
  }

 private:
  bool runs(int turn) const {
    const convoy::Size n = 1 + (turn * 5 + thread_) % batches;
    const auto y = wanted_.model.run(std::vector{pictures(n)}, {.threads = 1 + thread_ % 3, .direct = false});
    return y && same_bytes(y->front(), wanted_.answers[static_cast<std::size_t>(n - 1)]);
  }
  bool computes(int turn) const {
    const Network& network = wanted_.networks[static_cast<std::size_t>(turn + thread_) % wanted_.networks.size()];
    return network.answers_with(1 + (turn + thread_) % 3, turn % 2 == 0);
  }
  bool reads() const {
    const auto model = convoy::load(digits, convoy::ReadOptions{});
    return model && model->summary_text() == wanted_.summary && model->layers().size() == wanted_.model.layers().size();
  }
  bool ports(int turn) const {
    const fs::path folder =
        fs::temp_directory_path() / ("convoy-threads-" + std::to_string(getpid()) + "-" + std::to_string(thread_));
    fs::create_directories(folder);
    const char* const name = turn % 2 == 0 ? "digits.onnx" : "digits.py";
    const auto done = convoy::port(digits, folder / name, {.overwrites = true});
    fs::remove_all(folder);
    return done && done->holds;
  }
  bool compares() const {
    const auto found = convoy::diff(wanted_.model, wanted_.model, {});
    return found && found->same;
  }
  bool says() const { return padding_said() == wanted_.padding && bytes_of_function() == wanted_.function; }
  // Another thread ends what this one has begun.
  bool is_cancelled() const {
    convoy::Cancellation stop;
    const convoy::Listening listening(stop);
    std::thread other([&] { stop.cancel(); });
    const auto done = convoy::diff(wanted_.model, wanted_.model, {});
    other.join();
    return done ? done->same : done.error().fault == convoy::Fault::Cancelled;
  }
  // Calls side by side share the largest budget of theirs, so it may be enough.
  bool is_granted_little() const {
    const convoy::Granting little(1);
    const auto model = convoy::load(digits, convoy::ReadOptions{});
    return model || model.error().fault == convoy::Fault::Budget;
  }
  bool is_watched() const {
    std::size_t told = 0;
    const convoy::Watching watching([&](const convoy::Progress&) { ++told; });
    return wanted_.model.run(std::vector{pictures(1)}) && told > 0;
  }

  const Wanted& wanted_;
  int thread_;
};

}  // namespace

int main(int argc, char** argv) {
  const int turns = argc > 1 ? std::atoi(argv[1]) : 80;
  constexpr int count = 8;
  const auto wanted = wanted_of_one();
  if (!wanted) return std::puts(message(wanted.error()).c_str()), 1;
  std::atomic<int> wrong{0};
  for (const Network& network : wanted->networks)
    for (int more = 2; more <= 64; more = more < 8 ? more + 1 : 2 * more)
      for (const bool direct : {false, true})
        if (!network.answers_with(more, direct)) {
          std::printf("%s: %d threads give other bits than one\n", network.name.c_str(), more);
          ++wrong;
        }
  std::vector<std::thread> threads;
  for (int thread = 0; thread < count; ++thread)
    threads.emplace_back([&, thread] {
      Turns mine(*wanted, thread);
      for (int turn = 0; turn < turns; ++turn)
        if (!mine.take(turn)) {
          std::printf("thread %d, turn %d: not what one thread was given\n", thread, turn);
          ++wrong;
        }
    });
  for (std::thread& one : threads) one.join();
  std::printf("%d threads, %d turns each: %d wrong\n", count, turns, wrong.load());
  return wrong == 0 ? 0 : 1;
}
