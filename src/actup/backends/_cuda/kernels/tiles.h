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

// Which tiles of keys each tile of rows is compared with: those of the cells around its own.
struct Lists {
  const int* tiles;    // tiles of keys, cell after cell (lists, stride); null: all tiles, without cells
  const int* ends;     // where the tiles of each cell end in the list (lists, probes)
  const int* list_of;  // the list of each tile of rows
  int stride, probes;
};

// The tiles of rows (`block`) that one thread block works on, and the tiles of keys each is compared with.
// All thread blocks pass through the tiles of keys at the same time, so that a tile is read from memory
// once and then from the cache.
struct Walk {
  Lists lists;
  int first, last, blocks;
  int block, begin, end;
  int list = 0;
  int probe = 0, cell_end = 0;  // the cell of the list that is being searched, and where it ends

  __device__ Walk(const Lists& lists, int first, int last, int blocks)
      : lists(lists), first(first), last(last), blocks(blocks) {
    block = (int)blockIdx.x - (int)gridDim.x;
    next();
  }

  __device__ bool done() const { return block >= blocks; }
  __device__ int tile(int position) const {
    return lists.tiles ? lists.tiles[(size_t)list * lists.stride + position] : position;
  }

  __device__ void next() {
    block += gridDim.x;
    if (done()) return;
    begin = first;
    end = last;
    if (!lists.tiles) return;
    list = lists.list_of[block];
    end = max(first, min(last, end_of(lists.probes - 1)));
    probe = -1;
    cell_end = 0;
  }

  // Whether the tile at a position of the list, which only grows, is the first one of its cell in this walk.
  __device__ bool enters_cell(int position) {
    if (position < cell_end) return false;
    while (position >= cell_end) cell_end = end_of(++probe);
    return true;
  }

  // The number of the queries for this tile of rows and the cell that is being searched.
  __device__ size_t slot() const { return (size_t)block * lists.probes + probe; }

 private:
  __device__ int end_of(int probe) const { return lists.ends[(size_t)list * lists.probes + probe]; }
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
