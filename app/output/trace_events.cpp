// SPDX-License-Identifier: Apache-2.0
#include "app/output/trace_events.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "app/output/trace_sink.hpp"
#include "collectives/pieces.hpp"
#include "sim/critical_path.hpp"
#include "sim/message_router.hpp"

namespace collsim {

namespace {

constexpr std::uint32_t summary_process = 0;
constexpr std::uint32_t links_process = 1;
constexpr std::uint32_t first_rank_process = 1000;
constexpr Track whole_track{summary_process, 1};
constexpr Track critical_track{summary_process, 2};

// The names that PyTorch's profiler uses.
std::string_view pytorch_name(Operation operation) {
  switch (operation) {
    case Operation::broadcast: return "broadcast";
    case Operation::reduce: return "reduce";
    case Operation::all_reduce: return "allreduce";
    case Operation::all_gather: return "_allgather_base";
    case Operation::reduce_scatter: return "_reduce_scatter_base";
    case Operation::gather: return "gather";
    case Operation::scatter: return "scatter";
    case Operation::all_to_all: return "all_to_all";
    case Operation::barrier: return "barrier";
    case Operation::send_recv: return "send_recv";
  }
  return "unknown";
}

std::string_view pytorch_name(ElementType type) {
  switch (type) {
    case ElementType::i8: return "Char";
    case ElementType::u8: return "Byte";
    case ElementType::i32: return "Int";
    case ElementType::u32: return "UInt32";
    case ElementType::i64: return "Long";
    case ElementType::u64: return "UInt64";
    case ElementType::f16: return "Half";
    case ElementType::bf16: return "BFloat16";
    case ElementType::f32: return "Float";
    case ElementType::f64: return "Double";
  }
  return "unknown";
}

int digits_of(std::size_t largest) {
  return static_cast<int>(std::to_string(largest).size());
}

std::int64_t number(Rank rank) {
  return static_cast<std::int64_t>(rank.index());
}

// Numbers of events, by the time at which they begin.
class EventCount {
 public:
  void add(Time begins, std::uint32_t events) {
    total_ += events;
    if (keeps_times_) begins_.emplace_back(begins, events);
  }
  [[nodiscard]] std::uint64_t total() const { return total_; }
  void keep_times() {
    *this = {};
    keeps_times_ = true;
  }
  // The time before which at most this many events begin.
  [[nodiscard]] Time first_time_beyond(std::uint64_t events) {
    std::sort(begins_.begin(), begins_.end());
    std::uint64_t sum = 0;
    for (const auto& [begins, count] : begins_) {
      sum += count;
      if (sum > events) return begins;
    }
    return Time::never();
  }

 private:
  bool keeps_times_ = false;
  std::uint64_t total_ = 0;
  std::vector<std::pair<Time, std::uint32_t>> begins_;
};

class TraceWriter {
 public:
  TraceWriter(std::ostream& out, const TraceInput& input, const TraceOptions& options)
      : out_(out),
        input_(input),
        options_(options),
        topology_(input.topology),
        collective_(input.schedule.collective()),
        steps_(input.simulation.timeline->steps),
        router_(topology_, input.schedule),
        pieces_(find_pieces(input.schedule, *input.simulation.timeline)) {
    if (input.measured.empty()) path_ = critical_path(topology_, input.schedule, input.simulation);
    survey_ranks();
    choose_arrows();
    choose_end();
  }

  TraceSummary write() {
    TraceSink sink(out_);
    name_tracks(sink);
    write_summary(sink);
    for (std::size_t position = 0; position < ranks_.size(); ++position)
      write_collective(sink, position);
    for (std::uint32_t i = 0; i < steps_.size(); ++i) {
      if (!shown(time_of(steps_[i]))) continue;
      write_instruction(sink, i);
      if (has_message(steps_[i])) write_message(sink, i);
    }
    summary_.events = written_;
    TraceArguments group;
    group.add("backend", "collsim").add("world_size", std::int64_t{collective_.size()});
    TraceArguments other;
    if (!input_.measured.empty()) other.add("measured", input_.measured);
    other.add("title", input_.title)
        .add("algorithm", input_.schedule.algorithm())
        .add("time_us", input_.simulation.time)
        .add("pieces", std::int64_t{pieces_.count})
        .add("events", static_cast<std::int64_t>(summary_.events))
        .add("events_left_out", static_cast<std::int64_t>(summary_.left_out));
    sink.finish(group, other);
    return summary_;
  }

 private:
  struct RankTrack {
    Rank rank;
    Time begins, ends;
    bool busy = false;  // has instructions
  };

  // --- what there is ----------------------------------------------------------------------------

  void survey_ranks() {
    position_of_.assign(topology_.rank_count(), 0);
    for (std::size_t position = 0; position < collective_.group.size(); ++position) {
      const Rank rank = collective_.group[position];
      const Time end = input_.simulation.finished[position];
      position_of_[rank.index()] = static_cast<std::uint32_t>(position);
      ranks_.push_back({rank, end, end});
    }
    lane_is_used_.assign(ranks_.size() * lanes(), false);
    link_is_used_.assign(topology_.links().size(), false);
    for (const Step& step : steps_) {
      const std::size_t position = position_of_[step.rank.index()];
      RankTrack& rank = ranks_[position];
      rank.begins = std::min(rank.begins, step.reached);
      rank.busy = true;
      lane_is_used_[position * lanes() + step.lane.index()] = true;
      if (!has_message(step)) continue;
      for (const LinkId link : known_links_of(step)) link_is_used_[link.index()] = true;
    }
    // The collective itself is drawn around lane 0.
    for (std::size_t position = 0; position < ranks_.size(); ++position)
      lane_is_used_[position * lanes()] = true;
  }

  void choose_arrows() {
    if (options_.arrows == Arrows::none) return;
    receiver_of_.assign(steps_.size(), Step::none);
    for (std::uint32_t i = 0; i < steps_.size(); ++i) {
      const std::uint32_t sender = steps_[i].message_from;
      if (sender != Step::none && receives(steps_[i].instruction.op)) receiver_of_[sender] = i;
    }
    if (options_.arrows == Arrows::all || !input_.measured.empty()) return;
    std::vector<bool> critical(steps_.size(), false);
    for (const CriticalPath::Segment& segment : path_.segments)
      if (is_message(segment.kind) && segment.step != Step::none) critical[segment.step] = true;
    for (std::uint32_t i = 0; i < steps_.size(); ++i)
      if (!critical[i]) receiver_of_[i] = Step::none;
  }

  // When there are too many events, what begins before `end_` is written.
  void choose_end() {
    EventCount count;
    count_events(count);
    const std::uint64_t all = count.total();
    if (all <= options_.max_events) return;
    count.keep_times();
    count_events(count);
    end_ = count.first_time_beyond(options_.max_events);
    summary_.shown_until = end_;
    EventCount kept;
    count_events(kept);
    summary_.left_out = all - kept.total();
  }

  void count_events(EventCount& count) {
    const auto add = [&](Time begins, std::size_t events) {
      if (shown(begins) && events > 0) count.add(begins, static_cast<std::uint32_t>(events));
    };
    add(Time{}, 1);
    for (const RankTrack& rank : ranks_) add(rank.begins, 1);
    for (const CriticalPath::Segment& segment : path_.segments) add(segment.from, 1);
    for (std::uint32_t i = 0; i < steps_.size(); ++i) {
      const Step& step = steps_[i];
      add(time_of(step), 1 + phases_of(step).size());
      if (has_arrow(i)) add(std::max(time_of(step), time_of(steps_[receiver_of_[i]])), 2);
      if (!has_message(step)) continue;
      std::uint32_t events = 0;
      for (const LinkId link : known_links_of(step))
        events += topology_.link(link).sharing == Sharing::fair ? 2 : 1;
      add(time_of(step), events);
    }
  }

  [[nodiscard]] bool shown(Time begins) const { return begins < end_; }
  // Sending is posting: thousands of sends may be over before the first message has left.
  [[nodiscard]] static Time time_of(const Step& step) {
    return sends(step.instruction.op) ? step.departed : step.reached;
  }
  // Real memory is not a link: a run without emulated links knows nothing of messages in flight.
  [[nodiscard]] bool has_message(const Step& step) const {
    return sends(step.instruction.op) && (input_.measured.empty() || step.left > step.departed);
  }
  [[nodiscard]] bool has_arrow(std::uint32_t sender) const {
    return !receiver_of_.empty() && receiver_of_[sender] != Step::none;
  }
  [[nodiscard]] bool arrow_is_shown(std::uint32_t sender) const {
    return has_arrow(sender) && shown(time_of(steps_[sender])) &&
           shown(time_of(steps_[receiver_of_[sender]]));
  }
  [[nodiscard]] std::size_t lanes() const {
    return static_cast<std::size_t>(input_.schedule.lanes());
  }
  [[nodiscard]] Bytes bytes_of(const Step& step) const {
    return step.instruction.count * size_of(collective_.type);
  }

  [[nodiscard]] std::span<const LinkId> route_of(const Step& step) {
    if (step.links == 0) return router_.route({step.rank, step.lane}, step.instruction.to);
    route_.clear();
    for (const Crossing& crossing : input_.simulation.timeline->crossings_of(step))
      route_.push_back(crossing.link);
    return route_;
  }
  // A real run knows of the first link only.
  [[nodiscard]] std::span<const LinkId> known_links_of(const Step& step) {
    const std::span<const LinkId> route = route_of(step);
    return step.links == 0 ? route.first(std::min<std::size_t>(1, route.size())) : route;
  }
  [[nodiscard]] Crossing crossing_of(const Step& step, std::size_t place) const {
    const std::span<const Crossing> crossings = input_.simulation.timeline->crossings_of(step);
    if (!crossings.empty()) return crossings[place];
    return {{}, step.ended, step.departed, step.left, step.queued_behind};
  }

  [[nodiscard]] static bool is_message(CriticalPath::Kind kind) {
    return kind != CriticalPath::Kind::work && kind != CriticalPath::Kind::start;
  }

  // What an instruction did one after the other; nothing when that is one thing only.
  struct Phase {
    const char* name;
    Time begin, end;
  };
  class Phases {
   public:
    void add(Phase phase) {
      if (phase.begin < phase.end) phases_[count_++] = phase;
    }
    [[nodiscard]] std::size_t size() const { return count_ > 1 ? count_ : 0; }
    [[nodiscard]] const Phase* begin() const { return phases_.data(); }
    [[nodiscard]] const Phase* end() const { return phases_.data() + size(); }

   private:
    std::array<Phase, 3> phases_{};
    std::size_t count_ = 0;
  };
  [[nodiscard]] Phases phases_of(const Step& step) const {
    Time came = step.reached;
    if (step.message_from != Step::none)
      came = std::clamp(steps_[step.message_from].arrived, step.reached, step.began);
    Phases phases;
    phases.add({step.instruction.op == Op::wait ? "waiting for a signal" : "waiting for a message",
                step.reached, came});
    phases.add({"waiting for a free slot", came, step.began});
    phases.add({"working", step.began, step.ended});
    return phases;
  }

  // What ended the wait of a step.
  [[nodiscard]] const char* cause_of(const Step& step) const {
    if (orders_lanes(step.instruction.op)) return "a signal";
    if (!sends(step.instruction.op)) return "a message";  // nothing needs a slot
    if (step.message_from == Step::none) return "a free slot";
    const Time came = std::clamp(steps_[step.message_from].arrived, step.reached, step.began);
    // Between the arrival of a message and the next instruction a real lane takes a moment.
    const bool message_was_last =
        input_.measured.empty() ? came == step.began : came - step.reached >= step.began - came;
    return message_was_last ? "a message" : "a free slot";
  }

  // --- tracks -----------------------------------------------------------------------------------

  [[nodiscard]] bool has_nodes() const {
    return topology_.shape() == "nodes" && topology_.dims().size() == 2;
  }
  [[nodiscard]] std::uint32_t process_of(Rank rank) const {
    if (!has_nodes()) return first_rank_process;
    const auto per_node = static_cast<std::size_t>(topology_.dims()[1]);
    return first_rank_process + static_cast<std::uint32_t>(rank.index() / per_node);
  }
  [[nodiscard]] Track track_of(Rank rank, Lane lane) const {
    return {process_of(rank), rank.index() * lanes() + lane.index() + 1};
  }
  [[nodiscard]] static Track track_of(LinkId resource) {
    return {links_process, resource.index() + 1};
  }

  void name_tracks(TraceSink& sink) {
    sink.name_process(summary_process, "Summary", 0);
    sink.name_thread(whole_track, "collective", 1);
    if (input_.measured.empty()) sink.name_thread(critical_track, "critical path", 2);
    name_links(sink);
    name_ranks(sink);
  }

  void name_links(TraceSink& sink) {
    sink.name_process(links_process, "Links", 1);
    for (std::size_t i = 0; i < link_is_used_.size(); ++i) {
      const LinkId link(i);
      const LinkId resource = topology_.link(link).resource;
      if (!link_is_used_[i]) continue;
      if (resource != link && link_is_used_[resource.index()]) continue;
      sink.name_thread(track_of(resource), name_of(resource),
                       static_cast<std::int64_t>(resource.index()));
    }
  }

  // Sorts like its number, also where sort indexes are not looked at.
  [[nodiscard]] std::string name_of(LinkId resource) const {
    const Link& link = topology_.link(resource);
    std::string name =
        fmt::format("{:0{}}: {}", resource.index(), digits_of(topology_.links().size() - 1),
                    topology_.name(resource));
    if (link.half_duplex) name += " and back";
    return name;
  }

  void name_ranks(TraceSink& sink) {
    std::vector<std::uint32_t> named;
    for (std::size_t position = 0; position < ranks_.size(); ++position) {
      const Rank rank = ranks_[position].rank;
      const std::uint32_t process = process_of(rank);
      if (std::find(named.begin(), named.end(), process) == named.end()) {
        named.push_back(process);
        sink.name_process(process, process_name(process), process);
      }
      for (std::size_t lane = 0; lane < lanes(); ++lane) {
        if (!lane_is_used_[position * lanes() + lane]) continue;
        const Track track = track_of(rank, Lane(lane));
        std::string name =
            fmt::format("rank {:0{}}", rank.index(), digits_of(topology_.rank_count() - 1));
        if (lanes() > 1) name += fmt::format(" lane {:0{}}", lane, digits_of(lanes() - 1));
        sink.name_thread(track, name, static_cast<std::int64_t>(track.thread));
      }
    }
  }

  [[nodiscard]] std::string process_name(std::uint32_t process) const {
    if (!has_nodes()) return "Ranks";
    const auto nodes = static_cast<std::size_t>(topology_.dims()[0]);
    return fmt::format("Ranks of node {:0{}}", process - first_rank_process, digits_of(nodes - 1));
  }

  // --- events -----------------------------------------------------------------------------------

  void write_summary(TraceSink& sink) {
    if (shown(Time{})) {
      TraceArguments totals;
      for (const auto kind :
           {CriticalPath::Kind::start, CriticalPath::Kind::work, CriticalPath::Kind::startup,
            CriticalPath::Kind::wire, CriticalPath::Kind::sharing, CriticalPath::Kind::flight,
            CriticalPath::Kind::queue})
        if (const Time total = path_.total(kind); total > Time{})
          totals.add(fmt::format("critical path: {} (us)", to_string(kind)), total);
      sink.slice(whole_track, Time{}, input_.simulation.time, collective_name(), "collective",
                 totals);
      ++written_;
    }
    for (const CriticalPath::Segment& segment : path_.segments) {
      if (!shown(segment.from)) continue;
      TraceArguments arguments;
      if (segment.step != Step::none) {
        const Step& step = steps_[segment.step];
        if (is_message(segment.kind))
          arguments.add("src", number(step.rank))
              .add("dst", number(step.instruction.to.rank))
              .add("bytes", bytes_of(step));
        else
          arguments.add("rank", number(step.rank));
        arguments.add("lane", static_cast<std::int64_t>(step.lane.index()))
            .add("step", std::int64_t{step.index});
      }
      sink.slice(critical_track, segment.from, segment.to, to_string(segment.kind), "critical",
                 arguments);
      ++written_;
    }
  }

  [[nodiscard]] std::string collective_name() const {
    std::string name =
        fmt::format("{} ({})", to_string(collective_.operation), input_.schedule.algorithm());
    if (collective_.bytes() > 0) name += " " + bytes_to_text(collective_.bytes());
    return name;
  }

  void write_collective(TraceSink& sink, std::size_t position) {
    const RankTrack& rank = ranks_[position];
    if (!shown(rank.begins)) return;
    sink.slice(track_of(rank.rank, Lane(0)), rank.begins, rank.ends, collective_name(), "kernel",
               collective_arguments(static_cast<int>(position)));
    ++written_;
  }

  [[nodiscard]] TraceArguments collective_arguments(int position) {
    // One tensor, which every rank has.
    const bool one_tensor =
        collective_.operation == Operation::broadcast || collective_.operation == Operation::reduce;
    TraceArguments arguments;
    arguments.add("Collective name", pytorch_name(collective_.operation))
        .add("dtype", pytorch_name(collective_.type))
        .add("In msg nelems", one_tensor ? collective_.count : input_count(collective_, position))
        .add("Out msg nelems", one_tensor ? collective_.count : output_count(collective_, position))
        .add("Group size", std::int64_t{collective_.size()})
        .add("Process Group Name", "0")
        .add("Process Group Description", "default_pg")
        .add("Process Group Ranks", group_text())
        .add("Rank", number(ranks_[static_cast<std::size_t>(position)].rank))
        .add("Seq", std::int64_t{0})
        .add("algorithm", input_.schedule.algorithm());
    return arguments;
  }

  // Shortened as PyTorch does.
  [[nodiscard]] const std::string& group_text() {
    constexpr std::size_t most = 30;
    if (!group_text_.empty()) return group_text_;
    for (std::size_t i = 0; i < std::min(most, collective_.group.size()); ++i)
      group_text_ += (i == 0 ? "[" : ", ") + std::to_string(collective_.group[i].index());
    group_text_ += collective_.group.size() > most ? ", ...]" : "]";
    return group_text_;
  }

  void write_instruction(TraceSink& sink, std::uint32_t index) {
    const Step& step = steps_[index];
    const Instruction& instruction = step.instruction;
    const Track track = track_of(step.rank, step.lane);
    TraceArguments arguments;
    arguments.add("step", std::int64_t{step.index});
    if (orders_lanes(instruction.op)) {
      const Endpoint& other = instruction.op == Op::wait ? instruction.from : instruction.to;
      arguments.add("other lane", static_cast<std::int64_t>(other.lane.index()));
    } else {
      arguments.add("bytes", bytes_of(step)).add("elements", instruction.count);
      const bool is_stored = stores(instruction.op);
      arguments.add("buffer", to_string(is_stored ? instruction.destination_buffer
                                                  : instruction.source_buffer));
      arguments.add("first element",
                    is_stored ? instruction.destination_offset : instruction.source_offset);
    }
    if (receives(instruction.op)) arguments.add("src", number(instruction.from.rank));
    if (sends(instruction.op)) arguments.add("dst", number(instruction.to.rank));
    if (step.began > step.reached)
      arguments.add("waited (us)", step.began - step.reached).add("waited for", cause_of(step));
    if (step.ended > step.began) arguments.add("worked (us)", step.ended - step.began);
    sink.slice(track, step.reached, step.ended, to_string(instruction.op), "instruction",
               arguments);
    const Phases phases = phases_of(step);
    for (const Phase& phase : phases)
      sink.slice(track, phase.begin, phase.end, phase.name, "phase", {});
    written_ += 1 + phases.size();
    write_arrow_ends(sink, index, track);
  }

  // Next to their slices in the file: viewers take the last slice of the same moment.
  void write_arrow_ends(TraceSink& sink, std::uint32_t index, Track track) {
    const Step& step = steps_[index];
    const std::uint32_t sender = step.message_from;
    if (sender != Step::none && receives(step.instruction.op) && arrow_is_shown(sender)) {
      sink.arrow_ends(track, step.began, "message", sender);
      ++written_;
    }
    if (arrow_is_shown(index)) {
      sink.arrow_begins(track, step.ended, "message", index);
      ++written_;
    }
  }

  void write_message(TraceSink& sink, std::uint32_t index) {
    const Step& step = steps_[index];
    const Rank target = step.instruction.to.rank;
    const std::span<const LinkId> route = known_links_of(step);
    for (std::size_t place = 0; place < route.size(); ++place) {
      const Link& link = topology_.link(route[place]);
      const Crossing crossing = crossing_of(step, place);
      const bool fair = link.sharing == Sharing::fair;
      TraceArguments arguments;
      arguments.add("src", number(step.rank))
          .add("dst", number(target))
          .add("bytes", bytes_of(step))
          .add("link", topology_.name(route[place]))
          .add("lane", static_cast<std::int64_t>(step.lane.index()))
          .add("step", std::int64_t{step.index})
          .add("piece", std::int64_t{pieces_.of_step[index]});
      if (pieces_.mixed[index]) arguments.add("mixed", "and other pieces");
      arguments.add("startup (us)", fair ? Time{} : link.startup)
          .add("on the link (us)", crossing.ended - crossing.begun)
          .add("from ready to start (us)", crossing.begun - crossing.asked)
          .add("flight (us)", link.latency);
      if (crossing.queued_behind != Step::none)
        arguments.add("behind a message of rank", number(steps_[crossing.queued_behind].rank));
      // Both directions of a half-duplex cable are one resource.
      const Track track = track_of(link.resource);
      if (fair)
        sink.async_slice(track, crossing.begun, crossing.ended, name_of(link.resource), "message",
                         next_message_++, arguments);
      else
        sink.slice(track, crossing.begun, crossing.ended,
                   fmt::format("{} -> {}", step.rank.index(), target.index()), "message",
                   arguments);
      written_ += fair ? 2 : 1;
    }
  }

  std::ostream& out_;
  const TraceInput& input_;
  const TraceOptions& options_;
  const Topology& topology_;
  const Collective& collective_;
  const std::vector<Step>& steps_;
  MessageRouter router_;
  std::vector<LinkId> route_;
  Pieces pieces_;
  CriticalPath path_;
  Time end_ = Time::never();
  TraceSummary summary_;
  std::uint64_t written_ = 0;
  std::uint64_t next_message_ = 1;
  std::string group_text_;
  std::vector<std::uint32_t> position_of_;  // by rank
  std::vector<RankTrack> ranks_;            // by position
  std::vector<bool> lane_is_used_;          // position * lanes + lane
  std::vector<bool> link_is_used_;          // by link
  std::vector<std::uint32_t> receiver_of_;  // by step, of the arrows that are wanted
};

}  // namespace

TraceSummary write_trace(std::ostream& out, const TraceInput& input, const TraceOptions& options) {
  if (!input.simulation.timeline)
    throw_error(ErrorCode::invalid_argument, "a trace needs a simulation with Recording::full");
  return TraceWriter(out, input, options).write();
}

}  // namespace collsim
