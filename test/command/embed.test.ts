import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { Cli } from '../support/cli.ts';
import { workspace } from '../support/library.ts';
import { against, embedService } from '../support/other-service.ts';
import { startSandbox, type TestSandbox } from '../support/sandbox.ts';

let sandbox: TestSandbox;
let cli: Cli;
beforeAll(async () => {
  sandbox = await startSandbox();
});
afterAll(() => sandbox.end());
beforeEach(() => {
  cli = new Cli({
    MEDIACTL_API_KEY: sandbox.key,
    MEDIACTL_BASE_URL: sandbox.url,
    MEDIACTL_WORKSPACE: sandbox.workspace,
  });
});

describe('embed domains', () => {
  it.each([
    ['https://news.example/path', 'it is a URL', 'give news.example'],
    ['news.example:8080', 'it has a port', 'give news.example'],
    ['news.example/path', 'it has a path', 'give news.example'],
    ['192.0.2.1', 'it is an address', 'a host name alone, such as news.example.com'],
    [
      'two words',
      'it has a character that host names cannot have',
      'a host name alone, such as news.example.com',
    ],
    ['-bad.example', 'it is not a host name', 'a host name alone, such as news.example.com'],
  ])('%s is refused before it is sent', async (domain, cause, hint) => {
    const { code, stderr } = await cli.run(['embed', 'domains', 'add', '--', domain]);
    expect(code).toBe(2);
    expect(stderr.trimEnd().split('\n')).toEqual([
      `error: '${domain}' is not a domain`,
      `  cause: ${cause}`,
      `  try:   ${hint}`,
    ]);
  });

  it('sync adds before it removes, and says what it did', async () => {
    await cli.run(['embed', 'domains', 'add', 'old.example', 'Stays.Example', 'bücher.example']);
    const file = join(cli.home, 'domains.txt');
    writeFileSync(file, '# ours\nstays.example\r\nnew.example # soon\n\n');
    const sync = ['embed', 'domains', 'sync', '-f', file];
    const planned = await cli.json([...sync, '--prune', '--dry-run']);
    expect(planned.map(({ method, body }: Record<string, unknown>) => [method, body])).toEqual([
      ['POST', { domain: 'new.example' }],
      ['DELETE', { domain: 'old.example' }],
      ['DELETE', { domain: 'xn--bcher-kva.example' }],
    ]);
    const kept = await cli.run(sync);
    expect(kept).toMatchObject({ code: 0, stdout: '+\tnew.example\tadded\n' });
    expect(kept.stderr).toBe(
      '1 to add, 1 there already, 2 not in the file\nthe restriction is off, and every site may embed: mediactl embed enable\n',
    );
    expect((await cli.run([...sync, '--prune'])).code).toBe(2); // nobody can be asked
    const pruned = await cli.json([...sync, '--prune', '--yes']);
    expect(pruned.map(({ change }: { change: string }) => change)).toEqual(['removed', 'removed']);
    expect((await cli.run(['embed', 'domains', 'ls'])).stdout).toBe('new.example\nstays.example\n');
  });

  it('an empty file never prunes the whole list; a wrong line is named', async () => {
    const sync = ['embed', 'domains', 'sync', '-f', '-', '--prune', '--yes'];
    expect((await cli.run(sync, { stdin: '# nothing\n' })).code).toBe(2);
    const { code, stderr } = await cli.run(sync, { stdin: 'a.example\nhttp://b.example\n' });
    expect(code).toBe(2);
    expect(stderr).toContain("stdin, line 2: 'http://b.example' is not a domain");
  });

  it('enabling with an empty list warns; one domain that fails is named', async () => {
    const only = (await cli.json(['embed', 'domains', 'ls'])).map(
      ({ domain }: { domain: string }) => domain,
    );
    if (only.length > 0) await cli.run(['embed', 'domains', 'rm', ...only]);
    expect((await cli.run(['embed', 'enable'])).stderr).toContain('no site may embed');
    await cli.run(['embed', 'domains', 'add', 'here.example']);
    const { code, stdout, stderr } = await cli.run([
      'embed',
      'domains',
      'rm',
      'here.example',
      'not.example',
    ]);
    expect(code).toBe(11);
    expect(stdout).toBe('-\there.example\tremoved\n!\tnot.example\tfailed: not found (404)\n');
    expect(stderr).toContain('not.example: not found (404)');
  });
});

describe('A05 to A07: embed settings', () => {
  it('the only boolean that speaks of it and the only array are meant', async () => {
    const settings = { uid: workspace, restricted: false, hosts: [{ hostname: 'a.example' }] };
    const { cli, writes } = await against(
      embedService(settings, (body, method) => {
        if (typeof body.restricted === 'boolean') settings.restricted = body.restricted;
        if (method === 'POST') settings.hosts.push({ hostname: String(body.hostname) });
      }),
    );
    expect((await cli.json(['embed', 'enable'])).restricted).toBe(true);
    expect((await cli.run(['embed', 'domains', 'ls', '-q'])).stdout).toBe('a.example\n');
    expect((await cli.run(['embed', 'domains', 'add', 'b.example'])).code).toBe(0);
    expect(writes().map(({ body }) => body)).toEqual([
      { restricted: true },
      { hostname: 'b.example' },
    ]);
  });

  it.each(['show_logo', 'embed_everywhere', 'public', 'locked'])(
    'a boolean called %s may be another one, or the reverse: it is asked for, and nothing written',
    async (name) => {
      const settings = { [name]: true, mode: 'open', domains: [] };
      const { cli, writes } = await against(embedService(settings, () => {}));
      for (const verb of ['show', 'enable', 'disable']) {
        const { code, stderr } = await cli.run(['embed', verb]);
        expect([verb, code]).toEqual([verb, 2]);
        expect(stderr).toContain(`names.embed_enabled NAME, with one of ${name}`);
      }
      expect(writes()).toEqual([]);
    },
  );

  it('several candidates and no override: asks for one, exit 2, nothing written', async () => {
    const settings = { strict: false, locked: false, hosts: [], paths: [] };
    const { cli, writes } = await against(embedService(settings, () => {}));
    const { code, stderr } = await cli.run(['embed', 'enable']);
    expect(code).toBe(2);
    expect(stderr).toContain('names.embed_enabled NAME, with one of strict, locked');
    expect((await cli.run(['embed', 'domains', 'ls'])).stderr).toContain('one of hosts, paths');
    expect(writes()).toEqual([]);
    await cli.run(['config', 'set', 'names.embed_domains', 'hosts']);
    expect((await cli.run(['embed', 'domains', 'ls'])).code).toBe(0);
  });

  it('a service that answers 200 and does nothing is found out', async () => {
    const { cli } = await against(
      embedService({ enabled: false, domains: ['a.example'] }, () => {}),
    );
    for (const [args, key] of [
      [['enable'], 'embed_enabled'],
      [['domains', 'add', 'b.example'], 'embed_domain'],
      [['domains', 'rm', 'a.example'], 'embed_domain'],
    ] as const) {
      const { code, stderr } = await cli.run(['embed', ...args]);
      expect([args, code]).toEqual([args, 6]);
      expect(stderr).toContain(`names.${key} NAME`);
    }
  });
});

describe('embed domains that are spelled otherwise', () => {
  const service = () => {
    const domains = ['München.example', '192.0.2.1', 'host.example:8080'];
    return embedService({ enabled: true, domains }, ({ domain }, method) => {
      if (method === 'POST') domains.push(String(domain));
      else if (domains.includes(String(domain))) domains.splice(domains.indexOf(String(domain)), 1);
    });
  };

  it('what the list says is what a file may say: nothing is added, nothing removed', async () => {
    const { cli, writes } = await against(service());
    const { stdout } = await cli.run(['embed', 'domains', 'ls']);
    expect(stdout).toBe('München.example\n192.0.2.1\nhost.example:8080\n');
    for (const stdin of [stdout, 'xn--mnchen-3ya.example\n192.0.2.1\nhost.example:8080\n']) {
      const sync = ['embed', 'domains', 'sync', '-f', '-', '--prune', '--yes'];
      expect((await cli.run(sync, { stdin })).code).toBe(0);
    }
    expect(writes()).toEqual([]);
  });

  it('each is removed by the spelling of the service', async () => {
    const { cli, writes } = await against(service());
    const args = ['embed', 'domains', 'rm', 'münchen.example', '192.0.2.1'];
    expect((await cli.run(args)).code).toBe(0);
    expect(writes().map(({ body }) => body)).toEqual([
      { domain: 'München.example' },
      { domain: '192.0.2.1' },
    ]);
  });

  it('one change that fails is that failure, whatever the re-read says', async () => {
    let reads = 0;
    const { cli } = await against(({ method }) =>
      method !== 'GET'
        ? { status: 422, body: { error: { message: 'no such host' } } }
        : reads++ === 0
          ? { body: { enabled: true, domains: [] } }
          : { status: 404, body: {} },
    );
    const { code, stderr } = await cli.run(['embed', 'domains', 'add', 'a.example']);
    expect([code, stderr]).toEqual([6, expect.stringContaining('no such host')]);
    expect(stderr).not.toMatch(/of 1 changes/);
  });

  it('a re-read that fails hides nothing of what was done', async () => {
    let reads = 0;
    const { cli } = await against(({ method }) => {
      if (method !== 'GET') return { status: 201, body: {} };
      return ++reads > 1 ? { status: 403, body: {} } : { body: { enabled: true, domains: [] } };
    });
    const { code, stdout } = await cli.run(['embed', 'domains', 'add', 'a.example', 'b.example']);
    expect([code, stdout]).toEqual([11, '+\ta.example\tadded\n+\tb.example\tadded\n']);
  });

  it('nothing is removed where something could not be added, and that is said', async () => {
    const { cli, writes } = await against(({ method }) =>
      method === 'GET' ? { body: { enabled: true, domains: ['old.example'] } } : { status: 500 },
    );
    const args = ['embed', 'domains', 'sync', '-f', '-', '--prune', '--yes', '--json'];
    const { code, stdout } = await cli.run(args, { stdin: 'new.example' });
    expect(code).toBe(11);
    expect(
      JSON.parse(stdout).map(({ error }: { error: { message: string } }) => error.message),
    ).toEqual([expect.stringContaining('500'), 'not removed']);
    expect(writes().map(({ method }) => method)).toEqual(['POST']);
  });
});
