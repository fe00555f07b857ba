// RMS normalisation of rows, forward and backward, for CUDA: one block per row.
//
// Compiled only when the build is asked for it: cmake -DRMS_NORM_CUDA=ON.

#include <cstdint>

#include "xla/ffi/api/ffi.h"

namespace ffi = xla::ffi;

namespace {

constexpr int kThreads = 256;

using Input = ffi::Buffer<ffi::F32>;
using Output = ffi::ResultBuffer<ffi::F32>;

__device__ float BlockSum(float value) {
  __shared__ float partial[kThreads];
  partial[threadIdx.x] = value;
  __syncthreads();
  for (int step = kThreads / 2; step > 0; step /= 2) {
    if (threadIdx.x < step) partial[threadIdx.x] += partial[threadIdx.x + step];
    __syncthreads();
  }
  return partial[0];
}

__global__ void ForwardKernel(const float* x, float* y, float* inverse, int64_t n, float eps) {
  const float* in = x + blockIdx.x * n;
  float own = 0;
  for (int64_t j = threadIdx.x; j < n; j += kThreads) own += in[j] * in[j];
  float k = rsqrtf(BlockSum(own) / n + eps);
  if (threadIdx.x == 0) inverse[blockIdx.x] = k;
  for (int64_t j = threadIdx.x; j < n; j += kThreads) y[blockIdx.x * n + j] = in[j] * k;
}

__global__ void BackwardKernel(const float* inverse, const float* x, const float* g, float* dx,
                               int64_t n) {
  const float* in = x + blockIdx.x * n;
  const float* ct = g + blockIdx.x * n;
  float own = 0;
  for (int64_t j = threadIdx.x; j < n; j += kThreads) own += in[j] * ct[j];
  float dot = BlockSum(own);
  float k = inverse[blockIdx.x];
  float slope = k * k * k * dot / n;
  for (int64_t j = threadIdx.x; j < n; j += kThreads) {
    dx[blockIdx.x * n + j] = k * ct[j] - slope * in[j];
  }
}

ffi::Error Launched() {
  cudaError_t error = cudaGetLastError();
  if (error != cudaSuccess) return ffi::Error::Internal(cudaGetErrorString(error));
  return ffi::Error::Success();
}

ffi::Error Forward(cudaStream_t stream, float eps, Input x, Output y, Output inverse) {
  int64_t n = x.dimensions().back();
  int64_t rows = n ? x.element_count() / n : 0;
  if (rows == 0) return ffi::Error::Success();
  ForwardKernel<<<rows, kThreads, 0, stream>>>(x.typed_data(), y->typed_data(),
                                               inverse->typed_data(), n, eps);
  return Launched();
}

ffi::Error Backward(cudaStream_t stream, Input inverse, Input x, Input g, Output dx) {
  int64_t n = x.dimensions().back();
  int64_t rows = n ? x.element_count() / n : 0;
  if (rows == 0) return ffi::Error::Success();
  BackwardKernel<<<rows, kThreads, 0, stream>>>(inverse.typed_data(), x.typed_data(),
                                                g.typed_data(), dx->typed_data(), n);
  return Launched();
}

}  // namespace

XLA_FFI_DEFINE_HANDLER_SYMBOL(RmsNormForwardCuda, Forward,
                              ffi::Ffi::Bind()
                                  .Ctx<ffi::PlatformStream<cudaStream_t>>()
                                  .Attr<float>("eps")
                                  .Arg<Input>()
                                  .Ret<ffi::Buffer<ffi::F32>>()
                                  .Ret<ffi::Buffer<ffi::F32>>());

XLA_FFI_DEFINE_HANDLER_SYMBOL(RmsNormBackwardCuda, Backward,
                              ffi::Ffi::Bind()
                                  .Ctx<ffi::PlatformStream<cudaStream_t>>()
                                  .Arg<Input>()
                                  .Arg<Input>()
                                  .Arg<Input>()
                                  .Ret<ffi::Buffer<ffi::F32>>());
