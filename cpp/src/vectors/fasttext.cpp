#include "vectors/fasttext.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <map>
#include <utility>
#include <vector>

#include "sentencode/error.h"
#include "sentencode/parallel.h"
#include "sentencode/text/utf8.h"
#include "vectors/subwords.h"
#include "vectors/word_vectors_shared.h"

namespace sentencode {
namespace {

constexpr std::int32_t kMagic = 793712314, kFastText = 12;
constexpr std::int64_t kMaxRows = std::int64_t{1} << 31;
constexpr std::size_t kBlock = 1 << 20;              // bytes per read
constexpr std::string_view kEndOfSentence = "</s>";  // the only word without subwords

/// Reads the numbers and words of the file in order.
class Source {
 public:
  Source(ByteReader& input, std::string head) : input_(input), held_(std::move(head)) {}

  template <typename... Why>
  [[noreturn]] void fail(const Why&... why) const {
    throw FormatError(concat(input_.path(), ": byte ", position_, ": ", why...));
  }

  void read(void* out, std::size_t bytes, std::string_view what) {
    auto* to = static_cast<char*>(out);
    const std::size_t had = std::min(bytes, held_.size() - at_);
    std::memcpy(to, held_.data() + at_, had);
    at_ += had;
    position_ += static_cast<std::int64_t>(had);
    if (had == bytes) return;
    const std::size_t got = input_.read(std::span(to + had, bytes - had));
    position_ += static_cast<std::int64_t>(got);
    if (had + got < bytes) fail("the file ends within ", what);
  }

  template <typename T>
  T number(std::string_view what) {
    T value{};
    if (held_.size() - at_ < sizeof value) fill();
    read(&value, sizeof value, what);
    return value;
  }

  /// A string that ends with a zero byte.
  std::string text(std::string_view what) {
    std::string result;
    for (;;) {
      const std::size_t end = std::min(held_.find('\0', at_), held_.size());
      result.append(held_, at_, end - at_);
      position_ += static_cast<std::int64_t>(end - at_);
      at_ = end;
      if (result.size() > kMaxWord) fail("no zero ends ", what, " within ", kMaxWord, " bytes");
      if (at_ < held_.size()) break;
      if (!fill()) fail("the file ends within ", what);
    }
    ++at_, ++position_;
    return result;
  }

 private:
  /// Reads more into the buffer.
  bool fill() {
    held_.erase(0, at_);
    at_ = 0;
    const std::size_t before = held_.size();
    held_.resize(before + kBlock);
    const std::size_t got = input_.read(std::span(held_).subspan(before));
    held_.resize(before + got);
    return got > 0;
  }

  ByteReader& input_;
  std::string held_;
  std::size_t at_ = 0;
  std::int64_t position_ = 0;  // in the decompressed file
};

/// Rows whose memory grows with the content of the file, not with the size in its header, which may be wrong.
class Rows {
 public:
  explicit Rows(std::int64_t dim) : dim_(static_cast<std::size_t>(dim)) {}
  ~Rows() { std::free(data_); }
  Rows(const Rows&) = delete;
  Rows& operator=(const Rows&) = delete;

  /// Memory of the next `count` rows; there will be at most `total`.
  float* append(std::size_t rows, std::size_t total) {
    if (size_ + rows > room_) {
      room_ = std::min(std::max(size_ + rows, room_ + room_ / 2), std::max(total, size_ + rows));
      auto* grown =
          static_cast<float*>(std::realloc(data_, std::max<std::size_t>(1, room_ * dim_ * sizeof(float))));
      if (grown == nullptr) throw std::bad_alloc();
      data_ = grown;
    }
    return data_ + std::exchange(size_, size_ + rows) * dim_;
  }
  std::size_t size() const { return size_; }
  float* row(std::int64_t i) { return data_ + static_cast<std::size_t>(i) * dim_; }
  std::span<const std::byte> bytes() const {
    return std::as_bytes(std::span<const float>(data_, size_ * dim_));
  }

 private:
  std::size_t dim_, size_ = 0, room_ = 0;
  float* data_ = nullptr;
};

/// The memory of the table.
struct Memory {
  explicit Memory(std::int64_t dim) : words(dim), subwords(dim) {}
  Rows words, subwords;
  std::vector<std::int64_t> counts;
};

struct Args {
  std::int64_t dim = 0, buckets = 0;
  std::array<std::int32_t, 2> lengths{};  // of subwords
};

Args read_args(Source& source) {
  constexpr std::string_view kWhat = "the model's arguments";
  source.number<std::int32_t>(kWhat);  // the magic number
  const auto version = source.number<std::int32_t>(kWhat);
  if (version != kFastText)
    source.fail("version ", version, " of fastText's format; version ", kFastText, " is read");
  std::array<std::int32_t, 12> numbers;
  for (auto& number : numbers) number = source.number<std::int32_t>(kWhat);
  source.number<double>(kWhat);
  Args args{numbers[0], numbers[8], {numbers[9], numbers[10]}};
  const auto check = [&](const char* name, std::int64_t value, std::int64_t low, std::int64_t high) {
    if (value < low || value > high) source.fail(name, " is ", value, ", expected ", low, " to ", high);
  };
  check("dim", args.dim, 1, kMaxDim);
  check("bucket", args.buckets, 0, kMaxRows);
  check("maxn", args.lengths[1], 0, kLongestSubword);
  check("minn", args.lengths[0], 0, kLongestSubword);
  return args;
}

}  // namespace

bool is_fasttext(std::string_view head) {
  std::int32_t magic = 0;
  if (head.size() < sizeof magic) return false;
  std::memcpy(&magic, head.data(), sizeof magic);
  return magic == kMagic;
}

std::shared_ptr<const WordVectors> read_fasttext(ByteReader& input, std::string head,
                                                 const ReadOptions& options, ReadReport& report) {
  Source source(input, std::move(head));
  const Args args = read_args(source);
  ST_CHECK(options.dim == 0 || options.dim == args.dim, FormatError, input.path(), ": has ", args.dim,
           " dimensions, expected ", options.dim);

  constexpr std::string_view kDictionary = "the dictionary";
  const auto size = source.number<std::int32_t>(kDictionary),
             words = source.number<std::int32_t>(kDictionary),
             labels = source.number<std::int32_t>(kDictionary);
  source.number<std::int64_t>(kDictionary);  // of tokens
  const auto pruned = source.number<std::int64_t>(kDictionary);
  if (words < 1 || labels < 0 || size != static_cast<std::int64_t>(words) + labels) {
    source.fail("a dictionary of ", size, " entries, ", words, " words and ", labels, " labels");
  }
  constexpr std::string_view kQuantised =
      "a quantised model (.ftz), whose vectors are approximations: use the .bin";
  if (pruned >= 0) source.fail("this is ", kQuantised);

  // Selected words, and their rows of the matrix.
  auto memory = std::make_shared<Memory>(args.dim);
  StringTable table;
  std::vector<std::int32_t> selected;            // rows of the matrix
  std::map<std::int64_t, std::string> original;  // words that were repaired, before
  for (std::int32_t i = 0; i < size; ++i) {
    const std::string word = source.text("a word");
    const auto count = source.number<std::int64_t>(kDictionary);
    const auto type = source.number<std::int8_t>(kDictionary);
    if (type != (i < words ? 0 : 1))
      source.fail("entry ", i + 1, " of the dictionary has the type ", int{type});
    if (i >= words || (options.limit > 0 && i >= options.limit)) continue;
    ++report.rows;
    const bool good = find_invalid_utf8(word) == std::string_view::npos;
    const std::string text = good ? word : repair_utf8(word);
    report.repaired += !good;
    if (options.only != nullptr && options.only->find(text) == StringTable::kMissing) continue;
    const std::int64_t before = table.size();
    table.insert(text);
    if (table.size() == before) {
      ++report.duplicates;
      continue;
    }
    if (!good) original[before] = word;
    selected.push_back(i);
    memory->counts.push_back(count);
  }

  constexpr std::string_view kMatrix = "the matrix of words";
  if (source.number<std::uint8_t>(kMatrix) != 0) source.fail("this is ", kQuantised);
  const auto rows = source.number<std::int64_t>(kMatrix), columns = source.number<std::int64_t>(kMatrix);
  const bool has_subwords = args.lengths[1] > 0 && args.lengths[0] <= args.lengths[1] && args.buckets > 0;
  if (columns != args.dim || rows != words + args.buckets) {
    source.fail("a matrix [", rows, ", ", columns, "], expected [", words + args.buckets, ", ", args.dim,
                "]");
  }

  const auto row_bytes = static_cast<std::size_t>(args.dim) * sizeof(float);
  const auto at_once = static_cast<std::int64_t>(std::max<std::size_t>(1, kBlock / row_bytes));
  std::vector<float> block(static_cast<std::size_t>(at_once * args.dim));
  const auto report_progress = [&] {
    poll_interrupt();
    if (options.progress) options.progress(input.position(), input.total());
  };
  auto next = selected.begin();
  for (std::int64_t begin = 0; begin < words; begin += at_once) {
    const std::int64_t count = std::min<std::int64_t>(at_once, words - begin);
    source.read(block.data(), static_cast<std::size_t>(count) * row_bytes, kMatrix);
    for (; next != selected.end() && *next < begin + count; ++next) {
      std::memcpy(memory->words.append(1, selected.size()), block.data() + (*next - begin) * args.dim,
                  row_bytes);
    }
    report_progress();
  }
  for (std::int64_t begin = 0; has_subwords && begin < args.buckets; begin += at_once) {
    const auto count = static_cast<std::size_t>(std::min(at_once, args.buckets - begin));
    source.read(memory->subwords.append(count, static_cast<std::size_t>(args.buckets)), count * row_bytes,
                "the matrix of subwords");
    report_progress();
  }

  // The vector of a word is the mean of its row and those of its subwords.
  const auto check = [&](const float* row, const std::string& name) {
    const std::span values(row, static_cast<std::size_t>(args.dim));
    ST_CHECK(can_be_stored(values, Storage::float32), FormatError, input.path(), ": ",
             why_not_stored(values, name));
  };
  parallel_for(0, has_subwords ? args.buckets : 0, 1024, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) check(memory->subwords.row(i), concat("subword ", i));
  });
  parallel_for(0, table.size(), 256, [&](std::int64_t begin, std::int64_t end) {
    std::vector<std::int64_t> buckets;
    for (std::int64_t i = begin; i < end; ++i) {
      const auto raw = original.find(i);
      const std::string_view word = raw == original.end() ? table[i] : std::string_view(raw->second);
      buckets.clear();
      if (has_subwords && word != kEndOfSentence) subwords_of(word, args.lengths, args.buckets, buckets);
      Eigen::Map<Eigen::ArrayXf> row(memory->words.row(i), args.dim);
      for (const std::int64_t bucket : buckets)
        row += Eigen::Map<const Eigen::ArrayXf>(memory->subwords.row(bucket), args.dim);
      row *= 1.0F / static_cast<float>(buckets.size() + 1);
      check(row.data(), concat('\'', table[i], '\''));
    }
  });

  WordVectors::Parts parts;
  parts.words = std::move(table);
  parts.dim = args.dim;
  parts.rows = memory->words.bytes();
  parts.counts = memory->counts;
  if (has_subwords) parts.subwords = {args.lengths, args.buckets, memory->subwords.bytes(), {}};
  parts.oov = options.oov.value_or(has_subwords ? OutOfVocabulary::subwords : OutOfVocabulary::skip);
  parts.keep = std::move(memory);
  const auto vectors = std::make_shared<const WordVectors>(std::move(parts));
  const Storage storage = options.storage.value_or(Storage::float32);
  return storage == Storage::float32 ? vectors : vectors->with_storage(storage);
}

}  // namespace sentencode
