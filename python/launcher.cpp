// The command as pip puts it on the PATH: gives its place to the package's program, which lies where pip put the package.
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstring>

int main(int, char** argv) {
  constexpr int not_started = 4;
  char self[PATH_MAX] = {};  // where links lead: an installer may put one on the PATH
  const ssize_t length = ::readlink("/proc/self/exe", self, sizeof self - 1);
  char* const name = length > 0 ? std::strrchr(self, '/') : nullptr;
  if (!name) {
    std::fprintf(stderr, "convoy: /proc/self/exe cannot be read: %s\n", std::strerror(errno));
    return not_started;
  }
  *name = '\0';
  constexpr const char* folders[] = {CONVOY_PACKAGE_FOLDERS};
  for (const char* const packages : folders) {
    char program[2 * PATH_MAX];
    std::snprintf(program, sizeof program, "%s/%s/convoy/bin/convoy", self, packages);
    ::execv(program, argv);
    if (errno == ENOENT || errno == ENOTDIR) continue;
    std::fprintf(stderr, "convoy: %s cannot be started: %s\n", program, std::strerror(errno));
    return not_started;
  }
  std::fprintf(stderr, "convoy: the Python package that %s/convoy belongs to is gone: install it again\n", self);
  return not_started;
}
