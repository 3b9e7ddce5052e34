// SPDX-License-Identifier: Apache-2.0
#include "app/output/trace_events.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "app/output/pytorch_names.hpp"
#include "app/output/trace_actions.hpp"
#include "app/output/trace_count.hpp"
#include "app/output/trace_sink.hpp"
#include "collectives/contributions.hpp"
#include "collectives/message_router.hpp"
#include "collectives/pieces.hpp"
#include "sim/critical_path.hpp"

namespace collsim {

namespace {

constexpr std::uint32_t summary_process = 0;
constexpr std::uint32_t links_process = 1;
constexpr std::uint32_t first_rank_process = 1000;
constexpr Track whole_track{summary_process, 1};
constexpr Track critical_track{summary_process, 2};

int digits_of(std::size_t largest) {
  return static_cast<int>(std::to_string(largest).size());
}

std::int64_t number(Rank rank) {
  return static_cast<std::int64_t>(rank.index());
}

class TraceWriter {
 public:
  TraceWriter(std::ostream& out, const TraceInput& input, const TraceOptions& options)
      : out_(out),
        input_(input),
        options_(options),
        topology_(input.topology),
        schedule_(std::holds_alternative<const Schedule*>(input.of)
                      ? std::get<const Schedule*>(input.of)
                      : nullptr),
        programs_(programs_of(input)),
        steps_(input.simulation.timeline->steps),
        router_(topology_, programs_) {
    if (schedule_ != nullptr) {
      pieces_ = find_pieces(*schedule_, *input.simulation.timeline);
      contributions_ = find_contributions(*schedule_, *input.simulation.timeline);
    } else {
      actions_.emplace(*std::get<const Workload*>(input.of), *input.simulation.timeline);
    }
    if (input.measured.empty()) path_ = critical_path(topology_, programs_, input.simulation);
    survey_ranks();
    choose_arrows();
    choose_end();
  }

  TraceSummary write() {
    TraceSink sink(out_);
    name_tracks(sink);
    write_summary(sink);
    if (schedule_ != nullptr)
      for (std::size_t position = 0; position < ranks_.size(); ++position)
        write_collective(sink, position);
    for (std::uint32_t i = 0; i < steps_.size(); ++i) {
      if (!shown(time_of(i)) || slices_of(i) == 0) continue;
      if (is_action(i))
        write_action(sink, i);
      else
        write_instruction(sink, i);
      if (has_message(steps_[i])) write_message(sink, i);
    }
    summary_.events = written_;
    TraceArguments group;
    group.add("backend", "collsim").add("world_size", std::int64_t{programs_.size()});
    TraceArguments other;
    if (!input_.measured.empty()) other.add("measured", input_.measured);
    other.add("title", input_.title);
    if (schedule_ != nullptr) other.add("algorithm", schedule_->algorithm());
    other.add("time_us", input_.simulation.time);
    if (schedule_ != nullptr) other.add("pieces", std::int64_t{pieces_.count});
    other.add("events", static_cast<std::int64_t>(summary_.events))
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

  [[nodiscard]] static const Programs& programs_of(const TraceInput& input) {
    return std::visit([](const auto* of) -> const Programs& { return *of; }, input.of);
  }

  // --- what there is ----------------------------------------------------------------------------

  void survey_ranks() {
    position_of_.assign(topology_.rank_count(), 0);
    for (std::size_t position = 0; position < programs_.group().size(); ++position) {
      const Rank rank = programs_.group()[position];
      const Time end = input_.simulation.finished[position];
      position_of_[rank.index()] = static_cast<std::uint32_t>(position);
      ranks_.push_back({rank, end, end});
    }
    lane_is_used_.assign(ranks_.size() * lanes(), false);
    link_is_used_.assign(topology_.links().size(), false);
    for (std::uint32_t i = 0; i < steps_.size(); ++i) {
      const Step& step = steps_[i];
      const std::size_t position = position_of_[step.rank.index()];
      RankTrack& rank = ranks_[position];
      rank.begins = std::min(rank.begins, step.reached);
      rank.busy = true;
      if (slices_of(i) > 0) lane_is_used_[position * lanes() + step.lane.index()] = true;
      if (!has_message(step)) continue;
      for (const LinkId link : known_links_of(step)) link_is_used_[link.index()] = true;
    }
    if (schedule_ == nullptr) return;
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
    std::uint64_t all = count.total();
    if (all > options_.max_events && actions_) {
      inside_ = false;
      summary_.inside_left_out = true;
      count = {};
      count_events(count);
      all = count.total();
    }
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
    if (schedule_ != nullptr)
      for (const RankTrack& rank : ranks_) add(rank.begins, 1);
    for (const CriticalPath::Segment& segment : path_.segments) add(segment.from, 1);
    for (std::uint32_t i = 0; i < steps_.size(); ++i) {
      const Step& step = steps_[i];
      const std::size_t slices = slices_of(i);
      if (slices == 0) continue;
      add(time_of(i), slices);
      if (has_arrow(i)) add(std::max(time_of(i), time_of(receiver_of_[i])), 2);
      if (!has_message(step)) continue;
      std::uint32_t events = 0;
      for (const LinkId link : known_links_of(step))
        events += topology_.link(link).sharing == Sharing::fair ? 2 : 1;
      add(time_of(i), events);
    }
  }

  [[nodiscard]] bool shown(Time begins) const { return begins < end_; }
  // Sending is posting: thousands of sends may be over before the first message has left.
  [[nodiscard]] Time time_of(std::uint32_t i) const {
    const Step& step = steps_[i];
    if (sends(step.instruction.op)) return step.departed;
    return is_action(i) ? actions_->begin(i) : step.reached;
  }
  [[nodiscard]] bool is_action(std::uint32_t step) const {
    return actions_ && actions_->shape(step) == TracedActions::Shape::action;
  }
  // On the track of its lane.  A receiver's slice is there where an arrow ends.
  [[nodiscard]] std::size_t slices_of(std::uint32_t step) const {
    if (is_action(step)) return 1;
    if (actions_ && (!inside_ || actions_->shape(step) == TracedActions::Shape::nothing)) return 0;
    return 1 + phases_of(steps_[step]).size();
  }
  // Real memory is not a link: a run without emulated links knows nothing of messages in flight.
  [[nodiscard]] bool has_message(const Step& step) const {
    return sends(step.instruction.op) && (input_.measured.empty() || step.left > step.departed);
  }
  [[nodiscard]] bool has_arrow(std::uint32_t sender) const {
    return !receiver_of_.empty() && receiver_of_[sender] != Step::none && slices_of(sender) > 0 &&
           slices_of(receiver_of_[sender]) > 0;
  }
  [[nodiscard]] bool arrow_is_shown(std::uint32_t sender) const {
    return has_arrow(sender) && shown(time_of(sender)) && shown(time_of(receiver_of_[sender]));
  }
  [[nodiscard]] std::size_t lanes() const { return static_cast<std::size_t>(programs_.lanes()); }
  [[nodiscard]] Bytes bytes_of(const Step& step) const {
    return step.instruction.count * programs_.element_size();
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

  [[nodiscard]] LinkSegment cost_of(const Step& step, std::size_t place, const Link& link) const {
    const auto crossings = input_.simulation.timeline->crossings_of(step);
    return topology_.cost_on(link, bytes_of_crossing(topology_, crossings, place, bytes_of(step)));
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
    sink.name_thread(whole_track, actions_ ? "step" : "collective", 1);
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
        if (actions_)
          name += " " + actions_->lane_name(Lane(lane));
        else if (lanes() > 1)
          name += fmt::format(" lane {:0{}}", lane, digits_of(lanes() - 1));
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
      for (const CriticalPath::Kind kind : CriticalPath::kinds)
        if (const Time total = path_.total(kind); total > Time{})
          totals.add(fmt::format("critical path: {} (us)", to_string(kind)), total);
      sink.slice(whole_track, Time{}, input_.simulation.time,
                 actions_ ? "training step" : collective_name(), "collective", totals);
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
      sink.slice(critical_track, segment.from, segment.to, name_of(segment), "critical", arguments);
      ++written_;
    }
  }

  // Of a workload: what it is for, since "work" says little there.
  [[nodiscard]] std::string name_of(const CriticalPath::Segment& segment) const {
    std::string kind(to_string(segment.kind));
    if (!actions_ || segment.step == Step::none) return kind;
    const std::string what = actions_->text(segment.step);
    if (what.empty()) return kind;
    return segment.kind == CriticalPath::Kind::work ? what : kind + ", " + what;
  }

  [[nodiscard]] std::string collective_name() const {
    const Collective& collective = schedule_->collective();
    std::string name =
        fmt::format("{} ({})", to_string(collective.operation), schedule_->algorithm());
    if (collective.bytes() > 0) name += " " + bytes_to_text(collective.bytes());
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
    const Collective& collective = schedule_->collective();
    const bool one_tensor =
        collective.operation == Operation::broadcast || collective.operation == Operation::reduce;
    TraceArguments arguments;
    arguments.add("Collective name", pytorch_name(collective.operation))
        .add("dtype", pytorch_name(collective.type))
        .add("In msg nelems", one_tensor ? collective.count : input_count(collective, position))
        .add("Out msg nelems", one_tensor ? collective.count : output_count(collective, position))
        .add("Group size", std::int64_t{collective.size()})
        .add("Process Group Name", "0")
        .add("Process Group Description", "default_pg")
        .add("Process Group Ranks", group_text())
        .add("Rank", number(ranks_[static_cast<std::size_t>(position)].rank))
        .add("Seq", std::int64_t{0})
        .add("algorithm", schedule_->algorithm());
    return arguments;
  }

  // Shortened as PyTorch does.
  [[nodiscard]] const std::string& group_text() {
    constexpr std::size_t most = 30;
    if (!group_text_.empty()) return group_text_;
    const std::vector<Rank>& group = programs_.group();
    for (std::size_t i = 0; i < std::min(most, group.size()); ++i)
      group_text_ += (i == 0 ? "[" : ", ") + std::to_string(group[i].index());
    group_text_ += group.size() > most ? ", ...]" : "]";
    return group_text_;
  }

  void write_action(TraceSink& sink, std::uint32_t index) {
    const Step& step = steps_[index];
    const Track track = track_of(step.rank, step.lane);
    TraceArguments arguments;
    if (exchanges(step.instruction.op)) {
      arguments.add("bytes", bytes_of(step));
      if (receives(step.instruction.op)) arguments.add("src", number(step.instruction.from.rank));
      if (sends(step.instruction.op)) arguments.add("dst", number(step.instruction.to.rank));
    }
    sink.slice(track, actions_->begin(index), actions_->end(index), actions_->text(index),
               actions_->category(index), arguments);
    ++written_;
    write_arrow_ends(sink, index, track);
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
      const LinkSegment cost = cost_of(step, place, link);
      TraceArguments arguments;
      arguments.add("src", number(step.rank))
          .add("dst", number(target))
          .add("bytes", bytes_of(step))
          .add("link", topology_.name(route[place]))
          .add("lane", static_cast<std::int64_t>(step.lane.index()))
          .add("step", std::int64_t{step.index});
      if (actions_)
        arguments.add("for", actions_->text(index));
      else
        arguments.add("piece", std::int64_t{pieces_.of_step[index]});
      if (!contributions_.empty())
        arguments.add("sum of (ranks)", std::int64_t{contributions_[index]});
      if (!actions_ && pieces_.mixed[index]) arguments.add("mixed", "and other pieces");
      arguments.add("startup (us)", fair ? Time{} : cost.startup)
          .add("on the link (us)", crossing.ended - crossing.begun)
          .add("from ready to start (us)", crossing.begun - crossing.asked)
          .add("flight (us)", cost.latency);
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
  const Schedule* const schedule_;  // null: of a workload
  const Programs& programs_;
  const std::vector<Step>& steps_;
  MessageRouter router_;
  std::vector<LinkId> route_;
  Pieces pieces_;                            // of a schedule
  std::vector<std::int32_t> contributions_;  // likewise; empty: nothing is added
  std::optional<TracedActions> actions_;     // of a workload
  bool inside_ = true;                       // instructions of its collectives are written
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
