#include "sentencode/enum_names.h"

#include <gtest/gtest.h>

#include "sentencode/error.h"
#include "sentencode/linear/laes_options.h"
#include "sentencode/training/schedule.h"

namespace sentencode {
namespace {

using Mode = LaesOptions::Mode;
using Shape = training::Schedule::Shape;

TEST(EnumNames, ParseReturnsTheValueWithTheName) {
  for (const Mode mode : {Mode::hidden, Mode::reconstruction, Mode::residual}) {
    EXPECT_EQ(parse_enum<Mode>(name_of(mode)), mode);
  }
  for (const Shape shape : {Shape::constant, Shape::linear, Shape::cosine, Shape::inverse_sqrt}) {
    EXPECT_EQ(parse_enum<Shape>(name_of(shape)), shape);
  }
}

void expect_error(const char* name, const char* option, const char* message) {
  try {
    parse_enum<Mode>(name, option);
    FAIL();
  } catch (const InvalidInput& error) {
    EXPECT_STREQ(error.what(), message);
  }
}

TEST(EnumNames, ErrorsListTheNames) {
  EXPECT_THROW(parse_enum<Shape>("step"), InvalidInput);
  expect_error("best", "mode", "mode must be 'hidden', 'reconstruction' or 'residual', got 'best'");
  expect_error("", "output", "output must be 'hidden', 'reconstruction' or 'residual', got ''");
}

}  // namespace
}  // namespace sentencode
