// SPDX-License-Identifier: Apache-2.0
#include "app/measured/row_fields.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "app/json/screen_text.hpp"
#include "app/scenario/quantities.hpp"

namespace collsim {
namespace {

struct FieldName {
  std::string_view written, field;  // written: letters and digits only
};
constexpr std::array<FieldName, 83> field_names = {{
    {"size", "size"},
    {"sizeb", "size"},
    {"sizebytes", "size"},
    {"bytes", "size"},
    {"nbytes", "size"},
    {"msgsize", "size"},
    {"messagesize", "size"},
    {"messagesizeb", "size"},
    {"messagesizebytes", "size"},
    {"count", "count"},
    {"countelements", "count"},
    {"elements", "count"},
    {"nelem", "count"},
    {"type", "dtype"},
    {"dtype", "dtype"},
    {"datatype", "dtype"},
    {"redop", "redop"},
    {"reduction", "redop"},
    {"root", "root"},
    {"time", "time_us"},
    {"timeus", "time_us"},
    {"timeavg", "time_us"},
    {"timeavgus", "time_us"},
    {"cputime", "time_us"},
    {"cputimeus", "time_us"},
    {"latency", "time_us"},
    {"latencyus", "time_us"},
    {"timems", "time_ms"},
    {"latencyms", "time_ms"},
    {"times", "time_s"},
    {"measuredtimes", "measured_s"},
    {"algbw", "algbw"},
    {"algbwgbs", "algbw"},
    {"algbwgbps", "algbw"},
    {"algbwbytespers", "algbw_bytes"},
    {"busbw", "busbw"},
    {"busbwgbs", "busbw"},
    {"busbwgbps", "busbw"},
    {"busbwbytespers", "busbw_bytes"},
    {"wrong", "wrong"},
    {"nwrong", "wrong"},
    {"inplacetime", "in_place_us"},
    {"inplacetimeus", "in_place_us"},
    {"inplacecputime", "in_place_us"},
    {"inplacetimems", "in_place_ms"},
    {"inplacetimes", "in_place_s"},
    {"inplacealgbw", "in_place_algbw"},
    {"inplacebusbw", "in_place_busbw"},
    {"inplacewrong", "in_place_wrong"},
    {"inplacenwrong", "in_place_wrong"},
    {"op", "op"},
    {"collective", "op"},
    {"operation", "op"},
    {"test", "op"},
    {"testname", "op"},
    {"benchmark", "op"},
    {"ranks", "ranks"},
    {"nranks", "ranks"},
    {"numranks", "ranks"},
    {"worldsize", "ranks"},
    {"numgpus", "ranks"},
    {"gpus", "ranks"},
    {"nodes", "nodes"},
    {"nnodes", "nodes"},
    {"numnodes", "nodes"},
    {"gpu", "gpu"},
    {"gpuname", "gpu"},
    {"gpumodel", "gpu"},
    {"device", "gpu"},
    {"ncclversion", "nccl"},
    {"nccllibrary", "nccl"},
    {"library", "library"},
    {"launch", "launch"},
    {"nthreads", "threads"},
    {"nthread", "threads"},
    {"ngpus", "gpus_per_thread"},
    {"ngpu", "gpus_per_thread"},
    {"iters", "iters"},
    {"iterations", "iters"},
    {"warmupiters", "warmup"},
    {"warmup", "warmup"},
    {"algorithm", "algorithm"},
    {"protocol", "protocol"},
}};

std::string bare_name(std::string_view written) {
  std::string bare;
  for (const char c : lower(written))
    if ((c >= 'a' && c <= 'z') || is_digit(c)) bare += c;
  for (const std::string_view half : {"outofplace", "oop"})
    if (bare.size() > half.size() && bare.starts_with(half)) bare.erase(0, half.size());
  if (bare.starts_with("ip") && bare.size() > 2) {
    std::string whole = "inplace" + bare.substr(2);
    if (std::any_of(field_names.begin(), field_names.end(),
                    [&](const FieldName& name) { return name.written == whole; }))
      return whole;
  }
  return bare;
}

// The first of them that there is, in microseconds.
std::optional<double> time_us(const RowFields& fields, std::string_view us, std::string_view ms,
                              std::string_view s) {
  constexpr double in_ms = 1e3, in_s = 1e6;
  if (const auto time = fields.number(us)) return time;
  if (const auto time = fields.number(ms)) return *time * in_ms;
  if (const auto time = fields.number(s)) return *time * in_s;
  return std::nullopt;
}

void fill_rates(const RowFields& fields, LogHalf& half, bool in_place) {
  const auto rate = [&](std::string_view plain, std::string_view bytes, double otherwise) {
    if (const auto value = fields.number(plain)) return *value;
    return fields.number(bytes).value_or(otherwise) / 1e9;
  };
  half.algbw = in_place ? rate("in_place_algbw", "", 0) : rate("algbw", "algbw_bytes", 0);
  half.busbw = in_place ? rate("in_place_busbw", "", -1) : rate("busbw", "busbw_bytes", -1);
  half.wrong = fields.integer(in_place ? "in_place_wrong" : "wrong");
  half.checked = half.wrong.has_value();
}

}  // namespace

std::string_view field_of(std::string_view written) {
  const std::string bare = bare_name(written);
  for (const auto& [name, field] : field_names)
    if (name == bare) return field;
  return {};
}

void RowFields::put(std::string_view field, std::string value) {
  if (!field.empty() && !value.empty()) fields_.emplace_back(field, std::move(value));
}

std::string_view RowFields::text(std::string_view field) const {
  for (const auto& [name, value] : fields_)
    if (name == field) return value;
  return {};
}

std::optional<double> RowFields::number(std::string_view field) const {
  const std::string_view written = text(field);
  if (written.empty()) return std::nullopt;
  const std::optional<double> number = decimal_in(written);
  return number && *number >= 0 ? number : std::nullopt;
}

std::optional<std::int64_t> RowFields::integer(std::string_view field) const {
  const std::string_view written = text(field);
  if (written.empty()) return std::nullopt;
  if (const auto whole = integer_in(written)) return whole;
  const std::optional<double> number = decimal_in(written);
  constexpr double most = 9e18;
  if (!number || std::abs(*number) > most || *number != std::trunc(*number)) return std::nullopt;
  return static_cast<std::int64_t>(*number);
}

std::optional<LogRow> RowFields::row() const {
  LogRow row;
  std::optional<std::int64_t> size = integer("size");
  if (!size) size = parse_command_line_size(text("size")).value;  // "8K", "64MiB"
  if (!size || *size < 0) return std::nullopt;
  row.size = *size;
  row.count = std::max<std::int64_t>(0, integer("count").value_or(0));
  row.type = text("dtype");
  row.reduction = text("redop");
  row.algorithm = text("algorithm");
  row.protocol = text("protocol");
  const std::optional<std::int64_t> root = integer("root");
  row.has_root = root && *root >= -1 && *root <= std::numeric_limits<int>::max();
  if (row.has_root) row.root = static_cast<int>(*root);
  fill_rates(*this, row.out, false);
  std::optional<double> time = number("measured_s");
  if (time) *time *= 1e6;
  if (!time) time = time_us(*this, "time_us", "time_ms", "time_s");
  if (!time && row.out.algbw > 0) time = static_cast<double>(row.size) / row.out.algbw / 1e3;
  if (!time) return std::nullopt;
  row.out.time = *time;
  if (const auto in_place = time_us(*this, "in_place_us", "in_place_ms", "in_place_s")) {
    row.in_place.emplace().time = *in_place;
    fill_rates(*this, *row.in_place, true);
  }
  // Rates are rounded by whoever wrote them: what they do not fit is theirs.
  row.fits_us = true;
  return row;
}

void RowFields::describe(LogRun& run) const {
  const std::string_view op = text("op");
  if (!op.empty()) run.operation = known_operation(op);
  if (!op.empty() && run.operation.empty()) run.unknown_operation = op;
  const auto put = [&](std::optional<std::int64_t>& to, std::string_view field) {
    if (const auto value = integer(field)) to = value;
  };
  put(run.threads, "threads");
  put(run.gpus, "gpus_per_thread");
  put(run.iterations, "iters");
  put(run.warmup, "warmup");
  put(run.ranks_said, "ranks");
  put(run.nodes_asked, "nodes");
  const std::string nccl(text("nccl"));
  const std::optional<std::int64_t> code = integer_in(nccl);
  if (!text("library").empty()) run.version = text("library");
  if (!nccl.empty()) run.version = code ? library_of_code(*code) : "NCCL " + nccl;
  if (!text("gpu").empty()) run.gpu_said = text("gpu");
  if (!text("launch").empty()) run.launch_said = parse_launch_mode(text("launch"));
}

void NamedRuns::take(const RowFields& fields, std::uint32_t line,
                     const std::function<std::string()>& shown) {
  constexpr std::size_t most_shown = 5;
  key_.clear();
  for (const char* field : {"op", "ranks", "nodes", "gpu", "library", "nccl", "launch", "iters"})
    key_.append(fields.text(field)) += '\n';
  if (last_ == nullptr || key_ != last_key_) {
    const auto [found, is_new] = runs_.try_emplace(key_, all_);
    last_ = &found->second;
    last_key_ = key_;
    if (is_new) order_.push_back(last_);
    if (is_new) fields.describe(*last_);
  }
  LogRun& run = *last_;
  std::optional<LogRow> row = fields.row();
  if (row) {
    row->line = line;
    run.rows.push_back(std::move(*row));
  } else if (run.damaged.size() < most_shown) {
    run.damaged.push_back(fmt::format("line {}: no size, or no time: {}", line, shown()));
    if (run.damaged_line == 0) run.damaged_line = line;
  }
}

std::vector<LogRun> NamedRuns::runs() && {
  std::vector<LogRun> runs;
  for (LogRun* const run : order_) runs.push_back(std::move(*run));
  return runs;
}

}  // namespace collsim
