// How recurrent layers go over sentences of several lengths, on the CPU.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <vector>

namespace sentencode::nn {

/// Some sentences, which one thread goes over by itself. Their words lie one after the other: all first
/// words, then all second ones, the longest sentence first. Those that have a word t are the first
/// `there[t]`.
struct Part {
  std::int64_t index;                   // of the part
  std::vector<std::int64_t> sentences;  // by their rows in the batch
  std::vector<std::int64_t> there;      // [T], T being the longest sentence's words
  std::vector<std::int64_t> first;      // [T + 1]: the row of the first word t, among the words of all parts

  std::int64_t longest() const { return std::ssize(there); }
};

/// The i-th row of a contiguous tensor, whatever its rows are rows of.
template <typename T>
T* row_of(const at::Tensor& of, std::int64_t i) {
  return static_cast<T*>(of.data_ptr()) + i * of.size(-1);
}

/// All sentences that have words, in parts that have long and short ones alike.
class Parts {
 public:
  /// lengths [batch] int64 or undefined for `time`; each sentence is gone over `directions` times. count: how
  /// many parts there are; 0 chooses.
  Parts(const at::Tensor& lengths, std::int64_t batch, std::int64_t time, std::int64_t directions = 1,
        std::int64_t count = 0);

  std::int64_t words() const { return words_; }
  std::int64_t count() const { return std::ssize(parts_); }

  /// x [B, T, D] -> [words, D]; and back, zero where there is no word.
  at::Tensor pack(const at::Tensor& x) const;
  at::Tensor pad(const at::Tensor& packed) const;

  /// Each part and direction, on all threads.
  void for_each(const std::function<void(const Part&, std::int64_t direction)>& run) const;

 private:
  std::int64_t batch_, time_, directions_, words_ = 0;
  std::vector<Part> parts_;
};

}  // namespace sentencode::nn
