// Instructions that only Hopper (compute capability 9.0, compiled for sm_90a) has: products of a warpgroup,
// which are four warps, on operands in shared memory; bulk copies; and the barriers that announce their
// bytes.
//
// Two thread blocks form a cluster: a copy can write to the shared memory of both, at the same offset.
#pragma once

#include "tiles.h"

// A barrier in shared memory changes its phase once all expected threads have arrived and all expected bytes
// have been copied.
__device__ inline void initialize_barrier(Word barrier, int arrivals) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(barrier), "r"(arrivals) : "memory");
}
// Makes initialized barriers visible to both thread blocks; a cluster barrier has to follow.
__device__ inline void publish_barriers() {
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}
// Arrives, and expects that many bytes of copies in this phase.
__device__ inline void expect_bytes(Word barrier, int bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes)
               : "memory");
}
// Arrives at the barrier at this offset in thread block `rank` of the cluster. It publishes no stores of this
// thread: with `.release.cluster`, it would wait for all of them.
__device__ inline void arrive_in_cluster(Word barrier, int rank) {
  asm volatile(
      "{\n"
      ".reg .b32 remote;\n"
      "mapa.shared::cluster.u32 remote, %0, %1;\n"
      "mbarrier.arrive.shared::cluster.b64 _, [remote];\n"
      "}" ::"r"(barrier),
      "r"(rank)
      : "memory");
}
// Waits until the phase of this parity is over; of a new barrier, that of parity 1 is.
__device__ inline void await_barrier(Word barrier, Word parity) {
  Word over;
  do {
    asm volatile(
        "{\n"
        ".reg .pred over;\n"
        "mbarrier.try_wait.parity.shared::cta.b64 over, [%1], %2;\n"
        "selp.u32 %0, 1, 0, over;\n"
        "}"
        : "=r"(over)
        : "r"(barrier), "r"(parity)
        : "memory");
  } while (!over);
}
// The same for a barrier at which threads of both thread blocks arrive.
__device__ inline void await_cluster_barrier(Word barrier, Word parity) {
  Word over;
  do {
    asm volatile(
        "{\n"
        ".reg .pred over;\n"
        "mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 over, [%1], %2;\n"
        "selp.u32 %0, 1, 0, over;\n"
        "}"
        : "=r"(over)
        : "r"(barrier), "r"(parity)
        : "memory");
  } while (!over);
}
// All threads of both thread blocks wait for each other.
__device__ inline void synchronize_cluster() {
  asm volatile("barrier.cluster.arrive;\nbarrier.cluster.wait;" ::: "memory");
}

// Starts to copy to shared memory; the barrier counts the bytes. copy_to_both() writes to the shared memory
// of both thread blocks, and each one's barrier counts.
__device__ inline void copy_bytes(Word to, const void* from, int bytes, Word barrier) {
  asm volatile(
      "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(to),
      "l"(from), "r"(bytes), "r"(barrier)
      : "memory");
}
__device__ inline void copy_to_both(Word to, const void* from, int bytes, Word barrier) {
  asm volatile(
      "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster "
      "[%0], [%1], %2, [%3], %4;" ::"r"(to),
      "l"(from), "r"(bytes), "r"(barrier), "h"((unsigned short)3)
      : "memory");
}

typedef unsigned long long Operand;

// A matrix in shared memory with rows of 128 bytes, whose 16-byte chunks are permuted as offset_of() of
// ranking.cu does: groups of 8 rows are 1024 bytes apart (bits 32 to 45, in units of 16 bytes), and 1 in bits
// 62 and 63 names the permutation. `address` is a multiple of 1024.
__device__ inline Operand operand_at(Word address) {
  return (Operand)((address & 0x3ffff) >> 4) | 1ull << 16 | 64ull << 32 | 1ull << 62;
}
constexpr int kOperandStep = 2;  // to the next 16 coordinates: 32 bytes, in units of 16 bytes

// Sums of a thread, of 64 rows x 256 keys that a warpgroup compares: fragments of 2 rows x 2 keys like those
// of mma.sync, one for every 8 keys; sums[i] belongs to keys 64 i to 64 i + 63.
typedef float WarpgroupSums[4][32];

// Keeps the compiler from moving accesses to the sums across this line: products change them until they are
// awaited.
__device__ inline void pin(WarpgroupSums& sums) {
#pragma unroll
  for (int i = 0; i < 4; ++i)
#pragma unroll
    for (int e = 0; e < 32; ++e) asm volatile("" : "+f"(sums[i][e])::"memory");
}
// Orders earlier accesses to the sums before the next products.
__device__ inline void begin_products(WarpgroupSums& sums) {
  pin(sums);
  asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
}
// Ends a group of products.
__device__ inline void commit_products() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }
// Waits until at most `pending` groups of products are unfinished.
template <int pending>
__device__ inline void await_products() {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(pending) : "memory");
}

#define EIGHT_SUMS(i, e)                                                                                    \
  "+f"(sums[i][e]), "+f"(sums[i][e + 1]), "+f"(sums[i][e + 2]), "+f"(sums[i][e + 3]), "+f"(sums[i][e + 4]), \
      "+f"(sums[i][e + 5]), "+f"(sums[i][e + 6]), "+f"(sums[i][e + 7])
#define ALL_SUMS(i) EIGHT_SUMS(i, 0), EIGHT_SUMS(i, 8), EIGHT_SUMS(i, 16), EIGHT_SUMS(i, 24)

// Starts to add 64 x 256 scalar products of 16 coordinates to the sums of a warpgroup.
__device__ inline void add_products(WarpgroupSums& sums, Operand queries, Operand keys) {
  asm volatile(
      "{\n"
      ".reg .pred adds;\n"
      "setp.eq.u32 adds, 0, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n256k16.f32.f16.f16 "
      "{%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15,"
      "%16,%17,%18,%19,%20,%21,%22,%23,%24,%25,%26,%27,%28,%29,%30,%31,"
      "%32,%33,%34,%35,%36,%37,%38,%39,%40,%41,%42,%43,%44,%45,%46,%47,"
      "%48,%49,%50,%51,%52,%53,%54,%55,%56,%57,%58,%59,%60,%61,%62,%63,"
      "%64,%65,%66,%67,%68,%69,%70,%71,%72,%73,%74,%75,%76,%77,%78,%79,"
      "%80,%81,%82,%83,%84,%85,%86,%87,%88,%89,%90,%91,%92,%93,%94,%95,"
      "%96,%97,%98,%99,%100,%101,%102,%103,%104,%105,%106,%107,%108,%109,%110,%111,"
      "%112,%113,%114,%115,%116,%117,%118,%119,%120,%121,%122,%123,%124,%125,%126,%127}, "
      "%128, %129, adds, 1, 1, 0, 0;\n"
      "}"
      : ALL_SUMS(0), ALL_SUMS(1), ALL_SUMS(2), ALL_SUMS(3)
      : "l"(queries), "l"(keys));
}

#undef ALL_SUMS
#undef EIGHT_SUMS
