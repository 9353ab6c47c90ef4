#include "english.h"

#include <algorithm>
#include <cstddef>

namespace sentencode {
namespace {

// Sorted and in lower case. Without measures, and without those that are words, too (no, sun, may).
constexpr std::string_view kInside[] = {
    "adm",    "capt", "cf", "cmdr", "col", "dr",   "e.g",  "esp", "gen", "gov", "hon", "i.e", "lt",  "maj",
    "messrs", "mme",  "mr", "mrs",  "ms",  "pres", "prof", "pvt", "rep", "rev", "sen", "sgt", "viz", "vs"};
constexpr std::string_view kAnywhere[] = {
    "al",   "approx", "apr", "assn", "assoc", "aug", "ave",  "blvd", "bros", "co",   "corp", "dec",
    "dept", "ed",     "eds", "esq",  "est",   "etc", "feb",  "fig",  "figs", "inc",  "jan",  "jr",
    "ltd",  "mt",     "nov", "oct",  "op",    "pp",  "sept", "sr",   "st",   "univ", "vol"};
constexpr std::string_view kDomains[] = {"au",  "ca", "ch", "cn",  "co",   "com", "de",
                                         "edu", "eu", "fr", "gov", "info", "io",  "jp",
                                         "net", "nl", "nz", "org", "ru",   "tv",  "uk"};
constexpr std::string_view kStarters[] = {
    "a",       "after",  "all", "although", "an",    "and",   "another", "as",   "at",
    "because", "before", "but", "by",       "each",  "even",  "every",   "few",  "for",
    "from",    "he",     "her", "here",     "his",   "how",   "however", "i",    "if",
    "in",      "it",     "its", "many",     "most",  "my",    "no",      "not",  "now",
    "of",      "on",     "one", "or",       "our",   "she",   "since",   "so",   "some",
    "such",    "that",   "the", "their",    "then",  "there", "these",   "they", "this",
    "those",   "though", "to",  "under",    "until", "we",    "what",    "when", "where",
    "which",   "while",  "who", "why",      "with",  "yes",   "yet",     "you",  "your"};

template <std::size_t n>
bool contains(const std::string_view (&sorted)[n], std::string_view word) {
  char buffer[8];
  if (word.size() > sizeof buffer) return false;
  std::ranges::transform(word, buffer,
                         [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 'a' - 'A') : c; });
  return std::ranges::binary_search(sorted, std::string_view(buffer, word.size()));
}

static_assert(std::ranges::is_sorted(kInside) && std::ranges::is_sorted(kAnywhere));
static_assert(std::ranges::is_sorted(kDomains) && std::ranges::is_sorted(kStarters));

}  // namespace

Abbreviation abbreviation(std::string_view word) {
  if (contains(kInside, word)) return Abbreviation::inside;
  return contains(kAnywhere, word) ? Abbreviation::anywhere : Abbreviation::none;
}

bool is_domain(std::string_view word) { return contains(kDomains, word); }

bool starts_sentences(std::string_view word) { return contains(kStarters, word); }

}  // namespace sentencode
