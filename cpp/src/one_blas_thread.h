#pragma once

namespace sentencode {

/// While it lives, BLAS works on the thread that calls it. OpenBLAS's threads spin between its products:
/// where these are many and small, they burn several times what the work takes as soon as others want the
/// processors. Loops keep their threads, and may then make products.
class OneBlasThread {
 public:
  OneBlasThread();
  ~OneBlasThread();
  OneBlasThread(const OneBlasThread&) = delete;
  OneBlasThread& operator=(const OneBlasThread&) = delete;
};

}  // namespace sentencode
