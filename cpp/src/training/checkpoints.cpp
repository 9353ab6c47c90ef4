#include "sentencode/training/checkpoints.h"

#include <ATen/Functions.h>
#include <ATen/Parallel.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <iomanip>
#include <sstream>
#include <utility>

#include "io/file_lock.h"
#include "nn/saved_tensors.h"
#include "sentencode/error.h"
#include "sentencode/io/atomic_file.h"
#include "sentencode/io/mapped_file.h"
#include "sentencode/io/safetensors.h"
#include "sentencode/io/sha256.h"

namespace sentencode::training {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kFormat = "sentencode checkpoint", kVersion = "3";
constexpr std::string_view kStep = "step-", kBestOf = "best-", kEnd = ".safetensors";

/// Of all that a checkpoint says. Tensors are cut into pieces, which threads share: a large model is hashed
/// in a fraction of the time that writing it takes. Not by our own parallel_for, which Ctrl-C ends: it is
/// after a Ctrl-C that the last checkpoint is written.
std::string checksum_of(std::string_view step, std::string_view state,
                        const std::map<std::string, Tensor>& tensors) {
  constexpr std::size_t kPiece = 1 << 20;
  std::vector<std::span<const std::byte>> pieces;
  Sha256 whole;
  const auto add = [&](std::string_view text) {
    whole.update(std::as_bytes(std::span(text)));
    whole.update(std::as_bytes(std::span("\n", 1)));
  };
  add(step);
  add(state);
  for (const auto& [name, tensor] : tensors) {
    add(name);
    add(dtype_name(tensor.dtype));
    for (const std::int64_t size : tensor.shape) add(std::to_string(size));
    for (std::size_t i = 0; i < tensor.bytes.size(); i += kPiece)
      pieces.push_back(tensor.bytes.subspan(i, std::min(kPiece, tensor.bytes.size() - i)));
  }
  std::vector<std::string> hashes(pieces.size());
  at::parallel_for(0, std::ssize(pieces), 1, [&](std::int64_t begin, std::int64_t end) {
    for (auto i = static_cast<std::size_t>(begin); i < static_cast<std::size_t>(end); ++i)
      hashes[i] = sha256(pieces[i]);
  });
  for (const std::string& hash : hashes) add(hash);
  return whole.hex();
}

std::string value_of(const SafeTensors& file, const char* key) {
  const auto found = file.metadata().find(key);
  return found == file.metadata().end() ? std::string() : found->second;
}

std::shared_ptr<const SafeTensors> opened(const std::string& path) {
  auto file = SafeTensors::open(path);
  ST_CHECK(value_of(*file, "format") == kFormat, FormatError, path,
           ": a safetensors file, but no checkpoint");
  const std::string version = value_of(*file, "format_version");
  ST_CHECK(version == kVersion, FormatError, path, ": format version '", version,
           "'; this library resumes from version ", kVersion, " alone");
  return file;
}

Checkpoint head_of(const SafeTensors& file) {
  Checkpoint found;
  const std::string step = value_of(file, "step");
  const auto [end, error] = std::from_chars(step.data(), step.data() + step.size(), found.step);
  ST_CHECK(error == std::errc() && end == step.data() + step.size() && found.step >= 0, FormatError,
           file.path(), ": step must be a number, is '", step, "'");
  found.state = value_of(file, "state");
  return found;
}

void copy(const std::string& from, const std::string& to) {
  const auto file = MappedFile::open(from);
  AtomicFile made(to);
  made.write(file->bytes());
  made.commit();
}

/// "process 12 on host, since 2026-01-31 12:00:00 UTC".
std::string this_process() {
  std::array<char, 256> host{};
  ::gethostname(host.data(), host.size() - 1);
  const std::time_t now = std::time(nullptr);
  std::tm utc{};
  ::gmtime_r(&now, &utc);
  std::ostringstream text;
  text << "process " << ::getpid() << " on " << host.data() << ", since "
       << std::put_time(&utc, "%Y-%m-%d %H:%M:%S UTC");
  return text.str();
}

/// Of a folder, locked; its file goes with it.
class Owner {
 public:
  Owner(std::unique_ptr<FileLock> lock, std::string path)
      : lock_(std::move(lock)), path_(std::move(path)), process_(::getpid()) {}
  ~Owner() {
    if (process_ == ::getpid()) ::unlink(path_.c_str());
  }
  Owner(const Owner&) = delete;
  Owner& operator=(const Owner&) = delete;

 private:
  std::unique_ptr<FileLock> lock_;
  std::string path_;
  pid_t process_;
};

}  // namespace

void Checkpoint::write(const std::string& path) const {
  std::vector<at::Tensor> held;  // while they are written
  std::map<std::string, Tensor> parts;
  for (const auto& [name, tensor] : tensors) {
    held.push_back(tensor.detach().cpu().contiguous());
    const at::Tensor& last = held.back();
    parts[name] = nn::view_of(name, last);
  }
  const std::string number = std::to_string(step);
  write_safetensors(path, parts,
                    {{"format", std::string(kFormat)},
                     {"format_version", std::string(kVersion)},
                     {"step", number},
                     {"state", state},
                     {"checksum", checksum_of(number, state, parts)}});
}

Checkpoint Checkpoint::read(const std::string& path) {
  const auto file = opened(path);
  const auto value = [&](const char* key) { return value_of(*file, key); };
  ST_CHECK(value("checksum") == checksum_of(value("step"), value("state"), file->tensors()), FormatError,
           path, ": is damaged: its checksum is not that of what was written");
  Checkpoint found = head_of(*file);
  for (const auto& [name, tensor] : file->tensors()) found.tensors[name] = nn::copy_of(path, name, tensor);
  return found;
}

Checkpoint Checkpoint::read_head(const std::string& path) { return head_of(*opened(path)); }

std::map<std::string, at::Tensor> Checkpoint::part(const std::string& prefix) const {
  const std::string begin = prefix + ".";
  std::map<std::string, at::Tensor> found;
  for (auto place = tensors.lower_bound(begin); place != tensors.end() && place->first.starts_with(begin);
       ++place) {
    found.emplace(place->first.substr(begin.size()), place->second);
  }
  return found;
}

void Checkpoint::add(const std::string& prefix, const std::vector<std::pair<std::string, at::Tensor>>& part) {
  for (const auto& [name, tensor] : part) tensors[prefix + "." + name] = tensor;
}

CheckpointFolder::CheckpointFolder(std::string path, std::int64_t keep_last)
    : path_(std::move(path)), keep_last_(keep_last) {
  ST_CHECK(keep_last_ >= 1, InvalidInput, "keep_last must be at least 1, got ", keep_last_);
  std::error_code error;
  fs::create_directories(path_, error);
  ST_CHECK(fs::is_directory(path_), IoError, "cannot make the folder ", path_, ": ",
           error ? error.message() : "it is a file");
}

std::shared_ptr<const void> CheckpointFolder::own() const {
  const std::string path = (fs::path(path_) / "training.lock").string();
  std::unique_ptr<FileLock> lock;
  try {
    lock = FileLock::unless_held(path);
  } catch (const IoError& error) {
    constexpr std::array kNone{ENOLCK, ENOSYS, EOPNOTSUPP, ENOTSUP};
    if (std::ranges::find(kNone, error.error_number()) != kNone.end()) return nullptr;
    throw;
  }
  if (lock == nullptr) {
    std::array<char, 400> text{};
    std::ifstream(path).read(text.data(), text.size() - 1);
    std::string owner = text.data();
    std::erase_if(owner, [](unsigned char c) { return c < ' '; });
    throw IoError(concat("checkpoints: another training writes to ", path_, ": ",
                         owner.empty() ? "a process that has just begun" : owner,
                         "; wait until it ends, or name another folder"),
                  EWOULDBLOCK);
  }
  lock->write(this_process() + "\n");
  return std::make_shared<const Owner>(std::move(lock), path);
}

std::string CheckpointFolder::best_path() const { return (fs::path(path_) / "best.safetensors").string(); }

std::string CheckpointFolder::file_of(std::string_view begin, std::int64_t step) const {
  std::ostringstream name;
  name << begin << std::setw(9) << std::setfill('0') << step << kEnd;
  return (fs::path(path_) / name.str()).string();
}

std::vector<std::int64_t> CheckpointFolder::steps() const { return numbers(kStep); }

/// Of the files whose names are `begin`, a number and the ending; rising.
std::vector<std::int64_t> CheckpointFolder::numbers(std::string_view begin) const {
  std::vector<std::int64_t> found;
  for (const auto& entry : fs::directory_iterator(path_)) {
    const std::string name = entry.path().filename().string();
    if (!name.starts_with(begin) || !name.ends_with(kEnd)) continue;
    const char* first = name.data() + begin.size();
    const char* end = name.data() + name.size() - kEnd.size();
    std::int64_t number = 0;
    const auto [stop, error] = std::from_chars(first, end, number);
    if (error == std::errc() && stop == end) found.push_back(number);
  }
  std::ranges::sort(found);
  return found;
}

void CheckpointFolder::save(const Checkpoint& checkpoint) const {
  checkpoint.write(file_of(kStep, checkpoint.step));
  const auto there = steps();
  const std::int64_t old = std::ssize(there) - keep_last_;
  for (std::int64_t i = 0; i < old; ++i) {
    // Of a run that went further and was begun anew from an earlier step, later ones may lie here.
    const std::int64_t step = there[static_cast<std::size_t>(i)];
    if (step != checkpoint.step) fs::remove(file_of(kStep, step));
  }
  for (const std::int64_t step : numbers(kBestOf))
    if (!fs::exists(file_of(kStep, step))) fs::remove(file_of(kBestOf, step));
}

void CheckpointFolder::save_best(const Checkpoint& checkpoint, bool planned) const {
  std::optional<Checkpoint> best;
  try {
    if (fs::exists(best_path())) best = Checkpoint::read_head(best_path());
  } catch (const FormatError&) {  // nobody needs a damaged one
  }
  if (best) {
    for (const std::int64_t step : steps()) keep_best_of(step, *best);
    if (!planned) keep_best_of(checkpoint.step, *best);
  }
  checkpoint.write(best_path());
}

/// Gives best.safetensors a second name before it is replaced, unless the step's checkpoint is the same.
void CheckpointFolder::keep_best_of(std::int64_t step, const Checkpoint& best) const {
  const std::string own = file_of(kBestOf, step), saved = file_of(kStep, step);
  if (fs::exists(own)) return;
  try {
    if (step == best.step && fs::exists(saved) && Checkpoint::read_head(saved).state == best.state) return;
  } catch (const FormatError&) {
    return;  // no run can resume from it
  }
  std::error_code error;
  fs::create_hard_link(best_path(), own, error);
  if (error) copy(best_path(), own);
}

std::string CheckpointFolder::find_best(const std::function<bool(const Checkpoint& head)>& wanted) const {
  std::vector<std::string> paths{best_path()};
  for (const std::string_view begin : {kBestOf, kStep})
    for (const std::int64_t step : numbers(begin)) paths.push_back(file_of(begin, step));
  for (const std::string& path : paths) {
    try {
      if (fs::exists(path) && wanted(Checkpoint::read_head(path))) return path;
    } catch (const FormatError&) {  // damaged
    }
  }
  return {};
}

void CheckpointFolder::restore_best(const std::string& path) const {
  if (path != best_path()) copy(path, best_path());
}

std::optional<Checkpoint> CheckpointFolder::last() const {
  const auto there = steps();
  std::string wrong;
  for (auto step = there.rbegin(); step != there.rend(); ++step) {
    try {
      return Checkpoint::read(file_of(kStep, *step));
    } catch (const FormatError& error) {
      if (wrong.empty()) wrong = error.what();
    }
  }
  ST_CHECK(there.empty(), FormatError, path_, ": none of its ", there.size(),
           " checkpoints can be read: ", wrong);
  return std::nullopt;
}

std::optional<Checkpoint> CheckpointFolder::last_head() const {
  const auto there = steps();
  for (auto step = there.rbegin(); step != there.rend(); ++step) {
    try {
      return Checkpoint::read_head(file_of(kStep, *step));
    } catch (const FormatError&) {  // damaged
    }
  }
  return std::nullopt;
}

std::optional<Checkpoint> CheckpointFolder::best() const {
  if (!fs::exists(best_path())) return std::nullopt;
  return Checkpoint::read(best_path());
}

}  // namespace sentencode::training
