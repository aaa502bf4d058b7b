// Numbers as Python's int() and float() read them.
#include "model/observe/python_numbers.h"

#include <gtest/gtest.h>

#include <cmath>

namespace hooke::model {
namespace {

TEST(PythonNumbers, are_whole_with_blanks_signs_zeros_and_underscores) {
  EXPECT_EQ(python_int("7"), 7);
  EXPECT_EQ(python_int(" \t7\n"), 7);
  EXPECT_EQ(python_int("+7"), 7);
  EXPECT_EQ(python_int("-7"), -7);
  EXPECT_EQ(python_int("010"), 10);
  EXPECT_EQ(python_int("1_0_0"), 100);
  EXPECT_EQ(python_int("9223372036854775807"), 9223372036854775807);
}

TEST(PythonNumbers, are_not_whole_where_python_raises) {
  for (const char* text : {"", " ", "+", "-", "+-7", "-+7", "--7", "0x1", "1.0", "1e3", "_1", "1_",
                           "1__0", "7 7", "seven", "9223372036854775808"}) {
    EXPECT_EQ(python_int(text), std::nullopt) << text;
  }
}

TEST(PythonNumbers, are_broken_with_and_without_an_exponent) {
  EXPECT_EQ(python_float("0.5"), 0.5);
  EXPECT_EQ(python_float(" +.5 "), 0.5);
  EXPECT_EQ(python_float("5."), 5.0);
  EXPECT_EQ(python_float("-1e-1"), -0.1);
  EXPECT_EQ(python_float("1_0.2_5"), 10.25);
  EXPECT_EQ(python_float("inf"), INFINITY);
  EXPECT_EQ(python_float("-Infinity"), -INFINITY);
  EXPECT_EQ(python_float("1e999"), INFINITY);
  EXPECT_TRUE(std::isnan(python_float("NaN").value()));
}

TEST(PythonNumbers, are_not_broken_where_python_raises) {
  for (const char* text :
       {"", "soon", "0x1p3", "1,5", "1e", "_1.0", "1_.0", "nan(1)", "+-1", "5s"}) {
    EXPECT_EQ(python_float(text), std::nullopt) << text;
  }
}

}  // namespace
}  // namespace hooke::model
