// SPDX-License-Identifier: Apache-2.0
#include "app/show/buffers.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <utility>

#include "app/json/screen_text.hpp"
#include "app/show/buffer_steps.hpp"
#include "collectives/cost/formula.hpp"
#include "collectives/execute.hpp"
#include "collectives/listed_schedule.hpp"

namespace collsim {

namespace {

using Bytestring = std::vector<std::byte>;
using Data = std::vector<std::vector<double>>;

constexpr std::int64_t enough_elements = 64;     // to see how an algorithm cuts its data
constexpr std::int64_t few_numbers = 4'000'000;  // of all ranks together

bool has_input(const Collective& collective, int position) {
  switch (collective.operation) {
    case Operation::broadcast:
    case Operation::scatter: return position == collective.root;
    case Operation::send_recv: return target_of(collective, position).has_value();
    case Operation::barrier: return false;
    default: return true;
  }
}

bool has_output(const Collective& collective, int position) {
  switch (collective.operation) {
    case Operation::reduce:
    case Operation::gather: return position == collective.root;
    case Operation::send_recv: return source_of(collective, position).has_value();
    case Operation::barrier: return false;
    default: return true;
  }
}

// Whether the operation itself, or the algorithm by what its formula takes for even, cuts the data
// into a block per rank.
bool is_cut_by_rank(const Collective& collective, const Algorithm& algorithm) {
  switch (collective.operation) {
    case Operation::all_gather:
    case Operation::gather:
    case Operation::scatter:
    case Operation::reduce_scatter:
    case Operation::all_to_all: return true;
    default: break;
  }
  const std::string_view even = algorithm.costs.front().even;
  const double ranks = collective.size();
  return even.empty() ? !algorithm.messages_exceed_a_block
                      : Formula(even).value({.K = ranks}) >= ranks;
}

// Cuts the case down to few elements: at least one for every piece that the algorithm makes, where
// that can still be looked at.
void shrink(Collective& collective, AlgorithmChoice& choice, const BuffersOptions& options,
            Buffers& shown) {
  const std::int64_t asked = collective.count;
  const Schedule original = make_schedule(collective, choice);
  choice.chunk_size.reset();
  choice.chunks = original.chunks();
  if (asked == 0 && !options.elements) return;

  const Algorithm& algorithm = find_algorithm(collective.operation, choice.name);
  const std::int64_t blocks = choice.list                             ? choice.list->blocks
                              : is_cut_by_rank(collective, algorithm) ? collective.size()
                                                                      : 1;
  std::int64_t pieces = blocks * choice.chunks * choice.channels;
  if (!options.elements && pieces > enough_elements && choice.chunks > 1) {
    const std::int64_t room =
        std::max<std::int64_t>(1, enough_elements / (blocks * choice.channels));
    choice.chunks = static_cast<int>(std::min<std::int64_t>(choice.chunks, room));
    pieces = blocks * choice.chunks * choice.channels;
    if (choice.chunks < original.chunks())
      shown.notes.push_back(count_text(choice.chunks, "chunk") + " instead of " +
                            with_commas(original.chunks()));
  }
  const std::int64_t most = std::clamp(few_numbers / collective.size(), enough_elements,
                                       std::max(enough_elements, blocks));
  std::int64_t elements = std::min(pieces, most);
  while (elements < 6) elements += pieces;
  elements = options.elements.value_or(std::min(elements, asked));
  collective.count = elements;
  if (elements != asked)
    shown.notes.insert(shown.notes.begin(),
                       count_text(elements, "element") + " instead of " + with_commas(asked));
}

// Whole numbers that tell who contributed: base (r + 1) + e.  Base 0: just r + 1.
Data telling_data(const Collective& collective, double base) {
  Data data;
  for (int position = 0; position < collective.size(); ++position) {
    std::vector<double>& numbers = data.emplace_back();
    const auto rank =
        static_cast<double>(collective.group[static_cast<std::size_t>(position)].index());
    for (std::int64_t e = 0; e < input_count(collective, position); ++e)
      numbers.push_back(base == 0 ? rank + 1 : base * (rank + 1) + static_cast<double>(e));
  }
  return data;
}

// Whether whatever the operation makes of the data is exact in the element type.
bool stays_exact(const Collective& collective, const Data& data) {
  const bool adds =
      collective.reduction == Reduction::sum || collective.reduction == Reduction::avg;
  const bool multiplies = collective.reduction == Reduction::prod;
  double all = multiplies ? 1 : 0;
  for (const std::vector<double>& numbers : data) {
    const double largest = numbers.empty() ? 0 : *std::max_element(numbers.begin(), numbers.end());
    all = adds ? all + largest : multiplies ? all * std::max(1.0, largest) : std::max(all, largest);
  }
  return all <= exact_limit(collective.type);
}

std::vector<Bytestring> to_bytes(const Collective& collective, const Data& data) {
  const auto element = static_cast<std::size_t>(size_of(collective.type));
  std::vector<Bytestring> inputs;
  for (int position = 0; position < collective.size(); ++position) {
    const std::vector<double>& numbers = data[static_cast<std::size_t>(position)];
    const auto count = static_cast<std::size_t>(input_count(collective, position));
    COLLSIM_CHECK(numbers.size() == count, "the data of every position are its input");
    Bytestring& bytes = inputs.emplace_back(count * element);
    for (std::size_t e = 0; e < count; ++e)
      from_number(collective.type, numbers[e], bytes.data() + e * element);
  }
  return inputs;
}

std::vector<Bytestring> make_inputs(const Case& one_case, const Collective& collective) {
  if (one_case.data) return to_bytes(collective, *one_case.data);
  double base = 10;
  for (int position = 0; position < collective.size(); ++position)
    while (static_cast<double>(input_count(collective, position)) > base) base *= 10;
  Data data = telling_data(collective, base);
  if (!stays_exact(collective, data)) data = telling_data(collective, 0);
  if (!stays_exact(collective, data)) return make_test_inputs(collective, 0);
  return to_bytes(collective, data);
}

// What the outputs hold before anything was written to them.
std::vector<Numbers> outputs_before(const Collective& collective,
                                    const std::vector<Bytestring>& inputs) {
  std::vector<Numbers> outputs;
  for (int position = 0; position < collective.size(); ++position) {
    const auto index = static_cast<std::size_t>(position);
    Numbers& output =
        outputs.emplace_back(static_cast<std::size_t>(output_count(collective, position)));
    const Aliasing shared = aliasing(collective, position);
    if (!shared.shared) continue;
    const Numbers input = to_numbers(collective.type, inputs[index]);
    for (std::size_t e = 0; e < input.size(); ++e) {
      const std::int64_t at = static_cast<std::int64_t>(e) + shared.input_at - shared.output_at;
      if (at >= 0 && at < static_cast<std::int64_t>(output.size()))
        output[static_cast<std::size_t>(at)] = input[e];
    }
  }
  return outputs;
}

double relative_precision(ElementType type) {
  switch (type) {
    case ElementType::f16: return 0x1p-10;
    case ElementType::bf16: return 0x1p-7;
    case ElementType::f32: return 0x1p-23;
    case ElementType::f64: return 0x1p-52;
    default: return 0;
  }
}

// Whole numbers must be equal.  Sums and products of real ones depend on their order in the last
// digits, and algorithms differ in that order.
class Judge {
 public:
  Judge(const Collective& collective, const std::vector<Bytestring>& inputs)
      : relative_(relative_precision(collective.type) * collective.size()) {
    double largest = 0;
    for (const Bytestring& input : inputs)
      for (const auto& number : to_numbers(collective.type, input))
        if (std::isfinite(*number)) largest = std::max(largest, std::abs(*number));
    const bool adds =
        collective.reduction == Reduction::sum || collective.reduction == Reduction::avg;
    absolute_ = adds ? relative_ * largest * collective.size() : 0;
  }
  [[nodiscard]] bool same(const Numbers& is, const Numbers& must_be) const {
    return std::equal(is.begin(), is.end(), must_be.begin(), must_be.end(),
                      [this](const auto& a, const auto& b) { return same(*a, *b); });
  }

 private:
  [[nodiscard]] bool same(double is, double must_be) const {
    if (is == must_be || (std::isnan(is) && std::isnan(must_be))) return true;
    return std::abs(is - must_be) <= absolute_ + relative_ * std::abs(must_be);
  }
  double relative_;
  double absolute_;
};

void fill_rank(const Collective& collective, int position, const Numbers& input,
               RankBuffers& rank) {
  rank.takes_part = true;
  if (has_input(collective, position))
    rank.before = in_pieces(input, input_pieces(collective, position));
  rank.unchanged = !has_output(collective, position) && rank.before;
  if (rank.unchanged) rank.after = rank.before;
}

void compare(const Collective& collective, const std::vector<Bytestring>& inputs,
             const ExecutionResult& result, Buffers& shown) {
  const Judge judge(collective, inputs);
  for (int position = 0; position < collective.size(); ++position) {
    if (!has_output(collective, position)) continue;
    const auto index = static_cast<std::size_t>(position);
    RankBuffers& rank = shown.ranks[collective.group[index].index()];
    const std::vector<std::int64_t> pieces = output_pieces(collective, position);
    const Numbers is = to_numbers(collective.type, result.outputs[index]);
    const Numbers must_be =
        to_numbers(collective.type, expected_output(collective, inputs, position));
    rank.after = in_pieces(is, pieces);
    if (judge.same(is, must_be)) continue;
    shown.right = false;
    rank.must_be = in_pieces(must_be, pieces);
  }
}

void limit_elements(const Collective& collective) {
  const std::int64_t most = max_shown_numbers / collective.size();
  if (collective.count > most)
    throw_error(ErrorCode::too_large,
                with_commas(collective.count) + " elements on " + with_commas(collective.size()) +
                    " ranks are more than can be shown; at most " + with_commas(most));
}

std::vector<RankBuffers> all_ranks(const Case& one_case) {
  std::vector<RankBuffers> ranks(one_case.cluster->topology.rank_count());
  for (std::size_t i = 0; i < ranks.size(); ++i) ranks[i].rank = Rank(i);
  return ranks;
}

ExecutionResult run(const Schedule& schedule, const std::vector<Bytestring>& inputs,
                    BufferStepRecorder* recorder) {
  ExecutionOptions options;
  options.max_instructions = max_shown_instructions;
  if (recorder != nullptr)
    options.after_each = [recorder](const ExecutedStep& step) { recorder->executed(step); };
  ExecutionResult result = execute(schedule, inputs, options);
  if (result.status == ExecutionResult::Status::too_long)
    throw_error(ErrorCode::too_large, "more than " + with_commas(max_shown_instructions) +
                                          " instructions are too many to execute one by one; use "
                                          "fewer ranks, chunks or channels");
  return result;
}

}  // namespace

Buffers show_buffers(const Case& one_case, const BuffersOptions& options) {
  Buffers shown;
  Collective collective = one_case.collective;
  AlgorithmChoice choice = one_case.choice;
  if (one_case.data && options.elements)
    throw_error(ErrorCode::invalid_argument,
                "the scenario has its own data; the number of elements cannot be changed");
  if (!one_case.data) shrink(collective, choice, options, shown);
  limit_elements(collective);
  const Schedule schedule = make_schedule(collective, choice);
  const std::vector<Bytestring> inputs = make_inputs(one_case, collective);

  shown.ranks = all_ranks(one_case);
  for (int position = 0; position < collective.size(); ++position) {
    const auto index = static_cast<std::size_t>(position);
    fill_rank(collective, position, to_numbers(collective.type, inputs[index]),
              shown.ranks[collective.group[index].index()]);
  }
  shown.steps_wanted = options.steps;
  std::optional<BufferStepRecorder> recorder;
  if (options.steps || collective.operation == Operation::barrier)
    recorder.emplace(schedule, inputs, outputs_before(collective, inputs));
  const ExecutionResult result = run(schedule, inputs, recorder ? &*recorder : nullptr);
  shown.problem = result.problem;
  shown.right = result.problem.empty();
  if (shown.right) compare(collective, inputs, result, shown);
  if (recorder) shown.steps = recorder->take_steps(shown.last_step);
  shown.algorithm = schedule.algorithm();
  shown.collective = std::move(collective);
  return shown;
}

}  // namespace collsim
