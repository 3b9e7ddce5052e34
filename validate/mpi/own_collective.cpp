// SPDX-License-Identifier: Apache-2.0
#include "validate/mpi/own_collective.hpp"

#include <climits>

#include "collectives/execute.hpp"

namespace collsim {
namespace {

std::optional<MPI_Datatype> type_of(ElementType type) {
  switch (type) {
    case ElementType::i8: return MPI_INT8_T;
    case ElementType::u8: return MPI_UINT8_T;
    case ElementType::i32: return MPI_INT32_T;
    case ElementType::u32: return MPI_UINT32_T;
    case ElementType::i64: return MPI_INT64_T;
    case ElementType::u64: return MPI_UINT64_T;
    case ElementType::f32: return MPI_FLOAT;
    case ElementType::f64: return MPI_DOUBLE;
    case ElementType::f16:
    case ElementType::bf16: break;
  }
  return std::nullopt;
}

std::optional<MPI_Op> operation_of(Reduction reduction) {
  switch (reduction) {
    case Reduction::sum: return MPI_SUM;
    case Reduction::prod: return MPI_PROD;
    case Reduction::min: return MPI_MIN;
    case Reduction::max: return MPI_MAX;
    case Reduction::avg: break;
  }
  return std::nullopt;
}

bool is_even(const Collective& collective) {
  return collective.count % collective.size() == 0;
}

// How long the piece of each rank is.
std::vector<int> pieces_of(const Collective& collective) {
  const auto count = static_cast<int>(collective.count);
  std::vector<int> pieces(static_cast<std::size_t>(collective.size()), count / collective.size());
  for (int i = 0; i < count % collective.size(); ++i) ++pieces[static_cast<std::size_t>(i)];
  return pieces;
}

std::vector<int> offsets_of(const std::vector<int>& pieces) {
  std::vector<int> offsets;
  int at = 0;
  for (const int piece : pieces) {
    offsets.push_back(at);
    at += piece;
  }
  return offsets;
}

}  // namespace

std::string OwnCollective::name_of(const Collective& collective) {
  const bool known = type_of(collective.type) || !reduces(collective.operation);
  const bool combines = operation_of(collective.reduction) || !reduces(collective.operation);
  if (!known || !combines || collective.count > INT_MAX || collective.bytes() > INT_MAX) return "";
  switch (collective.operation) {
    case Operation::broadcast: return "MPI_Bcast";
    case Operation::reduce: return "MPI_Reduce";
    case Operation::all_reduce: return "MPI_Allreduce";
    case Operation::all_gather: return is_even(collective) ? "MPI_Allgather" : "MPI_Allgatherv";
    case Operation::reduce_scatter:
      return is_even(collective) ? "MPI_Reduce_scatter_block" : "MPI_Reduce_scatter";
    case Operation::gather: return is_even(collective) ? "MPI_Gather" : "MPI_Gatherv";
    case Operation::scatter: return is_even(collective) ? "MPI_Scatter" : "MPI_Scatterv";
    case Operation::all_to_all: return is_even(collective) ? "MPI_Alltoall" : "MPI_Alltoallv";
    case Operation::barrier: return "MPI_Barrier";
    case Operation::send_recv: break;
  }
  return "";
}

OwnCollective::OwnCollective(const Collective& collective, MPI_Comm ranks)
    : collective_(collective),
      ranks_(ranks),
      type_(type_of(collective.type).value_or(MPI_BYTE)),
      reduction_(operation_of(collective.reduction).value_or(MPI_SUM)),
      count_(static_cast<int>(collective.count)),
      pieces_(pieces_of(collective)),
      offsets_(offsets_of(pieces_)) {
  MPI_Comm_rank(ranks_, &position_);
  const auto element = static_cast<std::size_t>(size_of(collective.type));
  output_.resize(static_cast<std::size_t>(output_count(collective, position_)) * element);
  // From every rank the piece that is mine; to every rank the piece that is its own.
  const int mine = pieces_[static_cast<std::size_t>(position_)];
  sent_ = pieces_;
  sent_at_ = offsets_;
  received_.assign(pieces_.size(), mine);
  received_at_ = offsets_of(received_);
  if (type_ != MPI_BYTE) return;
  for (auto* counts : {&pieces_, &offsets_, &sent_, &received_, &sent_at_, &received_at_})
    for (int& count : *counts) count *= static_cast<int>(element);
  count_ *= static_cast<int>(element);
}

void OwnCollective::fill(const std::vector<std::byte>& input) {
  input_ = input;
  std::fill(output_.begin(), output_.end(), poison);
  if (collective_.operation == Operation::broadcast && position_ == collective_.root)
    output_ = input_;
}

void OwnCollective::run() {
  const void* const in = input_.data();
  void* const out = output_.data();
  const int mine = pieces_[static_cast<std::size_t>(position_)];
  const bool even = is_even(collective_);
  switch (collective_.operation) {
    case Operation::all_reduce: MPI_Allreduce(in, out, count_, type_, reduction_, ranks_); return;
    case Operation::all_gather:
      if (even)
        MPI_Allgather(in, mine, type_, out, mine, type_, ranks_);
      else
        MPI_Allgatherv(in, mine, type_, out, pieces_.data(), offsets_.data(), type_, ranks_);
      return;
    case Operation::reduce_scatter:
      if (even)
        MPI_Reduce_scatter_block(in, out, mine, type_, reduction_, ranks_);
      else
        MPI_Reduce_scatter(in, out, pieces_.data(), type_, reduction_, ranks_);
      return;
    case Operation::all_to_all:
      if (even)
        MPI_Alltoall(in, mine, type_, out, mine, type_, ranks_);
      else
        MPI_Alltoallv(in, sent_.data(), sent_at_.data(), type_, out, received_.data(),
                      received_at_.data(), type_, ranks_);
      return;
    case Operation::barrier: MPI_Barrier(ranks_); return;
    default: run_for_root();
  }
}

void OwnCollective::run_for_root() {
  const void* const in = input_.data();
  void* const out = output_.data();
  const int root = collective_.root;
  const int mine = pieces_[static_cast<std::size_t>(position_)];
  const bool even = is_even(collective_);
  switch (collective_.operation) {
    case Operation::broadcast: MPI_Bcast(out, count_, type_, root, ranks_); return;
    case Operation::reduce: MPI_Reduce(in, out, count_, type_, reduction_, root, ranks_); return;
    case Operation::gather:
      if (even)
        MPI_Gather(in, mine, type_, out, mine, type_, root, ranks_);
      else
        MPI_Gatherv(in, mine, type_, out, pieces_.data(), offsets_.data(), type_, root, ranks_);
      return;
    case Operation::scatter:
      if (even)
        MPI_Scatter(in, mine, type_, out, mine, type_, root, ranks_);
      else
        MPI_Scatterv(in, pieces_.data(), offsets_.data(), type_, out, mine, type_, root, ranks_);
      return;
    default: COLLSIM_CHECK(false, "MPI has such a collective");
  }
}

}  // namespace collsim
