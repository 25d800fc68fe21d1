"""The catalogue of known data sets, and the folder in which they are kept."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from pathlib import Path

from trueval.errors import DefinitionError, suggest

_GROUPLENS = "https://files.grouplens.org/datasets"
_RESEARCH = "research use, no redistribution, cite the authors (see README)"


@dataclass(frozen=True)
class Dataset:
    """A data set: where it comes from, how its file is checked, under what terms it may be used.

    `checksum` is `md5:…` or `sha256:…`, or the address of a file that holds the digest. Without `url` a
    person has to fetch the set (registration, or a format to convert), as `how` says.
    """

    name: str
    about: str
    licence: str
    megabytes: float
    url: str | None = None
    checksum: str | None = None
    how: str = ""

    @property
    def checked_by(self) -> str:
        """How what is fetched is checked.

        >>> dataset("ml-1m").checked_by, dataset("coat").checked_by
        ('md5', 'no checksum')
        """
        if self.url is None:
            return "by you"
        if self.checksum is None:
            return "no checksum"
        kind = self.checksum.partition(":")[0]
        return "published md5" if kind == "https" else kind


def _movielens(name: str, about: str, megabytes: float, checksum: str | None = None) -> Dataset:
    url = f"{_GROUPLENS}/movielens/{name}.zip"
    return Dataset(name, about, _RESEARCH, megabytes, url, f"md5:{checksum}" if checksum else f"{url}.md5")


_ALL = (
    _movielens("ml-100k", "MovieLens: 100,000 ratings, genres, demographics", 5, "0e33842e24a9c977be4e0107933c0723"),
    _movielens("ml-1m", "MovieLens: 1 million ratings, genres, demographics", 6, "c4d9eecfca2ab87c1945afe126590906"),
    _movielens("ml-10m", "MovieLens: 10 million ratings, genres", 63, "ce571fd55effeba0271552578f2648bd"),
    _movielens("ml-20m", "MovieLens: 20 million ratings, genres", 190, "cd245b17a1ae2cc31bb14903e1204af3"),
    _movielens("ml-25m", "MovieLens: 25 million ratings, genres", 250, "6b51fb2759a8657d3bfcbfc42b592ada"),
    _movielens("ml-32m", "MovieLens: 32 million ratings, genres", 239, "d472be332d4daa821edc399621853b57"),
    # This one changes from time to time, and its published digest with it.
    _movielens("ml-latest-small", "MovieLens: 100,000 recent ratings, genres", 1),
    Dataset(
        "lastfm",
        "Last.fm HetRec 2011: play counts of artists, 1,892 users",
        "non-commercial use, cite the authors (see readme)",
        2.6,
        f"{_GROUPLENS}/hetrec2011/hetrec2011-lastfm-2k.zip",
        "md5:296d61afe4e8632b173fc2dd3be20ce2",
    ),
    Dataset(
        "coat",
        "Coat: 290 users, self-selected and uniformly sampled ratings, features, propensities",
        "research use, cite the authors (see README)",
        0.5,
        "https://www.cs.cornell.edu/~schnabts/mnar/coat.zip",  # its publishers give no checksum
    ),
    Dataset(
        "kuairec",
        "KuaiRec: watched videos, with a nearly complete block of users and videos",
        "CC BY-SA 4.0",
        432,
        "https://zenodo.org/records/18164998/files/KuaiRec.zip",
        "md5:261550d472c48eff4990fb13c0e5bcf7",
    ),
    Dataset(
        "cm100k",
        "CM100k: 103,584 ratings of uniformly sampled music, and whether it was known",
        "research use, cite the authors",
        2.4,
        how="get data.txt, items.txt and users.txt from http://ir.ii.uam.es/cm100k",
    ),
    Dataset(
        "yahoo-r3",
        "Yahoo! R3: self-selected and uniformly sampled ratings of music",
        "research use after registration",
        2,
        how="ask for R3 at https://webscope.sandbox.yahoo.com and unpack it",
    ),
    Dataset(
        "jester",
        "Jester 1: 4.1 million ratings of 100 jokes from -10 to 10",
        "research use, cite the authors",
        14,
        how="get jester_dataset_1_*.zip from https://eigentaste.berkeley.edu/dataset then save as .csv",
    ),
    Dataset(
        "netflix",
        "Netflix Prize: 100 million ratings with dates",
        "withdrawn by the publisher",
        2000,
        how="unpack a copy that holds combined_data_1.txt … combined_data_4.txt",
    ),
)

CATALOGUE: dict[str, Dataset] = {dataset.name: dataset for dataset in _ALL}


def dataset(name: str) -> Dataset:
    """A data set of the catalogue by name.

    >>> dataset("ml-1m").url
    'https://files.grouplens.org/datasets/movielens/ml-1m.zip'
    """
    if name not in CATALOGUE:
        raise DefinitionError("unknown data set", where="data sets", found=repr(name), do=suggest(name, CATALOGUE))
    return CATALOGUE[name]


def is_fetched(name: str, home: Path) -> bool:
    """Whether a data set is in a data home; an empty folder is none.

    >>> is_fetched("ml-1m", Path("nowhere"))
    False
    """
    folder = home / name
    return folder.is_dir() and any(folder.iterdir())


def data_home() -> Path:
    """The folder of downloaded data sets: TRUEVAL_HOME, else the platform's cache folder.

    >>> data_home().name != ""
    True
    """
    chosen = os.environ.get("TRUEVAL_HOME")
    if chosen:
        return Path(chosen).expanduser()
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "trueval"
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA", Path.home() / "AppData" / "Local")) / "trueval" / "Cache"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "trueval"
