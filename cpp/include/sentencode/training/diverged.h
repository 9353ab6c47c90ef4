#pragma once
#include "sentencode/error.h"
namespace sentencode {
class DivergedError : public Error {
 public:
  using Error::Error;
};
}  // namespace sentencode
