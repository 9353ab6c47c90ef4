#pragma once

#include <memory>
#include <string>

#include "sentencode/linear/laes.h"
#include "sentencode/sentences.h"

namespace sentencode {

/// Laes::partial_fit by torch on a device, such as "cuda". The sums G stay there until they are merged.
/// Precision is that of Laes: sums are double.
class LaesOnDevice {
 public:
  /// For encoders with the words and options of this one. InvalidInput names a device that cannot be used.
  LaesOnDevice(std::shared_ptr<const Laes> like, const std::string& device);
  ~LaesOnDevice();

  /// If it is interrupted or runs out of memory (InvalidInput), the sums cannot be used any more.
  void add(const Sentences& sentences);
  void merge_into(Laes& encoder) const;

 private:
  struct Sums;
  std::shared_ptr<const Laes> like_;
  std::unique_ptr<Sums> sums_;
};

/// Laes::solve on a device: C_ij = G_ij + C_(i+1)(j+1) and its eigenvectors, in double: about 33 (L n)^2
/// bytes. For few sentences, Laes::solve is faster.
void solve_on_device(Laes& encoder, const std::string& device);

}  // namespace sentencode
