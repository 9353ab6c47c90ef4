#include "text/short_words.h"

#include <algorithm>

namespace sentencode {

ShortWords::ShortWords(const StringTable& words) : buckets_(kBuckets) {
  // The first words of a bucket are the most frequent ones. After so many words nearly all buckets are full.
  const std::int64_t count = std::min<std::int64_t>(words.size(), 4 * kBuckets * kSlots);
  for (std::int64_t id = 0; id < count; ++id) {
    const std::uint64_t word = pack(words[id]);
    if (word == kNone || find(words[id]) != StringTable::kMissing) continue;
    Bucket& bucket = buckets_[home(word)];
    const auto free = std::ranges::find(bucket.words, kNone) - bucket.words;
    if (free == kSlots) continue;
    bucket.words[free] = word;
    bucket.ids[free] = static_cast<std::int32_t>(id);
  }
}

}  // namespace sentencode
