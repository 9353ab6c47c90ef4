#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "sentencode/sentences.h"

namespace sentencode {

/// Some sentences of a corpus, with the memory that they live in.
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
  std::vector<char> bytes_;  // not a string: the views must hold when this object moves
};

struct CorpusOptions {
  bool keep_empty =
      false;  // false: a line without text ends a document; true: it is a sentence like any other
  std::size_t max_line_bytes = 1 << 24;  // longer lines are refused, with file and line
};

/// One sentence a line, files in the order given (.gz, .xz and .zst are unpacked on the way), memory bounded
/// by the batch. A byte-order mark and CR before LF are dropped. Order is kept.
class CorpusReader {
 public:
  /// Paths of files. Folders and globs are the caller's to expand: see expand_paths.
  explicit CorpusReader(std::vector<std::string> paths, CorpusOptions options = {});
  ~CorpusReader();
  CorpusReader(CorpusReader&&) noexcept;
  CorpusReader& operator=(CorpusReader&&) noexcept;

  /// The next at most max_sentences sentences, and no more once they have max_bytes; false when there are
  /// none.
  bool next(std::int64_t max_sentences, SentenceBatch& out,
            std::int64_t max_bytes = std::numeric_limits<std::int64_t>::max());

  std::int64_t sentences_read() const;
  std::int64_t bytes_read() const;  // of the files as they lie on disk, for a progress bar
  std::int64_t bytes_total() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// Files for what a user gives: a file, a folder (all files below it), a glob. Sorted by name. IoError when
/// nothing is there.
std::vector<std::string> expand_paths(const std::string& path);

/// Sentences of raw English prose: cuts at . ! ? and blank lines, not after abbreviations, initials and
/// numbers; closing quotes and brackets stay with their sentence. Views into `text`.
std::vector<std::string_view> split_sentences(std::string_view text);

}  // namespace sentencode
