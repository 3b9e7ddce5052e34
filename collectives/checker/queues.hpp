// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "collectives/checker/values.hpp"

namespace collsim::checker {

// The messages in flight, in order per connection (source lane, target lane).  An empty connection
// has nothing to remember, so the table forgets empty ones whenever it would have to grow: memory
// follows the messages in flight, not the pairs of lanes that ever communicated.
template <class Value>
class Queues {
 public:
  struct Node {  // a piece of a message; at least one per message
    Value value{};
    std::int64_t count = 0;
    std::int64_t step = 0;        // of the sending instruction
    std::uint32_t next = 0;       // node behind this one in the queue
    std::uint32_t token : 31 {};  // see Knowledge; of a message's first piece
    std::uint32_t last : 1 {};    // ends its message
  };
  struct Queue {
    std::uint64_t key = unused;
    std::uint32_t front = 0;
    std::uint32_t back = 0;
    std::uint32_t messages = 0;
  };

  [[nodiscard]] static std::uint64_t key(std::uint32_t source, std::uint32_t target) {
    return std::uint64_t{source} << 32 | target;
  }
  // nullptr when there is nothing to be remembered; valid until the next push.
  [[nodiscard]] Queue* find(std::uint64_t key) {
    for (std::size_t at = home(key);; at = (at + 1) & mask_) {
      if (table_[at].key == key) return &table_[at];
      if (table_[at].key == unused) return nullptr;
    }
  }
  [[nodiscard]] const Node& front(const Queue& queue) const { return nodes_[queue.front]; }

  // Appends a message and returns how many its connection then holds; moves the values out.
  std::uint32_t push(std::uint64_t key, std::vector<Piece<Value>>& pieces, std::int64_t step,
                     std::uint32_t token) {
    Queue& queue = find_or_add(key);
    bool first = queue.messages == 0;
    for (std::size_t i = 0; i < pieces.size(); ++i) {
      const std::uint32_t at = new_node();
      Node& node = nodes_[at];
      node.value = std::move(pieces[i].value);
      node.count = pieces[i].count;
      node.step = step;
      node.token = (i == 0 ? token : 0) & 0x7fffffffU;
      node.last = i + 1 == pieces.size() ? 1 : 0;
      (first ? queue.front : nodes_[queue.back].next) = at;
      queue.back = at;
      first = false;
    }
    return ++queue.messages;
  }

  // Takes the oldest message off, appends its pieces and returns its token.
  std::uint32_t pop(Queue& queue, std::vector<Piece<Value>>& pieces) {
    const std::uint32_t token = nodes_[queue.front].token;
    for (bool last = false; !last;) {
      Node& node = nodes_[queue.front];
      last = node.last != 0;
      pieces.push_back({node.count, std::move(node.value)});
      const std::uint32_t next = node.next;
      node.next = free_;
      free_ = queue.front;
      queue.front = next;
    }
    --queue.messages;
    return token;
  }

  // The connection with messages left whose key is the least, if any.
  [[nodiscard]] const Queue* any_left() const {
    const Queue* least = nullptr;
    for (const Queue& queue : table_)
      if (queue.key != unused && queue.messages > 0 && (!least || queue.key < least->key))
        least = &queue;
    return least;
  }

 private:
  static constexpr std::uint64_t unused = ~std::uint64_t{0};
  static constexpr std::uint32_t none = ~std::uint32_t{0};

  [[nodiscard]] std::size_t home(std::uint64_t key) const {
    key *= 0x9e3779b97f4a7c15U;
    return static_cast<std::size_t>(key ^ key >> 32) & mask_;
  }

  Queue& find_or_add(std::uint64_t key) {
    if (Queue* queue = find(key)) return *queue;
    if (++used_ * 2 > table_.size()) rehash();
    std::size_t at = home(key);
    while (table_[at].key != unused) at = (at + 1) & mask_;
    table_[at].key = key;
    return table_[at];
  }

  void rehash() {
    std::vector<Queue> live;
    for (const Queue& queue : table_)
      if (queue.key != unused && queue.messages > 0) live.push_back(queue);
    std::size_t size = 64;
    while (size < 4 * live.size()) size *= 2;
    table_.assign(size, {});
    mask_ = size - 1;
    used_ = live.size() + 1;  // one more is about to come
    for (const Queue& queue : live) {
      std::size_t at = home(queue.key);
      while (table_[at].key != unused) at = (at + 1) & mask_;
      table_[at] = queue;
    }
  }

  std::uint32_t new_node() {
    if (free_ != none) return std::exchange(free_, nodes_[free_].next);
    COLLSIM_CHECK(nodes_.size() < none, "more than 2^32 messages in flight");
    nodes_.emplace_back();
    return static_cast<std::uint32_t>(nodes_.size() - 1);
  }

  std::vector<Queue> table_ = std::vector<Queue>(64);  // open addressing, at most half full
  std::size_t mask_ = 63;
  std::size_t used_ = 0;
  std::vector<Node> nodes_;
  std::uint32_t free_ = none;
};

}  // namespace collsim::checker
