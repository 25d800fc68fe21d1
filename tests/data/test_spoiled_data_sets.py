"""Folders of known data sets whose files hold something else: a log, or one of trueval's errors."""

from __future__ import annotations

import pytest
from spoiled_texts import TEXTS

from trueval.data.items import read_items
from trueval.data.read import read, read_pair

_KUAIREC = b"user_id,video_id,play_duration,video_duration,time,date,timestamp,watch_ratio\n"
_R3 = "ydata-ymusic-rating-study-v1_0-{}.txt"
# The files of each data set, with what its reader recognises it by.
FOLDERS = {
    "MovieLens 100K": {"u.data": b"", "u.item": b"", "u.user": b""},
    "MovieLens 1M": {"ratings.dat": b"", "movies.dat": b"", "users.dat": b""},
    "MovieLens 20M": {"ratings.csv": b"userId,movieId,rating,timestamp\n", "movies.csv": b""},
    "CM100k": {"data.txt": b"", "items.txt": b"", "users.txt": b""},
    "Coat": {
        "train.ascii": b"", "test.ascii": b"", "user_item_features/user_features.ascii": b"",
        "user_item_features/user_features_map.txt": b"", "user_item_features/item_features.ascii": b"",
    },
    "Yahoo! R3": {_R3.format("train"): b"", _R3.format("test"): b""},
    "KuaiRec": {
        "big_matrix.csv": _KUAIREC, "small_matrix.csv": _KUAIREC, "user_features.csv": b"", "item_categories.csv": b"",
    },
    "Last.fm": {"user_artists.dat": b"", "artists.dat": b""},
    "Jester": {"jester-1.csv": b"1" + b",99" * 100 + b"\n"},
    "Netflix": {"combined_data_1.txt": b"", "movie_titles.csv": b""},
    "RecBole": {"x.inter": b"user_id:token\titem_id:token\n", "x.item": b"", "x.user": b""},
}  # fmt: skip


@pytest.mark.parametrize("name", FOLDERS)
def test_no_content_breaks_a_data_set(name, tmp_path, assert_result_or_refused):
    refused = 0
    for number, text in enumerate(TEXTS.values()):
        folder = tmp_path / f"[{number}]*"  # no pattern either
        for file, head in FOLDERS[name].items():
            (folder / file).parent.mkdir(parents=True, exist_ok=True)
            (folder / file).write_bytes(head + text)
        sources = [(reader, folder) for reader in (read, read_pair, read_items)]
        for reader, source in [*sources, *((read, folder / file) for file in FOLDERS[name])]:
            refused += assert_result_or_refused(reader, source) is not None
    assert refused
