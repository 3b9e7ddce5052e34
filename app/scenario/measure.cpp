// SPDX-License-Identifier: Apache-2.0
#include "app/scenario/measure.hpp"

#include "app/scenario/object_reader.hpp"

namespace collsim {

Measure read_measure(const Value& measure, Diagnostics& diagnostics, Value& resolved) {
  constexpr std::int64_t most_runs = 1'000'000'000;
  static const Vocabulary backends{.what = "backend", .allowed = {"host", "cuda", "nccl"}};
  static const Vocabulary protocols{.what = "protocol", .allowed = {"simple", "ll"}};
  ObjectReader reader(measure, "/measure", diagnostics);
  Measure result;
  result.backend = reader.word("backend", backends).value_or("");
  result.protocol = reader.word("protocol", protocols).value_or("");
  result.warmup = static_cast<int>(reader.integer("warmup", 0, most_runs, result.warmup));
  result.iterations = static_cast<int>(reader.integer("iters", 1, most_runs, result.iterations));
  result.check = reader.boolean("check", result.check);
  result.paced = reader.boolean("paced", result.paced);
  result.file = reader.text("file").value_or("");
  result.required = reader.boolean("required", result.required);
  resolved = reader.finish();
  return result;
}

}  // namespace collsim
