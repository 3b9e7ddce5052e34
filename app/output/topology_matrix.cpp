// SPDX-License-Identifier: Apache-2.0
#include "app/output/topology_matrix.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "app/output/text_table.hpp"
#include "topo/routes.hpp"

namespace collsim {

namespace {

// What lies on the way from one rank to another.
struct Way {
  bool exists = false;
  std::size_t links = 0, switches = 0, cpus = 0, nics = 0, gpus = 0;  // between the two ends
  std::int64_t bandwidth = 0;                                         // bytes per second
  Time latency;
};

class Ways {
 public:
  explicit Ways(const Topology& topology) : topology_(topology), router_(topology) {}

  [[nodiscard]] std::span<const LinkId> route(Rank from, Rank to) {
    try {
      return router_.route(from, to);
    } catch (const Error& error) {
      if (error.code() != ErrorCode::no_route) throw;
      return {};
    }
  }

  [[nodiscard]] Way way(Rank from, Rank to) {
    const std::span<const LinkId> links = route(from, to);
    Way way{.exists = !links.empty(), .links = links.size()};
    Time startup;
    for (const LinkId id : links) {
      const Link& link = topology_.link(id);
      const std::int64_t bandwidth = link.bandwidth.bytes_per_second();
      way.bandwidth = way.bandwidth == 0 ? bandwidth : std::min(way.bandwidth, bandwidth);
      way.latency += link.latency;
      startup = std::max(startup, link.startup);
      if (id != links.back()) count(way, topology_.kind(link.to));
    }
    way.latency += startup;
    return way;
  }

 private:
  static void count(Way& way, NodeKind kind) {
    switch (kind) {
      case NodeKind::gpu: ++way.gpus; return;
      case NodeKind::network_switch: ++way.switches; return;
      case NodeKind::nic: ++way.nics; return;
      case NodeKind::cpu: ++way.cpus; return;
    }
  }

  const Topology& topology_;
  Router router_;
};

// The shape "nodes" has NICs as devices only where several GPUs share one.
bool on_different_nodes(const Topology& topology, Rank from, Rank to) {
  const std::vector<int>& dims = topology.dims();
  if (topology.shape() != "nodes" || dims.size() != 2) return false;
  const auto gpus = static_cast<std::size_t>(dims[1]);
  return from.index() / gpus != to.index() / gpus;
}

// The content of a cell.  Sorted from near to far.
struct WayLabel {
  enum class Kind : std::uint8_t { self, link, switches, cpu, sockets, network, relays, none };
  Kind kind = Kind::self;
  std::size_t number = 0;
  auto operator<=>(const WayLabel&) const = default;
};

WayLabel label_of(const Way& way, bool different_nodes) {
  using Kind = WayLabel::Kind;
  if (!way.exists) return {Kind::none};
  if (way.gpus > 0) return {Kind::relays, way.gpus};
  if (way.nics > 0 || different_nodes) return {Kind::network};
  if (way.cpus > 1) return {Kind::sockets};
  if (way.cpus == 1) return {Kind::cpu};
  return way.switches > 0 ? WayLabel{Kind::switches, way.switches} : WayLabel{Kind::link};
}

struct Words {
  std::string sign, meaning;
};

// `number`: of the label, or # for any.
Words words_for(WayLabel::Kind kind, const std::string& number) {
  const bool one = number == "1";
  switch (kind) {
    case WayLabel::Kind::self: return {"X", "the rank itself"};
    case WayLabel::Kind::link: return {"LINK", "one link, directly"};
    case WayLabel::Kind::switches:
      return {"SW" + number, one ? "over one switch" : fmt::format("over {} switches", number)};
    case WayLabel::Kind::cpu: return {"CPU", "over one CPU"};
    case WayLabel::Kind::sockets: return {"SYS", "crosses the inter-socket link (QPI/UPI)"};
    case WayLabel::Kind::network: return {"NET", "over NICs and the network"};
    case WayLabel::Kind::relays:
      return {"R" + number, one ? "relayed by one GPU" : fmt::format("relayed by {} GPUs", number)};
    case WayLabel::Kind::none: return {"-", "not connected"};
  }
  return {};
}

Words words_for(const WayLabel& label) {
  return words_for(label.kind, std::to_string(label.number));
}

std::string number_of(const Way& way, PairValue value) {
  if (!way.exists) return "-";
  if (value == PairValue::hops) return std::to_string(way.links);
  const double number = value == PairValue::bandwidth ? static_cast<double>(way.bandwidth) / 1e9
                                                      : way.latency.seconds() * 1e6;
  return fmt::format("{:.4g}", number);
}

std::string legend_of(PairValue value) {
  switch (value) {
    case PairValue::path: break;
    case PairValue::bandwidth:
      return "GB/s in one direction, row to column: the slowest link on the path\n";
    case PairValue::latency:
      return "zero-byte one-way latency in us, row to column: overhead + latencies\n";
    case PairValue::hops: return "links on the path, row to column\n";
  }
  return {};
}

std::string legend_of(const std::set<WayLabel>& labels) {
  std::vector<Words> lines;
  for (auto label = labels.begin(); label != labels.end();) {
    const auto same_kind = [&](const WayLabel& other) { return other.kind == label->kind; };
    const auto next = std::find_if_not(label, labels.end(), same_kind);
    const bool several = std::next(label) != next;
    lines.push_back(several ? words_for(label->kind, "#") : words_for(*label));
    label = next;
  }
  std::size_t width = 0;
  for (const Words& words : lines) width = std::max(width, words.sign.size());
  std::string text;
  for (const Words& words : lines)
    text += fmt::format("{:<{}}  {}\n", words.sign, width, words.meaning);
  return text;
}

// A cable, or one direction of it.
struct CableLine {
  NodeId from, to;
  LinkParameters parameters;
  bool both_ways = false;
};

// The first line that a link in the opposite direction completes, else a line of its own.
class CableLines {
 public:
  explicit CableLines(const Topology& topology) : topology_(topology) {}

  void add(LinkId id) {
    const Link& link = topology_.link(id);
    const LinkParameters parameters = topology_.parameters(id);
    std::vector<std::size_t>& waiting = waiting_[{link.to, link.from}];
    for (std::size_t i = 0; i < waiting.size(); ++i) {
      CableLine& line = lines_[waiting[i]];
      if (line.parameters != parameters) continue;
      line.both_ways = true;
      waiting.erase(waiting.begin() + static_cast<std::ptrdiff_t>(i));
      return;
    }
    waiting_[{link.from, link.to}].push_back(lines_.size());
    lines_.push_back({.from = link.from, .to = link.to, .parameters = parameters});
  }
  [[nodiscard]] const std::vector<CableLine>& lines() const { return lines_; }

 private:
  const Topology& topology_;
  std::vector<CableLine> lines_;
  std::map<std::pair<NodeId, NodeId>, std::vector<std::size_t>> waiting_;
};

std::string table_of(const Topology& topology, const CableLines& cables, std::size_t limit) {
  const std::vector<CableLine>& lines = cables.lines();
  if (lines.empty()) return "no links\n";
  const bool half_duplex = std::any_of(lines.begin(), lines.end(), [](const CableLine& line) {
    return line.parameters.half_duplex;
  });
  const bool down = std::any_of(lines.begin(), lines.end(),
                                [](const CableLine& line) { return line.parameters.down; });
  TextTable table;
  for (const char* heading : {"from", "", "to"}) table.add_column(heading, TextTable::Align::left);
  for (const char* heading : {"bandwidth", "latency", "overhead"}) table.add_column(heading);
  table.add_column("sharing", TextTable::Align::left);
  if (half_duplex) table.add_column("duplex", TextTable::Align::left);
  if (down) table.add_column("state", TextTable::Align::left);
  const std::size_t shown = std::min(limit, lines.size());
  for (std::size_t i = 0; i < shown; ++i) {
    const auto& [from, to, link, both_ways] = lines[i];
    std::vector<std::string> row{topology.name(from),
                                 both_ways ? "<->" : "->",
                                 topology.name(to),
                                 to_text(link.bandwidth),
                                 link.latency == Time{} ? "0" : to_text(link.latency),
                                 link.startup == Time{} ? "0" : to_text(link.startup),
                                 link.sharing == Sharing::fair ? "fair" : "exclusive"};
    if (half_duplex) row.emplace_back(link.half_duplex ? "half" : "full");
    if (down) row.emplace_back(link.down ? "down" : "up");
    table.add_row(std::move(row));
  }
  std::string text = table.text("");
  if (shown < lines.size()) text += fmt::format("... and {} more\n", lines.size() - shown);
  return text;
}

}  // namespace

std::string topology_matrix(const Topology& topology, std::span<const Rank> ranks,
                            PairValue value) {
  Ways ways(topology);
  TextTable table;
  std::set<WayLabel> labels;
  table.add_column("", TextTable::Align::left);
  for (const Rank rank : ranks) table.add_column(topology.name(topology.node_of(rank)));
  for (const Rank from : ranks) {
    std::vector<std::string> row{topology.name(topology.node_of(from))};
    for (const Rank to : ranks) {
      const bool self = from == to;
      const Way way = self ? Way{} : ways.way(from, to);
      if (value != PairValue::path) {
        row.push_back(self ? "X" : number_of(way, value));
        continue;
      }
      const WayLabel label =
          self ? WayLabel{} : label_of(way, on_different_nodes(topology, from, to));
      row.push_back(words_for(label).sign);
      labels.insert(label);
    }
    table.add_row(std::move(row));
  }
  return table.text("") + "\n" + (value == PairValue::path ? legend_of(labels) : legend_of(value));
}

std::string all_links(const Topology& topology, std::size_t limit) {
  CableLines cables(topology);
  for (std::size_t id = 0; id < topology.links().size(); ++id) cables.add(LinkId(id));
  return table_of(topology, cables, limit);
}

std::string links_between(const Topology& topology, std::span<const Rank> ranks,
                          std::size_t limit) {
  Ways ways(topology);
  std::set<LinkId> used;
  for (const Rank from : ranks)
    for (const Rank to : ranks)
      if (from != to)
        for (const LinkId link : ways.route(from, to)) used.insert(link);
  CableLines cables(topology);
  for (const LinkId link : used) cables.add(link);
  return table_of(topology, cables, limit);
}

}  // namespace collsim
