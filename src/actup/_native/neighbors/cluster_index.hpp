// The index of cluster search: integer codes of the points, packed cluster by cluster.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>
#include <vector>

#include "common/buffer.hpp"
#include "common/parallel.hpp"
#include "neighbors/clusters.hpp"
#include "neighbors/codes.hpp"
#include "neighbors/compared_rows.hpp"
#include "neighbors/row_source.hpp"

namespace actup {

// The codes without the points.
class CodeIndex {
 public:
  // `columns` is the number of columns of the projection, 0 for as many as the data needs. `save_memory`
  // computes the codes twice instead of keeping two copies of them while the index is built.
  CodeIndex(const RowSource& points, int64_t columns, bool save_memory, uint64_t seed, int threads)
      : encoder_(points, columns, kMinKeptShare, seed, threads) {
    const int64_t wanted = Clusters::balanced_count(points.count());
    if (save_memory) {
      set_progress_range(0.3, 0.7);
      clusters_ = std::make_unique<Clusters>(points, encoder_, wanted, seed, threads);
      set_progress_range(0.7, 1);
      pack_points(threads, [&](const int32_t* members, int64_t count, int8_t* out) {
        encoder_.encode_rows(points, count, [&](int64_t at) { return members[at]; }, out);
      });
      return;
    }
    set_progress_range(0.3, 0.6);
    const Buffer<int8_t> codes = encoder_.encode(points, threads);
    set_progress_range(0.6, 1);
    clusters_ = std::make_unique<Clusters>(codes.data(), points.count(), encoder_, wanted, seed, threads);
    pack_points(threads, [&](const int32_t* members, int64_t count, int8_t* out) {
      for (int64_t at = 0; at < count; ++at) {
        std::memcpy(out + at * encoder_.stride(), codes.data() + members[at] * encoder_.stride(),
                    encoder_.stride());
      }
    });
  }

  const Encoder& encoder() const { return encoder_; }
  const Clusters& clusters() const { return *clusters_; }
  const PackedCodes& packed() const { return packed_; }

  // A position is the place of a packed point. A cluster's positions begin at first_position(cluster); the
  // last ones may be padding, with id -1.
  int32_t id_at(int64_t position) const { return ids_[position]; }
  int64_t positions() const { return static_cast<int64_t>(ids_.size()); }
  int64_t cluster_at(int64_t position) const { return cluster_of_block_[position / kCodeBlock]; }
  int64_t cluster_size(int64_t cluster) const {
    return clusters_->starts()[cluster + 1] - clusters_->starts()[cluster];
  }
  int64_t first_position(int64_t cluster) const { return first_block_[cluster] * kCodeBlock; }
  CodeBlocks cluster_codes(int64_t cluster) const {
    return packed_.view(first_block_[cluster], first_block_[cluster + 1]);
  }

 private:
  // Outliers may be clipped in the codes: candidates are compared again in the metric itself.
  static constexpr double kMinKeptShare = 0;
  template <class CodesOf>
  void pack_points(int threads, const CodesOf& codes_of) {
    const int64_t clusters = clusters_->count();
    first_block_.assign(clusters + 1, 0);
    for (int64_t cluster = 0; cluster < clusters; ++cluster) {
      first_block_[cluster + 1] =
          first_block_[cluster] + (cluster_size(cluster) + kCodeBlock - 1) / kCodeBlock;
    }
    packed_ = PackedCodes(first_block_[clusters], encoder_.groups(), encoder_.offset());
    ids_.assign(first_block_[clusters] * kCodeBlock, -1);
    cluster_of_block_.resize(first_block_[clusters]);
    parallel_ranges(clusters, 8, threads, [&](int64_t begin, int64_t end) {
      for (int64_t cluster = begin; cluster < end; ++cluster) pack_cluster(codes_of, cluster);
    });
  }

  template <class CodesOf>
  void pack_cluster(const CodesOf& codes_of, int64_t cluster) {
    std::vector<int8_t> codes(kCodeBlock * encoder_.stride());
    const int64_t end = clusters_->starts()[cluster + 1];
    int64_t begin = clusters_->starts()[cluster];
    for (int64_t block = first_block_[cluster]; block < first_block_[cluster + 1];
         ++block, begin += kCodeBlock) {
      const int64_t count = std::min(kCodeBlock, end - begin);
      const int32_t* const members = clusters_->order().data() + begin;
      std::copy_n(members, count, ids_.data() + block * kCodeBlock);
      codes_of(members, count, codes.data());
      packed_.pack(block, count, [&](int64_t point) { return codes.data() + point * encoder_.stride(); });
      cluster_of_block_[block] = static_cast<int32_t>(cluster);
    }
  }

  Encoder encoder_;
  std::unique_ptr<Clusters> clusters_;
  PackedCodes packed_;
  std::vector<int64_t> first_block_;  // of each cluster
  std::vector<int32_t> cluster_of_block_;
  std::vector<int32_t> ids_;  // by position
};

// A base class of ClusterIndex, so that it is constructed before the codes, which are computed from it.
struct IndexedPoints {
  ComparedRows compared;
};

// The codes and the points, whose memory the caller keeps alive.
class ClusterIndex : IndexedPoints, public CodeIndex {
 public:
  ClusterIndex(const TypedRows& points, const RowMetric& row_metric, int64_t columns, bool save_memory,
               uint64_t seed, int threads)
      : IndexedPoints{ComparedRows(points, row_metric, threads)},
        CodeIndex(compared, columns, save_memory, seed, threads) {}

  const ComparedRows& points() const { return compared; }
};

}  // namespace actup
