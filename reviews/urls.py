"""Every address of the site. `tests/views/test_access.py` says of each who gets what."""

from django.contrib.auth.views import LogoutView
from django.urls import path

from reviews.views import account, conflicts, exports, imports, queue, review, runs, uploads

urlpatterns = [
    path("", runs.runs, name="runs"),
    path("runs/<int:pk>/", queue.run_page, name="run"),
    path("runs/<int:run_pk>/export/", exports.export, name="export"),
    path("runs/<int:run_pk>/review/", review.review, name="review"),
    path("runs/<int:run_pk>/claim/", review.claim_next, name="claim-next"),
    path("runs/<int:run_pk>/conflicts/", conflicts.conflict_list, name="conflicts"),
    path("runs/<int:run_pk>/conflicts/settle/", conflicts.settle_conflicts, name="settle-conflicts"),
    path("runs/<int:run_pk>/take-back-skips/", review.take_back_skips, name="take-back-skips"),
    path("imports/<int:pk>/", imports.import_page, name="import"),
    path("imports/<int:pk>/rejected.jsonl", imports.rejected, name="import-rejected"),
    path("imports/<int:pk>/exceptions.jsonl", imports.exceptions, name="import-exceptions"),
    path("exports/<int:pk>/", exports.export_page, name="export-page"),
    path("exports/<int:pk>/file", exports.export_file, name="export-file"),
    path("exports/<int:pk>/receipt.json", exports.export_receipt, name="export-receipt"),
    path("imports/<int:pk>/cancel/", imports.cancel, name="cancel-import"),
    path("uploads/", uploads.new_upload, name="uploads"),
    path("uploads/<uuid:pk>/", uploads.upload, name="upload"),
    path("evaluations/<int:pk>/", review.evaluation, name="evaluation"),
    path("evaluations/<int:pk>/line.jsonl", review.line, name="line"),
    path("evaluations/<int:pk>/claim/", review.claim, name="claim"),
    path("evaluations/<int:pk>/submit/", review.submit, name="submit"),
    path("evaluations/<int:pk>/skip/", review.skip, name="skip"),
    path("evaluations/<int:pk>/release/", review.release, name="release"),
    path("evaluations/<int:pk>/renew/", review.renew, name="renew"),
    path("preview/", review.preview, name="preview"),
    path("login/", account.login, name="login"),
    path("logout/", LogoutView.as_view(), name="logout"),
    path("password/", account.password, name="password"),
    path("welcome/<token>/", account.welcome, name="welcome"),
]
