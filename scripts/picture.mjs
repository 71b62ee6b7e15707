// Takes the screenshots docs/images/watch-page.png, browse.png and sound.png in Debian's chromium, of media
// created with ffmpeg. `npm run build && node scripts/picture.mjs`. Removes sandbox and media afterwards.
import { execFileSync, spawn } from 'node:child_process';
import { mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { chromium } from 'playwright-core';

const images = 'docs/images';
const folder = mkdtempSync(join(tmpdir(), 'mediactl-picture-'));

const title = 'Tide at the old harbour';
const seconds = 48;
/** Chapters: start in seconds and title. */
const chapters = [
  [0, 'Low water'],
  [9, 'The first boats'],
  [21, 'Flood'],
  [33, 'Slack'],
  [41, 'Ebb'],
];

const [width, height, framesPerSecond, loopSeconds] = [1280, 720, 12, 4];

/** Returns the color of a pixel: a boat on flat waves before a low sun. @param turn position in the loop, 0 to 1 */
function colourAt(x, y, turn) {
  const wave = (level, size, length, turns) => level + size * Math.sin(2 * Math.PI * (x / length + turns * turn));
  const [boatX, boatY] = [470, 470 + 10 * Math.sin(2 * Math.PI * (470 / 640 + turn))];
  const [right, up] = [x - boatX, boatY - y];
  if (y > wave(610, 12, 426.7, -1)) return [10, 38, 71];
  if (y > wave(540, 10, 512, 2)) return [17, 66, 104];
  const isHull = up > -30 && up < 8 && Math.abs(right) < 92 + up;
  if (isHull) return [120, 34, 38];
  const isSail =
    up > 14 && up < 210 && ((right > 4 && right < (210 - up) / 2.2) || (right < -4 && -right < (190 - up) / 3.6));
  if (isSail) return [250, 243, 228];
  if (Math.abs(right) < 3 && up > 0 && up < 222) return [70, 40, 40];
  if (y > wave(470, 10, 640, 1)) return [31, 101, 140];
  const fromSun = Math.hypot(x - 880, y - 400);
  if (fromSun < 110) return [255, 214, 138];
  return [
    [244, 162, 97],
    [231, 111, 81],
    [181, 78, 92],
    [107, 62, 104],
    [52, 47, 92],
  ][Math.min(4, Math.floor(Math.max(0, fromSun - 110) / 170))];
}

function drawLoop() {
  const frames = framesPerSecond * loopSeconds;
  const pixels = Buffer.alloc(frames * width * height * 3);
  let at = 0;
  for (let frame = 0; frame < frames; frame++)
    for (let y = 0; y < height; y++)
      for (let x = 0; x < width; x++) for (const part of colourAt(x, y, frame / frames)) pixels[at++] = part;
  return pixels;
}

function makeClip() {
  const chapterFile = join(folder, 'chapters.txt');
  const entries = chapters.map(([start, name], at) => {
    const [end] = chapters[at + 1] ?? [seconds];
    return `[CHAPTER]\nTIMEBASE=1/1\nSTART=${start}\nEND=${end}\ntitle=${name}\n`;
  });
  writeFileSync(chapterFile, `;FFMETADATA1\n${entries.join('')}`);
  const clip = join(folder, 'clip.mp4');
  const rawVideo = ['-f', 'rawvideo', '-pix_fmt', 'rgb24', '-s', `${width}x${height}`];
  const [frames, loops] = [framesPerSecond * loopSeconds, seconds / loopSeconds - 1];
  execFileSync(
    'ffmpeg',
    [
      ...['-v', 'error', ...rawVideo, '-r', String(framesPerSecond), '-i', '-'],
      ...['-f', 'lavfi', '-i', `sine=frequency=220:duration=${seconds}`, '-i', chapterFile],
      ...['-map', '0', '-map', '1', '-map_chapters', '2', '-vf', `loop=${loops}:${frames}`],
      ...['-c:v', 'libx264', '-preset', 'veryfast', '-pix_fmt', 'yuv420p', '-g', '24'],
      ...['-c:a', 'aac', clip],
    ],
    { input: drawLoop() },
  );
  return clip;
}

const { MEDIACTL_API_KEY, MEDIACTL_BASE_URL, MEDIACTL_PROFILE, ...inherited } = process.env;
const env = {
  ...inherited,
  MEDIACTL_CONFIG_DIR: join(folder, 'config'),
  MEDIACTL_STATE_DIR: join(folder, 'state'),
  MEDIACTL_KEY_STORE: 'file',
};

const mediactl = (...args) =>
  execFileSync(process.execPath, ['bin/mediactl.js', ...args], {
    env,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'inherit'],
  });

/** Starts `mediactl browse`. */
function browse() {
  const child = spawn(process.execPath, ['bin/mediactl.js', 'browse', '--no-open'], { env });
  const address = new Promise((resolve) => {
    child.stdout.once('data', (printed) => resolve(/http\S+/.exec(printed)[0]));
  });
  return { address, stop: () => child.kill() };
}

/** Variants of the clip, by hue rotation in degrees. */
const stills = [
  ['Harbour before dawn', 220],
  ['Harbour in the fog', 150],
  ['Quay at night', 265],
  ['Red sky in the morning', 335],
  ['Regatta, first day', 25],
  ['Regatta, second day', 60],
  ['Boats under a green sky', 100],
];

function makeStills(clip) {
  return stills.map(([name, degrees], at) => {
    const path = join(folder, `${name}.jpg`);
    const filters = `hue=h=${degrees}:s=${at % 2 ? 1.1 : 0.7}`;
    execFileSync('ffmpeg', [
      ...['-v', 'error', '-ss', String(at / 3), '-i', clip],
      ...['-vf', filters, '-frames:v', '1', '-q:v', '3', path],
    ]);
    return path;
  });
}

/** Loudness of several sounds of 90 seconds at second `t`, by name. */
const sounds = [
  ['Surf, twenty minutes of it', 'abs(sin(2*PI*t/9))*0.6+0.1*sin(2*PI*t/2.3)'],
  ['Interview with the harbour master', '(0.35+0.3*sin(2*PI*t/7))*gt(sin(2*PI*t/17)+0.6,0)'],
  ['Bells', 'exp(-mod(t,6)/1.5)*0.9'],
];

const makeSounds = () =>
  sounds.map(([name, loudness]) => {
    const path = join(folder, `${name}.mp3`);
    const noise = `(random(0)*2-1)*(${loudness})`;
    execFileSync('ffmpeg', [...['-v', 'error', '-f', 'lavfi', '-i', `aevalsrc='${noise}':d=90:s=22050`, path]]);
    return path;
  });

async function draw(page, watchUrl) {
  await page.setViewportSize({ width: 1200, height: 640 });
  await page.goto(watchUrl);
  await page.getByRole('button', { name: 'Flood' }).click();
  await page.waitForFunction(() => document.querySelector('video').currentTime > 23);
  await page.locator('#timeline').hover({ position: { x: 620, y: 18 } }); // shows the preview frame
  await page.locator('.sprite').waitFor();
  await page.screenshot({ path: `${images}/watch-page.png` });
}

async function drawGallery(page, address) {
  await page.setViewportSize({ width: 1200, height: 640 });
  await page.goto(address);
  await page.locator('.card img').nth(10).waitFor();
  for (const name of ['Red sky', 'Boats under', 'Regatta, first'])
    await page.locator('.thing', { hasText: name }).locator('.mark').click();
  await page.locator('.thing', { hasText: title }).hover();
  await page.locator('svg.frame').waitFor();
  await page.screenshot({ path: `${images}/browse.png` });
  await page.keyboard.press('Escape');
  await page.locator('.thing', { hasText: 'Interview' }).dblclick();
  const player = page.frameLocator('dialog iframe');
  const timeline = player.getByRole('slider', { name: 'Seek' });
  await timeline.locator('canvas').waitFor();
  const { width, height } = await timeline.boundingBox();
  await timeline.click({ position: { x: width * 0.4, y: height / 2 } });
  await page.mouse.move(5, 5);
  await page.waitForTimeout(300);
  await page.screenshot({ path: `${images}/sound.png` });
}

try {
  const { url } = JSON.parse(mediactl('sandbox', 'start', '--port', '0', '--json'));
  for (const path of ['/Regatta 2026', '/Regatta 2026/Day 1', '/Sounds', '/Press']) mediactl('folders', 'create', path);
  const clip = makeClip();
  mediactl('upload', ...makeStills(clip), '--wait', '--folder', '/Regatta 2026', '--json');
  mediactl('upload', ...makeSounds(), '--wait', '--json');
  const [{ asset_uid }] = JSON.parse(mediactl('upload', clip, '--name', title, '--wait', '--json'));
  mediactl('assets', 'tag', asset_uid, '--set', 'harbour,dusk');
  const { playback_token } = JSON.parse(mediactl('assets', 'player-data', asset_uid, '--show-token', '--json'));
  const gallery = browse();
  const browser = await chromium.launch({
    executablePath: '/usr/bin/chromium',
    args: ['--no-sandbox'],
  });
  try {
    const page = await browser.newPage();
    await draw(page, `${url}/watch/${asset_uid}?token=${playback_token}`);
    await drawGallery(page, await gallery.address);
  } finally {
    gallery.stop();
    await browser.close();
  }
  for (const name of ['watch-page', 'browse', 'sound'])
    process.stdout.write(`${name}.png, ${statSync(`${images}/${name}.png`).size} bytes\n`);
} finally {
  mediactl('sandbox', 'stop');
  rmSync(folder, { recursive: true, force: true });
}
