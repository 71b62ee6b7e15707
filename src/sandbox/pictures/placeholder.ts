import { type Color, encodeIndexedPng } from './png.ts';

/** Maps asset types to the pixel art for assets without a picture. */
const drawings: Record<string, string> = {
  video: `
    ##################
    ##....#.........##
    #.....###........#
    ##....#####.....##
    #.....#######....#
    ##....########..##
    #.....#######....#
    ##....#####.....##
    #.....###........#
    ##....#.........##
    ##################`,
  audio: `
    ........#.........
    .....#..#.........
    .....#..#..#......
    ..#..#..#..#......
    ..#..#..#..#..#...
    ..#..#..#..#..#..#
    ..#..#..#..#..#...
    ..#..#..#..#......
    .....#..#..#......
    .....#..#.........
    ........#.........`,
  image: `
    ##################
    #................#
    #..##............#
    #..##............#
    #..........#.....#
    #.........###....#
    #...#....#####...#
    #..###..#######..#
    #.##############.#
    #................#
    ##################`,
  document: `
    ....#########.....
    ....#.......##....
    ....#.......###...
    ....#.........#...
    ....#..######.#...
    ....#.........#...
    ....#..######.#...
    ....#.........#...
    ....#..####...#...
    ....#.........#...
    ....###########...`,
  third_party: `
    ..........########
    .............#####
    ..............####
    ..#######....#####
    ..#.........##..##
    ..#........##....#
    ..#.......##......
    ..#............#..
    ..#............#..
    ..#............#..
    ..##############..`,
  generic: `
    ....##########....
    ....#........#....
    ....#........#....
    ....#........#....
    ....#........#....
    ..####......####..
    ..#..#......#..#..
    ..#..########..#..
    ..#............#..
    ..#............#..
    ..##############..`,
};

const [width, height] = [640, 360];
const square = 14;
const palette: Color[] = [
  [28, 30, 34],
  [92, 95, 102],
];

const cache = new Map<string, Buffer>();

/** Returns the cached placeholder PNG for an asset type. Unknown types look like `generic`. */
export function drawPlaceholder(type: string): Buffer {
  const drawn = Object.hasOwn(drawings, type) ? type : 'generic';
  const picture = cache.get(drawn) ?? draw(drawings[drawn] as string);
  cache.set(drawn, picture);
  return picture;
}

function draw(drawing: string): Buffer {
  const rows = drawing
    .trim()
    .split('\n')
    .map((row) => row.trim());
  const across = Math.max(...rows.map(({ length }) => length));
  const [left, top] = [(width - across * square) / 2, (height - rows.length * square) / 2];
  return encodeIndexedPng(width, height, palette, (x, y) =>
    rows[Math.floor((y - top) / square)]?.[Math.floor((x - left) / square)] === '#' ? 1 : 0,
  );
}
