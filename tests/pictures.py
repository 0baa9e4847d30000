"""Finds faults of SVG pictures: texts that lie outside the picture or on each other, and files of a
megabyte or more, which browsers and mail handle badly: pictures.py FILE.svg...

A text's box comes from its place, its anchor, its rotation, and widths of letters of DejaVu Sans,
which is wider than Helvetica and Arial: texts that are apart here are apart with those, too. Prints
a line per fault; the exit status is 1 if there is any. Understands what gnuplot writes: a group with
`transform`, `font-size` and `text-anchor` around the text.
"""
import os
import re
import sys
import xml.etree.ElementTree as tree

# Hundredths of the font size, from the blank to the tilde.
WIDTHS = [32, 40, 46, 84, 64, 95, 78, 27, 39, 39, 50, 84, 32, 36, 32, 34, 64, 64, 64, 64, 64, 64,
          64, 64, 64, 64, 34, 34, 84, 84, 84, 53, 100, 68, 69, 70, 77, 63, 58, 77, 75, 29, 29, 66,
          56, 86, 75, 79, 60, 79, 69, 63, 61, 73, 68, 99, 69, 61, 69, 39, 34, 39, 84, 50, 50, 61,
          63, 55, 63, 62, 35, 63, 63, 28, 28, 58, 28, 97, 63, 61, 63, 63, 41, 52, 39, 63, 59, 82,
          59, 59, 52, 64, 34, 64, 84]
BOLD = 1.1     # a bold letter's width over a plain one's
ASCENT = 0.73  # of a capital letter or digit above the base line, as a share of the font size
DESCENT = 0.2  # of a letter with a tail
TOUCH_PX = 0.5  # boxes may touch
BYTES_MAX = 999999


def width(text, font):
    return sum(WIDTHS[ord(c) - 32] if 32 <= ord(c) < 127 else 100 for c in text) * font / 100


def name(element):
    return element.tag.rsplit('}', 1)[-1]


def texts(root):
    """Yields (words, left, top, right, bottom) of every text, lines one by one."""
    for group in root.iter():
        style = group.attrib
        place = re.match(r'translate\(([-\d.]+),([-\d.]+)\)(?: rotate\(([-\d.]+)\))?',
                         style.get('transform', ''))
        if name(group) != 'g' or not place:
            continue
        x, y, turn = float(place[1]), float(place[2]), float(place[3] or 0) % 360
        font = float(style.get('font-size', 0))
        for text in group:
            if name(text) != 'text':
                continue
            words = ''.join(text.itertext()).strip()
            if not words:
                continue
            wide = width(words, font) * (BOLD if style.get('font-weight') == 'bold' else 1)
            left = {'middle': -wide / 2, 'end': -wide}.get(style.get('text-anchor'), 0.0)
            box = (left, -ASCENT * font, left + wide, DESCENT * font)
            if turn == 270:
                box = (box[1], -box[2], box[3], -box[0])
            elif turn:
                sys.exit(f'a text is turned by {turn} degrees: {words}')
            yield words, x + box[0], y + box[1], x + box[2], y + box[3]


def faults(path):
    size = os.path.getsize(path)
    if size > BYTES_MAX:
        yield f'has {size} bytes, more than {BYTES_MAX}'
    root = tree.parse(path).getroot()
    left, top, wide, high = (float(n) for n in root.get('viewBox').split())
    found = sorted(texts(root), key=lambda t: t[1])
    for words, x0, y0, x1, y1 in found:
        if x0 < left or y0 < top or x1 > left + wide or y1 > top + high:
            yield f"'{words}' lies outside the picture: {x0:.0f},{y0:.0f} to {x1:.0f},{y1:.0f}"
    for i, (words, x0, y0, x1, y1) in enumerate(found):
        for other, u0, v0, u1, v1 in found[i + 1:]:
            if u0 > x1 - TOUCH_PX:
                break
            if min(x1, u1) - u0 > TOUCH_PX and min(y1, v1) - max(y0, v0) > TOUCH_PX:
                yield f"'{words}' and '{other}' overlap at {u0:.0f},{max(y0, v0):.0f}"
    if not found:
        yield 'there is no text at all'


def main(paths):
    bad = 0
    for path in paths:
        for number, fault in enumerate(faults(path)):
            bad += 1
            if number < 6:
                print(f'{path}: {fault}')
    sys.exit(1 if bad or not paths else 0)


if __name__ == '__main__':
    main(sys.argv[1:])
