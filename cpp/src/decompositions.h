// Internal functions of dense.cpp.
#pragma once

#include <cstdint>

#include "sentencode/dense.h"

namespace sentencode {

/// Replaces the rows of y [b, n], b <= n, by orthonormal ones q that span the same space; r [b, b] with
/// y = r^T q.
template <typename T>
RowMajor<T> orthonormalise_rows(RowMajor<T>& y);

/// Bytes of memory that top_eigenpairs needs in addition to the matrix.
template <typename T>
double top_eigenpairs_bytes(std::int64_t n, std::int64_t p);

}  // namespace sentencode
