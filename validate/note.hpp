// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "topo/error.hpp"

namespace collsim {

// Plain data on their way to another process of the same program, in the order in which they are
// put in and taken out.
using Note = std::vector<std::byte>;

class NoteWriter {
 public:
  template <class T>
  void put(const T& value) {
    static_assert(std::is_trivially_copyable_v<T>);
    append(&value, sizeof value);
  }
  template <class T>
  void put_all(const std::vector<T>& values) {
    static_assert(std::is_trivially_copyable_v<T>);
    put(static_cast<std::uint64_t>(values.size()));
    append(values.data(), values.size() * sizeof(T));
  }
  void put_text(const std::string& text) {
    put(static_cast<std::uint64_t>(text.size()));
    append(text.data(), text.size());
  }
  [[nodiscard]] Note take() { return std::move(note_); }

 private:
  void append(const void* data, std::size_t bytes) {
    const auto* const begin = static_cast<const std::byte*>(data);
    note_.insert(note_.end(), begin, begin + bytes);
  }
  Note note_;
};

[[nodiscard]] inline Note note_of_text(const std::string& text) {
  NoteWriter writer;
  writer.put_text(text);
  return writer.take();
}

class NoteReader {
 public:
  explicit NoteReader(const Note& note) : note_(note) {}

  template <class T>
  [[nodiscard]] T get() {
    T value{};
    take(&value, sizeof value);
    return value;
  }
  template <class T>
  [[nodiscard]] std::vector<T> get_all() {
    std::vector<T> values(get_count(sizeof(T)));
    take(values.data(), values.size() * sizeof(T));
    return values;
  }
  [[nodiscard]] std::string get_text() {
    std::string text(get_count(1), ' ');
    take(text.data(), text.size());
    return text;
  }

 private:
  std::size_t get_count(std::size_t each) {
    const auto count = get<std::uint64_t>();
    COLLSIM_CHECK(count <= (note_.size() - at_) / each, "a note holds what it says");
    return count;
  }
  void take(void* data, std::size_t bytes) {
    COLLSIM_CHECK(bytes <= note_.size() - at_, "a note holds what is read from it");
    if (bytes > 0) std::memcpy(data, note_.data() + at_, bytes);
    at_ += bytes;
  }
  const Note& note_;
  std::size_t at_ = 0;
};

}  // namespace collsim
