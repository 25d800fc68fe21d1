"""How often are the audit's answers right? python benchmarks/claims_table.py [--rounds 1] [--cm100k FOLDER] [-o FILE]

Every world that is finished is kept in a file, and not made again: who stops this goes on where it ended. Worlds that
were made by other code are made again. Ways to be observed take turns, so that an early end leaves whole tables.
"""

from __future__ import annotations

import argparse
import hashlib
import inspect
import json
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import known_worlds
import trueval
from claims_study import COMPLETE, study
from known_worlds import GENERATORS, LIKES, REAL_WAYS, SIZES, WAYS, KnownWorld, Observed, real
from trueval.audit import claims, readings

KEPT = Path("build/claims.jsonl")
FIRST_SEED = 5_000  # the rule was chosen on lower ones
DEPTHS = (10, 20, 100, COMPLETE)
REAL_DEPTHS = (10, 20, COMPLETE)  # a list of 100 would hold all that a user has rated
METRICS = (
    "ndcg@10", "precision@10", "recall@10", "rr@10", "ap@10", "hit@10", "anti(precision)@10", "fallout@10",
)  # fmt: skip
MAIN, BY_METRIC, REAL = "depths", "metrics", "CM100k"


@dataclass(frozen=True, slots=True)
class Task:
    """A world to be made, and what is to be measured in it."""

    part: str
    generator: str
    way: str
    size: str
    seed: int

    @property
    def key(self) -> list[Any]:
        """What a record of it begins with."""
        return [self.part, self.generator, self.way, self.size, self.seed]

    def run(self, folder: Path | None) -> list[dict[str, Any]]:
        """The answers in this world."""
        if self.part == REAL:
            assert folder is not None
            return study(real(self.way, folder, self.seed), REAL_DEPTHS, tried=(10,))
        world = self.world()
        if self.part == BY_METRIC:
            return study(world, [10], metrics=METRICS)
        # the complete rankings of the largest worlds take as long as all the others
        depths = DEPTHS if world.values.size < 1_000_000 else DEPTHS[:-1]
        return study(world, depths, tried=() if world.likes_only else (10, COMPLETE))

    def world(self) -> KnownWorld:
        """The world of a generator."""
        way = next(one for one in (*WAYS, *LIKES) if one.name == self.way)
        size = next(one for one in SIZES if one.name == self.size)
        return GENERATORS[self.generator](way, size, self.seed)


def tasks(rounds: int, folder: Path | None) -> list[Task]:
    """All worlds, in an order whose beginning is whole in itself."""
    found = []
    for turn in range(rounds):
        own = FIRST_SEED + 1_000 + turn
        if folder is not None:
            found += [Task(REAL, "", way, "", own + 2_000) for way in REAL_WAYS]
        found += [Task(MAIN, name, way.name, SIZES[turn % 3].name, own) for name in GENERATORS for way in LIKES]
        some = [way for way in WAYS[turn % 2 :: 2] if way.group != "nothing"]
        found += [Task(BY_METRIC, name, way.name, SIZES[0].name, own + 1_000) for name in GENERATORS for way in some]
        for place, size in enumerate(SIZES):
            seed = FIRST_SEED + len(SIZES) * turn + place
            found += [
                Task(MAIN, name, way.name, size.name, seed)
                for name in GENERATORS for way in WAYS if has_way(name, way)
            ]  # fmt: skip
    return found


def has_way(generator: str, way: Observed) -> bool:
    """Whether a generator has a way to be observed: users differ in activity in all worlds of trueval."""
    return generator != "trueval" or way.group != "nothing"


def made_by() -> str:
    """What the kept worlds depend on: the version, the answers, and the code of the study."""
    import claims_study

    code = "".join(inspect.getsource(module) for module in (claims, readings, known_worlds, claims_study))
    return hashlib.sha256((trueval.__version__ + code).encode()).hexdigest()[:12]


def run(todo: Sequence[Task], kept: Path, folder: Path | None, *, minutes: float = 1e9) -> list[dict[str, Any]]:
    """The records of these worlds: those that are kept and the others, which are then kept as well."""
    own = made_by()
    records = [json.loads(line) for line in kept.read_text().splitlines()] if kept.exists() else []
    wanted = {json.dumps(task.key) for task in todo}
    records = [one for one in records if one["made_by"] == own and json.dumps(one["task"]) in wanted]
    done = {json.dumps(one["task"]) for one in records}
    kept.parent.mkdir(parents=True, exist_ok=True)
    end = time.monotonic() + 60 * minutes
    with kept.open("a") as file:
        for number, task in enumerate(todo, 1):
            if json.dumps(task.key) in done:
                continue
            if time.monotonic() > end:
                break
            begin = time.process_time()
            results = task.run(folder)
            records.append({"made_by": own, "task": task.key, "results": results,
                            "seconds": time.process_time() - begin})  # fmt: skip
            file.write(json.dumps(records[-1]) + "\n")
            file.flush()
            print(f"{number} of {len(todo)}: {', '.join(map(str, task.key))}", flush=True)
    return records


def results_of(records: Iterable[dict[str, Any]], part: str) -> list[dict[str, Any]]:
    """The results of a part, each with its generator, way, size and seed."""
    return [
        {**one, "generator": record["task"][1], "way": record["task"][2], "size": record["task"][3],
         "seed": record["task"][4]}
        for record in records if record["task"][0] == part for one in record["results"]
    ]  # fmt: skip


def main() -> None:
    """Make the worlds that are missing, print the page and write it."""
    from claims_page import page

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=1, help="worlds of each size, way and generator")
    parser.add_argument("--cm100k", type=Path, help="folder of the data set CM100k")
    parser.add_argument("--minutes", type=float, default=1e9, help="begin no world after so many")
    parser.add_argument("--kept", type=Path, default=KEPT, help=f"finished worlds (default: {KEPT})")
    parser.add_argument("-o", "--output", type=Path)
    chosen = parser.parse_args()
    text = page(run(tasks(chosen.rounds, chosen.cm100k), chosen.kept, chosen.cm100k, minutes=chosen.minutes))
    print(text)
    if chosen.output is not None:
        chosen.output.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
