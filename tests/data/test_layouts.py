"""Known data sets: the real ones that are at hand, small copies of the layout of the others."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from trueval.data.layouts import LAYOUTS, layout_of
from trueval.data.read import read, read_pair
from trueval.errors import DataError, DefinitionError

Folder = Callable[[str], Path]


def genres(items: pl.DataFrame | None) -> set[str]:
    assert items is not None
    return set(items["aspects"].explode().drop_nulls())


# --- real data ---------------------------------------------------------------------------------------------------


@pytest.mark.data
def test_movielens_1m(data_folder: Folder) -> None:
    folder = data_folder("ml-1m")
    log = read(folder)
    assert (len(log), log.n_users, log.n_items) == (1_000_209, 6040, 3706)
    assert log.items is not None
    assert log.users is not None
    assert (len(log.items), len(log.users)) == (3883, 6040)
    assert len(genres(log.items)) == 18
    assert log.frame.row(0) == (1, 1193, 5.0, 978300760)
    assert log.items.row(0) == (1, "Toy Story (1995)", ["Animation", "Children's", "Comedy"])
    assert log.items.filter(pl.col("item") == 73)["title"].item() == "Misérables, Les (1995)"
    assert log.users.row(3) == (4, "M", 45, "executive/managerial", "02460")
    assert not log.users["occupation"].null_count()
    assert read(folder / "ratings.dat").frame.equals(log.frame)


@pytest.mark.data
def test_movielens_100k(data_folder: Folder) -> None:
    folder = data_folder("ml-100k")
    log = read(folder)
    assert (len(log), log.n_users, log.n_items) == (100_000, 943, 1682)
    assert log.items is not None
    assert log.users is not None
    assert log.items.row(0) == (1, "Toy Story (1995)", ["Animation", "Children's", "Comedy"])
    published = {line.split("|")[0] for line in (folder / "u.genre").read_text().split() if "|" in line}
    assert genres(log.items) == published
    assert len(published) == 19
    assert log.users.row(0) == (1, 24, "M", "technician", "85711")
    assert read(folder / "u.data").frame.equals(log.frame)


@pytest.mark.data
def test_cm100k(data_folder: Folder) -> None:
    folder = data_folder("cm100k")
    log = read(folder)
    assert (len(log), log.n_users, log.n_items) == (103_584, 1054, 1084)
    assert log.frame["known"].sum() == 11_594
    assert read(folder / "data.txt").frame.equals(log.frame)
    known, everything = read_pair(folder)
    assert (len(known), len(everything)) == (11_594, 103_584)
    assert known.frame["known"].min() == 1
    assert everything.items is not None
    assert len(everything.items) == 1084


# --- layouts that are not at hand --------------------------------------------------------------------------------


def test_movielens_10m(tmp_path: Path) -> None:
    (tmp_path / "ratings.dat").write_text("1::122::5::838985046\n2::185::4.5::838983525\n")
    (tmp_path / "movies.dat").write_text(
        "122::Star Wars: Episode IV::Action|Sci-Fi\n185::Amélie::Comedy\n3::Nothing::(no genres listed)\n",
        encoding="utf-8",
    )
    log = read(tmp_path)
    assert log.frame.rows() == [(1, 122, 5.0, 838985046), (2, 185, 4.5, 838983525)]
    assert log.users is None
    assert log.items is not None
    assert log.items.rows() == [
        (122, "Star Wars: Episode IV", ["Action", "Sci-Fi"]),
        (185, "Amélie", ["Comedy"]),
        (3, "Nothing", []),
    ]


def test_movielens_csv(tmp_path: Path) -> None:
    (tmp_path / "ratings.csv").write_text("userId,movieId,rating,timestamp\n1,2,3.5,1112486027\n2,9,4,1112484676\n")
    (tmp_path / "movies.csv").write_text(
        'movieId,title,genres\n2,Jumanji (1995),Adventure|Children\n9,"President, The ""x""",(no genres listed)\n'
    )
    log = read(tmp_path, name="ml-25m")
    assert log.name == "ml-25m"
    assert log.frame.rows() == [(1, 2, 3.5, 1112486027), (2, 9, 4.0, 1112484676)]
    assert log.items is not None
    assert log.items.rows() == [
        (2, "Jumanji (1995)", ["Adventure", "Children"]),
        (9, 'President, The "x"', []),
    ]


def test_movielens_100k_folds(tmp_path: Path) -> None:
    for name in ("u1.base", "u1.test", "ua.base"):
        (tmp_path / name).write_text("1\t2\t3\t874965758\n")
        assert read(tmp_path / name).frame.rows() == [(1, 2, 3.0, 874965758)]


@pytest.mark.parametrize(
    ("name", "text"),
    [("ratings.dat", "1::2::x::4\n"), ("ratings.dat", "1::2::3::4::5\n"), ("ratings.dat", "1::2::3\n")],
)
def test_broken_movielens(tmp_path: Path, name: str, text: str) -> None:
    (tmp_path / name).write_text("1::2::3::4\n" + text)
    (tmp_path / "movies.dat").write_text("2::A::B\n")
    with pytest.raises(DataError):
        read(tmp_path)


def coat(folder: Path, *, features: bool = True) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    train = np.array([[5, 0, 3], [0, 0, 1]])
    test = np.array([[0, 2, 4], [1, 0, 0]])
    propensities = np.array([[0.5, 0.1, 0.2], [0.3, 0.4, 0.25]])
    np.savetxt(folder / "train.ascii", train, fmt="%d")
    np.savetxt(folder / "test.ascii", test, fmt="%d")
    np.savetxt(folder / "propensities.ascii", propensities)
    if features:
        sub = folder / "user_item_features"
        sub.mkdir()
        np.savetxt(sub / "user_features.ascii", [[1, 0, 0, 1], [0, 1, 0, 0]], fmt="%d")
        np.savetxt(sub / "item_features.ascii", [[1, 0], [1, 1], [0, 0]], fmt="%d")
        (sub / "user_features_map.txt").write_text("gender:men\ngender:women\nage:20-30\nage:over 60\n")
    return train, test, propensities


def test_coat(tmp_path: Path) -> None:
    train, test, propensities = coat(tmp_path)
    log, random = read_pair(tmp_path)
    for part, matrix in ((log, train), (random, test)):
        rebuilt = np.zeros_like(matrix)
        for user, item, value in part.frame.select("user", "item", "value").rows():
            rebuilt[user, item] = value
        assert np.array_equal(rebuilt, matrix)
    for user, item, propensity in log.frame.select("user", "item", "propensity").rows():
        assert propensity == propensities[user, item]
    assert not random.has("propensity")
    assert read(tmp_path).frame.equals(log.frame)
    shared = log.frame.join(random.frame, on=["user", "item"])
    assert shared.select("user", "item").rows() == [(0, 2)]
    assert log.users is not None
    assert log.users.rows() == [(0, "men", "over 60"), (1, "women", None)]
    assert log.users.columns == ["user", "gender", "age"]
    assert log.items is not None
    assert log.items["aspects"].to_list() == [["feature 0"], ["feature 0", "feature 1"], []]


def test_coat_without_features_and_with_another_shape(tmp_path: Path) -> None:
    coat(tmp_path, features=False)
    assert read(tmp_path).users is None
    np.savetxt(tmp_path / "propensities.ascii", np.ones((2, 2)))
    with pytest.raises(DataError, match="differ in shape"):
        read(tmp_path)
    (tmp_path / "propensities.ascii").unlink()
    (tmp_path / "train.ascii").write_text("1 2 3\n1 x 3\n")
    with pytest.raises(DataError, match="matrix of numbers"):
        read(tmp_path)


def test_lastfm(tmp_path: Path) -> None:
    (tmp_path / "user_artists.dat").write_bytes(b"userID\tartistID\tweight\r\n2\t51\t13883\r\n2\t52\t11690\r\n")
    (tmp_path / "artists.dat").write_text(
        'id\tname\turl\tpictureURL\n51\tDuran "Duran\thttp://x\thttp://y\n52\tBjörk\thttp://x\t\n', encoding="utf-8"
    )
    log = read(tmp_path)
    assert log.frame.rows() == [(2, 51, 13883.0), (2, 52, 11690.0)]
    assert log.items is not None
    assert log.items.rows() == [(51, 'Duran "Duran'), (52, "Björk")]
    assert read(tmp_path / "user_artists.dat").frame.equals(log.frame)


def test_yahoo_r3(tmp_path: Path) -> None:
    stem = "ydata-ymusic-rating-study-v1_0-"
    (tmp_path / f"{stem}train.txt").write_text("1\t14\t5\n2\t15\t1\n3\t14\t2\n")
    (tmp_path / f"{stem}test.txt").write_text("1\t20\t3\n2\t14\t4\n")
    assert len(read(tmp_path)) == 3
    log, random = read_pair(tmp_path)
    assert log.frame["user"].to_list() == [1, 2]
    assert random.frame.rows() == [(1, 20, 3.0), (2, 14, 4.0)]
    assert len(read(tmp_path / f"{stem}test.txt")) == 2


def test_jester(tmp_path: Path) -> None:
    ratings = np.full((3, 100), 99.0)
    ratings[0, 4], ratings[0, 99], ratings[2, 0] = -7.82, 10, 0.0
    counts = (ratings != 99).sum(axis=1, keepdims=True)
    np.savetxt(tmp_path / "jester-data-1.csv", np.hstack([counts, ratings])[:2], delimiter=",", fmt="%g")
    np.savetxt(tmp_path / "jester-data-2.csv", np.hstack([counts, ratings])[2:], delimiter=",", fmt="%g")
    assert read(tmp_path).frame.rows() == [(1, 5, -7.82), (1, 100, 10.0), (3, 1, 0.0)]
    assert len(read(tmp_path / "jester-data-1.csv")) == 2


HEADER = "user_id,video_id,play_duration,video_duration,time,date,timestamp,watch_ratio\n"


def test_kuairec(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "KuaiRec 2.0" / "data"
    folder.mkdir(parents=True)
    line = "0,3649,13838,10867,2020-07-05 00:08:23.438,20200705,1593878903.438,1.273397\n"
    (folder / "big_matrix.csv").write_text(HEADER + line)
    (folder / "small_matrix.csv").write_text(HEADER + line + "1,2,3,4,,,,0.75\n")
    (folder / "item_categories.csv").write_text('video_id,feat\n2,[8]\n3649,"[27, 9]"\n')
    (folder / "user_features.csv").write_text("user_id,user_active_degree\n0,high_active\n1,full_active\n")
    log = read(tmp_path)
    assert log.frame.rows() == [(0, 3649, 1.273397, 1593878903.438, 13838, 10867)]
    assert log.items is not None
    assert log.items["aspects"].to_list() == [["8"], ["27", "9"]]
    assert log.users is not None
    assert log.users.columns == ["user", "user_active_degree"]
    log, dense = read_pair(tmp_path)
    assert (len(log), len(dense)) == (1, 2)
    assert not dense.has("time")
    assert "1 rows have no time" in capsys.readouterr().err
    assert len(read(folder / "big_matrix.csv")) == 1
    assert read(tmp_path, columns={"value": "play_duration"}).frame["value"].to_list() == [13838.0]


def test_netflix(tmp_path: Path) -> None:
    (tmp_path / "combined_data_1.txt").write_text(
        "1:\n1488844,3,2005-09-06\n822109,5,2005-05-13\n2:\n1488844,4,2005-10-19\n"
    )
    (tmp_path / "combined_data_2.txt").write_text("3:\n7,1,2005-01-01\n")
    (tmp_path / "movie_titles.csv").write_bytes(
        "1,2003,Dinosaur, Planet\n2,NULL,Café\n3,1997,Character\n".encode("latin-1")
    )
    log = read(tmp_path)
    assert log.frame.select("user", "item", "value").rows() == [
        (1488844, 1, 3.0),
        (822109, 1, 5.0),
        (1488844, 2, 4.0),
        (7, 3, 1.0),
    ]
    times = log.frame["time"].to_list()
    assert times[0] > times[1]
    assert log.items is not None
    assert log.items.rows() == [(1, "Dinosaur, Planet"), (2, "Café"), (3, "Character")]
    assert len(read(tmp_path / "combined_data_2.txt")) == 1


def test_recbole(tmp_path: Path) -> None:
    (tmp_path / "ml.inter").write_text(
        "user_id:token\titem_id:token\trating:float\ttimestamp:float\n196\t007\t3\t881250949\n"
    )
    (tmp_path / "ml.item").write_text(
        "item_id:token\tmovie_title:token_seq\trelease_year:token\tclass:token_seq\n"
        "007\tToy Story\t1995\tAnimation Comedy\n8\tX\t1996\t\n"
    )
    (tmp_path / "ml.user").write_text("user_id:token\tage:float\tgender:token\n196\t49\tM\n")
    log = read(tmp_path)
    assert log.frame.rows() == [(196, "007", 3.0, 881250949)]
    assert log.items is not None
    assert log.items.to_dicts() == [
        {"item": "007", "title": "Toy Story", "release_year": "1995", "aspects": ["Animation", "Comedy"]},
        {"item": "8", "title": "X", "release_year": "1996", "aspects": []},
    ]
    assert log.users is not None
    assert log.users.to_dicts() == [{"user": 196, "age": 49.0, "gender": "M"}]
    (tmp_path / "other.inter").write_text("user_id:token\titem_id:token\n1\t2\n")
    with pytest.raises(DataError, match=r"several \.inter files"):
        read(tmp_path)


def test_folder_inside_a_folder(tmp_path: Path) -> None:
    inner = tmp_path / "ml-100k"
    inner.mkdir()
    (inner / "u.data").write_text("1\t2\t3\t4\n")
    assert len(read(tmp_path)) == 1
    other = tmp_path / "again"
    other.mkdir()
    (other / "u.data").write_text("1\t2\t3\t4\n")
    assert layout_of(tmp_path) is None  # two candidates: no guess


def test_sets_without_a_random_test_part(tmp_path: Path) -> None:
    (tmp_path / "u.data").write_text("1\t2\t3\t4\n")
    with pytest.raises(DefinitionError, match="needs a second table") as caught:
        read_pair(tmp_path)
    assert "Coat" in caught.value.do


def test_explicit_columns_pass_by_the_layout_of_a_file(tmp_path: Path) -> None:
    (tmp_path / "u.data").write_text("1\t2\t3\t4\n5\t6\t7\t8\n")
    assert read(tmp_path / "u.data", columns={"user": 1, "item": 0}).frame["user"].to_list() == [2, 6]


def test_layout_names_are_unique() -> None:
    assert len({layout.name for layout in LAYOUTS}) == len(LAYOUTS)
