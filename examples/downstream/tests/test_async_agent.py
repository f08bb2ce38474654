"""The agent, asked by coroutines; several of them at once."""

import asyncio

import pytest
from trips import AsyncAgent

from wafermock import anything, contains


async def test_agent_looks_up_the_weather(wafermock):
    wafermock.on(last_user=contains("weather")).calls_tool("get_weather", city="Oslo")
    wafermock.on(tool_result={"get_weather": contains("rain")}).replies("Take an umbrella.")
    async with AsyncAgent(base_url=wafermock.url, api_key="test") as agent:
        assert await agent.ask("weather in Oslo?") == "Take an umbrella."
    wafermock.assert_called(times=2)


async def test_many_at_once(wafermock):
    wafermock.on(last_user=anything).replies(lambda request: request.last_user.upper())
    async with AsyncAgent(base_url=wafermock.url, api_key="test") as agent:
        answers = await asyncio.gather(*(agent.ask(f"question {n}") for n in range(10)))
    assert sorted(answers) == sorted(f"QUESTION {n}" for n in range(10))


@pytest.mark.wafermock(script="weather.yaml")
async def test_rules_of_a_file(wafermock):
    async with AsyncAgent(base_url=wafermock.url, api_key="test") as agent:
        assert await agent.ask("weather in Boston?") == "Boston: sunny, 22 degrees"
