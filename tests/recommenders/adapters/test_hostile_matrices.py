"""Matrices from files that nobody vouches for: no code in them is run, no index in them is followed."""

from __future__ import annotations

import pickle
import zipfile
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse

from trueval.data import size_limits
from trueval.errors import DataError
from trueval.recommenders.matrix_files import read_matrices


class Trap:
    """Leaves a mark where it is unpickled."""

    def __init__(self, mark: Path) -> None:
        self.mark = mark

    def __reduce__(self) -> tuple[object, tuple[str, str]]:
        return (open, (str(self.mark), "w"))


@pytest.mark.parametrize("suffix", [".npy", ".npz"])
def test_pickles_are_not_read(tmp_path: Path, suffix: str) -> None:
    mark, path = tmp_path / "mark", tmp_path / f"scores{suffix}"
    objects = np.array([[Trap(mark)]], dtype=object)
    if suffix == ".npy":
        np.save(path, objects, allow_pickle=True)
    else:
        np.savez(path, scores=objects)
    for _ in range(2):  # the second time, nothing but a pickle
        with pytest.raises(DataError):
            read_matrices(path, names=("scores",))
        assert not mark.exists()
        path.write_bytes(pickle.dumps(Trap(mark)))


def test_a_sparse_file_with_objects(tmp_path: Path) -> None:
    mark, path = tmp_path / "mark", tmp_path / "scores.npz"
    np.savez(path, format=np.array(Trap(mark), dtype=object), data=np.ones(1), shape=np.array([1, 1]))
    with pytest.raises(DataError):
        read_matrices(path, names=("scores",))
    assert not mark.exists()


@pytest.mark.parametrize("indices", [[0, 10**6], [0, -5]])
def test_indices_outside_the_matrix(tmp_path: Path, indices: list[int]) -> None:
    path = tmp_path / "scores.npz"
    sparse.save_npz(path, sparse.csr_array(np.eye(2)))
    with np.load(path) as told:
        parts = dict(told) | {"indices": np.array(indices, dtype=np.int32)}
    np.savez(path, **parts)
    with pytest.raises(DataError, match=r"could not be read|cannot be read"):
        read_matrices(path, names=("scores",))


def test_matrices_that_unpack_to_too_much(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(size_limits, "_ALWAYS", 1_000_000)
    path = tmp_path / "scores.npz"
    np.savez_compressed(path, scores=np.zeros((1000, 1000)))
    with pytest.raises(DataError, match="unpacks to more than it may"):
        read_matrices(path, names=("scores",))


def test_broken_archives(tmp_path: Path) -> None:
    path = tmp_path / "scores.npz"
    np.savez_compressed(path, scores=np.arange(12.0).reshape(3, 4))
    raw = path.read_bytes()
    for place in range(0, len(raw), 3):
        path.write_bytes(raw[:place] + bytes([raw[place] ^ 0x55]) + raw[place + 1 :])
        try:
            read_matrices(path, names=("scores",))
        except DataError as error:
            assert error.where == str(path)  # noqa: PT017
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(
            "scores.npy", b"\x93NUMPY\x01\x00v\x00{'descr': '<f8', 'fortran_order': False, 'shape': (9**99,)}"
        )
    with pytest.raises(DataError):
        read_matrices(path, names=("scores",))
