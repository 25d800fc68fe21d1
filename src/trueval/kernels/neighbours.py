"""Nearest rows of a sparse matrix by cosine, and sums of its rows. Each row in turn, so memory stays small."""

from __future__ import annotations

import numpy as np

from trueval.kernels.jit import kernel


@kernel
def nearest_rows(start, column, value, t_start, t_row, t_value, norm, shrink, first, last, neighbour, similarity):
    """The most similar other rows of rows `first` to `last`, best first, equals by number.

    The matrix comes by rows and by columns (`t_…`). Similarity is dot / (norm · norm + shrink); rows with none above
    0 are no neighbours, and places without a neighbour stay -1.
    """
    k = neighbour.shape[1]
    dot = np.zeros(len(start) - 1)
    seen = np.zeros(len(start) - 1, np.bool_)
    touched = np.empty(len(start) - 1, np.int32)
    for r in range(first, last):
        number = 0
        for x in range(start[r], start[r + 1]):
            c = column[x]
            for y in range(t_start[c], t_start[c + 1]):
                other = t_row[y]
                if not seen[other]:
                    seen[other] = True
                    touched[number] = other
                    number += 1
                dot[other] += value[x] * t_value[y]
        filled = 0
        for n in range(number):
            other = touched[n]
            found = dot[other]
            dot[other] = 0.0
            seen[other] = False
            if other == r or found <= 0:
                continue
            alike = np.float32(found / (norm[r] * norm[other] + shrink))
            if filled == k and not (
                alike > similarity[r, k - 1] or (alike == similarity[r, k - 1] and other < neighbour[r, k - 1])
            ):
                continue
            place = filled if filled < k else k - 1
            while place > 0 and (
                alike > similarity[r, place - 1]
                or (alike == similarity[r, place - 1] and other < neighbour[r, place - 1])
            ):
                similarity[r, place] = similarity[r, place - 1]
                neighbour[r, place] = neighbour[r, place - 1]
                place -= 1
            similarity[r, place] = alike
            neighbour[r, place] = other
            filled = min(filled + 1, k)


@kernel
def sum_rows(start, row, weight, m_start, m_column, m_value, out):
    """out[r] = Σ weight · matrix[row] over the entries of r. The matrix comes by rows; columns of -1 are not there."""
    total = np.zeros(out.shape[1])
    for r in range(len(start) - 1):
        for c in range(total.size):  # to assign slices would take seconds to compile
            total[c] = 0.0
        for x in range(start[r], start[r + 1]):
            if row[x] < 0:
                continue
            for y in range(m_start[row[x]], m_start[row[x] + 1]):
                if m_column[y] >= 0:
                    total[m_column[y]] += weight[x] * m_value[y]
        for c in range(total.size):
            out[r, c] = total[c]
