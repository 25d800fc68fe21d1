"""Models of RecBole, asked by `full_sort_predict` (or `predict`, where a model has no other) for blocks of users.

A trained model is given with its data set, `tv.adapt(model, dataset=dataset)`; the tokens of the data set are the ids.
RecBole makes and trains its models from a configuration, so what can be fitted here is a `Config`: its model is made
for the train rows (values as `rating`) and trained by RecBole's own trainer, all epochs, under the seed of the
`Config`; its own data, split and evaluation are left aside. Models of sequences are asked by what a user did last
rather than by the user: evaluate the lists they make, `tv.Run(table)`.

RecBole 1.2.1 asks for names that NumPy 2 has dropped; before its `Config` is made they have to be given back:
`numpy.float_, numpy.complex_, numpy.unicode_ = numpy.float64, numpy.complex128, numpy.str_`.
"""

from __future__ import annotations

import contextlib
import copy
import tempfile
import threading
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from trueval.data.ids import Ids
from trueval.errors import DataError, DefinitionError
from trueval.recommenders.adapters.adapted import Given, Learned
from trueval.recommenders.adapters.id_positions import find_places
from trueval.recommenders.adapters.require import require
from trueval.recommenders.protocol import TrainSet

needs = "rows"


def fitted(model: Any) -> bool:
    """A model that exists was made from its data; its class and its configuration were not."""
    return not isinstance(model, type) and not _is_config(model)


def caution(model: Any, here: bool) -> str:
    """RecBole promises to repeat itself where its configuration says so."""
    return "RecBole's option reproducibility is off: two fits may differ" if _loose(model) else ""


def learn(model: Any, train: TrainSet) -> tuple[Any, Given]:
    """Train the model of a configuration on the train rows."""
    if not _is_config(model):
        name = model.__name__ if isinstance(model, type) else type(model).__name__
        raise DefinitionError(
            "RecBole's models are created from a configuration",
            found=f"{name} to be fitted",
            do="tv.adapt(config), or train it and give it with its data: tv.adapt(model, dataset=dataset)",
        )
    _check_kind(model.model_class)
    data, tools = require("recbole.data", extra="recbole"), require("recbole.utils", extra="recbole")
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):  # its trainer writes logs where it stands
        config = _for_train(model, Path(folder), train)
        tools.init_seed(config["seed"], config["reproducibility"])
        dataset = data.create_dataset(config)
        rows, _, _ = data.data_preparation(config, dataset)
        made = model.model_class(config, rows.dataset).to(config["device"])
        trainer = tools.get_trainer(config["MODEL_TYPE"], config["model"])(config, made)
        trainer.fit(rows, None, saved=False, verbose=False, show_progress=False)
    made.reproducible = bool(config["reproducibility"])
    return made, Given(dataset=dataset)


def _for_train(given: Any, folder: Path, train: TrainSet) -> Any:
    """The configuration with the train rows in place of its own data, all of them to learn from."""
    user, item, rating = (given[name] for name in ("USER_ID_FIELD", "ITEM_ID_FIELD", "RATING_FIELD"))
    log = train.log
    value = np.ones(len(log.item)) if log.value is None else log.value
    columns = {f"{user}:token": train.users.decode(log.user), f"{item}:token": train.items.decode(log.item)}
    (folder / "train").mkdir()
    table = pl.DataFrame({**columns, f"{rating}:float": value})
    table.write_csv(folder / "train" / "train.inter", separator="\t", quote_style="never")
    config = copy.deepcopy(given)
    config.dataset = "train"
    changes = {
        "dataset": "train", "data_path": str(folder / "train"), "checkpoint_dir": str(folder),
        "load_col": {"inter": [user, item, rating]}, "unload_col": None, "field_separator": "\t",
        "eval_args": {**given["eval_args"], "split": {"RS": [1, 0, 0]}, "order": "RO", "group_by": None},
        "eval_step": 0, "dataset_save_path": None, "save_dataset": False, "save_dataloaders": False,
    }  # fmt: skip
    for name, setting in changes.items():
        config[name] = setting
    return config


def _is_config(model: Any) -> bool:
    return type(model).__name__ == "Config" and hasattr(model, "final_config_dict")


def _loose(model: Any) -> bool:
    return getattr(model, "reproducible", True) is False


def _check_kind(model: type) -> None:
    if any(parent.__name__ == "SequentialRecommender" for parent in model.__mro__):
        raise DefinitionError(
            "RecBole's sequential models need the order of events",
            found=model.__name__,
            do="evaluate the lists they make: tv.Run(table)",
        )


def open_model(model: Any, train: TrainSet, given: Given) -> Learned:
    """Find our users and items among the tokens of the data set."""
    where, dataset = type(model).__name__, given.dataset
    _check_kind(type(model))
    if dataset is None:
        raise DataError(
            "a RecBole model does not know its ids", where=where, do="tv.adapt(model, dataset=its data set)"
        )
    users = _places(train.users, dataset, dataset.uid_field, role="user", where=where)
    items = _places(train.items, dataset, dataset.iid_field, role="item", where=where)
    one_at_a_time = threading.Lock()

    def score(asked: np.ndarray) -> np.ndarray:
        with one_at_a_time:  # some models keep what they computed for the first caller
            return _scores(model, dataset, asked)

    return Learned(users, items, score=score)


def _places(ours: Ids, dataset: Any, field: str, *, role: str, where: str) -> np.ndarray:
    """Numbers of the tokens, which are text whatever the ids were; number 0 pads and is nobody."""
    tokens = pl.Series([str(token) for token in dataset.field2id_token[field][1:]], dtype=pl.String)
    if ours.values.dtype.is_integer():
        numbers = tokens.cast(pl.Int64, strict=False)
        tokens = numbers if numbers.null_count() == 0 else tokens
    places = find_places(ours, tokens, role=role, where=where)
    return np.where(places >= 0, places + 1, -1)


def _scores(model: Any, dataset: Any, users: np.ndarray) -> np.ndarray:
    torch = require("torch", extra="recbole")
    interaction = require("recbole.data.interaction", extra="recbole").Interaction
    number, training = len(dataset.field2id_token[dataset.iid_field]), model.training
    asked = dataset.join(interaction({dataset.uid_field: torch.as_tensor(users, dtype=torch.int64)}))
    device = getattr(model, "device", "cpu")
    model.eval()
    try:
        with torch.no_grad():
            try:
                found = model.full_sort_predict(asked.to(device))
            except NotImplementedError:  # models of features score pairs only
                pairs = asked.repeat_interleave(number)
                pairs.update(dataset.get_item_feature().repeat(len(users)))
                found = model.predict(pairs.to(device))
    finally:
        model.train(training)
    scores = found.reshape(len(users), number).to("cpu").numpy().astype(np.float32)
    scores[:, 0] = 0  # the padding, which stands for no item
    return scores
