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
#include "json_depth.h"
#include "nn/saved_tensors.h"
#include "sentencode/error.h"
#include "sentencode/io/atomic_file.h"
#include "sentencode/io/mapped_file.h"
#include "sentencode/io/safetensors.h"
#include "sentencode/io/sha256.h"

namespace sentencode::training {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kFormat = "sentencode checkpoint", kVersion = "4";
constexpr std::string_view kStep = "step-", kBest = "best-", kSuffix = ".safetensors";

/// SHA-256 of a checkpoint. Threads hash pieces of the tensors. Not with the package's own parallel_for,
/// which Ctrl-C interrupts: the last checkpoint is written after a Ctrl-C.
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
  const auto item = file.metadata().find(key);
  return item == file.metadata().end() ? std::string() : item->second;
}

std::shared_ptr<const SafeTensors> open_checkpoint(const std::string& path) {
  auto file = SafeTensors::open(path);
  ST_CHECK(value_of(*file, "format") == kFormat, FormatError, path,
           ": is a safetensors file, but not a checkpoint");
  const std::string version = value_of(*file, "format_version");
  ST_CHECK(version == kVersion, FormatError, path, ": format version '", version,
           "'; this library can only resume from version ", kVersion);
  return file;
}

Checkpoint head_of(const SafeTensors& file) {
  Checkpoint head;
  const std::string step = value_of(file, "step");
  const auto [end, error] = std::from_chars(step.data(), step.data() + step.size(), head.step);
  ST_CHECK(error == std::errc() && end == step.data() + step.size() && head.step >= 0, FormatError,
           file.path(), ": step must be a number, got '", step, "'");
  head.state = value_of(file, "state");
  check_json_depth(head.state, concat(file.path(), ": state"));
  return head;
}

void copy(const std::string& from, const std::string& to) {
  const auto file = MappedFile::open(from);
  AtomicFile target(to);
  target.write(file->bytes());
  target.commit();
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

}  // namespace

void Checkpoint::write(const std::string& path) const {
  std::vector<at::Tensor> on_cpu;
  std::map<std::string, Tensor> parts;
  for (const auto& [name, tensor] : tensors) {
    on_cpu.push_back(tensor.detach().cpu().contiguous());
    parts[name] = nn::view_of(name, on_cpu.back());
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
  const auto file = open_checkpoint(path);
  const auto value = [&](const char* key) { return value_of(*file, key); };
  ST_CHECK(value("checksum") == checksum_of(value("step"), value("state"), file->tensors()), FormatError,
           path, ": is damaged: its checksum does not match");
  Checkpoint checkpoint = head_of(*file);
  for (const auto& [name, tensor] : file->tensors())
    checkpoint.tensors[name] = nn::copy_of(path, name, tensor);
  return checkpoint;
}

Checkpoint Checkpoint::read_head(const std::string& path) { return head_of(*open_checkpoint(path)); }

std::map<std::string, at::Tensor> Checkpoint::part(const std::string& prefix) const {
  const std::string begin = prefix + ".";
  std::map<std::string, at::Tensor> part;
  for (const auto& [name, tensor] : tensors) {
    if (name.starts_with(begin)) part.emplace(name.substr(begin.size()), tensor);
  }
  return part;
}

void Checkpoint::add(const std::string& prefix, const std::vector<std::pair<std::string, at::Tensor>>& part) {
  for (const auto& [name, tensor] : part) tensors[prefix + "." + name] = tensor;
}

CheckpointFolder::CheckpointFolder(std::string path, std::int64_t keep_last)
    : path_(std::move(path)), keep_last_(keep_last) {
  ST_CHECK(keep_last_ >= 1, InvalidInput, "keep_last must be at least 1, got ", keep_last_);
  std::error_code error;
  fs::create_directories(path_, error);
  ST_CHECK(fs::is_directory(path_), IoError, "cannot create the folder ", path_, ": ",
           error ? error.message() : "it is a file");
}

std::shared_ptr<const void> CheckpointFolder::lock() const {
  const std::string path = (fs::path(path_) / "training.lock").string();
  std::unique_ptr<FileLock> lock;
  try {
    lock = FileLock::unless_held(path);
  } catch (const IoError& error) {
    constexpr std::array kNoLocks{ENOLCK, ENOSYS, EOPNOTSUPP, ENOTSUP};
    if (std::ranges::find(kNoLocks, error.error_number()) != kNoLocks.end()) return nullptr;
    throw;
  }
  if (lock == nullptr) {
    std::array<char, 400> text{};
    std::ifstream(path).read(text.data(), text.size() - 1);
    std::string owner = text.data();
    std::erase_if(owner, [](unsigned char c) { return c < ' '; });
    throw IoError(concat("checkpoints: another training writes to ", path_, ": ",
                         owner.empty() ? "a process that has just begun" : owner,
                         "; wait until it ends, or use another folder"),
                  EWOULDBLOCK);
  }
  lock->write(this_process() + "\n");
  return {lock.release(), [path, process = ::getpid()](FileLock* held) {
            if (process == ::getpid()) ::unlink(path.c_str());  // not in a forked child
            delete held;
          }};
}

std::string CheckpointFolder::best_path() const { return (fs::path(path_) / "best.safetensors").string(); }

std::string CheckpointFolder::file_of(std::string_view prefix, std::int64_t step) const {
  std::ostringstream name;
  name << prefix << std::setw(9) << std::setfill('0') << step << kSuffix;
  return (fs::path(path_) / name.str()).string();
}

std::vector<std::int64_t> CheckpointFolder::steps() const { return steps_named(kStep); }

/// Steps in the names of files with a prefix, ascending.
std::vector<std::int64_t> CheckpointFolder::steps_named(std::string_view prefix) const {
  std::vector<std::int64_t> steps;
  for (const auto& entry : fs::directory_iterator(path_)) {
    const std::string name = entry.path().filename().string();
    if (!name.starts_with(prefix) || !name.ends_with(kSuffix)) continue;
    const char* first = name.data() + prefix.size();
    const char* end = name.data() + name.size() - kSuffix.size();
    std::int64_t step = 0;
    const auto [stop, error] = std::from_chars(first, end, step);
    if (error == std::errc() && stop == end) steps.push_back(step);
  }
  std::ranges::sort(steps);
  return steps;
}

void CheckpointFolder::save(const Checkpoint& checkpoint) const {
  checkpoint.write(file_of(kStep, checkpoint.step));
  const auto saved = steps();
  const std::int64_t old = std::ssize(saved) - keep_last_;
  for (std::int64_t i = 0; i < old; ++i) {
    // A run that was restarted from an earlier step finds later ones here.
    const std::int64_t step = saved[static_cast<std::size_t>(i)];
    if (step != checkpoint.step) fs::remove(file_of(kStep, step));
  }
  for (const std::int64_t step : steps_named(kBest))
    if (!fs::exists(file_of(kStep, step))) fs::remove(file_of(kBest, step));
}

void CheckpointFolder::save_best(const Checkpoint& checkpoint, bool planned) const {
  std::optional<Checkpoint> best;
  try {
    if (fs::exists(best_path())) best = Checkpoint::read_head(best_path());
  } catch (const FormatError&) {  // damaged: not kept
  }
  if (best) {
    for (const std::int64_t step : steps()) keep_best_for(step, *best);
    if (!planned) keep_best_for(checkpoint.step, *best);
  }
  checkpoint.write(best_path());
}

/// Links best.safetensors to a second name before it is replaced, unless the step's checkpoint is the same.
void CheckpointFolder::keep_best_for(std::int64_t step, const Checkpoint& best) const {
  const std::string link = file_of(kBest, step), saved = file_of(kStep, step);
  if (fs::exists(link)) return;
  try {
    if (step == best.step && fs::exists(saved) && Checkpoint::read_head(saved).state == best.state) return;
  } catch (const FormatError&) {
    return;  // damaged: no run can resume from it
  }
  std::error_code error;
  fs::create_hard_link(best_path(), link, error);
  if (error) copy(best_path(), link);
}

std::string CheckpointFolder::find_best(const std::function<bool(const Checkpoint& head)>& matches) const {
  std::vector<std::string> paths{best_path()};
  for (const std::string_view prefix : {kBest, kStep})
    for (const std::int64_t step : steps_named(prefix)) paths.push_back(file_of(prefix, step));
  for (const std::string& path : paths) {
    try {
      if (fs::exists(path) && matches(Checkpoint::read_head(path))) return path;
    } catch (const FormatError&) {  // damaged
    }
  }
  return {};
}

void CheckpointFolder::restore_best(const std::string& path) const {
  if (path != best_path()) copy(path, best_path());
}

/// The newest checkpoint that `read` can read, and the error of the newest one that it cannot.
std::optional<Checkpoint> CheckpointFolder::newest(Checkpoint (*read)(const std::string&),
                                                   std::string& error) const {
  const auto saved = steps();
  for (auto step = saved.rbegin(); step != saved.rend(); ++step) {
    try {
      return read(file_of(kStep, *step));
    } catch (const FormatError& damage) {
      if (error.empty()) error = damage.what();
    }
  }
  return std::nullopt;
}

std::optional<Checkpoint> CheckpointFolder::last() const {
  std::string error;
  auto checkpoint = newest(&Checkpoint::read, error);
  ST_CHECK(checkpoint || error.empty(), FormatError, path_, ": none of its checkpoints can be read: ", error,
           "; remove them to train from the beginning, or use another folder");
  return checkpoint;
}

std::optional<Checkpoint> CheckpointFolder::last_head() const {
  std::string ignored;
  return newest(&Checkpoint::read_head, ignored);
}

std::optional<Checkpoint> CheckpointFolder::best() const {
  if (!fs::exists(best_path())) return std::nullopt;
  return Checkpoint::read(best_path());
}

}  // namespace sentencode::training
