// RMS normalisation of rows, forward and backward, for the CPU.
//
// Leading dimensions are rows, so one kernel serves a row, a matrix and a stack of matrices.
// Sums are kept in double.

#include <cmath>
#include <cstdint>

#include "xla/ffi/api/ffi.h"

namespace ffi = xla::ffi;

namespace {

using Input = ffi::Buffer<ffi::F32>;
using Output = ffi::ResultBuffer<ffi::F32>;

struct Rows {
  int64_t count;
  int64_t length;
};

ffi::ErrorOr<Rows> RowsOf(const Input& x) {
  auto dims = x.dimensions();
  if (dims.size() == 0) {
    return ffi::Unexpected(ffi::Error::InvalidArgument(
        "rms_norm: given a scalar, expected an array with at least one dimension"));
  }
  int64_t length = dims.back();
  int64_t total = static_cast<int64_t>(x.element_count());
  return Rows{length ? total / length : 0, length};
}

// y = x * k with k = 1 / sqrt(mean(x^2) + eps); also returns k, one per row.
ffi::Error Forward(float eps, Input x, Output y, Output inverse) {
  auto rows = RowsOf(x);
  if (rows.has_error()) return rows.error();
  for (int64_t r = 0; r < rows->count; ++r) {
    const float* in = x.typed_data() + r * rows->length;
    float* out = y->typed_data() + r * rows->length;
    double sum = 0;
    for (int64_t j = 0; j < rows->length; ++j) sum += static_cast<double>(in[j]) * in[j];
    float k = static_cast<float>(1.0 / std::sqrt(sum / rows->length + eps));
    inverse->typed_data()[r] = k;
    for (int64_t j = 0; j < rows->length; ++j) out[j] = in[j] * k;
  }
  return ffi::Error::Success();
}

// dx = k g - k^3 x sum(x g) / n. The Jacobian is symmetric, so this is the tangent map too.
ffi::Error Backward(Input inverse, Input x, Input g, Output dx) {
  auto rows = RowsOf(x);
  if (rows.has_error()) return rows.error();
  for (int64_t r = 0; r < rows->count; ++r) {
    const float* in = x.typed_data() + r * rows->length;
    const float* ct = g.typed_data() + r * rows->length;
    float* out = dx->typed_data() + r * rows->length;
    double k = inverse.typed_data()[r];
    double dot = 0;
    for (int64_t j = 0; j < rows->length; ++j) dot += static_cast<double>(in[j]) * ct[j];
    double slope = k * k * k * dot / rows->length;
    for (int64_t j = 0; j < rows->length; ++j) {
      out[j] = static_cast<float>(k * ct[j] - slope * in[j]);
    }
  }
  return ffi::Error::Success();
}

}  // namespace

XLA_FFI_DEFINE_HANDLER_SYMBOL(RmsNormForward, Forward,
                              ffi::Ffi::Bind()
                                  .Attr<float>("eps")
                                  .Arg<Input>()
                                  .Ret<ffi::Buffer<ffi::F32>>()
                                  .Ret<ffi::Buffer<ffi::F32>>());

XLA_FFI_DEFINE_HANDLER_SYMBOL(RmsNormBackward, Backward,
                              ffi::Ffi::Bind()
                                  .Arg<Input>()
                                  .Arg<Input>()
                                  .Arg<Input>()
                                  .Ret<ffi::Buffer<ffi::F32>>());
