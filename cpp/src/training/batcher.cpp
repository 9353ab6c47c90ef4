#include "sentencode/training/batcher.h"

#include <algorithm>
#include <filesystem>
#include <limits>
#include <numeric>

#include "sentencode/error.h"
#include "sentencode/io/sha256.h"
#include "sentencode/parallel.h"
#include "sentencode/training/permutation.h"

namespace sentencode {
namespace {

/// Purposes of keys; those of groups are their first positions, below 2^32.
constexpr std::uint64_t kSteps = std::uint64_t{1} << 62, kBuffers = std::uint64_t{1} << 61;

std::int64_t batches_of(std::int64_t examples, std::int64_t size) { return (examples + size - 1) / size; }

}  // namespace

Batcher::Batcher(std::shared_ptr<const ExampleFile> examples, BatcherOptions options)
    : examples_(std::move(examples)), options_(std::move(options)) {
  const BatcherOptions& o = options_;
  const bool budget = o.mode == BatchMode::token_budget;
  ST_CHECK(examples_ != nullptr, InvalidInput, "examples are missing");
  ST_CHECK(o.batch_size >= (budget ? 0 : 1), InvalidInput, "batch_size must be at least ", budget ? 0 : 1,
           ", got ", o.batch_size);
  ST_CHECK(o.world >= 1 && o.rank >= 0 && o.rank < o.world, InvalidInput,
           "rank must be from 0 to world - 1, got rank ", o.rank, " of world ", o.world);
  ST_CHECK(budget || o.max_tokens == 0, InvalidInput, "max_tokens is for the mode token_budget, not ",
           name_of(o.mode));
  ST_CHECK(!budget || !o.drop_short, InvalidInput,
           "drop_short has no meaning for the mode token_budget, whose batches have no fixed size");
  ST_CHECK(o.bounds.empty() == (o.mode != BatchMode::buckets), InvalidInput,
           o.bounds.empty() ? "the mode buckets needs bounds" : "bounds are for the mode buckets");
  ST_CHECK(std::ranges::adjacent_find(o.bounds, std::greater_equal()) == o.bounds.end(), InvalidInput,
           "bounds must be ascending");
  ST_CHECK(o.buffer_batches >= 1, InvalidInput, "buffer_batches must be at least 1, got ", o.buffer_batches);
  ST_CHECK(o.mode != BatchMode::sorted_buffer ||
               o.batch_size <= std::numeric_limits<std::int32_t>::max() / o.buffer_batches,
           InvalidInput, "buffer_batches times batch_size must be below 2^31, got ", o.buffer_batches, " x ",
           o.batch_size);

  const auto unordered = std::ranges::adjacent_find(o.numbers, std::greater_equal());
  ST_CHECK(unordered == o.numbers.end(), InvalidInput, "numbers must be ascending, got ", unordered[0],
           " and ", unordered[1]);
  ST_CHECK(o.numbers.empty() || o.numbers.back() < examples_->size(), InvalidInput,
           "numbers must be below the number of examples, ", examples_->size(), ", got ", o.numbers.back());

  if (o.length_fields.empty()) sort_fields_ = {&examples_->fields()[0]};
  for (const std::string& name : o.length_fields) {
    sort_fields_.push_back(&examples_->field(name));
    ST_CHECK(std::ranges::count(o.length_fields, name) == 1, InvalidInput, "length_fields names '", name,
             "' twice");
  }
  if (sort_fields_ == std::vector{&examples_->fields()[0]})
    options_.length_fields.clear();  // the same as the default

  const std::int64_t n = size();
  switch (o.mode) {
    case BatchMode::plain:
      groups_ = {0};
      add_run(0, n, o.batch_size);
      break;
    case BatchMode::sorted_buffer:
      steps_ = o.drop_short ? n / o.batch_size : batches_of(n, o.batch_size);
      break;
    case BatchMode::equal_length:
    case BatchMode::buckets:
      plan_groups();
      break;
    case BatchMode::token_budget:
      plan_budget();
      break;
  }
  ST_CHECK(steps_ > 0, InvalidInput, "no batch can be made of ", n, " examples in the mode ", name_of(o.mode),
           " with batch_size ", o.batch_size, o.drop_short ? " and drop_short" : "");
}

void Batcher::add_run(std::int64_t begin, std::int64_t end, std::int64_t size) {
  if (options_.drop_short) end = begin + (end - begin) / size * size;
  if (begin == end) return;
  runs_.push_back({steps_, begin, end, size});
  steps_ += batches_of(end - begin, size);
}

std::int64_t Batcher::size() const {
  return options_.numbers.empty() ? examples_->size() : std::ssize(options_.numbers);
}

std::int64_t Batcher::number(std::int64_t position) const {
  return options_.numbers.empty() ? position : options_.numbers[static_cast<std::size_t>(position)];
}

std::string Batcher::part() const {
  if (options_.numbers.empty()) return {};
  Sha256 hash;
  hash.update(std::as_bytes(std::span(options_.numbers)));
  return hash.hex();
}

/// All examples sorted by length; by the length of the first field, the file has them.
std::span<const std::uint32_t> Batcher::order() const {
  if (sorted_ == nullptr) return examples_->by_length();
  const auto bytes = sorted_->bytes();
  return {reinterpret_cast<const std::uint32_t*>(bytes.data()), bytes.size() / sizeof(std::uint32_t)};
}

std::weak_ordering Batcher::compare(std::int64_t a, std::int64_t b) const {
  for (const ExampleField* field : sort_fields_) {
    const auto order = field->length(a) <=> field->length(b);
    if (order != 0) return order;
  }
  return std::weak_ordering::equivalent;
}

/// Compares by length, then by index.
bool Batcher::is_before(std::int64_t a, std::int64_t b) const {
  const auto order = compare(a, b);
  return order != 0 ? order < 0 : a < b;
}

std::int64_t Batcher::bucket(std::int64_t length) const {
  return std::ranges::lower_bound(options_.bounds, length) - options_.bounds.begin();
}

/// Whether two examples have the same lengths, or the same buckets, in all sort fields.
bool Batcher::share_group(std::int64_t a, std::int64_t b) const {
  if (options_.mode != BatchMode::buckets) return compare(a, b) == 0;
  return std::ranges::all_of(sort_fields_, [&](const ExampleField* field) {
    return bucket(field->length(a)) == bucket(field->length(b));
  });
}

/// Sorts by bucket, then by length.
void Batcher::sort_by_length() {
  if (options_.length_fields.empty() && options_.numbers.empty()) return;
  const auto n = static_cast<std::size_t>(size());
  const std::string& path = examples_->path();
  const std::string folder = std::filesystem::path(path).parent_path().string();
  auto file = std::make_unique<const ScratchFile>(folder, n * sizeof(std::uint32_t));
  const std::span numbers(reinterpret_cast<std::uint32_t*>(file->bytes().data()), n);
  if (options_.numbers.empty()) {
    std::iota(numbers.begin(), numbers.end(), 0U);
  } else {
    std::ranges::copy(options_.numbers, numbers.begin());
  }
  std::uint32_t compared = 0;
  std::ranges::sort(numbers, [&](std::uint32_t a, std::uint32_t b) {
    if ((++compared & 0xffff) == 0) poll_interrupt();
    if (!options_.bounds.empty()) {
      for (const ExampleField* field : sort_fields_) {
        const std::int64_t first = bucket(field->length(a)), second = bucket(field->length(b));
        if (first != second) return first < second;
      }
    }
    return is_before(a, b);
  });
  sorted_ = std::move(file);
}

/// End of the group of the example at a position of the order.
std::int64_t Batcher::group_end(std::int64_t position) const {
  const auto numbers = order();
  const std::uint32_t first = numbers[static_cast<std::size_t>(position)];
  const auto end = std::partition_point(numbers.begin() + position, numbers.end(),
                                        [&](std::uint32_t number) { return share_group(number, first); });
  return end - numbers.begin();
}

void Batcher::plan_groups() {
  sort_by_length();
  for (std::int64_t begin = 0, end = 0; begin < size(); begin = end) {
    end = group_end(begin);
    groups_.push_back(begin);
    add_run(begin, end, options_.batch_size);
  }
}

/// Makes each batch as large as its longest example allows, by ascending length. Within a group, all batches
/// have one size, except for the one that crosses its end.
void Batcher::plan_budget() {
  sort_by_length();
  const auto numbers = order();
  const std::int64_t n = size(), max_tokens = options_.max_tokens;
  using Widths = std::vector<std::int64_t>;  // of a batch, in each sort field
  const auto widened = [&](Widths widths, std::int64_t position) {
    for (std::size_t f = 0; f < widths.size(); ++f) {
      widths[f] = std::max(widths[f], sort_fields_[f]->length(numbers[static_cast<std::size_t>(position)]));
    }
    return widths;
  };
  const auto tokens = [](const Widths& widths) {
    return std::accumulate(widths.begin(), widths.end(), std::int64_t{0});
  };
  const auto capacity = [&](const Widths& widths) {
    const std::int64_t fit = max_tokens / std::max<std::int64_t>(1, tokens(widths));
    return options_.batch_size > 0 ? std::min(fit, options_.batch_size) : fit;
  };
  const Widths none(sort_fields_.size());
  std::int64_t longest = 1;
  for (std::int64_t begin = 0; begin < n; begin = group_end(begin)) {
    groups_.push_back(begin);
    longest = std::max(longest, tokens(widened(none, begin)));
  }
  ST_CHECK(max_tokens >= longest, InvalidInput, "max_tokens must be at least ", longest,
           ", the length of the longest example; got ", max_tokens);
  const auto end_of = [&](std::size_t group) { return group + 1 < groups_.size() ? groups_[group + 1] : n; };
  std::int64_t begin = 0;
  for (std::size_t group = 0; group < groups_.size(); ++group) {
    const std::int64_t end = end_of(group);
    if (begin >= end) continue;
    Widths widths = widened(none, groups_[group]);
    const std::int64_t size = capacity(widths), whole = (end - begin) / size * size;
    add_run(begin, begin + whole, size);
    begin += whole;
    if (begin == end) continue;
    std::int64_t last = end;  // the rest shares a batch with longer examples
    for (std::size_t next = group + 1; next < groups_.size() && last == groups_[next]; ++next) {
      widths = widened(std::move(widths), last);
      last += std::clamp<std::int64_t>(capacity(widths) - (last - begin), 0, end_of(next) - last);
    }
    add_run(begin, last, last - begin);
    begin = last;
  }
}

std::uint64_t Batcher::key(std::int64_t epoch, std::uint64_t purpose) const {
  return mixed(mixed(options_.seed, static_cast<std::uint64_t>(epoch)), purpose);
}

std::vector<std::int64_t> Batcher::from_runs(std::int64_t epoch, std::int64_t step) const {
  const bool shuffle = options_.shuffle;
  if (shuffle && options_.mode != BatchMode::plain) step = KeyedPermutation(steps_, key(epoch, kSteps))(step);
  const Run& run = *(std::ranges::upper_bound(runs_, step, {}, &Run::first_step) - 1);
  const std::int64_t begin = run.begin + (step - run.first_step) * run.size;
  const std::int64_t end = std::min(begin + run.size, run.end);

  const std::int64_t n = size();
  const auto sorted = order();
  std::vector<std::int64_t> numbers;
  numbers.reserve(static_cast<std::size_t>(end - begin));
  auto group = std::ranges::upper_bound(groups_, begin) - 1;
  for (std::int64_t position = begin; position < end; ++group) {
    const std::int64_t first = *group, last = group + 1 == groups_.end() ? n : group[1];
    const KeyedPermutation shuffled(last - first, key(epoch, static_cast<std::uint64_t>(first)));
    for (; position < std::min(end, last); ++position) {
      const std::int64_t at = shuffle ? first + shuffled(position - first) : position;
      numbers.push_back(options_.mode == BatchMode::plain ? number(at)
                                                          : sorted[static_cast<std::size_t>(at)]);
    }
  }
  return numbers;
}

std::shared_ptr<const Batcher::Buffer> Batcher::buffer(std::int64_t epoch, std::int64_t index) const {
  {
    const std::lock_guard lock(mutex_);
    if (last_buffer_ && last_buffer_->epoch == epoch && last_buffer_->index == index) return last_buffer_;
  }
  const std::int64_t n = size(), examples = options_.batch_size * options_.buffer_batches;
  const std::int64_t used = std::min(n, steps_ * options_.batch_size);
  const KeyedPermutation shuffled(n, key(epoch, 0));
  auto buffer = std::make_shared<Buffer>();
  buffer->epoch = epoch;
  buffer->index = index;
  for (std::int64_t at = index * examples; at < std::min(used, (index + 1) * examples); ++at) {
    buffer->numbers.push_back(static_cast<std::uint32_t>(number(options_.shuffle ? shuffled(at) : at)));
  }
  std::ranges::sort(buffer->numbers, [&](auto a, auto b) { return is_before(a, b); });
  const std::lock_guard lock(mutex_);
  last_buffer_ = buffer;
  return buffer;
}

std::vector<std::int64_t> Batcher::from_buffer(std::int64_t epoch, std::int64_t step) const {
  const std::int64_t index = step / options_.buffer_batches, size = options_.batch_size;
  std::int64_t batch = step % options_.buffer_batches;
  const std::shared_ptr<const Buffer> sorted = buffer(epoch, index);
  const std::int64_t count = std::ssize(sorted->numbers);
  if (options_.shuffle) {
    const auto purpose = kBuffers + static_cast<std::uint64_t>(index);
    batch = KeyedPermutation(batches_of(count, size), key(epoch, purpose))(batch);
  }
  const auto begin = sorted->numbers.begin() + batch * size;
  return {begin, sorted->numbers.begin() + std::min(count, (batch + 1) * size)};
}

std::vector<std::int64_t> Batcher::numbers(std::int64_t epoch, std::int64_t step) const {
  ST_CHECK(epoch >= 0, InvalidInput, "epoch must not be negative, got ", epoch);
  ST_CHECK(step >= 0 && step < steps_, InvalidInput, "step must be from 0 to ", steps_ - 1, ", got ", step);
  return options_.mode == BatchMode::sorted_buffer ? from_buffer(epoch, step) : from_runs(epoch, step);
}

Batch Batcher::batch(std::int64_t epoch, std::int64_t step) const {
  const std::vector<std::int64_t> all = numbers(epoch, step);
  Batch batch;
  batch.epoch = epoch;
  batch.step = step;
  batch.total = std::ssize(all);
  for (std::int64_t i = options_.rank; i < batch.total; i += options_.world) {
    batch.numbers.push_back(all[static_cast<std::size_t>(i)]);
  }
  for (const ExampleField& field : examples_->fields()) {
    BatchField out;
    for (const std::int64_t number : all) out.tokens += field.length(number);
    for (const std::int64_t number : batch.numbers) {
      out.lengths.push_back(field.length(number));
      out.width = std::max(out.width, out.lengths.back());
    }
    out.ids.resize(batch.numbers.size() * static_cast<std::size_t>(out.width), options_.pad);
    std::int64_t* row = out.ids.data();
    for (const std::int64_t number : batch.numbers) {
      std::ranges::copy(field[number], row);
      row += out.width;
    }
    batch.fields.push_back(std::move(out));
  }
  for (const std::int64_t number : batch.numbers) {
    const auto at = static_cast<std::size_t>(number);
    if (examples_->labels() == Labels::int64) batch.int_labels.push_back(examples_->int_labels()[at]);
    if (examples_->labels() == Labels::float32) batch.float_labels.push_back(examples_->float_labels()[at]);
  }
  return batch;
}

}  // namespace sentencode
