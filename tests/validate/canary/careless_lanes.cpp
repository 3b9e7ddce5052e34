// SPDX-License-Identifier: Apache-2.0
// Wrong on purpose: the sender counts its message without releasing the data.  Built with
// ThreadSanitizer, which must report a race; if it did not, its silence about the real lanes would
// mean nothing.
#include <iostream>

#include "tests/validate/real_cases.hpp"

namespace collsim {
namespace {

class CarelessPolicy : public HostPolicy {
 public:
  using HostPolicy::HostPolicy;
  void publish(std::uint64_t* word, std::uint64_t value) { HostPolicy::store(word, value); }
};

}  // namespace
}  // namespace collsim

int main() {
  using namespace collsim;
  collsim::testing::RealCase real;
  real.collective.operation = Operation::all_reduce;
  real.collective.count = 1009;
  real.collective.group = first_ranks(3);
  real.choice.name = "ring";
  HostOptions options;
  options.patience_s = 20;
  std::cout << collsim::testing::problem_of<CarelessPolicy>(real, options) << "done\n";
}
