"""The drawings of the report."""

from __future__ import annotations

import xml.etree.ElementTree as ET

from oncelog.apps.demo.charts import Cell, ChartBar, Mark, Panel, Scale, heat_colour, heat_map, svg, ticks
from oncelog.apps.demo.report import binned, cumulated


def test_a_chart_scale_maps_the_ends_of_its_range() -> None:
    scale = Scale(10, 20, 100, 0)
    assert (scale(10), scale(15), scale(20)) == (100, 50, 0)


def test_axis_ticks_are_round_and_within_the_range() -> None:
    assert ticks(0, 100, 5) == [0, 20, 40, 60, 80, 100]
    assert ticks(0, 7300, 4) == [0, 2000, 4000, 6000]


def test_binned_amounts_add_up_to_the_total() -> None:
    points = [(0.1, 10.0), (0.9, 5.0), (3.2, 7.0)]
    assert binned(points, 2.0, 4.0) == [(0.0, 7.5), (2.0, 3.5), (4.0, 0.0)]


def test_a_cumulative_series_ends_at_the_total() -> None:
    points = [(0.1 * number, 1.0) for number in range(100)]
    assert cumulated(points, 1.0)[-1][1] == 100
    assert len(cumulated(points, 1.0)) <= 11


def test_a_heat_map_shows_each_number_and_leaves_missing_numbers_empty() -> None:
    drawn = ET.fromstring(heat_map([("A & B", [Cell(3.2, "three"), Cell(None, "")])], ["5:00", "6:00"], 0, 10))
    texts = [element.text for element in drawn.iter("text")]
    assert "A & B" in texts
    assert "3" in texts
    assert len(list(drawn.iter("rect"))) == 1


def test_colours_of_a_heat_map_go_from_pale_to_dark() -> None:
    def brightness(share: float) -> int:
        colour = heat_colour(share)
        return sum(int(colour[place : place + 2], 16) for place in (1, 3, 5))

    shades = [brightness(number / 10) for number in range(11)]
    assert shades == sorted(shades, reverse=True)


def test_numbers_of_chart_marks_that_are_close_together_do_not_overlap() -> None:
    panel = Panel(40, 100, 100.0)
    panel.marks([Mark(50.0, 1, "one"), Mark(50.1, 2, "two")], numbered=True)
    drawn = ET.fromstring(svg(200, panel.parts, "marks"))
    first, second = (float(element.get("cx", "0")) for element in drawn.iter("circle"))
    assert second - first >= 17


def test_shaded_areas_cover_the_downtime() -> None:
    panel = Panel(40, 100, 100.0)
    panel.shade([ChartBar(10.0, 30.0, "down", "the broker"), ChartBar(90.0, 200.0, "down", "cut at the end")])
    drawn = ET.fromstring(svg(200, panel.parts, "shades"))
    widths = [float(element.get("width", "0")) for element in drawn.iter("rect")]
    assert widths[0] == 2 * widths[1] > 0
