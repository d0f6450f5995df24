"""Labels of buckets: integers that Spark's hash partitioning spreads evenly over the shuffle partitions."""

from __future__ import annotations

_SEED = 42
_MASK = 0xFFFFFFFF


def murmur3(value: int) -> int:
    """Spark's `hash` of one int: Murmur3, 32 bits, signed.

    >>> murmur3(0), murmur3(1), murmur3(42)
    (933211791, -559580957, 29417773)
    """
    k = (value * 0xCC9E2D51) & _MASK
    k = (((k << 15) | (k >> 17)) * 0x1B873593) & _MASK
    h = _SEED ^ k
    h = ((h << 13) | (h >> 19)) & _MASK
    h = (h * 5 + 0xE6546B64) & _MASK
    h ^= 4
    h = ((h ^ (h >> 16)) * 0x85EBCA6B) & _MASK
    h = ((h ^ (h >> 13)) * 0xC2B2AE35) & _MASK
    h ^= h >> 16
    return h - (1 << 32) if h >= 1 << 31 else h


def bucket_labels(n_buckets: int) -> tuple[int, ...]:
    """For each bucket i the smallest label that Spark sends to partition i of `n_buckets`.

    They also cover any number of partitions that divides `n_buckets`. Label 0 is always among them.

    >>> [murmur3(label) % 4 for label in bucket_labels(4)]
    [0, 1, 2, 3]
    """
    labels: dict[int, int] = {}
    label = 0
    while len(labels) < n_buckets:
        labels.setdefault(murmur3(label) % n_buckets, label)
        label += 1
    return tuple(labels[bucket] for bucket in range(n_buckets))
