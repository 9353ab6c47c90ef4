#include "text/subwords/word_cache.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <new>

#include "sentencode/text/string_table.h"

namespace sentencode {

WordCache::Slot* WordCache::empty_slots() {
  static_assert(kEmpty == 0);
  void* const memory =
      ::mmap(nullptr, kSlots * sizeof(Slot), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) throw std::bad_alloc();
  return static_cast<Slot*>(memory);
}

void WordCache::Unmap::operator()(Slot* slots) const { ::munmap(slots, kSlots * sizeof(Slot)); }

bool WordCache::append_ids(std::string_view word, std::uint64_t hash, std::vector<std::int32_t>& ids) const {
  const Slot* const bucket = this->bucket(hash);
  const std::uint32_t tag = tag_of(hash);
  for (std::size_t way = 0; way < kWays; ++way) {
    const Slot& slot = bucket[way];
    if (slot.tag.load(std::memory_order_acquire) == tag && slot.bytes == word.size() &&
        std::memcmp(slot.word.data(), word.data(), word.size()) == 0) {
      ids.insert(ids.end(), slot.ids.begin(), slot.ids.begin() + slot.count);
      return true;
    }
  }
  return false;
}

void WordCache::add(std::string_view word, std::uint64_t hash, std::span<const std::int32_t> ids) const {
  if (word.size() > Slot{}.word.size() || ids.size() > Slot{}.ids.size()) return;
  Slot* const bucket = this->bucket(hash);
  for (std::size_t way = 0; way < kWays; ++way) {
    Slot& slot = bucket[way];
    std::uint32_t tag = kEmpty;
    if (!slot.tag.compare_exchange_strong(tag, kBusy, std::memory_order_relaxed)) continue;
    slot.bytes = static_cast<std::uint8_t>(word.size());
    slot.count = static_cast<std::uint8_t>(ids.size());
    std::ranges::copy(word, slot.word.begin());
    std::ranges::copy(ids, slot.ids.begin());
    slot.tag.store(tag_of(hash), std::memory_order_release);
    return;
  }
}

void CachedModel::append_ids(std::string_view word, std::vector<std::int32_t>& ids) const {
  append_ids(word, StringTable::hash(word), ids);
}

void CachedModel::append_ids(std::span<const std::string_view> words, std::vector<std::int32_t>& ids) const {
  constexpr std::size_t kAtOnce = 32;
  std::array<std::uint64_t, kAtOnce> hashes;
  for (; !words.empty(); words = words.subspan(std::min(words.size(), kAtOnce))) {
    const auto some = words.first(std::min(words.size(), kAtOnce));
    for (std::size_t i = 0; i < some.size(); ++i) cache_.prefetch(hashes[i] = StringTable::hash(some[i]));
    for (std::size_t i = 0; i < some.size(); ++i) append_ids(some[i], hashes[i], ids);
  }
}

void CachedModel::append_ids(std::string_view word, std::uint64_t hash,
                             std::vector<std::int32_t>& ids) const {
  if (cache_.append_ids(word, hash, ids)) return;
  const std::size_t begin = ids.size();
  split(word, ids);
  cache_.add(word, hash, std::span(ids).subspan(begin));
}

}  // namespace sentencode
