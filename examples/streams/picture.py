"""Draws a Chrome trace: a lane for each stream, a box for each piece of work.

python picture.py trace.json picture.svg
"""

import json
import sys

LEFT, WIDTH, LANE, GAP = 160, 800, 26, 8
COLOURS = {"copy": "#e8a33d", "compute": "#3d7ab8"}


def text(x: float, y: float, what: str, anchor: str = "start") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{what}</text>'


def main() -> None:
    with open(sys.argv[1], encoding="utf-8") as file:
        events = json.load(file)["traceEvents"]
    lanes = list(dict.fromkeys((event["pid"], event["tid"]) for event in events))
    end = max(event["ts"] + event["dur"] for event in events)
    lines, y, run = [], 0, None
    for lane in lanes:
        if lane[0] != run:
            run, y = lane[0], y + LANE + GAP
            lines.append(text(10, y - GAP, run))
        lines.append(text(LEFT - 10, y + LANE * 0.7, lane[1], "end"))
        for event in events:
            if (event["pid"], event["tid"]) != lane:
                continue
            x, width = LEFT + event["ts"] / end * WIDTH, event["dur"] / end * WIDTH
            colour, number = COLOURS[event["cat"]], event["name"].split()[-1]
            lines.append(f'<rect x="{x:.1f}" y="{y}" width="{width:.1f}" height="{LANE}"')
            lines.append(f' fill="{colour}" stroke="white"/>')
            if width > 10:
                lines.append(text(x + width / 2, y + LANE * 0.7, number, "middle"))
        y += LANE + GAP
    y += LANE
    legend = "   ".join(
        f'<tspan fill="{colour}">{kind}</tspan>' for kind, colour in COLOURS.items()
    )
    lines.append(
        text(LEFT, y, f"{legend}   of batches 0 to 7; {end / 1e3:.1f} ms from left to right")
    )
    with open(sys.argv[2], "w", encoding="utf-8") as file:
        size = f'width="{LEFT + WIDTH + 10}" height="{y + 12}"'
        file.write(f'<svg xmlns="http://www.w3.org/2000/svg" {size} font-family="sans-serif" ')
        file.write('font-size="13" xml:space="preserve">\n<rect width="100%" height="100%" ')
        file.write('fill="white"/>\n' + "\n".join(lines) + "\n</svg>\n")


if __name__ == "__main__":
    main()
