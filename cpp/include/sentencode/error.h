#pragma once

#include <sstream>    // std::ostringstream
#include <stdexcept>  // std::runtime_error
#include <string>
#include <utility>  // std::forward

namespace sentencode {

// Every failure that a caller can cause is one of these; the bindings give each its Python class.
class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// An argument that cannot be used. Python: ValueError.
class InvalidInput : public Error {
 public:
  using Error::Error;
};

/// A file whose content violates its format. Python: sentencode.FormatError, a ValueError.
class FormatError : public Error {
 public:
  using Error::Error;
};

/// The operating system refused to read or write. Python: OSError, or its subclass for `error_number`
/// (errno), as in throw IoError(concat("cannot open ", path, ": ", std::strerror(code)), code).
class IoError : public Error {
 public:
  explicit IoError(const std::string& what, int error_number = 0)
      : Error(what), error_number_(error_number) {}
  int error_number() const { return error_number_; }

 private:
  int error_number_;
};

/// An encoder is used before it was fitted. Python: sentencode.NotFittedError.
class NotFitted : public Error {
 public:
  using Error::Error;
};

/// Something that this build or this object cannot do. Python: NotImplementedError.
class Unsupported : public Error {
 public:
  using Error::Error;
};

/// A loss, a gradient or the output of a model is not finite. Python:
/// sentencode.DivergedError, a FloatingPointError.
class DivergedError : public Error {
 public:
  using Error::Error;
};

/// The user pressed Ctrl-C during a long computation. Python: KeyboardInterrupt.
class Interrupted : public Error {
 public:
  Interrupted() : Error("interrupted") {}
};

/// A bug of ours. Python: RuntimeError.
class InternalError : public Error {
 public:
  using Error::Error;
};

/// All parts, written to a stream one after the other.
template <typename... Parts>
std::string concat(Parts&&... parts) {
  std::ostringstream out;
  (out << ... << std::forward<Parts>(parts));
  return std::move(out).str();
}

}  // namespace sentencode

/// For callers' faults: ST_CHECK(rows == n, InvalidInput, "out must have ", n, " rows, got ", rows).
/// The message is only built when the condition fails.
#define ST_CHECK(condition, ErrorClass, ...)                             \
  do {                                                                   \
    if (!(condition)) [[unlikely]] {                                     \
      throw ::sentencode::ErrorClass(::sentencode::concat(__VA_ARGS__)); \
    }                                                                    \
  } while (false)

/// For our own bugs.
#define ST_INVARIANT(condition)                                                                    \
  do {                                                                                             \
    if (!(condition)) [[unlikely]] {                                                               \
      throw ::sentencode::InternalError(                                                           \
          ::sentencode::concat("broken invariant '" #condition "' at ", __FILE__, ":", __LINE__)); \
    }                                                                                              \
  } while (false)
