// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <streambuf>
#include <string>
#include <vector>

namespace collsim {

// The buffer of a std::ostream that writes to a file descriptor and remembers why it could not: a
// std::ofstream forgets.
class DescriptorBuffer : public std::streambuf {
 public:
  explicit DescriptorBuffer(int descriptor);

  // The errno of the first write that failed; 0: none did.
  [[nodiscard]] int error() const { return error_; }

 protected:
  int_type overflow(int_type character) override;
  int sync() override;

 private:
  bool write_out();

  int descriptor_;
  int error_ = 0;
  std::vector<char> buffer_;
};

// "No space left on device", ...
[[nodiscard]] std::string reason_of(int error);

}  // namespace collsim
