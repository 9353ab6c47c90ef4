// Any bytes are examples or a FormatError; examples are what their file says of them; and the batches of an
// epoch hold each of them once, however they are cut.
#include <algorithm>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "fuzz.h"
#include "sentencode/error.h"
#include "sentencode/io/safetensors.h"
#include "sentencode/io/sha256.h"
#include "sentencode/parallel.h"
#include "sentencode/training/batcher.h"
#include "sentencode/training/example_file.h"

namespace {

using namespace sentencode;
using Bytes = std::vector<std::byte>;

/// Takes small numbers off the input; zeros behind its end.
class Numbers {
 public:
  explicit Numbers(std::string_view bytes) : bytes_(bytes) {}
  std::uint8_t byte() {
    if (bytes_.empty()) return 0;
    const char first = bytes_.front();
    bytes_.remove_prefix(1);
    return static_cast<std::uint8_t>(first);
  }
  /// Signed, so that an input can say what must not be.
  template <typename T>
  std::vector<T> take(std::size_t count) {
    std::vector<T> values(count);
    for (T& value : values) value = static_cast<T>(static_cast<std::int8_t>(byte()));
    return values;
  }
  std::string_view line() {
    const std::string_view text = bytes_.substr(0, bytes_.find('\n'));
    bytes_.remove_prefix(std::min(bytes_.size(), text.size() + 1));
    return text;
  }
  std::size_t size() const { return bytes_.size(); }

 private:
  std::string_view bytes_;
};

/// A file whose header and checksum are right, so that what is behind them is reached: config as a line of
/// text, then one byte for each number. Nothing where the config is no UTF-8.
Bytes file_of_parts(std::string_view input, bool labelled, bool whole, bool two_fields) {
  Numbers in(input);
  const std::string config(in.line());
  const std::size_t n = in.byte();
  const auto by_length = in.take<std::uint32_t>(n);
  const auto offsets = in.take<std::int64_t>(n + 1);
  const auto int_labels = in.take<std::int64_t>(labelled && whole ? n : 0);
  const auto float_labels = in.take<float>(labelled && !whole ? n : 0);
  const auto ids = in.take<std::int32_t>(in.size());

  const auto tensor = [](const auto& values) {
    using T = std::decay_t<decltype(values[0])>;
    return Tensor{dtype_of<T>(), {std::ssize(values)}, std::as_bytes(std::span(values))};
  };
  std::map<std::string, Tensor> tensors{{"by_length", tensor(by_length)}};
  for (const char* field : {"a", "b"}) {
    if (field[0] == 'b' && !two_fields) continue;
    tensors[std::string(field) + ".ids"] = tensor(ids);
    tensors[std::string(field) + ".offsets"] = tensor(offsets);
  }
  if (labelled) tensors["labels"] = whole ? tensor(int_labels) : tensor(float_labels);
  Sha256 hash;
  for (const auto& [name, values] : tensors) hash.update(values.bytes);

  Bytes file;
  try {
    const SafeTensorsPieces pieces = safetensors_pieces(tensors, {{"format", "sentencode"},
                                                                  {"format_version", "1"},
                                                                  {"kind", "Examples"},
                                                                  {"config", config},
                                                                  {"key", ""},
                                                                  {"checksum", hash.hex()}});
    const auto header = std::as_bytes(std::span(pieces.header));
    file.assign(header.begin(), header.end());
    for (const auto piece : pieces.data) file.insert(file.end(), piece.begin(), piece.end());
  } catch (const InvalidInput&) {
    return {};
  }
  return file;
}

void check_examples(const ExampleFile& examples) {
  const std::int64_t n = examples.size();
  FUZZ_REQUIRE(!examples.fields().empty());
  for (const ExampleField& field : examples.fields()) {
    FUZZ_REQUIRE(&examples.field(field.name) == &field);
    FUZZ_REQUIRE(std::ssize(field.offsets) == n + 1);
    std::int64_t total = 0;
    for (std::int64_t i = 0; i < n; ++i) {
      FUZZ_REQUIRE(field.length(i) >= 0);
      total += field.length(i);
      for (const std::int64_t id : field[i]) FUZZ_REQUIRE(id >= 0 && id < field.vocabulary_size);
    }
    FUZZ_REQUIRE(total == std::ssize(field.ids));
  }
  const auto length = [&](std::uint32_t i) { return examples.fields()[0].length(i); };
  const auto order = examples.by_length();
  for (std::size_t i = 0; i < order.size(); ++i) {
    FUZZ_REQUIRE(order[i] < n);
    FUZZ_REQUIRE(i == 0 || length(order[i - 1]) < length(order[i]) ||
                 (length(order[i - 1]) == length(order[i]) && order[i - 1] < order[i]));
  }
  FUZZ_REQUIRE(std::ssize(examples.int_labels()) == (examples.labels() == Labels::int64 ? n : 0));
  FUZZ_REQUIRE(std::ssize(examples.float_labels()) == (examples.labels() == Labels::float32 ? n : 0));
}

BatcherOptions options_of(const ExampleFile& examples, std::uint8_t choices) {
  BatcherOptions options;
  options.mode = static_cast<BatchMode>((choices & 7) % 5);
  options.batch_size = 1 + (choices >> 3 & 3);
  options.buffer_batches = 2;
  options.shuffle = (choices >> 5 & 1) != 0;
  options.world = 1 + (choices >> 6 & 1);
  options.pad = -1;
  if (options.mode == BatchMode::buckets) options.bounds = {0, 2};
  if (options.mode == BatchMode::token_budget) {
    options.max_tokens = 1;
    for (std::int64_t i = 0; i < examples.size(); ++i)
      options.max_tokens = std::max(options.max_tokens, examples.fields()[0].length(i));
  } else {
    options.drop_short = (choices >> 7 & 1) != 0;
  }
  return options;
}

void check_batch(const ExampleFile& examples, const Batch& batch) {
  FUZZ_REQUIRE(batch.fields.size() == examples.fields().size());
  for (std::size_t f = 0; f < batch.fields.size(); ++f) {
    const BatchField& field = batch.fields[f];
    const std::int64_t* row = field.ids.data();
    FUZZ_REQUIRE(std::ssize(field.ids) == std::ssize(batch.numbers) * field.width);
    for (const std::int64_t number : batch.numbers) {
      const auto ids = examples.fields()[f][number];
      FUZZ_REQUIRE(std::ssize(ids) <= field.width);
      FUZZ_REQUIRE(std::equal(ids.begin(), ids.end(), row));
      FUZZ_REQUIRE(std::all_of(row + ids.size(), row + field.width, [](auto id) { return id == -1; }));
      row += field.width;
    }
  }
}

void check_batches(const std::shared_ptr<const ExampleFile>& examples, std::uint8_t choices) {
  BatcherOptions options = options_of(*examples, choices);
  std::vector<int> seen(static_cast<std::size_t>(examples->size()));
  for (options.rank = 0; options.rank < options.world; ++options.rank) {
    try {
      const Batcher batcher(examples, options);
      for (std::int64_t step = 0; step < batcher.steps(); ++step) {
        const Batch batch = batcher.batch(1, step);
        check_batch(*examples, batch);
        for (const std::int64_t number : batch.numbers) ++seen[static_cast<std::size_t>(number)];
      }
    } catch (const InvalidInput&) {  // there is nothing to make a batch of
      FUZZ_REQUIRE(examples->size() == 0 || options.drop_short);
    }
  }
  const auto [least, most] = std::ranges::minmax_element(seen);
  FUZZ_REQUIRE(seen.empty() || (*most <= 1 && (*least == 1 || options.drop_short)));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  constexpr std::size_t kChoices = 2;
  if (size < kChoices) return 0;
  const std::string_view rest(reinterpret_cast<const char*>(data) + kChoices, size - kChoices);
  const auto chosen = [&](int bit) { return (data[0] >> bit & 1) != 0; };
  const bool parts = chosen(0);
  set_num_threads(1 + (data[0] >> 4 & 1));
  // Memory of its exact size, so that a sanitizer sees every byte read too many.
  const auto given = std::as_bytes(std::span(rest));
  const auto memory = std::make_shared<const Bytes>(
      parts ? file_of_parts(rest, chosen(1), chosen(2), chosen(3)) : Bytes(given.begin(), given.end()));
  const auto opened = [&](bool verify) {
    return ExampleFile::of(SafeTensors::parse(memory, *memory, "input"), verify);
  };
  std::shared_ptr<const ExampleFile> examples;
  try {
    examples = opened(false);  // damage that no checksum detects, or that has a new one
  } catch (const FormatError&) {
    return 0;
  }
  check_examples(*examples);
  check_batches(examples, data[1]);
  try {
    opened(true);
  } catch (const FormatError&) {
    FUZZ_REQUIRE(!parts);
  }
  return 0;
}
