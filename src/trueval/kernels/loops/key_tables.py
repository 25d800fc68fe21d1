"""Compiled: tables of 128-bit keys, in which ids of any kind are looked up."""

from __future__ import annotations

import numpy as np

from trueval.kernels.jit import loop, within


@within
def seek(left, right, table_key, table_row):
    """Slot of a 128-bit key in an open-addressing table: where it is, or the empty slot where it belongs."""
    mixed = (left ^ (right * np.uint64(0x9E3779B97F4A7C15))) * np.uint64(0xD6E8FEB86659FD93)
    slot = (mixed ^ (mixed >> np.uint64(32))) & np.uint64(table_row.size - 1)
    while table_row[slot] >= 0 and not (table_key[slot, 0] == left and table_key[slot, 1] == right):
        slot = (slot + np.uint64(1)) & np.uint64(table_row.size - 1)
    return slot


@loop
def first_rows(left, right, begin, known, table_key, table_row, rows):
    """Go on from row `begin`: rows at which a 128-bit key occurs for the first time are added to the `known` ones.

    `table_row` of the table is a place in `rows`. Where the table is half full the work stops: `rows[-1]`, which is no
    place of its own, says at which row. Returns how many rows are known.
    """
    n = known
    for j in range(begin, left.size):
        slot = seek(left[j], right[j], table_key, table_row)
        if table_row[slot] >= 0:
            continue
        if 2 * n >= table_row.size:
            rows[rows.size - 1] = j
            return n
        table_key[slot, 0], table_key[slot, 1], table_row[slot] = left[j], right[j], n
        rows[n] = j
        n += 1
    rows[rows.size - 1] = left.size
    return n


@loop
def hash_table(left, right, table_key, table_row):
    """Fill an open-addressing table, empty (-1) before, with distinct 128-bit keys; its size is a power of two."""
    for j in range(left.size):
        slot = seek(left[j], right[j], table_key, table_row)
        table_key[slot, 0], table_key[slot, 1], table_row[slot] = left[j], right[j], j


@loop
def look_up_keys(left, right, table_key, table_row, out):
    """Codes of 128-bit keys; -1 for those not in the table."""
    for j in range(left.size):
        out[j] = table_row[seek(left[j], right[j], table_key, table_row)]


@loop
def code_integers(values, begin, known, limit, table, rows, out):
    """Go on from row `begin`: codes of whole numbers, in the order in which they are first seen.

    A slot of the `table` has a number and its code, from 1 on; 0 is an empty one. The rows at which numbers are new are
    noted in `rows`, from the first place on. Where `limit` codes are known and one more is needed, the work stops:
    `rows[-1]`, which is no place of its own, says at which row. Returns how many codes are known.
    """
    n = known
    last = np.uint64(table.shape[0] - 1)
    for j in range(begin, values.size):
        value = values[j]
        slot = ((np.uint64(value) * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(40)) & last
        while table[slot, 1] > 0 and table[slot, 0] != value:
            slot = (slot + np.uint64(1)) & last
        code = table[slot, 1]
        if code == 0:
            if n >= limit:
                rows[rows.size - 1] = j
                return n
            rows[n - known] = j
            n += 1
            code = n
            table[slot, 0], table[slot, 1] = value, code
        out[j] = code - 1
    rows[rows.size - 1] = values.size
    return n


@loop
def code_keys(left, right, longest, begin, known, limit, table, rows, out):
    """The same for 128-bit keys, of which a slot has both halves and the code.

    The work also stops where the length of a text, which the lower half of `left` is, is above `longest`.
    """
    n = known
    last = np.uint64(table.shape[0] - 1)
    for j in range(begin, left.size):
        one, other = left[j], right[j]
        mixed = (one ^ (other * np.uint64(0x9E3779B97F4A7C15))) * np.uint64(0xD6E8FEB86659FD93)
        slot = (mixed ^ (mixed >> np.uint64(32))) & last
        while table[slot, 2] > 0 and not (table[slot, 0] == one and table[slot, 1] == other):
            slot = (slot + np.uint64(1)) & last
        code = table[slot, 2]
        if code == 0:
            if n >= limit or (one & np.uint64(0xFFFFFFFF)) > longest:
                rows[rows.size - 1] = j
                return n
            rows[n - known] = j
            n += 1
            code = np.uint64(n)
            table[slot, 0], table[slot, 1], table[slot, 2] = one, other, code
        out[j] = np.int64(code) - 1
    rows[rows.size - 1] = left.size
    return n
