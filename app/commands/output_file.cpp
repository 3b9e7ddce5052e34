// SPDX-License-Identifier: Apache-2.0
#include "app/commands/output_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <optional>
#include <ostream>

#include "app/commands/command.hpp"
#include "app/commands/interrupts.hpp"

namespace collsim {
namespace {

namespace files = std::filesystem;

// A descriptor that is closed, and a temporary file that is removed unless it was kept.
class OpenFile {
 public:
  OpenFile(int descriptor, std::string temporary)
      : descriptor_(descriptor), temporary_(std::move(temporary)) {}
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;
  ~OpenFile() {
    if (descriptor_ >= 0) ::close(descriptor_);
    if (!temporary_.empty()) ::unlink(temporary_.c_str());
  }

  [[nodiscard]] int descriptor() const { return descriptor_; }
  // Network file systems report a full disk here.
  [[nodiscard]] bool close() {
    const int descriptor = descriptor_;
    descriptor_ = -1;
    return ::close(descriptor) == 0;
  }
  [[nodiscard]] bool rename_to(const std::string& file) {
    if (::rename(temporary_.c_str(), file.c_str()) != 0) return false;
    temporary_.clear();
    return true;
  }

 private:
  int descriptor_;
  std::string temporary_;
};

[[noreturn]] void cannot_write(const std::string& file, int error) {
  // /proc says that of every new file.
  std::error_code ignored;
  if (error == ENOENT && files::is_directory(files::path(file).parent_path(), ignored))
    throw WriteError(fmt::format("cannot write \"{}\": no files can be made in its folder", file));
  throw WriteError(fmt::format("cannot write \"{}\": {}", file, reason_of(error)));
}

void write_to(int descriptor, const std::string& file,
              const std::function<void(std::ostream&)>& writer) {
  DescriptorBuffer buffer(descriptor);
  std::ostream out(&buffer);
  writer(out);
  out.flush();
  if (buffer.error() != 0) cannot_write(file, buffer.error());
}

// What cannot be replaced, such as devices and pipes.
void write_in_place(const std::string& file, const std::function<void(std::ostream&)>& writer) {
  OpenFile open(::open(file.c_str(), O_WRONLY | O_TRUNC | O_CLOEXEC), {});
  if (open.descriptor() < 0) cannot_write(file, errno);
  write_to(open.descriptor(), file, writer);
  if (!open.close()) cannot_write(file, errno);
}

mode_t mode_of_new_files() {
  const mode_t mask = ::umask(0);
  ::umask(mask);
  return 0666 & ~mask;
}

bool no_new_file_is_allowed(int error) {
  return error == EACCES || error == EPERM || error == EROFS;
}

// Written beside the file, then renamed: readers see the old file or the new one.
void write_whole(const std::string& shown, const std::string& file, const struct stat* old,
                 const std::function<void(std::ostream&)>& writer) {
  std::string temporary = file + ".XXXXXX";
  const int descriptor = ::mkostemp(temporary.data(), O_CLOEXEC);
  if (descriptor < 0) {
    if (old == nullptr || !no_new_file_is_allowed(errno)) cannot_write(shown, errno);
    return write_in_place(shown, writer);
  }
  OpenFile open(descriptor, temporary);
  const RemovedWhenKilled removed(temporary);
  const mode_t mode = old == nullptr ? mode_of_new_files() : old->st_mode;
  if (::fchmod(descriptor, mode) != 0) cannot_write(shown, errno);
  write_to(descriptor, shown, writer);
  if (!open.close() || !open.rename_to(file)) cannot_write(shown, errno);
}

bool is_open_as(int descriptor, const struct stat& file) {
  struct stat status {};
  return ::fstat(descriptor, &status) == 0 && status.st_dev == file.st_dev &&
         status.st_ino == file.st_ino;
}

// Where links lead, even if the target does not exist yet.
std::string target_of_links(const std::string& file) {
  constexpr int most_links = 40;  // as Linux
  std::error_code failed;
  files::path target = file;
  for (int i = 0; i < most_links && files::is_symlink(target, failed); ++i) {
    const files::path next = files::read_symlink(target, failed);
    if (failed) break;
    target = target.parent_path() / next;
  }
  return target.string();
}

// Nothing: it is not there yet.
std::optional<struct stat> status_of(const std::string& file) {
  if (file.empty()) throw WriteError("cannot write a file without a name");
  struct stat status {};
  if (::stat(file.c_str(), &status) == 0) return status;
  if (errno != ENOENT) cannot_write(file, errno);
  return std::nullopt;
}

bool is_standard_stream(const struct stat& file) {
  return is_open_as(STDOUT_FILENO, file) || is_open_as(STDERR_FILENO, file);
}

void refuse_unwritable(const std::string& file, const std::optional<struct stat>& status) {
  if (status) {
    if (S_ISDIR(status->st_mode)) cannot_write(file, EISDIR);
    if (::access(file.c_str(), W_OK) != 0) cannot_write(file, errno);
    return;
  }
  const files::path folder = files::path(target_of_links(file)).parent_path();
  if (::access(folder.empty() ? "." : folder.c_str(), W_OK | X_OK) != 0) cannot_write(file, errno);
}

}  // namespace

DescriptorBuffer::DescriptorBuffer(int descriptor) : descriptor_(descriptor) {
  constexpr std::size_t buffer_size = std::size_t{64} << 10U;
  buffer_.resize(buffer_size);
  setp(buffer_.data(), buffer_.data() + buffer_.size());
}

DescriptorBuffer::int_type DescriptorBuffer::overflow(int_type character) {
  if (!write_out()) return traits_type::eof();
  if (!traits_type::eq_int_type(character, traits_type::eof())) {
    *pptr() = traits_type::to_char_type(character);
    pbump(1);
  }
  return traits_type::not_eof(character);
}

int DescriptorBuffer::sync() {
  return write_out() ? 0 : -1;
}

bool DescriptorBuffer::write_out() {
  const char* next = pbase();
  while (next != pptr() && error_ == 0) {
    const ssize_t written = ::write(descriptor_, next, static_cast<std::size_t>(pptr() - next));
    if (written >= 0)
      next += written;
    else if (errno != EINTR)
      error_ = errno;
  }
  setp(buffer_.data(), buffer_.data() + buffer_.size());
  return error_ == 0;
}

std::string reason_of(int error) {
  switch (error) {
    case ENOENT: return "its folder does not exist";
    case EISDIR: return "it is a folder";
    default: return std::strerror(error);
  }
}

void check_writable(const std::string& file) {
  if (file == "-") return;
  const std::optional<struct stat> status = status_of(file);
  if (!status || !is_standard_stream(*status)) refuse_unwritable(file, status);
}

void write_file(const std::string& file, Terminal& terminal,
                const std::function<void(std::ostream&)>& writer) {
  if (file == "-") {
    writer(terminal.out);
    return;
  }
  const std::optional<struct stat> status = status_of(file);
  // /dev/stdout, or the file that it is: replaced, what is printed would go nowhere.
  if (status && is_open_as(STDOUT_FILENO, *status)) return writer(terminal.out);
  if (status && is_open_as(STDERR_FILENO, *status)) return write_to(STDERR_FILENO, file, writer);
  refuse_unwritable(file, status);
  if (status && !S_ISREG(status->st_mode)) return write_in_place(file, writer);
  write_whole(file, target_of_links(file), status ? &*status : nullptr, writer);
}

}  // namespace collsim
