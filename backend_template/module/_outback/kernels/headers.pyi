"""Made of the headers of the dialect when the library is built (cmake/OutbackEmbed.cmake)."""

HEADERS: dict[str, str]
