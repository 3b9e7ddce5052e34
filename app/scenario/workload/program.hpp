// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "app/json/diagnostics.hpp"
#include "app/json/value.hpp"
#include "app/scenario/cluster/cluster.hpp"
#include "app/scenario/workload/program_expression.hpp"
#include "collectives/workload.hpp"
#include "collectives/workload_data.hpp"

// An explicit "program": what its author wrote, as a small tree that is walked lazily, so that a
// loop of a million rounds takes no more memory than one round.

namespace collsim {

struct ProgramOp {
  enum class Kind : std::uint8_t {
    work,
    send,
    receive,
    collective,
    set,
    stream,  // `body`, on stream `stream`
    record,  // event
    wait,    // for the event, or what the handle stands for
    repeat,  // `body`, `number` times
    group    // `body`, all at once; ends when all have
  };
  struct Assignment {
    std::size_t buffer = 0;
    ProgramExpression value;
  };
  static constexpr std::size_t none = SIZE_MAX;
  static constexpr int max_tag = 32'767;  // what MPI grants

  Kind kind = Kind::work;
  bool is_async = false;
  bool is_posted = false;    // a send that its stream does not wait for
  std::uint32_t place = 0;   // in WrittenProgram::places
  ProgramExpression number;  // seconds of work, rounds, the other rank, the root
  std::optional<Time> time;  // of work, where it is written as one
  std::uint16_t stream = 0;
  std::size_t event = none;     // also the handle of an async one
  std::size_t buffer = none;    // of messages and collectives: what they take, ...
  std::size_t into = none;      // ... and where the result of a collective goes
  std::optional<Bytes> size;    // instead of the buffer's
  int tag = 0;                  // of a message
  std::size_t variable = none;  // of a loop: among the numbers of expressions
  std::uint16_t communicator = 0;
  bool has_root = false;  // written
  Call call;              // without count and root
  AlgorithmChoice choice;
  std::vector<Assignment> assignments;
  std::vector<ProgramOp> body;
};

// What a buffer holds on one rank.
struct BufferShape {
  std::int64_t count = 0;
  ElementType type = ElementType::f32;
  bool has_type = false;  // its author says it, or the values
};

struct WrittenProgram {
  struct Block {
    std::vector<bool> on;  // by rank
    std::vector<ProgramOp> body;
  };
  struct Data {                               // of a buffer, at the start
    std::vector<BufferShape> shapes;          // by rank
    std::vector<std::vector<double>> values;  // by rank; empty: not given
  };
  // Which streams the messages of a tag from one rank to another leave and come to.
  struct Ends {
    int from = 0, to = 0, tag = 0;
    auto operator<=>(const Ends&) const = default;
  };
  struct Route {
    static constexpr int unknown = -1;
    int sender = unknown, receiver = unknown;
    bool sender_own = false, receiver_own = false;  // streams for these messages alone
  };

  int ranks = 0;
  std::vector<std::string> streams = {"main"};
  std::vector<Communicator> communicators;
  std::vector<int> async_streams;  // of the communicators; -1: none
  std::vector<std::string> buffers;
  std::vector<Data> data;  // of the first buffers
  std::vector<std::string> events;
  std::vector<std::vector<std::uint16_t>> waiters;  // by event: the streams that wait for it
  std::size_t numbers = 2;                          // that expressions can name
  std::vector<Block> blocks;
  std::vector<SourceRange> places;
  std::map<Ends, Route> routes;
  bool routes_are_known = false;
  std::vector<double> memory;  // bytes of all buffers, by rank, each at its largest
};

// One thing that a rank does: an action, or a new value of a buffer.
struct ProgramStep {
  Action action;
  const ProgramOp* op = nullptr;
  bool is_set = false;
  std::size_t assignment = 0;
};

// What a rank does, in the order of its program.
class ProgramWalk {
 public:
  // With `mistakes` what makes no sense is reported there, once, and ends the walk; rounds that are
  // all alike are walked once, and counted as often as they come.  Without: Error.
  ProgramWalk(const WrittenProgram& program, Rank rank, Diagnostics* mistakes = nullptr);

  // Valid until the following call; null: the end.
  [[nodiscard]] const ProgramStep* next();
  // The numbers for expressions, and the buffers' shapes, as of the last step.
  [[nodiscard]] const std::vector<double>& numbers() const { return numbers_; }
  [[nodiscard]] const std::vector<BufferShape>& shapes() const { return shapes_; }
  // With `mistakes`: how many things the rank does.
  [[nodiscard]] double things() const { return things_; }

 private:
  struct Frame {
    const std::vector<ProgramOp>* body;
    std::size_t next = 0;
    std::int64_t round = 0, rounds = 1;
    std::size_t variable = ProgramOp::none;
    std::uint16_t stream = 0;
    double times = 1;                 // that the frame stands for
    const ProgramOp* loop = nullptr;  // the outermost that it is in
  };

  // The rank's group of a communicator, and its position there.
  struct Membership {
    const std::vector<Rank>* group = nullptr;  // null: it is in none
    int position = 0;
  };
  [[nodiscard]] Membership membership(std::size_t communicator);  // looked for once

  void carry_out(const ProgramOp& op);
  void count(const ProgramOp& op);
  void work(const ProgramOp& op);
  void message(const ProgramOp& op, bool alone);
  void call(const ProgramOp& op, bool alone);
  void set(const ProgramOp& op);
  void repeat(const ProgramOp& op);
  void group(const ProgramOp& op);
  void record_event(const ProgramOp& op, std::uint16_t stream);
  void wait_for(const ProgramOp& op);
  void emit(Action action, const ProgramOp& op);
  void emit_record(std::uint16_t from, std::uint16_t to, const ProgramOp& op);
  void emit_wait(std::uint16_t stream, std::uint16_t from, std::int64_t number,
                 const ProgramOp& op);
  // `stream` begins where the current one is now; the current one goes on where it is.
  void fork(std::uint16_t stream, const ProgramOp& op);
  void join(std::uint16_t stream, const ProgramOp& op);
  std::optional<std::int64_t> whole(const ProgramOp& op, const char* what, std::int64_t low,
                                    std::int64_t high);
  std::optional<std::int64_t> count_of(const ProgramOp& op, int members, int root);
  void fail(const ProgramOp& op, std::string code, std::string message, std::string hint = {});

  const WrittenProgram* program_;
  int rank_;
  Diagnostics* mistakes_;
  std::vector<double> numbers_;
  std::vector<BufferShape> shapes_;
  std::vector<Membership> memberships_;  // by communicator; null groups: not yet looked for
  std::size_t block_ = 0;
  std::vector<Frame> frames_;
  std::vector<ProgramStep> pending_;
  std::size_t taken_ = 0;
  std::map<std::pair<std::uint16_t, std::uint16_t>, std::int64_t> recorded_;
  // By event: the stream it was recorded on, and by waiter which record it was.
  struct Recorded {
    std::uint16_t stream = 0;
    std::vector<std::int64_t> numbers;
  };
  std::map<std::size_t, Recorded> events_;
  bool failed_ = false;
  double things_ = 0;
};

// Reads "program", "groups" and "data" of a workload, and proves of every rank that what it does
// makes sense; `resolved` gets them.  Null: something is wrong, or the cluster is unknown.
class ObjectReader;
[[nodiscard]] std::shared_ptr<const WrittenProgram> read_program(ObjectReader& workload,
                                                                 const Cluster* cluster);

// Walks the program of every rank: finds the routes of its messages, how large its buffers become,
// and what makes no sense.  Each
// mistake is reported once, a program as a whole at `place`.
void find_routes(WrittenProgram& program, const SourceRange& place, Diagnostics& diagnostics);

[[nodiscard]] Workload make_workload(std::shared_ptr<const WrittenProgram> program);

// Which buffers the lines of a program use: these are the items.  Nothing is claimed of them.
[[nodiscard]] std::shared_ptr<const WorkloadData> data_of(
    const std::shared_ptr<const WrittenProgram>& program);

}  // namespace collsim
