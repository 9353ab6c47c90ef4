#pragma once

namespace sentencode {

/// Restricts BLAS to the calling thread during its lifetime. OpenBLAS's threads spin between products, which
/// wastes much processor time if these are many and small. parallel_for keeps its threads, whose bodies may
/// then compute products.
class OneBlasThread {
 public:
  OneBlasThread();
  ~OneBlasThread();
  OneBlasThread(const OneBlasThread&) = delete;
  OneBlasThread& operator=(const OneBlasThread&) = delete;
};

}  // namespace sentencode
