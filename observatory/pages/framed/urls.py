from __future__ import annotations

from django.urls import path

from observatory.pages.framed import views
from observatory.pages.framed.charts import START

urlpatterns = [
    path("clusters/<int:cluster_id>/individual-plots.json", views.plot_list, name="framed-charts"),
    path(f"clusters/<int:cluster_id>/{START}<slug:chart>", views.framed_chart, name="framed-chart"),
]
