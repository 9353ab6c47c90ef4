#include "sentencode/text/string_table.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>

#include "sentencode/error.h"

namespace sentencode {
namespace {

constexpr std::uint64_t kFirst = 0x9E3779B97F4A7C15;  // odd, half of the bits set, no pattern
constexpr std::uint64_t kSecond = 0xD6E8FEB86659FD93;
constexpr std::uint64_t kThird = 0xA3B195354A39B70D;

// Ids are int32, and id + 1 must fit as well.
constexpr std::int64_t kMaxSize = std::numeric_limits<std::int32_t>::max() - 1;
constexpr std::size_t kFirstSlots = 16;

__extension__ using Uint128 = unsigned __int128;

/// The xor of both halves of a product: every bit of the result depends on every bit of both factors.
std::uint64_t fold(std::uint64_t a, std::uint64_t b) {
  const Uint128 product = static_cast<Uint128>(a) * b;
  return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
}

/// Little-endian, as files contain slots.
template <typename T>
std::uint64_t load(const char* from) {
  static_assert(std::endian::native == std::endian::little, "saved hash tables are little-endian");
  T value;
  std::memcpy(&value, from, sizeof value);
  return value;
}

// A slot contains the upper half of the hash, and the id + 1 in its lower half. The home of a string is given
// by the topmost bits of its hash, so that a table grows without reading the strings.
std::uint64_t make_slot(std::uint64_t hash, std::int64_t id) {
  return (hash & 0xFFFFFFFF00000000) | static_cast<std::uint64_t>(id + 1);
}
/// Any number, if the slot is damaged.
std::int32_t id_in(std::uint64_t slot) { return static_cast<std::int32_t>((slot & 0xFFFFFFFF) - 1); }
bool same_hash(std::uint64_t slot, std::uint64_t hash) { return (slot ^ hash) >> 32 == 0; }

/// The first id from slot `home` on with this hash and fits(id); kMissing if an empty slot comes first.
template <typename Fits>
inline std::int32_t probe(std::span<const std::uint64_t> slots, std::size_t home, std::int64_t size,
                          std::uint64_t hash, const Fits& fits) {
  for (std::size_t probes = 0; probes < slots.size(); ++probes) {  // a damaged table may have no empty slot
    const std::uint64_t slot = slots[(home + probes) & (slots.size() - 1)];
    if (slot == 0) break;
    const std::int32_t id = id_in(slot);
    if (same_hash(slot, hash) && id >= 0 && id < size && fits(id)) return id;
  }
  return StringTable::kMissing;
}

/// Words are short: two overlapping loads are cheaper than a call of memcmp.
bool equal(std::string_view a, std::string_view b) {
  const std::size_t size = a.size();
  if (size != b.size()) return false;
  if (size > 16) return std::memcmp(a.data(), b.data(), size) == 0;
  const char *x = a.data(), *y = b.data();
  if (size >= 8) {
    return load<std::uint64_t>(x) == load<std::uint64_t>(y) &&
           load<std::uint64_t>(x + size - 8) == load<std::uint64_t>(y + size - 8);
  }
  if (size >= 4) {
    return load<std::uint32_t>(x) == load<std::uint32_t>(y) &&
           load<std::uint32_t>(x + size - 4) == load<std::uint32_t>(y + size - 4);
  }
  for (std::size_t i = 0; i < size; ++i) {
    if (x[i] != y[i]) return false;
  }
  return true;
}

}  // namespace

std::uint64_t StringTable::hash(std::string_view text) {
  const char* at = text.data();
  std::size_t left = text.size();
  std::uint64_t state = kFirst;
  std::uint64_t a = 0, b = 0;  // the last sixteen bytes, overlapping for shorter strings
  if (left > 16) {
    for (; left > 16; left -= 16, at += 16) {
      state = fold(load<std::uint64_t>(at) ^ kSecond, load<std::uint64_t>(at + 8) ^ state);
    }
    at += left;
    a = load<std::uint64_t>(at - 16);
    b = load<std::uint64_t>(at - 8);
  } else if (left >= 8) {
    a = load<std::uint64_t>(at);
    b = load<std::uint64_t>(at + left - 8);
  } else if (left >= 4) {
    a = load<std::uint32_t>(at);
    b = load<std::uint32_t>(at + left - 4);
  } else if (left > 0) {
    a = load<std::uint8_t>(at) | load<std::uint8_t>(at + left / 2) << 8 |
        load<std::uint8_t>(at + left - 1) << 16;
  }
  return fold(fold(a ^ kSecond, b ^ state), kThird ^ text.size());
}

StringTable StringTable::view(std::span<const char> bytes, std::span<const std::uint64_t> offsets,
                              std::span<const std::uint64_t> slots) {
  ST_CHECK(!offsets.empty() && offsets.front() == 0, FormatError, "string table: offsets must begin with 0");
  const std::size_t size = offsets.size() - 1;
  ST_CHECK(size <= static_cast<std::size_t>(kMaxSize), FormatError, "string table: ", size,
           " strings; at most ", kMaxSize, " are possible");
  const auto fall = std::is_sorted_until(offsets.begin(), offsets.end());
  ST_CHECK(fall == offsets.end(), FormatError, "string table: offset ", fall - offsets.begin(), " is ", *fall,
           ", below the previous one");
  ST_CHECK(offsets.back() == bytes.size(), FormatError, "string table: the last offset is ", offsets.back(),
           ", but there are ", bytes.size(), " bytes");
  ST_CHECK((size == 0 && slots.empty()) || (std::has_single_bit(slots.size()) && slots.size() / 2 >= size),
           FormatError, "string table: ", slots.size(), " slots for ", size,
           " strings; expected a power of two, at least twice as many");
  StringTable table;
  table.frozen_ = true;
  table.view_bytes_ = bytes;
  table.view_offsets_ = offsets;
  table.view_slots_ = slots;
  return table;
}

std::int32_t StringTable::find(std::string_view text, std::uint64_t hash) const {
  return probe(slots(), home(hash, slots().size()), size(), hash,
               [&](std::int32_t id) { return equal((*this)[id], text); });
}

void StringTable::find(std::span<const std::string_view> texts, std::span<const std::uint8_t> which,
                       std::span<std::uint64_t> hashes, std::span<std::int32_t> ids) const {
  // Every pass prefetches the memory that the next one reads.
  const std::span<const std::uint64_t> offsets = this->offsets(), slots = this->slots();
  for (const std::uint8_t i : which) {
    hashes[i] = hash(texts[i]);
    __builtin_prefetch(slots.data() + home(hashes[i], slots.size()));
  }
  for (const std::uint8_t i : which) {
    ids[i] = probe(slots, home(hashes[i], slots.size()), this->size(), hashes[i],
                   [](std::int32_t) { return true; });
    if (ids[i] != kMissing) __builtin_prefetch(offsets.data() + ids[i]);
  }
  for (const std::uint8_t i : which) {
    if (ids[i] != kMissing) __builtin_prefetch((*this)[ids[i]].data());
  }
  for (const std::uint8_t i : which) {
    if (ids[i] != kMissing && !equal((*this)[ids[i]], texts[i])) ids[i] = find(texts[i], hashes[i]);
  }
}

std::int32_t StringTable::insert(std::string_view text) {
  ST_CHECK(!frozen_, Unsupported, "a frozen string table cannot be changed");
  const std::uint64_t hash = StringTable::hash(text);
  const std::size_t mask = slots_.size() - 1;
  std::size_t i = home(hash, slots_.size());
  for (; !slots_.empty() && slots_[i] != 0; i = (i + 1) & mask) {
    const std::int32_t id = id_in(slots_[i]);
    if (same_hash(slots_[i], hash) && equal((*this)[id], text)) return id;
  }
  ST_CHECK(size() < kMaxSize, InvalidInput, "string table: more than ", kMaxSize, " strings");
  const auto id = static_cast<std::int32_t>(size());
  bytes_.insert(bytes_.end(), text.begin(), text.end());
  offsets_.push_back(bytes_.size());
  if (slots_.size() / 2 > static_cast<std::size_t>(id)) {
    slots_[i] = make_slot(hash, id);
  } else {
    grow(std::max(kFirstSlots, 2 * slots_.size()));
    put(make_slot(hash, id));
  }
  return id;
}

void StringTable::reserve(std::int64_t strings, std::int64_t bytes) {
  ST_CHECK(!frozen_, Unsupported, "a frozen string table cannot be changed");
  const auto count = static_cast<std::size_t>(strings);
  bytes_.reserve(static_cast<std::size_t>(bytes));
  offsets_.reserve(count + 1);
  if (slots_.size() / 2 < count) grow(std::bit_ceil(std::max(kFirstSlots, 2 * count)));
}

void StringTable::grow(std::size_t count) {
  std::vector<std::uint64_t> old(count);
  old.swap(slots_);
  for (const std::uint64_t slot : old) {
    if (slot != 0) put(slot);
  }
}

void StringTable::put(std::uint64_t slot) {
  std::size_t i = home(slot, slots_.size());
  while (slots_[i] != 0) i = (i + 1) & (slots_.size() - 1);
  slots_[i] = slot;
}

}  // namespace sentencode
