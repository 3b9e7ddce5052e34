// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

namespace collsim {

// How an explanation is written.
struct PageStyle {
  bool colour = false;
  std::size_t columns = 100;  // lines of words are no longer; tables may be
  bool ascii = false;         // for terminals that show nothing else
};

}  // namespace collsim
