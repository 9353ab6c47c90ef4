#include "sentencode/text/vocabulary.h"

#include <algorithm>
#include <charconv>
#include <memory>
#include <mutex>
#include <numeric>

#include "lines.h"
#include "sentencode/error.h"
#include "sentencode/io/atomic_file.h"
#include "sentencode/parallel.h"
#include "sentencode/text/utf8.h"

namespace sentencode {
namespace {

constexpr std::size_t kMaxLineBytes = 1 << 20;
constexpr std::int64_t kMaxTotal = std::int64_t{1} << 53;  // exact as a double

std::size_t index(std::int32_t id) { return static_cast<std::size_t>(id); }

/// Splits `word count` from the right, as words may contain spaces. False for any other line.
bool parse(std::string_view line, std::string_view& word, std::int64_t& count) {
  constexpr std::string_view kBlanks = " \t";
  line = line.substr(0, line.find_last_not_of(kBlanks) + 1);
  const std::size_t blank = line.find_last_of(kBlanks);
  if (blank == std::string_view::npos) return false;
  const std::string_view digits = line.substr(blank + 1);
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), count);
  word = line.substr(0, line.find_last_not_of(kBlanks, blank) + 1);
  return error == std::errc() && end == digits.data() + digits.size() && count >= 0 && count <= kMaxTotal &&
         !word.empty();
}

}  // namespace

Vocabulary::Vocabulary(const StringTable& words, std::span<const std::int64_t> counts, std::int64_t total) {
  ST_CHECK(static_cast<std::int64_t>(counts.size()) == words.size(), InvalidInput,
           "vocabulary: ", words.size(), " words but ", counts.size(), " counts");
  std::vector<std::int32_t> order(counts.size());
  std::iota(order.begin(), order.end(), 0);
  std::int64_t sum = 0;
  for (const std::int32_t id : order) {
    const std::int64_t count = counts[index(id)];
    ST_CHECK(count >= 0 && count <= kMaxTotal - sum, InvalidInput, "vocabulary: the count of '", words[id],
             "' is ", count, "; expected 0 or more, and a sum of at most ", kMaxTotal);
    sum += count;
  }
  std::ranges::sort(order, [&](std::int32_t a, std::int32_t b) {
    return counts[index(a)] != counts[index(b)] ? counts[index(a)] > counts[index(b)] : words[a] < words[b];
  });
  words_.reserve(words.size(), static_cast<std::int64_t>(words.bytes().size()));
  counts_.reserve(counts.size());
  for (const std::int32_t id : order) {
    words_.insert(words[id]);
    counts_.push_back(counts[index(id)]);
  }
  ST_CHECK(total == 0 || (total >= sum && total <= kMaxTotal), InvalidInput, "vocabulary: total is ", total,
           "; expected 0, or at least the sum of the counts, ", sum);
  total_ = total != 0 ? total : sum;
}

Vocabulary Vocabulary::pruned(std::int64_t min_count, std::int64_t max_size) const {
  ST_CHECK(min_count >= 0, InvalidInput, "min_count must not be negative, got ", min_count);
  ST_CHECK(max_size >= 0, InvalidInput, "max_size must not be negative, got ", max_size);
  auto size = std::ranges::upper_bound(counts_, min_count, std::greater()) - counts_.begin();
  if (max_size > 0) size = std::min<std::int64_t>(size, max_size);
  StringTable words;
  for (std::int64_t id = 0; id < size; ++id) words.insert(words_[id]);
  return {words, std::span(counts_).first(static_cast<std::size_t>(size)), total_};
}

Vocabulary Vocabulary::read(const std::string& path) {
  LineReader lines(path, kMaxLineBytes);
  StringTable words;
  std::vector<std::int64_t> counts;
  while (const auto line = lines.next()) {
    if (line->empty()) continue;
    std::string_view word;
    std::int64_t count = 0;
    ST_CHECK(parse(*line, word, count), FormatError, path, ":", lines.number(),
             ": expected 'word count', got '", line->substr(0, 80), "'");
    const std::size_t bad = find_invalid_utf8(word);
    const std::string repaired = bad == word.npos ? std::string() : repair_utf8(word);
    const std::size_t id = index(words.insert(bad == word.npos ? word : repaired));
    if (id == counts.size()) {
      counts.push_back(count);
    } else {
      // Different invalid bytes may be replaced to the same word; otherwise it is an error.
      ST_CHECK(bad != word.npos, FormatError, path, ":", lines.number(), ": the word '", word,
               "' is there for the second time");
      ST_CHECK(count <= kMaxTotal - counts[id], FormatError, path, ":", lines.number(), ": the count of '",
               repaired, "' exceeds ", kMaxTotal);
      counts[id] += count;
    }
  }
  return {words, counts};
}

void Vocabulary::write(const std::string& path) const {
  AtomicFile file(path);
  for (std::int64_t id = 0; id < size(); ++id) {
    const std::string_view word = words_[id];
    const bool readable = !word.empty() && word.find_first_of("\r\n") == word.npos && word.front() != ' ' &&
                          word.front() != '\t' && word.back() != ' ' && word.back() != '\t' &&
                          !(id == 0 && word.starts_with(kByteOrderMark));
    ST_CHECK(readable, InvalidInput, "the word '", word, "' cannot be written as 'word count'");
    file.write(concat(word, ' ', counts_[static_cast<std::size_t>(id)], '\n'));
  }
  file.commit();
}

void VocabularyCounter::Counts::add(std::string_view word, std::int64_t count) {
  const std::int32_t id = words.insert(word);
  if (index(id) == counts.size()) counts.push_back(0);
  counts[index(id)] += count;
}

void VocabularyCounter::Counts::add(const Counts& other) {
  for (std::size_t id = 0; id < other.counts.size(); ++id) {
    add(other.words[static_cast<std::int64_t>(id)], other.counts[id]);
  }
}

void VocabularyCounter::add(const Sentences& sentences) {
  sentences.check();
  constexpr std::int64_t kGrain = 256;
  struct Local {
    Tokens tokens;
    Counts counts;
  };
  // A thread takes idle counts or adds new ones, so that there are as many as threads.
  std::mutex mutex;
  std::vector<std::unique_ptr<Local>> idle;
  parallel_for(0, sentences.size(), kGrain, [&](std::int64_t begin, std::int64_t end) {
    std::unique_ptr<Local> local;
    {
      const std::lock_guard lock(mutex);
      if (idle.empty()) {
        local = std::make_unique<Local>();
      } else {
        local = std::move(idle.back());
        idle.pop_back();
      }
    }
    for (std::int64_t i = begin; i < end; ++i) {
      local->tokens.clear();
      tokenizer_(sentences, i, local->tokens);
      for (const std::string_view token : local->tokens.views()) local->counts.add(token, 1);
    }
    const std::lock_guard lock(mutex);
    idle.push_back(std::move(local));
  });
  for (const auto& local : idle) counts_.add(local->counts);
  sentences_ += sentences.size();
}

void VocabularyCounter::merge(const VocabularyCounter& other) {
  ST_CHECK(tokenizer_ == other.tokenizer_, InvalidInput, "cannot merge counts of the tokenizers ",
           tokenizer_.to_json(), " and ", other.tokenizer_.to_json());
  counts_.add(other.counts_);
  sentences_ += other.sentences_;
}

Vocabulary VocabularyCounter::finish(std::int64_t min_count, std::int64_t max_size) const {
  return Vocabulary(counts_.words, counts_.counts).pruned(min_count, max_size);
}

}  // namespace sentencode
