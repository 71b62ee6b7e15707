import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { ErrorRecord } from '../../src/cli/error-hints.ts';
import { Cli } from '../support/cli.ts';
import { acceleratedClockInProcess } from '../support/clock.ts';
import { errorInTable, recordedError } from '../support/errors.ts';
import { workspaceUid } from '../support/fake-library.ts';
import { embedService, startProfileCli } from '../support/profile-cli.ts';
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
    ['https://news.example/path', 'it is a URL', 'use news.example'],
    ['news.example:8080', 'it contains a port', 'use news.example'],
    ['news.example/path', 'it contains a path', 'use news.example'],
    ['192.0.2.1', 'it is an IP address', 'use a host name, such as news.example.com'],
    [
      'two words',
      'it contains a character that is not allowed in a host name',
      'use a host name, such as news.example.com',
    ],
    ['-bad.example', 'it is not a host name', 'use a host name, such as news.example.com'],
  ])('embed domains add exits with 2 and sends nothing for %s', async (domain, cause, hint) => {
    const { code, stderr } = await cli.run(['embed', 'domains', 'add', '--', domain]);
    expect(code).toBe(2);
    expect(stderr.trimEnd().split('\n')).toEqual([
      `error: '${domain}' is not a valid domain`,
      `  cause: ${cause}`,
      `  try:   ${hint}`,
    ]);
  });

  it('embed domains sync adds before it removes, and prints each change', async () => {
    await cli.run(['embed', 'domains', 'add', 'old.example', 'Stays.Example', 'bücher.example']);
    const file = join(cli.home, 'domains.txt');
    writeFileSync(file, '# ours\nstays.example\r\nnew.example # soon\n\n');
    const syncArgs = ['embed', 'domains', 'sync', file];
    const planned = await cli.json([...syncArgs, '--prune', '--dry-run']);
    expect(planned.map(({ method, body }: Record<string, unknown>) => [method, body])).toEqual([
      ['POST', { domain: 'new.example' }],
      ['DELETE', { domain: 'old.example' }],
      ['DELETE', { domain: 'xn--bcher-kva.example' }],
    ]);
    const withoutPrune = await cli.run(syncArgs);
    expect(withoutPrune).toMatchObject({ code: 0, stdout: '+\tnew.example\tadded\n' });
    expect(withoutPrune.stderr).toBe(
      '1 to add, 1 already allowed, 2 not in the file\nthe restriction is off, so every site may embed; to turn it on: mediactl embed restrict\n',
    );
    expect((await cli.run([...syncArgs, '--prune'])).code).toBe(2); // no terminal to ask
    const prunedDomains = await cli.json([...syncArgs, '--prune', '--yes']);
    expect(prunedDomains.map(({ outcome }: { outcome: string }) => outcome)).toEqual(['removed', 'removed']);
    expect((await cli.run(['embed', 'domains', 'ls'])).stdout).toBe('new.example\nstays.example\n');
  });

  it('embed domains sync --prune exits with 2 for an empty file, and names the line of an invalid domain', async () => {
    const syncArgs = ['embed', 'domains', 'sync', '-', '--prune', '--yes'];
    expect((await cli.run(syncArgs, { stdin: '# nothing\n' })).code).toBe(2);
    const { code, stderr } = await cli.run(syncArgs, { stdin: 'a.example\nhttp://b.example\n' });
    expect(code).toBe(2);
    expect(stderr).toContain("stdin, line 2: 'http://b.example' is not a valid domain");
  });

  it('embed restrict warns about an empty list, and embed domains rm names a domain that fails', async () => {
    const domains = (await cli.json(['embed', 'domains', 'ls'])).map(({ domain }: { domain: string }) => domain);
    if (domains.length > 0) await cli.run(['embed', 'domains', 'rm', ...domains]);
    expect((await cli.run(['embed', 'restrict'])).stderr).toContain('no site may embed');
    await cli.run(['embed', 'domains', 'add', 'here.example']);
    const { code, stdout, stderr } = await cli.run(['embed', 'domains', 'rm', 'here.example', 'not.example']);
    expect(code).toBe(11);
    expect(stdout).toBe('-\there.example\tremoved\n!\tnot.example\tfailed: not found (404)\n');
    expect(stderr).toContain('not.example: not found (404)');
  });
});

describe('embed settings (A05 to A07)', () => {
  it('embed commands read and write the switch and the list under another known field name', async () => {
    const settings = { uid: workspaceUid, restriction_enabled: false, allowed_domains: [{ hostname: 'a.example' }] };
    const { cli, writeRequests } = await startProfileCli(
      embedService(settings, (body, method) => {
        if (typeof body.restriction_enabled === 'boolean') settings.restriction_enabled = body.restriction_enabled;
        if (method === 'POST') settings.allowed_domains.push({ hostname: String(body.hostname) });
      }),
    );
    expect((await cli.json(['embed', 'restrict'])).restriction_enabled).toBe(true);
    expect((await cli.run(['embed', 'domains', 'ls', '-q'])).stdout).toBe('a.example\n');
    expect((await cli.run(['embed', 'domains', 'add', 'b.example'])).code).toBe(0);
    expect(writeRequests().map(({ body }) => body)).toEqual([{ restriction_enabled: true }, { hostname: 'b.example' }]);
  });

  it.each([
    ...['restricted', 'show_logo', 'embed_everywhere', 'public', 'locked', 'allow_all', 'open'],
    // The opposite of a restriction:
    ...['unrestricted', 'is_unrestricted', 'isUnrestricted', 'restriction_disabled'],
    ...['no_restrictions', 'disable_domain_restriction', 'unlimited', 'bypass_allowlist'],
    ...['skip_domain_protection', 'not_restricted', 'allow_unlisted_domains'],
    // Something else:
    ...['embedding_enabled', 'embed_enabled', 'player_enabled', 'analytics_enabled'],
    ...['watermark_enabled', 'protected_playback', 'has_limits', 'age_restricted'],
  ])('embed commands exit with 6, ask for the field name and write nothing if the only boolean is %s', async (name) => {
    const settings = { [name]: true, mode: 'open', domains: [] };
    const { cli, writeRequests } = await startProfileCli(embedService(settings, () => {}));
    for (const verb of ['show', 'restrict', 'unrestrict']) {
      const { code, stderr } = await cli.run(['embed', verb]);
      expect([verb, code]).toEqual([verb, 6]);
      expect(stderr).toContain(`field_names.embed_enabled NAME, with one of ${name}`);
      expect(stderr).toContain("or '!NAME' if true means that every site may embed");
    }
    expect(writeRequests()).toEqual([]);
    expect((await cli.run(['embed', 'domains', 'ls'])).code).toBe(0);
  });

  it('embed show prefers a known switch to "enabled", and exits with 6 if the other one is unknown', async () => {
    const twoSwitches = { enabled: true, domain_restriction_enabled: false, domains: [] };
    const knownSwitch = await startProfileCli(embedService(twoSwitches, () => {}));
    expect((await knownSwitch.cli.run(['embed', 'show'])).stdout).toContain('restriction\toff');
    const unknownSwitch = { enabled: true, restrict_domains: false, domains: [] };
    const { cli } = await startProfileCli(embedService(unknownSwitch, () => {}));
    expect((await cli.run(['embed', 'show'])).code).toBe(6);
  });

  it('embed commands invert the switch if field_names.embed_enabled is !NAME', async () => {
    const settings = { unrestricted: true, domains: ['a.example'] as string[] };
    const { cli, writeRequests, storedFieldNames } = await startProfileCli(
      embedService(settings, (body, method) => {
        if (method === 'POST') settings.domains.push(String(body.domain));
        else Object.assign(settings, body);
      }),
    );
    expect((await cli.run(['config', 'set', 'field_names.embed_enabled', '!unrestricted'])).code).toBe(0);
    expect(storedFieldNames()).toEqual({ embed_enabled: '!unrestricted' }); // the field names in the profile
    expect((await cli.run(['config', 'set', 'field_names.folder_parent', '!x'])).code).toBe(2);
    expect((await cli.run(['embed', 'show'])).stdout).toContain('restriction\toff: every domain');
    expect((await cli.run(['embed', 'domains', 'add', 'b.example'])).stderr).toContain('the restriction is off');
    const planned = await cli.json(['embed', 'restrict', '--dry-run']);
    expect(planned[0].body).toEqual({ unrestricted: false });
    expect((await cli.run(['embed', 'restrict'])).stdout).toContain('restriction\ton:');
    expect(settings.unrestricted).toBe(false);
    expect((await cli.run(['embed', 'unrestrict'])).stdout).toContain('restriction\toff:');
    expect(writeRequests().map(({ body }) => body)).toEqual([
      { domain: 'b.example' },
      { unrestricted: false },
      { unrestricted: true },
    ]);
  });

  it('embed unrestrict suggests both meanings of the switch that a 422 names', async () => {
    const { cli } = await startProfileCli(({ method }) =>
      method === 'GET'
        ? { body: { enabled: true, domains: [] } }
        : {
            status: 422,
            body: { detail: [{ loc: ['body', 'unrestricted'], msg: 'Field required' }] },
          },
    );
    const { stderr } = await cli.run(['embed', 'unrestrict']);
    expect(stderr).toContain("field_names.embed_enabled unrestricted, or '!unrestricted' if true means");
  });

  it('embed domains add succeeds even if the switch is ambiguous', async () => {
    const settings = { embedding_enabled: true, domains: ['a.example'] };
    const { cli } = await startProfileCli(
      embedService(settings, ({ domain }) => settings.domains.push(String(domain))),
    );
    expect(await cli.run(['embed', 'domains', 'add', 'b.example'])).toMatchObject({ code: 0, stderr: '' });
  });

  it.each([
    ['a list of administrators', { allowed: 'a.example', admins: ['bob.example'] }],
    ['a list of blocked domains', { blocked_domains: ['a.example'] }],
    ['a list with an unknown name', { sites: ['a.example'] }],
    ['a list of labels', { labels: ['sea', 'night'] }],
    ['a list of email addresses', { contacts_of: ['bob@b.example'] }],
    ['a list of numbers', { ids: [1, 2] }],
    ['a single domain', { allowed: 'a.example' }],
  ])(
    'embed domains exits with 6 and writes nothing if the settings have %s instead of an allow-list',
    async (_, record) => {
      const settings = { enabled: true, ...record };
      const { cli, writeRequests } = await startProfileCli(embedService(settings, () => {}));
      for (const args of [['ls'], ['add', 'c.example'], ['rm', 'bob.example']]) {
        const { code, stdout, stderr } = await cli.run(['embed', 'domains', ...args]);
        expect([code, stdout]).toEqual([6, expect.not.stringContaining('added')]);
        expect(stderr).toContain('mediactl config set field_names.embed_domains NAME');
      }
      expect(writeRequests()).toEqual([]);
      // The name of the switch is unambiguous.
      const shown = await cli.run(['embed', 'show']);
      expect([shown.code, shown.stdout]).toEqual([0, expect.stringContaining('embed domains ls')]);
    },
  );

  it('embed commands exit with 6 and write nothing if several fields could be the switch or the list', async () => {
    const settings = { strict: false, locked: false, hosts: [], paths: [] };
    const { cli, writeRequests } = await startProfileCli(embedService(settings, () => {}));
    const { code, stderr } = await cli.run(['embed', 'restrict']);
    expect(code).toBe(6);
    expect(stderr).toContain('field_names.embed_enabled NAME, with one of strict, locked');
    expect((await cli.run(['embed', 'domains', 'ls'])).stderr).toContain('one of hosts, paths');
    expect(writeRequests()).toEqual([]);
    await cli.run(['config', 'set', 'field_names.embed_domains', 'hosts']);
    expect((await cli.run(['embed', 'domains', 'ls'])).code).toBe(0);
  });

  it('embed commands exit with 6 if the service responds with 200 but changes nothing', async () => {
    const { cli } = await startProfileCli(embedService({ enabled: false, domains: ['a.example'] }, () => {}));
    for (const [args, key] of [
      [['restrict'], 'embed_enabled'],
      [['domains', 'add', 'b.example'], 'embed_domain'],
      [['domains', 'rm', 'a.example'], 'embed_domain'],
    ] as const) {
      const { code, stderr } = await cli.run(['embed', ...args], { clock: acceleratedClockInProcess() });
      expect([args, code]).toEqual([args, 6]);
      expect(stderr).toContain(`field_names.${key} NAME`);
    }
  });
});

describe('embed domain spellings', () => {
  const threeDomainService = () => {
    const domains = ['München.example', '192.0.2.1', 'host.example:8080'];
    return embedService({ enabled: true, domains }, ({ domain }, method) => {
      if (method === 'POST') domains.push(String(domain));
      else if (domains.includes(String(domain))) domains.splice(domains.indexOf(String(domain)), 1);
    });
  };

  it('embed domains sync changes nothing if its file is the output of embed domains ls', async () => {
    const { cli, writeRequests } = await startProfileCli(threeDomainService());
    const { stdout } = await cli.run(['embed', 'domains', 'ls']);
    expect(stdout).toBe('München.example\n192.0.2.1\nhost.example:8080\n');
    for (const stdin of [stdout, 'xn--mnchen-3ya.example\n192.0.2.1\nhost.example:8080\n']) {
      const syncArgs = ['embed', 'domains', 'sync', '-', '--prune', '--yes'];
      expect((await cli.run(syncArgs, { stdin })).code).toBe(0);
    }
    expect(writeRequests()).toEqual([]);
  });

  it('embed domains rm sends each domain as the service spells it', async () => {
    const { cli, writeRequests } = await startProfileCli(threeDomainService());
    const args = ['embed', 'domains', 'rm', 'münchen.example', '192.0.2.1'];
    expect((await cli.run(args)).code).toBe(0);
    expect(writeRequests().map(({ body }) => body)).toEqual([{ domain: 'München.example' }, { domain: '192.0.2.1' }]);
  });

  it.each([
    ['a.example', '*.a.example'],
    ['a.example', 'www.a.example'],
    ['www.a.example', 'a.example'],
  ])(
    'embed domains add %s succeeds if the service lists it as %s, and prints that spelling',
    async (domain, spelling) => {
      const domains: string[] = [];
      const { cli } = await startProfileCli(embedService({ enabled: true, domains }, () => domains.push(spelling)));
      const { code, stdout, stderr } = await cli.run(['embed', 'domains', 'add', domain]);
      expect([code, stdout]).toEqual([0, `+\t${domain}\tadded\n`]);
      expect(stderr).toBe(`${domain} is listed as ${spelling}\n`);
    },
  );

  it('embed domains add exits with 6 if the list only has a similar domain from before', async () => {
    const { cli } = await startProfileCli(embedService({ enabled: true, domains: ['a.example'] }, () => {}));
    const clock = acceleratedClockInProcess();
    expect((await cli.run(['embed', 'domains', 'add', 'www.a.example'], { clock })).code).toBe(6);
  });

  it('embed domains add reports the 422 of its change even if the list cannot be read afterward', async () => {
    let readCount = 0;
    const { cli } = await startProfileCli(({ method }) =>
      method !== 'GET'
        ? { status: 422, body: { error: { message: 'no such host' } } }
        : readCount++ === 0
          ? { body: { enabled: true, domains: [] } }
          : { status: 404, body: {} },
    );
    const { code, stderr } = await cli.run(['embed', 'domains', 'add', 'a.example']);
    expect([code, stderr]).toEqual([6, expect.stringContaining('no such host')]);
    expect(stderr).not.toMatch(/of 1 changes/);
  });

  it('embed domains add prints what it added even if the list cannot be read afterward', async () => {
    let readCount = 0;
    const { cli } = await startProfileCli(({ method }) => {
      if (method !== 'GET') return { status: 201, body: {} };
      return ++readCount > 1 ? { status: 403, body: {} } : { body: { enabled: true, domains: [] } };
    });
    const { code, stdout } = await cli.run(['embed', 'domains', 'add', 'a.example', 'b.example']);
    expect([code, stdout]).toEqual([11, '+\ta.example\tadded\n+\tb.example\tadded\n']);
  });

  it('embed domains sync --prune removes nothing and exits with 11 if a domain cannot be added', async () => {
    const { cli, writeRequests } = await startProfileCli(({ method }) =>
      method === 'GET' ? { body: { enabled: true, domains: ['old.example'] } } : { status: 500 },
    );
    const args = ['embed', 'domains', 'sync', '-', '--prune', '--yes', '--json'];
    const { code, stdout } = await cli.run(args, { stdin: 'new.example' });
    expect(code).toBe(11);
    const [added, removed] = JSON.parse(stdout).map(({ error }: { error: ErrorRecord }) => recordedError(error));
    expect(added).toMatchObject({ code: 'server_error' });
    expect(removed).toEqual(errorInTable('skipped'));
    expect(writeRequests().map(({ method }) => method)).toEqual(['POST']);
  });
});
