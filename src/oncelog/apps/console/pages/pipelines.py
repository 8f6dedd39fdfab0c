"""Shows the queries that Spark sessions report, next to the markers of their sinks in the cluster."""

from __future__ import annotations

import hmac
from typing import Any

from starlette.requests import ClientDisconnect, Request
from starlette.responses import PlainTextResponse, Response

from oncelog.apps.console.pipelines import PipelineRow
from oncelog.apps.console.web import Console, ConsoleRequest
from oncelog.client.aio.admin.sink_markers import SinkMarker
from oncelog.errors import ConfigError
from oncelog.runtime import real_json as json
from oncelog.runtime import real_time


async def listing(visit: ConsoleRequest) -> Response:
    """The page of pipelines: each query with its progress, and each marker."""
    found = await visit.group_positions(await visit.admin())
    pipelines = visit.console.pipelines.all()
    by_query: dict[str, list[SinkMarker]] = {}
    for marker in found.markers:
        by_query.setdefault(marker.query_id, []).append(marker)
    now_ms = real_time.time_ms()
    return visit.page(
        "pipelines.html",
        pipelines=[(one, one.silent(now_ms), _standing(one, by_query.get(one.query_id, []))) for one in pipelines],
        markers=found.markers,
        reported={one.query_id: one.name for one in pipelines if one.query_id},
        may_report=bool(visit.console.settings.report_token),
        left_out=found.left_out,
    )


def _standing(one: PipelineRow, markers: list[SinkMarker]) -> list[tuple[SinkMarker, str]]:
    """Compare each marker of a query with the last batch that Spark has reported as done."""
    last = one.last.number if one.last else -1
    return [(marker, _against(marker.batch_id, last)) for marker in markers]


def _against(marker: int, reported: int) -> str:
    if reported < 0:
        return "no batch has been reported yet"
    if marker == reported:
        return "in step with the checkpoint"
    if marker > reported:
        return f"ahead of batch {reported}, the last one reported: a restart now would skip what is written"
    return f"behind batch {reported}: that one has written nothing here, or is being written now"


async def report(request: Request) -> Response:
    """Accept a report from a Spark session that sends the report token. Cookies are ignored, and the response contains
    no page."""
    console: Console = request.app.state.console
    token = console.settings.report_token
    given = request.headers.get("authorization", "").removeprefix("Bearer ")
    if not token or not hmac.compare_digest(given.encode(), token.encode()):
        return PlainTextResponse("the header Authorization: Bearer TOKEN does not contain the console's token\n", 401)
    try:
        body: Any = json.loads(await request.body())
        console.pipelines.take(body, real_time.time_ms())
    except ClientDisconnect:
        return Response(status_code=400)
    except (ValueError, RecursionError) as error:
        return PlainTextResponse(f"the report is not JSON: {error}\n", 400)
    except ConfigError as error:
        return PlainTextResponse(f"{error}\n", 400)
    return Response(status_code=204)
