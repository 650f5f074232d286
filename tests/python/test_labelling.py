"""`FewShot.label`: the loop of `mochi label` in Python."""

import mochi
import pytest


@pytest.fixture
def fit():
    return mochi.load("best").few_shot(mochi.graph("kitchen"))


def told(fit, *answers):
    """The labels and the lines of a session with these answers; it is left when they end."""
    lines, queue = [], iter(answers)

    def ask(prompt):
        lines.append(prompt)
        try:
            return next(queue)
        except StopIteration:
            raise EOFError from None

    return fit.label(ask, lines.append), lines


def test_labels_are_fitted_and_shown_in_words(fit):
    labels, lines = told(fit, "main", "dessert", "q")
    assert list(labels.items()) == [("cottage pie", "main"), ("carrot cake", "dessert")]
    assert any("minutes 80, served=hot, oven" in line and "beside leek and potato soup" in line for line in lines)
    assert list(fit.classes_) == ["dessert", "main"] and set(fit.labelled) == set(labels)
    assert fit.predict(["beef stew"])[0] == "main"


def test_enter_takes_the_prediction_and_undo_takes_it_back(fit):
    labels, lines = told(fit, "", "main", "dessert", "", "u", "u")
    assert sum("expected a class" in line for line in lines) == 1  # nothing is predicted before two classes
    assert labels == {"cottage pie": "main"} and len(fit.classes_) == 0  # one class leaves no fit
    assert "nothing to undo" in told(fit, "u")[1]


def test_the_accuracy_is_told_and_a_later_session_goes_on(fit):
    first = told(fit, "main", "dessert", "main", "s", "dessert", "main")[0]
    again, lines = told(fit, "dessert")
    assert len(again) == len(first) + 1 and set(first) < set(again)
    assert any(line.startswith("expected accuracy") for line in lines)


@pytest.mark.filterwarnings("ignore:labels.*count as unknown")
def test_marks_of_the_unknown_are_no_classes_and_interrupts_leave(fit):
    assert told(fit, "NA", "?", "-1")[0] == {}

    def interrupted(prompt):
        raise KeyboardInterrupt

    assert fit.label(interrupted, lambda text: None) == {}


def test_every_example_can_be_answered():
    g = mochi.graph([[i, i + 1] for i in range(9)])
    fit = mochi.load("best").few_shot(g)
    labels, lines = told(fit, *(["a", "b"] * 5))
    assert len(labels) == 10 and lines[-1] == "every example is labelled or skipped"


LABELS = {"cottage pie": "main", "meatballs": "main", "carrot cake": "dessert", "strawberry tart": "dessert", "pumpkin soup": "soup"}


@pytest.mark.parametrize("head", [None, "ridge"])
def test_an_explanation_adds_up(head):
    fit = mochi.load("best").few_shot(mochi.graph("kitchen"), LABELS, head=head)
    why = fit.explain("paella")
    assert {name for name, _, _ in why.labels} == set(LABELS) and why.label == fit.predict(["paella"])[0]
    for c, logit in why.logits.items():
        assert sum(added for _, label, added in why.labels if label == c) == pytest.approx(logit, abs=1e-3)
        assert sum(parts[c] for parts in why.kernels.values()) == pytest.approx(logit, abs=1e-3)
    assert "paella" in str(why) and "meatballs, main" in str(why)
    with pytest.raises(ValueError, match="stones"):
        fit.explain("stones")
    other = mochi.load("best").few_shot(mochi.graph("kitchen"), LABELS, head="logistic")
    with pytest.raises(mochi.UnsupportedError, match="logistic does not tell"):
        other.explain("paella")


def test_sets_grow_with_the_coverage_asked():
    g = mochi.graph("kitchen")
    fit = mochi.load("best").few_shot(g, {name: g.classes[c] for i, (name, c) in enumerate(zip(g.names, g.y, strict=True)) if i % 4})
    others = [i for i in range(88) if i % 4 == 0]
    names = [g.names[i] for i in others]
    sizes, held = [], []
    for coverage in (0.5, 0.8, 0.95):
        sets = fit.predict_sets(coverage, names)
        sizes.append(sets.sum())
        held.append(sets[range(len(others)), g.y[others]].mean())
    assert sizes == sorted(sizes) and held == sorted(held) and held[-1] > 0.85 and sizes[0] < sizes[-1] < 5 * len(others)
    for wrong in (0, 1, float("nan")):
        with pytest.raises(ValueError, match="coverage"):
            fit.predict_sets(wrong)
