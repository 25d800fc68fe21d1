"""RecBole: the same lists as its own `full_sort_topk`. RecBole brings torch, so it is tested where it is there.

The logic of ids and unknown users is tested everywhere, with a stand-in for its data set.
"""

from __future__ import annotations

import importlib.util
from typing import Any

import numpy as np
import pytest
from adapter_worlds import assert_same_lists, parts, told, triples, with_strangers, world

import trueval as tv
from trueval.errors import DataError, DefinitionError
from trueval.recommenders.adapters import recbole as adapter

# ---- everywhere: stand-ins -----------------------------------------------------------------------------------


class Tokens:
    """A data set as far as ids go: tokens by field, the first of them padding."""

    uid_field, iid_field = "user_id", "item_id"

    def __init__(self, users: list[str], items: list[str]) -> None:
        self.field2id_token = {"user_id": np.array(["[PAD]", *users]), "item_id": np.array(["[PAD]", *items])}


class Model:
    """A trained model; its class may be given too."""


Model.__module__ = "recbole.model.general_recommender.stand_in"


@pytest.mark.parametrize("integers", [False, True])
def test_tokens_are_ids_whatever_they_were(integers):
    train, _ = world(integers=integers)
    order = np.random.default_rng(0).permutation(50)
    tokens = Tokens([str(one) for one in train.users.decode(order)], [str(one) for one in train.items.values])
    system = tv.adapt(Model(), dataset=tokens).fit(train)
    assert system.seats.users[order].tolist() == list(range(1, 51))  # 0 is padding
    assert system.seats.items.tolist() == list(range(1, 36))


def test_what_cannot_be_evaluated_is_refused():
    train, _ = world()
    with pytest.raises(DataError, match=r"does not know its ids[^$]*dataset=its data set"):
        tv.adapt(Model()).fit(train)
    with pytest.raises(DefinitionError, match=r"created from a configuration[^$]*Model to be fitted"):
        tv.adapt(Model).fit(train)
    with pytest.raises(DefinitionError, match=r"created from a configuration"):
        tv.adapt(Model(), refit=True).fit(train)
    sequential = type("SequentialRecommender", (), {"__module__": "recbole.model.abstract_recommender"})
    with pytest.raises(DefinitionError, match=r"order of events[^$]*GRU4Rec[^$]*tv\.Run"):
        tv.adapt(type("GRU4Rec", (sequential,), {"__module__": "recbole.model"})(), dataset=Tokens([], [])).fit(train)
    about = {"final_config_dict": {}, "model_class": type("GRU4Rec", (sequential,), {}), "__module__": "recbole.config"}
    with pytest.raises(DefinitionError, match=r"order of events[^$]*GRU4Rec"):
        tv.adapt(type("Config", (), about)()).fit(train)
    with pytest.raises(DataError, match=r"knows none of the users"):
        tv.adapt(Model(), dataset=Tokens(["x"], ["y"])).fit(train)
    numbers, _ = world(integers=True)
    with pytest.raises(DataError, match=r"different types"):
        tv.adapt(Model(), dataset=Tokens(["u1"], ["i1"])).fit(numbers)


def test_scores_of_padding_and_strangers(monkeypatch):
    train, _ = told(with_strangers(parts()))
    tokens = Tokens(train.users.values.to_list()[:-1], train.items.values.to_list()[:-1])
    scores = np.random.default_rng(1).random((51, 36))
    monkeypatch.setattr(adapter, "_scores", lambda model, dataset, users: scores[users])
    system = tv.adapt(Model(), dataset=tokens, unknown="last").fit(train)
    ours = system.score(np.arange(51))
    np.testing.assert_array_equal(ours[:50, :35], scores[1:, 1:])
    assert (ours[:50, 35] < scores[1:, 1:].min(axis=1)).all()
    assert len(np.unique(ours[50])) == 1


# ---- where RecBole is installed ------------------------------------------------------------------------------

here = pytest.mark.skipif(importlib.util.find_spec("recbole") is None, reason="RecBole is not installed")
# RecBole 1.2.1 wants names that NumPy 2 has dropped
_NAMES = {"float_": np.float64, "complex_": np.complex128, "unicode_": np.str_}


@pytest.fixture
def configured(tmp_path, monkeypatch) -> Any:
    """A configuration for rows in a file, all of which are learned from."""
    for name, kind in _NAMES.items():
        monkeypatch.setattr(np, name, kind, raising=False)
    monkeypatch.setattr("sys.argv", ["test"])  # RecBole reads the command line
    monkeypatch.chdir(tmp_path)  # and writes logs where it stands

    def configure(name: str, train: Any) -> Any:
        from recbole.config import Config

        folder = tmp_path / "toy"
        folder.mkdir(exist_ok=True)
        lines = [f"{u}\t{i}\t{v}" for u, i, v in triples(train)]
        (folder / "toy.inter").write_text("user_id:token\titem_id:token\trating:float\n" + "\n".join(lines))
        split = {"split": {"RS": [1, 0, 0]}, "order": "RO", "mode": "full", "group_by": None}
        settings = {
            "data_path": str(tmp_path), "checkpoint_dir": str(tmp_path / "saved"), "epochs": 2, "use_gpu": False,
            "show_progress": False, "eval_args": split, "load_col": {"inter": ["user_id", "item_id", "rating"]},
        }  # fmt: skip
        return Config(model=name, dataset="toy", config_dict=settings)

    return configure


def trained(config: Any) -> Any:
    """A model trained by RecBole alone, and its data set."""
    from recbole.data import create_dataset, data_preparation
    from recbole.utils import get_model, get_trainer, init_seed

    init_seed(config["seed"], True)
    dataset = create_dataset(config)
    rows, _, _ = data_preparation(config, dataset)
    model = get_model(config["model"])(config, rows.dataset)
    get_trainer(config["MODEL_TYPE"], config["model"])(config, model).fit(rows, None, saved=False, verbose=False)
    return model, dataset


@here
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", ["BPR", "ItemKNN", "NeuMF", "Pop"])
def test_trained_models_give_their_own_lists(configured, name):
    import torch
    from recbole.data.interaction import Interaction

    train, task = world()
    model, dataset = trained(configured(name, train))
    seen = {(u, i) for u, i, _ in triples(train)}
    items = dataset.field2id_token["item_id"]

    def theirs(user):
        asked = Interaction({"user_id": torch.tensor([dataset.token2id("user_id", user)])})
        model.eval()
        with torch.no_grad():
            try:
                scores = model.full_sort_predict(asked).flatten()
            except NotImplementedError:
                pairs = {"user_id": asked["user_id"].repeat(len(items)), "item_id": torch.arange(len(items))}
                scores = model.predict(Interaction(pairs)).flatten()
        ranked = [str(items[int(one)]) for one in torch.argsort(scores, descending=True, stable=True) if int(one)]
        return [item for item in ranked if (user, item) not in seen]

    system = tv.adapt(model, dataset=dataset).fit(train)
    assert_same_lists(system, task, theirs)
    result = tv.evaluate(parts(), {"recbole": tv.adapt(model, dataset=dataset)}, interval="none")
    assert 0 <= result["recbole", "ndcg@10"].value <= 1


@here
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("values", [True, False])
def test_configurations_are_trained_on_train(configured, values):
    made = parts(values=values)
    train, _ = told(made)
    rated, _ = told(parts())
    config = configured("BPR", rated)
    before = str(config["data_path"])
    scores = tv.adapt(config).fit(train).score(np.arange(50))
    assert str(config["data_path"]) == before
    model, dataset = trained(configured("BPR", rated))  # BPR does not look at ratings
    np.testing.assert_allclose(scores, tv.adapt(model, dataset=dataset).fit(train).score(np.arange(50)), rtol=1e-4)
    result = tv.evaluate(made, {"bpr": config}, interval="none")
    assert 0 < result["bpr", "ndcg@10"].value < 1
