// SPDX-License-Identifier: Apache-2.0
#include "app/study/part_file.hpp"

#include <fmt/format.h>

#include <cstdint>
#include <fstream>
#include <ostream>
#include <string_view>
#include <utility>

#include "app/json/parse_json.hpp"
#include "app/results/row_record.hpp"
#include "app/scenario/make_case.hpp"

namespace collsim {
namespace {

constexpr std::int64_t part_format = 2;

// FNV-1a: finds what was damaged or changed by accident.
class Checksum {
 public:
  void add(std::string_view text) {
    for (const char c : text) {
      hash_ ^= static_cast<unsigned char>(c);
      hash_ *= 0x100000001b3U;
    }
  }
  [[nodiscard]] std::string text() const { return fmt::format("{:016x}", hash_); }

 private:
  std::uint64_t hash_ = 0xcbf29ce484222325U;
};

std::string last_line(const Checksum& of_lines_before) {
  return to_json(JsonValue::object({{"checksum", of_lines_before.text()}}), -1);
}

class LineWriter {
 public:
  explicit LineWriter(std::ostream& out) : out_(out) {}
  void write(const JsonValue& value) {
    const std::string line = to_json(value, -1) + '\n';
    checksum_.add(line);
    out_ << line;
  }
  void finish() { out_ << last_line(checksum_) << '\n'; }

 private:
  std::ostream& out_;
  Checksum checksum_;
};

std::optional<JsonValue> parse_line(std::string line) {
  Sources sources;
  Diagnostics diagnostics;
  const std::uint32_t source = sources.add(Sources::Kind::file, "part", std::move(line));
  JsonLimits limits;
  limits.bytes = std::size_t{1} << 30U;  // a step has numbers of every rank
  ForgottenItems none;
  std::optional<JsonValue> value = parse_json(source, sources, diagnostics, limits, none);
  if (value) forget_places(*value);
  return diagnostics.empty() ? std::move(value) : std::nullopt;
}

JsonValue to_value(const PartHeader& header) {
  return JsonValue::object({{"collsim-part", part_format},
                            {"version", header.version},
                            {"scenario", header.file},
                            {"set", JsonValue::array(header.set)},
                            {"yes", header.more_points},
                            {"name", header.name},
                            {"digest", header.digest},
                            {"part", to_text(header.part)},
                            {"place", header.place}});
}

// Nothing: something is missing in it.
std::optional<PartHeader> header_of(const JsonValue& value) {
  PartHeader header;
  std::string part;
  const auto read = [&](std::string_view key, auto& into) {
    const JsonValue* const member = value.find(key);
    return member != nullptr && from_record(*member, into);
  };
  if (!read("version", header.version) || !read("scenario", header.file) ||
      !read("set", header.set) || !read("yes", header.more_points) || !read("name", header.name) ||
      !read("digest", header.digest) || !read("part", part) || !read("place", header.place))
    return std::nullopt;
  const std::optional<SweepPart> parsed = parse_part(part);
  if (!parsed) return std::nullopt;
  header.part = *parsed;
  return header;
}

// Reads line by line, so that memory holds the rows alone.
class PartReader {
 public:
  explicit PartReader(const std::string& file) : file_(file), in_(file, std::ios::binary) {
    constexpr std::string_view beginning = "{\"collsim-part\":";
    if (!in_) throw PartFileError(file_, "cannot be read");
    std::string read(beginning.size(), ' ');
    in_.read(read.data(), static_cast<std::streamsize>(read.size()));
    if (read != beginning) throw PartFileError(file_, "is no part of a sweep");
    in_.seekg(0);
  }

  [[nodiscard]] PartHeader header() {
    const JsonValue line = next();
    if (*line.find("collsim-part") != JsonValue(part_format))
      throw PartFileError(file_, "was written by another version of collsim");
    std::optional<PartHeader> header = header_of(line);
    if (!header) throw damaged();
    return std::move(*header);
  }
  [[nodiscard]] JsonValue next() {
    std::optional<JsonValue> value = parse_line(next_line());
    if (!value) throw damaged();
    return std::move(*value);
  }
  // Passes over what is left, all of it without a look if need be, and checks that it is whole.
  void finish() {
    std::string last;
    while (in_.peek() != std::ifstream::traits_type::eof()) last = next_line();
    if (last != last_line(of_lines_before_)) throw damaged();
  }

  [[nodiscard]] PartFileError damaged() const { return PartFileError(file_, "is damaged"); }

 private:
  std::string next_line() {
    std::string line;
    std::getline(in_, line);
    if (in_.eof()) throw damaged();  // every line has an end
    of_lines_before_ = of_lines_;
    of_lines_.add(line);
    of_lines_.add("\n");
    return line;
  }

  std::string file_;
  std::ifstream in_;
  Checksum of_lines_, of_lines_before_;
};

class Merger {
 public:
  explicit Merger(const Scenario& scenario) : scenario_(scenario), rows_(scenario.points()) {}

  void take(const std::string& file) {
    PartReader reader(file);
    const std::vector<std::size_t> points = points_of(reader.header().part, scenario_);
    for (const std::size_t point : points)
      if (!take_row(reader.next(), point)) throw reader.damaged();
    if (!take_summary(reader.next())) throw reader.damaged();
    reader.finish();
  }

  SimulatedPoints finish() {
    SimulatedPoints all{.summary = std::move(summary_)};
    all.rows.reserve(rows_.size());
    for (std::optional<CaseResult>& row : rows_)
      if (row) all.rows.push_back(std::move(*row));
    COLLSIM_CHECK(all.rows.size() == rows_.size(), "all parts together have all points");
    return all;
  }

 private:
  bool take_row(const JsonValue& line, std::size_t point) {
    std::size_t written = 0;
    CaseResult& row = rows_[point].emplace();
    row.params = scenario_.params(point);
    return line.is_array() && line.items().size() == 2 && from_record(line.items()[0], written) &&
           written == point && from_record(line.items()[1], row);
  }

  bool take_summary(const JsonValue& line) {
    StudySummary summary;
    std::vector<std::size_t> listed;
    if (!line.is_array() || line.items().size() != 2 || !from_record(line.items()[0], summary) ||
        !from_record(line.items()[1], listed))
      return false;
    for (const std::size_t point : listed) {
      Diagnostics none;  // it could be made once
      const std::optional<Case> found =
          point < rows_.size() ? make_case(scenario_, point, clusters_, none) : std::nullopt;
      if (!found) return false;
      summary.add(*found, point);
    }
    summary_.merge(summary);
    return true;
  }

  const Scenario& scenario_;
  std::vector<std::optional<CaseResult>> rows_;
  StudySummary summary_;
  ClusterCache clusters_;
};

}  // namespace

std::string digest_of(const Sources& sources) {
  Checksum checksum;
  for (std::uint32_t source = 0; source < sources.size(); ++source) {
    if (sources.kind(source) == Sources::Kind::builtin) continue;
    if (sources.kind(source) == Sources::Kind::argument) checksum.add(sources.name(source));
    checksum.add(std::to_string(sources.text(source).size()));
    checksum.add(" ");
    checksum.add(sources.text(source));
  }
  return checksum.text();
}

std::string part_file_name(const std::string& scenario, const SweepPart& part) {
  return fmt::format("{}.{}-of-{}{}", scenario, part.number, part.count, part_file_suffix);
}

std::optional<SweepPart> part_of_file_name(const std::string& scenario, std::string_view file) {
  constexpr std::string_view of = "-of-";
  const std::size_t middle = file.rfind(of);
  if (middle == std::string_view::npos || !file.starts_with(scenario + ".")) return std::nullopt;
  const std::size_t first = scenario.size() + 1;
  if (middle < first || !file.ends_with(part_file_suffix)) return std::nullopt;
  const std::string_view number = file.substr(first, middle - first);
  std::string_view count = file.substr(middle + of.size());
  count.remove_suffix(std::string_view(part_file_suffix).size());
  return parse_part(fmt::format("{}/{}", number, count));
}

void write_part(std::ostream& out, const PartHeader& header, const std::vector<std::size_t>& points,
                const SimulatedPoints& simulated) {
  COLLSIM_CHECK(points.size() == simulated.rows.size(), "only what is complete is a part");
  LineWriter lines(out);
  lines.write(to_value(header));
  for (std::size_t i = 0; i < points.size(); ++i)
    lines.write(JsonValue::Array{points[i], to_record(simulated.rows[i])});
  lines.write(
      JsonValue::Array{to_record(simulated.summary), to_record(simulated.summary.listed_points())});
  lines.finish();
}

PartHeader read_part_header(const std::string& file) {
  return PartReader(file).header();
}

void check_part_file(const std::string& file) {
  PartReader(file).finish();
}

SimulatedPoints merge_parts(const Scenario& scenario, const std::vector<std::string>& files) {
  Merger merger(scenario);
  for (const std::string& file : files) merger.take(file);
  return merger.finish();
}

}  // namespace collsim
