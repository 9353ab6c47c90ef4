#pragma once

#include <memory>
#include <mutex>
#include <utility>

namespace sentencode {

/// A value that some threads read while another replaces it. A reader keeps what it got. The lock is held
/// while a pointer is copied and no longer.
template <typename T>
class Snapshot {
 public:
  std::shared_ptr<const T> get() const {
    const std::lock_guard lock(mutex_);
    return value_;
  }
  void set(T value) {
    auto made = std::make_shared<const T>(std::move(value));
    const std::lock_guard lock(mutex_);
    value_.swap(made);
  }

 private:
  mutable std::mutex mutex_;
  std::shared_ptr<const T> value_ = std::make_shared<const T>();
};

}  // namespace sentencode
