import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import type { PlaybackInfo } from '../../src/contract/types.ts';
import { computeResumePosition } from '../../src/sandbox/routes/watch.ts';
import { createPageFile } from '../../src/web/shared/page-files.ts';
import { renderNoticePage, renderWatchPage, type WatchPageInput } from '../../src/web/watch/server/page.ts';

const scripts = { player: createPageFile('player.js', 'play()'), hls: createPageFile('hls.js', 'stream()') };

const renderPage = (info: PlaybackInfo, input: Partial<WatchPageInput> = {}) =>
  renderWatchPage({ title: 'A title', scripts, isSelfContained: true, info, ...input });
const urlOf = (path: string) => `http://127.0.0.1:4520/${path}`;

describe('escaping', () => {
  const hostile = `</title></script><script>alert(1)</script><!-- " ' & `;

  it('the watch page escapes titles, chapters and messages', () => {
    const { html } = renderPage(
      {
        type: 'video',
        source_url: { url: urlOf('a') },
        chapters: [{ title: hostile, start_time: 3723.5 }],
      },
      { title: hostile, config: { theme: `"><script>` } },
    );
    const escaped = '&lt;/title&gt;&lt;/script&gt;&lt;script&gt;alert(1)&lt;/script&gt;&lt;!-- &quot; &#39; &amp; ';
    expect(html).toContain(`<title>${escaped}</title>`);
    expect(html).toContain(`<time>1:02:03</time> <span>${escaped}</span>`);
    expect(html).not.toContain('<script>alert');
    expect(html.match(/<script/g)).toHaveLength(2);
    expect(renderNoticePage(hostile, hostile).html).not.toContain('<script');
    expect(renderPage({ type: hostile }).html).not.toContain('<script>alert');
  });

  it('the watch page escapes its script and the JSON for the script', () => {
    const { html } = renderPage(
      { type: 'document', url: urlOf('a') },
      {
        title: hostile,
        contentType: 'text/plain',
        scripts: { ...scripts, player: createPageFile('player.js', `x = '</script><!--'`) },
      },
    );
    const [, setup] = /<script type="application\/json"[^>]*>(.*?)<\/script>/.exec(html) ?? [];
    expect(JSON.parse(setup as string).document.title).toBe(hostile);
    expect(html).toContain(String.raw`<script>x = '<\/script><\!--'</script>`);
  });

  it.each(['javascript:alert(1)', 'data:text/html,x', '/relative', 'x"><script>', ''])(
    'the watch page neither loads nor links the URL %j',
    (url) => {
      const signed = { url };
      for (const info of [
        { type: 'video', hls_url: signed, source_url: signed },
        { type: 'audio', source: url },
        { type: 'image', variants: [{ url }] },
        { type: 'document', url },
        { type: 'third_party', embed_url: url },
      ]) {
        const { html } = renderPage(info, { poster: url });
        expect(html).toContain('provides nothing to play');
        expect(html).not.toMatch(/ (src|href|poster)="(?!data:,)/);
      }
    },
  );
});

describe('Content-Security-Policy', () => {
  const directives = (policy: string) => Object.fromEntries(policy.split('; ').map((each) => each.split(/ (.*)/s)));

  it('the Content-Security-Policy allows the page’s script and style by hash, and the asset’s media', () => {
    const { html, contentSecurityPolicy } = renderPage(
      { type: 'video', hls_url: { url: urlOf('a.m3u8') }, source_url: { url: urlOf('a.mp4') } },
      { poster: 'https://images.example/a.jpg', position: { url: '/p', playbackToken: 't' } },
    );
    const hash = (text: string) => `'sha256-${createHash('sha256').update(text).digest('base64')}'`;
    const [, style] = /<style>(.*?)<\/style>/s.exec(html) ?? [];
    expect(directives(contentSecurityPolicy)).toEqual({
      'default-src': "'none'",
      'script-src': `${hash('stream()')} ${hash('play()')}`,
      'style-src': hash(style as string),
      'img-src': 'data: https:',
      'media-src': 'http://127.0.0.1:4520 blob:',
      'connect-src': "http://127.0.0.1:4520 'self'",
      'frame-src': "'none'",
      'base-uri': "'none'",
      'form-action': "'none'",
    });
    expect(html).toContain(`content="${contentSecurityPolicy.replaceAll("'", '&#39;')}"`);
  });

  it('the Content-Security-Policy allows subtitles to be fetched and to be played from a blob', () => {
    const { contentSecurityPolicy } = renderPage({
      type: 'audio',
      source: urlOf('a.mp3'),
      subtitle_tracks: ['https://texts.example/a.vtt', { src: urlOf('b.vtt') }, { label: 'x' }],
    });
    expect(directives(contentSecurityPolicy)).toMatchObject({
      'media-src': 'http://127.0.0.1:4520 blob:',
      'connect-src': 'https: http://127.0.0.1:4520',
    });
  });

  it('the Content-Security-Policy allows the hosts of the waveform and the sprites', () => {
    const sound = renderPage({ type: 'audio', source: 'https://a.example/a.mp3', waveform_url: { url: urlOf('w') } });
    expect(directives(sound.contentSecurityPolicy)).toMatchObject({
      'img-src': 'data: http://127.0.0.1:4520 blob:',
      'connect-src': 'http://127.0.0.1:4520',
      'media-src': 'https:',
    });
    const video = renderPage({ type: 'video', source_url: 'https://a.example/a.mp4', preview_sprites_url: urlOf('s') });
    expect(directives(video.contentSecurityPolicy)).toMatchObject({
      'img-src': 'data: http://127.0.0.1:4520',
      'connect-src': 'http://127.0.0.1:4520',
    });
  });

  it('the Content-Security-Policy allows no media when the page loads none', () => {
    const { contentSecurityPolicy } = renderPage({ type: 'video', blocked: true });
    expect(directives(contentSecurityPolicy)).toMatchObject({
      'media-src': "'none'",
      'connect-src': "'none'",
      'frame-src': "'none'",
    });
  });
});

it('the watch page of a blocked asset contains no media URL', () => {
  const { html } = renderPage({ type: 'video', blocked: true, hls_url: { url: urlOf('a.m3u8') } });
  expect(html).toContain('This asset cannot be played.');
  expect(html).not.toContain('a.m3u8');
});

describe('details below the player', () => {
  const hostile = '</p><script>alert(1)</script>';
  const escaped = '&lt;/p&gt;&lt;script&gt;alert(1)&lt;/script&gt;';
  const videoInfo = { type: 'video', source_url: { url: urlOf('a?b="&c') } };

  it('the watch page shows the description, tags and a source link as escaped text', () => {
    const { html } = renderPage(videoInfo, {
      title: hostile,
      description: ` ${hostile}\nLine two `,
      tags: ['sea', { slug: 'night' }, { slug: 'x', name: hostile }, null, '', { slug: {} }, [1]],
    });
    expect(html).toContain(`<p class="description">${escaped}\nLine two</p>`);
    const tags = ['sea', 'night', escaped].map((tag) => `<li>${tag}</li>`);
    expect(html).toContain(`<ul class="tags" aria-label="Tags">${tags.join('\n')}</ul>`);
    expect(html).toContain(
      `href="${urlOf('a?b=%22&amp;c')}" download="${escaped}" target="_blank" rel="noreferrer">Download the source`,
    );
    expect(html.match(/<script/g)).toHaveLength(2);
  });

  it.each<[string, PlaybackInfo, string | undefined]>([
    ['audio', { type: 'audio', source: urlOf('s') }, urlOf('s')],
    ['image', { type: 'image', variants: [{ url: urlOf('s') }, { url: urlOf('l'), width: 9 }] }, urlOf('l')],
    ['document', { type: 'document', url: urlOf('d') }, urlOf('d')],
    ['video with HLS only', { type: 'video', hls_url: urlOf('h') }, undefined],
    ['third party', { type: 'third_party', embed_url: urlOf('e') }, undefined],
  ])('the watch page links the source file if there is one: %s', (_, info, url) => {
    const [, linked] = /<a href="([^"]*)" download=/.exec(renderPage(info).html) ?? [];
    expect(linked).toBe(url);
  });

  it.each([null, undefined, 7n, {}, [], { description: 'x' }, ' \n'])(
    'the watch page shows no description, tags or source link when their value is %s',
    (description) => {
      const { html } = renderPage({ type: 'video', hls_url: urlOf('h') }, { description, tags: description });
      expect(html).not.toMatch(/class="(description|tags)"|download/);
    },
  );

  it('the watch page shows no details below the player when it is framed', () => {
    const { html } = renderPage(videoInfo, { title: 'Framed', description: 'Words', tags: ['sea'], isFramed: true });
    expect(html).not.toMatch(/Words|sea|Download/);
    expect(html).toContain('<title>Framed</title>');
    expect(html).toContain('aria-label="Framed"');
  });
});

it.each<[unknown, unknown, string]>([
  ['failed', 'the file is <b>cut</b>', 'Processing failed: the file is &lt;b&gt;cut&lt;/b&gt;<'],
  ['errored', { message: 'no codec' }, 'Processing failed: no codec<'],
  ['rejected', { why: 'x' }, 'Processing failed.<'],
  ['processing', 'x', 'This asset is being processed. Reload the page in a moment.<'],
  ['uploading', null, 'The upload has not finished yet.<'],
  ['ready', 'x', 'The service does not allow playback here.'],
  [undefined, 'x', 'This asset cannot be played.'],
  [{ status: 'failed' }, 'x', 'This asset cannot be played.'],
])('the watch page explains why nothing can be played for the status %j', (status, reason, words) => {
  const { html } = renderPage({ type: 'video', blocked: true }, { status, reason });
  expect(html).toContain(`<p class="message">${words}`);
});

it('the watch page plays media of any status, and explains the status when there is no URL', () => {
  const progress = { status: 'failed', reason: 'no codec' };
  expect(renderPage({ type: 'video', blocked: 'false', hls_url: urlOf('h') }, progress).html).toContain('<video');
  expect(renderPage({ type: 'video' }, progress).html).toContain('Processing failed: no codec');
});

it.each([
  [0, 600, null],
  [12.5, 600, 12.5],
  [569, 600, 569],
  [570, 600, null],
  [9.4, 10, 9.4],
  [9.5, 10, null],
  [99, 10, null],
  [5, null, 5],
])('playback that stopped at %s of %s seconds resumes at %s', (position, duration, expected) => {
  expect(computeResumePosition(position, duration)).toBe(expected);
});

it('the watch page escapes service data that looks like its own markup objects', () => {
  const evil = { markup: '"><script>steal()</script><x y="' } as unknown as string;
  const { html: page } = renderWatchPage({
    title: evil,
    info: {
      type: 'video',
      source_url: { url: 'https://media.example/f' },
      chapters: [{ title: evil, start_time: 0 }],
    },
    config: { theme: evil },
    scripts,
  });
  expect(page).not.toContain('steal()');
  expect(page).toContain('[object Object]');
  expect(page).toContain('<html lang="en">');
});
