// usage: encode MODEL < SENTENCES > ROWS
// One sentence a line; rows as text, with all digits.
#include <sentencode/encoder.h>
#include <sentencode/error.h>
#ifdef NEURAL
#include <sentencode/models/neural_encoder.h>
#endif

#include <iostream>
#include <string>
#include <string_view>
#include <vector>

int main(int count, char** arguments) {
  if (count != 2) return 2;
#ifdef NEURAL
  sentencode::models::register_encoders();
#endif
  try {
    const auto encoder = sentencode::load_encoder(arguments[1]);
    std::vector<std::string> lines;
    for (std::string line; std::getline(std::cin, line);) lines.push_back(line);
    const std::vector<std::string_view> pieces(lines.begin(), lines.end());
    const sentencode::Matrix rows = encoder->encode({.pieces = pieces, .offsets = {}});
    std::cout.precision(9);
    std::cout << rows << '\n';
  } catch (const sentencode::Error& error) {
    std::cerr << error.what() << '\n';
    return 1;
  }
}
