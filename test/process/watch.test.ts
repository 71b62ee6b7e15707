import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Page } from 'playwright-core';
import { describe, expect, it } from 'vitest';
import { renderWatchPage, type WatchPageInput } from '../../src/web/watch/server/page.ts';
import {
  currentTime,
  listViolations,
  type MediaElement,
  mediaState,
  openPage,
  pollUntil,
  pressPlay,
  setUpBrowser,
} from '../support/browser.ts';
import { respond, serveHtml, startServer } from '../support/http-server.ts';
import { rawHttp } from '../support/raw-http.ts';
import { fixturePath, startSandbox, watchScripts } from '../support/sandbox.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

const { clip, createUploadOfSize, open, fetchPlaybackInfo, send, upload, watchUrl, fixture } = setUpBrowser();

const render = (input: Omit<WatchPageInput, 'scripts'>) =>
  renderWatchPage({ ...input, scripts: watchScripts, isSelfContained: true }).html;

describe('watch page of a video', { tags: 'chromium' }, () => {
  it('the watch page plays a video with hls.js from the keyboard, without errors or other requests', async () => {
    const { page, complaints } = await open(await watchUrl(await clip()));
    await page.locator('video').focus();
    await page.keyboard.press('Space');
    await pollUntil(() => currentTime(page)).toBeGreaterThan(1);
    const { readyState, currentSrc } = await mediaState(page);
    expect(readyState).toBeGreaterThanOrEqual(3);
    expect(currentSrc).toMatch(/^blob:/);
    expect(await page.title()).toBe('clip.mp4');
    expect(complaints).toEqual([]);
  });

  it('the buttons below the one seek bar do what the keys do, and axe-core finds no problem in them', async () => {
    const { page, complaints } = await open(await watchUrl(await clip()));
    expect(await page.locator('video').getAttribute('controls')).toBeNull();
    await page.getByRole('button', { name: 'Play' }).click();
    await pollUntil(() => currentTime(page)).toBeGreaterThan(0);
    await page.getByRole('button', { name: 'Mute' }).click();
    await page.getByRole('button', { name: 'Unmute' }).waitFor();
    // A key works although a button has the focus.
    await page.keyboard.press('k');
    await page.getByRole('button', { name: 'Play' }).waitFor();
    expect((await mediaState(page)).paused).toBe(true);
    expect(await page.getByRole('slider', { name: 'Seek' }).count()).toBe(1);
    expect(await listViolations(page)).toEqual([]);
    expect(complaints).toEqual([]);
  });

  it('neither the media of a video nor hls.js loads before it is played', async () => {
    const { page, complaints } = await open('about:blank');
    const paths: string[] = [];
    page.on('request', (request) => paths.push(new URL(request.url()).pathname));
    await page.goto(await watchUrl(await clip()), { waitUntil: 'networkidle' });
    const [, ...files] = paths.map((path) => path.replace(/-[\da-f]{16}/, ''));
    expect(files.sort()).toEqual(['/static/player.js', '/static/watch.css']);
    await pressPlay(page);
    await pollUntil(() => currentTime(page)).toBeGreaterThan(0);
    expect(paths.filter((path) => /^\/static\/hls-[\da-f]{16}\.js$/.test(path))).toHaveLength(1);
    expect(complaints).toEqual([]);
  });

  it('a position that is chosen before the video loads is where it starts', async () => {
    const { page, complaints } = await open(await watchUrl(await clip()));
    await page.getByRole('slider', { name: 'Seek' }).press('PageUp');
    await page.keyboard.press('ArrowRight');
    expect(await page.getByRole('slider', { name: 'Seek' }).getAttribute('aria-valuetext')).toBe('0:06 of 0:10');
    expect((await mediaState(page)).readyState).toBe(0);
    await page.locator('video').focus();
    await page.keyboard.press('Space');
    await pollUntil(() => currentTime(page)).toBeGreaterThan(6);
    expect(complaints).toEqual([]);
  });

  it('a chapter is a button that seeks, and the current chapter is marked', async () => {
    const { page, complaints } = await open(await watchUrl(await clip()));
    const chapter = page.getByRole('navigation', { name: 'Chapters' }).getByRole('button');
    expect(await chapter.allInnerTexts()).toEqual(
      ['0:00 Arrival', '0:04 The crane', '0:07 Departure'].map((text) =>
        expect.stringMatching(text.replace(' ', '\\s*')),
      ),
    );
    // Pauses from within the page, so that playback stays within the chapter on a slow machine.
    const stopped = page.locator('video').evaluate(
      (video: MediaElement & EventTarget) =>
        new Promise<number>((resolve) => {
          video.addEventListener('timeupdate', () => {
            if (video.currentTime <= 4.2) return;
            video.pause();
            resolve(video.currentTime);
          });
        }),
    );
    await chapter.nth(1).press('Enter');
    expect(await stopped).toBeLessThan(7);
    expect(await page.locator('[aria-current]').innerText()).toMatch('The crane');
    expect(complaints).toEqual([]);
  });

  it('the watch page applies auto_play and theme', async () => {
    const dark = await open(await watchUrl(await clip()));
    const lightSandbox = await startSandbox({ autoPlay: true, theme: 'light' });
    const http = rawHttp(() => lightSandbox);
    try {
      const { uid } = await http.upload(fixturePath('clip.mp4'));
      const data = await (await http.call('GET', `/assets/${uid}/player/`)).json();
      expect(data.player_config).toEqual({ auto_play: true, theme: 'light' });
      const light = await open(`${lightSandbox.url}/watch/${uid}?token=${data.playback_token}`);
      await pollUntil(() => currentTime(light.page)).toBeGreaterThan(0.5);
      expect(light.complaints).toEqual([]);
      const backgroundOf = (page: Page) => page.evaluate('getComputedStyle(document.body).backgroundColor');
      expect(await backgroundOf(light.page)).toBe('rgb(247, 247, 249)');
      expect(await backgroundOf(dark.page)).toBe('rgb(18, 19, 23)');
      expect((await mediaState(dark.page)).paused).toBe(true);
    } finally {
      await lightSandbox.end();
    }
  });

  it('the watch page resumes at the position where the user stopped', async () => {
    const uid = await clip();
    const { page, complaints } = await open(await watchUrl(uid));
    const positionSaved = page.waitForResponse((response) => response.request().method() === 'POST');
    await page.getByRole('button', { name: 'The crane' }).click();
    expect((await positionSaved).status()).toBe(204);
    await page.locator('video').evaluate((video: MediaElement) => video.pause());
    const position = await currentTime(page);
    await pollUntil(async () => (await fetchPlaybackInfo(uid)).resume_position_seconds).toBe(position);
    await page.reload();
    await pressPlay(page);
    await pollUntil(() => currentTime(page)).toBeGreaterThanOrEqual(position);
    expect(complaints).toEqual([]);
  });

  it('the watch page falls back to the source file if HLS fails', async () => {
    const { hls_url, ...info } = await fetchPlaybackInfo(await clip());
    const broken = { ...hls_url, url: hls_url.url.replace(/.$/, '*') };
    const { page } = await open(await serveHtml(render({ title: 'x', info: { ...info, hls_url: broken } })));
    await page.getByRole('button', { name: 'Departure' }).click();
    await pollUntil(() => currentTime(page)).toBeGreaterThan(7);
    expect((await mediaState(page)).currentSrc).toBe(info.source_url.url);
    expect(await page.getByRole('alert').isVisible()).toBe(false);
  });

  /** Serves HLS with codecs that no browser supports. */
  const serveUnsupportedHls = () =>
    startServer((request, response) => {
      const text = request.url?.endsWith('master.m3u8')
        ? '#EXTM3U\n#EXT-X-STREAM-INF:BANDWIDTH=1,CODECS="apco"\nplaylist.m3u8\n'
        : '#EXTM3U\n#EXT-X-TARGETDURATION:1\n#EXTINF:1,\nsegment.m4s\n#EXT-X-ENDLIST\n';
      const headers = { 'access-control-allow-origin': '*' };
      respond(response, 200, text, { ...headers, 'content-type': 'application/vnd.apple.mpegurl' });
    });

  it('the watch page plays the source file if the browser supports none of the codecs of HLS', async () => {
    const { source_url } = await fetchPlaybackInfo(await clip());
    const hls_url = { url: `${await serveUnsupportedHls()}/master.m3u8` };
    const info = { type: 'video', hls_url, source_url, chapters: [{ title: 'On', start_time: 2 }] };
    const { page } = await open(await serveHtml(render({ title: 'x', info })));
    await page.getByRole('button', { name: 'On' }).click();
    await pollUntil(() => currentTime(page)).toBeGreaterThan(2);
    expect((await mediaState(page)).currentSrc).toBe(source_url.url);
    expect(await page.getByRole('alert').isVisible()).toBe(false);
  });

  it('the watch page shows an error if the browser supports no available format', async () => {
    const hls_url = { url: `${await serveUnsupportedHls()}/master.m3u8` };
    const { page } = await open(await serveHtml(render({ title: 'x', info: { type: 'video', hls_url } })));
    await pressPlay(page);
    await page.getByRole('alert').waitFor();
    expect(await page.getByRole('alert').innerText()).toMatch('this browser may not support the codec');
  });

  it('the watch page shows a warning if only the audio plays', async () => {
    const { uid } = await upload(fixturePath('tone.mp3'));
    const { source } = await fetchPlaybackInfo(uid); // an audio file has no picture, like a video whose codec is not supported
    const { page } = await open(await serveHtml(render({ title: 'x', info: { type: 'video', source_url: source } })));
    await pressPlay(page);
    await page.getByRole('alert').waitFor();
    expect(await page.getByRole('alert').innerText()).toMatch('Only the audio plays');
  });

  it.each<[number | undefined, string]>([
    [8, '/good.m3u8'],
    [1, '/poor.m3u8'],
    [undefined, '/poor.m3u8'], // hls.js measures bandwidth with it
  ])('at %s Mbit/s, playback starts with %s and never loads a larger video than needed', async (...each) => {
    const [downlink, firstPlaylist] = each;
    const { hls_url } = await fetchPlaybackInfo(await clip());
    const getBytes = async (url: string) => (await fetch(url)).arrayBuffer();
    const textAt = async (url: string) => Buffer.from(await getBytes(url)).toString();
    const [variant] = /^(?!#)\S.*$/m.exec(await textAt(hls_url.url)) ?? [];
    const playlistUrl = new URL(variant as string, hls_url.url).href;
    const qualities = ['poor 200000 320x180', 'good 2000000 1280x720', 'best 3000000 3840x2160'];
    const master = qualities.map((each) => {
      const [name, bandwidth, size] = each.split(' ');
      return `#EXT-X-STREAM-INF:BANDWIDTH=${bandwidth},RESOLUTION=${size}\n${name}.m3u8\n`;
    });
    const requestedPlaylists: string[] = [];
    const hlsServer = await startServer(async ({ url = '' }, response) => {
      const isPlaylist = url.endsWith('.m3u8');
      if (isPlaylist) requestedPlaylists.push(url);
      const [type, from] = isPlaylist
        ? ['application/vnd.apple.mpegurl', playlistUrl]
        : ['video/mp4', new URL(url.slice(1), playlistUrl).href];
      response.writeHead(200, { 'content-type': type, 'access-control-allow-origin': '*' });
      response.end(
        url === '/master.m3u8' ? `#EXTM3U\n${master.join('')}` : Buffer.from(await getBytes(from as string)),
      );
    });
    const info = { type: 'video', hls_url: `${hlsServer}/master.m3u8` };
    const { page, complaints } = await open('about:blank');
    await page.addInitScript(
      `Object.defineProperty(Navigator.prototype, 'connection', { value: { downlink: ${downlink} } })`,
    );
    await page.goto(await serveHtml(render({ title: 'x', info })));
    await page.locator('video').focus();
    await page.keyboard.press('Space');
    await pollUntil(() => currentTime(page)).toBeGreaterThan(1);
    expect(requestedPlaylists.slice(0, 2)).toEqual(['/master.m3u8', firstPlaylist]);
    expect(requestedPlaylists).not.toContain('/best.m3u8');
    expect(complaints).toEqual([]);
  });

  it('the watch page offers subtitles and names those that fail to load', async () => {
    const subtitleServer = await startServer((request, response) =>
      request.url === '/en.vtt'
        ? respond(response, 200, 'WEBVTT\n\n00:00.000 --> 00:09.000\nHello\n', {
            'access-control-allow-origin': '*',
          })
        : respond(response, 404),
    );
    const info = await fetchPlaybackInfo(await clip());
    const subtitle_tracks = [
      { label: 'English', language: 'en', url: `${subtitleServer}/en.vtt` },
      { label: 'Deutsch', language: 'de', url: `${subtitleServer}/gone.vtt` },
    ];
    const { page } = await open(await serveHtml(render({ title: 'x', info: { ...info, subtitle_tracks } })));
    await pressPlay(page);
    const status = page.getByRole('status');
    await pollUntil(() => status.innerText()).toBe('The subtitles "Deutsch" cannot be loaded.');
    const cues = `(() => {
      const [track, ...others] = document.querySelector('video').textTracks;
      track.mode = 'showing';
      return { label: track.label, language: track.language, others: others.length,
        text: track.cues?.[0]?.text };
    })()`;
    await pollUntil(() => page.evaluate(cues)).toEqual({ label: 'English', language: 'en', others: 0, text: 'Hello' });
  });

  it('the watch page reports an expired link and a refused request', async () => {
    const info = await fetchPlaybackInfo(await clip());
    const refusedUrl = info.hls_url.url.replace(/.$/, '*');
    const problem = async (expires_at: string) => {
      const hls_url = { url: refusedUrl, expires_at };
      const { page } = await open(await serveHtml(render({ title: 'x', info: { type: 'video', hls_url } })));
      await pressPlay(page);
      return page.getByRole('alert').innerText();
    };
    expect(await problem('2020-01-01T00:00:00Z')).toMatch('has expired');
    expect(await problem('2999-01-01T00:00:00Z')).toMatch('refused access to this media (403)');
  });

  it('the watch page plays a video when it is opened from a local file', async () => {
    const path = join(temporaryFolder(), 'watch.html');
    const hostile = `</title></script><script>document.title = 'owned'</script> & "it's"`;
    writeFileSync(path, render({ title: hostile, info: await fetchPlaybackInfo(await clip()) }));
    const { page, complaints } = await open(pathToFileURL(path).href);
    expect(await page.title()).toBe(hostile);
    expect(await page.getByRole('heading', { level: 1 }).innerText()).toBe(hostile);
    await page.getByRole('button', { name: 'The crane' }).click();
    await pollUntil(() => currentTime(page)).toBeGreaterThan(4.2);
    expect(complaints).toEqual([]);
  });
});

describe('watch page of other assets', { tags: 'chromium' }, () => {
  it('the watch page plays audio from the keyboard', async () => {
    const { uid } = await upload(fixturePath('tone.mp3'));
    const { page, complaints } = await open(await watchUrl(uid));
    await page.locator('audio').focus();
    await page.keyboard.press('Space');
    await pollUntil(() => currentTime(page, 'audio')).toBeGreaterThan(0.5);
    expect(complaints).toEqual([]);
  });

  it('the watch page shows the selected subtitles of an audio asset, one language at a time', async () => {
    const { uid } = await upload(fixturePath('tone.mp3'));
    const subtitleServer = await startServer((request, response) =>
      respond(response, 200, `WEBVTT\n\n00:00.000 --> 00:09.000\nSaid in ${request.url}\n`, {
        'access-control-allow-origin': '*',
      }),
    );
    const subtitle_tracks = ['en', 'de'].map((language) => ({
      label: language,
      language,
      url: `${subtitleServer}/${language}`,
    }));
    const info = { ...(await fetchPlaybackInfo(uid)), subtitle_tracks };
    const { page, complaints } = await open(await serveHtml(render({ title: 'x', info })));
    const captions = page.locator('#captions');
    expect(await captions.innerText()).toBe('');
    await page.locator('audio').evaluate((audio: { muted: boolean; loop: boolean; play(): void }) => {
      audio.muted = true;
      audio.loop = true; // the sound lasts three seconds
      audio.play();
    });
    await page.getByRole('button', { name: 'en' }).click();
    await pollUntil(() => captions.innerText()).toBe('Said in /en');
    await page.getByRole('button', { name: 'de' }).click();
    await pollUntil(() => captions.innerText()).toBe('Said in /de');
    await page.getByRole('button', { name: 'de' }).click();
    await pollUntil(() => captions.innerText()).toBe('');
    expect(complaints).toEqual([]);
  });

  it('the watch page shows an image in the variant that fits the screen', async () => {
    const { uid } = await upload(fixturePath('still.jpg'));
    const { page, complaints } = await open(await watchUrl(uid));
    await page.getByRole('img', { name: 'still.jpg' }).waitFor();
    await pollUntil(() => page.evaluate('document.images[0].naturalWidth')).toBe(320);
    expect(complaints).toEqual([]);

    const [{ url }] = (await fetchPlaybackInfo(uid)).variants;
    const variants = [100, 400, 9000].map((width) => ({ url: `${url.url}#${width}`, width }));
    const pageWithVariants = await openPage(
      fixture.browser,
      await serveHtml(render({ title: 'many', info: { type: 'image', variants } })),
      { viewport: { width: 390, height: 700 }, deviceScaleFactor: 1 },
    );
    expect(await pageWithVariants.page.evaluate('document.images[0].currentSrc')).toMatch(/#400$/);
  });

  it('the watch page shows a text document in a frame and links to it', async () => {
    const path = join(temporaryFolder(), 'notes.txt');
    writeFileSync(path, 'Tide tables, <b>spring</b>\n');
    const { uid } = await upload(path);
    const { page, complaints } = await open(await watchUrl(uid));
    const frame = page.frameLocator('iframe[title="notes.txt"]');
    expect(await frame.locator('body').innerText()).toMatch('Tide tables, <b>spring</b>');
    const link = page.getByRole('link', { name: 'Open the document' });
    expect(await link.getAttribute('href')).toMatch(`/media/${uid}/source`);
    expect(complaints).toEqual([]);
  });

  it('the watch page hides a broken thumbnail of a document and keeps the others', async () => {
    const { uid } = await upload(fixturePath('still.jpg'));
    const [{ url }] = (await fetchPlaybackInfo(uid)).variants;
    const good = Array.from({ length: 40 }, (_, page) => ({ page, url: `${url.url}#${page}` }));
    const thumbnails = [url.url.replace(/.$/, '*'), ...good];
    const { page } = await open(
      await serveHtml(render({ title: 'x', info: { type: 'document', url: url.url, thumbnails } })),
    );
    const images = page.locator('.thumbnails img');
    await pollUntil(() => images.count()).toBe(40);
    await images.last().scrollIntoViewIfNeeded();
    await pollUntil(() => page.evaluate('document.images[39].naturalWidth')).toBe(320);
    expect(await images.count()).toBe(40);
  });

  it('the watch page warns that the position cannot be saved and keeps playing', async () => {
    const position = { url: '/nowhere', playbackToken: 'x' };
    const url = await startServer((request, response) =>
      request.url === '/nowhere'
        ? respond(response, 401)
        : respond(response, 200, document, { 'content-type': 'text/html' }),
    );
    const document = render({ title: 'x', info: await fetchPlaybackInfo(await clip()), position });
    const { page } = await open(url);
    await page.getByRole('button', { name: 'The crane' }).click();
    await page.getByText('Your playback position cannot be saved').waitFor();
    await pollUntil(() => currentTime(page)).toBeGreaterThan(4.2);
  });

  it('the watch page shows third-party media in a frame that cannot navigate the page', async () => {
    const provider = await serveHtml('<p>Their player</p><a href="/away" target="_top">Leave</a>');
    const { page, complaints } = await open(
      await serveHtml(render({ title: 'Theirs', info: { type: 'third_party', embed_url: provider } })),
    );
    const frame = page.frameLocator('iframe');
    expect(await frame.locator('p').innerText()).toBe('Their player');
    await frame.getByRole('link').click();
    await pollUntil(async () => complaints.join()).toMatch('allow-top-navigation');
    expect(await page.title()).toBe('Theirs');
  });

  it('the watch page of a seeded third-party asset shows the page of its provider', async () => {
    const seeded = await startSandbox({ seed: 200, strict: false });
    try {
      const { call: callApi } = rawHttp(() => seeded);
      const [{ uid }] = (await (await callApi('GET', '/assets/?type=third_party')).json()).items;
      const { playback_token } = await (await callApi('GET', `/assets/${uid}/player/`)).json();
      const { page, complaints } = await openPage(
        fixture.browser,
        `${seeded.url}/watch/${uid}?token=${playback_token}`,
      );
      const frame = page.frameLocator('iframe');
      expect(await frame.locator('p').innerText()).toMatch('A third party’s video plays here');
      expect(complaints.filter((each) => !each.startsWith('left: http://localhost'))).toEqual([]);
    } finally {
      await seeded.end();
    }
  });

  it('the watch page says that an unfinished upload cannot be played yet', async () => {
    const { asset_uid } = await (await createUploadOfSize(10)).json();
    const { page, complaints } = await open(await watchUrl(asset_uid));
    expect(await page.locator('.message').innerText()).toBe('The upload has not finished yet.');
    expect(await page.locator('video, audio').count()).toBe(0);
    expect(complaints).toEqual([]);
  });

  it('the watch page shows why processing failed', async () => {
    const path = join(temporaryFolder(), 'torn.mp4');
    writeFileSync(path, readFileSync(fixturePath('clip.mp4')).subarray(0, 900));
    const { uid, status } = await upload(path, { description: 'Of the torn reel' });
    expect(status).toBe('failed');
    const { page, complaints } = await open(await watchUrl(uid));
    expect(await page.locator('.message').innerText()).toMatch(/^Processing failed: \w+/);
    expect(await page.locator('.description').innerText()).toBe('Of the torn reel');
    expect(complaints).toEqual([]);
  });

  it('the watch page shows the description and tags as text and links to the source file', async () => {
    const markup = `<img src=x onerror="document.title = 'owned'">\n& <b>two</b>`;
    const uid = (await upload(fixturePath('tone.mp3'), { description: markup })).uid;
    const tags = ['night', '<i>sea</i>'];
    await send('PATCH', `/assets/${uid}/`, { tags: ['night'] });
    const { page, complaints } = await open(await watchUrl(uid));
    expect(await page.locator('.description').innerText()).toBe(markup);
    expect(await page.getByRole('list', { name: 'Tags' }).innerText()).toBe('night');
    const download = page.waitForEvent('download');
    await page.getByRole('link', { name: 'Download the source' }).click();
    expect((await download).suggestedFilename()).toBe('tone.mp3');
    expect(complaints).toEqual([]);

    const input = { title: 'x', info: await fetchPlaybackInfo(uid), description: markup, tags };
    const listed = await open(await serveHtml(render(input)));
    expect(await listed.page.locator('.tags li').allInnerTexts()).toEqual(tags);
    const framed = await open(await serveHtml(render({ ...input, isFramed: true })));
    await framed.page.locator('audio').waitFor({ state: 'attached' });
    expect(await framed.page.locator('.description, .tags, main a').count()).toBe(0);
    expect((await framed.page.locator('h1').boundingBox())?.height).toBe(1); // for screen readers
    expect(await listViolations(framed.page)).toEqual([]);
    expect(await framed.page.title()).toBe('x');
    expect([...listed.complaints, ...framed.complaints]).toEqual([]);
  });

  it('the watch page reports an invalid token', async () => {
    const { page } = await open(`${fixture.sandbox.url}/watch/${await clip()}?token=rubbish`);
    expect(await page.locator('main').innerText()).toMatch('invalid or has expired (401)');
  });
});
