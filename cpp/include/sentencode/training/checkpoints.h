#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sentencode::training {

/// The state of a training: all that its next step depends on.
struct Checkpoint {
  std::int64_t step = 0;
  std::string state = "{}";  // JSON, defined by the trainer
  std::map<std::string, at::Tensor> tensors;

  /// Writes a safetensors file atomically. Tensors may be on any device.
  void write(const std::string& path) const;
  /// Tensors are copies on the CPU. FormatError where the file is damaged or is no checkpoint.
  static Checkpoint read(const std::string& path);
  /// Reads everything but the tensors.
  static Checkpoint read_head(const std::string& path);

  /// The tensors named "prefix.name", by name.
  std::map<std::string, at::Tensor> part(const std::string& prefix) const;
  void add(const std::string& prefix, const std::vector<std::pair<std::string, at::Tensor>>& part);
};

/// A folder with step-000000123.safetensors and best.safetensors. A run that was killed resumes from the last
/// step. If best.safetensors was replaced after step 123, its predecessor is best-000000123.safetensors for
/// as long as that step's checkpoint exists.
class CheckpointFolder {
 public:
  /// Creates the folder if necessary, and keeps the last `keep_last` steps.
  explicit CheckpointFolder(std::string path, std::int64_t keep_last = 2);

  const std::string& path() const { return path_; }
  /// Locks the folder for writing until the result is destroyed or the process dies. IoError (EWOULDBLOCK)
  /// names the process that holds the lock. Null where the file system has no locks.
  std::shared_ptr<const void> lock() const;
  void save(const Checkpoint& checkpoint) const;
  /// `planned`: whether a run that resumes from this step also has this validation. If not, the previous best
  /// checkpoint is kept for it.
  void save_best(const Checkpoint& checkpoint, bool planned = true) const;
  /// The last readable checkpoint, if there is one; FormatError where all are damaged.
  std::optional<Checkpoint> last() const;
  /// Its head; nothing where all are damaged.
  std::optional<Checkpoint> last_head() const;
  std::optional<Checkpoint> best() const;
  std::string best_path() const;
  /// The first file whose head matches, starting with best.safetensors, or "".
  std::string find_best(const std::function<bool(const Checkpoint& head)>& matches) const;
  /// Makes a result of find_best best.safetensors.
  void restore_best(const std::string& path) const;
  std::vector<std::int64_t> steps() const;  // ascending

 private:
  std::vector<std::int64_t> steps_named(std::string_view prefix) const;
  std::string file_of(std::string_view prefix, std::int64_t step) const;
  void keep_best_for(std::int64_t step, const Checkpoint& best) const;
  std::optional<Checkpoint> newest(Checkpoint (*read)(const std::string&), std::string& error) const;

  std::string path_;
  std::int64_t keep_last_;
};

}  // namespace sentencode::training
