"""The figures the paper prints, in per cent, to stand beside ours (Draganov et al., IJCAI 2023)."""

from __future__ import annotations

from statistics import mean

# kNN accuracy and V-measure; columns as methods.COLUMNS
SWITCHES = {
    "mnist": {
        "tSNE": ((95.1, 70.9), (95.2, 70.7), (96.0, 73.9), (94.9, 70.8), (94.8, 80.7), (95.1, 73.2)),
        "GDR_tsne": ((96.1, 67.8), (95.6, 61.3), (96.1, 63.0), (96.1, 68.4), (96.3, 72.7), (96.1, 68.8)),
        "UMAP": ((95.4, 82.5), (96.6, 84.6), (94.4, 82.2), (96.7, 82.5), (96.6, 83.5), (96.5, 82.2)),
        "GDR_umap": ((96.2, 84.0), (96.4, 82.1), (96.7, 85.2), (96.6, 85.1), (96.5, 83.3), (95.8, 81.2)),
    },
    "single_cell": {
        "tSNE": ((42.9, 59.4), (43.0, 59.3), (46.6, 61.7), (43.0, 59.4), (40.8, 58.5), (43.3, 59.6)),
        "GDR_tsne": ((45.1, 60.4), (44.8, 60.9), (45.3, 60.6), (44.9, 60.7), (42.1, 59.0), (46.4, 61.4)),
        "UMAP": ((41.7, 59.7), (45.0, 61.7), (41.5, 59.5), (44.1, 61.0), (46.0, 62.4), (42.3, 59.5)),
        "GDR_umap": ((40.4, 58.7), (44.8, 61.7), (44.2, 60.9), (44.9, 61.5), (39.8, 57.7), (42.9, 60.0)),
    },
}

# mean and standard deviation over the six columns: (accuracy), (V)
ROW_MEANS = {
    "fashion_mnist": {
        "tSNE": ((80.1, 0.7), (54.2, 4.1)),
        "GDR_tsne": ((78.6, 0.6), (51.7, 4.7)),
        "UMAP": ((78.0, 0.5), (60.3, 1.4)),
        "GDR_umap": ((77.3, 0.7), (61.7, 0.8)),
    },
    "coil100": {
        "tSNE": ((63.2, 4.2), (82.9, 1.8)),
        "GDR_tsne": ((77.2, 4.4), (85.7, 2.6)),
        "UMAP": ((80.8, 3.3), (89.2, 0.9)),
        "GDR_umap": ((77.4, 3.4), (91.0, 0.6)),
    },
    "single_cell": {
        "tSNE": ((43.3, 1.9), (59.7, 1.1)),
        "GDR_tsne": ((44.8, 1.4), (60.5, 0.8)),
        "UMAP": ((43.4, 1.9), (60.6, 1.3)),
        "GDR_umap": ((42.8, 2.2), (60.1, 1.6)),
    },
    "cifar10": {
        "tSNE": ((28.7, 2.5), (8.5, 0.3)),
        "GDR_tsne": ((25.6, 1.1), (8.0, 3.7)),
        "UMAP": ((24.2, 1.1), (7.6, 0.4)),
        "GDR_umap": ((23.8, 1.1), (8.1, 0.6)),
    },
}

# mean deviation from the row mean, over the four methods; columns as methods.COLUMNS
COLUMN_MEANS = {
    "fashion_mnist": ((-0.7, -0.4, -0.3, 0.4, -0.8, 0.7), (-1.3, 1.5, -0.8, -1.6, -0.8, 0.4)),
    "coil100": ((0.8, -2.8, 3.7, 2.3, 1.1, 1.8), (0.0, -0.2, 1.0, 0.9, -0.5, 0.7)),
    "cifar10": ((-0.3, -1.0, -0.2, 0.8, -1.3, -0.1), (-0.3, -0.3, -0.3, 0.1, -0.4, -0.1)),
}


def column_means(data: str) -> list[list[float]] | tuple | None:
    """Mean deviations from the row means, of accuracy and V, over the four methods: printed or from cells."""
    if data not in SWITCHES:
        return COLUMN_MEANS.get(data)
    methods = [list(zip(*cells, strict=True)) for cells in SWITCHES[data].values()]
    return [
        [mean(row[which][column] - mean(row[which]) for row in methods) for column in range(6)]
        for which in (0, 1)
    ]
