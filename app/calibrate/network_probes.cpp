// SPDX-License-Identifier: Apache-2.0
#include "app/calibrate/network_probes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>

#include "app/calibrate/probe_cases.hpp"
#include "app/scenario/quantities.hpp"
#include "collectives/algorithms.hpp"

namespace collsim {
namespace {

constexpr int rounds = 4;       // of a ping-pong
constexpr int window = 8;       // messages in a row
constexpr int size_factor = 2;  // from one size to the next
constexpr std::size_t most_rows = 4;

using Pairs = std::vector<std::pair<int, int>>;

Program ping(Endpoint other, Span data, Span result, bool begins, bool adds) {
  for (int i = 0; i < rounds; ++i) {
    if (begins) co_yield send(other, data);
    if (adds)
      co_yield receive_reduce(other, data, result);
    else
      co_yield receive(other, result);
    if (!begins) co_yield send(other, data);
  }
}

// Each pair plays ping-pong; the exchange only lends its buffers.
Schedule ping_pong(int ranks, const Pairs& pairs, Bytes bytes, bool adds) {
  Collective collective;
  collective.operation = Operation::send_recv;
  collective.pattern.kind = Pattern::Kind::pairs;
  for (const auto& [one, other] : pairs)
    collective.pattern.pairs.insert(collective.pattern.pairs.end(), {{one, other}, {other, one}});
  collective.group = first_ranks(static_cast<std::size_t>(ranks));
  collective.count = bytes / size_of(collective.type);
  const std::int64_t count = collective.count;
  return make_schedule(collective, {}).with_programs([=](int position, Lane lane) -> Program {
    if (lane.index() != 0) return {};
    const Span input{Buffer::input, 0, count}, output{Buffer::output, 0, count};
    for (const auto& [one, other] : pairs) {
      const auto with = [&](int rank) {
        return Endpoint{Rank(static_cast<std::size_t>(rank)), lane};
      };
      if (position == one) return ping(with(other), input, output, true, adds);
      if (position == other) return ping(with(one), input, output, false, adds);
    }
    return {};
  });
}

Schedule fan_out(int ranks, Bytes bytes) {
  Collective collective;
  collective.operation = Operation::broadcast;
  collective.group = first_ranks(static_cast<std::size_t>(ranks));
  collective.count = bytes / size_of(collective.type);
  AlgorithmChoice choice;
  choice.name = "flat";
  return make_schedule(collective, choice);
}

// What the `part`-th of three does: the first sends to both others, the second answers.
Program pass_on(int part, Endpoint first, Endpoint second, Endpoint third, Span data, Span result) {
  if (part == 0) {
    co_yield send(second, data);
    co_yield send(third, data);
    co_yield receive(second, result);
  } else {
    co_yield receive(first, result);
    if (part == 1) co_yield send(first, result);
  }
}

// Between ranks 0, `apart` and twice that; the shift only lends its buffers.
Schedule passing_on(int ranks, int apart, Bytes bytes) {
  Collective collective;
  collective.operation = Operation::send_recv;
  collective.group = first_ranks(static_cast<std::size_t>(ranks));
  collective.count = bytes / size_of(collective.type);
  const std::int64_t count = collective.count;
  return make_schedule(collective, {}).with_programs([=](int position, Lane lane) -> Program {
    if (lane.index() != 0 || position % apart != 0 || position > 2 * apart) return {};
    const auto part = [&](int number) {
      return Endpoint{Rank(static_cast<std::size_t>(number * apart)), lane};
    };
    const Span input{Buffer::input, 0, count}, output{Buffer::output, 0, count};
    return pass_on(position / apart, part(0), part(1), part(2), input, output);
  });
}

double median(std::vector<double> values) {
  return values.empty() ? 0 : summary_of(std::move(values)).median_s;
}

// A message of each size: alone, and in a row.
struct Point {
  Bytes bytes = 0;
  double alone_s = 0, gap_s = 0;
};

using Points = std::span<const Point>;  // by size

// gap = overhead + n/B with the least sum of squared relative errors; the latency is the middle of
// what a message alone takes longer.
FittedLink::Row line_through(Points points) {
  double s = 0, x = 0, y = 0, xx = 0, xy = 0;
  std::vector<double> flights;
  for (const Point& point : points) {
    const double weight = 1 / (point.gap_s * point.gap_s);
    const auto n = static_cast<double>(point.bytes);
    s += weight;
    x += weight * n;
    y += weight * point.gap_s;
    xx += weight * n * n;
    xy += weight * n * point.gap_s;
    flights.push_back(std::max(0.0, point.alone_s - point.gap_s));
  }
  const double slope = (s * xy - x * y) / (s * xx - x * x);
  return {points.back().bytes, std::max(0.0, (y - slope * x) / s), median(std::move(flights)),
          slope > 0 ? 1 / slope : 1e15};
}

// Relative errors of a message alone, and in a row.
std::pair<double, double> errors_of(const FittedLink::Row& row, const Point& point) {
  const double gap_s = row.overhead_s + static_cast<double>(point.bytes) / row.bytes_per_s;
  return {(gap_s + row.latency_s) / point.alone_s - 1, gap_s / point.gap_s - 1};
}

double squared_errors(Points points) {
  const FittedLink::Row row = line_through(points);
  double sum = 0;
  for (const Point& point : points) {
    const auto [alone, gap] = errors_of(row, point);
    sum += alone * alone + gap * gap;
  }
  return sum;
}

// Where to cut the points into so many ranges, of three points each at least: the ends of the
// ranges, with the least sum of squared errors, which comes first.
std::pair<double, std::vector<std::size_t>> best_cut(Points points, std::size_t ranges) {
  constexpr std::size_t least = 3;
  if (ranges == 1) return {squared_errors(points), {points.size()}};
  std::pair<double, std::vector<std::size_t>> best{std::numeric_limits<double>::infinity(), {}};
  for (std::size_t last = least; last + least * (ranges - 1) <= points.size(); ++last) {
    const std::size_t before = points.size() - last;
    auto cut = best_cut(points.first(before), ranges - 1);
    cut.first += squared_errors(points.subspan(before));
    cut.second.push_back(points.size());
    if (cut.first < best.first) best = std::move(cut);
  }
  return best;
}

// More ranges fit better in any case; they must do so by more than what their three numbers and
// their end are worth (Schwarz's criterion).
std::vector<std::size_t> ranges_of(Points points, std::size_t most) {
  constexpr double noise = 0.005;  // nothing is measured more exactly
  const double data = 2 * static_cast<double>(points.size());
  std::vector<std::size_t> chosen;
  double least = std::numeric_limits<double>::infinity();
  for (std::size_t ranges = 1;
       ranges <= most && 3 * ranges <= std::max<std::size_t>(3, points.size()); ++ranges) {
    const auto [errors, ends] = best_cut(points, ranges);
    const double worth = data * std::log(errors / data + noise * noise) +
                         4 * static_cast<double>(ranges) * std::log(data);
    if (worth >= least) continue;
    least = worth;
    chosen = ends;
  }
  return chosen;
}

FittedLink fitted(const std::vector<Point>& points, std::size_t most) {
  FittedLink link;
  std::vector<double> errors;
  std::size_t begin = 0;
  for (const std::size_t end : ranges_of(points, most)) {
    const Points range = Points(points).subspan(begin, end - begin);
    link.rows.push_back(line_through(range));
    for (const Point& point : range)
      errors.push_back(std::abs(errors_of(link.rows.back(), point).first));
    begin = end;
  }
  link.median_error = median(errors);
  link.worst_error = *std::max_element(errors.begin(), errors.end());
  return link;
}

class NetworkCalibration {
 public:
  explicit NetworkCalibration(const NetworkOptions& options) : options_(options) {}

  CalibratedNetwork run() {
    read_hosts();
    for (Bytes size = options_.smallest; size < options_.largest; size *= size_factor)
      sizes_.push_back(size);
    sizes_.push_back(options_.largest);
    const bool has_within = network_.ranks_per_host > 1, has_between = network_.hosts > 1;
    total_ = (has_within + has_between) * (2 * sizes_.size()) + 2 + (network_.hosts > 2 ? 4 : 0);
    std::vector<Point> within, between;
    if (has_within)
      network_.within = fitted(within = measured("on one host", pairs(0, 1)), most_rows);
    if (has_between) {
      between = measured("between hosts", pairs(0, network_.ranks_per_host));
      network_.between = fitted(between, most_rows);
    }
    FittedLink& outward = has_between ? network_.between : network_.within;
    compare_ports(outward);
    if (outward.fairly) {  // such links have no rows
      outward = fitted(has_between ? between : within, 1);
      outward.shares_port = outward.fairly = true;
    }
    if (network_.hosts > 2) go_round();
    measure_adding(has_between ? pairs(0, network_.ranks_per_host) : pairs(0, 1));
    return std::move(network_);
  }

 private:
  [[nodiscard]] int ranks() const { return static_cast<int>(options_.host_of_rank.size()); }
  static Pairs pairs(int one, int other) { return {{one, other}}; }

  // Equally many neighbouring ranks on each.
  void read_hosts() {
    const std::vector<int>& hosts = options_.host_of_rank;
    if (hosts.size() < 2)
      throw NoMeasurement{NoMeasurement::Why::unavailable, "one process has nobody to talk to"};
    network_.hosts = *std::max_element(hosts.begin(), hosts.end()) + 1;
    network_.ranks_per_host = ranks() / network_.hosts;
    for (int rank = 0; rank < ranks(); ++rank)
      if (hosts[static_cast<std::size_t>(rank)] != rank / network_.ranks_per_host)
        throw NoMeasurement{NoMeasurement::Why::unavailable,
                            "a machine file needs hosts with equally many ranks each, which are "
                            "neighbours: start as many processes on each, host after host "
                            "(--map-by core, srun --distribution=block)"};
  }

  Summary time_of(const Schedule& schedule, const std::string& name, Bytes bytes, double messages) {
    RunOptions how;
    how.iterations = options_.iterations;
    how.check = false;
    how.trust_schedule = true;
    how.patience_s = 30;
    RunOutcome outcome = options_.backend->run({schedule}, how);
    if (auto* const none = std::get_if<NoMeasurement>(&outcome)) throw std::move(*none);
    auto& measured = std::get<Measurement>(outcome);
    network_.device = measured.device;
    Summary times = summary_of(std::move(measured.times_s));
    for (double* time : {&times.median_s, &times.min_s, &times.max_s}) *time /= messages;
    network_.probes.push_back({name, bytes, times});
    if (options_.progress) options_.progress(std::min(network_.probes.size(), total_), total_);
    return times;
  }

  std::vector<Point> measured(const std::string& where, const Pairs& pair) {
    std::vector<Point> points;
    for (const Bytes size : sizes_) {
      const double alone =
          time_of(ping_pong(ranks(), pair, size, false), "ping-pong " + where, size, 2 * rounds)
              .median_s;
      const double all =
          time_of(send_recv(ranks(), pair, size * window, window), "window " + where, size, window)
              .median_s *
          window;
      // At least a little: a window that is no slower than one message says nothing of the rate.
      constexpr double least = 0.02;
      const double gap = std::max((all - alone) / (window - 1), least * alone);
      points.push_back({size, alone, std::min(gap, all / window)});
    }
    return points;
  }

  // A flat broadcast takes as long as one message to each of the others that has a link of its own,
  // or as all of them one after the other.
  void compare_ports(FittedLink& link) {
    if (network_.hosts > 1 ? network_.hosts < 3 : ranks() < 3) {
      link.shares_port = network_.hosts > 1;  // of a host with one network card
      return;
    }
    const double time =
        time_of(fan_out(ranks(), options_.largest), "fan-out", options_.largest, 1).median_s;
    const double one = static_cast<double>(options_.largest) / link.rows.back().bytes_per_s;
    const double others = network_.hosts > 1 ? network_.hosts - 1 : ranks() - 1;
    link.shares_port = time > one * (1 + others) / 2;
    if (!link.shares_port) return;
    const int apart = network_.hosts > 1 ? network_.ranks_per_host : 1;
    constexpr double between_two_and_three = 2.5;
    link.fairly =
        time_of(passing_on(ranks(), apart, options_.largest), "passing on", options_.largest, 1)
            .median_s > between_two_and_three * one;
  }

  // For each further message of a row.  At best: where many hosts take part, some of them are often
  // held up.
  double least_gap(const Pairs& pairs, const std::string& name) {
    const auto time_of_row = [&](int messages) {
      return messages * time_of(send_recv(ranks(), pairs, options_.largest * messages, messages),
                                fmt::format("{} {}", name, messages), options_.largest, messages)
                            .min_s;
    };
    const double few = time_of_row(window), many = time_of_row(2 * window);
    return (many - few) / window;
  }

  // Bandwidth that is left where every port both sends and receives.
  void go_round() {
    Pairs next;
    for (int host = 0; host < network_.hosts; ++host)
      next.emplace_back(host * network_.ranks_per_host,
                        (host + 1) % network_.hosts * network_.ranks_per_host);
    FittedLink& link = network_.between;
    const double of_round = least_gap(next, "round of");
    const double of_pair = least_gap(pairs(0, network_.ranks_per_host), "row of");
    if (!(of_pair > 0)) return;
    link.slower_in_round = std::max(0.0, of_round / of_pair - 1);
    for (FittedLink::Row& row : link.rows) row.bytes_per_s /= 1 + link.slower_in_round;
  }

  void measure_adding(const Pairs& pair) {
    const Bytes size = options_.largest;
    const double plain =
        time_of(ping_pong(ranks(), pair, size, false), "ping-pong", size, 2 * rounds).median_s;
    const double adding =
        time_of(ping_pong(ranks(), pair, size, true), "adding ping-pong", size, 2 * rounds)
            .median_s;
    // Within the noise of messages it costs nothing.
    constexpr double noticeable = 0.01;
    if (adding > plain * (1 + noticeable))
      network_.reduce_bytes_per_s = static_cast<double>(size) / (adding - plain);
  }

  const NetworkOptions& options_;
  CalibratedNetwork network_;
  std::vector<Bytes> sizes_;
  std::size_t total_ = 0;
};

std::string link_time(double seconds) {
  return exact_time(from_seconds(seconds));
}
std::string link_rate(double bytes_per_s) {
  return exact_bandwidth(Bandwidth(std::max<std::int64_t>(1, std::llround(bytes_per_s))));
}

// A switch has two cables on the way from rank to rank, and what a rank sends shares the first.
JsonValue row_value(const FittedLink::Row& row, bool through_switch) {
  return JsonValue::object({{"bandwidth", link_rate(row.bytes_per_s)},
                            {"overhead", link_time(row.overhead_s)},
                            {"latency", link_time(row.latency_s / (through_switch ? 2 : 1))}});
}

JsonValue link_value(const FittedLink& link, bool through_switch) {
  if (link.rows.size() == 1) {
    JsonValue value = row_value(link.rows.front(), through_switch);
    if (link.fairly) value.set("sharing", "fair");
    return value;
  }
  const auto segment = [&](const FittedLink::Row& row) {
    JsonValue value = JsonValue::object();
    if (&row != &link.rows.back()) value.set("up_to", exact_size(row.up_to));
    const JsonValue costs = row_value(row, through_switch);
    for (const JsonValue::Member& member : costs.members()) value.set(member.key, member.value);
    return value;
  };
  return JsonValue::object({{"segments", JsonValue::array(link.rows, segment)}});
}

JsonValue flat_value(const FittedLink& link) {
  return JsonValue::object({{"shape", link.shares_port ? "switch" : "fully-connected"},
                            {"link", link_value(link, link.shares_port)}});
}

JsonValue cluster_value(const CalibratedNetwork& network) {
  if (network.hosts == 1 || network.ranks_per_host == 1) {
    JsonValue cluster = flat_value(network.hosts == 1 ? network.within : network.between);
    cluster.set("ranks", network.hosts * network.ranks_per_host);
    return cluster;
  }
  return JsonValue::object(
      {{"shape", "nodes"},
       {"nodes", network.hosts},
       {"gpus_per_node", network.ranks_per_host},
       {"nics_per_node", 1},
       {"intra", flat_value(network.within)},
       {"inter", JsonValue::object({{"link", link_value(network.between, true)}})}});
}

}  // namespace

std::variant<CalibratedNetwork, NoMeasurement> calibrate_network(const NetworkOptions& options) {
  try {
    return NetworkCalibration(options).run();
  } catch (const NoMeasurement& none) {
    return none;
  }
}

JsonValue machine_value(const CalibratedNetwork& network, const std::string& version,
                        const std::string& date) {
  JsonValue model = JsonValue::object();
  if (network.reduce_bytes_per_s > 0)
    model.set("reduce_bandwidth", link_rate(network.reduce_bytes_per_s));
  const auto raw = [](const NetworkProbe& probe) {
    return JsonValue::object({{"probe", probe.name},
                              {"bytes", probe.bytes},
                              {"median_s", probe.times.median_s},
                              {"min_s", probe.times.min_s},
                              {"max_s", probe.times.max_s}});
  };
  return JsonValue::object(
      {{"scenario", 1},
       {"cluster", cluster_value(network)},
       {"model", std::move(model)},
       {"measured", JsonValue::object({{"device", network.device},
                                       {"date", date},
                                       {"collsim", version},
                                       {"raw", JsonValue::array(network.probes, raw)}})}});
}

}  // namespace collsim
