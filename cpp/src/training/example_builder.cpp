#include "sentencode/training/example_builder.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <utility>

#include "io/file_lock.h"
#include "sentencode/error.h"
#include "sentencode/parallel.h"
#include "sentencode/vectors/word_vectors.h"
#include "training/example_shards.h"
#include "training/made_field.h"

namespace sentencode {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr std::int64_t kGrain = 512;            // rows in a task of a thread
constexpr std::int64_t kMaxShardIds = 1 << 26;  // 256 MiB

/// Appends the ids of rows [begin, end); kUnknownId for words that are not in the vocabulary.
void look_up(const FieldOptions& field, const Sentences& sentences, std::int64_t begin, std::int64_t end,
             std::int64_t first_row, RaggedIds& out) {
  // Looks up the words of several sentences together, so that their memory accesses overlap.
  constexpr std::int64_t kSentences = 8;
  constexpr std::size_t kWords = 128;
  constexpr auto kAll = [] {
    std::array<std::uint8_t, kWords> all{};
    for (std::size_t i = 0; i < kWords; ++i) all[i] = static_cast<std::uint8_t>(i);
    return all;
  }();
  std::array<std::uint64_t, kWords> hashes{};
  const StringTable& words = field.vocabulary->words();
  Tokens tokens;
  auto done = static_cast<std::int64_t>(out.ids.size());
  for (std::int64_t i = begin; i < end;) {
    tokens.clear();
    for (const std::int64_t last = std::min(i + kSentences, end); i < last; ++i) {
      try {
        if (sentences.tokenised()) {
          field.tokenizer(sentences, i, tokens);
        } else {
          field.tokenizer(sentences.pieces[static_cast<std::size_t>(i)], tokens);
        }
      } catch (const InvalidInput& error) {
        throw InvalidInput(concat("field '", field.name, "', row ", first_row + i, ": ", error.what()));
      }
      out.offsets.push_back(done + static_cast<std::int64_t>(tokens.size()));
    }
    const std::span texts(tokens.views());
    out.ids.resize(static_cast<std::size_t>(done) + texts.size());
    const std::span ids = std::span(out.ids).subspan(static_cast<std::size_t>(done));
    for (std::size_t at = 0; at < texts.size(); at += kWords) {
      const std::size_t count = std::min(kWords, texts.size() - at);
      words.find(texts.subspan(at, count), std::span(kAll).first(count), hashes, ids.subspan(at, count));
    }
    done += static_cast<std::int64_t>(texts.size());
  }
}

void append(RaggedIds& to, const RaggedIds& from) {
  const std::int64_t before = to.offsets.back();
  to.ids.insert(to.ids.end(), from.ids.begin(), from.ids.end());
  for (std::size_t i = 1; i < from.offsets.size(); ++i) to.offsets.push_back(before + from.offsets[i]);
}

void drop_front(RaggedIds& rows, std::int64_t count) {
  const std::int64_t ids = rows.offsets[static_cast<std::size_t>(count)];
  rows.ids.erase(rows.ids.begin(), rows.ids.begin() + ids);
  rows.offsets.erase(rows.offsets.begin(), rows.offsets.begin() + count);
  for (std::int64_t& offset : rows.offsets) offset -= ids;
}

template <typename T>
void drop_front(std::vector<T>& values, std::int64_t count) {
  values.erase(values.begin(), values.begin() + count);
}

}  // namespace

struct ExampleBuilder::State {
  std::string path, folder, key;
  ExampleOptions options;
  std::vector<MadeField> fields;
  std::int64_t lookback = 0;
  std::shared_ptr<const ExampleFile> file;  // when it is complete
  std::string damage;                       // of an earlier file
  std::optional<FileLock> lock;
  Shards shards;

  // Rows that examples still to be made depend on.
  std::vector<RaggedIds> rows;  // for each field of the input
  std::vector<std::int64_t> documents, int_labels;
  std::vector<float> float_labels;
  std::int64_t first = 0;     // number of the first of these rows
  std::int64_t next = 0;      // row of the next example
  std::int64_t document = 0;  // of the last row
  bool finished = false;      // no rows follow

  MadeLabels made_labels;  // of the current shard, whose ids are in `fields`

  enum Outcome : std::uint8_t { usable, too_short, too_long, unknown, no_neighbour, waits };
  static constexpr const char* kOutcomes[] = {"examples", "too_short", "too_long", "unknown", "no_neighbour"};
  std::array<std::int64_t, 5> outcomes{};  // numbers of rows

  std::int64_t end() const { return first + static_cast<std::int64_t>(documents.size()); }
  std::int64_t examples() const { return std::ssize(fields[0].offsets) - 1; }
  std::size_t at(std::int64_t row) const { return static_cast<std::size_t>(row - first); }
  std::span<const std::int32_t> row(std::size_t field, std::int64_t number) const {
    return rows[field][static_cast<std::int64_t>(at(number))];
  }
  /// Whether a document may continue in rows to come.
  bool may_continue(std::int64_t document_id) const { return !finished && documents.back() == document_id; }

  std::string shard_path(std::size_t index) const {
    std::array<char, 32> name{};
    std::snprintf(name.data(), name.size(), "/%06zu.examples", index);
    return folder + name.data();
  }
  bool open_existing();
  json config() const;
  void resume();
  void emit();
  Outcome make(std::int64_t number);
  static Outcome take(MadeField& field, std::span<const std::int32_t> ids);
  Outcome take_neighbour(MadeField& field, const Neighbour& neighbour, std::int64_t number);
  Outcome take_words(MadeField& field, std::int64_t from, std::int64_t document_id, std::int64_t words);
  void write_shard();
};

/// Opens an existing file if it has the same key and is not damaged.
bool ExampleBuilder::State::open_existing() {
  std::error_code ignored;
  damage.clear();
  if (key.empty() || !fs::exists(path, ignored)) return false;
  try {
    auto existing = ExampleFile::open(path);
    if (existing->key() == key) file = std::move(existing);
  } catch (const FormatError& error) {
    damage = error.what();
  }
  return file != nullptr;
}

json ExampleBuilder::State::config() const {
  json result = {{"fields", json::array()}, {"labels", name_of(options.labels)}, {"source", options.source}};
  for (const MadeField& field : fields) {
    json config = config_of(field.options, field.digest);
    config["vocabulary_size"] = field.vocabulary_size;
    config["symbols"] = field.symbols;
    result["fields"].push_back(config);
  }
  for (std::size_t i = 0; i < options.neighbours.size(); ++i) {
    json& config = result["fields"][options.fields.size() + i];
    config["offset"] = options.neighbours[i].offset;
    config["window_words"] = options.neighbours[i].words;
  }
  json& rows_config = result["rows"];
  rows_config["read"] = next;
  for (std::size_t i = 0; i < outcomes.size(); ++i) rows_config[kOutcomes[i]] = outcomes[i];
  return result;
}

/// Opens the shards of an earlier builder, and removes other files.
void ExampleBuilder::State::resume() {
  while (!key.empty()) {
    const std::string name = shard_path(shards.size());
    if (!fs::exists(name)) break;
    try {
      auto shard = ExampleFile::open(name);
      const json config = json::parse(shard->config());
      if (shard->key() != key || config.at("shard") != shards.size()) break;
      const json& counts = config.at("rows");
      next = counts.at("read").get<std::int64_t>();
      for (std::size_t i = 0; i < outcomes.size(); ++i)
        outcomes[i] = counts.at(kOutcomes[i]).get<std::int64_t>();
      shards.push_back(std::move(shard));
    } catch (const FormatError&) {
      break;
    } catch (const json::exception&) {
      break;
    }
  }
  first = std::max<std::int64_t>(0, next - lookback);
  std::set<std::string> keep{folder + "/lock"};
  for (const auto& shard : shards) keep.insert(shard->path());
  std::vector<fs::path> others;
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (!keep.contains(entry.path().string())) others.push_back(entry.path());
  }
  for (const auto& other : others) fs::remove_all(other);
}

/// The words of a sentence.
ExampleBuilder::State::Outcome ExampleBuilder::State::take(MadeField& field,
                                                           std::span<const std::int32_t> ids) {
  const FieldOptions& o = field.options;
  if (field.begin != kUnknownId) field.ids.push_back(field.begin);
  std::int64_t length = 0;
  for (std::int32_t id : ids) {
    if (id == kUnknownId) {
      if (o.unknown_words == UnknownWords::drop_example) return unknown;
      if (o.unknown_words == UnknownWords::drop_word) continue;
      id = field.unknown;
    }
    if (o.max_length > 0 && length == o.max_length) {
      if (o.too_long == TooLong::drop) return too_long;
      if (o.unknown_words != UnknownWords::drop_example) break;
      continue;  // an unknown word may still drop the example
    }
    field.ids.push_back(id);
    ++length;
  }
  if (length < o.min_length) return too_short;
  if (field.end != kUnknownId) field.ids.push_back(field.end);
  return usable;
}

/// The first words of a document from a row on.
ExampleBuilder::State::Outcome ExampleBuilder::State::take_words(MadeField& field, std::int64_t from,
                                                                 std::int64_t document_id,
                                                                 std::int64_t words) {
  const UnknownWords unknown_words = field.options.unknown_words;
  std::vector<std::int32_t> window;
  std::int64_t count = 0;
  for (std::int64_t number = from; count < words; ++number) {
    if (number >= end()) {
      if (may_continue(document_id)) return waits;
      break;
    }
    if (documents[at(number)] != document_id) break;
    for (const std::int32_t id : row(0, number)) {
      if (count == words) break;
      window.push_back(id);
      count += id != kUnknownId || unknown_words == UnknownWords::symbol ? 1 : 0;
    }
  }
  if (window.empty() || (count == 0 && unknown_words == UnknownWords::drop_word)) return no_neighbour;
  return take(field, window);
}

ExampleBuilder::State::Outcome ExampleBuilder::State::take_neighbour(MadeField& field,
                                                                     const Neighbour& neighbour,
                                                                     std::int64_t number) {
  const std::int64_t document_id = documents[at(number)], other = number + neighbour.offset;
  if (neighbour.words > 0) return take_words(field, other, document_id, neighbour.words);
  if (other >= end()) return may_continue(document_id) ? waits : no_neighbour;
  if (other < first || documents[at(other)] != document_id) return no_neighbour;
  return take(field, row(0, other));
}

/// Makes the example of a row, if it is usable.
ExampleBuilder::State::Outcome ExampleBuilder::State::make(std::int64_t number) {
  Outcome outcome = usable;
  for (std::size_t f = 0; f < fields.size() && outcome == usable; ++f) {
    outcome = f < rows.size() ? take(fields[f], row(f, number))
                              : take_neighbour(fields[f], options.neighbours[f - rows.size()], number);
  }
  for (MadeField& field : fields) {
    if (outcome == usable) {
      field.offsets.push_back(std::ssize(field.ids));
    } else {
      field.ids.resize(static_cast<std::size_t>(field.offsets.back()));
    }
  }
  if (outcome == usable && !int_labels.empty()) made_labels.ints.push_back(int_labels[at(number)]);
  if (outcome == usable && !float_labels.empty()) made_labels.floats.push_back(float_labels[at(number)]);
  return outcome;
}

void ExampleBuilder::State::emit() {
  for (; next < end(); ++next) {
    const Outcome outcome = make(next);
    if (outcome == waits) break;
    ++outcomes[outcome];
  }
  const std::int64_t count = std::clamp<std::int64_t>(next - lookback - first, 0, end() - first);
  for (RaggedIds& field : rows) drop_front(field, count);
  drop_front(documents, count);
  if (!int_labels.empty()) drop_front(int_labels, count);
  if (!float_labels.empty()) drop_front(float_labels, count);
  first += count;
  std::int64_t ids = 0;
  for (const MadeField& field : fields) ids += std::ssize(field.ids);
  if (examples() >= options.shard_examples || ids >= kMaxShardIds) write_shard();
}

void ExampleBuilder::State::write_shard() {
  ST_CHECK(examples_in(shards) + examples() <= ExampleFile::kMaxExamples, InvalidInput,
           "examples: more than ", ExampleFile::kMaxExamples, "; build several files");
  json shard_config = config();
  shard_config["shard"] = shards.size();
  const std::string shard = shard_path(shards.size());
  sentencode::write_shard(shard, fields, options.labels, made_labels, shard_config.dump(), key);
  shards.push_back(ExampleFile::open(shard));
  for (MadeField& field : fields) {
    field.ids.clear();
    field.offsets.assign(1, 0);
  }
  made_labels = {};
}

ExampleBuilder::ExampleBuilder(std::string path, ExampleOptions options, std::string key)
    : state_(std::make_unique<State>()) {
  State& s = *state_;
  s.fields = fields_of(options);
  for (const Neighbour& neighbour : options.neighbours) s.lookback = std::max(s.lookback, -neighbour.offset);
  s.rows.resize(options.fields.size());
  s.options = std::move(options);
  s.folder = path + ".parts";
  s.path = std::move(path);
  s.key = std::move(key);
  if (s.open_existing()) return;
  std::error_code ignored;
  if (fs::is_symlink(s.folder, ignored)) fs::remove(s.folder, ignored);  // do not remove files in its target
  s.lock.emplace(s.folder + "/lock");
  if (s.open_existing()) return;  // built while this one waited
  try {
    s.resume();
  } catch (const fs::filesystem_error& error) {
    throw IoError(error.what(), error.code().value());
  }
}

ExampleBuilder::~ExampleBuilder() { close(); }

void ExampleBuilder::close() {
  if (!state_->lock) return;
  if (state_->file != nullptr || state_->shards.empty()) {
    std::error_code ignored;
    fs::remove_all(state_->folder, ignored);
  }
  state_->lock.reset();
}

bool ExampleBuilder::done() const { return state_->file != nullptr; }
const std::string& ExampleBuilder::damage() const { return state_->damage; }
const ExampleOptions& ExampleBuilder::options() const { return state_->options; }
std::int64_t ExampleBuilder::first_row() const { return state_->first; }

void ExampleBuilder::add(const Rows& input, const std::function<void()>& meanwhile) {
  State& s = *state_;
  ST_CHECK(s.file == nullptr && !s.finished, InvalidInput, "examples: the file is already finished");
  const std::size_t fields = s.rows.size();
  ST_CHECK(input.fields.size() == fields, InvalidInput, "examples: expected ", fields, " fields, got ",
           input.fields.size());
  const std::int64_t n = input.fields[0].size();
  for (std::size_t f = 0; f < fields; ++f) {
    ST_CHECK(input.fields[f].size() == n, InvalidInput, "examples: field '", s.fields[f].options.name,
             "' has ", input.fields[f].size(), " rows, field '", s.fields[0].options.name, "' has ", n);
  }
  const auto labels = [&](Labels kind, std::int64_t count) {
    const std::int64_t expected = s.options.labels == kind ? n : 0;
    ST_CHECK(count == expected, InvalidInput, "examples: expected ", expected, " labels of type ",
             name_of(kind), ", got ", count);
  };
  labels(Labels::int64, std::ssize(input.int_labels));
  labels(Labels::float32, std::ssize(input.float_labels));
  ST_CHECK(input.starts_document == nullptr || std::ssize(*input.starts_document) == n, InvalidInput,
           "examples: expected ", n, " values of starts_document, got ", input.starts_document->size());

  const std::int64_t pieces = (n + kGrain - 1) / kGrain, all = pieces * static_cast<std::int64_t>(fields);
  std::vector<RaggedIds> ids(static_cast<std::size_t>(all));
  parallel_for(-1, all, 1, [&](std::int64_t item, std::int64_t) {
    if (item < 0) {
      if (meanwhile) meanwhile();
      return;
    }
    const auto field = static_cast<std::size_t>(item / pieces);
    const std::int64_t begin = item % pieces * kGrain;
    look_up(s.fields[field].options, input.fields[field], begin, std::min(begin + kGrain, n), s.end(),
            ids[static_cast<std::size_t>(item)]);
  });
  for (std::int64_t item = 0; item < all; ++item) {
    append(s.rows[static_cast<std::size_t>(item / pieces)], ids[static_cast<std::size_t>(item)]);
  }
  for (std::size_t i = 0; i < static_cast<std::size_t>(n); ++i) {
    if (input.starts_document != nullptr && (*input.starts_document)[i]) ++s.document;
    s.documents.push_back(s.document);
  }
  s.int_labels.insert(s.int_labels.end(), input.int_labels.begin(), input.int_labels.end());
  s.float_labels.insert(s.float_labels.end(), input.float_labels.begin(), input.float_labels.end());
  s.emit();
}

std::shared_ptr<const ExampleFile> ExampleBuilder::finish() {
  State& s = *state_;
  if (s.file == nullptr) {
    s.finished = true;
    s.emit();
    if (s.examples() > 0) s.write_shard();
    const auto& counts = s.outcomes;
    ST_CHECK(!s.shards.empty(), InvalidInput, "examples: none of ", s.next,
             " rows can be used: ", counts[State::too_short], " are too short, ", counts[State::too_long],
             " too long, ", counts[State::unknown], " have unknown words, ", counts[State::no_neighbour],
             " have no neighbours");
    merge_shards(s.path, s.shards, s.fields, s.options.labels, s.config().dump(), s.key);
    s.file = ExampleFile::open(s.path);
    s.shards.clear();
  }
  return s.file;
}

}  // namespace sentencode
