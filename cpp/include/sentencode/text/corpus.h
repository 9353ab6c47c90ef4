#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "sentencode/sentences.h"

namespace sentencode {

/// A batch of sentences that owns its memory.
class SentenceBatch {
 public:
  SentenceBatch() = default;
  SentenceBatch(SentenceBatch&&) noexcept = default;
  SentenceBatch& operator=(SentenceBatch&&) noexcept = default;

  Sentences sentences() const { return {views_, {}}; }
  std::int64_t size() const { return static_cast<std::int64_t>(views_.size()); }
  /// True where a document begins with this sentence.
  const std::vector<bool>& starts_document() const { return starts_; }

 private:
  friend class CorpusReader;
  std::vector<std::string_view> views_;
  std::vector<bool> starts_;
  std::vector<char> bytes_;  // not a string: moving must not invalidate the views
};

struct CorpusOptions {
  bool keep_empty = false;               // blank lines are sentences; by default they end a document
  std::size_t max_line_bytes = 1 << 24;  // longer lines are a FormatError
};

/// Reads files with one sentence per line, in order; .gz, .xz and .zst are decompressed. Memory is bounded by
/// the batch. A byte-order mark and CR before LF are dropped.
class CorpusReader {
 public:
  /// Paths of files; see expand_paths for folders and globs.
  explicit CorpusReader(std::vector<std::string> paths, CorpusOptions options = {});
  ~CorpusReader();
  CorpusReader(CorpusReader&&) noexcept;
  CorpusReader& operator=(CorpusReader&&) noexcept;

  /// Reads at most max_sentences sentences, and stops once they have max_bytes. False at the end.
  bool next(std::int64_t max_sentences, SentenceBatch& out,
            std::int64_t max_bytes = std::numeric_limits<std::int64_t>::max());

  std::int64_t sentences_read() const;
  std::int64_t bytes_read() const;  // of the files on disk, for a progress bar
  std::int64_t bytes_total() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// Sorted paths of the files of a path: a file, a folder (all files below it) or a glob. IoError if there are
/// none.
std::vector<std::string> expand_paths(const std::string& path);

/// Splits raw English prose into sentences, at . ! ? and blank lines, but not after abbreviations, initials
/// and numbers. Closing quotes and brackets stay with their sentence. Returns views into `text`.
std::vector<std::string_view> split_sentences(std::string_view text);

}  // namespace sentencode
