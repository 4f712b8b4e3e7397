"""The root URL configuration: the URLs of the app, and the error pages."""

from django.urls import include, path

urlpatterns = [path("", include("reviews.urls"))]

handler400 = "reviews.http.errors.bad_request"
handler403 = "reviews.http.errors.permission_denied"
handler404 = "reviews.http.errors.not_found"
handler500 = "reviews.http.errors.server_error"
