import { describe, expect, it } from 'vitest';
import { currentTime, pollUntil, setUpBrowser, siteNames } from '../support/browser.ts';
import { serveHtml } from '../support/http-server.ts';

const { call, clip, open, fetchPlayer, watchUrl, fixture } = setUpBrowser();

type Playback = { blocked: boolean; hls_url?: { url: string } };

describe('embedded player', { tags: 'chromium' }, () => {
  const changeEmbedding = (what: string, method: string, body: unknown) =>
    call(method, `/workspaces/${fixture.sandbox.workspace}/embed-${what}/`, {
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
  const [listedDomain, unlistedDomain] = siteNames;
  let frameUrl: string;

  /** Opens the page of a site that embeds the player. */
  const openEmbeddedPlayer = async (name: string, attributes = '') => {
    const frame = `<iframe ${attributes} allow="autoplay" src="${frameUrl}"></iframe>`;
    const { port } = new URL(await serveHtml(frame));
    return open(`http://${name}:${port}/`);
  };

  it('a restricted player plays on a listed domain only, and an unrestricted one plays on every domain', async () => {
    frameUrl = await watchUrl(await clip());
    await changeEmbedding('settings', 'PATCH', { enabled: true });
    await changeEmbedding('domains', 'POST', { domain: listedDomain });

    const expectPlayback = async (name: string) => {
      const { page, complaints } = await openEmbeddedPlayer(name);
      const frame = page.frameLocator('iframe');
      const firstChapter = frame.getByRole('button', { name: 'Arrival' }); // starts the video
      await firstChapter.click();
      await pollUntil(() => currentTime(frame)).toBeGreaterThan(0.5);
      expect(complaints).toEqual([]);
    };
    await expectPlayback(listedDomain);

    const refused = await openEmbeddedPlayer(unlistedDomain);
    const message = refused.page.frameLocator('iframe').locator('main');
    expect(await message.innerText()).toMatch('cannot be embedded on this site (403)');

    const withoutReferrer = await openEmbeddedPlayer(unlistedDomain, 'referrerpolicy="no-referrer"');
    await pollUntil(async () => withoutReferrer.complaints.join()).toMatch('frame-ancestors');
    expect(await withoutReferrer.page.frameLocator('iframe').locator('video').count()).toBe(0);

    await changeEmbedding('settings', 'PATCH', { enabled: false });
    await expectPlayback(unlistedDomain);
  });

  it('the player loads its script and style also in a sandboxed frame, whose origin is opaque', async () => {
    frameUrl = await watchUrl(await clip());
    const { page, complaints } = await openEmbeddedPlayer(unlistedDomain, 'sandbox="allow-scripts"');
    const frame = page.frameLocator('iframe');
    await frame.getByRole('button', { name: 'Arrival' }).click();
    await pollUntil(() => currentTime(frame)).toBeGreaterThan(0.5);
    expect(complaints.filter((each) => !/\/position|ERR_FAILED/.test(each))).toEqual([]); // it cannot save the position
  });

  it('POST /playback/info/ returns blocked to a page whose domain is not listed', async () => {
    const asset_id = await clip();
    const { playback_token } = await fetchPlayer(asset_id);
    await changeEmbedding('settings', 'PATCH', { enabled: true });
    await changeEmbedding('domains', 'POST', { domain: listedDomain });
    const { port } = new URL(await serveHtml('<p>A player of their own</p>'));
    const playbackAt = async (name: string) => {
      const { page } = await open(`http://${name}:${port}/`);
      return page.evaluate(
        async ([url, body]) => {
          const headers = { 'content-type': 'application/json' };
          const response = await fetch(url as string, { method: 'POST', headers, body });
          const { blocked, hls_url } = (await response.json()) as Playback;
          return { blocked, media: hls_url && (await (await fetch(hls_url.url)).text()) };
        },
        [`${fixture.sandbox.url}/api/external/v1/playback/info/`, JSON.stringify({ asset_id, playback_token })],
      );
    };
    expect(await playbackAt(listedDomain)).toEqual({ blocked: false, media: expect.stringMatching('#EXTM3U') });
    expect(await playbackAt(unlistedDomain)).toMatchObject({ blocked: true });
    await changeEmbedding('settings', 'PATCH', { enabled: false });
    expect(await playbackAt(unlistedDomain)).toMatchObject({ blocked: false });
  });
});
