// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "validate/host/host_mover.hpp"
#include "validate/lane_memory.hpp"

namespace collsim {
namespace {

// HostMover's team of one.
struct OneThread {
  [[nodiscard]] static std::uint64_t threads() { return 1; }
  [[nodiscard]] static std::uint64_t thread() { return 0; }
};

// What a lane begins has ended when the call returns.
class HostLaneMemory : public LaneMemory {
 public:
  void expect_lanes(std::size_t /*count*/) override {}
  std::byte* allocate(std::uint64_t bytes) override {
    blocks_.push_back(
        std::make_unique_for_overwrite<std::byte[]>(std::max<std::uint64_t>(bytes, 1)));
    return blocks_.back().get();
  }
  std::byte* allocate_slots(std::uint64_t bytes) override { return allocate(bytes); }
  [[nodiscard]] bool sends_from_slots() const override { return false; }

  void fill(std::byte* to, std::byte value, std::uint64_t bytes) override {
    std::fill_n(to, bytes, value);
  }
  void write(std::byte* to, const std::vector<std::byte>& data) override {
    std::copy(data.begin(), data.end(), to);
  }
  std::vector<std::byte> read(const std::byte* from, std::uint64_t bytes) const override {
    return {from, from + bytes};
  }

  void move(std::size_t /*lane*/, const LaneStep& step, const std::byte* from, std::byte* to,
            std::byte* also_to) override {
    HostMover::of(step).move(OneThread(), from, to, also_to, step.bytes);
  }
  void combine(std::size_t /*lane*/, const LaneStep& step, const std::byte* message,
               const std::byte* source, std::byte* to, std::byte* also_to) override {
    HostMover::of(step).combine(OneThread(), message, source, to, also_to, step.bytes);
  }
  bool has_ended(std::size_t /*lane*/) override { return true; }

  void abandon() override {
    for (auto& block : blocks_) static_cast<void>(block.release());
  }

 private:
  std::vector<std::unique_ptr<std::byte[]>> blocks_;
};

}  // namespace

std::unique_ptr<LaneMemory> make_host_lane_memory() {
  return std::make_unique<HostLaneMemory>();
}

}  // namespace collsim
