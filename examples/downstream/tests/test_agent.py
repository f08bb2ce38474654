"""The agent, asked by plain functions."""

import pytest
from trips import Agent
from trips.agent import SORRY

from wafermock import anything, contains


def test_agent_looks_up_the_weather(wafermock):
    wafermock.on(last_user=contains("weather")).calls_tool("get_weather", city="Boston")
    wafermock.on(tool_result=anything).replies("Sunny, 22 degrees.")
    with Agent(base_url=wafermock.url, api_key="test") as agent:
        assert agent.ask("weather in Boston?") == "Sunny, 22 degrees."
    assert wafermock.calls[0].tools[0].name == "get_weather"
    assert wafermock.calls[1].tool_results == ("sunny, 22 degrees",)
    wafermock.assert_called(times=2, model="gpt-oss-120b")


@pytest.mark.parametrize("arguments", ["{", '{"town": "Oslo"}', '{"city": "Atlantis"}'])
def test_a_call_that_makes_no_sense_is_told_to_the_model(wafermock, arguments):
    wafermock.on(tool_result=contains("error")).replies("I do not know.")
    wafermock.on(last_user=anything).calls_tools([("get_weather", arguments)])
    with Agent(base_url=wafermock.url, api_key="test") as agent:
        assert agent.ask("weather?") == "I do not know."


def test_a_model_that_never_stops_calling(wafermock):
    wafermock.on().calls_tool("get_weather", city="Oslo")
    with Agent(base_url=wafermock.url, api_key="test") as agent:
        assert agent.ask("weather?") == SORRY
    wafermock.assert_called(times=4)


@pytest.mark.parametrize("failure", [429, 503, "html_page", "close_before_headers"])
def test_the_agent_is_sorry_when_the_service_fails(wafermock, failure):
    wafermock.on().fails(failure)
    with Agent(base_url=wafermock.url, api_key="test") as agent:
        assert agent.ask("weather?") == SORRY


def test_the_words_of_a_stream(wafermock):
    wafermock.on(stream=True).streams(["Go ", "to ", "Oslo."])
    with Agent(base_url=wafermock.url, api_key="test") as agent:
        assert list(agent.stream("where to?")) == ["Go ", "to ", "Oslo."]


def test_the_words_come_while_the_model_still_writes(wafermock):
    held = wafermock.on().streams(["Go ", "to ", "Oslo."]).held()
    with Agent(base_url=wafermock.url, api_key="test") as agent:
        words = agent.stream("where to?")
        held.emit(2)
        assert next(words) == "Go "
        held.release()
        assert list(words) == ["to ", "Oslo."]


def test_the_environment_is_enough(wafermock_env):
    wafermock_env.on().replies("Oslo.")
    with Agent() as agent:
        assert agent.ask("where to?") == "Oslo."
