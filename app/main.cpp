// SPDX-License-Identifier: Apache-2.0
//
// The lecture's table: a broadcast through a chain of ranks, simulated message by message, beside
// the formula.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "collectives/algorithms.hpp"
#include "collectives/closed_forms.hpp"
#include "sim/simulate.hpp"
#include "topo/shapes.hpp"

namespace collsim {
namespace {

struct Lecture {
  std::size_t ranks = 8;
  Bytes size = mebibytes(64);
  LinkParameters link{gigabytes_per_second(25), Time{}, microseconds(5)};
  std::vector<int> messages{1, 2, 4, 8, 16, 32, 57, 64, 128, 512, 4096, 8192};
};

struct Row {
  int messages;
  double simulated, formula;
};

Row simulated_row(const Lecture& lecture, const Topology& topology, int messages,
                  double& best_messages) {
  Collective collective;
  collective.operation = Operation::broadcast;
  collective.type = ElementType::u8;
  collective.count = lecture.size;
  collective.group = first_ranks(lecture.ranks);
  AlgorithmChoice choice;
  choice.name = "chain";
  choice.chunks = messages;
  const auto formula = closed_form(collective, choice, topology);
  COLLSIM_CHECK(formula && formula->best_chunks, "the chain broadcast has a closed form");
  best_messages = *formula->best_chunks;
  return {messages, simulate(topology, make_schedule(collective, choice)).time.seconds(),
          formula->seconds};
}

void print_table(const Lecture& lecture) {
  const Topology topology = make_chain(lecture.ranks, lecture.link);
  double best_messages = 0;
  std::vector<Row> rows;
  for (const int messages : lecture.messages)
    rows.push_back(simulated_row(lecture, topology, messages, best_messages));
  const double bound = transfer_time(lecture.size, lecture.link.bandwidth).seconds();
  const auto faster = [](const Row& a, const Row& b) { return a.simulated < b.simulated; };
  const int best = std::min_element(rows.begin(), rows.end(), faster)->messages;

  std::printf("chain broadcast, %s, %zu ranks, %s and %s per message\n\n",
              bytes_to_text(lecture.size).c_str(), lecture.ranks,
              to_text(lecture.link.bandwidth).c_str(), to_text(lecture.link.overhead).c_str());
  std::printf("  messages     simulated       formula   x N/B\n");
  for (const Row& row : rows) {
    const char* remark = row.messages == best ? "   <- best of these"
                         : row.simulated > rows.front().simulated
                             ? "   worse than not cutting at all"
                             : "";
    std::printf("  %8d  %9.3f ms  %9.3f ms  %6.2f%s\n", row.messages, row.simulated * 1e3,
                row.formula * 1e3, row.simulated / bound, remark);
  }
  std::printf("\nbest number of messages by the formula: sqrt((K-2) N / (alpha B)) = %.1f\n",
              best_messages);
}

}  // namespace
}  // namespace collsim

int main(int argument_count, char**) {
  if (argument_count > 1) {
    std::fprintf(stderr, "collsim: takes no arguments yet; it prints the table of the lecture\n");
    return 2;
  }
  collsim::print_table(collsim::Lecture{});
  return EXIT_SUCCESS;
}
