#include <algorithm>
#include <utility>

#include "sentencode/error.h"
#include "sentencode/text/corpus.h"
#include "sentencode/training/example_builder.h"

namespace sentencode {
namespace {

constexpr std::int64_t kBatchRows = 16384;

}  // namespace

std::shared_ptr<const ExampleFile> build_examples(ExampleBuilder& builder,
                                                  const std::vector<std::vector<std::string>>& files,
                                                  const BuildProgress& progress) {
  const ExampleOptions& options = builder.options();
  ST_CHECK(files.size() == options.fields.size(), InvalidInput, "examples: expected files for ",
           options.fields.size(), " fields, got ", files.size());
  ST_CHECK(options.labels == Labels::none, InvalidInput, "examples: text files have no labels");
  if (builder.done()) return builder.finish();

  const bool aligned = files.size() > 1;
  std::vector<CorpusReader> readers;
  for (const auto& of_field : files) readers.emplace_back(of_field, CorpusOptions{aligned});
  using Batches = std::vector<SentenceBatch>;
  const auto read = [&](Batches& out, std::int64_t max_rows) {
    for (std::size_t f = 0; f < readers.size(); ++f) {
      readers[f].next(max_rows, out[f]);
      ST_CHECK(out[f].size() == out[0].size(), FormatError, "the files of field '", options.fields[0].name,
               "' have ", out[f].size() < out[0].size() ? "more" : "fewer", " lines than those of field '",
               options.fields[f].name, "', which must be aligned line by line: ",
               std::min(readers[f].sentences_read(), readers[0].sentences_read()), " in ",
               files[out[f].size() < out[0].size() ? f : 0].back());
    }
    return out[0].size();
  };
  const auto report = [&] {
    if (!progress) return;
    std::int64_t done = 0, total = 0;
    for (const CorpusReader& reader : readers) {
      done += reader.bytes_read();
      total += reader.bytes_total();
    }
    progress(done, total);
  };

  Batches now(files.size()), ahead(files.size());
  for (std::int64_t left = builder.first_row(); left > 0;) {
    const std::int64_t skipped = read(now, std::min(left, kBatchRows));
    if (skipped == 0) break;
    left -= skipped;
    report();
  }
  for (std::int64_t count = read(now, kBatchRows); count > 0;) {
    ExampleBuilder::Rows rows;
    for (const SentenceBatch& batch : now) rows.fields.push_back(batch.sentences());
    rows.starts_document = &now[0].starts_document();
    builder.add(rows, [&] { count = read(ahead, kBatchRows); });
    report();
    std::swap(now, ahead);
  }
  return builder.finish();
}

}  // namespace sentencode
