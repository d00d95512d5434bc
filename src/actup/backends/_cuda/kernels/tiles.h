// The building blocks of a search over tiles: 16-bit products on tensor cores, asynchronous copies to shared
// memory, and the walk over the tiles.
#pragma once

typedef unsigned int Word;

__device__ inline Word shared_address(const void* p) { return (Word)__cvta_generic_to_shared(p); }

// Adds 16 x 8 scalar products of 16 coordinates to `sums`. multiply_first() starts the accumulators of the
// two rows at start0 and start1 instead.
__device__ inline void multiply(float* sums, const Word (&a)[4], Word b0, Word b1) {
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3},{%4,%5,%6,%7},{%8,%9},{%0,%1,%2,%3};"
      : "+f"(sums[0]), "+f"(sums[1]), "+f"(sums[2]), "+f"(sums[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}
__device__ inline void multiply_first(float* sums, const Word (&a)[4], Word b0, Word b1, float start0,
                                      float start1) {
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
      "{%0,%1,%2,%3},{%4,%5,%6,%7},{%8,%9},{%10,%10,%11,%11};"
      : "=f"(sums[0]), "=f"(sums[1]), "=f"(sums[2]), "=f"(sums[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1), "f"(start0), "f"(start1));
}
__device__ inline void load_matrix(Word address, Word& r0, Word& r1, Word& r2, Word& r3) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
               : "=r"(r0), "=r"(r1), "=r"(r2), "=r"(r3)
               : "r"(address)
               : "memory");
}
// Starts to copy 16 bytes to shared memory.
__device__ inline void copy_chunk(Word to, const void* from) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(to), "l"(from) : "memory");
}
// Ends a group of copies.
__device__ inline void commit_copies() { asm volatile("cp.async.commit_group;" ::: "memory"); }
// Waits until at most `pending` groups of copies are unfinished.
template <int pending>
__device__ inline void await_copies() {
  asm volatile("cp.async.wait_group %0;" ::"n"(pending) : "memory");
}

// The tiles of rows (`block`) that one thread block works on, and the tiles of keys each is compared with.
// All thread blocks pass through the tiles of keys at the same time, so that a tile is read from memory
// once and then from the cache.
struct Walk {
  const int* lists;    // tiles of keys (lists, stride), or null: all tiles
  const int* counts;   // lengths of the lists
  const int* list_of;  // the list of each tile of rows
  int stride, first, last, blocks;
  int block, begin, end;
  int list = 0;

  __device__ Walk(const int* lists, const int* counts, const int* list_of, int stride, int first, int last,
                  int blocks)
      : lists(lists),
        counts(counts),
        list_of(list_of),
        stride(stride),
        first(first),
        last(last),
        blocks(blocks) {
    block = (int)blockIdx.x - (int)gridDim.x;
    next();
  }

  __device__ bool done() const { return block >= blocks; }
  __device__ int tile(int position) const {
    return lists ? lists[(size_t)list * stride + position] : position;
  }

  __device__ void next() {
    block += gridDim.x;
    if (done()) return;
    if (lists) list = list_of[block];
    begin = first;
    end = lists ? max(first, min(last, counts[list])) : last;
  }
};

// The tiles of a walk one by one, to copy them before they are needed.
struct Prefetch {
  Walk walk;
  int position;

  __device__ explicit Prefetch(const Walk& start) : walk(start) { enter(); }
  __device__ int tile() const { return walk.tile(position); }
  __device__ void next() {
    if (++position < walk.end) return;
    walk.next();
    enter();
  }

 private:
  __device__ void enter() {
    while (!walk.done() && walk.begin >= walk.end) walk.next();
    position = walk.begin;
  }
};
