#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "text/subwords/model.h"

namespace sentencode {

/// The ids of words that a model has split before, shared by all threads. A slot is written once, by the
/// first word that needs it, and then never changes: lookups wait for nobody, and frequent words, which come
/// first, remain.
class WordCache {
 public:
  /// Loads the slots of a word into the processor's cache.
  void prefetch(std::uint64_t hash) const { __builtin_prefetch(bucket(hash)); }
  /// Appends the ids of a word. False if they are not cached.
  bool append_ids(std::string_view word, std::uint64_t hash, std::vector<std::int32_t>& ids) const;
  /// Stores the ids of a word, unless it is too long or its slots are taken.
  void add(std::string_view word, std::uint64_t hash, std::span<const std::int32_t> ids) const;

 private:
  static constexpr std::size_t kSlots = 1 << 16, kWays = 2;

  struct alignas(64) Slot {
    std::atomic<std::uint32_t> tag = 0;  // kEmpty, kBusy, or bits of the hash
    std::uint8_t bytes = 0, count = 0;
    std::array<char, 30> word{};
    std::array<std::int32_t, 7> ids{};
  };
  static_assert(sizeof(Slot) == 64, "a line of the processor's cache");
  static constexpr std::uint32_t kEmpty = 0, kBusy = 1, kTaken = 2;

  Slot* bucket(std::uint64_t hash) const { return slots_.get() + hash % (kSlots / kWays) * kWays; }
  static std::uint32_t tag_of(std::uint64_t hash) { return static_cast<std::uint32_t>(hash >> 32) | kTaken; }

  struct Unmap {
    void operator()(Slot* slots) const;
  };
  /// Empty slots, whose memory the system provides when they are written.
  static Slot* empty_slots();

  std::unique_ptr<Slot[], Unmap> slots_{empty_slots()};
};

/// A model that splits each frequent word once.
class CachedModel : public SubwordModel {
 public:
  void append_ids(std::string_view word, std::vector<std::int32_t>& ids) const override;
  void append_ids(std::span<const std::string_view> words, std::vector<std::int32_t>& ids) const override;

 protected:
  /// Appends the ids of a word.
  virtual void split(std::string_view word, std::vector<std::int32_t>& ids) const = 0;

 private:
  void append_ids(std::string_view word, std::uint64_t hash, std::vector<std::int32_t>& ids) const;

  WordCache cache_;
};

}  // namespace sentencode
