#include "sentencode/text/corpus.h"

#include <glob.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <optional>
#include <span>
#include <utility>

#include "lines.h"
#include "sentencode/error.h"
#include "sentencode/text/utf8.h"

namespace sentencode {
namespace {

namespace fs = std::filesystem;

bool is_blank(std::string_view line) {
  while (const std::size_t space = whitespace_length(line)) line.remove_prefix(space);
  return line.empty();
}

[[noreturn]] void fail_to_open(const std::string& path, std::error_code error) {
  const int code = error ? error.value() : ENOENT;
  throw IoError(concat("cannot open ", path, ": ", std::strerror(code)), code);
}

}  // namespace

struct CorpusReader::State {
  std::vector<std::string> paths;
  CorpusOptions options;
  std::size_t next_path = 0;
  std::optional<LineReader> file;
  bool starts_document = true;
  std::int64_t sentences = 0;
  std::int64_t bytes_done = 0, bytes_total = 0;  // finished files; all files
};

CorpusReader::CorpusReader(std::vector<std::string> paths, CorpusOptions options)
    : state_(std::make_unique<State>()) {
  for (const std::string& path : paths) {
    std::error_code error;
    const auto status = fs::status(path, error);
    if (!fs::exists(status)) fail_to_open(path, error);
    if (fs::is_regular_file(status))
      state_->bytes_total += static_cast<std::int64_t>(fs::file_size(path, error));
  }
  state_->paths = std::move(paths);
  state_->options = options;
}
CorpusReader::~CorpusReader() = default;
CorpusReader::CorpusReader(CorpusReader&&) noexcept = default;
CorpusReader& CorpusReader::operator=(CorpusReader&&) noexcept = default;

bool CorpusReader::next(std::int64_t max_sentences, SentenceBatch& out, std::int64_t max_bytes) {
  ST_CHECK(max_sentences >= 1, InvalidInput, "max_sentences must be at least 1, got ", max_sentences);
  ST_CHECK(max_bytes >= 1, InvalidInput, "max_bytes must be at least 1, got ", max_bytes);
  State& s = *state_;
  out.bytes_.clear();
  out.starts_.clear();
  out.views_.clear();
  std::vector<std::size_t> ends;  // views are made last, when `bytes_` no longer moves
  while (std::ssize(ends) < max_sentences && std::ssize(out.bytes_) < max_bytes) {
    if (!s.file) {
      if (s.next_path == s.paths.size()) break;
      s.file.emplace(s.paths[s.next_path++], s.options.max_line_bytes);
      s.starts_document = true;
    }
    const std::optional<std::string_view> line = s.file->next();
    if (!line) {
      s.bytes_done += s.file->total();
      s.file.reset();
    } else if (!s.options.keep_empty && is_blank(*line)) {
      s.starts_document = true;
    } else {
      out.bytes_.insert(out.bytes_.end(), line->begin(), line->end());
      ends.push_back(out.bytes_.size());
      out.starts_.push_back(std::exchange(s.starts_document, false));
    }
  }
  std::size_t begin = 0;
  for (const std::size_t end : ends) {
    out.views_.emplace_back(out.bytes_.data() + begin, end - begin);
    begin = end;
  }
  s.sentences += out.size();
  return out.size() > 0;
}

std::int64_t CorpusReader::sentences_read() const { return state_->sentences; }
std::int64_t CorpusReader::bytes_read() const {
  return state_->bytes_done + (state_->file ? state_->file->position() : 0);
}
std::int64_t CorpusReader::bytes_total() const { return state_->bytes_total; }

std::vector<std::string> expand_paths(const std::string& path) {
  std::vector<std::string> files;
  const auto add = [&](const fs::path& file) {
    if (!fs::is_directory(file)) {
      files.push_back(file.string());
      return;
    }
    for (auto entry = fs::recursive_directory_iterator(file); entry != fs::recursive_directory_iterator();
         ++entry) {
      const bool hidden = entry->path().filename().string().starts_with('.');
      if (hidden && entry->is_directory()) entry.disable_recursion_pending();
      if (!hidden && entry->is_regular_file()) files.push_back(entry->path().string());
    }
  };
  try {
    if (fs::exists(path)) {
      add(path);
      ST_CHECK(!files.empty(), IoError, "no files in the folder ", path);
    } else {
      glob_t matches{};
      if (glob(path.c_str(), 0, nullptr, &matches) == 0) {
        for (const char* match : std::span(matches.gl_pathv, matches.gl_pathc)) add(match);
      }
      globfree(&matches);
      if (files.empty()) fail_to_open(path, {});
    }
  } catch (const fs::filesystem_error& error) {
    fail_to_open(path, error.code());
  }
  std::ranges::sort(files);
  return files;
}

}  // namespace sentencode
