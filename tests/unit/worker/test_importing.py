"""Heavy imports are made without garbage collections, and what follows has them again."""

import gc

import pytest

from worker.importing import importing


def test_nothing_is_collected_within_and_collections_are_back_afterwards() -> None:
    assert gc.isenabled()
    frozen = gc.get_freeze_count()
    with importing():
        assert not gc.isenabled()
    assert gc.isenabled()
    assert gc.get_freeze_count() > frozen
    gc.unfreeze()


def test_an_import_that_fails_leaves_collections_on() -> None:
    with pytest.raises(ModuleNotFoundError), importing():
        raise ModuleNotFoundError
    assert gc.isenabled()
    gc.unfreeze()
