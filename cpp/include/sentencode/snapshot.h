#pragma once

#include <memory>
#include <mutex>
#include <utility>

namespace sentencode {

/// A value that threads read while another replaces it. Readers share ownership of the value that they got;
/// the lock is held only while a pointer is copied.
template <typename T>
class Snapshot {
 public:
  std::shared_ptr<const T> get() const {
    const std::lock_guard lock(mutex_);
    return value_;
  }
  void set(T value) {
    auto next = std::make_shared<const T>(std::move(value));
    const std::lock_guard lock(mutex_);
    value_.swap(next);
  }

 private:
  mutable std::mutex mutex_;
  std::shared_ptr<const T> value_ = std::make_shared<const T>();
};

}  // namespace sentencode
