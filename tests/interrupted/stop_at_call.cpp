// Loaded before a program: counts its calls that change files, and at a chosen one ends the process or fails the call.
//   STOP_AT=N      the process is killed in front of call N
//   FAIL_AT=N      call N fails with FAIL_WITH (a number of errno); FAIL_ON=1: so do all after it
//   REFUSE_LINKS=1 the file system has no second names
//   COUNT_TO=FILE  how many calls there were
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>

namespace {

long number_of(const char* name) {
  const char* value = std::getenv(name);
  return value ? std::strtol(value, nullptr, 10) : 0;
}

template <class F>
F real(const char* name) {
  return reinterpret_cast<F>(::dlsym(RTLD_NEXT, name));
}

struct Plan {
  long stop_at = number_of("STOP_AT"), fail_at = number_of("FAIL_AT");
  int fail_with = static_cast<int>(number_of("FAIL_WITH"));
  bool fail_on = number_of("FAIL_ON") != 0, refuses_links = number_of("REFUSE_LINKS") != 0;
  std::atomic<long> calls = 0;

  ~Plan() {
    const char* file = std::getenv("COUNT_TO");
    if (!file) return;
    const int handle = static_cast<int>(::syscall(SYS_openat, AT_FDCWD, file, O_WRONLY | O_CREAT | O_TRUNC, 0644));
    char text[24];
    const int length = std::snprintf(text, sizeof text, "%ld", calls.load());
    ::syscall(SYS_write, handle, text, length);
    ::syscall(SYS_close, handle);
  }
};

Plan& plan() {
  static Plan one;
  return one;
}
[[gnu::constructor]] void begin() { plan(); }

// Whether the call is to fail: errno says how.
bool fails() {
  const long call = ++plan().calls;
  if (call == plan().stop_at) ::kill(::getpid(), SIGKILL);
  if (plan().fail_at == 0 || (call != plan().fail_at && !(plan().fail_on && call > plan().fail_at))) return false;
  errno = plan().fail_with;
  return true;
}

}  // namespace

extern "C" {

int open(const char* path, int flags, ...) {
  mode_t mode = 0;
  if (flags & O_CREAT) {
    va_list rest;
    va_start(rest, flags);
    mode = va_arg(rest, mode_t);
    va_end(rest);
    if (fails()) return -1;
  }
  return static_cast<int>(::syscall(SYS_openat, AT_FDCWD, path, flags, mode));
}
int open64(const char* path, int flags, ...) {
  mode_t mode = 0;
  if (flags & O_CREAT) {
    va_list rest;
    va_start(rest, flags);
    mode = va_arg(rest, mode_t);
    va_end(rest);
  }
  return open(path, flags, mode);
}
ssize_t write(int handle, const void* data, size_t length) {
  if (handle > 2 && fails()) return -1;
  return ::syscall(SYS_write, handle, data, length);
}
int fsync(int handle) { return fails() ? -1 : static_cast<int>(::syscall(SYS_fsync, handle)); }
int rename(const char* from, const char* to) {
  return fails() ? -1 : real<int (*)(const char*, const char*)>("rename")(from, to);
}
int link(const char* from, const char* to) {
  if (plan().refuses_links) return errno = EPERM, -1;
  return fails() ? -1 : real<int (*)(const char*, const char*)>("link")(from, to);
}
// Taking away is never refused: a full disk does not, and what cannot be taken away is not what is tested.
int unlink(const char* path) {
  const long call = ++plan().calls;
  if (call == plan().stop_at) ::kill(::getpid(), SIGKILL);
  return real<int (*)(const char*)>("unlink")(path);
}
int remove(const char* path) { return unlink(path); }
}
