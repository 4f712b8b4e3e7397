"""All URLs are the app's."""

from django.urls import include, path

urlpatterns = [path("", include("reviews.urls"))]

handler400 = "reviews.views.errors.bad_request"
handler403 = "reviews.views.errors.permission_denied"
handler404 = "reviews.views.errors.not_found"
handler500 = "reviews.views.errors.server_error"
