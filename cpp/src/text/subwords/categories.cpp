#include "text/subwords/categories.h"

#include <utf8proc.h>

#include <array>
#include <cstddef>
#include <vector>

namespace sentencode {
namespace {

constexpr std::size_t kCategorized = 0x110000;

struct CategoryRange {
  char32_t first, last;
  Category category;
};
// Characters that Unicode 15 and 16 added: utf8proc 2.8 knows Unicode 14.
constexpr Category kLetter = Category::letter, kMark = Category::mark, kNumber = Category::number,
                   kPunct = Category::punctuation, kSymbol = Category::symbol;
constexpr CategoryRange kAddedCategories[] = {
    // clang-format off
    {0x897, 0x897, kMark}, {0x1B4E, 0x1B4F, kPunct}, {0x1B7F, 0x1B7F, kPunct}, {0x1C89, 0x1C8A, kLetter},
    {0x2427, 0x2429, kSymbol}, {0x2FFC, 0x2FFF, kSymbol}, {0x31E4, 0x31E5, kSymbol}, {0x31EF, 0x31EF, kSymbol},
    {0xA7CB, 0xA7CD, kLetter}, {0xA7DA, 0xA7DC, kLetter}, {0x105C0, 0x105F3, kLetter}, {0x10D40, 0x10D49, kNumber},
    {0x10D4A, 0x10D65, kLetter}, {0x10D69, 0x10D6D, kMark}, {0x10D6E, 0x10D6E, kPunct}, {0x10D6F, 0x10D85, kLetter},
    {0x10D8E, 0x10D8F, kSymbol}, {0x10EC2, 0x10EC4, kLetter}, {0x10EFC, 0x10EFC, kMark}, {0x11380, 0x11389, kLetter},
    {0x1138B, 0x1138B, kLetter}, {0x1138E, 0x1138E, kLetter}, {0x11390, 0x113B5, kLetter}, {0x113B7, 0x113B7, kLetter},
    {0x113B8, 0x113C0, kMark}, {0x113C2, 0x113C2, kMark}, {0x113C5, 0x113C5, kMark}, {0x113C7, 0x113CA, kMark},
    {0x113CC, 0x113D0, kMark}, {0x113D1, 0x113D1, kLetter}, {0x113D2, 0x113D2, kMark}, {0x113D3, 0x113D3, kLetter},
    {0x113D4, 0x113D5, kPunct}, {0x113D7, 0x113D8, kPunct}, {0x113E1, 0x113E2, kMark}, {0x116D0, 0x116E3, kNumber},
    {0x11BC0, 0x11BE0, kLetter}, {0x11BE1, 0x11BE1, kPunct}, {0x11BF0, 0x11BF9, kNumber}, {0x11F5A, 0x11F5A, kMark},
    {0x13460, 0x143FA, kLetter}, {0x16100, 0x1611D, kLetter}, {0x1611E, 0x1612F, kMark}, {0x16130, 0x16139, kNumber},
    {0x16D40, 0x16D6C, kLetter}, {0x16D6D, 0x16D6F, kPunct}, {0x16D70, 0x16D79, kNumber}, {0x18CFF, 0x18CFF, kLetter},
    {0x1CC00, 0x1CCEF, kSymbol}, {0x1CCF0, 0x1CCF9, kNumber}, {0x1CD00, 0x1CEB3, kSymbol}, {0x1E5D0, 0x1E5ED, kLetter},
    {0x1E5EE, 0x1E5EF, kMark}, {0x1E5F0, 0x1E5F0, kLetter}, {0x1E5F1, 0x1E5FA, kNumber}, {0x1E5FF, 0x1E5FF, kPunct},
    {0x1F8B2, 0x1F8BB, kSymbol}, {0x1F8C0, 0x1F8C1, kSymbol}, {0x1FA89, 0x1FA89, kSymbol}, {0x1FA8F, 0x1FA8F, kSymbol},
    {0x1FABE, 0x1FABE, kSymbol}, {0x1FAC6, 0x1FAC6, kSymbol}, {0x1FADC, 0x1FADC, kSymbol}, {0x1FADF, 0x1FADF, kSymbol},
    {0x1FAE9, 0x1FAE9, kSymbol}, {0x1FBCB, 0x1FBEF, kSymbol}, {0x2EBF0, 0x2EE5D, kLetter},
    // clang-format on
};
constexpr CategoryRange kWhiteSpace[] = {
    {0x9, 0xD, Category::space},       {0x20, 0x20, Category::space},     {0x85, 0x85, Category::space},
    {0xA0, 0xA0, Category::space},     {0x1680, 0x1680, Category::space}, {0x2000, 0x200A, Category::space},
    {0x2028, 0x2029, Category::space}, {0x202F, 0x202F, Category::space}, {0x205F, 0x205F, Category::space},
    {0x3000, 0x3000, Category::space}};

Category category_in_utf8proc(char32_t code) {
  const auto category = utf8proc_category(static_cast<utf8proc_int32_t>(code));
  if (category >= UTF8PROC_CATEGORY_LU && category <= UTF8PROC_CATEGORY_LO) return Category::letter;
  if (category >= UTF8PROC_CATEGORY_MN && category <= UTF8PROC_CATEGORY_ME) return Category::mark;
  if (category >= UTF8PROC_CATEGORY_ND && category <= UTF8PROC_CATEGORY_NO) return Category::number;
  if (category >= UTF8PROC_CATEGORY_PC && category <= UTF8PROC_CATEGORY_PO) return Category::punctuation;
  if (category >= UTF8PROC_CATEGORY_SM && category <= UTF8PROC_CATEGORY_SO) return Category::symbol;
  return Category::other;
}

std::vector<Category> all_categories() {
  std::vector<Category> categories(kCategorized);
  for (std::size_t code = 0; code < kCategorized; ++code)
    categories[code] = category_in_utf8proc(static_cast<char32_t>(code));
  const auto set = [&](const CategoryRange& range) {
    for (std::size_t code = range.first; code <= range.last; ++code) categories[code] = range.category;
  };
  for (const CategoryRange& range : kAddedCategories) set(range);
  for (const CategoryRange& range : kWhiteSpace) set(range);
  return categories;
}

}  // namespace

Category category_of(char32_t code) {
  static const std::vector<Category> categories = all_categories();
  return code < kCategorized ? categories[code] : Category::other;
}

}  // namespace sentencode
