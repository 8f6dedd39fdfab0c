"""Long work is done in chunks, in turn with other long work; short work is done at once."""

from __future__ import annotations

from collections.abc import Generator

from oncelog.broker.core.registry import READ_ONLY, SERVED
from oncelog.broker.core.requests.context import RequestContext
from oncelog.broker.core.requests.tasks import AT_A_TIME, AT_ONCE, AT_ONCE_NS, SHORT, Tasks
from oncelog.broker.core.requests.work import Work
from oncelog.protocol.api_keys import ApiKey
from oncelog.runtime.deferred import Deferred
from tests.support.work import Ticks
from tests.unit.broker.core.conftest import RecordingChannel


def counting(name: str, chunks: int, done: list[str]) -> Generator[None, None, str]:
    for _ in range(chunks):
        done.append(name)
        yield
    return name


def test_short_work_runs_in_its_own_iteration() -> None:
    tasks = Tasks()
    assert tasks.begin(counting("a", AT_ONCE - 1, [])).value == "a"
    assert not tasks


def test_long_tasks_alternate() -> None:
    tasks, done = Tasks(), list[str]()
    first = tasks.begin(counting("a", AT_ONCE + 2, done))
    second = tasks.begin(counting("b", AT_ONCE + 2, done))
    done.clear()
    while tasks:
        tasks.step()
    assert done == ["a", "b", "a", "b"]
    assert (first.value, second.value) == ("a", "b")


def test_an_exception_fails_only_its_own_work() -> None:
    def broken() -> Generator[None, None, str]:
        yield from counting("x", AT_ONCE, [])
        raise RuntimeError("no rule foresees this")

    tasks, failures = Tasks(), list[Exception]()
    tasks.begin(broken()).then(lambda _: None, failures.append)
    other = tasks.begin(counting("b", AT_ONCE + 2, []))
    tasks.finish()
    assert [str(failure) for failure in failures] == ["no rule foresees this"]
    assert other.value == "b"


def test_the_end_of_a_connection_cancels_only_its_read_only_requests() -> None:
    """Whoever begins a task cannot get this wrong: the table of APIs decides."""
    tasks, done, gone = Tasks(read_only=READ_ONLY), list[str](), RecordingChannel()
    contexts = [RequestContext(gone, slot, key, 5, 0, "", 0) for slot, key in enumerate(map(int, SERVED))]
    results = {
        ApiKey(context.api_key): tasks.begin(counting(str(context.api_key), AT_ONCE + 5, done), context)
        for context in contexts
    }
    tasks.drop(gone)
    tasks.finish()
    finished = {key for key, result in results.items() if result.done}
    assert finished == set(results) - READ_ONLY
    assert finished >= {ApiKey.SHARE_GROUP_HEARTBEAT, ApiKey.CREATE_TOPICS, ApiKey.DELETE_GROUPS}
    assert {ApiKey.METADATA, ApiKey.LIST_GROUPS, ApiKey.DESCRIBE_SHARE_GROUP_OFFSETS} <= READ_ONLY


def test_nested_work_of_a_request_is_counted_once() -> None:
    now_ns = 0

    def inner() -> Work[None]:
        nonlocal now_ns
        now_ns += 10
        yield
        now_ns += 10

    def outer() -> Work[None]:
        nonlocal now_ns
        now_ns += 5
        tasks.begin(inner(), context)
        now_ns += 5
        yield

    tasks, context = Tasks(lambda: now_ns), RequestContext(RecordingChannel(), 0, ApiKey.METADATA, 12, 0, "", 0)
    tasks.begin(outer(), context)
    tasks.finish()
    assert (now_ns, context.work_ns) == (30, 30)


def test_short_work_does_not_wait_for_long_work_however_much_there_is() -> None:
    tasks = Tasks(Ticks())
    for number in range(2 * AT_A_TIME):
        tasks.begin(counting(f"long {number}", 10_000, []))
    for _ in range(5 * SHORT * AT_A_TIME):
        tasks.step()
    later = tasks.begin(counting("short", SHORT - 10, []))
    for _ in range(3 * SHORT):
        tasks.step()
    assert later.done


def test_long_work_continues_even_if_new_short_work_keeps_arriving() -> None:
    tasks, done = Tasks(Ticks()), list[str]()
    long = tasks.begin(counting("long", 5 * SHORT, done))
    for _ in range(SHORT):
        tasks.step()
    while not long.done and len(done) < 20 * SHORT:
        tasks.begin(counting("short", 50, []))
        tasks.step()
        tasks.step()
    assert long.done


def test_a_task_that_continues_earlier_work_does_not_wait_in_the_queue_again() -> None:
    tasks = Tasks(Ticks())
    for number in range(2 * AT_A_TIME):
        tasks.begin(counting(f"first {number}", SHORT - 10, []))
    second = tasks.begin(counting("second", 5, []), continues=True)
    for _ in range(6 * (AT_A_TIME + 1)):
        tasks.step()
    assert second.done


def test_a_request_starts_in_its_own_iteration_on_any_machine() -> None:
    """The time that one chunk may take is short; a look at the clock takes longer while others work."""
    tasks, done = Tasks(Ticks()), list[str]()
    assert tasks.begin(counting("a", 0, done)).value == "a"
    later = tasks.begin(counting("b", 3, done))
    assert not later.done and done.count("b") == 1
    tasks.finish()
    assert later.value == "b"


def test_work_that_waits_for_an_available_value_continues_at_once() -> None:
    def work() -> Work[str]:
        yield Deferred.of(None)
        return "done"

    assert Tasks().begin(work()).value == "done"


def test_many_tasks_started_in_one_iteration_share_its_budget() -> None:
    """Otherwise thirty connections with a request each hold the others up thirty times as long."""
    now_ns = 0

    def chunk(done: list[int], number: int) -> Work[None]:
        nonlocal now_ns
        for _ in range(AT_ONCE):
            done.append(number)
            now_ns += AT_ONCE_NS // 5
            yield

    tasks, rounds = Tasks(lambda: now_ns), list[None]()
    tasks.worked_at_once = lambda: rounds.append(None)
    for expected in (1, 2):
        done: list[int] = []
        for number in range(30):
            tasks.begin(chunk(done, number))
        assert done.count(0) == 6
        assert all(done.count(number) == 1 for number in range(1, 30)), done
        assert len(rounds) == expected
        tasks.new_round()


def test_a_task_that_begins_in_a_step_of_long_tasks_gets_no_second_step() -> None:
    done: list[str] = []
    tasks = Tasks()

    def begins_another() -> Work[None]:
        yield from counting("first", AT_ONCE, [])
        tasks.begin(counting("second", AT_ONCE - 1, done), continues=True)

    tasks.begin(begins_another())
    tasks.step()
    assert done == ["second"]
    tasks.finish()
    assert len(done) == AT_ONCE - 1
