"""Formats a property's allowed values for the reference pages."""

from __future__ import annotations

from oncelog.settings.kafka_properties import AllowedValues


def allowed_values(allowed: AllowedValues) -> str:
    if allowed.words:
        return ", ".join(f"`{word}`" for word in allowed.words)
    if allowed.replicas:
        return "`*` or `partition:broker,...`"
    if allowed.offset_reset:
        return "`earliest`, `latest` or `by_duration:P1DT2H3M4.5S`"
    low = "" if allowed.low == float("-inf") else render_number(allowed.low)
    high = "" if allowed.high in (float("inf"), 2**15 - 1, 2**31 - 1, 2**63 - 1) else render_number(allowed.high)
    text = f"{low} to {high}" if low and high else f"at least {low}" if low else f"at most {high}" if high else ""
    return f"{text} or {allowed.also[0]}" if allowed.also else text


def render_number(value: float) -> str:
    return str(int(value)) if value == int(value) else str(value)
