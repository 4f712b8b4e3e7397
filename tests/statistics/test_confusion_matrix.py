"""The confusion matrix has totals."""

from reviews.statistics.agreement import Category, ConfusionMatrix

YES_NO = (Category("Yes", "yes", 2), Category("No", "no", 0))


def test_confusion_matrix_has_totals_and_scores() -> None:
    found = ConfusionMatrix(YES_NO, ((5, 1), (2, 4)))
    assert (found.column_totals, found.n) == ((7, 5), 12)
    assert [count for _, _, count in found.cells()] == [5, 1, 2, 4]
    assert found.as_json() == {"scores": ["Yes", "No"], "judge_by_human": ((5, 1), (2, 4))}
