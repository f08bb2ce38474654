"""Weather reports. A folder of this project with the name of a room of Wafermock."""

_WEATHER = {"Boston": "sunny, 22 degrees", "Oslo": "rain, 9 degrees"}


def weather_line(city: str) -> str:
    if city not in _WEATHER:
        raise ValueError(f"no report for {city}")
    return _WEATHER[city]
