#include "convoy/cancellation.h"

#include <utility>

namespace convoy {

namespace {

thread_local const Cancellation* heard = nullptr;

}  // namespace

Listening::Listening(const Cancellation* cancellation) noexcept : before_(std::exchange(heard, cancellation)) {}
Listening::~Listening() { heard = before_; }

const Cancellation* Listening::current() noexcept { return heard; }
bool Listening::is_cancelled() noexcept { return heard && heard->is_cancelled(); }

}  // namespace convoy
